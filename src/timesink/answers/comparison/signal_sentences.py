"""What single runs tell for sure, or nearly, in words: program, counts, memory, device time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from timesink.analyses.comparison.pair import Signals, signals_of
from timesink.answers.comparison.pairing import Compared
from timesink.answers.comparison.program import program_lines
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
    per: str = " per cycle"
    missing: str = _NO_DEVICE
    """What to record where it is not known."""

    def said(self, value: float) -> str:
        """One side of it."""
        return size_bytes(value) if self.is_size else per_cycle(value)

    def of(self, base: float, new: float) -> str:
        """Both sides of it."""
        if base == new:
            return f"{self.alone(new)}{self.per}, as before"
        what = " ".join(filter(None, (self.things, self.rest)))
        by = f"{'+' if new > base else '-'}{self.said(abs(new - base))}"
        return f"{from_to(self.said(base), self.said(new))} {what}{self.per} ({by})"

    def alone(self, value: float) -> str:
        """One side and what it is."""
        things = self.things[:-1] if value == 1 else self.things
        return " ".join(filter(None, (self.said(value), things, self.rest)))


AMOUNTS: Mapping[str, ExactAmount] = {
    "launches": ExactAmount("launches", "launches", ""),
    "syncs": ExactAmount("syncs", "waits", "for the device"),
    "bytes_copied": ExactAmount("copied_bytes", "", "copied", is_size=True),
    "peak_memory": ExactAmount(
        "peak_memory_bytes",
        "",
        "of memory at its peak",
        is_size=True,
        per="",
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
    if why.program is None or why.verdict == "incomparable":
        return {}
    first, *rest = program_lines(why.program)
    found = {} if PROGRAM in asked else {PROGRAM: first}
    if told := "; ".join(_amounts_told(signals_of_pair(pair), asked)):
        found[COUNTS] = f"{told}."
    if rest and DEVICE_TIME not in asked:
        found[DEVICE_TIME] = " ".join(rest)
    return found


def _amounts_told(sides: tuple[Signals, Signals], asked: frozenset[str]) -> Iterator[str]:
    """What changed one by one, then what is as before together."""
    same: dict[str, list[str]] = {}
    for key, what in AMOUNTS.items():
        base, new = (getattr(one, what.signal) for one in sides)
        if key in asked or base is None or new is None:
            continue
        if base == new:
            same.setdefault(what.per, []).append(what.alone(new))
        else:
            yield what.of(base, new)
    for per, texts in same.items():
        yield f"{', '.join(texts)}{per}, as before"
