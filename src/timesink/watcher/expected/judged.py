"""Which cycles took longer than expected, in episodes, and how good the expectation is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from timesink.errors import UsageError
from timesink.model.intervals import Flags, Floats, Ints
from timesink.watcher.expected.limits import lasting_shifts, own_distance, run_levels, spikes
from timesink.watcher.expected.model import DurationModel, near, outside_of
from timesink.watcher.expected.trees import AskedForest
from timesink.watcher.expected.workload import PHASES, CycleWorkload, workload_of
from timesink.watcher.thresholds import JudgedLimits


@dataclass(frozen=True)
class ExpectedCycles:
    """What each cycle was expected to take, and why some are not judged."""

    cycles: CycleWorkload
    expected_us: Floats
    unusable: Flags
    empty: Flags
    outside: Flags

    @cached_property
    def judged(self) -> Flags:
        """Cycles that did work of a sort that was learned."""
        return ~(self.unusable | self.empty | self.outside)

    @cached_property
    def distance(self) -> Floats:
        """ln(observed / expected)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            log_ratio: Floats = np.log(self.cycles.duration_us / self.expected_us)
        return log_ratio


def expected_durations(model: DurationModel, rows: pl.DataFrame) -> ExpectedCycles:
    """What each cycle of a table should take, in order of time, run by run."""
    missing = [name for name in model.columns if name not in rows.columns]
    if missing:
        raise UsageError(
            f"the rows lack {', '.join(missing[:4])}, which the model was learned with",
            "give rows with the same columns, or learn again from rows like these",
        )
    cycles = workload_of(rows, model.columns)
    has_duration = np.isfinite(cycles.duration_us) & (cycles.duration_us > 0)
    empty = has_duration & (np.nan_to_num(cycles.duration_us) < model.empty_below_us)
    outside = outside_of(model.ranges, near(model.cells), cycles) & has_duration & ~empty
    expected = np.exp(np.clip(AskedForest(model.forest).predict(cycles.features), -50, 50))
    return ExpectedCycles(cycles, expected, ~has_duration, empty, outside)


@dataclass(frozen=True)
class Episode:
    """Cycles in a row that took too long."""

    run: str
    kind: str
    """`spike`, or `lasting_shifts` where a shift was seen."""
    phase: str
    first_row: int
    """Of the table, counted from 1."""
    start_ts: float | None
    cycles: int
    expected_us: float
    """What a cycle should take on average, and what it took."""
    observed_us: float
    lost_us: float
    """What all of them took too long."""


@dataclass(frozen=True)
class Accuracy:
    """How far cycles are from what was expected."""

    rows: int
    mape_pct: float | None
    median_ape_pct: float | None
    within_10pct: float | None
    """Percent of the cycles."""
    alarms: int = 0


@dataclass(frozen=True)
class Judged:
    """A table of cycles beside what a model expects."""

    model: DurationModel
    expected: ExpectedCycles

    @cached_property
    def alarm(self) -> Flags:
        """Cycles that took too long, in the order of `expected`."""
        alarms = np.zeros(len(self.expected.cycles), dtype=bool)
        alarms[self.expected.judged] = self._spikes | self._lasting[0]
        return alarms

    @cached_property
    def _distance(self) -> Floats:
        mine = self.expected
        cycles = mine.cycles.part(mine.judged)
        return own_distance(self.model.limits.level, cycles, mine.distance[mine.judged])

    @cached_property
    def _spikes(self) -> Flags:
        mine = self.expected
        return spikes(self.model.limits, mine.cycles.part(mine.judged), self._distance)

    @cached_property
    def _lasting(self) -> tuple[Flags, Ints]:
        mine = self.expected
        return lasting_shifts(self.model.limits, mine.cycles.part(mine.judged), self._distance)

    @cached_property
    def accuracy(self) -> Accuracy:
        """Of cycles that are judged."""
        return self._accuracy(self.expected.judged)

    @cached_property
    def accuracy_of_all(self) -> Accuracy:
        """Also of workloads that were not learned."""
        return self._accuracy(self.expected.judged | self.expected.outside)

    def by_phase(self) -> dict[str, Accuracy]:
        """Of judged cycles, phase by phase."""
        phases = self.expected.cycles.phases
        return {
            name: self._accuracy(self.expected.judged & (phases == place))
            for place, name in enumerate(PHASES)
            if (self.expected.judged & (phases == place)).any()
        }

    def _accuracy(self, chosen: Flags) -> Accuracy:
        if not chosen.any():
            return Accuracy(0, None, None, None)
        wrong = 100 * np.abs(np.expm1(-self.expected.distance[chosen]))
        return Accuracy(
            int(chosen.sum()), float(wrong.mean()), float(np.median(wrong)),
            float(100 * (wrong <= 10).mean()), int(self.alarm[chosen].sum()),
        )  # fmt: skip

    @cached_property
    def slow_runs(self) -> dict[str, float]:
        """Runs that were beyond what normal runs differ by from their first cycles on, in %."""
        mine = self.expected
        cycles = mine.cycles.part(mine.judged)
        levels = run_levels(cycles, mine.distance[mine.judged])
        return {
            cycles.run_names[run]: 100 * float(np.expm1(level))
            for run, (level, _) in levels.items()
            if level > self.model.limits.level
        }

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """Alarms that follow each other, with what they cost; the costliest first."""
        return tuple(sorted(self._episodes(), key=lambda episode: -episode.lost_us))

    def _episodes(self) -> Iterator[Episode]:
        mine = self.expected
        cycles = mine.cycles.part(mine.judged)
        expected = mine.expected_us[mine.judged]
        for first, last, lasts in self._stretches():
            part = slice(first, last + 1)
            count = part.stop - part.start
            expected_sum, took = expected[part].sum(), cycles.duration_us[part].sum()
            began = float(cycles.start_ts[first])
            phase = int(np.bincount(cycles.phases[part]).argmax())
            yield Episode(
                cycles.run_names[cycles.runs[first]],
                "lasting" if lasts else "spike",
                PHASES[phase],
                int(cycles.rows[first]) + 1,
                began if np.isfinite(began) else None,
                count,
                float(expected_sum / count),
                float(took / count),
                float(took - expected_sum),
            )

    def _stretches(self) -> list[tuple[int, int, bool]]:
        """First and last place of each episode among judged cycles, and whether a shift was seen.

        No cycle is in two of them: what is lost is counted once.
        """
        runs = self.expected.cycles.runs[self.expected.judged]
        shifted, onset = self._lasting
        where = np.flatnonzero(self._spikes | shifted)
        apart = (np.diff(where) > JudgedLimits.apart + 1) | (np.diff(runs[where]) != 0)
        stretches: list[tuple[int, int, bool]] = []
        for group in np.split(where, np.flatnonzero(apart) + 1) if len(where) else ():
            sure = group[shifted[group]]
            # A shift began before it was sure, and may have begun with alarms before this one.
            first, lasts = min([int(group[0]), *onset[sure].tolist()]), len(sure) > 0
            while stretches and stretches[-1][1] >= first:
                before = stretches.pop()
                first, lasts = min(first, before[0]), lasts or before[2]
            stretches.append((first, int(group[-1]), lasts))
        return stretches


def judge_rows(model: DurationModel, rows: pl.DataFrame) -> Judged:
    """The cycles of a table beside what a model expects of them."""
    return Judged(model, expected_durations(model, rows))
