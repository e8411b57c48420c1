"""The answer in one sentence."""

from __future__ import annotations

from cases import DATA_LOADER, MAIN, STEP, C, K, O, R, host_event, read
from timesink.answers.analysis.report import headline
from timesink.model.findings import Finding
from timesink.rules import find_all

LAUNCH = R(5, 5, c=1)


def test_device_work_and_the_costliest_part_with_its_advice():
    launch, kernel = R(390, 5, c=1), K("gemm", 400, 600, c=1)
    trace = read(STEP(1, 0, 1000), O(DATA_LOADER, 0, 300), launch, kernel)
    text = headline(trace)
    assert text.startswith(
        "60.0 % of the one recorded step of 1.00 ms is GPU work; data loading costs "
    )
    assert ": raise num_workers" in text


def test_nothing_to_advise():
    trace = read(STEP(1, 0, 1000), O("train", 0, 1000), LAUNCH, K("gemm", 10, 990, c=1))
    assert headline(trace) == (
        "99.0 % of the one recorded step of 1.00 ms is GPU work; "
        "runtime calls with an idle device cost 5.00 us."
    )


def test_copies_and_their_advice():
    copies = [C(600, 300, c=2)]
    trace = read(STEP(1, 0, 1000), O("train", 0, 1000), LAUNCH, K("gemm", 10, 590, c=1), *copies)
    assert "copies cost 300.0 us: pin the host memory" in headline(trace)


def test_without_marks_the_recording_is_meant():
    assert headline(read(O("mm", 0, 1000), K("gemm", 0, 500))).startswith(
        "50.0 % of the recorded 1.00 ms is GPU work"
    )


def test_another_finding_where_none_is_about_the_costliest_part():
    gpu = {"deviceProperties": [{"id": 0, "name": "NVIDIA", "computeMajor": 7}]}
    product = [O("aten::mm", 0, 1000), LAUNCH, K("volta_sgemm_128x64_nn", 10, 900, c=1)]
    text = headline(read(STEP(1, 0, 1000), *product, **gpu))
    assert "host code with an idle device costs 95.0 us. Gravest finding: Tensor cores" in text
    assert text.endswith("keep dimensions at multiples of 8.")


def test_nothing_beside_device_work():
    trace = read(STEP(1, 0, 1000), O("train", 0, 1000), K("gemm", 0, 1000))
    assert headline(trace) == "100.0 % of the one recorded step of 1.00 ms is GPU work."


def test_time_between_steps():
    events = []
    for number in range(3):
        start = 10_000 * number
        events += [STEP(number, start, 2000), O("train", start, 2000), R(start, 5, c=number + 1)]
        events += [K("gemm", start + 5, 1995, c=number + 1)]
    text = headline(read(*events))
    between = "; between two steps pass 8.00 ms without device work (72.7 % of the time): look at"
    assert between in text


def test_advice_on_what_was_found_elsewhere():
    talking, launch = O("gloo:all_reduce", 0, 800), R(850, 5, c=1)
    trace = read(STEP(1, 0, 1000), talking, launch, K("gemm", 900, 100, c=1))
    late = Finding("stragglers", "", "Look at rank3.", "rank3 is late", 0.5, 1.0)
    text = headline(trace, [*find_all(trace), late])
    assert text.endswith("800.0 us; rank3 is late. Look at rank3.")


def test_the_host_alone():
    operators = (O(f"mm{place}", 100 * place, 100) for place in range(7))
    trace = read(STEP(1, 0, 1000), *operators, O(DATA_LOADER, 800, 10))
    assert headline(trace) == (
        "No device work was recorded; of the one recorded step of 1.00 ms, 70.0 % is host code, "
        "29.0 % has no recorded activity and 1.0 % is data loading."
    )


def test_runtime_calls_alone():
    call = host_event("Runtime", "cudaFuncGetAttributes", 5, 5, MAIN)
    assert headline(read(call)) == (
        "No device work was recorded; of the recorded 5.00 us, 100.0 % is runtime calls; "
        "cudaFuncGetAttributes takes 5.00 us."
    )


def test_launches_without_a_device():
    assert headline(read(LAUNCH)).startswith(
        "No device work was recorded, but 1 launch call of kernels or graphs. Record the device"
    )


def test_communication_of_the_host_alone():
    text = headline(read(STEP(1, 0, 1000), O("mm", 0, 300), O("gloo:all_reduce", 300, 500)))
    assert "50.0 % is communication, 30.0 % is host code and 20.0 % has no" in text


def test_a_run_that_only_communicates_or_copies_has_device_work():
    talks = headline(read(STEP(1, 0, 1000), K("ncclDevKernel_AllReduce", 100, 800)))
    assert talks.startswith(
        "80.0 % of the one recorded step of 1.00 ms is communication, and no GPU computes"
    )
    copies = headline(read(STEP(1, 0, 1000), C(100, 800, c=2)))
    assert copies.startswith(
        "80.0 % of the one recorded step of 1.00 ms is copies, and no GPU computes"
    )


def test_device_work_outside_the_steps():
    text = headline(read(STEP(1, 0, 1000), O("mm", 0, 900), K("gemm", 5000, 100)))
    assert text.startswith("0.0 % of the one recorded step of 1.00 ms is GPU work; host code")


def test_nothing_takes_time():
    assert headline(read(STEP(1, 5, 0))) == "Nothing in this trace takes time."
    nothing = "Nothing was recorded: no calls and no device work. Record while the program works."
    assert headline(read()) == nothing


def test_gpu_work_is_everything_the_gpu_did_and_the_sentence_says_what():
    reduction = K("ncclDevKernel_AllReduce", 350, 600)
    trace = read(STEP(1, 0, 1000), LAUNCH, K("gemm", 10, 340, c=1), reduction, C(950, 45, c=2))
    assert headline(trace).startswith(
        "98.5 % of the one recorded step of 1.00 ms is GPU work "
        "(computation 34.0 %, communication 60.0 %, copies 4.5 %); communication that nothing "
    )


def test_gpu_work_holds_the_little_that_is_no_computation():
    trace = read(STEP(1, 0, 1000), LAUNCH, K("gemm", 10, 340, c=1), C(950, 1.5, c=2))
    assert headline(trace).startswith("34.1 % of the one recorded step of 1.00 ms is GPU work; ")


def test_communication_of_the_host_is_no_gpu_work():
    talking = O("gloo:all_reduce", 500, 400)
    text = headline(read(STEP(1, 0, 1000), LAUNCH, K("gemm", 10, 340, c=1), talking))
    assert text.startswith("34.0 % of the one recorded step of 1.00 ms is GPU work; communication")


def test_one_dominant_operator_is_the_headline():
    kernels = [R(910, 5, c=1), K("gemm", 920, 50, c=1)]
    trace = read(STEP(1, 0, 1000), O("aten::attention", 0, 800), O("aten::mm", 900, 30), *kernels)
    assert "aten::attention alone takes 800.0 us of it on the host: look at what" in headline(trace)


def test_advice_is_about_the_largest_reason_and_the_call_behind_it_is_named():
    calls = [
        host_event("cuda_runtime", "cudaFree", 0, 140, MAIN),
        host_event("cuda_runtime", "cudaLaunchKernel", 150, 600, MAIN),
    ]
    text = headline(read(STEP(1, 0, 1000), *calls, O("aten::mm", 760, 140)))
    assert "; cudaLaunchKernel takes 600.0 us a step. Gravest finding: Memory is reserved" in text
