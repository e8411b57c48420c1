"""The answer in one sentence."""

from __future__ import annotations

from cases import DATA_LOADER, MAIN, STEP, C, K, O, R, host_event, read
from timesink.answers.analysis.report import headline
from timesink.model.findings import RunFinding
from timesink.rules import idle
from timesink.rules.efficiency import proven_findings
from timesink.rules.run_findings import find_all

LAUNCH = R(5, 5, c=1)


def test_device_work_and_the_costliest_part_with_its_advice():
    launch, kernel = R(390, 5, c=1), K("gemm", 400, 600, c=1)
    trace = read(STEP(1, 0, 1000), O(DATA_LOADER, 0, 300), launch, kernel)
    text = headline(trace)
    assert text == (
        "Mostly GPU-bound: the GPU is busy 60 % of the 1.00 ms step (one step recorded). Data "
        "loading takes 300 us "
        "of it. Biggest saving: raise num_workers of the DataLoader (about 300 us, 30 %)."
    )


def test_nothing_to_advise():
    trace = read(STEP(1, 0, 1000), O("train", 0, 1000), LAUNCH, K("gemm", 10, 990, c=1))
    assert headline(trace) == (
        "GPU-bound: the GPU is busy 99 % of the 1.00 ms step (one step recorded)."
    )


def test_copies_and_their_advice():
    copies = [C(600, 300, c=2)]
    trace = read(STEP(1, 0, 1000), O("train", 0, 1000), LAUNCH, K("gemm", 10, 590, c=1), *copies)
    assert "Copies without computation take 300 us of it." in headline(trace)
    assert "pin the host memory with pin_memory=True (about 150 us, 15 %)" in headline(trace)


def test_without_marks_the_recording_is_meant():
    assert headline(read(O("mm", 0, 1000), LAUNCH, K("gemm", 5, 500, c=1))).startswith(
        "Host-bound: the GPU is busy 50 % of the recorded 1.00 ms. "
        "Host code takes 500 us of it while the device is idle. "
    )


def test_the_finding_that_saves_most():
    gpu = {"deviceProperties": [{"id": 0, "name": "NVIDIA", "computeMajor": 7}]}
    product = [O("aten::mm", 0, 1000), LAUNCH, K("volta_sgemm_128x64_nn", 10, 900, c=1)]
    text = headline(read(STEP(1, 0, 1000), *product, **gpu))
    assert text.startswith(
        "GPU-bound: the GPU is busy 90 % of the 1.00 ms step (one step recorded)."
    )
    assert text.endswith(
        "Biggest saving: use automatic mixed precision with torch.autocast (about 450 us, 45 %)."
    )


def test_nothing_beside_device_work():
    trace = read(STEP(1, 0, 1000), O("train", 0, 1000), R(0, 5, c=1), K("gemm", 0, 1000, c=1))
    assert headline(trace) == (
        "GPU-bound: the GPU is busy 100 % of the 1.00 ms step (one step recorded)."
    )


def test_time_between_steps():
    events = []
    for number in range(3):
        start = 10_000 * number
        events += [STEP(number, start, 2000), O("train", start, 2000), R(start, 5, c=number + 1)]
        events += [K("gemm", start + 5, 1995, c=number + 1)]
    text = headline(read(*events))
    assert text.startswith(
        "Host-bound: the GPU is busy 99.8 % of each 2.00 ms step. Between two steps, no device "
        "works for 8.00 ms (73 % of the time). Biggest saving: do what happens between steps less "
    )
    assert "(about 8.00 ms between two steps, " in text


def test_advice_on_what_was_found_elsewhere():
    talking, launch = O("gloo:all_reduce", 0, 800), R(850, 5, c=1)
    trace = read(STEP(1, 0, 1000), talking, launch, K("gemm", 900, 100, c=1))
    late = RunFinding("stragglers", "", "Look at rank3.", 1.0, title="rank3 is late", share=0.5)
    text = headline(trace, [*find_all(trace), late])
    assert "Rank3 is late. Look at rank3." not in text  # what saves more comes first
    assert headline(trace, [late, *find_all(trace)]).endswith(" Rank3 is late. Look at rank3.")


def test_the_host_alone():
    operators = (O(f"mm{place}", 100 * place, 100) for place in range(7))
    trace = read(STEP(1, 0, 1000), *operators, O(DATA_LOADER, 800, 10))
    assert headline(trace) == (
        "No device work was recorded. Of the 1.00 ms step (one step recorded), host code takes "
        "70 %, time outside of recorded calls 29 %, data loading 1.0 %."
    )


def test_runtime_calls_alone():
    call = host_event("Runtime", "cudaFuncGetAttributes", 5, 5, MAIN)
    assert headline(read(call)) == (
        "No device work was recorded. Of the recorded 5.00 us, runtime calls take 100 %. "
        "cudaFuncGetAttributes takes 5.00 us."
    )


def test_launches_without_a_device():
    assert headline(read(LAUNCH)).startswith(
        "No device work was recorded, but 1 launch call of kernels or graphs. Record the device"
    )


def test_communication_of_the_host_alone():
    text = headline(read(STEP(1, 0, 1000), O("mm", 0, 300), O("gloo:all_reduce", 300, 500)))
    assert text.startswith(
        "Communication-bound: exposed communication is 50 % of the 1.00 ms step (one step "
        "recorded). No device work was recorded."
    )


