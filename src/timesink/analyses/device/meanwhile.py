"""What the host did while a device stood still."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesink.analyses import names
from timesink.analyses.columns import host_columns, host_lanes, host_names
from timesink.analyses.device.activities import NO_CALL, Activities, Gaps
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace

_WAITING_OPERATORS = ("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero")
"""Operators that need a value from the device and wait for it."""

_FRAMES = ("trace", "instant")
"""Host kinds that frame or mark a recording."""

_END_OF_TIME = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class _HostEvents:
    """Host events that can explain a gap; arrays have one entry per event."""

    row: Ints
    start: Ints
    end: Ints
    thread: Ints
    """Place in `threads`."""
    threads: list[tuple[str, str]]
    loads: Flags
    """Data loaders."""
    waits: Flags
    """Calls that return when the device has finished something."""

    def covering_most(self, start: int, end: int, thread: int) -> Ints:
        """Places of those that cover more than half of a gap: nested, the innermost last."""
        common = np.minimum(self.end, end) - np.maximum(self.start, start)
        found = np.flatnonzero((2 * common > end - start) & (self.thread == thread))
        return found[np.lexsort((self.start[found], self.start[found] - self.end[found]))]

    def waited(self, time: int, thread: int) -> int:
        """How long a thread had been waiting for the device then."""
        open_then = (self.start <= time) & (self.end > time) & (self.thread == thread)
        return int(time - self.start[open_then & self.waits].min(initial=time))


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What the host did during one gap."""

    row: int = -1
    """The event that covers most of it, a row of `trace.host`; -1 for none."""
    loading: bool = False
    waited_ns: int = 0
    """How long a thread that launches had been waiting for the device when the gap began."""
    waits: bool = False
    """Whether it waited for most of the gap."""


def _meanwhile(events: _HostEvents, start: int, end: int, threads: list[int]) -> Meanwhile:
    waited = max((events.waited(start, thread) for thread in threads), default=0)
    for thread in threads:
        covering = events.covering_most(start, end, thread)
        if len(covering):
            innermost = covering[-1]
            return Meanwhile(
                row=int(events.row[innermost]),
                loading=bool(events.loads[covering].any()),
                waited_ns=waited,
                waits=bool(events.waits[innermost]),
            )
    return Meanwhile(waited_ns=waited)


def host_meanwhile(trace: Trace, work: Activities, gaps: Gaps) -> list[Meanwhile]:
    """What the threads that feed the devices did during each of a few gaps."""
    events = _explaining_events(trace, gaps)
    number_of = {thread: number for number, thread in enumerate(events.threads)}
    main = _main_thread(trace, work)
    launching = _threads_of(trace, work.call[gaps.after])
    return [
        _meanwhile(
            events,
            int(start),
            int(end),
            [number_of[lane] for lane in dict.fromkeys((own, main)) if lane in number_of],
        )
        for start, end, own in zip(gaps.start, gaps.end, launching, strict=True)
    ]


def _explaining_events(trace: Trace, gaps: Gaps) -> _HostEvents:
    """Those long enough to cover half of a gap, and those that wait for the device."""
    host, called = host_columns(trace), host_names(trace)
    waits = called.matching(_waits)
    long_enough = 2 * host["dur_ns"].to_numpy() > gaps.length.min(initial=_END_OF_TIME)
    frames = host["kind"].is_in(_FRAMES).to_numpy() | called.matching(names.is_profiler_step)
    row = np.flatnonzero((long_enough | waits) & ~frames)
    start = host["ts_ns"].to_numpy()[row]
    thread, threads = host_lanes(trace)
    return _HostEvents(
        row=row,
        start=start,
        end=start + host["dur_ns"].to_numpy()[row],
        thread=thread[row],
        threads=threads,
        loads=called.matching(names.is_data_loader)[row],
        waits=waits[row],
    )


def _waits(name: str) -> bool:
    return names.waits_for_device(name) or name in _WAITING_OPERATORS


def _main_thread(trace: Trace, work: Activities) -> tuple[str, str] | None:
    """The thread of the step marks, or else the one that launches most."""
    steps = trace.lazy("steps").select("pid", "tid").head(1).collect()
    if steps.height:
        pid, tid = steps.row(0)
        return (pid or "", tid or "")
    thread, threads = host_lanes(trace)
    launches = np.bincount(thread[work.call[work.launched]])
    return threads[int(launches.argmax())] if len(launches) else None


def _threads_of(trace: Trace, calls: Ints) -> list[tuple[str, str] | None]:
    """Process and thread of calls; none for a call that is not in the trace."""
    thread, threads = host_lanes(trace)
    return [threads[thread[call]] if call != NO_CALL else None for call in calls.tolist()]
