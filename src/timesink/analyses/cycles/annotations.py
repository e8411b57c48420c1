"""Cycles as annotations mark them: one that spans the unit, or one that comes once in each."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from msgspec.structs import replace

from timesink.analyses.columns import (
    device_columns,
    device_kinds,
    encode,
    host_columns,
    host_kinds,
    host_names,
    host_processes,
    memoize_per_trace,
)
from timesink.analyses.cycles.kernel_sequence import launching_process, launching_processes
from timesink.analyses.cycles.marks import (
    family_name,
    is_batch_name,
    is_unit_name,
    is_wait,
    type_of_name,
)
from timesink.analyses.cycles.python_calls import LONGER, SELDOM, anchored_cycles, python_calls
from timesink.analyses.cycles.spans import SCHEMA as CYCLE_SCHEMA
from timesink.analyses.cycles.spans import Cycles, Timed, best_first, host_spans, spans_of
from timesink.analyses.links import launching_calls
from timesink.analyses.steps import bounds_of, find_steps, step_names, until_device_work
from timesink.analyses.thresholds import AnnotationsLimits, SpansLimits
from timesink.model import units
from timesink.model.intervals import Flags, Ints, union_starts
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import COLLECTIVE_CALLS, every
from timesink.patterns import regex
from timesink.recorder.folder import CUT_MARK

_ANNOTATION = pl.col("kind") == "annotation"
_OTHER_CALL = ~pl.col("kind").is_in(["trace", "instant", "annotation"])
_WORK = pl.col("kind") != "sync"


def reach_before(*lane: str) -> pl.Expr:
    """For events in the order of their starts: how far the earlier ones of their lane reach."""
    return pl.col("end_ns").cum_max().shift().over(*lane)


def _events(trace: Trace, chosen: pl.Expr, *, on_device: bool) -> pl.DataFrame:
    table = host_columns(trace)
    if on_device:
        process = launching_process(trace).alias("pid")
        table = device_columns(trace).with_columns(process, pl.col("stream").alias("tid"))
    return (
        table.lazy()
        .filter(chosen, pl.col("dur_ns") > 0)
        .select(
            *(pl.col(name).cast(pl.String).fill_null("") for name in ("pid", "tid", "name")),
            pl.col("ts_ns").alias("start_ns"),
            (pl.col("ts_ns") + pl.col("dur_ns")).alias("end_ns"),
        )
        .sort("pid", "start_ns", "end_ns", descending=[False, False, True])
        .collect()
    )


@memoize_per_trace
def _annotations(trace: Trace, *, on_device: bool) -> pl.DataFrame:
    """Annotations that take time, as `_events` has them."""
    kinds = device_kinds(trace) if on_device else host_kinds(trace)
    if not kinds.among("annotation").any():
        return pl.DataFrame(schema=_EVENTS)
    return _events(trace, _ANNOTATION, on_device=on_device)


_EVENTS: dict[str, pl.DataType] = {
    **dict.fromkeys(("pid", "tid", "name"), pl.String()),
    **dict.fromkeys(("start_ns", "end_ns"), pl.Int64()),
}
_NO_WORK = ("annotation", "trace", "instant", "overhead")


def work_in(
    trace: Trace, spans: pl.DataFrame, *, on_device: bool = False
) -> tuple[Ints, float, tuple[str, ...]]:
    """How many events began in each cycle: calls on the host, or work on the device.

    Also the share of the events of processes with cycles that began in one, 1 where there are none
    at all, and which processes have no cycles but work: a twentieth of all events or more.
    """
    starts = _work_starts(trace, on_device=on_device)
    events = np.zeros(spans.height, dtype=np.int64)
    total = 0
    process, pids = encode(spans["pid"])
    begin, end = spans["start_ns"].to_numpy(), spans["end_ns"].to_numpy()
    for number, pid in enumerate(pids):
        times = starts.get(str(pid))
        if times is None:
            continue
        total += len(times)
        rows = np.flatnonzero(process == number)
        events[rows] = np.searchsorted(times, end[rows]) - np.searchsorted(times, begin[rows])
    coverage = min(1.0, float(events.sum()) / total) if total else 1.0
    marked_pids = set(pids)
    enough = AnnotationsLimits.worth_a_word * sum(map(len, starts.values()))
    elsewhere = [
        pid for pid, times in starts.items() if pid not in marked_pids and len(times) >= enough
    ]
    return events, coverage, tuple(sorted(elsewhere))


def work_by_process(trace: Trace, *, on_device: bool = False) -> dict[str, int]:
    """How many events each process has."""
    return {pid: len(times) for pid, times in _work_starts(trace, on_device=on_device).items()}


def recorded_processes(trace: Trace) -> list[str]:
    """Processes with work, annotations or steps, in the order of their names."""
    of_host = host_processes(trace)
    annotated = np.unique(of_host.codes[host_kinds(trace).among("annotation")]).tolist()
    marked = {of_host.texts[code] for code in annotated}
    if trace.holds("steps"):
        marked |= {pid or "" for pid in encode(trace.steps["pid"])[1]}
    for on_device in (False, True):
        marked |= _work_starts(trace, on_device=on_device).keys()
    return sorted(marked)


@memoize_per_trace
def _work_starts(trace: Trace, *, on_device: bool) -> dict[str, Ints]:
    """When the events of each process began, in order."""
    if on_device:
        events, named = device_columns(trace), launching_processes(trace)
        chosen = device_kinds(trace).among(*BUSY_KINDS)
    else:
        events, named = host_columns(trace), host_processes(trace)
        chosen = ~(host_kinds(trace).among(*_NO_WORK) | host_names(trace).matching(is_wait))
    rows = np.flatnonzero(chosen)
    named, start = named.renamed(str), events["ts_ns"].to_numpy()[rows]
    process = named.codes[rows]
    of_process = {pid: np.flatnonzero(process == code) for code, pid in enumerate(named.texts)}
    # In the order in which processes first come.
    first_come = sorted((int(rows[0]), pid) for pid, rows in of_process.items() if len(rows))
    return {pid: np.sort(start[of_process[pid]]) for _, pid in first_come}


_NOT_A_UNIT = regex(
    rf"^({COLLECTIVE_CALLS})[:A-Z]|^({'|'.join(every('libraries'))})"
    r"|^## Call CompiledFxGraph|^Pregraph bytecode|^Torch-Compiled Region|^CompiledFunction"
    r"|^ProfilerStep|^" + re.escape(CUT_MARK) + "$"
)
"""What libraries, compilers and recorders annotate: single calls, not the user's units."""


