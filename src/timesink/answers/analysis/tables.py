"""What the sections of an analysis are made from, and what stands in place of an empty one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import polars as pl
from msgspec.structs import replace

from timesink.analyses.memory_curve import (
    CPU,
    memory_curve,
    memory_peaks,
    recording_start,
    thin_curve,
)
from timesink.analyses.operators import operator_device_ns
from timesink.analyses.work.efficiency import Efficiency
from timesink.answers.analysis.graphs import capture_note, has_capture
from timesink.answers.analysis.report import BOTH_CLOCKS, RECORDED, Analysis, whole_of
from timesink.answers.analysis.sections import CURVE_POINTS, absence, code_absence
from timesink.answers.tables import ViewTable, sentence
from timesink.answers.views import (
    NO_KERNELS,
    NO_MEMORY,
    NO_MODULES,
    NO_OPERATORS,
    NO_PYTHON,
    Absent,
    find_view,
)
from timesink.model import units
from timesink.model.trace import Trace
from timesink.output import blocks
from timesink.output.names import told_apart
from timesink.output.numbers import cells, numbers, words

if TYPE_CHECKING:
    from timesink.analyses.ranks.rank_set import RankSet

_FIXED_COLUMNS = {"efficiency": 6}
"""How many of them stay however narrow the text is: names are cut before."""
_OF_MEMORY = (
    *("memory-curve", "memory-peaks", "memory", "memory-live"),
    *("memory-steps", "memory-unfreed", "memory-failures"),
)
"""Tables of memory: the moment of a peak is that of the recording in every answer."""
AS_RECORDED = "Times are as recorded."


class Analysed(msgspec.Struct, frozen=True, eq=False):
    """An analysis, and how much of it is to be shown."""

    analysis: Analysis
    rows: int | None = None
    from_ns: int | None = None
    """Where the recording begins, if not where its trace does: that may be cut to some steps."""
    brief: bool = False
    """Whether it is the short answer, which is read as text."""
    otherwise: bool = False
    """Whether it is on the other clock than the answer."""

    @property
    def clock(self) -> blocks.Clock:
        """What times are on."""
        is_own = (self.analysis.timeline is not self.analysis.trace) != self.otherwise
        return "own" if is_own else "recorded"

    def on_other_clock(self) -> Analysed:
        """The same as recorded, or by itself."""
        return replace(self, otherwise=not self.otherwise)

    @property
    def trace(self) -> Trace:
        """The trace that is described in detail."""
        corrected_trace = self.analysis.corrected_trace
        return (
            corrected_trace
            if corrected_trace is not None and self.clock == "own"
            else self.analysis.trace
        )

    @property
    def efficiency(self) -> Efficiency:
        """What operators compute and move, on this clock."""
        return self.analysis.efficiency_of(self.trace)

    def frame(self, view: str) -> pl.DataFrame:
        """One of the tables; memory always as recorded."""
        return self.analysis.table(view, clock=RECORDED if view in _OF_MEMORY else self.clock)

    @property
    def start_ns(self) -> int:
        """What points in time are counted from."""
        if self.from_ns is not None:
            return self.from_ns
        return recording_start(self.analysis.origin_trace(self.clock))

    def start_of(self, view: str) -> int:
        """What points in time of a table are counted from."""
        return self.as_recorded.start_ns if view in _OF_MEMORY else self.start_ns

    @property
    def as_recorded(self) -> Analysed:
        """The same as recorded."""
        return self if self.clock == RECORDED else self.on_other_clock()

    @property
    def ranks(self) -> RankSet | None:
        """The set of ranks, where there is one."""
        ranks = self.analysis.ranks
        return ranks if ranks is not None and (self.analysis.is_set or ranks.damaged) else None

    def table(self, view: str, frame: pl.DataFrame | None = None) -> blocks.Table:
        """A table as a block."""
        both = frame is None and view in BOTH_CLOCKS and not self.brief
        if frame is None:
            # People with a page see both clocks of these side by side.
            frame = self.analysis.table(view) if both else self.frame(view)
        total_ns = whole_of(self.analysis, view, frame)
        absent = None if frame.height else why_empty(view, self)
        table = ViewTable(find_view(view), frame, total_ns, absent)
        block = table.block(start_ns=self.start_of(view), rows=self.rows)
        if both and self.clock != RECORDED:
            block = _own_first(block, BOTH_CLOCKS[view][1])
        keys = find_view(view).brief
        if not self.brief or not keys:
            return block
        column_by_key = {column.key: column for column in block.columns}
        columns = [column_by_key[key] for key in keys if key in column_by_key]
        fixed_count = _FIXED_COLUMNS.get(view, 2)
        ordered = (
            replace(column, spare=max(at + 1 - fixed_count, 0)) for at, column in enumerate(columns)
        )
        return replace(block, columns=tuple(ordered))


def _own_first(block: blocks.Table, names: Sequence[str]) -> blocks.Table:
    """Times without profiler overhead seen at once, those as recorded where they are asked for."""
    columns = {column.key: column for column in block.columns}
    for name in names:
        recorded, own = columns.get(name), columns.get(f"own_{name}")
        if recorded is None or own is None:
            continue
        columns[own.key] = replace(own, title=recorded.title, main=recorded.main)
        title = f"{recorded.title}, as recorded"
        columns[name] = replace(recorded, title=title, main=False)
    return replace(block, columns=tuple(columns.values()))


class Empty(msgspec.Struct, frozen=True):
    """A section without data: what it would be about, and why there is nothing."""

    id: str
    title: str
    absent: Absent

    @property
    def section(self) -> blocks.Section:
        """The section on a page of its own."""
        return blocks.Section(self.id, self.title, (blocks.Text(sentence(self.absent)),))


SectionResult: TypeAlias = blocks.Section | Empty | None
"""None where there is nothing to be said, not even why."""


def tables_section(
    title: str, *views: str, lead: str = "", of_set: bool = False
) -> Callable[[Analysed], SectionResult]:
    """What makes a section of tables alone, named after the first; it is empty where that is.

    A section `of_set` is about several ranks: of a single trace there is nothing to be said.
    """
    section = views[0]

    def make(run: Analysed) -> SectionResult:
        if of_set and run.ranks is None:
            return None
        tables = [run.table(view) for view in views]
        if not tables[0].rows:
            return None if of_set else Empty(section, title, why_empty(section, run))
        return blocks.Section(section, title, tuple(block for block in tables if block.rows), lead)

    return make


def why_empty(view: str, run: Analysed) -> Absent:
    """Why a table of a run has no rows."""
    about = find_view(view)
    return absence(view, run.efficiency) if about.is_of_roofs else code_absence(view, run.trace)


def neighbours(many: int, most: int) -> list[tuple[int, int]]:
    """First place of each group of neighbours and the place after its last; at most `most`."""
    size = max(1, -(-many // most))
    return [(start, min(start + size, many)) for start in range(0, many, size)]


def together(names: Sequence[str], groups: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """What groups of neighbours are called: by their first and last."""
    return tuple(
        names[start] if end - start == 1 else f"{names[start]} to {names[end - 1]}"
        for start, end in groups
    )


# Operators, modules and memory of an analysis: pictures and tables.

_BY_OPERATORS = "operator"


def operators_section(run: Analysed) -> SectionResult:
    """The table of operators; work that others launched is told where there is any."""
    sites = run.analysis.table("launch-sites")
    note = capture_note(run.trace)
    operators = run.table("operators")
    tables = [operators]
    if run.brief:
        # Of graphs without names one sentence says enough.
        unlaunched = _not_by_operators(run.analysis) if has_capture(run.trace) else ""
        rest = "; ".join(filter(None, (unlaunched, note)))
        tables = [replace(operators, rest=rest)]
    elif sites["site"].to_list() not in ([], [_BY_OPERATORS]):
        tables.append(run.table("launch-sites"))
    if not any(table.rows for table in tables):
        return Empty("operators", "Operators", NO_OPERATORS)
    # Pages say it above the tables, text below the one that it has.
    lead = "" if run.brief else _as_sentence(note)
    telling = tuple(table for table in tables if table.rows)
    return blocks.Section("operators", "Operators", telling, lead)


def _as_sentence(note: str) -> str:
    return f"{note[0].upper()}{note[1:]}." if note else ""


def _not_by_operators(analysis: Analysis) -> str:
    """What shares lack to a whole: device work that no operator launched."""
    by_operators = operator_device_ns(analysis.trace)
    every = int(analysis.table("launch-sites")["device_ns"].sum())
    rest = every - by_operators
    if not by_operators or rest <= 0:
        return ""
    length = units.brief_ns(rest)
    return f"{units.share(rest, every)} of device work ({length}) was not launched by an operator"


MAX_NODES = 1000
_DETAILS: Mapping[str, tuple[str, blocks.Kind]] = {
    "occurrences": ("calls", "count"),
    "calls": ("calls", "count"),
    "host_total_ns": ("host total", "time_ns"),
    "host_self_ns": ("host self", "time_ns"),
    "device_total_ns": ("device total", "time_ns"),
    "backward_device_ns": ("backward device", "time_ns"),
}


def modules_section(run: Analysed) -> SectionResult:
    """Nested bars by device time, by host time where no device worked; then the table."""
    frame = run.frame("modules")
    if frame.is_empty():
        return Empty("modules", "Modules", NO_MODULES)
    if run.brief:
        time = "device_total_ns" if frame["device_total_ns"].sum() else "host_total_ns"
        ordered = frame.sort(time, descending=True, maintain_order=True)
        table = replace(run.table("modules", ordered), rest=capture_note(run.trace))
        return blocks.Section("modules", "Modules", (table,))
    side = "device" if frame["device_total_ns"].sum() else "host"
    tree = icicle(frame, "modules", side)
    lead = _left_out(frame, tree, "modules")
    lead = " ".join(filter(None, (lead, _as_sentence(capture_note(run.trace)))))
    return blocks.Section("modules", "Modules", (tree, run.table("modules")), lead)


def python_section(run: Analysed) -> SectionResult:
    """Python functions by caller and host time: a flame graph that hangs from its top."""
    title, frame = "Python functions", run.frame("python")
    if frame.is_empty():
        return Empty("python", title, NO_PYTHON)
    tree = icicle(frame, "python", "host")
    return blocks.Section("python", title, (tree,), _left_out(frame, tree, "functions"))


def _left_out(frame: pl.DataFrame, tree: blocks.Icicle, what: str) -> str:
    left_out = frame.height - len(tree.parent)
    return f"The smallest {units.count(left_out)} {what} are not shown in the chart." * (
        left_out > 0
    )


def icicle(frame: pl.DataFrame, view: str, side: str) -> blocks.Icicle:
    """Modules or functions as a tree, parents before children; of very many the largest."""
    measure = f"{side}_total_ns"
    if frame.height > MAX_NODES:
        frame = frame.sort(measure, descending=True, maintain_order=True).head(MAX_NODES)
    tree = _in_order(frame)
    place = {number: row for row, number in enumerate(tree["id"].to_list())}
    named = words(tree["name"].to_list())
    return blocks.Icicle(
        f"{view}-tree",
        f"{find_view(view).title} by {side} time",
        "time_ns",
        tuple(-1 if parent is None else place[parent] for parent in tree["parent_id"].to_list()),
        named.codes,
        named.texts,
        tuple(tree[measure].to_list()),
        tuple(
            blocks.Detail(title, kind, numbers(tree[name], kind).values)
            for name, (title, kind) in _DETAILS.items()
            if name in tree.columns and tree[name].sum()
        ),
    )


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows in pre-order; what hangs below a row that was left out goes with it."""
    children: dict[int | None, list[int]] = {}
    ids, parents = frame["id"].to_list(), frame["parent_id"].to_list()
    for row, parent in enumerate(parents):
        children.setdefault(parent, []).append(row)
    order: list[int] = []
    waiting = children.get(None, [])[::-1]
    while waiting:
        row = waiting.pop()
        order.append(row)
        waiting += children.get(ids[row], [])[::-1]
    return frame[order]


