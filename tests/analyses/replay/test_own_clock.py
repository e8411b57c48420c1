"""How long a cycle takes when nobody records it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import timesink
from cases import DATA_LOADER, STEP, K, O, R, read
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.replay.own_clock import (
    OwnClock,
    StepTime,
    own_clock,
    own_timeline,
    step_time,
)
from timesink.analyses.steps import find_steps
from timesink.answers.common_json import ClockJson
from timesink.formats.small_files import plain_values
from timesink.model.fitness import OVERHEAD
from timesink.model.recorded_run import RecordedRun, RunOverhead
from timesink.model.trace import Trace

CYCLE = 1000


def recording(*, operators: int = 40, kernel: int = 5) -> Trace:
    """Three cycles of a ms: operators of 20 us one after the other, and a kernel after the last."""
    events = []
    for number in range(3):
        begin = CYCLE * number
        events.append(STEP(number, begin, CYCLE))
        events += [O("aten::add", begin + 10 + 22 * place, 20) for place in range(operators)]
        events += [R(begin + 950, 10, c=number + 1), K("add", begin + 970, kernel, c=number + 1)]
    return read(*events)


def filled_with(calls: int) -> Trace:
    """Three cycles of a ms, full of so many calls."""
    apart = 940 // calls
    events = []
    for begin in range(0, 3 * CYCLE, CYCLE):
        events.append(STEP(begin, begin, CYCLE))
        events += [O("aten::x", begin + 10 + apart * at, apart - 1) for at in range(calls)]
        events += [R(begin + 950, 10, c=begin + 1), K("add", begin + 970, 5, c=begin + 1)]
    return read(*events)


def with_plain(trace: Trace, *plain_us: float) -> Trace:
    overhead = RunOverhead(
        cycle_us=float(np.median(plain_us)), plain_cycles_us=(9e9, 9e9, *plain_us)
    )
    return replace(trace, metadata=replace(trace.metadata, run=RecordedRun(overhead=overhead)))


def cycles_us(trace: Trace) -> list[float]:
    steps = find_steps(trace)
    return ((steps["end_ns"] - steps["start_ns"]) / 1000).to_list()


class TestEstimated:
    def test_costs_of_calls_are_taken_out(self):
        clock = own_clock(recording())
        assert (clock.source, clock.recorded_ns) == ("estimated", 1_000_000)
        assert 600_000 < clock.own_ns < 900_000

    def test_more_calls_cost_more(self):
        assert own_clock(recording(operators=10)).own_ns > own_clock(recording()).own_ns

    def test_the_interval_holds_it_and_never_exceeds_what_was_recorded(self):
        clock = own_clock(recording())
        low, high = clock.interval_ns
        assert low < clock.own_ns < high <= clock.recorded_ns

    def test_a_device_that_is_busy_all_the_time_gains_nothing(self):
        clock = own_clock(recording(kernel=999))
        assert clock.own_ns == pytest.approx(clock.recorded_ns, rel=0.03)

    def test_calls_of_libraries_that_take_most_of_it_are_refused(self):
        slow = [O("aten::_cudnn_attention_forward", 5000 * n + 100, 4000) for n in range(3)]
        clock = own_clock(read(*(STEP(n, 5000 * n, 5000) for n in range(3)), *slow))
        assert (clock.source, clock.own_ns) == ("none", None)
        assert "aten::_cudnn_attention_forward" in clock.why

    def test_a_wide_interval_is_told_and_not_refused(self):
        # The more calls there are the less is left, and the less sure that is: all of it is told.
        clocks = [own_clock(filled_with(calls)) for calls in (150, 190, 210, 230, 240, 260, 300)]
        assert {clock.source for clock in clocks} == {"estimated"}
        lengths = [clock.own_ns for clock in clocks]
        assert lengths == sorted(lengths, reverse=True)
        assert all(clock.interval_ns[0] <= clock.own_ns <= clock.interval_ns[1] for clock in clocks)
        widths = [(clock.interval_ns[1] - clock.interval_ns[0]) / clock.own_ns for clock in clocks]
        assert max(widths) > 1

    def test_a_fifth_is_left_at_least(self):
        clock = own_clock(filled_with(300))
        assert clock.own_ns == pytest.approx(0.2 * clock.recorded_ns, rel=0.01)
        assert np.median(cycles_us(own_timeline(filled_with(300)))) == pytest.approx(200, rel=0.02)

    def test_costs_that_nothing_is_left_of_are_refused(self):
        clock = own_clock(filled_with(400))
        assert (clock.source, clock.own_ns) == ("none", None)
        assert "would leave less than 20 % of the step" in clock.why

    def test_a_recording_that_cannot_tell_says_why(self):
        late = [
            *(STEP(0, 0, 1000), STEP(1, 1000, 1000)),
            *(O("aten::add", 10, 20), R(15, 5, c=1), K("add", 900, 50, c=1)),
            *(O("aten::add", 1010, 20), R(1015, 5, c=2), K("add", 1900, 50, c=2)),
        ]
        trace = read(*late)
        (reason, *_) = recording_fitness(trace).against(OVERHEAD)
        clock = own_clock(trace)
        assert clock.source == "none"
        assert clock.why.lower() == reason.sentence.removesuffix(".").lower()

    def test_without_an_own_clock_the_timeline_is_as_recorded(self):
        trace = read(K("a", 10, 5), K("b", 40, 10))
        assert own_timeline(trace) is trace


WORKERS = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
POLL = "<built-in method poll of select.poll object at 0x7f>"


class TestWaitsForWhatIsNotRecorded:
    @staticmethod
    def recording(call: str, waits: tuple[int, ...] = (600, 600, 600)) -> Trace:
        """Steps that wait in a call first, and then make forty calls."""
        events, begin = [], 0
        for number, wait in enumerate(waits):
            events += [STEP(number, begin, wait + 400), O(call, begin + 5, wait)]
            events += [O("aten::add", begin + wait + 9 * number, 8) for number in range(1, 41)]
            begin += wait + 400
        return read(*events)

    @pytest.mark.parametrize("call", [WORKERS, POLL, "multiprocessing/queues.py(96): get"])
    def test_the_step_may_take_as_long_as_recorded(self, call: str):
        trace = self.recording(call)
        clock = own_clock(trace)
        assert clock.own_ns < 0.97 * clock.recorded_ns
        assert clock.interval_ns[1] == clock.recorded_ns
        assert "wait 600 us on average" in clock.outside
        assert step_time(trace).interval_ns[1] == step_time(trace).recorded_ns

    def test_a_few_long_waits_reach_up_to_the_mean(self):
        # Workers deliver several batches at once: most steps find one ready.
        trace = self.recording(WORKERS, (60, 60, 2000, 60, 60))
        times = step_time(trace)
        assert times.recorded_ns == 848_000
        assert times.interval_ns[1] == times.recorded_ns

    @pytest.mark.parametrize("call", [DATA_LOADER, "<built-in function sleep>"])
    def test_time_that_the_program_takes_itself_is_no_such_wait(self, call: str):
        clock = own_clock(self.recording(call))
        assert clock.outside == ""
        assert clock.interval_ns[1] < clock.recorded_ns

    def test_a_batch_that_is_ready_is_no_wait(self):
        assert own_clock(self.recording(WORKERS, (60, 60, 60))).outside == ""


class TestMeasured:
    @pytest.mark.parametrize("plain_us", [950, 700, 400, 1020])
    def test_the_total_is_the_measurement_whatever_it_is(self, plain_us: float):
        trace = with_plain(recording(), plain_us, plain_us, plain_us)
        assert own_clock(trace).source == "measured"
        assert own_clock(trace).own_ns == 1000 * plain_us
        assert np.median(cycles_us(own_timeline(trace))) == pytest.approx(plain_us, rel=0.01)

    def test_plain_cycles_that_took_longer_are_not_believed(self):
        clock = own_clock(with_plain(recording(), 1300, 1300, 1300))
        assert (clock.source, clock.own_ns) == ("none", None)
        assert "took longer" in clock.why

    def test_an_own_timeline_is_not_corrected_again(self):
        timeline = own_timeline(with_plain(recording(), 700, 700, 700))
        assert own_clock(timeline).source == "none"
        assert own_timeline(timeline) is timeline

    def test_the_interval_is_that_of_the_cycles(self):
        clock = own_clock(with_plain(recording(), *range(700, 720)))
        low, high = clock.interval_ns
        assert 700_000 <= low < clock.own_ns < high <= 719_000

    def test_kernels_take_as_long_as_ever(self):
        timeline = own_timeline(with_plain(recording(), 500, 500, 500))
        assert timeline.device["dur_ns"].to_list() == [5000, 5000, 5000]

    def test_a_measurement_that_the_device_refutes_is_not_believed(self):
        # The host ran ahead of the device while nobody recorded.
        assert own_clock(with_plain(recording(kernel=990), 300, 300, 300)).source != "measured"


def test_plain_data():
    clock = OwnClock(2e6, 1e6, (9e5, 1.1e6), "measured", "", 1.0, None)
    assert plain_values(ClockJson.of(clock, StepTime(2e6, None, None), clock.own_ns)) == {
        "recorded_cycle_us": 2000.0,
        "own_cycle_us": 1000.0,
        "ci95_us": [900.0, 1100.0],
        "source": "measured",
        "why": "",
        "outside": "",
        "recorded_step_us": 2000.0,
        "corrected_step_us": None,
        "corrected_ci95_us": None,
    }


def test_the_sample_runs_faster_by_itself():
    clock = own_clock(timesink.open(timesink.sample()))
    assert 20_000_000 < clock.own_ns < clock.recorded_ns
