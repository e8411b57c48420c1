"""Recording the corpus of edited programs: every program as it is, twice, and with each change.

    python edited_corpus.py --record FOLDER --half shaping [--pack FOLDER] [--only vit,t5]
    python edited_corpus.py --pairs FOLDER --half shaping

Programs start several at a time, since importing takes longest, and use the GPU in turn.
Recordings lie in FOLDER/MODEL/CHANGE; `pairs.csv` beside them says what a comparison should find.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from edited_programs import CHANGES, HALVES, PROGRAMS

HERE = Path(__file__).resolve().parent
HEADER = ["model", "base", "new", "change", "expected_cause", "place"]
PACK_BYTES = 15 << 20
LONGEST_S = 150


@dataclass(frozen=True)
class Task:
    """One recording."""

    model: str
    change: str
    number: int = 1

    @property
    def folder(self) -> str:
        return self.change if self.number == 1 else f"{self.change}-{self.number}"


def tasks(half: str, only: list[str]) -> list[Task]:
    """What is to be recorded: unchanged programs first, for without them there are no pairs."""
    names = [name for name in HALVES[half].PROGRAMS if not only or name in only]
    unchanged = [Task(name, "base", number) for number in (1, 2) for name in names]
    return unchanged + [Task(name, change) for name in names for change in CHANGES[name]]


def command(task: Task, place: Path, cycles: int, skip: int) -> list[str]:
    program = PROGRAMS[task.model]
    recorder = [sys.executable, "-m", "timesink", "record", "-o", str(place), "--stop"]
    recorder += ["--cycles", str(cycles), "--skip", str(skip), "--plain", "10"]
    if program.detail:
        recorder += ["--with", program.detail]
    if program.marker:
        recorder += ["--marker", program.marker]
    python = [sys.executable]
    if program.ranks > 1:
        python += ["-m", "torch.distributed.run", "--standalone"]
        python += ["--nproc-per-node", str(program.ranks)]
    return [
        *recorder,
        "--",
        *python,
        str(HERE / "edited_programs.py"),
        task.model,
        "--change",
        task.change,
    ]


def record(task: Task, folder: Path, end: float, cycles: int, skip: int) -> str:
    """Record one program; a line that says how it went."""
    place = folder / task.model / task.folder
    if time.monotonic() > end:
        return f"no time: {task.model}/{task.folder}"
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "EDITED_PROGRAMS_LOCK": str(folder / "turn"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "KINETO_LOG_LEVEL": "6",
    }
    begin = time.monotonic()
    with (folder / f"{task.model}.{task.folder}.log").open("w") as log:
        process = subprocess.Popen(
            command(task, place, cycles, skip),
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
        try:
            code = process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = -process.wait()
    sizes = sum(path.stat().st_size for path in place.glob("trace*.json.gz"))
    taken = time.monotonic() - begin
    line = f"{task.model}/{task.folder}: exit {code}, {sizes / 1e6:.2f} MB, {taken:.0f} s"
    print(line, flush=True)
    return line


def pairs(folder: Path, half: str) -> list[list[str]]:
    """The rows of pairs whose recordings are both there."""
    rows = []
    for name in HALVES[half].PROGRAMS:
        rows.append([name, "base", "base-2", "unchanged", "none", ""])
        for change_name, change in CHANGES[name].items():
            meaning = [change.cause, change.place]
            rows.append([name, change.base, change_name, change_name, *meaning])
            if change.back:
                rows.append([name, change_name, change.base, f"{change_name} back", *meaning])
    return [
        row
        for row in rows
        if all(list((folder / row[0] / side).glob("trace*.json.gz")) for side in row[1:3])
    ]


def write_pairs(folder: Path, half: str) -> None:
    rows = pairs(folder, half)
    with (folder / "pairs.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
    print(f"{len(rows)} pairs, {sum(row[4] == 'none' for row in rows)} of them equal")


def pack(folder: Path, target: Path) -> None:
    """The folder as archives that are each small enough to travel."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "turn")
    target.mkdir(parents=True, exist_ok=True)
    number, size = 0, PACK_BYTES
    archive: tarfile.TarFile | None = None
    for path in files:
        if size + path.stat().st_size > PACK_BYTES or archive is None:
            if archive is not None:
                archive.close()
            archive, size = tarfile.open(target / f"part{number}.tar", "w"), 0  # noqa: SIM115
            number += 1
        archive.add(path, path.relative_to(folder))
        size += path.stat().st_size + 1024
    if archive is not None:
        archive.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--half", choices=tuple(HALVES), required=True)
    parser.add_argument("--only", default="", help="models, or MODEL/CHANGE, apart by commas")
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=480, help="start nothing after this")
    parser.add_argument("--cycles", type=int, default=12)
    parser.add_argument("--skip", type=int, default=8)
    args = parser.parse_args()
    if args.pairs:
        write_pairs(args.pairs, args.half)
    if not args.record:
        return
    folder, end = args.record.resolve(), time.monotonic() + args.seconds
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in args.only.split(",") if name]
    models = [name.split("/")[0] for name in wanted]
    todo = [
        task
        for task in tasks(args.half, models)
        if not wanted or task.model in wanted or f"{task.model}/{task.folder}" in wanted
    ]
    with ThreadPoolExecutor(args.at_once) as pool:
        lines = list(pool.map(lambda task: record(task, folder, end, args.cycles, args.skip), todo))
    (folder / "recorded.txt").write_text("\n".join(lines) + "\n")
    write_pairs(folder, args.half)
    if args.pack:
        pack(folder, args.pack)


if __name__ == "__main__":
    main()