_MIN_SHARE = 0.001
"""Of the largest peak: less than this is no picture."""


def memory_curve_section(run: Analysed) -> SectionResult:
    """What was allocated and reserved, a picture per device, the host last; peaks are marked."""
    title, apart, run = "Memory over time", run.clock != RECORDED, run.as_recorded
    if run.trace.lazy("memory").head(1).collect().is_empty():
        return Empty("memory-curve", title, NO_MEMORY)
    curve = thin_curve(memory_curve(run.trace), CURVE_POINTS)
    peaks = {row["device"]: row for row in memory_peaks(run.trace).to_dicts()}
    # Devices before the host, without those that hold next to nothing.
    sizes = {name: row["peak_allocated_bytes"] for name, row in peaks.items()}
    least = _MIN_SHARE * max(sizes.values(), default=0)
    large = [name for name, size in sizes.items() if size >= least]
    drawn = sorted(large, key=lambda name: name == CPU)
    pictures = [
        _curves(name, curve.filter(curve["device"] == name), peaks[name], run.start_ns)
        for name in drawn
    ]
    parts: tuple[blocks.Block, ...] = (*pictures, run.table("memory-peaks"))
    drawn_curve = curve.filter(curve["device"].is_in(drawn))
    before, drawn_count = (
        int(drawn_curve.unique("device")["points_before"].sum()),
        units.count(drawn_curve.height),
    )
    exact = f"The chart shows {drawn_count} of {units.count(before)} points; the peaks are exact."
    leads = (AS_RECORDED if apart else "", exact if before > drawn_curve.height else "")
    return blocks.Section("memory-curve", title, parts, " ".join(filter(None, leads)))


