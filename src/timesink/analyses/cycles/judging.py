"""How far a reading of a run as cycles can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from timesink.analyses.cycles.events_in_cycles import work_in
from timesink.analyses.cycles.reading import Reading
from timesink.model.trace import Trace

LEAST = 0.4
"""A reading nobody asked for is taken from this confidence on."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What speaks for a reading, each from 0 to 1; the confidence is their product."""

    trust: float
    """How well the method knows what it found: 1 for what was marked on purpose."""
    repeats: float
    """n / (n + 1) for n cycles: two are a coincidence more easily than thirty."""
    likeness: float
    """How equal the amounts of work in the cycles of one process and type are."""
    coverage: float
    """Share of the recorded work that began in a cycle."""
    elsewhere: tuple[str, ...] = ()
    """Processes with work but without cycles; they do not count against a reading."""

    @property
    def confidence(self) -> float:
        return self.trust * self.repeats * self.likeness * self.coverage


def judge(trace: Trace, reading: Reading) -> Judgement:
    """Weigh a reading against everything the recording holds."""
    spans = reading.spans
    work = work_in(trace, spans, on_device=reading.on_device)
    amounts = work.events if work.events.any() else (spans["end_ns"] - spans["start_ns"]).to_numpy()
    fewest = spans.group_by("pid").len()["len"].min()
    count = int(fewest) if isinstance(fewest, int) else 0
    # 1 less the mean distance from the median, relative to it; over all cycles.
    groups = spans.select("pid", "type").with_columns(pl.Series("amount", amounts))
    usual = pl.col("amount").median().over("pid", "type")
    off = (pl.col("amount") - usual).abs() / usual.clip(lower_bound=1)
    mean = groups.select(off.clip(upper_bound=1).mean()).item()
    alike = 1.0 - float(mean or 0.0)
    return Judgement(reading.trust, count / (count + 1), alike, work.coverage, work.elsewhere)
