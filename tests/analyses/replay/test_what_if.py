"""Changes of small programs, played."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import MAIN, STEP, C, K, O, R, host_event, read
from loaded_cycles import IN_PROCESSES, LOADER, US, Piece, cycles, pieces
from timelines import patient, random_traces
from timesink.analyses.replay.changes import parse_change
from timesink.analyses.replay.graph import replay_graph
from timesink.analyses.replay.play import play
from timesink.analyses.replay.what_if import Scenario, apply_change, cycle_ns, named_by
from timesink.errors import UsageError
from timesink.model.trace import Trace

MM, ADD = Piece("kernel", "aten::mm", 10, 100), Piece("kernel", "aten::add", 10, 20)
WAIT = Piece("wait", "aten::item")


def host_call(name: str, ts: int, dur: int, **args: int) -> dict:
    return host_event("Runtime", name, ts, dur, MAIN, **args)


def recorded_scenario(trace: Trace) -> Scenario:
    return Scenario.of(trace, play(replay_graph(trace)))


def cycle_us(trace: Trace, *change_texts: str) -> float:
    """A cycle with changes such as `scale kernel:mm=0.5`."""
    scenario = recorded_scenario(trace)
    for text in change_texts:
        scenario = apply_change(scenario, parse_change(*text.split(" ", 1)))
    return cycle_ns(scenario) / US


def saved_us(trace: Trace, *change_texts: str) -> float:
    return cycle_us(trace) - cycle_us(trace, *change_texts)


class TestDeviceBound:
    """Each cycle takes what its kernels take: 100 and 20 us, and a pause of 1 before each."""

    trace = cycles([MM, ADD], 5)

    def test_as_recorded(self):
        assert cycle_us(self.trace) == 122

    def test_a_kernel_is_named_by_its_own_name(self):
        assert saved_us(self.trace, "scale kernel:mm_kernel=0.5") == 50
        assert saved_us(self.trace, "remove kernel:add_kernel") == 21

    def test_host_time_does_not_matter(self):
        assert saved_us(self.trace, "remove host:aten::mm") == 0

    def test_an_operator_takes_its_kernels_along(self):
        assert saved_us(self.trace, "scale op:aten::mm=0.5") == 50

    def test_changes_add_up_as_they_are_played(self):
        assert saved_us(self.trace, "scale kernel:*=0.5", "scale kernel:mm_kernel=0.5") == 85

    def test_twice_the_samples(self):
        assert cycle_us(self.trace, "batch 2") == 242

    def test_the_optimizer_does_as_much_for_many_samples(self):
        step = Piece("kernel", "Optimizer.step#SGD.step", 10, 50)
        trace = cycles([MM, step], 5)
        assert cycle_us(trace, "batch 3") - cycle_us(trace) == 200


class TestHostBound:
    """Nobody waits for the device: each cycle takes what the host takes, 3 x 15 + 2 us."""

    trace = cycles(
        [Piece("kernel", name, 10, 2) for name in ("aten::mm", "aten::add", "Optimizer.step#A")]
    )

    def test_as_recorded(self):
        assert cycle_us(self.trace) == 47

    def test_kernels_do_not_matter(self):
        assert saved_us(self.trace, "remove kernel:*") == 0

    def test_host_code_and_launches(self):
        assert saved_us(self.trace, "remove host:aten::mm") == 15
        assert saved_us(self.trace, "remove call:cudaLaunchKernel") == 15
        assert saved_us(self.trace, "scale host:aten::*=0.5") == 15

    def test_what_a_call_does_itself(self):
        assert saved_us(self.trace, "remove self:aten::mm") == 10
        assert saved_us(self.trace, "remove self:ProfilerStep") == 2

    def test_what_is_done_outside_of_calls(self):
        assert saved_us(self.trace, "remove outside") == 2
        assert saved_us(self.trace, "scale outside=2") == -2

    def test_a_graph_is_one_launch(self):
        assert cycle_us(self.trace, "graph cycle") < 20
        assert saved_us(self.trace, "graph op:aten::mm") == 5

    def test_what_launches_once_has_nothing_to_fuse(self):
        assert saved_us(self.trace, "fuse Optimizer.step") == 0


class TestWaits:
    """The host launches, waits for the device, and goes on."""

    trace = cycles([MM, WAIT, Piece("host", "aten::cat", 50)])

    def test_without_the_wait_the_host_runs_ahead(self):
        assert 40 < saved_us(self.trace, "remove sync:aten::item") < 100

    def test_what_is_done_with_results_is_in_no_graph(self):
        pause = Piece("pause", host=300)
        assert cycle_us(cycles([MM, WAIT, pause]), "graph cycle") > 400
        assert cycle_us(cycles([pause, MM]), "graph cycle") < 150

    def test_the_wait_is_found_by_its_own_call_as_well(self):
        by_call = saved_us(self.trace, "remove sync:cudaStreamSynchronize")
        assert by_call == saved_us(self.trace, "remove sync:aten::item")

    def test_the_rest_of_the_call_around_it_stays(self):
        less = apply_change(
            recorded_scenario(self.trace), parse_change("remove", "sync:aten::item")
        )
        left = named_by(less, parse_change("remove", "host:aten::item"), less.played())
        assert left.host_ns == 10 * US

    def test_what_is_named_is_counted(self):
        scenario = recorded_scenario(self.trace)
        named = named_by(scenario, parse_change("remove", "sync:aten::item"), scenario.played())
        assert (named.waits, named.calls, named.activities) == (1, 1, 0)
        assert 80 * US < named.wait_ns < 110 * US
        named = named_by(scenario, parse_change("scale", "op:aten::mm=1"), scenario.played())
        assert (named.activities, named.device_ns, named.host_ns) == (1, 100 * US, 15 * US)


class TestCopies:
    """A copy of 100 us, by a call that goes on with it for most of that, or only starts it."""

    def trace(self, call: int) -> Trace:
        copy_events = (R(15, call, c=1, x=1), C(20, 100, c=1, x=1))
        return read(STEP(1, 0, 300), O("aten::to", 10, 150, x=1), *copy_events)

    def test_a_call_that_is_held_goes_with_its_copy(self):
        assert saved_us(self.trace(80), "scale copy:*=0.5") == 40
        assert saved_us(self.trace(80), "overlap copy:*") == 0

    def test_one_that_is_not_stays(self):
        assert saved_us(self.trace(10), "scale copy:*=0.5") == 0

    def test_without_a_copy_nobody_launches_it(self):
        assert saved_us(self.trace(10), "remove copy:*") == 10


class TestCopiesBesideTheProgram:
    """Each step of 220 us copies on stream 21, which kernels of 200 us on stream 7 wait for."""

    def trace(self, copy: int, starts: int) -> Trace:
        """Copies of so many us; kernels start so long after their launch."""
        events = []
        for step in range(4):
            at, first = 220 * step, 10 * step + 1
            events += [STEP(step, at, 220), host_call("cudaEventRecord", at + 1, 1)]
            events += [host_call("cudaMemcpyAsync", at + 5, 5, correlation=first)]
            events += [
                C(at + 12, copy, c=first, stream=21),
                host_call("cudaEventRecord", at + 12, 1),
            ]
            events += [host_call("cudaStreamWaitEvent", at + 14, 1), R(at + 16, 2, c=first + 1)]
            events += [K("gemm", at + 16 + starts, 200 - starts, c=first + 1)]
            events += [host_call("cudaDeviceSynchronize", at + 20, 197)]
        return read(*events)

    def test_a_kernel_that_waited_for_a_copy_does_not_any_more(self):
        trace = self.trace(copy=100, starts=100)
        assert saved_us(trace, "remove copy:*") > 50

    def test_a_copy_that_nobody_waits_for_saves_its_calls_at_most(self):
        trace = self.trace(copy=30, starts=5)
        assert 0 <= saved_us(trace, "remove copy:*") <= 10


class TestFullDevice:
    """Each step of 400 us has kernels of 80 us on four streams, two of which run at any time."""

    def trace(self, **size: float) -> Trace:
        events = []
        for step in range(4):
            at, first = 400 * step, 10 * step + 1
            events += [STEP(step, at, 400)]
            for place in range(4):
                number, stream = first + place, 7 + place
                events += [R(at + 10 + 40 * place, 5, c=number)]
                start = at + 20 + 40 * place
                events += [K("gemm", start, 80, c=number, stream=stream, **size)]
            events += [host_call("cudaDeviceSynchronize", at + 250, 140)]
        return read(*events)

    def test_kernels_of_other_streams_do_not_come_for_nothing(self):
        for full in (self.trace(), self.trace(**{"blocks per SM": 2.0})):
            assert cycle_us(full, "graph cycle") >= 200
            assert cycle_us(full, "graph cycle", "scale kernel:*=0.5") >= 100

    def test_small_kernels_share_a_device(self):
        assert cycle_us(self.trace(**{"blocks per SM": 0.2}), "graph cycle") < 200


class TestFused:
    def test_many_launches_of_a_call_are_one(self):
        """Ten launches of 5 us under one call: nine tenths of its host time are gone."""
        rows = [Piece("kernel", "aten::_foreach", 5, 1) for _ in range(10)]
        trace = cycles(rows)
        step_saving_us = saved_us(trace, "fuse ProfilerStep")
        assert step_saving_us == pytest.approx(0.9 * cycle_us(trace), rel=0.05)


class TestLoading:
    """Loading takes 60 us of a cycle, the rest 47 us."""

    other = tuple(Piece("kernel", "aten::mm", 10, 2) for _ in range(3))
    trace = cycles([Piece("load", LOADER, 60), *other])

    @pytest.mark.parametrize(("workers", "left"), [("inf", 47), ("1", 60), ("2", 47), ("8", 47)])
    def test_batches_are_made_beside_the_program(self, workers, left):
        assert cycle_us(self.trace, f"loader-workers {workers}") == left

    def test_more_samples_take_longer_to_load(self):
        for change_texts in (["batch 3", "loader-workers 2"], ["loader-workers 2", "batch 3"]):
            assert cycle_us(self.trace, *change_texts) == 90

    def test_processes_that_were_not_recorded(self):
        trace = cycles([Piece("load", IN_PROCESSES, 60), *self.other])
        assert cycle_us(trace, "loader-workers inf") == 47
        with pytest.raises(UsageError, match="in other processes") as refused:
            cycle_us(trace, "loader-workers 4")
        assert "--loader-workers inf" in refused.value.hint


class TestOverlap:
    """Kernels of 100 and 20 us around a collective of 50, all on one stream."""

    trace = cycles([MM, Piece("talk", "nccl:all_reduce", 10, 50), ADD], 5)

    def test_communication_beside_kernels(self):
        assert cycle_us(self.trace) == 173
        assert 48 <= saved_us(self.trace, "overlap communication") <= 52

    def test_never_faster_than_communication_alone(self):
        trace = cycles([MM, Piece("talk", "nccl:all_reduce", 10, 400)], 5)
        assert cycle_us(trace, "overlap communication") >= 400


class TestDevice:
    trace = cycles([Piece("kernel", "aten::sm90_xmma_gemm_bf16bf16", 1, 900), MM])

    def test_matrix_kernels_by_their_peak_and_others_by_memory(self):
        change = parse_change("device", "H200:B200")
        scenario = recorded_scenario(self.trace)
        ratio = apply_change(scenario, change).length / scenario.length
        assert ratio[:2] == pytest.approx([989.4 / 2250, 4800 / 7700])

    @pytest.mark.parametrize("devices", ["H200:Z80", "Z80:H200"])
    def test_a_device_without_peaks(self, devices):
        with pytest.raises(UsageError, match="Z80") as refused:
            cycle_us(self.trace, f"device {devices}")
        assert "B200" in refused.value.hint


@pytest.mark.parametrize(
    "change_text",
    ["remove kernel:nothing", "remove sync:aten::mm", "overlap communication", "loader-workers 2"],
)
def test_what_is_not_there_is_refused(change_text):
    with pytest.raises(UsageError, match="nothing in the recording matches"):
        cycle_us(cycles([MM]), change_text)


# -- whatever the program --------------------------------------------------------------------------

SHORTER = (
    *("scale kernel:*=0.5", "scale copy:*=0.2", "scale cycle=0.9", "scale loading=0"),
    *("scale communication=0.5", "remove kernel:mm_kernel", "remove op:aten::*", "remove sync:*"),
    *("remove host:*", "remove copy:*", "remove call:*", "fuse Optimizer.step", "fuse aten::mm"),
    *("overlap communication", "overlap copy:*", "loader-workers inf"),
)
SAME = ("scale cycle=1", "scale kernel:*=1", "scale op:*=1", "scale host:*=1", "scale copy:*=1")
PAIRS = (
    ("scale kernel:mm_kernel=0.5", "scale kernel:add_kernel=0.25"),
    ("scale kernel:*=0.5", "remove host:aten::add"),
    ("remove sync:*", "scale copy:*=0.5"),
    ("remove op:aten::mm", "scale kernel:add_kernel=2"),
    ("loader-workers inf", "scale kernel:*=0.5"),
)


def apply(scenario: Scenario, change_text: str) -> Scenario:
    """The change where there is anything to change."""
    try:
        return apply_change(scenario, parse_change(*change_text.split(" ", 1)))
    except UsageError:
        return scenario


@patient
@given(pieces)
def test_a_factor_of_one_changes_nothing(program):
    scenario = recorded_scenario(cycles(program))
    played = scenario.played().node
    for change_text in SAME:
        assert (apply(scenario, change_text).played().node == played).all(), change_text


@patient
@given(pieces, st.permutations(SHORTER))
def test_less_work_never_makes_anything_later(program, change_texts):
    scenario = recorded_scenario(cycles(program))
    played = scenario.played().node
    for several in ([change_texts[0]], change_texts[1:3], [change_texts[3]], change_texts[4:6]):
        less = scenario
        for change_text in several:
            less = apply(less, change_text)
        assert (less.played().node - played).max() <= 1e-6, several
        assert less.played().node.min() >= 0


@patient
@given(pieces)
def test_the_order_of_changes_that_have_nothing_in_common(program):
    scenario = recorded_scenario(cycles(program))
    for pair in PAIRS:
        both = [apply(apply(scenario, first), second) for first, second in (pair, pair[::-1])]
        assert np.allclose(*(variant.played().node for variant in both), atol=1e-6), pair
        assert len({variant.least_ns for variant in both}) == 1


@patient
@given(random_traces, st.permutations((*SHORTER, "graph cycle", "batch 2", "device H100:B200")))
def test_any_recording_can_be_played(trace, change_texts):
    if len(trace.host) + len(trace.device):
        scenario = recorded_scenario(trace)
        for change_text in change_texts[:5]:
            assert np.isfinite(apply(scenario, change_text).played().node).all(), change_text
