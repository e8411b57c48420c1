"""What timesink says, word by word: answers about some recordings, as files of `golden/`.

  python tests/golden_answers.py            write all of them anew
  python tests/golden_answers.py NAME ...   write these

Wording is checked here and nowhere else, so that it changes in one place: look at the differences
before they are committed.  `questions.txt` lists commands and what they are about: bundled samples
(`samples/`), real recordings (`data/`, of ../shared) and runs that tests make (`made/`).  What the
rules say of small recordings (`golden_runs.py`) and changes stands in files of its own.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import timesink
from builders import to_bytes
from collective_logs import entry, write_dumps
from compared_runs import cycle_tables, write_timeline
from compiled_runs import RUNS as COMPILED
from golden_causes import CAUSES, programs_text, verdicts_text
from golden_runs import COMMUNICATION, DEVICE, IDLE, ROOFS, Runs
from memory_snapshots import ATTENTION, Allocator, train, write_snapshot
from ncu_files import Call as Launch
from ncu_files import details_csv
from recorded_runs import recorded_counters, recorded_ranks, write_recording
from shared_folder import find_shared
from timesink.cli import main as command_line
from timesink.model.findings import Finding
from timesink_lab.ranks.generated import generate_ranks
from timesink_lab.ranks.plan import Plan, Straggler

FOLDER = Path(__file__).with_name("golden")
MAX_LINES = 70
"""Of an answer: the rest are rows of tables."""
VARYING = (
    (r"\btimesink \d[\w.+-]*", "timesink VERSION"),
    (r"(\"(?:version|timesink)\": ?)\"[^\"]*\"", r'\1"VERSION"'),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?: UTC|Z)?", "WHEN"),
)


# -- commands --------------------------------------------------------------------------------------


def questions() -> dict[str, str]:
    """Commands by the name of their answer."""
    lines = (FOLDER / "questions.txt").read_text().splitlines()
    pairs = (line.split(":", 1) for line in lines if line and not line.startswith("#"))
    return {name.strip(): command.strip() for name, command in pairs}


def answer(line: str) -> str:
    """What a command says, what it says beside that, and how it ends."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "oe"]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        try:
            code: object = command_line(shlex.split(line))
        except SystemExit as exit_:
            code = exit_.code
    out, err = (stream.buffer.getvalue().decode() for stream in streams)
    if "--format json" in line and out:
        out = json.dumps(rounded(json.loads(out)), indent=1, ensure_ascii=False)
    lines = [f"$ timesink {line}", *shortened(steady(out).splitlines())]
    lines += [f"stderr: {said}" for said in steady(err).splitlines()]
    return "\n".join([*lines, *([f"exit code {code}"] if code else []), ""])


def shortened(lines: list[str]) -> list[str]:
    left = len(lines) - MAX_LINES
    return [*lines[:MAX_LINES], f"... and {left} more lines"] if left > 0 else lines


def steady(text: str) -> str:
    for pattern, replacement in VARYING:
        text = re.sub(pattern, replacement, text)
    return re.sub("[ \t]+$", "", text, flags=re.MULTILINE)


