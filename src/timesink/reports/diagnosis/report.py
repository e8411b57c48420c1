"""The answer of `timesink diagnose` as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.role import Role
from timesink.analyses.diagnosis.diagnosis import Diagnosis
from timesink.analyses.diagnosis.outliers import Split
from timesink.analyses.diagnosis.single_cycles import Excess
from timesink.readers.discover import sayable
from timesink.reports.diagnosis import plain
from timesink.reports.diagnosis.joining import together
from timesink.reports.diagnosis.telling import headline

SCHEMA = "timesink/diagnosis/1"


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """One process of a run: its slow cycles against its typical ones."""

    name: str
    """What it is called among the others: `pid 7`, `rank 3, decode cycles`."""
    role: Role
    split: Split
    diagnosis: Diagnosis
    pair: Pair | None = None
    """Typical cycles beside slow ones; None where no cycle is slow."""
    excesses: tuple[Excess, ...] = ()
    """Single slow cycles that one function explains."""

    def to_dict(self) -> dict[str, Any]:
        """Which cycles are slow, and why."""
        split = self.split
        return {
            "name": self.name,
            "pid": self.role.pid,
            "host": self.role.host,
            "rank": self.role.rank,
            "cycles": self.role.cycles,
            "typical_us": split.typical_ns / 1000,
            "typical_cycles": list(split.typical),
            "slow_cycles": list(split.slow),
            "fast_cycles": list(split.fast),
            "warm_up_cycles": list(split.warm_up),
            "levels": [_in_us(asdict(one)) for one in split.levels],
            "excesses": [_in_us(asdict(one)) for one in self.excesses],
            **plain.diagnosis(self.diagnosis),
        }


def _in_us(told: dict[str, Any]) -> dict[str, Any]:
    """The same with times in microseconds.

    >>> _in_us({"first": 1, "mean_ns": 1500.0})
    {'first': 1, 'mean_us': 1.5}
    """
    return {
        f"{name.removesuffix('_ns')}_us" if name.endswith("_ns") else name: value / 1000
        if name.endswith("_ns")
        else value
        for name, value in told.items()
    }


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosed:
    """Why some cycles of a run take longer than its others.

    >>> import timesink
    >>> timesink.diagnose(timesink.sample_runs()[0]).headline
    '1 of 12 cycles takes longer than the typical 55.1 ms: cycle 8.'
    """

    source: str
    processes: tuple[Within, ...]
    notes: tuple[str, ...] = ()
    """What to know before believing the numbers."""

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """All processes read together; of one, its own."""
        return together(self.processes)

    @property
    def headline(self) -> str:
        """The answer in a few sentences."""
        return headline(self)

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/diagnosis.md` describes every key."""
        return {
            "schema": SCHEMA,
            "source": sayable(self.source),
            "headline": self.headline,
            **plain.diagnosis(self.diagnosis),
            "notes": [sayable(note) for note in self.notes],
            "processes": [one.to_dict() for one in self.processes],
        }

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        import msgspec  # noqa: PLC0415

        return msgspec.json.encode(self.to_dict())

    def __repr__(self) -> str:
        """One line: what was diagnosed, and the answer."""
        return f"<Diagnosed {self.source}: {self.headline}>"
