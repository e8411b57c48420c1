"""Trace health: what was repaired, lost or looks wrong, as values a report can show.

A reader never drops anything silently.  It counts it under one of the codes below; the code
carries the consequence for the numbers and what the user can do about it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Severity(str, Enum):
    """How much a finding weakens the numbers."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a health code means."""

    code: str
    severity: Severity
    title: str
    consequence: str
    advice: str


@dataclass(frozen=True, slots=True)
class HealthEntry:
    """One finding about one trace: a rule, how often it was met, and an example."""

    code: str
    count: int
    example: str = ""

    @property
    def rule(self) -> Rule:
        return RULES[self.code]

    @property
    def is_told(self) -> bool:
        """Whether the example says what this one is about, in words of its own."""
        return self.code in _TOLD and bool(self.example)

    def to_dict(self) -> dict[str, str | int]:
        rule = self.rule
        return {
            "code": self.code,
            "severity": rule.severity.value,
            "count": self.count,
            "title": rule.title,
            "example": self.example,
            "consequence": rule.consequence,
            "advice": rule.advice,
        }


def merge_entries(entries: Iterable[HealthEntry]) -> tuple[HealthEntry, ...]:
    """Add up entries with the same code, keep the first example, order by severity then code."""
    merged: dict[str, HealthEntry] = {}
    for entry in entries:
        known = merged.get(entry.code)
        if known is None:
            merged[entry.code] = entry
        else:
            merged[entry.code] = HealthEntry(
                entry.code, known.count + entry.count, known.example or entry.example
            )
    order = list(Severity)
    return tuple(
        sorted(
            (entry for entry in merged.values() if entry.count),
            key=lambda entry: (-order.index(entry.rule.severity), entry.code),
        )
    )


def _rules(*rules: tuple[str, Severity, str, str, str]) -> dict[str, Rule]:
    return {rule[0]: Rule(*rule) for rule in rules}


_TOLD = frozenset(
    {
        "lost_recording",
        "partial_recording",
        "heavy_profiling",
        "counter_clock_offset",
        "profiler_overhead",
        "missing_counters",
        "counters_only",
    }
)
"""Codes whose example is no example but the case itself."""

_I, _W, _E = Severity.INFO, Severity.WARNING, Severity.ERROR

