"""What each function costs in each cycle: which event counts for which function, and its class.

And tables of functions in brief: what these cost on average, and what counters read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from operator import itemgetter
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import (
    Texts,
    device_columns,
    encode,
    host_columns,
    host_names,
    memoize_per_trace,
)
from timesink.analyses.cycles import family_name
from timesink.analyses.steps import is_communication
from timesink.errors import UsageError
from timesink.formats.small_files import option_text
from timesink.model import vendors
from timesink.model.schema import BEHAVIOUR, BUSY_KINDS, HOST_DEVICE, HOST_KINDS
from timesink.model.trace import Trace
from timesink.model.units import count_noun
from timesink.model.vendors import CALL_PREFIXES

# Which counters matter to which functions, as data that users can replace: ``classes.csv``.

PART_OF_CLASS = {
    "gpu_compute": "device_compute",
    "gpu_comm": "exposed_communication",
    "gpu_memcpy_h2d": "copies",
    "gpu_memcpy_d2h": "copies",
    "gpu_memcpy_d2d": "copies",
    "oncpu": "host_cpu",
    "runq": "run_queue",
    "cpu_sync": "synchronisation",
    "cpu_os_syscall_mem": "io",
    "disk_read_and_write": "io",
    "cpu_operator": "host_cpu",
    "cpu_launch": "launch_gap",
    "cpu_copy": "launch_gap",
    "cpu_python": "host_cpu",
    "cpu_annotation": "host_cpu",
    "cpu_other": "host_cpu",
}
"""What the own time of a class of functions counts for, of the parts of a cycle (`anatomy`); other
classes say nothing about it."""
FUNCTION_CLASSES = (*PART_OF_CLASS, "cpu_untraced", "cpu_waiting")
"""What a function is, told by what it is waiting for or working on."""

UNTRACED = "cpu_untraced"
"""Class of both functions that stand for the time in no recorded call."""
SIDE_WAIT = "cpu_waiting"
"""Class of calls that do nothing but wait, on threads beside those that mark cycles."""
STEP_MARK = "ProfilerStep"
"""The profiler's mark of a step, as a function: the part of it in no other call."""
STEP_MARK_TOLD = "time between recorded calls"
"""The same to a reader: code of Python, mostly, or a wait for the thread of the backward pass."""
NO_CALL = "(no recorded call)"
"""Function of the time in which the thread of a cycle is in no recorded call, and nor is one that
it waits for: the program's own code, a sleep, a lock, the interpreter."""
WAITING = "(waiting for other threads)"
"""Function of the time in which it is in none, while threads it waits for are in some."""

DATA = Path(__file__).with_name("classes.csv")
"""The map that comes with timesink, with its form in the first lines."""
_COLUMNS = ("class", "metric")
_HINT = "expected a CSV with columns class,metric; docs/functions.md shows one"


class Classes(msgspec.Struct, frozen=True):
    """Patterns of the counters that matter to each class."""

    metrics: Mapping[str, tuple[str, ...]]

    def counters_of(self, function_class: str, counters: Iterable[str]) -> list[str]:
        """Which of the counters matter to a class, sorted by name."""
        patterns = self.metrics.get(function_class, ())
        return sorted(
            {name for name in counters if any(fnmatchcase(name, pattern) for pattern in patterns)}
        )

    def most_telling(self, function_class: str, counters: Iterable[str]) -> list[str]:
        """Counters of a class in the order of the map, then by name."""
        patterns = self.metrics.get(function_class, ())
        place = {
            name: next(
                (n for n, pattern in enumerate(patterns) if fnmatchcase(name, pattern)),
                len(patterns),
            )
            for name in counters
        }
        return sorted(place, key=lambda name: (place[name], name))


def load_classes(path: str | Path | None = None) -> Classes:
    """The map that comes with timesink; classes a file of one's own names are taken from there."""
    if path is None:
        return _default_classes()
    return Classes({**_default_classes().metrics, **_read(Path(path))})


@lru_cache(maxsize=1)
def _default_classes() -> Classes:
    return Classes(_read(DATA))


