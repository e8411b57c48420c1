"""Pairs without a fault: one run cut in two, or drawn anew from its own cycles.

Whatever a diagnosis says about them beyond `no_change` is a false alarm.  Parts of one run are told
as such, and a change of level between them is drift.  That says nothing about verdicts between
runs, so each cut is also made to look like two runs: another process, and another hour.  There
drift within the run counts as a change between its parts, as it does between two recordings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import polars as pl

from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.comparison.results import Process

ITSELF = "beside itself"
HALVES = "first and second half"
ALTERNATE = "even and odd cycles"
AS_PARTS = "as parts of one run"
AS_TWO_RUNS = "as two runs"
LOOKS = (AS_PARTS, AS_TWO_RUNS)
_LATER_NS = 3_600_000_000_000
_TIMES = ("ts_ns", "cycle_ts_ns")
FEWEST_CYCLES = 6
"""A run with fewer has no two parts that a test could tell anything about."""


@dataclass(frozen=True, eq=False)
class NullPair:
    """Two sides of one run."""

    kind: str
    """How the run was cut."""
    name: str
    base: Process
    new: Process
    look: str = AS_PARTS
    """Whether the sides can be seen to be parts of one run, one of `LOOKS`."""

    def swapped(self) -> NullPair:
        """The same pair in the other order."""
        return replace(self, base=self.new, new=self.base)

    def as_two_runs(self) -> NullPair:
        """The same pair with NEW as another process does it an hour later."""
        return replace(self, new=_of_another_run(self.new), look=AS_TWO_RUNS)

    def in_both_looks(self) -> Iterator[NullPair]:
        """The same pair as parts of one run, and as two runs."""
        yield from (self, self.as_two_runs())


def null_pairs(
    name: str, role: Process, random: np.random.Generator, draws: int
) -> Iterator[NullPair]:
    """A run beside itself, cut in both orders, and `draws` random halves and resampled pairs.

    All look like parts of one run and like two runs; of the random ones every other does.
    """
    yield NullPair(ITSELF, name, role, role)
    cycles = _cycles(role)
    if len(cycles) < FEWEST_CYCLES:
        return
    half = len(cycles) // 2
    both_orders = [
        NullPair(HALVES, name, _cut_role(role, cycles[:half]), _cut_role(role, cycles[half:])),
        NullPair(ALTERNATE, name, _cut_role(role, cycles[::2]), _cut_role(role, cycles[1::2])),
    ]
    for pair in both_orders:
        for oriented_pair in (pair, pair.swapped()):
            yield from oriented_pair.in_both_looks()
    drawn_pairs = [
        *_random_halves(name, role, random, draws),
        *_resampled_pairs(name, role, random, draws),
    ]
    for place, pair in enumerate(drawn_pairs):
        yield pair.as_two_runs() if place % 2 else pair


def _random_halves(
    name: str, role: Process, random: np.random.Generator, draws: int
) -> Iterator[NullPair]:
    cycles = _cycles(role)
    half = len(cycles) // 2
    for _ in range(draws):
        mixed = random.permutation(cycles)
        sides = [_cut_role(role, np.sort(side)) for side in (mixed[:half], mixed[half:])]
        yield NullPair("random halves", name, *sides)


def _resampled_pairs(
    name: str, role: Process, random: np.random.Generator, draws: int
) -> Iterator[NullPair]:
    cycles = _cycles(role)
    for _ in range(draws):
        drawn = [np.sort(random.choice(cycles, len(cycles))) for _ in range(2)]
        sides = [
            replace(_cut_role(role, side, anew=True), source=f"{role.source} drawn {letter}")
            for side, letter in zip(drawn, "ab", strict=True)
        ]
        yield NullPair("resampled cycles", name, *sides)


def _cycles(role: Process) -> np.ndarray:
    return role.behaviour["cycle"].unique().sort().to_numpy()


def _of_another_run(role: Process) -> Process:
    pid = f"{role.pid}9"
    anatomy = role.anatomy
    if anatomy is not None:
        anatomy = replace(
            anatomy, **{name: _later(table) for name, table in _tables(anatomy).items()}
        )
    behaviour = _later(role.behaviour).with_columns(
        pl.lit(pid).cast(role.behaviour.schema["pid"]).alias("pid")
    )
    source = f"{role.source} later"
    return replace(role, source=source, pid=pid, behaviour=behaviour, anatomy=anatomy)


def _later(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col(name) + _LATER_NS for name in _TIMES if name in table.columns)


def _cut_role(role: Process, cycles: Sequence[int] | np.ndarray, *, anew: bool = False) -> Process:
    """Some cycles of a role; one that is named twice is there twice, which needs new numbers."""
    numbers = np.arange(1, len(cycles) + 1) if anew else np.asarray(cycles)
    chosen = pl.DataFrame(
        {"cycle": cycles, "number": numbers}, {"cycle": pl.Int64, "number": pl.Int64}
    )
    anatomy = None if role.anatomy is None else _cut_anatomy(role.anatomy, chosen)
    return replace(role, behaviour=_chosen(role.behaviour, chosen), anatomy=anatomy)


def _cut_anatomy(anatomy: Anatomy, chosen: pl.DataFrame) -> Anatomy:
    tables = {
        name: _chosen(table, chosen)
        for name, table in _tables(anatomy).items()
        if "cycle" in table.columns
    }
    return replace(anatomy, **tables)


def _tables(anatomy: Anatomy) -> dict[str, pl.DataFrame]:
    values = {field.name: getattr(anatomy, field.name) for field in fields(anatomy)}
    return {name: value for name, value in values.items() if isinstance(value, pl.DataFrame)}


def _chosen(table: pl.DataFrame, chosen: pl.DataFrame) -> pl.DataFrame:
    joined = chosen.join(table, "cycle", "inner", maintain_order="left_right")
    return joined.with_columns(cycle=pl.col("number")).select(table.columns)
