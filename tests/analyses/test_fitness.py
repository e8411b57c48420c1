"""The verdict on a recording: what shows that it cannot answer a question, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from cases import MAIN, PID, STEP, C, K, O, R, host_event, read
from timesink.analyses.cycles.search import find_cycles
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.steps import find_steps, within_steps
from timesink.answers.analysis.headline import headline
from timesink.errors import NoCyclesError
from timesink.model.fitness import COMPARISON, CRITICAL_PATH, IDLE, OVERHEAD, STEP_TIME, Reason
from timesink.model.trace import Trace

VLLM = "graphs/vllm_decode_full/graph_execution.json.gz"
CAPTURE = "graphs/sglang_decode/capture_traces/bs_32_rank0.json.gz"


def call(name: str, ts: int, dur: int, *, c: int = 0) -> dict:
    return host_event("Runtime", name, ts, dur, MAIN, correlation=c)


def codes(trace: Trace) -> list[str]:
    return [reason.code for reason in recording_fitness(trace).reasons]


def work(start: int, count: int, *, first: int = 1, late: int = 10, gap: int = 100) -> list[dict]:
    """So many launches, one each `gap` us, whose kernels start `late` us after them."""
    return [
        event
        for place in range(count)
        for ts in [start + gap * place]
        for event in (
            R(ts, 5, c=first + place),
            K("gemm", ts + late, gap - 20, c=first + place),
        )
    ]


def training_events(steps: int = 3, *, kernels_per_step: int = 20) -> list[dict]:
    """Marked steps, the device is busy for most of each."""
    marks = [STEP(number, 3000 * number, 2900) for number in range(steps)]
    return [
        *marks,
        *(
            event
            for number in range(steps)
            for event in work(
                3000 * number + 10, kernels_per_step, first=1 + kernels_per_step * number
            )
        ),
    ]


class TestFit:
    @pytest.mark.parametrize("steps", [1, 3])
    def test_a_training_run(self, steps: int):
        fitness = recording_fitness(read(*training_events(steps)))
        assert (fitness.fit, fitness.reasons) == ("yes", ())

    def test_a_program_of_the_host_alone(self):
        assert recording_fitness(read(STEP(1, 0, 900), O("aten::mm", 10, 500))).fit == "yes"

    def test_a_wait_for_work_that_is_recorded(self):
        wait = call("cudaDeviceSynchronize", 20, 9000)
        trace = read(O("f", 0, 9100), R(5, 5, c=1), K("gemm", 15, 8990, c=1), wait)
        assert codes(trace) == []

    def test_a_queue_that_is_long_while_the_device_works(self):
        """A host that runs ahead: launches come long before their work, and the device is busy."""
        launches = [R(10 * place, 5, c=1 + place) for place in range(50)]
        kernels = [K("gemm", 20 + 1000 * place, 1000, c=1 + place) for place in range(50)]
        assert codes(read(O("f", 0, 600), *launches, *kernels)) == []


def instant(name: str) -> dict:
    return {"ph": "i", "name": name, "pid": PID, "tid": MAIN, "ts": 5, "s": "g"}


class TestNothing:
    @pytest.mark.parametrize("events", [(), (instant("Iteration Start: PyTorch Profiler"),)])
    def test_it_answers_nothing(self, events: tuple[dict, ...]):
        fitness = recording_fitness(read(*events))
        assert (fitness.fit, [reason.code for reason in fitness.reasons]) == (
            "no",
            ["nothing_recorded"],
        )
        assert "profiler.step()" in fitness.reasons[0].record

    @pytest.mark.parametrize("event", [STEP(1, 0, 900), O("f", 0, 900), K("gemm", 0, 9, c=1)])
    def test_one_that_takes_time_is_something(self, event: dict):
        assert "nothing_recorded" not in codes(read(event))

    def test_no_cycles_because_there_is_nothing(self):
        with pytest.raises(NoCyclesError, match="Nothing was recorded"):
            find_cycles(read())


class TestStartsWithBacklog:
    def test_the_window_begins_with_the_first_work(self, shared_root: Path):
        trace = timesink.open(shared_root / "data" / VLLM)
        (step,) = find_steps(trace).to_dicts()
        assert step["start_ns"] == trace.device["ts_ns"].min()
        assert (step["end_ns"] - step["start_ns"]) / 1e6 == pytest.approx(10.74, abs=0.01)

    def test_every_launch_long_before_its_work(self):
        trace = read(O("f", 0, 5000), *work(0, 40, late=150_000))
        assert codes(trace) == ["starts_with_backlog"]

    def test_work_of_before_that_is_recorded_is_no_backlog(self):
        before = K("older", 0, 150_000, c=999)
        trace = read(O("f", 0, 5000), *work(0, 40, late=150_000), before)
        assert "starts_with_backlog" not in codes(trace)

    def test_some_microseconds_are_a_launch(self):
        assert codes(read(O("f", 0, 5000), *work(0, 40, late=150))) == []

    def test_in_marked_steps_it_counts_by_its_share(self):
        late = [R(10, 5, c=900), K("first", 2800, 50, c=900)]
        short = read(STEP(0, 0, 2900), *late, *training_events(30)[1:])
        assert codes(short) == []
        (reason,) = recording_fitness(read(STEP(0, 0, 2900), *late)).reasons
        assert (reason.code, STEP_TIME in reason.denies) == ("starts_with_backlog", False)


class TestWorkNotRecorded:
    @pytest.mark.parametrize("queued", [False, True])
    def test_whether_or_not_a_copy_is_queued_meanwhile(self, queued: bool):  # noqa: FBT001
        wait = call("cudaStreamSynchronize", 100, 50_000)
        first = [R(2, 5, c=1), K("gemm", 10, 80, c=1)]
        copy = [R(90, 5, c=2), C(50_050, 20, c=2)] if queued else []
        assert codes(read(STEP(1, 0, 51_000), *first, *copy, wait)) == ["work_not_recorded"]

    def test_another_thread_may_wait(self):
        idle = host_event("Runtime", "cudaStreamSynchronize", 100, 2500, "77", correlation=0)
        assert codes(read(*training_events(1), idle)) == []

    def test_launches_without_work(self):
        lost = [R(5 + 100 * place, 3, c=500 + place) for place in range(5)]
        (reason,) = recording_fitness(read(*training_events(1), *lost)).reasons
        assert (reason.code, reason.evidence["lost_launches"]) == ("work_not_recorded", 5)
        assert not {IDLE, COMPARISON} - set(reason.denies)

    def test_one_launch_of_many_is_the_end_of_the_recording(self):
        assert codes(read(*training_events(3), R(8890, 5, c=999))) == []

    @pytest.mark.parametrize("count", [1, 4])
    def test_replays_of_graphs_without_work(self, count: int):
        lost = [
            call("cudaGraphLaunch", 2200 + 9 * place, 5, c=800 + place) for place in range(count)
        ]
        assert codes(read(*training_events(1), *lost)) == ["work_not_recorded"]

    def test_a_driver_call_inside_a_runtime_call(self):
        inner = [
            host_event(
                "cuda_driver", "cuLaunchKernel", 11 + 100 * place, 2, MAIN, correlation=700 + place
            )
            for place in range(20)
        ]
        assert codes(read(*training_events(1), *inner)) == []

    def test_nothing_of_the_device(self):
        fitness = recording_fitness(read(O("f", 0, 900), R(10, 5, c=1), R(20, 5, c=2)))
        assert fitness.fit == "no"
        assert (
            "No device work was recorded, but 2 launch calls of kernels"
            in fitness.reasons[0].sentence
        )

    def test_a_capture_runs_nothing(self, shared_root: Path):
        begin, end = call("cudaStreamBeginCapture", 50, 2), call("cudaStreamEndCapture", 400, 2)
        captured = [R(60 + 10 * place, 3, c=500 + place) for place in range(9)]
        assert codes(read(*training_events(1), begin, *captured, end)) == []
        assert codes(timesink.open(shared_root / "data" / CAPTURE)) == ["captures_graphs"]


class TestHostNotRecorded:
    def test_the_device_goes_on_after_the_host(self):
        later = [K("gemm", 3000 + 100 * place, 90, c=900 + place) for place in range(10)]
        (reason,) = recording_fitness(read(*training_events(1), *later)).reasons
        assert (reason.code, STEP_TIME in reason.denies) == ("host_not_recorded", True)

    def test_the_device_alone(self):
        trace = read(K("gemm", 0, 100, c=1), K("gemm", 150, 100, c=2))
        (reason,) = recording_fitness(trace).reasons
        assert (reason.code, reason.denies) == ("host_not_recorded", (CRITICAL_PATH, OVERHEAD))

    def test_most_work_without_a_launch(self):
        foreign = [K("other", 20 + 50 * place, 45, c=700 + place) for place in range(20)]
        trace = read(STEP(1, 0, 1200), *foreign, R(1020, 5, c=1), K("own", 1030, 20, c=1))
        assert codes(trace) == ["launches_not_recorded"]


class TestClocks:
    def test_work_before_its_launch(self):
        (reason,) = recording_fitness(read(STEP(0, 0, 2900), *work(400, 20, late=-300))).reasons
        assert reason.code == "clocks_do_not_fit"
        assert reason.evidence["apart_us"] == 300
        assert CRITICAL_PATH in reason.denies

    def test_a_device_whose_clock_is_late_has_no_backlog(self):
        wait = call("cudaDeviceSynchronize", 2100, 50)
        assert codes(read(O("f", 0, 2200), *work(0, 20, late=50_000), wait)) == [
            "clocks_do_not_fit"
        ]

    @pytest.mark.parametrize(("late", "expected_codes"), [(8, []), (300, ["clocks_do_not_fit"])])
    def test_work_that_ends_after_a_wait_for_all_of_it(self, late: int, expected_codes: list[str]):
        wait = call("hipDeviceSynchronize", 2100, 400)
        work_of_wait = [R(2000, 5, c=900), K("gemm", 2010, 490 + late, c=900)]
        assert codes(read(STEP(0, 0, 2900), *work(10, 19), *work_of_wait, wait)) == expected_codes

    def test_the_skew_of_clocks_that_are_corrected(self):
        assert codes(read(STEP(0, 0, 2900), *work(400, 20, late=-15))) == []


class TestWindow:
    def test_mostly_before_the_first_work(self):
        trace = read(O("setup", 0, 100), *work(900_000, 50), O("f", 900_000, 5000))
        assert codes(trace) == ["idle_window"]

    def test_a_host_that_works_meanwhile(self):
        trace = read(O("setup", 0, 890_000), *work(900_000, 50), O("f", 900_000, 5000))
        assert codes(trace) == []

    def test_what_a_step_holds_is_of_the_program(self):
        assert codes(read(STEP(1, 0, 906_000), *work(900_000, 50))) == []


def lost_after(start: int, count: int, many: int = 16) -> list[dict]:
    """Launches without device work that follow so many with it."""
    return [R(start + 100 * (count + place), 5, c=700 + place) for place in range(many)]


def cuts(trace: Trace) -> list[Reason]:
    return [reason for reason in recording_fitness(trace).reasons if reason.code == "step_cut"]


class TestStepCut:
    def test_the_last_step(self):
        cut = [STEP(3, 9000, 2900), *work(9010, 4, first=500), *lost_after(9010, 4)]
        (reason,) = cuts(read(*training_events(3), *cut))
        assert reason.denies == ()
        assert "step 3 lacks device work" in reason.sentence

    def test_the_first_step(self):
        cut = [STEP(9, -3000, 2900), *work(-2900, 4, first=500), *lost_after(-2900, 4)]
        (reason,) = cuts(read(*training_events(3), *cut))
        assert "step 9" in reason.sentence

    def test_a_mark_alone_at_the_end(self):
        (reason,) = cuts(read(*training_events(3), STEP(3, 9000, 2900)))
        assert "step 3" in reason.sentence

    @pytest.mark.parametrize("start", [-2900, 9010])
    def test_a_step_at_an_end_that_does_less(self, start: int):
        """Of evaluation, or without an optimizer: it calls less, and all of that is recorded."""
        less = [STEP(9, start - 10, 2900), *work(start, 4, first=500)]
        trace = read(*training_events(3), *less)
        assert codes(trace) == []
        assert find_steps(trace)["complete"].all()

    def test_a_last_step_of_the_host_alone(self):
        assert codes(read(*training_events(3), STEP(3, 9000, 2900), O("save", 9010, 2500))) == []

    def test_a_mark_that_only_began_is_no_step(self):
        assert codes(read(*training_events(3), STEP(3, 9000, 10))) == []


def test_some_steps_have_the_verdict_of_their_recording():
    trace = read(*training_events(3), *(R(5 + 100 * place, 3, c=500 + place) for place in range(5)))
    analysis = timesink.analyze(trace, steps=2)
    assert analysis.fitness == recording_fitness(trace) == recording_fitness(analysis.trace)
    assert recording_fitness(within_steps(trace, "2")).fit == "yes"


class TestOneStep:
    def test_that_ends_empty_may_compute_there_unrecorded(self):
        assert recording_fitness(read(STEP(0, 0, 2900), *work(10, 10))).fit == "yes"

    def test_is_named_as_the_one(self):
        text = headline(read(*training_events(1)))
        assert " step (one step recorded)" in text
        assert "each" not in text.partition(":")[0]
