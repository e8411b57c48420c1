"""How often `timesink ab` finds a planted change, and how often it finds one that is not there.

    python benchmarks/ab_accuracy.py real DIR wide:0 wide:5  decisions here, percent planted
    python benchmarks/ab_accuracy.py decided DIR             a table of them
    python benchmarks/ab_accuracy.py noise DIR [DIR ...]     keep the noise of recorded runs
    python benchmarks/ab_accuracy.py simulate                both, from the kept noise: a table
    python benchmarks/ab_accuracy.py calibrate               the chances of `repeats.decide`

A folder of noise holds runs of one program, made in order with
`timesink record --plain-only` or `timesink ab`.  A simulated comparison draws its runs from
stretches of these in their order, cycles as they were: levels, drift, tails and autocorrelation
stay.  Which run of a pair is the new side is drawn; what is planted is a factor on its cycles.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl

from timesink.comparison.repeated_runs import (
    Decision,
    TimedRun,
    decide,
    neighbours,
    next_sides,
    runs_needed,
    timed_runs,
)
from timesink.sources.ab_folder import read_ab
from timesink.sources.sidecars import run_file_in

NOISE = Path(__file__).with_name("ab_noise.parquet")
_STRETCH_RUNS = 8
_PLANTED, _MOST_STATED = (1.0, 2.0, 5.0, 10.0), 90
_SEED = 23


# -- the noise of real runs -----------------------------------------------------------------------


def keep_noise(folders: list[Path]) -> None:
    """Keep the unprofiled steps of recorded runs, and the speed of the host beside them."""
    rows = []
    for folder in folders:
        for run in sorted(path.parent for path in folder.glob("*/run.json")):
            run_file = run_file_in(run)
            for timed in timed_runs(None if run_file is None else run_file.run, run.name):
                rows.append(
                    {
                        "program": folder.name,
                        "run": len(rows),
                        "started_us": timed.started_us,
                        "probe_ns": timed.probe_ns,
                        "cycles_ns": timed.cycles_ns.astype(np.int64).tolist(),
                    }
                )
    pl.DataFrame(rows).write_parquet(NOISE, compression="zstd", compression_level=19)
    print(f"{len(rows)} runs in {NOISE.name}, {NOISE.stat().st_size // 1024} KiB")


@dataclass
class DrawnRun:
    """A run of a simulated comparison: what `decide` looks at, worked out once."""

    side: str
    started_us: int
    cycles_ns: np.ndarray
    probe_ns: float | None
    typical_ns: float
    fast_ns: float
    mean_ns: float
    name: str = ""


@dataclass(frozen=True)
class Noise:
    """Runs of one program in their order."""

    program: str
    drawn: list[DrawnRun]
    recorded: list[TimedRun]

    def sequence(self, many: int, random: np.random.Generator) -> list[DrawnRun]:
        """So many runs: stretches of the recorded ones in their order."""
        drawn_runs: list[DrawnRun] = []
        while len(drawn_runs) < many:
            start, length = random.integers(len(self.drawn)), random.geometric(1 / _STRETCH_RUNS)
            drawn_runs += [
                self.drawn[place % len(self.drawn)] for place in range(start, start + length + 1)
            ]
        return drawn_runs[:many]


def noises() -> list[Noise]:
    """What was kept, a program after the other."""
    all_noise = []
    for (program,), runs in pl.read_parquet(NOISE).group_by("program", maintain_order=True):
        recorded = [
            TimedRun("base", np.array(cycles, dtype=np.float64), started, probe)
            for started, probe, cycles in runs.select(
                "started_us", "probe_ns", "cycles_ns"
            ).iter_rows()
        ]
        drawn = [_figures(run) for run in recorded]
        all_noise.append(Noise(str(program), drawn, recorded))
    return all_noise


def _figures(run: TimedRun) -> DrawnRun:
    return DrawnRun("", 0, run.cycles_ns, run.probe_ns, run.typical_ns, run.fast_ns, run.mean_ns)


# -- real ones ------------------------------------------------------------------------------------


def make_decisions(folder: Path, wanted: list[str], seconds: float, detect: str, most: int) -> None:
    """Run `timesink ab` on programs of `ab_programs.py`, each as slow as it says, one by one."""
    program = str(Path(__file__).with_name("ab_programs.py"))
    for number, spec in enumerate(wanted):
        name, _, planted = spec.partition(":")
        place = folder / f"{number:02d}_{name}_{planted}"
        base = [sys.executable, program, name]
        command = [
            *(sys.executable, "-m", "timesink", "ab", "-o", str(place), "--force", "--quiet"),
            *("--no-timeline", "--skip", "40", "--seconds", str(seconds), "--detect", detect),
            *("--runs", str(most), "--budget", "20min", "--seed", str(1000 + number)),
            *("--base", shlex.join(base), "--new", shlex.join([*base, planted])),
            *(("--marker", "copy_step") if name == "copies" else ()),
        ]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        print(f"{place.name}: {done.stdout.splitlines()[:1] or done.stderr[-200:]}", flush=True)


def table_of_decisions(folder: Path) -> None:
    """What was decided, a row per program and planted change."""
    rows: dict[tuple[str, float], list[Decision]] = {}
    for place in sorted(folder.iterdir()):
        _, name, planted = place.name.split("_")
        ab = read_ab(place)
        if not ab.complete:
            continue
        runs = [
            timed
            for run in ab.counted
            for run_file in [run_file_in(place / run.folder)]
            for timed in timed_runs(
                None if run_file is None else run_file.run, run.folder, run.side
            )
        ]
        looks = (decide(runs[:end], ab.detect_pct) for end in range(6, len(runs) + 1, 2))
        every = list(looks) or [decide(runs, ab.detect_pct)]
        first = next((decision for decision in every if decision.outcome != "undecided"), every[-1])
        rows.setdefault((name, float(planted)), []).append(first)
    print(
        "| program | planted | decisions | slower | faster | same | not decided | change found | "
        "runs a side |\n|---|---|---|---|---|---|---|---|---|"
    )
    for (name, planted), decisions in sorted(rows.items()):
        outcomes = Counter(decision.outcome for decision in decisions)
        changes = sorted(decision.leading.change_pct for decision in decisions)
        used = sorted(decision.runs[0] for decision in decisions)
        print(
            f"| {name} | {planted:g} % | {len(decisions)} | {outcomes['slower']} | "
            f"{outcomes['faster']} | {outcomes['same']} | {outcomes['undecided']} | "
            f"{changes[0]:+.1f} to {changes[-1]:+.1f} % | {used[0]} to {used[-1]} |"
        )


# -- simulated comparisons ------------------------------------------------------------------------


def simulate_comparison(noise: Noise, factor: float, seed: int, most_pairs: int, detect_pct: float):  # noqa: ANN201
    """The outcome of one comparison that is looked at after every pair, and its pairs."""
    random = np.random.default_rng([_SEED, seed])
    source = noise.sequence(2 * most_pairs, random)
    runs: list[DrawnRun] = []
    for number, side in enumerate(islice(next_sides(seed), 2 * most_pairs)):
        drawn_run, by = source[number], factor if side == "new" else 1.0
        cycles = drawn_run.cycles_ns if by == 1.0 else by * drawn_run.cycles_ns
        runs.append(
            DrawnRun(
                side, number, cycles, drawn_run.probe_ns,
                by * drawn_run.typical_ns, by * drawn_run.fast_ns, by * drawn_run.mean_ns,
            )
        )  # fmt: skip
        if number % 2 and number > 3:
            decision = decide(runs, detect_pct)
            if decision.outcome != "undecided":
                return decision.outcome, decision.pairs
    return "undecided", most_pairs


def scatter_pct(noise: Noise) -> float:
    """Standard deviation of the change between neighbours, without the outermost tenths."""
    runs = [
        TimedRun(("base", "new")[number % 2], run.cycles_ns, number)
        for number, run in enumerate(noise.recorded)
    ]
    apart = np.log([new.typical_ns / base.typical_ns for base, new in neighbours(runs)])
    low, high = np.quantile(apart, [0.1, 0.9])
    return 100 * float(np.clip(apart, low, high).std(ddof=1)) / 0.8


def simulate(many: int) -> None:
    """A row per program: planted changes that were found, and equal sides that alarmed."""
    print(
        "| noise of | recorded runs | pairs differ by | planted | runs a side, stated | found | "
        "said to be the same, or faster | runs a side, median | equal sides: alarms | same |\n"
        "|---|---|---|---|---|---|---|---|---|---|"
    )
    for noise in noises():
        scatter = scatter_pct(noise)
        # The smallest change that a few dozen runs can show.
        detect = next(
            (
                planted_pct
                for planted_pct in _PLANTED
                if runs_needed(scatter, planted_pct) <= _MOST_STATED
            ),
            20.0,
        )
        stated = max(runs_needed(scatter, detect), 6)
        planted = [
            simulate_comparison(noise, 1 + detect / 100, seed, stated, detect)
            for seed in range(many)
        ]
        equal = [
            simulate_comparison(noise, 1.0, many + seed, stated, detect) for seed in range(many)
        ]
        shares = [
            f"{100 * sum(outcome in wanted for outcome, _ in drawn) / many:.1f} %"
            for drawn, wanted in (
                (planted, {"slower"}),
                (planted, {"same", "faster"}),
                (equal, {"slower", "faster"}),
                (equal, {"same"}),
            )
        ]
        used = np.median([pairs for _, pairs in planted])
        print(
            f"| {noise.program} | {len(noise.recorded)} | {scatter:.2f} % | +{detect:g} % | "
            f"{stated} | {shares[0]} | {shares[1]} | {used:.0f} | {shares[2]} | {shares[3]} |",
            flush=True,
        )


def calibrate(many: int, pairs: int) -> None:
    """Alarms among equal sides whose differences are drawn from known distributions."""
    random = np.random.default_rng(_SEED)
    draws = {
        "normal": lambda: random.normal(size=2 * pairs),
        "Laplace": lambda: random.laplace(size=2 * pairs),
        "t, 3 degrees of freedom": lambda: random.standard_t(3, size=2 * pairs),
    }
    print("| runs differ as | alarms, never stopping at `same` |\n|---|---|")
    for name, draw in draws.items():
        alarms = 0
        for seed in range(many):
            levels = np.exp(0.01 * draw()) * 1e6
            runs = [
                DrawnRun(side, number, np.full(1, level), None, level, level, level)
                for number, (side, level) in enumerate(zip(next_sides(seed), levels, strict=False))
            ]
            looks = (decide(runs[:end], 1e-9) for end in range(6, 2 * pairs + 1, 2))
            alarms += any(decision.outcome in {"slower", "faster"} for decision in looks)
        print(f"| {name} | {100 * alarms / many:.2f} % of {many} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("real", "decided", "noise", "simulate", "calibrate"))
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--seconds", type=float, default=0.5, help="measured time of a run")
    parser.add_argument("--detect", default="2%")
    parser.add_argument("--runs", type=int, default=10, help="most runs a side")
    parser.add_argument("--many", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=40, help="looks of `calibrate`")
    options = parser.parse_args()
    folders = [Path(folder) for folder in options.folders]
    if options.what == "real":
        make_decisions(
            folders[0], options.folders[1:], options.seconds, options.detect, options.runs
        )
    elif options.what == "decided":
        table_of_decisions(folders[0])
    elif options.what == "noise":
        keep_noise(folders)
    elif options.what == "simulate":
        simulate(options.many)
    else:
        calibrate(options.many, options.pairs)


if __name__ == "__main__":
    main()
