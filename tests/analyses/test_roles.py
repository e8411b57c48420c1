"""Which time counts as what."""

from __future__ import annotations

import pytest
from hypothesis import given

import oracle
from builders import complete
from cases import DATA_LOADER, MAIN, OTHER, STEP, C, K, O, R, S, device_event, host_event, read
from recordings import Recording, recordings
from timesink.analyses.steps import is_communication, role_ranges
from timesink.model.trace import Trace


def ranges(trace: Trace) -> dict[str, list[list[float]]]:
    """When each role was active, in us; roles that never were are left out."""
    role_items = role_ranges(trace).items()
    return {role: (times / 1000).tolist() for role, times in role_items if len(times)}


def note(name: str, ts: int, dur: int, **args: int) -> dict:
    return host_event("user_annotation", name, ts, dur, MAIN, **args)


def test_every_sort_of_event():
    trace = read(
        STEP(1, 0, 500),
        O("aten::mm", 10, 20),
        O(DATA_LOADER, 40, 10),
        R(15, 5, c=1),
        K("gemm", 100, 50, c=1),
        C(200, 10, c=2),
        S(220, 5, c=3),
        O("nccl:all_reduce", 60, 10),
        K("ncclDevKernel_AllReduce_Sum", 300, 40, c=4),
    )
    assert ranges(trace) == {
        "kernel": [[100, 150]],
        "memcpy": [[200, 210]],
        "memset": [[220, 225]],
        "communication": [[60, 70], [300, 340]],
        "runtime": [[15, 20]],
        "data_loader": [[40, 50]],
        "cpu_exec": [[10, 30]],
    }


def test_threads_and_devices_are_pooled():
    on_host = [O("a", 0, 20), O("b", 10, 20, tid=OTHER)]
    on_devices = [K("gemm", 50, 10, c=1), K("gemm", 60, 10, c=2, device=1)]
    assert ranges(read(*on_host, *on_devices)) == {"cpu_exec": [[0, 30]], "kernel": [[50, 70]]}


def test_annotations_and_python_regions_are_host_code():
    trace = read(note("forward", 0, 10), host_event("Python", "train", 20, 10, MAIN))
    assert ranges(trace) == {"cpu_exec": [[0, 10], [20, 30]]}


def test_marks_on_the_device_are_neither_host_code_nor_kernels():
    assert ranges(read(complete("gpu_user_annotation", "forward", 0, 90, pid=0, tid=7))) == {}


def test_calls_that_cross_count_with_their_whole_length():
    assert ranges(read(O("a", 0, 20), O("b", 10, 20))) == {"cpu_exec": [[0, 30]]}


class TestCommunication:
    @pytest.mark.parametrize(
        "name", ["nccl:all_reduce", "nccl:_all_gather_base", "gloo:broadcast", "record_param_comms"]
    )
    def test_kernels_launched_by_a_collective_call(self, name: str):
        trace = read(O(name, 0, 20, x=1), R(5, 5, c=1, x=1), K("kernel", 40, 10, c=1, x=1))
        assert is_communication(trace).tolist() == [True]

    def test_kernels_that_carry_the_id_of_a_collective_call(self):
        trace = read(O("nccl:all_reduce", 0, 20, x=7), K("a", 40, 10, x=7), K("b", 60, 10, x=8))
        assert is_communication(trace).tolist() == [True, False]

    def test_kernels_launched_elsewhere_are_not_though_ids_repeat(self):
        trace = read(
            O("nccl:all_reduce", 0, 20, x=7),
            O("aten::mm", 30, 20, x=7),
            R(35, 5, c=1, x=7),
            K("gemm", 60, 10, c=1, x=7),
        )
        assert is_communication(trace).tolist() == [False]

    def test_an_id_of_zero_names_nothing(self):
        trace = read(O("nccl:all_reduce", 0, 20, x=0), K("gemm", 40, 10, x=0))
        assert is_communication(trace).tolist() == [False]

    def test_copies_of_a_collective_call_count_but_memsets_do_not(self):
        trace = read(O("gloo:all_reduce", 0, 20, x=7), C(40, 10, c=0, x=7), S(60, 10, c=0, x=7))
        assert ranges(trace) == {"communication": [[0, 20], [40, 50]], "memset": [[60, 70]]}

    def test_copies_with_such_a_name_are_copies(self):
        copy = device_event("Memcpy", "all_gather buffer", 0, 10, c=1, x=None, device=0)
        assert ranges(read(copy)) == {"memcpy": [[0, 10]]}


@given(recordings())
def test_ranges_are_as_the_oracle_says(recording: Recording):
    trace = recording.trace
    expected = oracle.moments(trace)
    for role, times in role_ranges(trace).items():
        assert {ns for start, end in times.tolist() for ns in range(start, end)} == expected[role]
