"""Recording what recording costs: programs by themselves and with the profiler, one at a time.

    python clock_corpus.py --record FOLDER --set fit [--pack FOLDER] [--only gan,t5_train]

One process imports everything and never touches the device; each recording is a fork of it, and
nothing else runs meanwhile.  A fork warms up, times blocks of cycles between two waits for the
device, and records: plain cycles, then profiled ones, each with a probe of how fast the host is.
FOLDER/NAME has `trace.json.gz`, `run.json` and `plain.json`; `whatif.csv` says what the changes of
a set really saved.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import itertools
import json
import os
import shutil
import signal
import statistics
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # asking must not wake the device up
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("KINETO_LOG_LEVEL", "6")

import torch
import torch._inductor.compile_fx  # the profiler and compilers would load it in every fork

from clock_last import FINAL, FINAL_PAIRS
from clock_programs import FIT, HAS_GPU, MORE_PAIRS, WHATIF, Cycles
from edited_corpus import pack
from timesink.recorder.in_program import record

CLOCKS = {"fit": FIT, "last": FINAL}
PAIRS = {"whatif": WHATIF, "more_whatif": MORE_PAIRS, "last_whatif": FINAL_PAIRS}
WARM_CYCLES, BLOCK_CYCLES = (10, 20) if HAS_GPU else (1, 1)
PLAIN_CYCLES = (50, 150) if HAS_GPU else (5, 5)
PLAIN_S = 1.5
"""Unprofiled steps take about so long, if that makes neither too few nor too many."""
LONGEST_S = 90
STACK_CYCLES = 6
ARCHITECTURES = """bart bert convnext distilbert electra gemma gpt2 gpt_neox llama mamba mistral
    mixtral olmoe phi resnet segformer swin t5 vit wav2vec2 whisper"""
"""Parts of transformers that forks would load one by one."""
HEADER = ["program", "change", "base_folder", "changed_folder", "base_plain_us", "changed_plain_us",
          "base_block_us", "changed_block_us", "asked"]  # fmt: skip


@dataclass(frozen=True)
class Task:
    """One recording."""

    name: str
    run: Cycles
    cycles: int
    option: str = ""

    @property
    def extras(self) -> tuple[str, ...]:
        if self.option == "memory":
            return ("memory", "shapes")
        return () if self.option in {"", "where"} else (self.option,)


def tasks(which: str) -> list[Task]:
    """What is to be recorded of a set: programs as they are first."""
    if which in PAIRS:
        return [
            Task(f"{name}/{side}", getattr(pair, side), pair.cycles)
            for name, pair in PAIRS[which].items()
            for side in ("base", "changed")
        ]
    programs = CLOCKS[which].items()
    plain = [Task(name, program.run, program.cycles) for name, program in programs]
    return plain + [
        Task(
            f"{name}-{option}",
            program.run,
            min(program.cycles, STACK_CYCLES) if option == "stack" else program.cycles,
            option,
        )
        for name, program in programs
        for option in program.options
    ]


def wait_for_device() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def block(cycles: Iterator[None]) -> float:
    """Microseconds per cycle of a block between two waits for the device."""
    wait_for_device()
    begin_ns = time.perf_counter_ns()
    for _ in range(BLOCK_CYCLES):
        next(cycles)
    wait_for_device()
    return (time.perf_counter_ns() - begin_ns) / BLOCK_CYCLES / 1000


def probe_us() -> float:
    """How long the host takes for always the same: where others share it, up to twice as long."""
    begin_ns = time.perf_counter_ns()
    sum(range(4000))
    return (time.perf_counter_ns() - begin_ns) / 1000


def measure(task: Task, place: Path) -> None:
    """Warm up, time, and record one program, in a process of its own."""
    torch.manual_seed(0)
    cycles = task.run()
    for _ in range(WARM_CYCLES):
        next(cycles)
    blocks_us = [block(cycles), block(cycles)]
    least, most = PLAIN_CYCLES
    plain = min(max(round(PLAIN_S * 1e6 / min(blocks_us)), least), most)
    borders_ns, probes_us = [], []
    with record(
        place,
        cycles=task.cycles,
        skip=0,
        plain=plain,
        extras=task.extras,
        where=task.option == "where",
        counters="none",
    ) as recording:
        for _ in range(plain + 1 + task.cycles):
            borders_ns.append(time.perf_counter_ns())
            probes_us.append(probe_us())
            next(cycles)
            recording.step()
    measurement = {
        "program": task.name,
        "option": task.option,
        "warm_cycles": WARM_CYCLES + 2 * BLOCK_CYCLES,
        "block_cycles": BLOCK_CYCLES,
        "blocks_us": blocks_us,
        # Within each cycle, plain and profiled; between them is one that does not count.
        "plain_probes_us": probes_us[:plain],
        "profiled_probes_us": probes_us[plain + 1 :],
        "plain_cycles_us": [
            (end - begin) / 1000 for begin, end in itertools.pairwise(borders_ns[: plain + 1])
        ],
    }
    (place / "plain.json").write_text(json.dumps(measurement) + "\n")
    cycles.close()  # type: ignore[attr-defined]


def in_fork(task: Task, place: Path, log: Path) -> int:
    """Do it in a fork, and wait for that; the exit code."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setsid()
            end = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(end, 1)
            os.dup2(end, 2)
            measure(task, place)
            code = 0
        except BaseException:  # noqa: BLE001 - a fork must not go on as its parent
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    deadline = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -signal.SIGKILL