def memory_section(run: Analysed) -> SectionResult:
    """The peaks of each device, for the short answer."""
    peaks = run.table("memory-peaks")
    if not peaks.rows:
        return Empty("memory-peaks", "Memory", NO_MEMORY)
    lead = AS_RECORDED if run.clock != RECORDED else ""
    return blocks.Section("memory-peaks", "Memory", (peaks,), lead)


def _curves(name: str, line: pl.DataFrame, peak: dict[str, Any], start_ns: int) -> blocks.Curves:
    series = [blocks.Curve("allocated", tuple(line["allocated_bytes"].to_list()), "step")]
    if line["reserved_bytes"].null_count() < line.height:
        series.append(blocks.Curve("reserved", tuple(line["reserved_bytes"].to_list()), "step"))
    highest = units.brief_bytes(peak["peak_allocated_bytes"])
    marks = (blocks.Mark(peak["peak_allocated_ts_ns"] - start_ns, f"peak {highest}"),)
    moments = tuple((line["ts_ns"] - start_ns).to_list())
    return blocks.Curves(f"memory-curve-{name}", name, "bytes", moments, tuple(series), marks)


def kernels_section(run: Analysed) -> SectionResult:
    """The table of kernels; in text, those that look alike are numbered."""
    table = run.table("kernels")
    if not table.rows:
        return Empty("kernels", "Kernels", NO_KERNELS)
    if run.brief:
        first, *other_columns = table.columns
        named = replace(first, data=words(told_apart(cells(first))))
        table = replace(table, columns=(named, *other_columns))
    return blocks.Section("kernels", "Kernels", (table,))
