"""What each sort of event becomes."""

from __future__ import annotations

import pytest

from answers import damage, rows, sizes
from builders import (
    HOST_PID,
    annotation,
    begin,
    complete,
    counter,
    end,
    flow,
    instant,
    kernel,
    kineto,
    lane_metadata,
    on_device,
    operator,
    process_labels,
    process_name,
    python_call,
    runtime,
    step,
    thread_name,
)

COLLECTIVE = {
    "Collective name": "allreduce",
    "dtype": "Float",
    "In msg nelems": 1024,
    "Out msg nelems": 1024,
    "In split size": "[]",
    "Out split size": "[]",
    "Group size": 8,
    "Process Group Name": "0",
    "Process Group Description": "default_pg",
    "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]",
    "Rank": 3,
    "Seq": 17,
}


# -- begin and end -------------------------------------------------------------------------------


def test_begin_and_end_become_slices_innermost_first(read):
    trace = read(kineto([begin("outer", 1), begin("inner", 2), end(5), end(9)]))
    assert rows(trace.host, "kind", "name", "ts_ns", "dur_ns") == [
        ("operator", "outer", 1000, 8000),
        ("operator", "inner", 2000, 3000),
    ]
    assert damage(trace) == {}


def test_begin_and_end_pair_by_time_within_their_lane(read):
    other = {"tid": 5}
    trace = read(
        kineto([end(9), begin("a", 1), begin("b", 2, **other), end(4, **other)]),
    )
    assert rows(trace.host, "name", "dur_ns") == [("a", 8000), ("b", 2000)]


def test_begins_and_ends_without_partner_are_reported(read):
    trace = read(kineto([end(1), begin("open", 2), operator("op", 1, 5)]))
    assert rows(trace.host, "name", "dur_ns") == [("open", 0), ("op", 5000)]
    assert damage(trace) == {"unpaired_begin_end": 2}


def test_begins_with_a_device_category_are_device_work(read):
    lane = {"pid": 0, "tid": 7}
    trace = read(kineto([begin("k", 1, cat="kernel", **lane), end(3, **lane)]))
    assert rows(trace.device, "kind", "name", "device", "stream", "dur_ns") == [
        ("kernel", "k", 0, "7", 2000)
    ]


def test_begins_with_an_unknown_category_are_reported(read):
    trace = read(kineto([begin("b", 1, cat="mystery"), end(3)]))
    assert rows(trace.host, "kind", "dur_ns") == [("other", 2000)]
    assert damage(trace) == {"unknown_category": 1}


# -- counters ------------------------------------------------------------------------------------


def test_counters_have_one_row_per_series(read):
    trace = read(
        kineto(
            [counter("GPU 0 Utilization", 5, busy=0.5), counter("power", 7, value=300, limit=700)]
        )
    )
    assert trace.counters.select("ts_ns", "counter", "device", "value", "source").rows() == [
        (5000, "GPU 0 Utilization", "0", 0.5, "trace"),
        (7000, "power", "0", 300.0, "trace"),
        (7000, "power limit", "0", 700.0, "trace"),
    ]


def test_counter_values_that_are_no_numbers_are_reported(read):
    trace = read(kineto([counter("power", 5, value="high"), counter("power", 6, value=1)]))
    assert trace.counters["value"].to_list() == [1.0]
    assert damage(trace) == {"bad_value": 1}


def test_profiler_ranges_are_slices_and_counters(read):
    metrics = {"smsp__inst_executed.sum": 12345, "sm__throughput": 0.75}
    trace = read(kineto([on_device("cuda_profiler_range", "range 1", 10, 5, **metrics)]))
    assert rows(trace.device, "kind", "name", "dur_ns") == [("profiler_range", "range 1", 5000)]
    assert trace.counters.select("ts_ns", "counter", "value", "source").rows() == [
        (10_000, "smsp__inst_executed.sum", 12345.0, "profiler_range"),
        (10_000, "sm__throughput", 0.75, "profiler_range"),
    ]


# -- arguments -----------------------------------------------------------------------------------


