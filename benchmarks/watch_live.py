"""How soon `timesink watch` sees a running program slow down, how often it errs, what it costs.

  python benchmarks/watch_live.py accuracy [ROWS.csv.gz] [--splits 10] [--here SECONDS]
  python benchmarks/watch_live.py cost [--cycles 1000000] [--workload]
  python benchmarks/watch_live.py whole [--seconds 600] [--workload]

Accuracy: cycles of real runs, one run behind the other as one stream; learned from half of the runs
(of ROWS, four fifths), judged on the others.  A shift multiplies durations from a place on.
Cost: cycles that are made up, 2800 a second, in batches of one second.  Whole: as many of a program
that does nothing else, told to a watcher.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl

from timesink.formats.cycle_rows import read_cycle_rows
from timesink.watcher.expected.live import LiveJudge
from timesink.watcher.expected.model import LiveModel, learn_live

NOISE = Path(__file__).with_name("ab_noise.parquet")
FACTORS = (1.1, 1.2, 1.5, 2.0)
BEFORE, AFTER = 100, 400
PER_SECOND = 2800


def streams(path: str | None, here_s: float) -> Iterator[tuple[str, list[pl.DataFrame], float]]:
    """Programs, the cycles of each of their runs, and the share of runs to learn from."""
    noise = pl.read_parquet(NOISE).sort("started_us")
    for (name,), mine in noise.group_by("program", maintain_order=True):
        runs = [
            pl.DataFrame({"duration_us": np.array(cycles_ns) / 1e3})
            for cycles_ns in mine["cycles_ns"]
        ]
        yield str(name), runs, 0.5
    if path:
        rows = read_cycle_rows(path).sort("start_ts")
        jobs = rows.partition_by("job_name", maintain_order=True)
        yield "vllm", [job.drop("job_name", "start_ts") for job in jobs], 0.8
    if here_s:
        cycles = np.array(list(_here(here_s)))
        yield "here", [pl.DataFrame({"duration_us": part}) for part in np.split(cycles, range(
            1000, len(cycles), 1000))], 0.5  # fmt: skip


def _here(seconds: float) -> Iterator[float]:
    """Numbers sorted on this machine, with whatever else runs on it."""
    values, end = np.random.default_rng(0).standard_normal(50_000), time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter_ns()
        np.sort(values)
        yield (time.perf_counter_ns() - began) / 1e3


def stream(runs: list[pl.DataFrame]) -> pl.DataFrame:
    """Runs as one stream."""
    rows = pl.concat(runs)
    start = (pl.col("duration_us").cum_sum() - pl.col("duration_us")) / 1e6
    return rows.with_columns(job_name=pl.lit("0"), start_ts=start)


def learned_and_others(
    runs: list[pl.DataFrame], share: float, seed: int
) -> tuple[LiveModel, list[pl.DataFrame]]:
    """A model of some runs, and the others in order of time."""
    order = np.random.default_rng(seed).permutation(len(runs))
    count = int(share * len(runs))
    first, rest = (sorted(part.tolist()) for part in (order[:count], order[count:]))
    return learn_live(stream([runs[index] for index in first])), [runs[index] for index in rest]


def delays(model: LiveModel, rows: pl.DataFrame, factor: float, seed: int) -> Iterator[int]:
    """Cycles from onsets to the first alarm; as many as there are where none is raised."""
    random = np.random.default_rng(seed)
    highest = max(rows.height - AFTER, BEFORE + 1)
    for onset in random.integers(BEFORE, highest, 8).tolist():
        part = rows[onset - BEFORE : onset + AFTER]
        late = pl.int_range(pl.len()) >= BEFORE
        times = pl.when(late).then(factor).otherwise(1.0)
        table = LiveJudge(model).judge(part.with_columns(pl.col("duration_us") * times)).table
        alarm_rows = np.flatnonzero(table["alarm"].to_numpy()[BEFORE:])
        judged = table["expected_us"].is_not_null().to_numpy()[BEFORE:]
        if len(judged):
            yield int(judged[: alarm_rows[0]].sum()) if len(alarm_rows) else AFTER


def quickest(model: LiveModel, factor: float) -> float:
    """After how many cycles limits find a shift without noise."""
    shift = np.log(factor)
    every = [
        cusum.limit / (min(shift, cusum.bound) - cusum.allowance)
        for cusum in model.limits.sums
        if min(shift, cusum.bound) > cusum.allowance
    ]
    return min(every, default=np.inf)


def accuracy(path: str | None, splits: int, here_s: float) -> None:
    """Print the table: of each program and shift."""
    shifts = " | ".join(f"x{factor}: delay, within 10" for factor in FACTORS)
    print(f"| program | learned s | cycles by limits | hours | alarms | an hour | {shifts} |")
    print("|---" * (6 + len(FACTORS)) + "|")
    for name, runs, share in streams(path, here_s):
        hours, alarms, took, allowed = 0.0, 0, 0.0, []
        waits: dict[float, list[int]] = {factor: [] for factor in FACTORS}
        for seed in range(splits):
            began = time.perf_counter()
            model, other_runs = learned_and_others(runs, share, seed)
            took += time.perf_counter() - began
            rows = stream(other_runs)
            alarms += len(LiveJudge(model).judge(rows).raised)
            hours += rows["duration_us"].sum() / 3.6e9
            allowed.append([quickest(model, factor) for factor in FACTORS])
            for factor in FACTORS:
                waits[factor] += delays(model, rows, factor, seed)
        cells = [
            f"{np.median(cycle_counts):.0f}, {100 * np.mean(np.array(cycle_counts) < 10):.0f} %"
            for cycle_counts in waits.values()
        ]
        sums = ", ".join(f"{value:.0f}" for value in np.median(np.array(allowed), axis=0))
        print(
            f"| {name} | {took / splits:.1f} | {sums} | {hours:.3f} | {alarms} | "
            f"{alarms / hours:.1f} | {' | '.join(cells)} |", flush=True,
        )  # fmt: skip


def made_up(count: int, seed: int, *, with_workload: bool) -> pl.DataFrame:
    """A second of cycles; with a workload, no two of them have the same."""
    random = np.random.default_rng(seed + 1000)
    took = 350 * np.exp(0.03 * random.standard_normal(count))
    rows = pl.DataFrame(
        {"job_name": "1.0", "start_ts": seed + np.arange(count) / count, "duration_us": took}
    )
    if not with_workload:
        return rows
    batch = random.integers(1, 64, count // 50 + 1).repeat(50)[:count].astype(np.float64)
    output_lengths = random.uniform(10, 500, count)
    return rows.with_columns(
        batch_size=batch, avg_input_length=random.uniform(100, 900, count),
        avg_output_length=output_lengths,
        duration_us=took * (1 + batch / 100 + output_lengths * batch / 1e5),
    )  # fmt: skip


def cost(cycles: int, *, with_workload: bool) -> None:
    """Print what judging costs, per cycle, and what it keeps."""
    began = time.perf_counter()
    first = [made_up(PER_SECOND, -1 - number, with_workload=with_workload) for number in range(7)]
    model = learn_live(pl.concat(first))
    print(f"learned from {7 * PER_SECOND} cycles in {time.perf_counter() - began:.1f} s")
    judge, spent, alarms, next_report = LiveJudge(model), 0.0, 0, 1
    for second in range(cycles // PER_SECOND):
        rows = made_up(PER_SECOND, second, with_workload=with_workload)
        start = time.process_time()
        alarms += len(judge.judge(rows).raised)
        spent += time.process_time() - start
        if second + 1 == next_report or (second + 1) * PER_SECOND + PER_SECOND > cycles:
            count = (second + 1) * PER_SECOND
            cycle_us = 1e6 * spent / count
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{count} cycles: {cycle_us:.2f} us of CPU each "
                f"({PER_SECOND * cycle_us / 1e4:.1f} % of a core at {PER_SECOND}/s), "
                f"peak {peak:.0f} MiB, {alarms} alarms", flush=True,
            )  # fmt: skip
            next_report *= 4


PROGRAM = """
import sys, time
import torch  # lets the agent in
def serve(**sizes): pass
def workload(**sizes): return sizes
end, place, due = time.monotonic() + float(sys.argv[1]), 0, time.perf_counter()
while time.monotonic() < end:
    place += 1
    batch = 1.0 + place // 50 % 64
    serve(batch_size=batch, avg_input_length=100.0 + place % 800, avg_output_length=place % 500)
    due += 1 / float(sys.argv[2])
    # Cycles of a while come one behind the other, as sleep is not that exact.
    if due - time.perf_counter() > 0.01: time.sleep(due - time.perf_counter())
