"""Which cycles of a run are slow, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from timesink.model import units
from timesink.model.amounts import signed_pct
from timesink.model.schema import HOST_DEVICE
from timesink.reports.function_names import short_labels

if TYPE_CHECKING:
    from timesink.analyses.diagnosis.diagnosis import CycleTime
    from timesink.analyses.diagnosis.outliers import Level, Split
    from timesink.analyses.diagnosis.single_cycles import Excess
    from timesink.reports.diagnosis.report import Diagnosed, Within

_MOST_SPANS = 5
_MOST_LEVELS = 6
_DRIFT = 0.1
"""Levels are told whose lengths differ by this part of the typical one."""


def spans(numbers: Sequence[int]) -> str:
    """Numbers in order, those that follow each other together.

    >>> spans([3]), spans([3, 7, 8, 9, 12]), spans([1, 2])
    ('3', '3, 7 to 9 and 12', '1 and 2')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said = [part for run in runs for part in _run(run)]
    if len(said) > _MOST_SPANS:
        return units.listed(said, _MOST_SPANS)
    return " and ".join(filter(None, (", ".join(said[:-1]), said[-1])))


def _run(run: Sequence[int]) -> Iterator[str]:
    if len(run) > 2:
        yield f"{run[0]} to {run[-1]}"
    else:
        yield from map(str, run)


def _cycles(numbers: Sequence[int]) -> str:
    return f"{'cycles' if len(numbers) > 1 else 'cycle'} {spans(numbers)}"


# -- one process -----------------------------------------------------------------------------------


def why_slow(split: Split, lengths: CycleTime) -> str:
    """Which cycles are slow, and against what."""
    count = f"{units.count(len(split.slow))} of {units.counted(split.known, 'cycles')}"
    if split.has_levels:
        slower, faster = (units.brief_ns(ns) for ns in (lengths.new_ns, lengths.base_ns))
        faster_ones = f"{faster} of the faster ones ({_cycles(split.typical)})"
        said = f"{count} take {slower} on average ({_cycles(split.slow)}), against {faster_ones}"
        return f"The run has levels: {said}."
    typical = units.brief_ns(split.typical_ns)
    take = "takes" if len(split.slow) == 1 else "take"
    return f"{count} {take} longer than the typical {typical}: {_cycles(split.slow)}."


def why_not(split: Split) -> str:
    """Why no cycle is called slow."""
    if not split.known:
        return "How long cycles take is not recorded."
    if split.known == 1:
        return "One cycle: nothing to compare with."
    if not split.can_tell:
        return f"{units.counted(split.known, 'cycles')}: too few to tell slow ones."
    after = " after warm-up" if split.warm_up else ""
    typical = units.brief_ns(split.typical_ns)
    return f"No cycle{after} takes much longer than the others: typical are {typical}."


def notes_of(split: Split) -> tuple[str, ...]:
    """Warm-up, levels a run went through, and cycles that are unusually short."""
    return tuple(_notes(split))


def _notes(split: Split) -> Iterator[str]:
    if split.warm_up:
        which = _cycles(split.warm_up)
        told = "is" if len(split.warm_up) == 1 else "are"
        yield f"{which[0].upper()}{which[1:]} {told} warm-up and not counted among slow ones."
    if _drifts(split):
        more = len(split.levels) - _MOST_LEVELS
        said = [_level(one) for one in split.levels[:_MOST_LEVELS]]
        rest = f" and {units.counted(more, 'more levels')}" if more > 0 else ""
        yield f"The run drifts: {', '.join(said)}{rest}."
    if split.fast:
        yield f"Unusually short, and on neither side: {_cycles(split.fast)}."


def _drifts(split: Split) -> bool:
    lengths = [one.mean_ns for one in split.levels]
    return bool(lengths) and max(lengths) - min(lengths) > _DRIFT * split.typical_ns


def _level(one: Level) -> str:
    which = f"cycles {one.first} to {one.last}" if one.last > one.first else f"cycle {one.first}"
    return f"{which} at {units.brief_ns(one.mean_ns)}"


# -- all processes ---------------------------------------------------------------------------------


def headline(report: Diagnosed) -> str:
    """Whether cycles are slow, and what explains most of it."""
    found = report.diagnosis
    said = [_of_all(report.processes) if len(report.processes) > 1 else found.reason]
    for cause in found.causes[:1]:
        by = units.brief_ns(abs(cause.explained_ns))
        said.append(f"{cause.cause} explains {by} per slow cycle.")
    return " ".join(said)


def _of_all(processes: Sequence[Within]) -> str:
    """The one process that is worst, and how many others have slow cycles."""
    slow = [one for one in processes if one.pair is not None]
    if not slow:
        return f"No cycle of {things(processes)} takes much longer than usual."
    worst = max(slow, key=excess_ns)
    return f"{how_many_slow(processes)}, most of all {worst.name}: {worst.diagnosis.reason}"


def how_many_slow(processes: Sequence[Within]) -> str:
    """How many of all processes have cycles that take longer."""
    slow = sum(one.pair is not None for one in processes)
    return f"{slow} of {things(processes)} {'has' if slow == 1 else 'have'} slow cycles"


def things(processes: Sequence[Within]) -> str:
    """How many there are, and of what: a process with two sorts of cycles is one process."""
    apart = {(one.role.source, one.role.host, one.role.pid) for one in processes}
    return units.counted(
        len(processes), "processes" if len(apart) == len(processes) else "sorts of cycles"
    )


def of_single_cycles(one: Within) -> list[str]:
    """Slow cycles that one function explains; those alike are told by the first of them."""
    by_function: dict[tuple[str, str], list[Excess]] = {}
    for excess in one.excesses:
        by_function.setdefault((excess.function, excess.device), []).append(excess)
    return [_excess(alike) for alike in by_function.values()]


def _excess(alike: Sequence[Excess]) -> str:
    first = max(alike, key=lambda one: one.time_ns)
    which = _cycles([one.cycle for one in alike])
    took = units.brief_ns(first.time_ns)
    up_to = f"up to {took}" if len(alike) > 1 else took
    usual = units.brief_ns(first.typical_most_ns)
    kept = [first.function] if first.device == HOST_DEVICE else []
    name = short_labels([first.function], kept)[first.function]
    said = f"{name} on {first.device} takes {up_to}, in typical cycles at most {usual}"
    return f"{which[0].upper()}{which[1:]}: {said}."


def excess_ns(one: Within) -> float:
    """How much longer its slow cycles take."""
    cycles = one.diagnosis.cycle_time
    return cycles.new_ns - cycles.base_ns


def change(one: Within) -> str:
    """By how much slow cycles are longer; empty where none is slow."""
    pct = one.diagnosis.cycle_time.change_pct
    return "" if one.pair is None or pct is None else signed_pct(pct)
