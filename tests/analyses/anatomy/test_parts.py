"""The time of cycles split into parts that add up."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from behaviours import Row, activity, both, call, cycles_at, samples, trace_of_rows
from timelines import patient, random_traces
from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.analyses.behaviour.recorded_anatomy import anatomies
from timesink.analyses.kernels.families import load_families
from timesink.model.trace import Trace

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def mark(ts: int, dur: int) -> Row:
    return call("step", ts, dur, "annotation")


def parts_of(trace: Trace, *spans: tuple[int, int], **how: Any) -> dict[str, float]:
    """Time of each part over all cycles of the only process."""
    (anatomy,) = anatomies(trace, cycles_at(*spans, **how)).values()
    assert_adds_up(anatomy)
    summed = anatomy.parts.group_by("part", "family").agg(pl.col("dur_ns").sum())
    names = (
        (part if family is None else f"{part}/{family}", time)
        for part, family, time in summed.iter_rows()
    )
    return dict(names)


def assert_adds_up(anatomy: Anatomy) -> None:
    sums = anatomy.parts.group_by("cycle").agg(pl.col("dur_ns").sum()).sort("cycle")
    assert sums["cycle"].to_list() == anatomy.cycles["cycle"].to_list()
    assert sums["dur_ns"].to_list() == anatomy.cycles["dur_ns"].to_list()
    assert (anatomy.parts["dur_ns"] > 0).all()


# -- what counts for what --------------------------------------------------------------------------


def test_device_work_comes_first_and_kernels_before_all_else() -> None:
    device = [
        activity("sgemm", 10, 10),
        activity(NCCL, 15, 10),
        activity("Memcpy HtoD", 23, 5, "memcpy"),
    ]
    host = [mark(0, 100), call("aten::mm", 0, 60)]
    assert parts_of(trace_of_rows(host, device), (0, 100)) == {
        "device_compute/gemm": 10,
        "exposed_communication": 5,
        "copies": 3,
        "host_cpu": 42,
        "idle": 40,
    }


def test_of_kernels_at_the_same_time_the_one_that_started_first_counts() -> None:
    device = [
        activity("softmax_kernel", 5, 20, stream="8"),
        activity("sgemm", 0, 10),
        activity("sgemm", 12, 3),
    ]
    assert parts_of(trace_of_rows([], device), (0, 30), on_device=True) == {
        "device_compute/gemm": 10,
        "device_compute/softmax": 15,
        "idle": 5,
    }


def test_host_parts_in_their_order() -> None:
    host = [
        mark(0, 100),
        call(LOADER, 0, 10, "annotation"),
        call("aten::mm", 20, 20),
        call("cudaLaunchKernel", 25, 5, "runtime"),
        call("cudaStreamSynchronize", 50, 20, "runtime"),
        call("read", 80, 4, "other"),
    ]
    assert parts_of(trace_of_rows(host, [activity("sgemm", 50, 5)]), (0, 100)) == {
        "device_compute/gemm": 5,
        "data_loading": 10,
        "host_cpu": 15,
        "launch_gap": 5,
        "synchronisation": 15,
        "io": 4,
        "idle": 46,
    }


def test_calls_around_the_cycle_and_waits_are_no_work() -> None:
    host = [
        mark(10, 100),
        call("train.py(3): main", 0, 500, "python_function"),
        call("train.py(9): step", 20, 50, "python_function"),
        call("<built-in function sleep>", 30, 30, "python_function"),
    ]
    assert parts_of(trace_of_rows(host), (10, 110)) == {"host_cpu": 20, "idle": 80}


def test_a_thread_that_works_in_the_stead_of_the_own_one_leaves_no_gap() -> None:
    host = [
        mark(0, 100),
        call("aten::mm", 0, 50),
        call("backward.py(1): backward", 50, 50, "python_function"),
        call("MmBackward0", 50, 40, tid="2"),
        call("cudaLaunchKernel", 60, 10, "runtime", tid="2"),
        call("aten::copy_", 0, 100, tid="3"),
    ]
    assert parts_of(trace_of_rows(host), (0, 100)) == {"host_cpu": 90, "launch_gap": 10}


def test_cycles_of_the_device_alone_are_idle_between_kernels() -> None:
    device = [activity("sgemm", 0, 10), activity("sgemm", 50, 10)]
    parts = parts_of(trace_of_rows([], device), (0, 50), (50, 80), on_device=True)
    assert parts == {"device_compute/gemm": 20, "idle": 60}


def test_cycles_of_the_device_know_what_any_thread_of_the_host_does() -> None:
    host = [
        call("cudaDeviceSynchronize", 0, 90, "runtime"),
        call("serve.py(1): loop", 0, 100, "python_function"),
    ]
    parts = parts_of(
        trace_of_rows(host, [activity("sgemm", 0, 10)]), (0, 50), (50, 100), on_device=True
    )
    assert parts == {"device_compute/gemm": 10, "synchronisation": 80, "idle": 10}


def test_collectives_of_the_processors_are_exposed_where_the_own_thread_does_not_work() -> None:
    host = [
        mark(0, 100),
        call("aten::mm", 0, 50),
        call("gloo:all_reduce", 20, 60, "annotation", tid="2"),
        call("nccl:all_reduce", 90, 5, "annotation"),
    ]
    parts = parts_of(trace_of_rows(host), (0, 100))
    assert parts == {"host_cpu": 55, "exposed_communication": 30, "idle": 15}


def test_processes_have_parts_of_their_own() -> None:
    host = [mark(0, 100), mark(0, 100) | {"pid": "2"}, call("aten::mm", 0, 30) | {"pid": "2"}]
    by_process = anatomies(
        trace_of_rows(host), both(cycles_at((0, 100)), cycles_at((0, 50), pid="2"))
    )
    first, two = (by_process[pid].parts.select("part", "dur_ns").rows() for pid in ("1", "2"))
    assert first == [("idle", 100.0)]
    assert two == [("host_cpu", 30.0), ("idle", 20.0)]


# -- waiting for a processor -----------------------------------------------------------------------


HALF_QUEUED = samples("process_runq_wait_pct", {0: 50.0, 50: 50.0, 100: 50.0}, "Host")


def test_waits_for_a_processor_fall_into_the_time_in_which_the_thread_could_run() -> None:
    host = [mark(0, 100), call("aten::mm", 0, 40), call("cudaStreamSynchronize", 40, 20, "runtime")]
    assert parts_of(trace_of_rows(host, [], HALF_QUEUED), (0, 100)) == {
        "synchronisation": 20,
        "run_queue": 50,
        "host_cpu": 15,
        "idle": 15,
    }


def test_waits_for_a_processor_while_the_device_works_cost_nothing() -> None:
    host = [mark(0, 100), call("aten::mm", 0, 50), call("aten::mm", 50, 50)]
    parts = parts_of(trace_of_rows(host, [activity("sgemm", 0, 80)], HALF_QUEUED), (0, 100))
    assert parts == {"device_compute/gemm": 80, "run_queue": 10, "host_cpu": 10}


def test_a_thread_that_waits_for_the_device_is_in_no_queue_meanwhile() -> None:
    wait = call("cudaStreamSynchronize", 0, 80, "runtime")
    host, device = [mark(0, 100), wait, call("aten::mm", 80, 20)], [activity("sgemm", 0, 80)]
    parts = parts_of(trace_of_rows(host, device, HALF_QUEUED), (0, 100))
    assert parts == {"device_compute/gemm": 80, "run_queue": 20}


def test_a_sleep_is_no_wait_for_a_processor() -> None:
    host = [mark(0, 100), call("<built-in function sleep>", 0, 50, "other")]
    assert parts_of(trace_of_rows(host, [], HALF_QUEUED), (0, 100)) == {"run_queue": 50, "idle": 50}


def test_events_of_the_scheduler_are_believed_before_counters() -> None:
    host = [mark(0, 100), call("runq", 10, 5, "other"), call("oncpu_3", 50, 30, "other")]
    parts = parts_of(trace_of_rows(host, [], HALF_QUEUED), (0, 100))
    assert parts == {"run_queue": 5, "host_cpu": 30, "idle": 65}


# -- properties ------------------------------------------------------------------------------------

_TIMES = {"ts_ns": st.integers(0, 40), "dur_ns": st.integers(0, 15)}
_calls = st.builds(
    lambda what, ts_ns, dur_ns: call(what[0], ts_ns, dur_ns, what[1]),
    st.sampled_from(
        [
            ("aten::mm", "operator"),
            ("cudaLaunchKernel", "runtime"),
            ("cudaStreamSynchronize", "runtime"),
            (LOADER, "annotation"),
            ("read", "other"),
        ]
    ),
    **_TIMES,
)
_activities = st.builds(
    lambda what, ts_ns, dur_ns: activity(what[0], ts_ns, dur_ns, what[1]),
    st.sampled_from(
        [("sgemm", "kernel"), ("softmax", "kernel"), (NCCL, "kernel"), ("Memcpy", "memcpy")]
    ),
    **_TIMES,
)
_HOST_PARTS = {
    "cudaStreamSynchronize": "synchronisation",
    LOADER: "data_loading",
    "read": "io",
    "cudaLaunchKernel": "launch_gap",
    "aten::mm": "host_cpu",
}


def part_of_moment(host: list[Row], device: list[Row], moment: int) -> str:
    """By the definition, one moment at a time."""
    now = [row for row in device if row["ts_ns"] <= moment < row["ts_ns"] + row["dur_ns"]]
    kernels = [row for row in now if row["name"] in {"sgemm", "softmax"}]
    if kernels:
        first = min(kernels, key=lambda row: row["ts_ns"])
        return f"device_compute/{load_families().of(first['name'])}"
    for name, part in ((NCCL, "exposed_communication"), ("Memcpy", "copies")):
        if any(row["name"] == name for row in now):
            return part
    active = {row["name"] for row in host if row["ts_ns"] <= moment < row["ts_ns"] + row["dur_ns"]}
    return next((part for name, part in _HOST_PARTS.items() if name in active), "idle")


def _distinct(rows: list[Row]) -> bool:
    """Whether no two start at once: then it is no matter of choice which came first."""
    return len({row["ts_ns"] for row in rows}) == len(rows)


@patient
@given(
    st.lists(_calls, max_size=6),
    st.lists(_activities, max_size=6).filter(_distinct),
)
def test_every_moment_counts_for_the_part_of_its_definition(
    host: list[Row], device: list[Row]
) -> None:
    spans = [(0, 20), (20, 38), (42, 60)]
    marks = [mark(start, end - start) for start, end in spans]
    expected: dict[str, float] = {}
    for span in spans:
        for moment in range(*span):
            part = part_of_moment(host, device, moment)
            expected[part] = expected.get(part, 0.0) + 1
    assert parts_of(trace_of_rows([*marks, *host], device), *spans) == expected


@patient
@given(random_traces, st.booleans(), st.floats(0, 150))
def test_parts_always_add_up(trace: Trace, on_device: bool, queued: float) -> None:  # noqa: FBT001
    counters = trace_of_rows(
        [], [], samples("process_runq_wait_pct", {0: queued, 30: queued}, "Host")
    )
    full = Trace(trace.metadata, (), {**trace.frames, "counters": counters.lazy("counters")})
    cycles = cycles_at((0, 20), (20, 20), (15, 45), (50, 90), on_device=on_device)
    for anatomy in anatomies(full, cycles).values():
        assert_adds_up(anatomy)


def test_no_cycles_no_parts() -> None:
    assert anatomies(trace_of_rows(), cycles_at()) == {}
    (nothing,) = anatomies(trace_of_rows(), cycles_at((5, 5))).values()
    assert nothing.parts.is_empty()
    assert nothing.cycles.is_empty()
