"""The verdict on a recording: what of it can be answered, before any answer is.

Each check looks for one way in which recordings fall short of a conclusion: work that is missing at
the start, in the middle or from the host, clocks that do not fit, windows that hold little of the
program.  Sums hold all the same, so checks deny questions and change no numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from timesink.analyses.backlog import LONGEST_LAUNCH_NS, starting_backlog
from timesink.analyses.columns import (
    device_columns,
    device_kinds,
    device_numbers,
    event_ranges,
    host_columns,
    host_kinds,
    host_lanes,
    host_names,
    memoize_per_trace,
    numbers,
    seed_memo,
    start_and_end,
)
from timesink.analyses.damage import damage_reasons
from timesink.analyses.links import launching_calls, link_launches
from timesink.analyses.names import device_word
from timesink.analyses.steps import complete_steps, cut_steps, find_steps, role_ranges
from timesink.analyses.thresholds import FitnessLimits
from timesink.model import intervals, units
from timesink.model.arrays import grouped_cummax, is_among, run_starts
from timesink.model.diagnosis import PLAIN
from timesink.model.fitness import (
    COMPARISON,
    CRITICAL_PATH,
    IDLE,
    OVERHEAD,
    QUESTIONS,
    STEP_TIME,
    Fitness,
    Reason,
)
from timesink.model.intervals import Flags, IntervalSet, Ints
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import (
    begins_capture,
    ends_capture,
    launches_graphs,
    launches_kernels,
    waits_for_all,
    waits_for_device,
)

BACKLOG, NOTHING = "starts_with_backlog", "nothing_recorded"
NONE = -1

_MARK_STEPS = "Mark steps (profiler.step()) and record three or more complete ones after a warm-up."
_WHOLE_STEPS = (
    "Record complete steps: start the profiler before their work is launched, and stop it after a "
    "synchronisation. Look for other programs on the device."
)
_HOST_TOO = "Record the host as well: activities=[CPU, CUDA], from the start to a synchronisation."


@memoize_per_trace
def recording_fitness(trace: Trace) -> Fitness:
    """What a recording can answer, and why it cannot answer the rest."""
    return Fitness(tuple(reason for check in _CHECKS for reason in check(trace)))


def carry_fitness(derived: Trace, recording: Trace) -> Trace:
    """The derived trace, of some steps or on another clock, with the verdict on its recording."""
    seed_memo(derived, recording_fitness, recording_fitness(recording))
    return derived


def _only_counters(trace: Trace) -> Iterator[Reason]:
    """Counters without any calls."""
    if trace.has_only_counters:
        yield Reason(
            "only_counters",
            "The recording holds counters only, and no calls or device work.",
            "Record the program with a profiler: timesink record, or torch.profiler.",
            QUESTIONS,
            is_fatal=True,
        )


def _only_memory(trace: Trace) -> Iterator[Reason]:
    """A memory snapshot without a recording beside it."""
    if trace.has_only_memory:
        yield Reason(
            "only_memory",
            "A memory snapshot holds no calls and no device work.",
            "Record both at once with  timesink record --with memory-snapshot.",
            QUESTIONS,
            is_fatal=True,
        )


def _only_collectives(trace: Trace) -> Iterator[Reason]:
    """Logs of collectives without a recording beside them."""
    if trace.has_only_collectives:
        yield Reason(
            "only_collectives",
            "Logs of collectives hold no operators, kernels or steps.",
            "Record some steps with  timesink record  to see what ranks do between them.",
            QUESTIONS,
            is_fatal=True,
        )


def _nothing_recorded(trace: Trace) -> Iterator[Reason]:
    """No call, no device work and no mark of a step."""
    if not _holds_nothing(trace):
        return
    events = trace.metadata.events
    skipped = f" ({units.count_noun(events, 'events')} of other kinds)" if events else ""
    yield Reason(
        NOTHING,
        f"Nothing was recorded: no calls and no device work{skipped}.",
        "Record while the program works. With a schedule, torch.profiler records only after "
        "wait + warmup calls of profiler.step().",
        QUESTIONS,
        {"events": events},
        is_fatal=True,
    )


def _holds_nothing(trace: Trace) -> bool:
    """Whether nothing in a recording takes time; what has no timeline is another matter."""
    is_log = trace.has_only_memory or trace.has_only_collectives or trace.has_only_counters
    is_other = not trace.has_timeline or is_log or trace.metadata.format == PLAIN
    if is_other or trace.lazy("steps").head(1).collect().height:
        return False
    is_call = ~host_kinds(trace).among("trace", "instant")
    return not is_call.any() and not len(_device_work(trace).row)


def _starts_with_backlog(trace: Trace) -> Iterator[Reason]:
    """Devices that work on what was queued before the recording began."""
    backlog = starting_backlog(trace)
    if backlog is None:
        return
    word, marked = _device(trace, backlog.device), _is_marked(trace)
    lost_ns = backlog.unrecorded_ns
    if marked:
        wait = np.array([[backlog.launched_ns, backlog.start_ns]])
        inside_ns = intervals.coverage(intervals.intersect(wait, _windows(trace)))
        lost_ns = min(lost_ns, inside_ns)
        if lost_ns <= max(LONGEST_LAUNCH_NS, FitnessLimits.min_share * _length_ns(trace)):
            return
    if _after_waits_ns(trace) > FitnessLimits.min_main_share * lost_ns:
        return  # the clock of the device is late, not its work
    yield Reason(
        BACKLOG,
        f"The first recorded work waited {units.brief_ns(lost_ns)} behind work that was queued on "
        f"{word} before the recording began.",
        f"Start the profiler after a synchronisation, or a few steps earlier. {_MARK_STEPS}",
        (IDLE, CRITICAL_PATH, OVERHEAD) if marked else _NO_STEP,
        {"waited_us": lost_ns / 1000, "device": backlog.device},
    )


def _waits_in_vain(trace: Trace) -> Iterator[Reason]:
    """Waits of a launching thread for a device on which nothing runs."""
    vain, row = _vain_waits(trace)
    lost_ns, length_ns = intervals.coverage(vain), _length_ns(trace)
    if lost_ns <= FitnessLimits.min_share * length_ns:
        return
    call = host_columns(trace)["name"][row]
    yield Reason(
        "work_not_recorded",
        f"The host waits {units.brief_ns(lost_ns)} of {units.brief_ns(length_ns)} "
        f"({units.brief_share(lost_ns, length_ns)}) for device work that was not recorded, mostly "
        f"in {call}. That work was launched before the recording, was lost, or "
        "belongs to another program.",
        _WHOLE_STEPS,
        (IDLE, CRITICAL_PATH, OVERHEAD) if _is_marked(trace) else _NO_STEP,
        {"waited_us": lost_ns / 1000, "recorded_us": length_ns / 1000, "call": str(call)},
    )


def _vain_waits(trace: Trace) -> tuple[IntervalSet, int]:
    """When launching threads waited for long while no device worked, and the longest such wait."""
    nothing = np.zeros((0, 2), dtype=np.int64)
    host, work = host_columns(trace), _device_work(trace)
    is_long = host["dur_ns"].to_numpy() >= FitnessLimits.long_wait_ns
    rows = _rows_named(trace, np.flatnonzero(is_long), waits_for_device)
    calls = work.call[work.launched]
    if not len(rows) or not len(calls):
        return nothing, NONE
    lane, lanes = host_lanes(trace)
    is_launching = np.zeros(len(lanes), dtype=np.bool_)
    is_launching[lane[calls]] = True
    rows = rows[is_launching[lane[rows]]]
    vain = intervals.subtract(event_ranges(host, rows), work.ranges)
    vain = intervals.intersect(vain, _windows(trace))
    if intervals.coverage(vain) <= FitnessLimits.min_share * _length_ns(trace):
        return nothing, NONE
    roles = role_ranges(trace)
    vain = intervals.subtract(vain, np.concatenate([roles["data_loader"], roles["communication"]]))
    vain = vain[vain[:, 1] - vain[:, 0] >= FitnessLimits.long_wait_ns]
    if not len(vain):
        return nothing, NONE
    inside = intervals.coverage_within(vain, event_ranges(host, rows))
    return vain, int(rows[inside.argmax()])


def _launches_without_work(trace: Trace) -> Iterator[Reason]:
    """Kernels and graphs that were launched and never ran; those of a capture do not run."""
    launched, is_captured, is_lost = _kernel_launches(trace)
    captured = int(is_captured.sum())
    if captured > FitnessLimits.min_main_share * len(launched):
        yield Reason(
            "captures_graphs",
            f"{units.count(captured)} of {units.count_noun(len(launched), 'launch calls')} were "
            "captured into graphs and did not run. This is a warm-up.",
            "Record the replays of the graphs, after their capture.",
            (IDLE, STEP_TIME, CRITICAL_PATH, OVERHEAD),
            {"captured": captured, "launches": len(launched)},
        )
    lost, many = int(is_lost.sum()), len(launched) - captured
    if not lost or lost < FitnessLimits.min_lost_launches * many:
        return
    replays = _rows_named(trace, launched[is_lost], launches_graphs)
    if lost < FitnessLimits.min_lost and not len(replays) and len(_device_work(trace).row):
        return
    if not len(_device_work(trace).row):
        yield Reason(
            "work_not_recorded",
            f"No device work was recorded, but {units.count_noun(lost, 'launch calls')} of "
            "kernels or graphs.",
            "Record the device: activities=[CPU, CUDA], with no other profiler at the same time.",
            QUESTIONS,
            {"lost_launches": lost, "launches": many},
            is_fatal=True,
        )
        return
    yield Reason(
        "work_not_recorded",
        f"{units.count(lost)} of {units.count_noun(many, 'launch calls')} "
        f"({units.share(lost, many)}) "
        "have no device work in the recording. The profiler lost it, or stopped before it ran.",
        "Record fewer steps at a time, and stop the profiler after a synchronisation.",
        (IDLE, CRITICAL_PATH, OVERHEAD, COMPARISON),
        {"lost_launches": lost, "launches": many},
    )


def _kernel_launches(trace: Trace) -> tuple[Ints, Flags, Flags]:
    """Rows of calls that make a device run kernels; those in a capture, and those that made none.

    Without correlation nothing tells what a call made.
    """
    host, calls = (host_columns(trace), np.flatnonzero(host_kinds(trace).among(*LAUNCH_KINDS)))
    call_ids, work_ids = (numbers(table["correlation"]) for table in (host, device_columns(trace)))
    rows = _rows_named(trace, calls[call_ids[calls] > 0], launches_kernels)
    rows = _outermost(trace, rows)
    if not len(rows) or (len(_device_work(trace).row) and not (work_ids > 0).any()):
        nothing = np.zeros(0, dtype=np.bool_)
        return rows[:0], nothing, nothing
    start, is_lost = host["ts_ns"].to_numpy(), ~is_among(call_ids[rows], work_ids)
    begins, ends = (
        np.sort(start[_rows_named(trace, calls, test)]) for test in (begins_capture, ends_capture)
    )
    opened, ended = (np.searchsorted(bounds, start[rows]) for bounds in (begins, ends))
    is_captured = opened > ended
    return rows, is_captured & is_lost, is_lost & ~is_captured


def _rows_named(trace: Trace, rows: Ints, test: Callable[[str], bool]) -> Ints:
    """Those of some rows in `trace.host` whose names pass; only their names are looked at."""
    named = host_names(trace)
    codes = named.codes[rows]
    passed = np.array([code for code in np.unique(codes).tolist() if test(named.texts[code])])
    return rows[is_among(codes, passed)]


def _outermost(trace: Trace, rows: Ints) -> Ints:
    """Calls that are in no other of them: a runtime call makes a driver call of its own id."""
    if not len(rows):
        return rows
    (start, end), lane = start_and_end(host_columns(trace), rows), host_lanes(trace)[0][rows]
    order = np.lexsort((-end, start, lane))
    first = run_starts(lane[order])
    latest = grouped_cummax(end[order], first)
    is_inside = np.zeros(len(rows), dtype=np.bool_)
    is_inside[1:] = start[order][1:] < latest[:-1]
    is_inside[first] = False
    return np.sort(rows[order[~is_inside]])


def _host_not_recorded(trace: Trace) -> Iterator[Reason]:
    """Device work whose launches are not in the recording, or not after its host part ended."""
    work, host = _device_work(trace), host_columns(trace)
    if not len(work.row):
        return
    is_call = ~host_kinds(trace).among("trace", "instant")
    if not is_call.any():
        yield Reason(
            "host_not_recorded",
            "Device work was recorded, and nothing of the host.",
            _HOST_TOO,
            (CRITICAL_PATH, OVERHEAD),
        )
        return
    host_end, is_linked = int(start_and_end(host, is_call)[1].max()), work.launched
    length, length_ns = work.end - work.start, _length_ns(trace)
    total_ns, is_after = int(length.sum()), work.start > host_end
    if 2 * int(length[is_linked].sum()) < total_ns or (is_after & ~is_linked).any():
        # Operators launched it whose calls have ids of their own.
        is_linked = is_linked | (link_launches(trace).node[work.row] >= 0)
    linked_ns = int(length[is_linked].sum())
    after_ns = intervals.coverage(work.ranges[~is_linked & is_after])
    if after_ns > FitnessLimits.min_share * (length_ns + after_ns):
        yield Reason(
            "host_not_recorded",
            f"Device work goes on for {units.brief_ns(after_ns)} after the last recorded host "
            "call. Its launches were not recorded.",
            _HOST_TOO,
            _NO_STEP,
            {"after_host_us": after_ns / 1000},
        )
    elif linked_ns < FitnessLimits.min_main_share * total_ns:
        share = units.share(total_ns - linked_ns, total_ns)
        yield Reason(
            "launches_not_recorded",
            f"{share} of the device work has no launch in the recording, so its dependencies are "
            "unknown.",
            "Record runtime calls with their correlation ids, and start a few steps earlier.",
            (CRITICAL_PATH, OVERHEAD),
            {"without_launch_us": (total_ns - linked_ns) / 1000, "device_us": total_ns / 1000},
        )


def _clocks_do_not_fit(trace: Trace) -> Iterator[Reason]:
    """Device work that starts before its launch, or ends after a wait for all of the device."""
    work = _device_work(trace)
    call_start = host_columns(trace)["ts_ns"].to_numpy()[work.call[work.launched]]
    early_ns = call_start - work.start[work.launched]
    early_ns = early_ns[early_ns > FitnessLimits.clock_skew_ns]
    apart_ns, evidence = _after_waits_ns(trace), "work ends after the host waited for it"
    if len(early_ns) and len(early_ns) >= FitnessLimits.min_early * len(call_start):
        apart_ns = int(np.median(early_ns))
        evidence = (
            f"{units.count(len(early_ns))} of {units.count(len(call_start))} activities start "
            "before their launch"
        )
    if apart_ns <= FitnessLimits.clock_skew_ns:
        return
    is_long = apart_ns > FitnessLimits.min_share * _length_ns(trace)
    yield Reason(
        "clocks_do_not_fit",
        f"The clocks of host and device do not match: {evidence}, by {units.brief_ns(apart_ns)} "
        "(median).",
        "Update driver and profiler, and record again.",
        (IDLE, STEP_TIME, CRITICAL_PATH, OVERHEAD) if is_long else (CRITICAL_PATH, OVERHEAD),
        {"early": len(early_ns), "apart_us": apart_ns / 1000},
    )


@memoize_per_trace
def _after_waits_ns(trace: Trace) -> int:
    """By how much work ends after the end of a wait for its device, in the median of such waits.

    They wait for all that was launched before, so it is negative where clocks fit.  Of several
    devices or processes nothing tells which one is waited for.
    """
    work, host = _device_work(trace), host_columns(trace)
    calls = np.flatnonzero(host_kinds(trace).among(*LAUNCH_KINDS))
    waits = _rows_named(trace, calls, waits_for_all)
    call_start = host["ts_ns"].to_numpy()[work.call[work.launched]]
    devices = device_numbers(trace)[work.row]
    if not len(waits) or not len(call_start) or (devices != devices[0]).any():
        return 0
    if host["pid"].gather(np.concatenate([waits, work.call[work.launched]])).n_unique() > 1:
        return 0
    order = np.argsort(call_start, kind="stable")
    latest_end = np.maximum.accumulate(work.end[work.launched][order])
    start, end = start_and_end(host, waits)
    before = np.searchsorted(call_start[order], start) - 1
    after_ns = (latest_end[before] - end)[before >= 0]
    return int(np.median(after_ns)) if len(after_ns) else 0


def _idle_window(trace: Trace) -> Iterator[Reason]:
    """A recording without steps that lies mostly before the first work or after the last."""
    work, windows = _device_work(trace), _windows(trace)
    if not len(work.row) or not len(windows) or _is_marked(trace):
        return
    begin, end = int(windows[0, 0]), int(windows[-1, 1])
    first, last = (int(np.clip(at, begin, end)) for at in (work.start.min(), work.end.max()))
    length_ns = end - begin
    if first - begin + end - last <= FitnessLimits.min_main_share * length_ns:
        return
    host, kinds = host_columns(trace), host_kinds(trace)
    calls = event_ranges(host, kinds.among("operator", *LAUNCH_KINDS))
    ends = np.array([[begin, first], [last, end]])
    empty = ends[:, 1] - ends[:, 0] - intervals.coverage_within(calls, ends)
    empty_ns = int(empty.sum())
    if empty_ns <= FitnessLimits.min_main_share * length_ns:
        return
    where = "before the first" if empty[0] >= empty[1] else "after the last"
    yield Reason(
        "idle_window",
        f"The program does nothing for {units.brief_ns(empty_ns)} of the recorded "
        f"{units.brief_ns(length_ns)}, mostly {where} device work.",
        f"Record while the program works. {_MARK_STEPS}",
        _NO_STEP,
        {"empty_us": empty_ns / 1000, "recorded_us": length_ns / 1000},
    )


def _step_cut(trace: Trace) -> Iterator[Reason]:
    """Steps at either end whose device work the recording lacks."""
    steps, is_cut = find_steps(trace), cut_steps(trace)
    cut = steps["name"].filter(is_cut).to_list()
    if not cut:
        return
    is_first = bool(is_cut[0])
    left = int((steps["complete"].to_numpy() & ~is_cut).sum())
    named = f"{'step' if len(cut) == 1 else 'steps'} {units.join_names(cut)}"
    averages = "" if is_first else "; averages leave incomplete steps out"
    verb = "lacks" if len(cut) == 1 else "lack"
    yield Reason(
        "step_cut",
        f"Of {units.count_noun(steps.height, 'steps')}, {named} {verb} device work{averages}.",
        "Stop the profiler after a synchronisation, or record one step more than needed.",
        () if left > 0 else (STEP_TIME, COMPARISON),
        {"cut_steps": len(cut), "whole_steps": left},
    )


_NO_STEP = (IDLE, STEP_TIME, CRITICAL_PATH, OVERHEAD, COMPARISON)
"""What a recording without marked steps cannot answer when its window is not one of the program."""

_CHECKS: tuple[Callable[[Trace], Iterator[Reason]], ...] = (
    damage_reasons,  # first: what follows is often its consequence
    _only_counters,
    _only_memory,
    _only_collectives,
    _nothing_recorded,
    _starts_with_backlog,
    _waits_in_vain,
    _launches_without_work,
    _host_not_recorded,
    _clocks_do_not_fit,
    _idle_window,
    _step_cut,
)


class _WorkRows(NamedTuple):
    """Kernels, copies, sets and collectives; arrays have one entry per activity."""

    row: Ints
    """Row in `trace.device`."""
    start: Ints
    end: Ints
    call: Ints
    """Row in `trace.host` of the launching call, `NONE` where it is not in the recording."""

    @property
    def launched(self) -> Flags:
        return np.asarray(self.call != NONE)

    @property
    def ranges(self) -> IntervalSet:
        return np.stack([self.start, self.end]).T


@memoize_per_trace
def _device_work(trace: Trace) -> _WorkRows:
    """What the devices did, without the forest of calls: the verdict is no reason to build it."""
    row = np.flatnonzero(device_kinds(trace).among(*BUSY_KINDS))
    start, end = start_and_end(device_columns(trace), row)
    return _WorkRows(row, start, end, launching_calls(trace)[row])


@memoize_per_trace
def _windows(trace: Trace) -> IntervalSet:
    """When the complete steps ran."""
    steps = complete_steps(trace)
    return intervals.merge(steps.select("start_ns", "end_ns").to_numpy().reshape(-1, 2))


@memoize_per_trace
def _length_ns(trace: Trace) -> int:
    return intervals.coverage(_windows(trace))


def _is_marked(trace: Trace) -> bool:
    return bool(find_steps(trace)["marked"].any())


def _device(trace: Trace, number: int) -> str:
    word = device_word(trace)
    return f"the {word}" if number < 0 else f"{word} {number}"
