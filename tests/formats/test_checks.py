"""Every trace-level health check: what sets it off and what must not."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timesink.formats.finish import conform, find_oddities
from timesink.model.schema import TABLES
from timesink.model.trace import Device, Distributed, Metadata

HOUR_NS = 3_600 * 10**9


def call(name, ts, dur=10, kind="operator", **more: object):
    """One host event."""
    return {"name": name, "kind": kind, "pid": "1", "tid": "1", "ts_ns": ts, "dur_ns": dur} | more


def launch(correlation, ts=0, dur=10, kind="runtime", **more: object):
    return call("cudaLaunchKernel", ts, dur, kind, correlation=correlation, **more)


def kernel(name, ts, dur=10, **more: object):
    """One device activity."""
    where = {"pid": "0", "device": 0, "stream": "7"}
    return {"name": name, "kind": "kernel", "ts_ns": ts, "dur_ns": dur} | where | more


def step(number, ts, dur=100):
    return {"name": f"ProfilerStep#{number}", "step": number, "ts_ns": ts, "dur_ns": dur}


def find(host=(), device=(), steps=(), *, memory=(), rank=0, devices=()):
    """Findings by code for a trace with these rows."""
    rows = {"host": host, "device": device, "steps": steps, "memory": memory}
    tables = {name: frame(table, rows.get(name, ())) for name, table in TABLES.items()}
    of_job = Distributed(rank=rank)
    metadata = Metadata("t.json", "kineto", "nvidia", 0, devices=devices, distributed=of_job)
    return {entry.code: entry for entry in find_oddities(tables, metadata)}


def frame(table, rows):
    if not rows:
        return table.empty()
    schema = {
        name: dtype for name, dtype in table.schema.items() if any(name in row for row in rows)
    }
    return conform(pl.DataFrame(list(rows), schema=schema), table)


def count(findings, code):
    return findings[code].count if code in findings else 0


def test_sound_trace_has_no_findings():
    findings = find(
        host=[call("aten::add", 0, 100), launch(5, 10)],
        device=[kernel("add", 50, correlation=5)],
        steps=[step(1, 0)],
    )
    assert findings == {}


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        pytest.param([kernel("a", 0), kernel("b", 5)], 1, id="overlap"),
        pytest.param([kernel("b", 5), kernel("a", 0)], 1, id="overlap out of order"),
        pytest.param([kernel("a", 0, 100), kernel("b", 5), kernel("c", 50)], 2, id="one over two"),
        pytest.param([kernel("a", 0), kernel("b", 5, kind="memcpy")], 1, id="a copy counts"),
        pytest.param([kernel("a", 0), kernel("b", 10)], 0, id="touching"),
        pytest.param([kernel("a", 0), kernel("b", 5, 0)], 0, id="no length"),
        pytest.param([kernel("a", 0), kernel("b", 5, stream="8")], 0, id="other stream"),
        pytest.param([kernel("a", 0), kernel("b", 5, device=1)], 0, id="other device"),
        pytest.param([kernel("a", 0), kernel("b", 5, pid="9")], 0, id="other process"),
        pytest.param([kernel("a", 0), kernel("b", 5, device=None)], 0, id="unknown device"),
        pytest.param([kernel("a", 0), kernel("b", 5, device=2**31 - 1)], 0, id="absurd device"),
        pytest.param([kernel(n, 0, stream=None) for n in "ab"], 0, id="unknown streams"),
        pytest.param([kernel("a", 0), kernel("b", 5, kind="annotation")], 0, id="annotation"),
    ],
)
def test_overlapping_slices(device, expected):
    assert count(find(device=device), "overlapping_slices") == expected


def test_overlapping_slices_names_both_kernels_and_the_stream():
    findings = find(device=[kernel("first", 0), kernel("n" * 99, 5)])
    assert findings["overlapping_slices"].example == f"first and {'n' * 57}..., stream 7"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        pytest.param([call("a", 0), call("b", 5)], 1, id="cross"),
        pytest.param([call("b", 5), call("a", 0)], 1, id="cross out of order"),
        pytest.param([call("a", 0, 20), call("in", 1, 2), call("b", 5, 30)], 1, id="child between"),
        pytest.param([call("a", 0), call("b", 5, kind="python_function")], 1, id="other kind"),
        pytest.param([call("a", 0, 20), call("b", 5)], 0, id="nested"),
        pytest.param([call("a", 0, 20), call("b", 0), call("c", 10)], 0, id="nested, shared edges"),
        pytest.param([call("a", 0), call("a", 0)], 0, id="equal"),
        pytest.param([call("a", 0), call("b", 10)], 0, id="touching"),
        pytest.param([call("a", 0), call("b", 5, tid="2")], 0, id="other thread"),
        pytest.param([call("a", 0), call("b", 5, pid="2")], 0, id="other process"),
        pytest.param([call("a", 0), call("b", 5, kind="overhead")], 0, id="not a call"),
    ],
)
def test_overlapping_host(host, expected):
    assert count(find(host=host), "overlapping_host") == expected


def test_overlapping_host_names_both_and_the_thread():
    findings = find(host=[call("other", 0, tid="5"), call("a", 0), call("b", 5)])
    assert findings["overlapping_host"].example == "a and b, thread 1"


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("12"), st.sampled_from("34"), st.integers(0, 12), st.integers(0, 12)
        ),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from([4, 2**60]),
)
def test_overlaps_against_pairwise_comparison(lanes, unit):
    """The unit stretches time until lanes no longer fit after one another on one axis."""
    rows = [(pid, tid, ts * unit // 4, dur * unit // 4) for pid, tid, ts, dur in lanes]
    findings = find(
        host=[call("x", ts, dur, pid=pid, tid=tid) for pid, tid, ts, dur in rows],
        device=[kernel("x", ts, dur, pid=pid, stream=tid) for pid, tid, ts, dur in rows],
    )
    cut = sum(any(crosses(row, other) for other in rows) for row in rows)
    assert count(findings, "overlapping_host") == cut
    assert count(findings, "overlapping_slices") == late_starts(rows)


def crosses(row, other):
    start, end = row[2], row[2] + row[3]
    return row[:2] == other[:2] and start < other[2] < end < other[2] + other[3]


def late_starts(rows):
    """Rows that start before an earlier row of their lane has ended."""
    ordered = sorted((row for row in rows if row[3] > 0), key=lambda row: row[2])
    return sum(
        any(row[:2] == earlier[:2] and row[2] < earlier[2] + earlier[3] for earlier in ordered[:at])
        for at, row in enumerate(ordered)
    )


@pytest.mark.parametrize(
    ("host", "device", "expected"),
    [
        pytest.param([launch(5)], [kernel("k", 20, correlation=6)], 1, id="launch absent"),
        pytest.param([launch(5)], [kernel("k", 20)], 1, id="no correlation"),
        pytest.param([launch(0)], [kernel("k", 20, correlation=0)], 1, id="zero links nothing"),
        pytest.param([call("op", 0)], [kernel("k", 20, correlation=6)], 1, id="no runtime calls"),
        pytest.param(
            [call("op", 0, correlation=6)], [kernel("k", 20, correlation=6)], 1, id="not a launch"
        ),
        pytest.param([launch(5)], [kernel("k", 20, correlation=5)], 0, id="linked"),
        pytest.param(
            [launch(5, kind="driver")], [kernel("k", 20, correlation=5)], 0, id="linked to driver"
        ),
        pytest.param([], [kernel("k", 20, correlation=6)], 1, id="host not recorded"),
        pytest.param([launch(5)], [kernel("k", 20, kind="annotation")], 0, id="annotation"),
    ],
)
def test_unlinked_kernels(host, device, expected):
    assert count(find(host=host, device=device), "unlinked_kernels") == expected


@pytest.mark.parametrize(
    ("second", "pid", "expected"),
    [
        pytest.param(3, "0", 2, id="at one time"),
        pytest.param(3, "10", 1, id="one says its process"),
        pytest.param(500, "0", 0, id="one after the other"),
    ],
)
def test_ids_that_two_processes_use_at_one_time(second, pid, expected):
    launches = [
        launch(number, start + 20 * number, 5, pid=process)
        for process, start in (("10", 0), ("11", second))
        for number in (1, 2)
    ]
    kernels = [kernel("k", 60, correlation=1), kernel("k", 700, correlation=2, pid=pid)]
    assert count(find(host=launches, device=kernels), "unclear_process") == expected


@pytest.mark.parametrize(
    ("allocated_bytes", "expected"), [(11 << 30, 1), (10 << 30, 0), (2**63 - 1, 1)]
)
def test_more_memory_than_any_device_of_its_size_holds(allocated_bytes, expected):
    row = {"ts_ns": 1, "device_type": 1, "device": 0, "total_allocated_bytes": allocated_bytes}
    findings = find(memory=[row], devices=(Device(0, "NVIDIA H100", 1 << 30),))
    assert count(findings, "impossible_memory") == expected


@pytest.mark.parametrize(
    ("kernels", "example"),
    [
        ([kernel("k", 0, correlation=6)], "k, correlation 6"),
        ([kernel("k", 0)], "k, no correlation"),
    ],
)
def test_unlinked_kernels_names_the_kernel(kernels, example):
    assert find(host=[launch(5)], device=kernels)["unlinked_kernels"].example == example


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        pytest.param([launch(5, 0), launch(5, 20)], 2, id="twice"),
        pytest.param([launch(5, 0, pid=None), launch(5, 20, pid=None)], 2, id="process unknown"),
        pytest.param(
            [launch(5, 0), launch(5, 2, 5, kind="driver")], 0, id="runtime and its driver"
        ),
        pytest.param([launch(5, 0), launch(5, 20, pid="2")], 0, id="two processes"),
        pytest.param([launch(0, 0), launch(0, 20)], 0, id="zero is no correlation"),
        pytest.param([launch(None, 0), launch(None, 20)], 0, id="none"),
    ],
)
def test_duplicate_correlation(host, expected):
    assert count(find(host=host), "duplicate_correlation") == expected


def test_duplicate_correlation_names_the_call():
    findings = find(host=[launch(5, 0), launch(5, 20), launch(5, 40), launch(7, 60)])
    example = "3 calls with correlation 5: cudaLaunchKernel"
    assert findings["duplicate_correlation"].example == example


@pytest.mark.parametrize(
    ("stray", "expected"),
    [
        pytest.param([call("x", 2 * HOUR_NS)], 1, id="later"),
        pytest.param([call("x", -2 * HOUR_NS)], 1, id="earlier"),
        pytest.param([call("x", -(2**63)), call("y", 2**63 - 1)], 2, id="corrupt"),
        pytest.param([call("x", HOUR_NS // 2)], 0, id="less than an hour"),
        pytest.param([call("x", 2 * HOUR_NS, kind="instant")], 0, id="marker"),
    ],
)
def test_clock_fault(stray, expected):
    findings = find(host=[call("op", ts * 100) for ts in range(20)] + stray)
    assert count(findings, "clock_fault") == expected


def test_clock_fault_of_device_names_the_event():
    host = [call("op", ts * 100) for ts in range(20)]
    findings = find(host=host, device=[kernel("k", 2 * HOUR_NS)])
    assert findings["clock_fault"].example == f"k at {2 * HOUR_NS} ns"


def test_long_recording_is_no_clock_fault():
    host = [call("op", ts) for ts in np.linspace(0, 10 * HOUR_NS, 50).astype(int).tolist()]
    assert "clock_fault" not in find(host=host)


def test_few_events_say_nothing_about_the_clock():
    assert "clock_fault" not in find(host=[call("a", 0), call("b", 50), call("c", 2 * HOUR_NS)])


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        pytest.param([launch(5, 11_001)], 1, id="before its launch"),
        pytest.param([launch(5, 11_000)], 0, id="within the error of the clocks"),
        pytest.param([launch(5, 9_000)], 0, id="after its launch"),
        pytest.param(
            [launch(5, 9_000, 9_000), launch(5, 12_000, kind="driver")], 0, id="driver call inside"
        ),
        pytest.param([launch(0, 12_000)], 0, id="zero is no correlation"),
        pytest.param([call("op", 12_000, correlation=5)], 0, id="not a launch"),
    ],
)
def test_device_before_launch(host, expected):
    device = [kernel("k", 10_000, correlation=host[0]["correlation"])]
    assert count(find(host=host, device=device), "device_before_launch") == expected


def test_device_before_launch_names_the_kernel():
    findings = find(host=[launch(5, 12_500)], device=[kernel("k", 10_000, correlation=5)])
    assert findings["device_before_launch"].example == "k starts 2500 ns before its launch"


@pytest.mark.parametrize(("rank", "expected"), [(None, 1), (0, 0), (3, 0)])
def test_rank_assumed(rank, expected):
    assert count(find(rank=rank), "rank_assumed") == expected


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        pytest.param([], 1, id="nothing"),
        pytest.param([kernel("step", 0, kind="annotation")], 1, id="annotations only"),
        pytest.param([kernel("copy", 0, kind="memcpy")], 0, id="a copy"),
    ],
)
def test_no_device_activity(device, expected):
    assert count(find(device=device), "no_device_activity") == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        pytest.param([], 1, id="nothing"),
        pytest.param([launch(5)], 1, id="runtime calls only"),
        pytest.param([call("aten::add", 0)], 0, id="an operator"),
    ],
)
def test_no_host_activity(host, expected):
    assert count(find(host=host), "no_host_activity") == expected


def test_a_record_window_that_ends_far_behind_the_events_is_told():
    mark = call("Record Window End", 10**15, 0, kind="instant")
    assert find(host=[call("op", 0), call("op", 100), mark])["window_end_fault"].count == 1


def test_a_record_window_that_ends_with_the_events_is_fine():
    mark = call("Record Window End", 200, 0, kind="instant")
    assert "window_end_fault" not in find(host=[call("op", 0), call("op", 100), mark])