RULES = _rules(
    # -- the bytes ---------------------------------------------------------------------------
    (
        "truncated_archive", _E,
        "the compressed stream ends early or is corrupt",
        "events after the break are missing, and values near it may be wrong",
        "copy the file again or record again; check that the disk was not full",
    ),
    (
        "truncated_tail", _E,
        "the JSON ends before the list of events is closed",
        "events after the break are missing; totals cover only the part before it",
        "let the profiler finish writing before the process ends, or copy the file again",
    ),
    (
        "lost_events", _E,
        "stretches of the event list that could not be repaired",
        "the events in them, one or many, are missing from every total",
        "see the example; copy the file again, or record again",
    ),
    (
        "control_characters", _W,
        "raw control characters inside strings",
        "none for the numbers: the characters were kept as escapes",
        "update the profiler; it should escape them",
    ),
    (
        "unescaped_quotes", _W,
        "strings with unescaped quotes or backslashes",
        "names were rebuilt from the text between the neighbouring fields",
        "update the profiler; it should escape them",
    ),
    (
        "invalid_utf8", _W,
        "bytes that are not UTF-8",
        "they are shown as the replacement character",
        "check the encoding of names passed to record_function",
    ),
    (
        "bare_word", _W,
        "bare words such as N/A where JSON wants a value",
        "the value counts as missing",
        "update the profiler",
    ),
    (
        "nan_value", _W,
        "NaN or Infinity where JSON wants a number",
        "the value counts as missing",
        "update the profiler",
    ),
    (
        "trailing_content", _W,
        "content after the end of the trace",
        "it was ignored",
        "two files may have been written to one name; check the end of the file",
    ),
    (
        "bad_metadata", _W,
        "top-level fields that could not be read",
        "device or rank information may be missing",
        "record again if device names are needed",
    ),
    (
        "archive_members", _I,
        "further files in the archive",
        "only the trace was read",
        "unpack the archive to read another member",
    ),
    # -- single events -----------------------------------------------------------------------
    (
        "not_an_event", _W,
        "entries of the event list that are not events",
        "they were ignored",
        "check the tool that wrote the trace",
    ),
    (
        "missing_name", _W,
        "events without a name",
        "they are kept under an empty name",
        "check the tool that wrote the trace",
    ),
    (
        "missing_category", _W,
        "duration events without a category",
        "they are kept as `other` and take part in no operator or kernel table",
        "check the tool that wrote the trace",
    ),
    (
        "missing_ts", _W,
        "events without a usable timestamp",
        "they cannot be placed in time and are left out of the tables",
        "check the tool that wrote the trace",
    ),
    (
        "missing_duration", _W,
        "duration events without a usable duration",
        "they are kept with length zero",
        "check the tool that wrote the trace",
    ),
    (
        "negative_duration", _W,
        "events with a negative duration",
        "they are kept with length zero",
        "a clock was corrected during the run; record again if many",
    ),
    (
        "bad_value", _W,
        "fields with a value of an unexpected type",
        "the field counts as missing; the event is kept",
        "check the tool that wrote the trace",
    ),
    (
        "unknown_category", _W,
        "categories timesink does not know",
        "the events are kept as `other`",
        "look at them with `timesink query`; report the category so that it can be added",
    ),
    (
        "unknown_phase", _W,
        "events without a phase, or of a sort timesink does not model",
        "they are counted and left out of the tables",
        "look at the example; check the tool that wrote the trace",
    ),
    (
        "unpaired_begin_end", _W,
        "begin or end events without their partner",
        "begins are kept with length zero, ends are left out",
        "record a longer window",
    ),
    (
        "unmodelled_args", _I,
        "argument names timesink does not model",
        "they stay in the source and are not in the tables",
        "report the argument if you need it",
    ),
    (
        "bad_counter_row", _W,
        "rows of a counter CSV that are not samples",
        "they were ignored",
        "expected columns: timestamp_us,counter,device,value",
    ),
    (
        "unreadable_counters", _W,
        "files of counters beside the trace that cannot be read",
        "their samples are missing",
        "see the example; expected columns: timestamp_us,counter,device,value",
    ),
    (
        "bad_behaviour_row", _W,
        "rows of a behaviour table without a cycle, a function, its share or its time",
        "they were ignored",
        "see the example; write the table again",
    ),
    (
        "missing_column", _W,
        "columns a behaviour table does not have",
        "what the example says is not known",
        "write the table again with them",
    ),
    (
        "missing_level", _W,
        "rows of a behaviour table that name a counter and have no number for it",
        "their functions and times count; the counter is not known there",
        "see the example; write the table again",
    ),
    # -- the trace as a whole ----------------------------------------------------------------
    (
        "overlapping_slices", _W,
        "device activities that overlap on one stream",
        "all are kept; busy time uses their union, sums per kernel count each fully",
        "real concurrency or wrong durations: compare with a run of fewer streams",
    ),
    (
        "overlapping_host", _W,
        "host events that partially overlap on one thread",
        "all are kept; self times around them are approximate",
        "usually asynchronous annotations; none needed",
    ),
    (
        "unlinked_kernels", _W,
        "device work whose launch is not in the trace",
        "it counts in every device total but belongs to no operator",
        "start the profiler a few steps earlier, or enable CPU activities",
    ),
    (
        "duplicate_correlation", _W,
        "runtime calls that share a correlation id",
        "device work is linked to the latest such call before it",
        "traces of several processes may have been merged; analyse them one by one",
    ),
    (
        "cut_step", _W,
        "first or last steps that the recording cuts",
        "a cut first step counts in averages; a cut last one is shown and left out",
        "use a profiler schedule with warm-up and whole active steps",
    ),
    (
        "clock_fault", _W,
        "timestamps far outside the rest of the trace",
        "the span of the trace is not meaningful; sums are",
        "a clock was changed during the run; record again",
    ),
    (
        "window_end_fault", _I,
        "a record-window marker far beyond the last event",
        "the marker was not used for the span",
        "none needed",
    ),
    (
        "device_before_launch", _W,
        "device work that starts before its launch",
        "launch delays of these are not meaningful",
        "host and device clocks disagree; update the driver",
    ),
    (
        "rank_assumed", _I,
        "the trace does not name its rank",
        "rank 0 is assumed",
        "initialise torch.distributed before the profiler, or put rank<N> in the file name",
    ),
    (
        "no_device_activity", _I,
        "no device activity in the trace",
        "device tables are empty",
        "add the device to the profiler's activities if one was used",
    ),
    (
        "no_host_activity", _I,
        "no operators in the trace",
        "operator tables are empty; kernels cannot be attributed",
        "add CPU to the profiler's activities",
    ),
    (
        "missing_rank", _W,
        "ranks without a trace in this folder",
        "they take part in no comparison across ranks",
        "collect the missing files",
    ),
    (
        "unreadable_file", _E,
        "files of the folder that could not be read",
        "their ranks or spans are missing",
        "open the file by itself to see the reason",
    ),
    # -- what the recorder says -----------------------------------------------------------------
    (
        "lost_recording", _E,
        "the recording ended before one cycle was recorded",
        "what there is says little about the program",
        "record again; where no cycle was seen, say what one is with --marker, or try --whole",
    ),
    (
        "partial_recording", _W,
        "the recording ended early",
        "there are fewer cycles than were asked for, or the last one is cut",
        "record again if more cycles are needed",
    ),
    (
        "heavy_profiling", _W,
        "cycles took much longer with the profiler than without",
        "times of host code, and all that waits for it, are inflated",
        "ask less of the profiler, and compare only what was recorded in the same way",
    ),
    (
        "counter_clock_offset", _W,
        "the clocks of trace and counters were further apart than a sampling interval",
        "counters were moved to the trace's clock; one that was set meanwhile leaves some off",
        "record again if counters matter; check that nothing sets the clock of the machine",
    ),
    (
        "bad_run_file", _W,
        "fields of run.json that could not be read",
        "what the recorder knew of the run is not known",
        "none needed for the trace; copy the file again if it was cut",
    ),
    (
        "profiler_overhead", _I,
        "cycles took longer with the profiler than without",
        "times of host code are longer than in a plain run",
        "none needed to compare runs recorded in the same way",
    ),
    (
        "missing_counters", _I,
        "counters that the recorder could not have",
        "causes that only they would show are not seen",
        "see the reasons; some need a permission, a driver or a package",
    ),
    (
        "counters_only", _I,
        "counters were recorded, and no calls",
        "there are no operators, no kernels and no cycles",
        "record a program that uses PyTorch, or give the trace the counters were sampled for",
    ),
    # -- counters of kernels -----------------------------------------------------------------
    (
        "uncontrolled_clocks", _W,
        "the clocks of the device were not fixed while kernels were measured",
        "durations and percents of peak vary with the clock from launch to launch and run to run",
        "let ncu fix them (--clock-control base), or lock the clocks with nvidia-smi -lgc",
    ),
    (
        "uncontrolled_caches", _W,
        "caches were not flushed between the passes of a kernel",
        "a kernel may find its data in a cache, which lowers its memory traffic",
        "let ncu flush them (--cache-control all) to compare kernels with one another",
    ),
    (
        "profiler_error", _E,
        "errors of the kernel profiler",
        "launches may be missing, from the error on",
        "see the example; fix its cause and record again",
    ),
    (
        "profiler_warning", _W,
        "warnings of the kernel profiler",
        "some metrics or launches may be missing",
        "see the example",
    ),
    (
        "missing_metric", _W,
        "launches without one of the metrics that were asked for",
        "they are left out of averages of that metric; missing is not zero",
        "check that the device has the metric (ncu --query-metrics) and record again",
    ),
    (
        "unavailable_metrics", _I,
        "metrics that were asked for and that no launch has",
        "they are not in the tables",
        "the device does not have them under this name: ncu --query-metrics lists those it has",
    ),
    (
        "text_metrics", _I,
        "metrics whose values are words",
        "they are not in the tables",
        "see them in the source",
    ),
    (
        "repeated_rows", _W,
        "rows that repeat an earlier row of the same launch",
        "each counts once",
        "the file may hold the same output twice; record again if in doubt",
    ),
    (
        "restarted_ids", _W,
        "launches with the number of an earlier launch of the same process, and other values",
        "they are kept as launches of their own, after the first",
        "several runs may have been written to one file; analyse them one by one",
    ),
    (
        "appended_tables", _I,
        "further tables in the same file",
        "their launches follow those of the first; totals cover all of them",
        "write each run to a file of its own to compare them",
    ),
    (
        "bad_table_row", _W,
        "lines of a table that are not rows of it",
        "they were ignored; a launch or a metric may be missing",
        "see the example; write the table to a file of its own with --log-file",
    ),
    (
        "cut_line", _E,
        "the last line of the file is cut",
        "its metric, and launches that would follow, are missing",
        "let the profiler finish writing, or copy the file again",
    ),
    (
        "mixed_decimals", _W,
        "numbers with a decimal point and numbers with a decimal comma in one file",
        "numbers that could be either were read like most of the others, perhaps wrongly",
        "record with one locale (LC_ALL=C)",
    ),
    (
        "log_lines", _I,
        "lines of the profiled program among those of the profiler",
        "none for the numbers: they were ignored",
        "none needed; --log-file keeps them apart",
    ),
)  # fmt: skip