class Family(Timed, frozen=True, eq=False):
    """Events of one name, numbers aside."""

    events: pl.DataFrame
    """As `_events` has them, with `at` and `until`: times on an axis on which the processes
    follow one another."""
    coverage: float
    """Share of the time from the first to the last of them, process by process."""
    irregularity: float
    """Spread of the distances between starts, relative to their mean."""
    work: int = 0
    """Recorded events that began in them."""

    @property
    def mean_ns(self) -> float:
        return self.total_ns / self.count


def is_own(name: str) -> bool:
    """Whether the program made this annotation, not a library or the compiler."""
    return _NOT_A_UNIT.search(name) is None


@memoize_per_trace
def families_of(trace: Trace, *, on_device: bool) -> list[Family]:
    """Annotations that could be units: made by the program, one at a time in each process."""
    events = _annotations(trace, on_device=on_device)
    if events.is_empty():
        return []
    names = events["name"].unique().to_list()
    usable = {name: family_name(name) for name in names if is_own(name)}
    if not usable:
        return []
    usable_events = events
    if len(usable) < len(names):
        usable_events = events.filter(events["name"].is_in(list(usable)))
    work, _, _ = work_in(trace, usable_events, on_device=on_device)
    return families(
        usable_events.with_columns(
            pl.col("name").replace(usable).alias("family"), pl.Series("work", work, pl.Int64)
        )
    )


def work_share(trace: Trace, families: Sequence[Family], *, on_device: bool) -> float:
    """Share of the recorded work in the families; of the time where nothing else is recorded."""
    processes = {pid for family in families for pid in family.events["pid"].unique()}
    of_process = work_by_process(trace, on_device=on_device)
    total = sum(of_process.get(pid, 0) for pid in processes)
    if total:
        return min(1.0, sum(family.work for family in families) / total)
    together = pl.concat([family.events for family in families]).sort("pid", "start_ns")
    length = int((together["end_ns"] - together["start_ns"]).sum())
    ends = together.group_by("pid").agg(pl.col("end_ns").max() - pl.col("start_ns").min())
    return length / max(int(ends["end_ns"].sum()), 1)


