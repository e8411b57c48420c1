"""Which unit is taken, how far it is trusted, and what is refused."""

from __future__ import annotations

import polars as pl
import pytest

from loops import serve
from marked import note, work
from timelines import trace_of
from timesink.analyses.cycles.search import find_cycles
from timesink.errors import NotFoundError, UnreadableError, UsageError
from timesink.model.health import HealthEntry
from timesink.model.schema import TABLES
from timesink.model.trace import Trace


def test_an_unknown_method_is_refused():
    with pytest.raises(UsageError):
        find_cycles(trace_of(work(0, 100)), by="luck")


def test_an_empty_recording_is_refused():
    with pytest.raises(NotFoundError):
        find_cycles(trace_of())


def test_counters_alone_are_named_as_such():
    sample = pl.DataFrame({"counter": ["gpu_sm_util"], "ts_ns": [0], "value": [1.0]})
    counters = pl.concat([TABLES["counters"].empty(), sample], how="diagonal_relaxed")
    bare = trace_of()
    with pytest.raises(UnreadableError, match="only counters"):
        find_cycles(Trace(bare.metadata, (), {**bare.frames, "counters": counters.lazy()}))


# -- processes -------------------------------------------------------------------------------------


def test_one_process_of_several():
    served = serve(["decode"] * 5, pids=("1", "2"))
    assert find_cycles(served.trace(), pid="2").table["pid"].unique().to_list() == ["2"]


@pytest.mark.parametrize("marker", [None, "run_batch"])
def test_a_process_that_is_not_there(marker):
    trace = serve(["decode"] * 5, pids=("1", "2")).trace()
    with pytest.raises(NotFoundError, match="no process 3") as refused:
        find_cycles(trace, pid="3", marker=marker)
    assert refused.value.hint == "the recording has 1, 2"


def test_a_process_without_cycles():
    trace = trace_of([*(note("part", 1_000 * at, 990) for at in range(10)), *work(0, 9, pid="7")])
    with pytest.raises(NotFoundError, match="no steps found in process 7"):
        find_cycles(trace, pid="7")


def test_a_file_that_was_cut_is_said_to_be():
    trace = trace_of(work(0, 9))
    with pytest.raises(NotFoundError, match="and the JSON ends before") as refused:
        find_cycles(Trace(trace.metadata, (HealthEntry("truncated_tail", 1),), trace.frames))
    assert "copy the file again" in refused.value.hint


# -- how far to trust ------------------------------------------------------------------------------


def test_unlike_cycles_are_trusted_less():
    notes = [note("part", 1_000 * at, 990) for at in range(10)]
    even = find_cycles(trace_of([*notes, *work(0, 10_000)]))
    uneven = find_cycles(trace_of([*notes, *work(0, 10_000), *work(3_000, 4_000, 2)]))
    assert uneven.likeness < even.likeness == 1.0
    assert uneven.confidence < even.confidence


def test_processes_without_cycles_are_named():
    notes = [note("part", 1_000 * at, 990) for at in range(10)]
    trace = trace_of([*notes, *work(0, 10_000), *work(0, 9_000, pid="77")])
    assert find_cycles(trace).notes == ("no steps in process 77, which did other work",)
    assert find_cycles(trace, pid="1").notes == ()
