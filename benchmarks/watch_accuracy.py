"""How well `timesink watch` knows what cycles take: errors, false alarms, shifts put in.

  python benchmarks/watch_accuracy.py ROWS.csv.gz [--splits 8] [--false-alarms 0.02]

Every split holds a fifth of the runs out.  A shift multiplies the durations of the second half of
each run that was held out; F1 counts cycles: alarmed ones that are shifted, over all runs together.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from timesink.formats.cycle_rows import read_cycle_rows
from timesink.watcher.expected.judged import Judged, judge_rows
from timesink.watcher.expected.model import learn_model

FACTORS = (1.1, 1.2, 1.3, 1.5, 2.0)


def second_half(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows in order of time, with a mark for the second half of each run."""
    rows = rows.sort("job_name", "start_ts")
    place, size = pl.int_range(pl.len()).over("job_name"), pl.len().over("job_name")
    return rows.with_columns(shifted=place >= size // 2)


def f1_of(judged: Judged, shifted: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """F1 per cycle, and how many cycles pass until the first alarm (median over runs)."""
    rows, chosen = judged.expected.cycles.rows, judged.expected.judged
    truth = shifted[rows][chosen]
    alarm = judged.alarm[chosen]
    f1 = 2 * (alarm & truth).sum() / (alarm.sum() + truth.sum())
    runs = judged.expected.cycles.runs[chosen]
    lags = []
    for run in np.unique(runs):
        mine = alarm[(runs == run) & truth]
        lags.append(int(mine.argmax()) if mine.any() else len(mine))
    return float(f1), float(np.median(lags))


def split(rows: pl.DataFrame, seed: int, rate: float) -> dict[str, float]:
    """The figures of one split."""
    jobs = rows["job_name"].unique().sort().to_numpy()
    test_jobs = np.random.default_rng(seed).choice(jobs, len(jobs) // 5, replace=False).tolist()
    is_held = pl.col("job_name").is_in(test_jobs)
    began = time.perf_counter()
    model = learn_model(rows.filter(~is_held), rate=rate)
    figures = {"learn_s": time.perf_counter() - began}
    marked = second_half(rows.filter(is_held))
    plain = marked.drop("shifted")
    judged = judge_rows(model, plain)
    accuracy = judged.accuracy
    figures |= {
        "in_range": 100 * accuracy.rows / len(plain),
        "median_ape": accuracy.median_ape_pct or 0.0,
        "mape": accuracy.mape_pct or 0.0,
        "within_10": accuracy.within_10pct or 0.0,
        "false_alarms": 100 * accuracy.alarms / max(accuracy.rows, 1),
        "episodes": len(judged.episodes),
    }
    expected, slower = judged.expected, marked["shifted"].to_numpy()
    for factor in FACTORS:
        # Durations are no feature: what is expected stays.
        took = expected.cycles.duration_us * np.where(slower[expected.cycles.rows], factor, 1.0)
        cycles = replace(expected.cycles, duration_us=took)
        after = Judged(model, replace(expected, cycles=cycles))
        figures[f"f1 x{factor}"], figures[f"lag x{factor}"] = f1_of(after, slower)
    return figures


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows")
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--false-alarms", type=float, default=0.02)
    options = parser.parse_args()
    rows = read_cycle_rows(options.rows)
    seeds = range(options.first, options.first + options.splits)
    every = [split(rows, seed, options.false_alarms) for seed in seeds]
    print("| figure | mean | smallest | largest |\n|---|---|---|---|")
    for name in every[0]:
        values = np.array([figures[name] for figures in every])
        print(f"| {name} | {values.mean():.3f} | {values.min():.3f} | {values.max():.3f} |")


if __name__ == "__main__":
    main()