def families(rows: pl.DataFrame) -> list[Family]:
    """Families in the order of their names, without those that overlap themselves."""
    lane = ("family", "pid")
    width = pl.col("end_ns").max() - pl.col("start_ns").min()
    shift = pl.col("pid").rank("dense").cast(pl.Int64) * width
    rows = rows.sort("family", maintain_order=True).with_columns(
        (pl.col("start_ns") + shift).alias("at"),
        (pl.col("end_ns") + shift).alias("until"),
        (pl.col("end_ns") - pl.col("start_ns")).alias("length"),
        pl.col("start_ns").diff().over(*lane).alias("apart"),
        (pl.col("start_ns") < reach_before(*lane)).fill_null(value=False).alias("early"),
    )
    extent = (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("extent")
    summary = (
        rows.group_by("family", maintain_order=True)
        .agg(
            pl.len().alias("count"),
            pl.col("length").sum().alias("total"),
            pl.col("work").sum(),
            (pl.col("apart").std().fill_null(0.0) / pl.col("apart").mean()).alias("spread"),
            pl.col("early").any(),
            extent,
        )
        .with_columns((pl.col("count").cum_sum() - pl.col("count")).alias("first"))
    )
    if rows["pid"].n_unique() > 1:
        by_lane = rows.group_by(*lane).agg(extent).group_by("family").agg(pl.col("extent").sum())
        summary = summary.drop("extent").join(by_lane, on="family", maintain_order="left")
    events = rows.select("pid", "tid", "name", "start_ns", "end_ns", "at", "until")
    return [
        Family(
            name=row["family"],
            events=events.slice(row["first"], row["count"]),
            count=row["count"],
            total_ns=row["total"],
            coverage=row["total"] / max(row["extent"], 1),
            irregularity=1.0 if row["spread"] is None else row["spread"],
            work=row["work"],
        )
        for row in summary.iter_rows(named=True)
        if not row["early"]
    ]


_CLOSES = regex(r"Optimizer\.step|optimizer[._]step|lr_scheduler", re.IGNORECASE)
"""Marks that come last in their unit; all others come first."""


def closes(name: str) -> bool:
    """Whether a mark of this name comes last in its cycle."""
    return _CLOSES.search(name) is not None


def with_spans(events: pl.DataFrame, types: list[str] | None = None) -> pl.DataFrame:
    """Cycles as long as the events that mark them; of the types their names tell."""
    span_types = types or [type_of_name(name) for name in events["name"]]
    return spans_of(events["pid"], events["name"], events["start_ns"], events["end_ns"], span_types)


def from_mark_to_mark(
    trace: Trace, family: Family, trust: float, reason: str, *, on_device: bool
) -> Cycles:
    """Cycles from each mark to the next of its process.

    What lies before the first mark that closes a cycle, or behind the last that begins one, is a
    cycle too if it is about as long as the others.
    """
    last_in_cycle = closes(family.name)
    side = "end_ns" if last_in_cycle else "start_ns"
    starts = _work_starts(trace, on_device=on_device)
    parts = []
    for (pid,), marks in family.events.partition_by("pid", as_dict=True).items():
        cuts = marks[side].to_list()
        # When the first and the last event of the process began.
        worked = starts.get(str(pid), cuts)
        first, last = int(worked[0]), int(worked[-1])
        typical = float(np.median(np.diff(cuts))) if len(cuts) > 1 else 0.0
        rest = cuts[0] - first if last_in_cycle else last - cuts[-1]
        if abs(rest - typical) <= AnnotationsLimits.part_slack * typical:
            cuts = [first, *cuts] if last_in_cycle else [*cuts, last]
        bounds = np.array(cuts, dtype=np.int64)
        parts.append(spans_of(str(pid), marks["name"][0], bounds[:-1], bounds[1:]))
    notes = (mark_note(family.name),)
    return Cycles(pl.concat(parts), "marker", family.name, trust, reason, notes, on_device)


def mark_note(name: str) -> str:
    """What to say of cycles from mark to mark."""
    where = "end to end" if closes(name) else "start to start"
    return f"{name!r} does not cover a step: steps run from {where}"


def repeated_annotation(trace: Trace) -> Cycles | None:
    """The annotation that holds most of the work and repeats; else one that beats time in it."""
    candidates, on_device = families_of(trace, on_device=False), False
    if not candidates:
        candidates, on_device = families_of(trace, on_device=True), True
    units = _covering_units(trace, candidates, on_device=on_device)
    covering = {main: (prefills, share) for main, prefills, share in units}
    if covering:
        main = next(best_first(list(covering)))
        prefills, share = covering[main]
        events = pl.concat([main.events, *(family.events for family in prefills)])
        types = [
            "prefill" if family_name(name) != main.name else type_of_name(name)
            for name in events["name"].to_list()
        ]
        reason = (
            f"the annotation {main.name!r} repeats {main.count} times and covers "
            f"{100 * share:.0f} % of the work"
        )
        notes = tuple(
            f"{family.count} of {family.name!r} classified as prefill" for family in prefills
        )
        spans = with_spans(events, types)
        return Cycles(spans, "marker", main.name, 0.95, reason, notes, on_device)
    even = [
        family
        for family in candidates
        if family.count >= SpansLimits.min_repeats
        and family.irregularity <= AnnotationsLimits.irregular
    ]
    if not even:
        return None
    # Cycles from mark to mark of an annotation that comes once per cycle.
    main = max(even, key=lambda family: (closes(family.name), family.total_ns, family.name))
    reason = f"the annotation {main.name!r} occurs {main.count} times at regular intervals"
    return from_mark_to_mark(trace, main, 0.8, reason, on_device=on_device)


def lone_annotation(trace: Trace) -> Cycles | None:
    """The one pass of a recording that holds no more, where an annotation says so."""
    candidates = [
        family
        for family in families_of(trace, on_device=False)
        if family.count < SpansLimits.min_repeats
        and is_unit_name(family.name)
        and work_share(trace, [family], on_device=False) >= AnnotationsLimits.covering
    ]
    if not candidates:
        return None
    chosen = next(best_first(candidates))
    reason = f"the annotation {chosen.name!r} covers the recording"
    return Cycles(with_spans(chosen.events), "marker", chosen.name, 0.9, reason)


def _covering_units(
    trace: Trace, families: Sequence[Family], *, on_device: bool
) -> Iterator[tuple[Family, list[Family], float]]:
    """Annotations that repeat and hold most of the work, with the prefills beside them.

    Also the share of the work that they hold together.
    """
    count = np.array([family.count for family in families])
    mean = np.array([family.mean_ns for family in families])
    work = np.array([family.work for family in families])
    prefill_by_name = np.array([type_of_name(family.name) == "prefill" for family in families])
    of_process = work_by_process(trace, on_device=on_device)
    for place, main in enumerate(families):
        if main.count < SpansLimits.min_repeats:
            continue
        seldom = (count >= SpansLimits.min_repeats) & (count <= SELDOM * main.count)
        beside = prefill_by_name | (seldom & (mean > LONGER * main.mean_ns))
        beside[place] = False
        total = sum(of_process.get(pid, 0) for pid in main.events["pid"].unique())
        if main.work + work[beside].sum() < AnnotationsLimits.covering * total:
            continue
        neighbours = (families[n] for n in np.flatnonzero(beside).tolist())
        prefills = [other for other in neighbours if not _meet(other, main)]
        if not (on_device or _launches_most(trace, main, prefills)):
            continue
        share = work_share(trace, [main, *prefills], on_device=on_device)
        if share >= AnnotationsLimits.covering:
            yield main, prefills, share


def _launches_most(trace: Trace, main: Family, prefills: Sequence[Family]) -> bool:
    """Whether annotations of the host launch most of what devices take time for.

    And whether most of the main ones launch anything: many short calls of an operator hold many
    calls, and are no steps.  Where launches of devices are not known, nothing speaks against it.
    """
    launched = _launched_time(trace)
    total = within = 0
    main_launches: list[Flags] = []
    for family in (main, *prefills):
        for (pid,), marks in family.events.partition_by("pid", as_dict=True).items():
            if str(pid) not in launched:
                continue
            start, so_far = launched[str(pid)]
            low, high = (
                np.searchsorted(start, marks[side].to_numpy()) for side in ("start_ns", "end_ns")
            )
            within += int((so_far[high] - so_far[low]).sum())
            if family is main:
                total += int(so_far[-1])
                main_launches.append(high > low)
    if not total:
        return True
    share = float(np.concatenate(main_launches).mean())
    return within >= AnnotationsLimits.device_time * total and 2 * share >= 1


@memoize_per_trace
def _launched_time(trace: Trace) -> dict[str, tuple[Ints, Ints]]:
    """By process when device work was launched, in order, and the device time launched before.

    Empty where launches of less than half of the device time are known.
    """
    device, call = device_columns(trace), launching_calls(trace)
    is_work = device_kinds(trace).among(*BUSY_KINDS)
    dur_ns = device["dur_ns"].to_numpy()
    rows = np.flatnonzero(is_work & (call >= 0))
    if not len(rows) or 2 * dur_ns[rows].sum() < dur_ns[is_work].sum():
        return {}
    host = host_columns(trace)
    pid = host["pid"].gather(call[rows]).cast(pl.String).fill_null("")
    launched = pl.DataFrame(
        {"pid": pid, "start": host["ts_ns"].gather(call[rows]), "dur": dur_ns[rows]}
    )
    return {
        str(name): (
            part["start"].to_numpy(),
            np.concatenate([[0], part["dur"].cum_sum().to_numpy()]),
        )
        for (name,), part in launched.sort("start").partition_by("pid", as_dict=True).items()
    }


def _meet(family: Family, other: Family) -> bool:
    """Whether any event of one overlaps any of the other in its process."""
    at, until = (
        np.concatenate([family.events[side].to_numpy(), other.events[side].to_numpy()])
        for side in ("at", "until")
    )
    order = np.argsort(at, kind="stable")
    return not union_starts(at[order], until[order]).all()


def told_by_passes(trace: Trace, cycles: Cycles) -> Cycles:
    """Cycles of the type of the passes in them, where a server marks these and says what they are.

    Steps, calls and kernels do not tell a prefill from a decode; such marks do.
    """
    events = _annotations(trace, on_device=cycles.on_device)
    types = {name: type_of_name(name) for name in events["name"].unique() if is_batch_name(name)}
    if not types or cycles.method == "layer":
        return cycles
    passes = events.filter(pl.col("name").is_in(list(types))).select(
        "pid", "start_ns", told=pl.col("name").replace_strict(types, return_dtype=pl.String)
    )
    marks = host_spans(cycles)
    rows = marks.select("pid", "cycle", "start_ns", "end_ns").sort("start_ns")
    # Both are in order of their start, which Polars cannot see by process.
    matched_passes = passes.sort("start_ns").join_asof(
        rows, on="start_ns", by="pid", check_sortedness=False
    )
    common_type = pl.when(pl.col("told").n_unique() == 1).then(pl.col("told").first())
    pass_types = (
        matched_passes.filter(pl.col("start_ns") < pl.col("end_ns"))
        .group_by("pid", "cycle")
        .agg(common_type)
    )
    recorded_type = pl.col("type").cast(pl.String)
    # A mark speaks for itself; what other ways of finding cycles take a type from is less certain.
    keeps = (recorded_type != "generic") & (cycles.method == "marker")
    typed = cycles.table.join(pass_types, on=["pid", "cycle"], how="left", maintain_order="left")
    kind = pl.when(keeps).then(recorded_type).otherwise(pl.coalesce("told", recorded_type))
    table = typed.with_columns(type=kind.cast(CYCLE_SCHEMA["type"])).drop("told")
    return replace(cycles, table=table)


def named_mark(trace: Trace, marker: str) -> Cycles | None:
    """Cycles as the named mark gives them; None where the recording has no such event.

    A name fits as it is, without its numbers, or with `*` and `?`.  Annotations are asked first,
    then Python calls and every other host event, then annotations and kernels of the device.
    """
    places = ((_ANNOTATION, False), (_OTHER_CALL, False), (_ANNOTATION, True), (_WORK, True))
    for kind, on_device in places:
        if kind is _OTHER_CALL:
            names = _names_that_fit(list(python_calls(trace).names), marker)
            called = anchored_cycles(trace, frozenset(names))
            if called is not None:
                return called
        events = _events(trace, kind, on_device=on_device)
        chosen = _names_that_fit(events["name"].unique().to_list(), marker)
        if chosen:
            fitting = events.filter(pl.col("name").is_in(chosen))
            # As one family, whatever they are called, without those that lie inside another.
            outermost = (pl.col("start_ns") >= reach_before("pid")).fill_null(value=True)
            extra_columns = pl.lit(marker).alias("family"), pl.lit(0).alias("work")
            rows = fitting.filter(outermost).with_columns(*extra_columns)
            (family,) = families(rows)
            often = units.count_noun(family.count, "times")
            reason = f"chosen with --marker; {family.name!r} was recorded {often}"
            if family.coverage >= AnnotationsLimits.sparse or family.count == 1:
                spans = with_spans(family.events)
                return Cycles(spans, "marker", family.name, 1.0, reason, (), on_device)
            return from_mark_to_mark(trace, family, 1.0, reason, on_device=on_device)
        if on_device and events.height:
            break  # its work is asked only where the device has no annotations
    return None


def _names_that_fit(names: list[str], marker: str) -> list[str]:
    """The closest that fit: as written, without numbers, as a pattern, as the end of a name."""
    bare = family_name(marker).rstrip("#_ .:")
    for fits in (
        lambda name: name == marker,
        lambda name: family_name(name).rstrip("#_ .:") == bare,
        lambda name: fnmatch.fnmatchcase(name, marker),
        lambda name: name.endswith((f": {marker}", f".{marker}")),
    ):
        chosen = [name for name in names if fits(name)]
        if chosen:
            return chosen
    return []


_ANCHOR = "ProfilerStep"


def profiler_steps(trace: Trace) -> Cycles | None:
    """The steps of each process, as its host marked them; None where none are marked.

    A last step whose device work was not recorded is left out.
    """
    if not trace.holds("steps"):
        return None
    marks = trace.steps.select(
        pl.col("pid").cast(pl.String).fill_null(""),
        pl.col("tid").cast(pl.String).fill_null(""),
        step_names().alias("step"),
        pl.col("ts_ns").alias("start_ns"),
        (pl.col("ts_ns") + pl.col("dur_ns")).alias("end_ns"),
    )
    if marks["tid"].n_unique() > 1 or marks["pid"].n_unique() > 1:
        # One thread of a process marks; others that repeat a step add nothing.
        threads = marks.group_by("pid", "tid").agg(pl.len()).sort("pid", "len", "tid")
        busiest = threads.group_by("pid", maintain_order=True).last()
        marks = marks.join(busiest, on=["pid", "tid"], how="semi")
    marks = marks.sort("pid", "start_ns")
    steps = find_steps(trace)
    cut = steps["name"].filter(~steps["complete"]).to_list()
    notes: tuple[str, ...] = ()
    uncut = marks.filter(~pl.col("step").is_in(cut)) if cut else marks
    if cut and uncut.height:
        lost = marks.height - uncut.height
        marks = uncut
        notes = (f"{lost} incomplete step{'s' * (lost > 1)} at the end left out",)
    spans = spans_of(marks["pid"], _ANCHOR, marks["start_ns"], marks["end_ns"])
    # Cycles are called as the steps are, unless a number is missing or comes twice.
    named = marks.sort("pid", "start_ns", "end_ns").select(
        "pid", cycle=pl.col("step").cast(pl.Int64, strict=False)
    )
    if not named["cycle"].null_count() and named.is_unique().all():
        spans = spans.with_columns(named["cycle"])
    return Cycles(spans, "step", _ANCHOR, 1.0, "the profiler marked the steps", notes)


_ENDS_WITH_WORK = ("step", "marker", "python")
"""Methods whose cycles the host marks, and which are whole passes: launches return at once, so what
they launched may run long after the mark ended."""


def with_device_work(trace: Trace, cycles: Cycles) -> Cycles:
    """Cycles that last until the device work that their process launched in them is done.

    This is how `find_steps` cuts steps.  Cycles that end with their mark, all of them, and those
    that are times of the device already, stay as they are.
    """
    if cycles.on_device or cycles.method not in _ENDS_WITH_WORK:
        return cycles
    parts = {(None,): cycles.table}
    if cycles.table["pid"].n_unique() > 1:
        parts = cycles.table.partition_by("pid", as_dict=True, maintain_order=True)
    process = launching_process(trace) if len(parts) > 1 else None
    tables, moved = [], False
    for (pid,), part in parts.items():
        chosen = None if process is None else (process == pid).to_numpy()
        marks = bounds_of(part)
        start, end, _ = until_device_work(trace, marks, chosen)
        moved |= bool((start != marks[:, 0]).any() or (end != marks[:, 1]).any())
        tables.append(
            part.with_columns(
                host_start_ns="start_ns",
                host_end_ns="end_ns",
                start_ns=pl.Series(start),
                end_ns=pl.Series(end),
            )
        )
    return replace(cycles, table=pl.concat(tables)) if moved else cycles