"""


def measure_watcher(seconds: float, *, with_workload: bool) -> None:
    """Print what the watcher as a whole takes beside a program of very short cycles."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "busy.py").write_text(PROGRAM)
        options = ["--marker", "serve", "--no-record", "--learn-seconds", "10", "--span", "call"]
        options += ["--workload", "busy:workload"] if with_workload else []
        command = [
            *(sys.executable, "-m", "timesink", "watch", "-o", "watch", *options, "--"),
            *(sys.executable, "busy.py", str(seconds), str(PER_SECOND)),
        ]
        process = subprocess.Popen(command, cwd=place, stderr=subprocess.DEVNULL)
        used, most, status = [], 0.0, {}
        while process.poll() is None:
            time.sleep(1)
            with suppress(OSError, ValueError):
                status = json.loads((Path(place) / "watch" / "status.json").read_text())
            usage = status.get("own") or {}
            if status.get("state") in {"watching", "alarm"} and usage.get("cpu_pct"):
                used.append(usage["cpu_pct"])
                most = max(most, usage["rss_bytes"] / 2**20)
                if len(used) % 60 == 0:
                    print(f"{status['cycles']} cycles: {usage['cpu_pct']:.1f} % of a core, "
                          f"{usage['rss_bytes'] / 2**20:.0f} MiB", flush=True)  # fmt: skip
        print(f"{status.get('cycles')} cycles, {status.get('dropped')} dropped, "
              f"{(status.get('alarms') or {}).get('raised')} alarms: the middle second "
              f"{np.median(used):.1f} % of a core, at most {most:.0f} MiB")  # fmt: skip


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    command = commands.add_parser("accuracy")
    command.add_argument("rows", nargs="?")
    command.add_argument("--splits", type=int, default=10)
    command.add_argument("--here", type=float, default=0.0)
    command = commands.add_parser("cost")
    command.add_argument("--cycles", type=int, default=1_000_000)
    command.add_argument("--workload", action="store_true")
    command = commands.add_parser("whole")
    command.add_argument("--seconds", type=float, default=600.0)
    command.add_argument("--workload", action="store_true")
    options = parser.parse_args()
    if options.what == "whole":
        measure_watcher(options.seconds, with_workload=options.workload)
    elif options.what == "cost":
        cost(options.cycles, with_workload=options.workload)
    else:
        accuracy(options.rows, options.splits, options.here)


if __name__ == "__main__":
    main()
