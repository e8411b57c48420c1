"""The repeating unit of a run: methods asked in the order of trust, the first that holds taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import polars as pl

from timesink.analyses.cycles.cycles import METHODS, Candidate, Cycles
from timesink.analyses.cycles.events_in_cycles import recorded_processes
from timesink.analyses.cycles.judging import LEAST, Judgement, judge
from timesink.analyses.cycles.kernels.period import kernel_period
from timesink.analyses.cycles.marks.annotations import lone_annotation, repeated_annotation
from timesink.analyses.cycles.marks.named import named_mark
from timesink.analyses.cycles.marks.profiler_steps import profiler_steps
from timesink.analyses.cycles.python.anchor import lone_pass, python_anchor
from timesink.analyses.cycles.python.layers import layers
from timesink.analyses.cycles.reading import MIN_REPEATS, Reading, numbered, period_ns
from timesink.analyses.cycles.recorded import recorded_cycles
from timesink.analyses.cycles.refusal import (
    no_such_marker,
    no_such_process,
    nothing_repeats,
    unknown_method,
)
from timesink.analyses.once import once_per_trace
from timesink.errors import UnreadableError
from timesink.model import units
from timesink.model.processes import host_and_pid
from timesink.model.trace import Trace, why_no_calls

_FINDERS: Mapping[str, Callable[[Trace], Reading | None]] = {
    "step": profiler_steps,
    "marker": repeated_annotation,
    "python": python_anchor,
    "layer": layers,
    "kernels": kernel_period,
}
_ASKED_IN_TURN = ("step", "marker", "python", "kernels")
"""Layers are parts of a unit: they are looked for only when asked for."""

_OUTLIER, _SHOWN = 5, 3


@once_per_trace
def find_cycles(
    trace: Trace, *, marker: str | None = None, by: str | None = None, pid: str | None = None
) -> Cycles:
    """Every cycle of a run; raises `NotFoundError` where nothing is seen to repeat.

    With `marker` the named annotation, call or kernel marks cycles; with `by` only that method is
    asked (see `METHODS`); with `pid` only that process is looked at.
    """
    if by is not None and by not in METHODS:
        raise unknown_method(by)
    if not trace.has_timeline:
        found = recorded_cycles(trace)
        if found is None:
            raise UnreadableError.no_timeline(trace.metadata.source)
        if pid is None:
            return found
        chosen = _of_pid(found.table, pid)
        if chosen.is_empty():
            raise no_such_process(trace, pid, found.table["pid"].unique().sort().to_list())
        return replace(found, table=chosen)
    # Raise where there is nothing that could repeat, or not in that process.
    processes = recorded_processes(trace)
    if not processes and trace.counters.height:
        raise UnreadableError.only_counters(trace.metadata.source, why_no_calls(trace))
    if pid is not None and not any(_is_called(one, pid) for one in processes):
        raise no_such_process(trace, pid, processes)
    if marker is not None:
        reading = _of_process(named_mark(trace, marker), pid)
        if reading is None:
            raise no_such_marker(trace, marker, pid)
        return _cycles(reading, _judged(trace, reading, pid), [])
    return _found(trace, (by,) if by else _ASKED_IN_TURN, pid)


def _found(trace: Trace, methods: tuple[str, ...], pid: str | None) -> Cycles:
    """The first reading that holds; a lone pass only where it is marked as such."""
    considered: list[tuple[Reading, Judgement]] = []
    for reading in _readings(trace, methods, pid):
        judgement = _judged(trace, reading, pid)
        if _holds(reading, judgement, asked=len(methods) == 1):
            return _cycles(reading, judgement, considered)
        considered.append((reading, judgement))
    for reading, judgement in considered:
        if reading.method == "step":
            rest = [other for other in considered if other[0] is not reading]
            return _cycles(reading, judgement, rest)
    lone = _of_process(lone_annotation(trace), pid) if "marker" in methods else None
    if lone is not None:
        return _cycles(lone, _judged(trace, lone, pid), considered)
    raise nothing_repeats(trace, methods, [reading for reading, _ in considered], pid)


def _readings(trace: Trace, methods: tuple[str, ...], pid: str | None) -> Iterator[Reading]:
    """Each method in turn; where one pass holds the recording, what repeats are its parts."""
    for method in methods:
        if method == "kernels" and len(methods) > 1 and _is_one_pass(trace):
            return
        reading = _of_process(_FINDERS[method](trace), pid)
        if reading is None:
            continue
        yield reading
        if method == "step":
            # Steps were marked: only other marks may say more than they do.
            yield from _readings(trace, tuple(m for m in methods if m == "marker"), pid)
            return


def _is_one_pass(trace: Trace) -> bool:
    return lone_annotation(trace) is not None or lone_pass(trace) is not None


def _judged(trace: Trace, reading: Reading, pid: str | None) -> Judgement:
    """Who asks for one process does not miss the others."""
    judgement = judge(trace, reading)
    return judgement if pid is None else replace(judgement, elsewhere=())


def _of_process(reading: Reading | None, pid: str | None) -> Reading | None:
    if reading is None or pid is None:
        return reading
    spans = _of_pid(reading.spans, pid)
    if spans.is_empty():
        return None
    # What repeats inside was counted in all processes.
    inside = reading.inside if spans.height == reading.count else ()
    return replace(reading, spans=spans, inside=inside)


def _of_pid(rows: pl.DataFrame, pid: str) -> pl.DataFrame:
    """Rows of a process, named as recorded or by its number alone."""
    fitting = [one for one in rows["pid"].unique() if _is_called(one, pid)]
    return rows.filter(pl.col("pid").is_in(fitting))


def _is_called(process: str, pid: str) -> bool:
    return pid in {process, host_and_pid(process)[1]}


def _holds(reading: Reading, judgement: Judgement, *, asked: bool) -> bool:
    """Whether to take a reading: what was asked for only has to repeat."""
    if reading.method == "step":
        return reading.count > 1
    return reading.count >= MIN_REPEATS and (asked or judgement.confidence >= LEAST)


def _cycles(
    reading: Reading, judgement: Judgement, others: list[tuple[Reading, Judgement]]
) -> Cycles:
    return Cycles(
        table=numbered(reading.spans),
        method=reading.method,
        anchor=reading.anchor,
        confidence=judgement.confidence,
        reason=reading.reason,
        others=(*(_candidate(other, weighed) for other, weighed in others), *reading.inside),
        notes=(*reading.notes, *_notes(reading, judgement)),
        on_device=reading.on_device,
        coverage=judgement.coverage,
        likeness=judgement.likeness,
    )


def _notes(reading: Reading, judgement: Judgement) -> list[str]:
    notes = []
    if reading.count == 1:
        notes.append("a single cycle: nothing is known about how much cycles differ")
    if judgement.coverage < 0.9:
        share = 100 * (1 - judgement.coverage)
        notes.append(f"{share:.0f} % of the recorded work began outside of all cycles")
    if judgement.elsewhere:
        shown = ", ".join(judgement.elsewhere[:_SHOWN])
        more = ", ..." if len(judgement.elsewhere) > _SHOWN else ""
        notes.append(f"no cycles in process {shown}{more}, which did other work")
    slow = _much_longer(reading.spans)
    if slow:
        notes.append(f"{units.counted(slow, 'cycles')} lasted over {_OUTLIER} times the median")
    if judgement.likeness < 0.7:
        notes.append("the cycles do not hold the same amount of work")
    return notes


def _much_longer(spans: pl.DataFrame) -> int:
    """Cycles far longer than others of their process and type: a start, a pause, a fault."""
    length = pl.col("end_ns") - pl.col("start_ns")
    return int(spans.select((length > _OUTLIER * length.median().over("pid", "type")).sum()).item())


def _candidate(reading: Reading, judgement: Judgement) -> Candidate:
    reason = f"{reading.reason}; confidence {judgement.confidence:.2f} only"
    return Candidate(
        reading.method, reading.anchor, reading.count, period_ns(reading.spans), reason
    )