def _read(path: Path) -> dict[str, tuple[str, ...]]:
    # The comment lines would shift what the parser takes for the header.
    text = option_text(path, "--map", _HINT)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    rows = csv.DictReader(lines, skipinitialspace=True)
    rows.fieldnames = [name.strip() for name in rows.fieldnames or []]
    if not set(_COLUMNS) <= set(rows.fieldnames):
        raise UsageError(f"--map: {path} is no map of classes to metrics", _HINT)
    metrics_by_class: dict[str, list[str]] = {}
    for row in filter(itemgetter("class"), rows):
        function_class, metric = ((row[name] or "").strip() for name in _COLUMNS)
        if function_class not in FUNCTION_CLASSES:
            raise UsageError(
                f"--map: {path} names the class {function_class!r}, which no function has",
                f"classes are {', '.join(FUNCTION_CLASSES)}",
            )
        metrics = metrics_by_class.setdefault(function_class, [])
        if metric:
            metrics.append(metric)
    if not metrics_by_class:
        raise UsageError(f"--map: {path} names no class", _HINT)
    return {function_class: tuple(metrics) for function_class, metrics in metrics_by_class.items()}


NOT_COUNTED = -1
"""Class of events that are no work: marks, spans of the recording, the profiler's own time."""
ON_CPU, RUN_QUEUE = FUNCTION_CLASSES.index("oncpu"), FUNCTION_CLASSES.index("runq")
SCHEDULED = (ON_CPU, RUN_QUEUE)
"""What the scheduler tells of a thread; such events lie across calls and not inside of them."""

_STEP_NUMBER = re.compile(rf"^{STEP_MARK}#(?:\d+|#)$")
_SYSTEM_CLASSES: Mapping[str, str] = {
    "runq": "runq",
    **dict.fromkeys(("mmap", "munmap", "mprotect"), "cpu_os_syscall_mem"),
    **dict.fromkeys(("read", "readv", "write"), "disk_read_and_write"),
}
_CLASS_OF_KIND: Mapping[str, str] = {
    "operator": "cpu_operator",
    "collective": "cpu_operator",
    "annotation": "cpu_annotation",
    "python_function": "cpu_python",
    "module": "cpu_python",
    "runtime": "cpu_launch",
    "driver": "cpu_launch",
    "sync": "cpu_sync",
    "other": "cpu_other",
}
_OF_RUNTIME = ("runtime", "driver", "other")
_COPY_CALL = re.compile(
    rf"^(?:\w+@)?(?:{CALL_PREFIXES})(?!\w*Graph)\w*?"
    r"(?:Memcpy|Memset|MemoryCopy|MemoryFill|MemBufferCopy|MemBufferFill|USMFill)"
)
"""Calls that copy or fill memory, whether they wait for it or not: makers differ in that."""
_COPY_CLASSES: Mapping[str, str] = {
    "HtoD": "gpu_memcpy_h2d",
    "DtoH": "gpu_memcpy_d2h",
    "DtoD": "gpu_memcpy_d2d",
    "PtoP": "gpu_memcpy_d2d",
}
_OTHER_COPIES = "gpu_memcpy_h2d"
"""Copies of unknown direction and memsets, as in published tables."""


def function_name(name: str) -> str:
    """The function an event counts for: its name without what changes from cycle to cycle."""
    if name.startswith("oncpu"):
        return "oncpu"
    return STEP_MARK if _STEP_NUMBER.match(name) else name


def host_class(kind: str, name: str) -> str | None:
    """The class of a host event; None for one that is no work."""
    system = "oncpu" if name.startswith("oncpu") else _SYSTEM_CLASSES.get(name)
    if kind == "other" and system is not None:
        return system
    if kind in _OF_RUNTIME and _COPY_CALL.match(name) is not None:
        return "cpu_copy"
    if kind in _OF_RUNTIME and vendors.waits_for_device(name):
        return "cpu_sync"
    return _CLASS_OF_KIND.get(kind)


@memoize_per_trace
def host_classes(trace: Trace) -> NDArray[np.int8]:
    """Class of every row of `trace.host`, as a place in `FUNCTION_CLASSES`."""
    named = host_names(trace)
    kind = host_columns(trace)["kind"].to_physical().to_numpy()
    table = np.full((len(HOST_KINDS), len(named.texts) or 1), NOT_COUNTED, dtype=np.int8)
    for place, host_kind in enumerate(HOST_KINDS):
        table[place, : len(named.texts)] = [
            _place(host_class(host_kind, text)) for text in named.texts
        ]
    return np.asarray(table[kind, named.codes])


def _place(function_class: str | None) -> int:
    return NOT_COUNTED if function_class is None else FUNCTION_CLASSES.index(function_class)


