"""The answer in one sentence."""

from __future__ import annotations

from cases import DATA_LOADER, STEP, C, K, O, R, read
from timesink.reports.headline import headline

LAUNCH = R(5, 5, c=1)


def test_device_work_and_the_costliest_part_with_its_advice():
    trace = read(STEP(1, 0, 1000), O(DATA_LOADER, 0, 300), LAUNCH, K("gemm", 400, 600, c=1))
    told = headline(trace)
    assert told.startswith("60.0 % of each 1.00 ms step is GPU work; data loading costs ")
    assert ": raise num_workers" in told


def test_nothing_to_advise():
    trace = read(STEP(1, 0, 1000), O("train", 0, 1000), LAUNCH, K("gemm", 10, 990, c=1))
    assert headline(trace) == (
        "99.0 % of each 1.00 ms step is GPU work; runtime calls with an idle device cost 5.00 us."
    )


def test_another_finding_where_none_is_about_the_costliest_part():
    copies = [C(600, 300, c=2)]
    trace = read(STEP(1, 0, 1000), O("train", 0, 1000), LAUNCH, K("gemm", 10, 590, c=1), *copies)
    assert "copies cost 300.0 us: pin the host memory" in headline(trace)


def test_without_marks_the_recording_is_meant():
    assert headline(read(O("mm", 0, 1000), K("gemm", 0, 500))).startswith(
        "50.0 % of the recorded 1.00 ms is GPU work"
    )


def test_the_host_alone():
    trace = read(STEP(1, 0, 1000), O("mm", 0, 700), O(DATA_LOADER, 800, 10))
    assert headline(trace).startswith(
        "No device work was recorded; of each 1.00 ms step, 70.0 % is host code "
        "and 1.0 % data loading"
    )


def test_communication_of_the_host_alone():
    told = headline(read(STEP(1, 0, 1000), O("mm", 0, 300), O("gloo:all_reduce", 300, 500)))
    assert "30.0 % is host code, 0.0 % data loading and 50.0 % communication" in told


def test_collectives_are_device_work():
    trace = read(STEP(1, 0, 1000), K("ncclDevKernel_AllReduce", 100, 800))
    assert "communication that nothing overlaps costs 800.0 us" in headline(trace)
    assert "No device work" not in headline(trace)


def test_nothing_takes_time():
    assert headline(read()) == headline(read(STEP(1, 5, 0))) == "Nothing in this trace takes time."
