"""A recording played again: what depends on what, and when it comes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import timesink
from builders import complete
from cases import MAIN, OTHER, STEP, K, O, R, host_event, read
from timesink.analyses.replay.changes import parse_change
from timesink.analyses.replay.critical_path import path_kinds, path_table, played_run
from timesink.analyses.replay.graph import ReplayGraph, replay_graph
from timesink.analyses.replay.own_clock import moved_timeline
from timesink.analyses.replay.play import Played, play, step_lengths, work_so_far
from timesink.analyses.replay.prediction import predict, program_of
from timesink.analyses.steps import find_steps
from timesink.model.trace import Trace


def lengths(trace: Trace, played: Played | None = None) -> list[float]:
    """How long each step takes when it is played, in us."""
    played = play(replay_graph(trace)) if played is None else played
    return (step_lengths(find_steps(trace), played) / 1000).tolist()


def sync(ts: int, dur: int) -> dict:
    return host_event("Runtime", "cudaDeviceSynchronize", ts, dur, MAIN, correlation=90)


def launch_bound() -> Trace:
    """Two kernels, each after its launch, and a host that waits for the second."""
    return read(
        STEP(1, 0, 200),
        O("aten::mm", 10, 40),
        R(20, 10, c=1),
        K("gemm", 35, 20, c=1),
        O("aten::add", 60, 40),
        R(70, 10, c=2),
        K("add", 85, 80, c=2),
        sync(110, 60),
    )


def with_lengths(trace: Trace, factor: float) -> Played:
    graph = replay_graph(trace)
    return play(graph, lengths=factor * (graph.work.end - graph.work.start))


class TestUnchanged:
    def test_everything_comes_when_it_came(self):
        graph = replay_graph(launch_bound())
        assert play(graph).node.tolist() == (graph.time - graph.time[0]).tolist()

    def test_a_step_takes_what_it_took(self):
        assert lengths(launch_bound()) == [200.0]

    def test_device_work_alone(self):
        trace = read(K("a", 10, 5), K("b", 40, 10))
        assert play(replay_graph(trace)).ends.tolist() == [5_000.0, 40_000.0]

    def test_nothing_at_all(self):
        assert lengths(read(O("aten::mm", 0, 10))) == [10.0]

    def test_the_timeline_stays_where_it_is(self):
        trace = launch_bound()
        moved = moved_timeline(trace, play(replay_graph(trace)))
        for table in ("host", "device", "steps"):
            assert getattr(moved, table).equals(getattr(trace, table))


class TestWaits:
    def test_a_host_that_waits_goes_on_earlier_with_faster_kernels(self):
        # The second kernel ends 40 us earlier, and so does the wait for it.
        assert lengths(launch_bound(), with_lengths(launch_bound(), 0.5)) == [160.0]

    def test_and_later_with_slower_ones(self):
        assert lengths(launch_bound(), with_lengths(launch_bound(), 2.0)) == [280.0]

    def test_a_launch_that_the_host_makes_later_starts_its_kernel_later(self):
        graph = replay_graph(launch_bound())
        slow = play(graph, 2 * work_so_far(graph))
        assert slow.ends[0] - play(graph).ends[0] == 20_000

    def test_a_stream_in_which_kernels_queue_is_faster_by_what_they_are(self):
        kernels = [K(f"k{n}", 100 + 50 * n, 49, c=n + 1) for n in range(4)]
        trace = read(STEP(1, 0, 350), *(R(10 + 10 * n, 5, c=n + 1) for n in range(4)), *kernels)
        assert with_lengths(trace, 0.0).ends[-1] <= 110_000


class TestHandOvers:
    @staticmethod
    def backward() -> Trace:
        """The main thread is quiet while another runs the backward pass."""
        return read(
            STEP(1, 0, 1000),
            O("aten::mm", 10, 90),
            O("MmBackward0", 150, 300, tid=OTHER),
            O("AccumulateGrad", 460, 100, tid=OTHER),
            O("Optimizer.step#SGD.step", 600, 300),
        )

    def test_the_main_thread_waits_for_the_backward_pass(self):
        trace = self.backward()
        graph = replay_graph(trace)
        other = graph.points.calls.threads.index((str(13721), OTHER))
        half = np.where(
            graph.points.thread_of(np.arange(len(graph.points.time))) == other, 0.5, 1.0
        )
        # 205 of the 410 us of the other thread, and all of the main thread is earlier by that.
        assert lengths(trace, play(graph, work_so_far(graph, scale=half))) == [795.0]

    def test_and_the_backward_pass_for_the_main_thread(self):
        trace = self.backward()
        graph = replay_graph(trace)
        scale = np.ones(len(graph.points.time))
        scale[graph.points.start[graph.points.calls.name == _code(graph, "aten::mm")]] = 0.0
        assert lengths(trace, play(graph, work_so_far(graph, scale=scale))) == [910.0]


def _code(graph: ReplayGraph, name: str) -> int:
    return list(graph.points.calls.names).index(name)


_RECORDINGS = (
    *(f"h200/traces/{name}" for name in ("unet_train", "llama_decode", "cuda_graph")),
    "tracelens/mi300/resnet_act_checkpoint.json.gz",
    "hta/amd_trace",
)


@pytest.mark.parametrize("name", _RECORDINGS)
def test_real_recordings_are_played_as_they_were(shared_root: Path, name: str):
    trace = timesink.open(shared_root / "data" / name)
    steps = find_steps(trace)
    recorded = (steps["end_ns"] - steps["start_ns"]).to_numpy()
    played = step_lengths(steps, play(replay_graph(trace)))
    assert np.median(played) == pytest.approx(np.median(recorded), rel=0.002)


class TestWhoWaitsForWhom:
    def test_of_overlapping_work_on_one_stream_the_last_to_end_is_in_the_way(self):
        trace = read(
            STEP(1, 0, 400),
            *(R(5 + 10 * number, 5, c=number + 1) for number in range(3)),
            K("long", 50, 200, c=1),
            K("inside", 60, 20, c=2),
            K("after", 252, 50, c=3),
        )
        graph = replay_graph(trace)
        factor = np.where(trace.device["name"].cast(str) == "long", 0.5, 1.0)
        played = play(graph, lengths=factor * (graph.work.end - graph.work.start))
        assert played.ends[-1] == play(graph).ends[-1] - 100_000

    def test_processes_wait_for_their_own_work(self):
        def process(pid: int, kernel: int) -> list[dict]:
            place = {"pid": pid, "tid": 7}
            return [
                complete("cuda_runtime", "launch", 10, 5, **place, args={"correlation": pid}),
                complete("kernel", f"k{pid}", 20, kernel, pid=pid, tid=20 + pid,
                         args={"device": pid, "stream": 7, "correlation": pid}),
                complete("cuda_runtime", "cudaDeviceSynchronize", 30, 400, **place),
            ]  # fmt: skip

        graph = replay_graph(read(*process(1, 100), *process(2, 300)))
        waits = np.flatnonzero(graph.waits & (graph.activity[graph.needs] >= 0))
        points, names = graph.points, {0: "k1", 1: "k2"}
        kernel_by_pid = {
            points.calls.threads[points.thread_of(graph.point[node])][0]: names[
                int(graph.work.device[graph.activity[graph.needs[node]]]) - 1
            ]
            for node in waits.tolist()
        }
        assert kernel_by_pid == {"1": "k1", "2": "k2"}


class TestClocksThatDiffer:
    @staticmethod
    def synchronized(early: int) -> Trace:
        """The host waits for two kernels twice; its calls return `early` us before these end."""
        events = []
        for number, begin in enumerate((0, 1000)):
            events += [
                R(begin + 10, 10, c=2 * number + 1),
                R(begin + 30, 10, c=2 * number + 2),
                K("gemm", begin + 40, 300, c=2 * number + 1),
                K("add", begin + 342, 400, c=2 * number + 2),
                host_event("Runtime", "hipDeviceSynchronize", begin + 60, 682 - early, MAIN),
            ]
        return read(STEP(1, 0, 2000), O("aten::mm", 1, 1900), *events)

    def test_a_wait_that_seems_to_end_before_its_work_waits_for_it(self):
        for early in (0, 3, 18):
            trace = self.synchronized(early)
            shorter = lengths(trace, with_lengths(trace, 0.5))
            assert shorter == pytest.approx([2000 - 700], abs=2 * early + 10), early

    def test_but_not_for_work_that_ends_long_after_it(self):
        trace = self.synchronized(100)
        assert lengths(trace, with_lengths(trace, 0.5))[0] > 1900


def test_kernels_decide_where_the_only_wait_ends_long_before_them_on_its_clock(shared_root: Path):
    # hipDeviceSynchronize takes 66.5 ms and returns 100 us before the last kernel ends.
    trace = timesink.open(shared_root / "data/tracelens/evals/sdpa_04_large_head_dim.json.gz")
    run = played_run(trace)
    assert path_kinds(run)["kernel"] > 0.95 * run.cycle_ns


class TestStreamsThatWaitForAnother:
    @staticmethod
    def after_a_collective(lag: int, *event: str, launched: int) -> Trace:
        """A copy starts so long after a collective of another stream has ended."""
        collective = K("ncclDevKernel_AllReduce", 300, 900, c=9)
        collective["args"]["stream"] = collective["tid"] = 9
        first = [R(10 + 40 * n, 5, c=n + 1) for n in range(4)]
        return read(
            STEP(1, 0, 400),
            O("aten::mm", 5, 390),
            *first,
            *(K("gemm", 20 + 40 * n, 5, c=n + 1) for n in range(4)),
            R(210, 5, c=5),
            K("gemm", 220, 60, c=5),
            R(216, 5, c=9),
            collective,
            *(host_event("Runtime", name, 222, 2, MAIN) for name in event),
            R(launched, 10, c=10),
            K("copy_results", 1200 + lag, 20, c=10),
        )

    @pytest.mark.parametrize(
        ("lag", "event", "launched"),
        [
            (5, (), 230),
            (15, ("hipStreamWaitEvent",), 230),
            (15, ("hipStreamWaitEvent",), 350),
            (45, ("cuStreamWaitEvent",), 350),
        ],
    )
    def test_what_starts_right_after_it_waited_for_it(
        self, lag: int, event: tuple[str, ...], launched: int
    ):
        trace = self.after_a_collective(lag, *event, launched=launched)
        assert self.last_end_without_collective(trace) < 400_000
        kinds = path_table(trace).group_by("kind").agg(pl.col("time_ns").sum())
        assert dict(kinds.iter_rows())["communication"] == pytest.approx(900_000, abs=1000)

    def test_what_starts_long_after_it_did_not(self):
        trace = self.after_a_collective(40, launched=230)
        assert self.last_end_without_collective(trace) > 1_200_000

    @staticmethod
    def last_end_without_collective(trace: Trace) -> float:
        graph = replay_graph(trace)
        length = (graph.work.end - graph.work.start).astype(np.float64)
        length[length.argmax()] = 0.0
        return float(play(graph, lengths=length).ends.max())


def test_communication_decides_where_copies_wait_for_it(shared_root: Path):
    trace = timesink.open(shared_root / "data/tracelens/mi300/resnet_act_checkpoint.json.gz")
    assert next(iter(path_kinds(played_run(trace)))) == "communication"
    program = program_of(trace)
    changes = (("remove", "communication"), ("scale", "communication=2"))
    less, more = (predict(program, (parse_change(*change),)).cycle_ns for change in changes)
    assert less < 0.5 * program.cycle_ns < 1.5 * program.cycle_ns < more
