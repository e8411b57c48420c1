"""What weakens the numbers of behaviour, in sentences: what was lost of a table or of counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from timesink.model.health import HealthEntry, Severity
from timesink.model.trace import Trace
from timesink.model.units import counted

_OF_RECORDERS = ("lost_recording", "partial_recording", "heavy_profiling")
_OF_COUNTERS = ("bad_counter_row", "unreadable_counters")


def with_faults(trace: Trace, notes: Sequence[str] = ()) -> tuple[str, ...]:
    """Notes on behaviour, with what was lost on the way to it."""
    said = {**_SAID, **_SAID_OF_TABLES} if trace.has_behaviour else _SAID
    faults = [each for each in trace.health if _is_error(each) or each.code in said]
    if any(entry.code in _OF_COUNTERS for entry in faults):
        notes = _without_no_samples(notes)
    return (*notes, *(said.get(entry.code, _plainly)(entry) for entry in faults))


def recording_notes(trace: Trace) -> list[str]:
    """How a recording fell short, by its recorder's own words."""
    return [_SAID[entry.code](entry) for entry in trace.health if entry.code in _OF_RECORDERS]


def _without_no_samples(notes: Sequence[str]) -> list[str]:
    """Samples that were there, and could not be read, are no missing samples."""
    # Tables are compared without waiting for what only recordings need.
    from timesink.analyses.behaviour.table import NO_SAMPLES  # noqa: PLC0415

    return [note for note in notes if note != NO_SAMPLES]


def _is_error(entry: HealthEntry) -> bool:
    return entry.rule.severity is Severity.ERROR


def _plainly(entry: HealthEntry) -> str:
    rule = entry.rule
    times = f" ({entry.count} times)" if entry.count > 1 else ""
    return f"{rule.title}{times}: {rule.consequence}"


def _bad_rows(entry: HealthEntry) -> str:
    return f"{counted(entry.count, 'rows')} could not be used, e.g. {entry.example}"


def _bad_samples(entry: HealthEntry) -> str:
    file, _, row = entry.example.partition(": ")
    return f"{file}: {counted(entry.count, 'rows')} could not be used, e.g. {row}"


def _unreadable(entry: HealthEntry) -> str:
    return f"{entry.example}: its samples are not used"


def _missing_columns(entry: HealthEntry) -> str:
    return f"not in the table, and so not known: {entry.example}"


def _missing_levels(entry: HealthEntry) -> str:
    rows = counted(entry.count, "rows")
    name = "names" if entry.count == 1 else "name"
    return f"{rows} {name} a counter without a number for it, e.g. {entry.example}"


def _bad_values(entry: HealthEntry) -> str:
    return f"{counted(entry.count, 'values')} could not be read, e.g. {entry.example}"


def _ended_early(entry: HealthEntry) -> str:
    return f"{entry.rule.title}: {entry.example}"


def _inflated(entry: HealthEntry) -> str:
    return f"with the profiler cycles took {entry.example}: {entry.rule.consequence}"


def _clocks_apart(entry: HealthEntry) -> str:
    return f"{entry.rule.title} ({entry.example}): {entry.rule.consequence}"


def _foreign_text(entry: HealthEntry) -> str:
    lines = counted(entry.count, "lines")
    verb = "holds" if entry.count == 1 else "hold"
    return f"{lines} {verb} text that is not UTF-8: names there may not meet those of other runs"


_SAID: dict[str, Callable[[HealthEntry], str]] = {
    "bad_behaviour_row": _bad_rows,
    "bad_counter_row": _bad_samples,
    "unreadable_counters": _unreadable,
    "missing_column": _missing_columns,
    "missing_level": _missing_levels,
    "lost_recording": _ended_early,
    "partial_recording": _ended_early,
    "heavy_profiling": _inflated,
    "counter_clock_offset": _clocks_apart,
}
_SAID_OF_TABLES = {"bad_value": _bad_values, "invalid_utf8": _foreign_text}
"""In a trace these concern single events, and do not touch its behaviour."""