def test_a_run_that_only_communicates_or_copies_has_device_work():
    talks = headline(
        read(STEP(1, 0, 1000), R(90, 5, c=1), K("ncclDevKernel_AllReduce", 100, 800, c=1))
    )
    assert talks.startswith(
        "Communication-bound: exposed communication is 80 % of the 1.00 ms step"
    )
    copies = headline(read(STEP(1, 0, 1000), R(90, 5, c=2), C(100, 800, c=2)))
    assert copies.startswith("Copy-bound: copies are 80 % of the 1.00 ms step")


def test_device_work_outside_the_steps():
    text = headline(read(STEP(1, 0, 1000), O("mm", 0, 900), K("gemm", 5000, 100)))
    assert text.startswith("The GPU is idle in all of the 1.00 ms step")


def test_nothing_takes_time():
    assert headline(read(STEP(1, 5, 0))) == "Nothing in this recording takes time."
    nothing = "Nothing was recorded: no calls and no device work. Record while the program works."
    assert headline(read()) == nothing


def test_exposed_communication_of_the_gpu_is_the_bottleneck():
    reduction = [R(11, 5, c=3), K("ncclDevKernel_AllReduce", 350, 600, c=3)]
    trace = read(STEP(1, 0, 1000), LAUNCH, K("gemm", 10, 340, c=1), *reduction, C(950, 45, c=2))
    assert headline(trace).startswith(
        "Communication-bound: exposed communication is 60 % of the 1.00 ms step (one step"
    )


def test_gpu_work_holds_the_little_that_is_no_computation():
    trace = read(STEP(1, 0, 1000), LAUNCH, K("gemm", 10, 340, c=1), C(950, 1.5, c=2))
    assert headline(trace).startswith("The GPU is busy 34 % of the 1.00 ms step")


def test_communication_of_the_host_is_no_gpu_work():
    talking = O("gloo:all_reduce", 500, 400)
    text = headline(read(STEP(1, 0, 1000), LAUNCH, K("gemm", 10, 340, c=1), talking))
    assert text.startswith(
        "The GPU is busy 34 % of the 1.00 ms step (one step recorded). Exposed communication takes "
    )


def test_one_dominant_operator_is_the_headline():
    kernels = [R(910, 5, c=1), K("gemm", 920, 50, c=1)]
    trace = read(STEP(1, 0, 1000), O("aten::attention", 0, 800), O("aten::mm", 900, 30), *kernels)
    assert headline(trace, proven_findings(trace)).startswith(
        "Host-bound: the GPU is busy 5.0 % of the 1.00 ms step"
    )
    assert (
        "keep the shapes of aten::attention the same from step to step, or try another backend "
        "(at most 800 us, 80 %)." in headline(trace, proven_findings(trace))
    )


def test_the_operator_that_the_program_calls_is_named():
    inner = O("aten::_attention_forward", 1, 798)
    outer = [O("attention_block", 0, 802), O("aten::attention", 0, 800), inner]
    trace = read(STEP(1, 0, 1000), *outer, R(910, 5, c=1), K("gemm", 920, 50, c=1))
    assert "keep the shapes of attention() the same from step to step" in headline(
        trace, proven_findings(trace)
    )


def test_what_may_be_profiler_overhead_is_measured_first(monkeypatch):
    monkeypatch.setattr(idle, "may_be_overhead", lambda _, name: name == "aten::attention")
    kernels = [R(910, 5, c=1), K("gemm", 920, 50, c=1)]
    trace = read(STEP(1, 0, 1000), O("aten::attention", 0, 800), *kernels)
    assert headline(trace, proven_findings(trace)).endswith(
        " Next: time a step without a profiler (saving at most 800 us, 80 %): host time of "
        "aten::attention may be mostly profiler overhead."
    )


def test_runtime_calls_have_the_name_of_their_maker():
    kernels = [R(0, 400, c=1), K("gemm", 400, 600, c=1)]
    assert "CUDA runtime calls take 400 us of it" in headline(read(STEP(1, 0, 1000), *kernels))


def test_what_is_left_to_overlap_with_limits_the_saving():
    reduction = [R(11, 5, c=3), K("ncclDevKernel_AllReduce", 350, 600, c=3)]
    trace = read(STEP(1, 0, 1000), LAUNCH, K("gemm", 10, 340, c=1), *reduction, C(950, 45, c=2))
    assert headline(trace).endswith(" Only 340 us of computation is left to overlap it with.")
    (finding,) = [entry for entry in find_all(trace) if entry.rule == "exposed-communication"]
    assert finding.evidence[-1].numbers == {"left_us": 340.0}


def test_advice_is_about_the_largest_reason_and_the_call_behind_it_is_named():
    calls = [
        host_event("cuda_runtime", "cudaFree", 0, 140, MAIN),
        host_event("cuda_runtime", "cudaLaunchKernel", 150, 600, MAIN),
    ]
    text = headline(read(STEP(1, 0, 1000), *calls, O("aten::mm", 760, 140)))
    assert " cudaLaunchKernel takes 600 us a step. Advice: keep tensor sizes the same" in text


def test_a_device_that_the_critical_path_is_not_on_is_no_bottleneck():
    trace = read(STEP(1, 0, 1000), O("train", 0, 1000), LAUNCH, K("gemm", 10, 600, c=1))
    busy = "the GPU is busy 60 % of the 1.00 ms step (one step recorded)."
    assert headline(trace, ()).startswith(f"Mostly GPU-bound: {busy}")
    path = {"host": 900.0, "kernel": 100.0}
    assert headline(trace, (), path=path).startswith(f"T{busy[1:]}")