def test_arguments_of_collectives(read):
    trace = read(
        kineto(
            [
                operator("record_param_comms", 1, 5, **COLLECTIVE),
                runtime("cudaLaunchKernelExC", 2, 1, 9),
                kernel("ncclDevKernel_AllReduce", 4, 3, 9, **COLLECTIVE, **{"Comms Id": 77}),
            ]
        )
    )
    expected = {
        "index": 0,
        "collective": "allreduce",
        "dtype": "Float",
        "in_elements": 1024,
        "out_elements": 1024,
        "in_split": "[]",
        "out_split": "[]",
        "group_size": 8,
        "group_name": "0",
        "group_description": "default_pg",
        "group_ranks": "[0, 1, 2, 3, 4, 5, 6, 7]",
        "rank": 3,
        "src_rank": None,
        "dst_rank": None,
        "sequence": 17,
        "comms_id": None,
    }
    assert trace.collectives.rows(named=True) == [
        expected,
        expected | {"index": 2, "comms_id": 77},
    ]
    assert sizes(trace)["event_args"] == 0


def test_rare_arguments_become_rows(read):
    triton = {"kernel_backend": "triton", "num_warps": 4, "grid": "grid(8,)"}
    sync = {"cuda_sync_kind": "Stream Wait Event", "wait_on_stream": 20}
    trace = read(
        kineto(
            [operator("triton_fused", 1, 2, **triton), on_device("cuda_sync", "sync", 3, 4, **sync)]
        )
    )
    assert trace.event_args.rows() == [
        (0, "kernel_backend", "triton"),
        (0, "num_warps", "4"),
        (0, "grid", "grid(8,)"),
        (1, "cuda_sync_kind", "Stream Wait Event"),
        (1, "wait_on_stream", "20"),
    ]


def test_a_strange_argument_does_not_change_what_other_events_keep(read):
    """One textual number sends its group down the forgiving path; the tables must not show it."""
    task = {"Task Type": "AI_CORE", "Model Id": 1, "Task Id": 2}
    plain = [kernel("a", 1, 2, 3, **task), kernel("b", 4, 1, 5)]
    strange = [kernel("a", 1, 2, 3, **task), kernel("b", 4, 1, "5")]
    assert read(kineto(plain)).event_args.rows() == read(kineto(strange)).event_args.rows()


def test_operator_arguments(read):
    arguments = {
        "External id": 3,
        "Sequence number": 21,
        "Fwd thread id": 1,
        "Input Dims": [[8, 16], []],
        "Input type": ["float", "Scalar"],
        "Input Strides": [[16, 1], []],
        "Concrete Inputs": ["", "1"],
        "flops": 256,
        "Call stack": "train.py(3): step;train.py(9): <module>",
        "Module Hierarchy": "Net.fc",
    }
    host = read(kineto([operator("aten::mm", 1, 2, **arguments)])).host
    columns = host.select("external_id", "sequence_number", "fwd_thread_id", "^input_.*$", "^c.*s$")
    assert columns.row(0, named=True) == {
        "external_id": 3,
        "sequence_number": 21,
        "fwd_thread_id": 1,
        "input_dims": "[[8, 16], []]",
        "input_types": '["float", "Scalar"]',
        "input_strides": "[[16, 1], []]",
        "concrete_inputs": '["", "1"]',
    }
    assert host["flop"][0] == 256
    assert host["call_stack"][0] == "train.py(3): step;train.py(9): <module>"
    assert host["module_hierarchy"][0] == "Net.fc"


def test_python_calls_and_modules(read):
    trace = read(
        kineto(
            [
                python_call(
                    "train.py(1): main", 1, 9, **{"Python id": 1, "Python parent id": None}
                ),
                python_call(
                    "nn.Module: Linear_0",
                    2,
                    3,
                    **{"Python id": 2, "Python parent id": 1, "Python module id": 0},
                ),
            ]
        )
    )
    ids = ("python_id", "python_parent_id", "python_module_id")
    assert rows(trace.host, "kind", *ids) == [
        ("python_function", 1, None, None),
        ("module", 2, 1, 0),
    ]


@pytest.mark.parametrize("number", ["11", "0xb", 11.0])
def test_numbers_written_as_text_are_numbers(read, number):
    trace = read(kineto([runtime("cudaLaunchKernel", 1, 2, number), kernel("k", 4, 1, number)]))
    assert trace.host["correlation"].to_list() == [11]
    assert trace.device["correlation"].to_list() == [11]