def record_one(task: Task, folder: Path) -> str:
    """Record one program; a line that says how it went."""
    place = folder / task.name
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    log, begin = folder / f"{task.name.replace('/', '.')}.log", time.monotonic()
    code = in_fork(task, place, log)
    taken = time.monotonic() - begin
    if code or not (place / "plain.json").exists():
        last = log.read_text().strip().splitlines()[-1:] if log.exists() else []
        return f"{task.name}: FAILED ({code}), {taken:.1f} s {''.join(last)}"
    run, plain = facts(place)
    trace_mb = (place / "trace.json.gz").stat().st_size / 1e6
    cost = run["overhead"]
    return (
        f"{task.name}: {trace_mb:.2f} MB, {taken:.1f} s; block {plain['blocks_us'][1]:.0f}, "
        f"plain {cost['cycle_us']:.0f}, profiled {cost['cycle_profiled_us']:.0f} us, "
        f"probes {statistics.median(plain['plain_probes_us']):.0f}, "
        f"{statistics.median(plain['profiled_probes_us']):.0f}"
    )


def facts(place: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    run, plain = (json.loads((place / name).read_text()) for name in ("run.json", "plain.json"))
    return run, plain


def settled_us(place: Path) -> tuple[float, float]:
    """A unprofiled step: median of the later half of them, and of the better block."""
    _, plain = facts(place)
    times_us = plain["plain_cycles_us"]
    return statistics.median(times_us[len(times_us) // 2 :]), min(plain["blocks_us"])


def write_pairs(folder: Path, which: str) -> None:
    """The table of what the changes of a set saved."""
    rows = []
    for name, pair in PAIRS[which].items():
        sides = [folder / name / side for side in ("base", "changed")]
        if all((side / "plain.json").exists() for side in sides):
            (base_us, base_block_us), (new_us, new_block_us) = map(settled_us, sides)
            times_us = (base_us, new_us, base_block_us, new_block_us)
            places = [f"{name}/base", f"{name}/changed"]
            rows.append(
                [
                    name,
                    pair.change,
                    *places,
                    *(f"{time_us:.1f}" for time_us in times_us),
                    pair.question,
                ]
            )
    with (folder / "whatif.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--set", dest="which", choices=(*CLOCKS, *PAIRS), required=True)
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--only", default="", help="names of recordings, apart by commas")
    parser.add_argument("--seconds", type=float, default=480, help="start nothing after this")
    args = parser.parse_args()
    folder, end = args.record.resolve(), time.monotonic() + args.seconds
    folder.mkdir(parents=True, exist_ok=True)
    for name in ARCHITECTURES.split():
        importlib.import_module(f"transformers.models.{name}.modeling_{name}")
    wanted = [task_name for task_name in args.only.split(",") if task_name]
    for task in tasks(args.which):
        if wanted and task.name not in wanted:
            continue
        line = f"{task.name}: no time" if time.monotonic() > end else record_one(task, folder)
        print(line, flush=True)
        with (folder / "recorded.txt").open("a") as file:
            file.write(line + "\n")
    if args.which in PAIRS:
        write_pairs(folder, args.which)
    if args.pack:
        pack(folder, args.pack)


if __name__ == "__main__":
    main()