@memoize_per_trace
def device_classes(trace: Trace) -> NDArray[np.int8]:
    """Class of every row of `trace.device`, as a place in `FUNCTION_CLASSES`."""
    kind = device_columns(trace)["kind"]
    classes = np.full(len(kind), NOT_COUNTED, dtype=np.int8)
    classes[kind.is_in(BUSY_KINDS).to_numpy()] = _place("gpu_compute")
    classes[kind.is_in(["memcpy", "memset"]).to_numpy()] = _place(_OTHER_COPIES)
    direction = trace.lazy("device").select("copy_direction").collect().to_series()
    for name, function_class in _COPY_CLASSES.items():
        copies = (kind == "memcpy") & (direction == name).fill_null(value=False)
        classes[copies.to_numpy()] = _place(function_class)
    classes[is_communication(trace)] = _place("gpu_comm")
    return classes


def functions_of(named: Texts, marks: frozenset[str] = frozenset()) -> Texts:
    """The same events by the function they count for.

    Marks of cycles that are numbered, each its own name, are one function.
    """
    numbered = marks if len(marks) > 1 else frozenset()
    return named.renamed(
        lambda text: function_name(family_name(text) if text in numbered else text) or "(no name)"
    )


# -- tables in brief -------------------------------------------------------------------------------


NOTHING_RECORDED = "(nothing recorded)"
"""Function of a cycle in which nothing ran, so that every cycle has a row."""


class BehaviourCounts(msgspec.Struct, frozen=True):
    """Counts of one behaviour table."""

    rows: int
    cycles: int
    """Cycles of all processes together."""
    functions: int
    metrics: int
    processes: tuple[str, ...]
    """With the host before them where the table names it: `node1 944615`."""
    devices: tuple[str, ...]
    anchors: tuple[str, ...]
    """What marks the cycles."""
    cycle_ns: int
    """Length of a cycle: the median."""


def count_behaviour(trace: Trace) -> BehaviourCounts | None:
    """What the behaviour table of a trace holds; None where it has none."""
    table = trace.lazy("behaviour").collect()
    if table.is_empty():
        return None
    keys = ["host", "pid", "cycle_type", "cycle"]
    cycles = table.unique(keys)
    middle = cycles["cycle_dur_ns"].median()
    named = cycles.select(
        pl.concat_str(pl.col("host", "pid").cast(pl.String), separator=" ", ignore_nulls=True)
    )
    return BehaviourCounts(
        rows=table.height,
        cycles=cycles.height,
        functions=table["function"].n_unique(),
        metrics=table["metric"].drop_nulls().n_unique(),
        processes=tuple(text for text in distinct_texts(named.to_series()) if text),
        devices=distinct_texts(table["device"]),
        anchors=distinct_texts(table["anchor"]),
        cycle_ns=round(middle) if isinstance(middle, float) else 0,
    )


def distinct_texts(column: pl.Series) -> tuple[str, ...]:
    """Every value of a column once, in order."""
    return tuple(sorted(text for text in encode(column)[1] if text is not None))


_PROCESS = ("host", "pid", "cycle_type", "cycle")
_ROW_KEY = ("function", "function_class", "device")


def plain_texts(table: pl.DataFrame) -> pl.DataFrame:
    """The table with ordinary texts, which may be joined, searched and mixed with others."""
    encoded = [name for name, dtype in table.schema.items() if isinstance(dtype, pl.Categorical)]
    return table.with_columns(table[name].cast(pl.String) for name in encoded) if encoded else table


def once_per_cycle(table: pl.DataFrame, within: Sequence[str] = ()) -> pl.DataFrame:
    """One row per cycle, function, class and device: a function has one for each of its metrics.

    A name may be of two classes, as a call that waits in one place and works in another: these are
    two functions.  `within` are columns that tell cycles of the same number apart.
    """
    return table.unique([*within, "cycle", *_ROW_KEY], keep="first", maintain_order=True)


def with_cycle_lengths(table: pl.DataFrame) -> pl.DataFrame:
    """The table with the length of cycles that do not say it, from times and their shares.

    A time that is 20 % of the cycle tells how long the cycle is; the median over the functions.
    Where no share is known either, it stays as it is.
    """
    if table["cycle_dur_ns"].gt(0).fill_null(value=False).all():
        return table
    has_share = (pl.col("dur_ns") > 0) & (pl.col("beta_pct") > 0) & pl.col("beta_pct").is_finite()
    length = (100 * pl.col("dur_ns") / pl.col("beta_pct")).filter(has_share).median().over(_PROCESS)
    recorded_ns = pl.col("cycle_dur_ns").filter(pl.col("cycle_dur_ns") > 0).max().over(_PROCESS)
    filled = pl.coalesce(recorded_ns, length.round().cast(pl.Int64, strict=False), "cycle_dur_ns")
    return table.with_columns(cycle_dur_ns=filled.cast(pl.Int64))


