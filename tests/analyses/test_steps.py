"""Steps, extended by the device work they caused."""

from __future__ import annotations

import pytest
from hypothesis import given

import oracle
from builders import complete
from cases import MAIN, STEP, C, K, O, R, host_event, read
from recordings import Recording, recordings
from timesink.analyses.steps import cut_steps, find_steps, window
from timesink.model.trace import Trace


def bounds(trace: Trace) -> list[tuple[str, float, float]]:
    """Name, start and end of each step, in us."""
    rows = find_steps(trace).select("name", "start_ns", "end_ns").rows()
    return [(name, start / 1000, end / 1000) for name, start, end in rows]


def work(launched: int, start: int, dur: int, *, number: int) -> list[dict]:
    return [R(launched, 5, c=number), K("gemm", start, dur, c=number)]


class TestExtension:
    def test_a_step_lasts_until_its_device_work_is_done(self):
        trace = read(STEP(1, 100, 100), *work(110, 150, 90, number=1))
        assert bounds(trace) == [("1", 100, 240)]
        assert find_steps(trace).select("host_start_ns", "host_end_ns").row(0) == (100_000, 200_000)

    def test_what_is_left_of_a_step_delays_the_next(self):
        late, next_ = work(110, 150, 90, number=1), work(230, 250, 90, number=2)
        trace = read(STEP(1, 100, 100), *late, STEP(2, 200, 100), *next_)
        assert bounds(trace) == [("1", 100, 240), ("2", 240, 340)]

    def test_a_step_that_ends_before_it_could_start_is_empty(self):
        trace = read(STEP(1, 0, 50), *work(10, 20, 180, number=1), STEP(2, 60, 40))
        assert bounds(trace) == [("1", 0, 200), ("2", 200, 200)]

    def test_device_work_before_the_first_step_delays_it(self):
        trace = read(K("warm-up", 50, 80, c=9), STEP(1, 100, 100), *work(110, 150, 20, number=1))
        assert bounds(trace) == [("1", 130, 200)]

    def test_device_work_that_reaches_into_that_of_the_step_does_not(self):
        trace = read(K("warm-up", 50, 100, c=9), STEP(1, 100, 100), *work(110, 150, 20, number=1))
        assert bounds(trace) == [("1", 100, 200)]

    def test_a_copy_on_a_stream_of_its_own_does_not_begin_the_first_step(self):
        left = [K("warm-up", 50, 100, c=9)]
        copy = [R(102, 2, c=8), C(105, 10, c=8, stream=21)]
        trace = read(*left, STEP(1, 100, 100), *copy, *work(110, 152, 90, number=1))
        assert bounds(trace) == [("1", 150, 242)]

    def test_only_launches_wholly_inside_a_step_are_its_own(self):
        trace = read(STEP(1, 100, 100), *work(198, 250, 90, number=1), *work(110, 120, 5, number=2))
        assert bounds(trace) == [("1", 100, 200)]
        assert find_steps(trace)["device_events"].to_list() == [1]

    def test_without_device_work_steps_stay_as_they_are(self):
        trace = read(STEP(1, 100, 100), STEP(2, 200, 50), O("mm", 210, 20))
        assert bounds(trace) == [("1", 100, 200), ("2", 200, 250)]
        assert find_steps(trace)["complete"].all()


class TestCutSteps:
    def trace(self, *events_per_step: int, lost: int = 0) -> Trace:
        """Steps that launch so many kernels each; the last of all are lost."""
        events = []
        for number, count in enumerate(events_per_step):
            start = 1000 * number
            events.append(STEP(number, start, 900))
            for place in range(count):
                ts = start + 10 * place
                events += work(ts, ts + 8, 2, number=100 * number + place + 1)
        kernels = [event for event in events if event["cat"] == "Kernel"]
        gone = kernels[len(kernels) - lost :]
        return read(*(event for event in events if event not in gone))

    def complete(self, *events_per_step: int, lost: int = 0) -> list[bool]:
        return find_steps(self.trace(*events_per_step, lost=lost))["complete"].to_list()

    def test_a_last_step_with_most_of_its_work_is_complete(self):
        assert self.complete(5, 5, 5, lost=1) == [True, True, True]

    def test_a_last_step_that_lacks_work_is_cut(self):
        assert self.complete(5, 5, 5, lost=2) == [True, True, False]
        assert self.complete(5, 5, lost=2) == [True, False]

    def test_all_steps_whose_work_the_end_cuts(self):
        trace = self.trace(5, 5, 5, 5, lost=7)
        assert find_steps(trace)["complete"].to_list() == [True, True, False, False]
        assert cut_steps(trace).tolist() == [False, False, True, True]

    @pytest.mark.parametrize("counts", [(5, 5, 3), (5, 5, 1), (1, 5, 5), (3, 6, 3, 6, 3)])
    def test_a_step_that_does_less_is_not_cut(self, counts: tuple[int, ...]):
        trace = self.trace(*counts)
        assert find_steps(trace)["complete"].all()
        assert not cut_steps(trace).any()

    def test_last_steps_without_any_are_cut(self):
        assert self.complete(5, 4, 0, 0) == [True, True, False, False]

    def test_a_step_in_the_middle_is_never_cut(self):
        assert self.complete(5, 0, 5) == [True, True, True]

    def test_a_single_step_is_never_cut(self):
        assert self.complete(1) == self.complete(0) == [True]


class TestWithoutMarks:
    def test_operators_are_the_step(self):
        trace = read(O("a", 100, 50), O("b", 300, 50), K("gemm", 20, 5, c=1))
        assert bounds(trace) == [("0", 100, 350)]
        assert find_steps(trace)["marked"].to_list() == [False]

    def test_their_device_work_extends_it(self):
        assert bounds(read(O("a", 100, 50), *work(110, 140, 60, number=1))) == [("0", 100, 200)]

    def test_annotations_where_there_are_no_operators(self):
        trace = read(host_event("user_annotation", "train", 10, 20, MAIN), K("gemm", 500, 5, c=1))
        assert bounds(trace) == [("0", 10, 30)]

    def test_device_work_where_there_is_nothing_else(self):
        assert bounds(read(K("a", 10, 20, c=1), K("b", 50, 20, c=2))) == [("0", 10, 70)]

    def test_runtime_calls_as_the_last_resort(self):
        assert bounds(read(R(10, 20, c=1))) == [("0", 10, 30)]

    def test_nothing(self):
        steps = find_steps(read())
        assert steps.is_empty()
        assert window(steps) == (0, 0)


def test_marks_on_the_device_are_not_steps():
    mark = complete("gpu_user_annotation", "ProfilerStep#1", 150, 90, pid=0, tid=7)
    assert bounds(read(STEP(1, 100, 100), mark)) == [("1", 100, 200)]


def test_marks_may_come_in_any_order():
    assert [name for name, *_ in bounds(read(STEP(10, 300, 10), STEP(9, 100, 10)))] == ["9", "10"]


def test_the_window_is_that_of_the_complete_steps():
    trace = read(STEP(1, 100, 100), *work(110, 150, 90, number=1), STEP(2, 300, 100))
    assert window(find_steps(trace)) == (100_000, 240_000)


@given(recordings())
def test_steps_are_as_the_oracle_says(recording: Recording):
    trace = recording.trace
    steps = find_steps(trace).select("name", "start_ns", "end_ns", "device_events", "complete")
    assert steps.rows() == [
        (step.name, step.start, step.end, len(step.activities), step.complete)
        for step in oracle.steps(trace)
    ]