def rounded(value: Any) -> Any:
    """Last digits differ with processors and versions of libraries."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


# -- recordings that are made ----------------------------------------------------------------------

SGEMM = "ampere_sgemm_128x64_tn"
ADD = "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>(int)"
SOFTMAX = "void softmax_warp_forward<c10::Half, float, float, 9, 0, 0>(T2 *, int)"
PRODUCT = Launch("nvjet_sm90_hsh", 20_000, tensor_pct=70.0, sm_pct=70.0)
LAUNCHES = [
    Launch(SGEMM, 200_000, sm_pct=87.0, dram_pct=5.0),
    Launch(ADD, 150_000, sm_pct=10.0, dram_pct=90.0),
    *[Launch(ADD, 2_000, sm_pct=1.0, dram_pct=2.0)] * 50,
    Launch("void cudnn::ops::nchwToNhwcKernel<float>", 90_000, sm_pct=10.0, dram_pct=90.0),
    Launch("bn_bw", 100_000, sm_pct=9.0, dram_pct=10.0, grid=(64, 1, 1)),
    *[PRODUCT, Launch(SOFTMAX, 10_000, sm_pct=70.0, dram_pct=50.0), PRODUCT] * 4,
]


def write_fragments(path: Path) -> None:
    made = Allocator()
    blocks = [made.alloc(32 << 20, ATTENTION) for _ in range(64)]
    made.free(*blocks[::2])
    write_snapshot(path, made.snapshot())


def dumps(unfinished: Callable[[int], list[int]]) -> dict[int, list[dict[str, Any]]]:
    """Logs of four ranks: four collectives that ended, and those that did not."""
    return {
        rank: [
            *(entry(rank, number) for number in range(1, 5)),
            *(entry(rank, number, "started") for number in unfinished(rank)),
        ]
        for rank in range(4)
    }


def unlike_dumps() -> dict[int, list[dict[str, Any]]]:
    calls = dumps(lambda _rank: [])
    calls[1][1]["profiling_name"] = "nccl:all_gather"
    return calls


def late_dumps() -> dict[int, list[dict[str, Any]]]:
    calls = {
        rank: [entry(rank, number, duration_ms=1.5 if rank == 3 else 3.5) for number in range(30)]
        for rank in range(4)
    }
    for call in calls[3]:
        call["time_created_ns"] += 2_000_000
    return calls


def write_launches(path: Path) -> None:
    path.write_text(details_csv(LAUNCHES))


def write_pair(path: Path) -> None:
    path.mkdir()
    write_timeline(path / "base.json.gz")
    write_timeline(path / "new.json.gz", slow=2)


def write_runs(path: Path) -> None:
    for name in ("monday", "tuesday"):
        write_timeline(path / name / "trace.json.gz")


def write_lengths(path: Path) -> None:
    path.mkdir()
    cycle_tables(path, new_by=1.08, new_fifth=1.6e6)


def write_ranks(kind: str) -> Callable[[Path], object]:
    plan = Plan(ranks=4, steps=4, layers=1, seed=3, stragglers=(Straggler(kind, 2),))
    return lambda path: generate_ranks(plan, path)


MADE: Mapping[str, Callable[[Path], object]] = {
    "launches.csv": write_launches,
    "pair": write_pair,
    "runs": write_runs,
    "lengths": write_lengths,
    "late": write_ranks("data_loading"),
    "uneven": write_ranks("uneven_work"),
    "recording": write_recording,
    "ranks": recorded_ranks,
    "counters": recorded_counters,
    "cut.json.gz": lambda path: path.write_bytes(timesink.sample().read_bytes()[:100_000]),
    "leak.pickle": lambda path: write_snapshot(path, train(7, leak=700_000).snapshot()),
    "full.pickle": lambda path: write_snapshot(path, train(3, fails=True).snapshot()),
    "split.pickle": write_fragments,
    "missing": lambda path: write_dumps(path, dumps(lambda rank: [5] if rank != 2 else [])),
    "stuck": lambda path: write_dumps(path, dumps(lambda _rank: [5])),
    "unlike": lambda path: write_dumps(path, unlike_dumps()),
    "late_log": lambda path: write_dumps(path, late_dumps()),
    "empty.json": lambda path: path.write_bytes(to_bytes({"traceEvents": []})),
    "noise.json": lambda path: path.write_bytes(b"nothing of a trace"),
}


def prepare(folder: Path) -> Path:
    """Lay out a folder in which relative paths lead to recordings."""
    shared = find_shared()
    links = {"samples": timesink.sample().parent} | ({"data": shared / "data"} if shared else {})
    for name, place in links.items():
        (folder / name).symlink_to(place)
    (folder / "made").mkdir()
    return folder


def make_inputs(line: str, folder: Path) -> None:
    """Write what a question is about, once."""
    for name in re.findall(r"made/([\w.]+)", line):
        if not (folder / "made" / name).exists():
            MADE[name](folder / "made" / name)


# -- findings and causes ---------------------------------------------------------------------------


def findings_text(runs: Runs) -> str:
    """Every finding of each run."""
    return "\n".join(
        f"## {name}\n{said(timesink.analyze(make()).findings)}" for name, make in runs.items()
    )


def said(findings: Iterable[Finding]) -> str:
    return "".join("\n".join([*finding_lines(finding), ""]) for finding in findings)


def finding_lines(finding: Finding) -> Iterator[str]:
    """All words of a finding that people read."""
    values = {name: getattr(finding, name, "") for name in ("title", "severity", "gain_basis")}
    yield f"[{finding.id}] {' / '.join(filter(None, values.values()))}"
    yield f"  {finding.sentence}"
    for name in ("no_saving", "unknown_saving"):
        if words := getattr(finding, name, ""):
            yield f"  {name}: {words}"
    if finding.cost_ns:
        yield f"  cost {finding.cost_ns / 1e3:.3g} us"
    if most_ns := getattr(finding, "most_ns", 0.0):
        yield f"  at most {most_ns / 1e3:.3g} us"
    if finding.advice:
        yield f"  > {finding.advice}"
    yield from (f"  - {proof}" for proof in finding.proofs[:4] if proof)


TEXTS: Mapping[str, Callable[[], str]] = {
    "causes-program": programs_text,
    "verdicts": verdicts_text,
    "findings-idle": lambda: findings_text(IDLE),
    "findings-compiled": lambda: findings_text(COMPILED),
    "findings-communication": lambda: findings_text(COMMUNICATION),
    "findings-device": lambda: findings_text(DEVICE),
    "findings-roofs": lambda: findings_text(ROOFS),
    **{f"causes-{name}": lambda make=make: causes_text(make) for name, make in CAUSES.items()},
}


def causes_text(make: Callable[[], Mapping[str, Iterable[Finding]]]) -> str:
    return "\n".join(f"## {name}\n{said(causes)}" for name, causes in make().items())


# -- all -------------------------------------------------------------------------------------------


@cache
def names() -> tuple[str, ...]:
    return (*questions(), *TEXTS)


def needs_shared(name: str) -> bool:
    return "data/" in questions().get(name, "")


def golden_text(name: str, folder: Path) -> str:
    """An answer as it is now; the current folder does not matter."""
    if name in TEXTS:
        return steady(TEXTS[name]())
    line = questions()[name]
    with chdir(folder):
        make_inputs(line, folder)
        return answer(line)


def main(wanted: list[str]) -> int:
    shared = find_shared()
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {"TIMESINK_CACHE_DIR": f"{place}/cache", "COLUMNS": "100"}
        os.environ["TIMESINK_DATA_DIR"] = f"{place}/own"
        folder = Path(place, "runs")
        folder.mkdir()
        prepare(folder)
        for name in wanted or names():
            if shared is None and needs_shared(name):
                sys.stderr.write(f"{name} stays as it is: set TIMESINK_SHARED\n")
            else:
                (FOLDER / f"{name}.txt").write_text(golden_text(name, folder))
    for file in FOLDER.glob("*.txt"):
        if not wanted and file.stem not in {*names(), "questions"}:
            file.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