def mend_table(table: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """A table as others wrote it without repeats and with cycle lengths, and what was done."""
    once = table.unique(keep="first", maintain_order=True)
    filled = with_cycle_lengths(once)
    notes = []
    if dropped := table.height - once.height:
        were = "was" if dropped == 1 else "were"
        notes.append(f"{count_noun(dropped, 'rows')} repeated others and {were} left out")
    # Rows that give a function, device and metric a second value in the same cycle.
    if unlike := once.height - once.select(*_PROCESS, *_ROW_KEY, "metric").n_unique():
        # The published statistics take every row; leaving some out would change them.
        notes.append(
            f"{count_noun(unlike, 'rows')} contradict others of the same function, step and "
            "metric: scores take all, times the first"
        )
    if not filled["cycle_dur_ns"].equals(once["cycle_dur_ns"]):
        notes.append("step times are not recorded; they come from times and their shares")
    return filled, tuple(notes)


_FUNCTION = ("host", "pid", "function", "short_name", "function_class", "device")
_CYCLE = ("host", "pid", "cycle")


def function_summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per function and device, what takes most of all cycles first.

    The share is the mean over the cycles in which the function runs, as in a comparison; time and
    calls are per cycle of its process, where a cycle without the function counts as zero.
    """
    plain = plain_texts(table)
    numbers = plain.unique(list(_CYCLE)).group_by("host", "pid").agg(all_cycles=pl.len())
    once = once_per_cycle(plain, ["host", "pid"])
    ran = once.filter(pl.sum_horizontal("calls", "dur_ns") > 0)
    sums = ran.group_by(_FUNCTION).agg(
        pl.col("beta_pct").mean(),
        pl.col("dur_ns").sum(),
        calls=pl.when(pl.col("calls").count() > 0).then(pl.col("calls").sum()),
        cycles=pl.len().cast(pl.Int64),
    )
    return (
        sums.join(numbers, on=["host", "pid"], nulls_equal=True)
        .with_columns(of_all_pct=pl.col("beta_pct") * pl.col("cycles") / pl.col("all_cycles"))
        .sort("of_all_pct", *_FUNCTION, descending=[True] + [False] * len(_FUNCTION))
        .select(
            *_FUNCTION,
            "beta_pct",
            time_ns=pl.col("dur_ns") / pl.col("all_cycles"),
            calls=pl.col("calls") / pl.col("all_cycles"),
            cycles="cycles",
        )
    )


def metric_summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per function, device and metric: the counter's mean over cycles, weighted by time."""
    measured = _measured_rows(table)
    return (
        measured.group_by(*_FUNCTION, "metric", "unit")
        .agg(mu=_weighted_mean())
        .sort(*_FUNCTION, "metric")
    )


def counter_summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per device and metric: how high it was while functions ran, cycle by cycle."""
    measured = _measured_rows(table)
    key = ("device", "metric", "unit")
    by_cycle = measured.group_by(*key, *_CYCLE).agg(
        mu=_weighted_mean(), dur_ns=pl.col("dur_ns").sum()
    )
    readers = measured.group_by(key).agg(functions=pl.col("function").n_unique())
    return (
        by_cycle.group_by(key)
        .agg(
            mu=_weighted_mean(),
            lowest=pl.col("mu").min(),
            highest=pl.col("mu").max(),
            cycles=pl.len().cast(pl.Int64),
        )
        .join(readers, on=key, nulls_equal=True)
        .sort("device", "metric")
    )


def _measured_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Rows that know the value of a counter."""
    return plain_texts(table).filter(pl.col("metric").is_not_null(), pl.col("mu").is_finite())


def _weighted_mean() -> pl.Expr:
    mu, weight = pl.col("mu"), pl.col("dur_ns")
    weighted = pl.when(weight.sum() > 0).then((mu * weight).sum() / weight.sum())
    # The mean of equal values may differ from them in the last digit.
    return pl.when(mu.min() == mu.max()).then(mu.min()).otherwise(weighted.otherwise(mu.mean()))


def of_cycles_alone(cycles: pl.DataFrame) -> pl.DataFrame:
    """Behaviour of cycles, a row each, of which nothing but what these columns say is known."""
    defaults = {
        "function": NOTHING_RECORDED, "device": HOST_DEVICE,
        "dur_ns": 0, "calls": 0, "beta_pct": 0.0,
    }  # fmt: skip
    return cycles.select(
        (pl.col(name) if name in cycles.columns else pl.lit(defaults.get(name)).alias(name)).cast(
            kind
        )
        for name, kind in BEHAVIOUR.schema.items()
    )
