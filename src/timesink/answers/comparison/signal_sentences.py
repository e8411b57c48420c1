"""What single runs tell for sure, or nearly, in words: program, counts, memory, device time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from timesink.analyses.comparison.signals import Signals, signals_of
from timesink.answers.comparison.pairing import Compared
from timesink.answers.comparison.program import opening_lines
from timesink.model.diagnosis import Diagnosis
from timesink.model.units import from_to, per_cycle, size_bytes

PROGRAM, COUNTS, DEVICE_TIME = "program", "counts", "device_time"
_NO_DEVICE = (
    "no device work was recorded: record where there is a device, or leave this limit out where "
    "the program uses none"
)


@dataclass(frozen=True, slots=True)
class ExactAmount:
    """An exact signal, as sentences speak of it."""

    signal: str
    """Field of `Signals`."""
    things: str
    """What is counted; nothing of sizes."""
    rest: str
    """What it is of, or what became of the bytes."""
    is_size: bool = False
    missing: str = _NO_DEVICE
    """What to record where it is not known."""

    def said(self, value: float) -> str:
        """One side of it."""
        return size_bytes(value) if self.is_size else per_cycle(value)

    def of(self, base: float, new: float) -> str:
        """Both sides of it."""
        things = self.things[:-1] if base == new == 1 else self.things
        what = " ".join(filter(None, (things, self.rest)))
        if base == new:
            return f"{self.said(new)} {what}, as before"
        by = f"{'+' if new > base else '-'}{self.said(abs(new - base))}"
        return f"{from_to(self.said(base), self.said(new))} {what} ({by})"


AMOUNTS: Mapping[str, ExactAmount] = {
    "launches": ExactAmount("launches", "launches", "per cycle"),
    "syncs": ExactAmount("syncs", "waits", "for the device per cycle"),
    "bytes_copied": ExactAmount("copied_bytes", "", "copied per cycle", is_size=True),
    "peak_memory": ExactAmount(
        "peak_memory_bytes",
        "",
        "of memory at its peak",
        is_size=True,
        missing="allocations were not recorded: record with --with memory",
    ),
}
"""Exact signals by the keys of their limits."""


def signals_of_pair(pair: Compared) -> tuple[Signals, Signals]:
    """The signals of both sides, of all devices."""
    whole = pair.whole or pair.pair
    return signals_of(whole.base), signals_of(whole.new)


def certain_lines(pair: Compared, why: Diagnosis, asked: frozenset[str]) -> dict[str, str]:
    """What is certain and precise of two runs, but for limits that are `asked` about."""
    first, *rest = opening_lines(why) or [""]
    if not first:
        return {}
    found = {} if PROGRAM in asked else {PROGRAM: first}
    sides = signals_of_pair(pair)
    told = []
    for key, what in AMOUNTS.items():
        base, new = (getattr(one, what.signal) for one in sides)
        if key not in asked and base is not None and new is not None:
            told.append(what.of(base, new))
    if told:
        found[COUNTS] = f"{'; '.join(told)}."
    if rest and DEVICE_TIME not in asked:
        found[DEVICE_TIME] = " ".join(rest)
    return found
