"""What a reader of a behaviour table must know, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from timesink.analyses.behaviour.calls import CycleWork
from timesink.analyses.behaviour.places import CounterBook
from timesink.analyses.behaviour.samples import REACH_IN_INTERVALS, Series
from timesink.model import units

NO_SAMPLES = "no counter samples in or beside the recording: functions have times only"
_MOST_NAMES = 5
_FEW_CALLS, _LITTLE_TIME = 0.001, 0.01
"""Parts of all calls and of their time that no number changes by: a profiler that stops waits for
the device once or twice, outside of all cycles."""


def notes_of(
    device: CycleWork, host: CycleWork, book: CounterBook, reading: CounterUse
) -> tuple[str, ...]:
    """What was left out, and how far counters were taken from."""
    return (*_work_notes(device, host), *_counter_notes(book, reading))


@dataclass(frozen=True, slots=True)
class CounterUse:
    """Which counters matter to functions of a run, and which of these were read."""

    wanted: frozenset[str]
    read: frozenset[str]
    of_recorder: frozenset[str] = frozenset()
    """What `timesink record` sampled: more than functions read, as diagnoses look at the rest."""


def _work_notes(device: CycleWork, host: CycleWork) -> Iterator[str]:
    for work, what in ((device, "device activities"), (host, "host calls")):
        share = work.outside_ns / work.total_ns if work.total_ns else 0.0
        many = work.outside > _FEW_CALLS * work.total
        if many or share > _LITTLE_TIME:
            yield (
                f"outside of all cycles, not counted: {units.count(work.outside)} of "
                f"{units.counted(work.total, what)} ({100 * share:.1f} % of their time)"
            )
    if device.by_time:
        yield (
            "without a launching call in the recording, counted in the cycle of their start: "
            f"{units.counted(device.by_time, 'device activities')}"
        )
    if host.without_cycles:
        yield f"without cycles, not counted: {_listed('process', host.without_cycles)}"


def _counter_notes(book: CounterBook, use: CounterUse) -> Iterator[str]:
    if not book.counters:
        yield NO_SAMPLES
        return
    known = use.wanted | use.of_recorder
    unread = [counter for counter in book.counters if counter not in known]
    if unread:
        yield f"no function here reads {_listed('counter', unread)}; --map FILE can change that"
    far = sorted(use.wanted - use.read)
    if far:
        yield (
            f"no sample near the calls it matters to: {_listed('counter', far)}, recorded at other "
            "times, on another clock or of another device"
        )
    if use.read:
        yield _reach_note([s for (counter, _), s in book.series.items() if counter in use.read])


def _reach_note(series: Sequence[Series]) -> str:
    reach = units.duration_ns(max(each.reach_ns for each in series))
    return (
        f"between samples counters are interpolated, from samples at most {reach} away "
        f"({REACH_IN_INTERVALS} sampling intervals)"
    )


def _listed(thing: str, names: Sequence[str]) -> str:
    plural = thing if len(names) == 1 else thing + ("es" if thing.endswith("s") else "s")
    return f"{plural} {units.listed(names, _MOST_NAMES)}"
