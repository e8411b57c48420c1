"""How often few steps decide, rightly and wrongly: made-up runs with and without a change.

    python benchmarks/few_steps.py [--pairs 1000] [--scatter 0.1]

Each run is a row of steps whose lengths scatter around one level: independent and lognormal, with
heavy tails (Student's t of three degrees), or each step correlated with the one before.  `means` is
how many percent of the pairs have a verdict by means and levels alone, `all` with exact bounds for
separated steps as well, which is what `timesink compare` and `timesink gate` say.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import polars as pl

from timesink.analyses.thresholds import SignificanceLimits
from timesink.comparison.results import CycleTimes
from timesink.comparison.steps.verdict import cycle_times

STEPS = (3, 4, 5, 6, 7, 8, 10, 12)
NOISES = (("lognormal", 0.0), ("heavy tails", 0.0), ("lognormal", 0.3), ("lognormal", 0.6))
RATIOS = (1.0, 1.2, 1.5)
_BURN_IN = 30


def steps(
    random: np.random.Generator, number: int, shape: str, rho: float, scatter: float
) -> np.ndarray:
    """Lengths of the steps of a run, in ns: a first-order autoregression of its logarithm."""
    size = number + _BURN_IN
    heavy = shape == "heavy tails"
    fresh = random.standard_t(3, size) / np.sqrt(3) if heavy else random.standard_normal(size)
    level = fresh.copy()
    for place in range(1, size):
        level[place] = rho * level[place - 1] + np.sqrt(1 - rho * rho) * fresh[place]
    return np.asarray(1e8 * np.exp(scatter * level[_BURN_IN:]))


def step_times(base: np.ndarray, new: np.ndarray) -> CycleTimes:
    """What a comparison says of the lengths of two runs."""
    return cycle_times(_table(base), _table(new))


def _table(lengths: np.ndarray) -> pl.DataFrame:
    lengths_ns = lengths.astype(np.int64)
    starts = np.cumsum(lengths_ns) - lengths_ns
    numbers = np.arange(1, len(lengths_ns) + 1)
    return pl.DataFrame({"cycle": numbers, "cycle_ts_ns": starts, "cycle_dur_ns": lengths_ns})


def rates(
    noise: tuple[str, float], number: int, ratio: float, pairs: int, *, scatter: float
) -> tuple[float, float]:
    """Percent of verdicts by means, and of all."""
    shape, rho = noise
    random = np.random.default_rng(int(1000 * rho) + number)
    means = decided = 0
    for _ in range(pairs):
        base, new = (steps(random, number, shape, rho, scatter) for _ in range(2))
        times = step_times(base, ratio * new)
        is_certain = times.p_value is not None and times.p_value < SignificanceLimits.alpha
        decided += is_certain
        means += is_certain and times.exact_p is None
    return 100 * means / pairs, 100 * decided / pairs


def table(pairs: int, scatter: float) -> Iterator[str]:
    """Rows of Markdown."""
    heads = " | ".join(
        f"{100 * (ratio - 1):.0f} % longer: means | all" if ratio > 1 else "equal: means | all"
        for ratio in RATIOS
    )
    yield f"| noise | correlation | steps a side | {heads} |"
    yield "|---|---:|---:|" + "---:|" * (2 * len(RATIOS))
    for noise in NOISES:
        for number in STEPS:
            percents = (rates(noise, number, ratio, pairs, scatter=scatter) for ratio in RATIOS)
            cells = " | ".join(f"{means:.1f} | {decided:.1f}" for means, decided in percents)
            yield f"| {noise[0]} | {noise[1]:g} | {number} | {cells} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--scatter", type=float, default=0.1)
    options = parser.parse_args()
    for row in table(options.pairs, options.scatter):
        print(row, flush=True)


if __name__ == "__main__":
    main()
