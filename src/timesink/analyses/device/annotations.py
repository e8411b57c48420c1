"""Device work by what the user called it: the annotations around its launches."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses import names
from timesink.analyses.columns import host_columns, host_lanes, host_names, start_and_end
from timesink.analyses.device.activities import Activities, busy_by, device_activities
from timesink.analyses.gathering import values_at
from timesink.analyses.sums import sums_by
from timesink.analyses.texts import encode
from timesink.model.arrays import Ints
from timesink.model.trace import Trace


def kernels_by_annotation(trace: Trace) -> pl.DataFrame:
    """Device time by the innermost user annotation around the launching call, on its thread.

    Marks of steps do not count as annotations.  Work launched outside of every annotation has no
    name; what was launched by a call that is not in the trace is a row of its own, not `launched`.
    `device_ns` adds up the lengths of the activities, `busy_ns` is the time in which at least one
    of them ran.
    """
    work = device_activities(trace)
    name = values_at(host_columns(trace)["name"], _annotation_of(trace, work))
    code, texts = encode(name)
    group = 2 * code + work.launched
    size = 2 * len(texts)
    labels = [text for text in texts for _ in range(2)]
    return (
        pl.DataFrame(
            {
                "annotation": pl.Series(labels, dtype=pl.String),
                "launched": np.arange(size) % 2 == 1,
                "activities": np.bincount(group, minlength=size).astype(np.int64),
                "device_ns": sums_by(group, work.end - work.start, size),
                "busy_ns": busy_by(group, work.start, work.end, size),
            }
        )
        .filter(pl.col("activities") > 0)
        .sort(
            "device_ns", "annotation", "launched", descending=[True, False, True], nulls_last=True
        )
    )


def _annotation_of(trace: Trace, work: Activities) -> Ints:
    """Row in `trace.host` of the annotation each activity was launched in, -1 for none."""
    host, (thread, _) = host_columns(trace), host_lanes(trace)
    # Annotations, and the operators that old profilers recorded in their stead.
    kind, called = host_columns(trace)["kind"], host_names(trace)
    in_their_stead = (kind == "operator").to_numpy() & called.matching(_annotates)
    steps = called.matching(names.is_profiler_step)
    notes = np.flatnonzero(((kind == "annotation").to_numpy() | in_their_stead) & ~steps)
    start, end = start_and_end(host, notes)
    found = np.full(len(work), -1, dtype=np.int64)
    launched = np.flatnonzero(work.launched)
    for number in np.unique(thread[notes]):
        mine = np.flatnonzero(thread[notes] == number)
        mine = mine[np.lexsort((-end[mine], start[mine]))]
        here = launched[thread[work.call[launched]] == number]
        latest = np.searchsorted(start[mine], work.call_start[here], side="right") - 1
        around = _latest_reaching(end[mine], latest, work.call_end[here])
        found[here[around >= 0]] = notes[mine[around[around >= 0]]]
    return found


def _annotates(name: str) -> bool:
    return names.is_data_loader(name) or names.is_wrapper(name)


def _latest_reaching(ends: Ints, latest: Ints, wanted: Ints) -> Ints:
    """The last place up to `latest` whose end is not before the wanted one; -1 without any."""
    # Entry i of maxima[k] is the largest of the 2**k ends up to i.
    maxima, width = [ends], 1
    while 2 * width <= len(ends):
        wider = maxima[-1].copy()
        np.maximum(wider[width:], maxima[-1][:-width], out=wider[width:])
        maxima.append(wider)
        width *= 2
    place = latest.copy()
    for exponent, largest in reversed(list(enumerate(maxima))):
        too_early = (place >= 0) & (largest[place] < wanted)
        place -= np.where(too_early, 1 << exponent, 0)
    return np.maximum(place, -1)