@pytest.mark.parametrize("value", ["many", [1], {"a": 1}, True, 10**30])
def test_arguments_of_other_types_are_reported_and_missing(read, value):
    trace = read(kineto([kernel("k", 1, 2, 3, **{"registers per thread": value})]))
    assert trace.device.select("registers_per_thread", "correlation").row(0) == (None, 3)
    assert damage(trace) == {"bad_value": 1}


@pytest.mark.parametrize("value", ["abc", -1, 10**20])
def test_strange_device_numbers_are_reported_and_replaced_by_the_lane(read, value):
    trace = read(kineto([kernel("k", 1, 2, 3, device=0) | {"args": {"device": value}}]))
    assert trace.device["device"].to_list() == [0]
    assert damage(trace) == {"bad_value": 1}


def test_geometry_beyond_64_bits_is_missing(read):
    trace = read(kineto([kernel("k", 1, 2, 3, grid=[10**30, 2, 1])]))
    assert trace.device.select("grid_x", "grid_y", "grid_z").row(0) == (None, 2, 1)


@pytest.mark.parametrize("args", [None, [], 5, "text"])
def test_arguments_that_are_no_object_cost_only_themselves(read, args):
    events = [kernel("k", 1, 2, 3), operator("op", 1, 2) | {"args": args}]
    trace = read(kineto(events))
    assert sizes(trace)["host"] == sizes(trace)["device"] == 1
    assert damage(trace) == {"bad_value": 1}


# -- lanes, steps, marks -------------------------------------------------------------------------


def test_names_of_lanes(read):
    trace = read(
        kineto(
            [
                process_name(HOST_PID, "python"),
                process_labels(HOST_PID, "CPU"),
                lane_metadata("process_sort_index", HOST_PID, 0, sort_index=5),
                thread_name(HOST_PID, 7, "main"),
                lane_metadata("thread_sort_index", HOST_PID, 7, sort_index=2),
            ]
        )
    )
    assert trace.tracks.rows() == [
        ("4242", None, "python", "CPU", 5),
        ("4242", "7", "main", None, 2),
    ]


def test_steps_are_the_marks_of_the_host(read):
    twin = complete("gpu_user_annotation", "ProfilerStep#3", 25, 9, pid=0, tid=7)
    trace = read(kineto([step(10, 30, 5), step(9, 20, 5), twin, annotation("warmup", 1, 2)]))
    assert trace.steps.select("step", "ts_ns", "dur_ns", "index").rows() == [
        (9, 20_000, 5_000, 1),
        (10, 30_000, 5_000, 0),
    ]


def test_instants_are_marks_without_length(read):
    trace = read(kineto([instant("Iteration Start: PyTorch Profiler", 3)]))
    assert rows(trace.host, "kind", "ts_ns", "dur_ns") == [("instant", 3000, 0)]


def test_flows_of_either_kind(read):
    trace = read(
        kineto(
            [flow("s", 1, 1), flow("t", 1, 2), flow("f", 1, 3), flow("s", 9, 4, category="fwdbwd")]
        )
    )
    assert rows(trace.flows, "kind", "phase", "ts_ns") == [
        ("launch", "start", 1000),
        ("launch", "step", 2000),
        ("launch", "end", 3000),
        ("forward_backward", "start", 4000),
    ]


def test_both_ends_of_a_flow_have_one_id_however_it_is_written(read):
    flows = read(
        kineto([flow("s", 7, 1), flow("f", "7", 2), flow("s", "0x1f", 3), flow("f", "0x1f", 4)])
    ).flows
    first, second, third, fourth = flows.sort("index")["flow_id"].to_list()
    assert first == second
    assert third == fourth
    assert first != third


def test_phases_are_counted(read):
    trace = read(kineto([flow("s", 1, 1), operator("op", 1, 2), operator("op", 4, 2)]))
    assert trace.metadata.phases == {"s": 1, "X": 2}


def test_phases_that_are_not_modelled_are_reported(read):
    unknown = {"ph": "N", "name": "object", "pid": 1, "tid": 1, "ts": 5, "id": "0x1"}
    trace = read(kineto([unknown, operator("op", 1, 2)]))
    assert damage(trace) == {"unknown_phase": 1}
    assert trace.metadata.events == 2
    assert sizes(trace)["host"] == 1
