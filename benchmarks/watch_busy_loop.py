"""False alarms and delays of a watch on a made-up loop of 14 ms that scatters by a factor of two.

    python benchmarks/watch_busy_loop.py [--runs 10]

Steps are lognormal (0.35) around a level that wanders by a share, for so many seconds.  Learned
from the first 30 seconds, judged for the 100 that follow, without a shift and with one halfway.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import polars as pl

from timesink.watcher.expected.live import LiveJudge
from timesink.watcher.expected.model import learn_live

STEP_MS, SCATTER = 14.0, 0.35
LEARNED, JUDGED = 2140, 7000
LEVELS = ((0.0, 1), (0.1, 1), (0.1, 10), (0.1, 40), (0.2, 1), (0.2, 10), (0.2, 40))
"""How far levels wander, and for about how many seconds."""
FACTORS = (1.5, 2.0)


def log_times(seed: int, share: float, seconds: float) -> np.ndarray:
    """Logarithms of step times over the typical one."""
    random = np.random.default_rng(seed)
    count = LEARNED + JUDGED
    steps = SCATTER * random.standard_normal(count)
    shocks = random.standard_normal(count)
    rho = float(np.exp(-STEP_MS / 1e3 / seconds))
    level = np.empty(count)
    level[0] = shocks[0]
    for place in range(1, count):
        level[place] = rho * level[place - 1] + np.sqrt(1 - rho * rho) * shocks[place]
    return np.asarray(steps + share * level)


def rows_of(logs: np.ndarray) -> pl.DataFrame:
    """Steps in order, as a watched program sends them."""
    took_us = 1e3 * STEP_MS * np.exp(logs)
    start_s = (np.cumsum(took_us) - took_us) / 1e6
    return pl.DataFrame({"job_name": "1.0", "start_ts": start_s, "duration_us": took_us})


def table(runs: int) -> Iterator[str]:
    """Rows of Markdown."""
    heads = " | ".join(f"x{factor:g}: seconds, told" for factor in FACTORS)
    yield f"| wandering level | runs with false alarms | {heads} |"
    yield "|---|---:|" + "---:|" * len(FACTORS)
    for share, seconds in LEVELS:
        false = 0
        delays: dict[float, list[float]] = {factor: [] for factor in FACTORS}
        for seed in range(runs):
            logs = log_times(seed, share, seconds)
            model = learn_live(rows_of(logs[:LEARNED]))
            false += bool(LiveJudge(model).judge(rows_of(logs[LEARNED:])).raised)
            for factor in FACTORS:
                shifted = logs[LEARNED:].copy()
                shifted[JUDGED // 2 :] += np.log(factor)
                rows = rows_of(shifted)
                onset_s = float(rows["start_ts"][JUDGED // 2])
                raised_s = [alarm.raised_s for alarm in LiveJudge(model).judge(rows).raised]
                delays[factor] += [at - onset_s for at in raised_s if at >= onset_s][:1]
        name = f"{100 * share:.0f} % for {seconds} s" if share else "none"
        cells = " | ".join(
            f"{np.median(waits_s):.0f} s, {len(waits_s)} of {runs}"
            if waits_s
            else f"-, 0 of {runs}"
            for waits_s in delays.values()
        )
        yield f"| {name} | {false} | {cells} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    for row in table(parser.parse_args().runs):
        print(row, flush=True)


if __name__ == "__main__":
    main()
