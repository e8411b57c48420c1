"""How often `timesink history` finds a change of level that is there, and one that is not.

Made-up series of rows: python benchmarks/history_accuracy.py [--series N] [--write]
`--write` puts the table into docs/accuracy/history.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from timesink.analyses.statistics.change_points import level_changes

Noise = Callable[[np.random.Generator, int], np.ndarray]
PAGE = Path(__file__).parents[1] / "docs" / "accuracy" / "history.md"
BEGIN, END = "<!-- accuracy -->\n", "<!-- /accuracy -->"
TWICE = (0, 3)
"""Shapes that are tried with heavy tails as well."""
NEAR = 1
"""Rows a change may be found away from where it is."""


def gaussian(random: np.random.Generator, rows: int) -> np.ndarray:
    return random.normal(0, 0.01, rows)


def heavy(random: np.random.Generator, rows: int) -> np.ndarray:
    """Student's t with three degrees of freedom, of the same standard deviation."""
    return random.standard_t(3, rows) * 0.01 / np.sqrt(3)


def skewed_noise(random: np.random.Generator, rows: int) -> np.ndarray:
    """A neighbour on the machine in one row of ten: only ever slower, by 5 % on average."""
    return random.normal(0, 0.005, rows) + (random.random(rows) < 0.1) * random.exponential(
        0.05, rows
    )


def correlated_noise(random: np.random.Generator, rows: int) -> np.ndarray:
    """Neighbouring rows resemble each other (0.3): no change, but no independent rows either."""
    noise = random.normal(0, 0.01, rows)
    for row in range(1, rows):
        noise[row] = 0.3 * noise[row - 1] + np.sqrt(1 - 0.3**2) * noise[row]
    return noise


NOISES: dict[str, Noise] = {
    "Gaussian": gaussian,
    "heavy tails (t, 3)": heavy,
    "skewed (neighbours)": skewed_noise,
    "correlated neighbours (0.3)": correlated_noise,
}


def flat(noise: Noise, rows: int, series: int, seed: int) -> tuple[float, float]:
    """Part of the flat series in which a change is found for certain, or may have been."""
    random = np.random.default_rng(seed)
    certain = may = 0
    for _ in range(series):
        changes = level_changes(100 * (1 + noise(random, rows)))
        certain += any(change.certain for change in changes)
        may += any(not change.certain for change in changes)
    return certain / series, may / series


def steps(
    noise: Noise, levels: list[tuple[float, int]], series: int, seed: int
) -> tuple[float, float]:
    """Part of the series in which all changes are found near their place, and others as well."""
    random = np.random.default_rng(seed)
    level = np.concatenate([np.full(rows, 100 * (1 + rise)) for rise, rows in levels])
    places = np.cumsum([rows for _, rows in levels])[:-1]
    hit = more = 0
    for _ in range(series):
        changes = level_changes(level * (1 + noise(random, len(level))))
        ats = [change.at for change in changes if change.certain]
        hit += all(any(abs(at - place) <= NEAR for at in ats) for place in places)
        more += len(ats) > len(places)
    return hit / series, more / series


def pages(series: int) -> str:
    """Both tables, as Markdown."""
    lines = [
        f"Flat series, {series} of each:",
        "",
        '| noise of 1 % | rows | a change, certain | "may have changed" |',
        "|---|---:|---:|---:|",
    ]
    for seed, (name, noise) in enumerate(NOISES.items()):
        for rows in (10, 50):
            certain, may = flat(noise, rows, series, 100 * seed + rows)
            lines.append(f"| {name} | {rows} | {100 * certain:.1f} % | {100 * may:.1f} % |")
            print(lines[-1], flush=True)
    lines += [
        "",
        f'Series with changes, {series} of each; "found" is each of them within one row:',
        "",
        "| rows at each level | noise of 1 % | found | one more than there are |",
        "|---|---|---:|---:|",
    ]
    shapes: list[list[tuple[float, int]]] = [
        *([(0.0, before), (0.03, after)] for before, after in ((5, 5), (5, 20), (20, 5), (25, 25))),
        [(0.0, 25), (0.02, 25)],
        [(0.0, 25), (0.01, 25)],
        [(0.0, 20), (0.03, 5), (0.0, 25)],
        [(0.0, 20), (0.03, 10), (0.0, 20)],
        [(0.0, 15), (0.03, 15), (0.06, 15)],
    ]
    for number, shape in enumerate(shapes):
        levels = ", ".join(
            f"{rows} at {100 * rise:+.0f} %".replace("+0 %", "0") for rise, rows in shape
        )
        for name in ("Gaussian", "heavy tails (t, 3)")[: 2 if number in TWICE else 1]:
            hit, more = steps(NOISES[name], shape, series, 5000 + number)
            lines.append(f"| {levels} | {name} | {100 * hit:.1f} % | {100 * more:.1f} % |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def speed_sentence() -> str:
    """How long a series takes."""
    random = np.random.default_rng(1)
    timings = []
    for rows in (50, 200, 500):
        values = 100 * (1 + gaussian(random, rows))
        values[rows // 2 :] *= 1.03
        started = time.perf_counter()
        level_changes(values)
        timings.append(f"{rows} rows {time.perf_counter() - started:.2f} s")
    return f"One signal with one change: {', '.join(timings)}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = f"{pages(options.series)}\n\n{speed_sentence()}\n"
    print(text)
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}{text}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
