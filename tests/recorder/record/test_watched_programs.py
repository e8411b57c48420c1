"""Programs that are watched: every cycle is told, and they run as if nobody watched."""

from __future__ import annotations

import json
import statistics
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from forked_programs import host_of_programs
from recorded import needs_torch
from timesink.recorder.agent.watched import order_file
from timesink.recorder.cycle_channel import CHANNEL_FILE, CycleReceiver
from timesink.recorder.folder import RecordingFolder, RecordPlan
from timesink.recorder.recording import conclude
from timesink.recorder.run_file import ProgramEnd, ProgramRun
from timesink.recorder.watch import Watch
from timesink.watcher.program import script_for
from watched_programs import MARKED, TRAINING, VLLM, VLLM_PROGRAM, Watched, module

pytestmark = [pytest.mark.whole, needs_torch]


@pytest.fixture
def watched_program(tmp_path: Path) -> Iterator[Watched]:
    watched = Watched(tmp_path, CycleReceiver(tmp_path), host_of_programs())
    yield watched
    watched.close()


def test_steps_of_an_optimizer(watched_program: Watched):
    # In a Python that imports torch itself, and is entered then.
    watched_program.start_python(TRAINING + "for number in range(25): cycle(batch=8 + number)")
    watched_program.to_the_end()
    assert {(batch.source, batch.span, batch.stream) for batch in watched_program.batches} == {
        ("optimizer step SGD", "loop", 0)
    }
    # The first step ends a cycle whose beginning nobody saw.
    assert len(watched_program.durations_ms) == watched_program.batches[-1].count == 24
    assert watched_program.usually(4, 8)
    assert watched_program.column("batch_size") == [float(8 + number) for number in range(1, 25)]
    assert watched_program.column("input_elements")[-1] == 32 * 4
    starts = [start for batch in watched_program.batches for start in batch.start_us]
    assert starts == sorted(starts)
    assert abs(starts[-1] - time.time_ns() // 1000) < 60e6


def test_a_model_that_is_called_by_its_part(watched_program: Watched):
    program = """
    import torch
    class Holder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(3, 3)
    holder = Holder()
    optimizer = torch.optim.Adam(holder.parameters())
    for _ in range(12):
        holder.inner(torch.ones(5, 3)).sum().backward()
        optimizer.step()
    """
    watched_program.run(program)
    assert watched_program.column("batch_size")[-1] == 5


@pytest.mark.parametrize(("span", "least_ms", "most_ms"), [("loop", 9, 13), ("call", 3, 5.5)])
def test_a_function_as_marker(watched_program: Watched, span: str, least_ms: float, most_ms: float):
    watched_program.run(MARKED, marker="serve", span=span)
    assert {(batch.source, batch.span) for batch in watched_program.batches} == {
        ("function serve", span)
    }
    # Before Python 3.12 the first call is found while it is under way; the last has no next one.
    assert 18 <= len(watched_program.durations_ms) <= 20
    assert watched_program.usually(least_ms, most_ms)


@pytest.mark.parametrize(("span", "least_ms", "most_ms"), [("loop", 6, 9), ("call", 2, 4.5)])
def test_a_range_as_marker(watched_program: Watched, span: str, least_ms: float, most_ms: float):
    program = """
    import time, torch
    for number in range(15):
        with torch.profiler.record_function(f"batch {number}"):
            time.sleep(0.002)
        time.sleep(0.004)
    """
    watched_program.run(program, marker="batch", span=span)
    assert len(watched_program.durations_ms) == (15 if span == "call" else 14)
    assert watched_program.usually(least_ms, most_ms)


SIZES = "def sizes(size):\n    return {'size': size, 'odd': size % 2 == 1}\n"


@pytest.mark.parametrize("place", ["mine", "program"])
def test_an_extractor_of_the_user(watched_program: Watched, place: str):
    """In a file of its own, or in the program, which is not run again for it."""
    (watched_program.folder / "mine.py").write_text(SIZES)
    program = f"{SIZES}{MARKED}print('served')"
    assert watched_program.run(
        program, marker="serve", span="call", extractor=f"{place}:sizes"
    ) == ("served\n")
    assert 18 <= len(watched_program.durations_ms) <= 20
    assert watched_program.column("size")[-2:] == [18.0, 19.0]
    assert watched_program.column("odd")[-2:] == [0.0, 1.0]


@pytest.mark.parametrize(
    "text",
    ["def sizes(size): raise KeyError(size)", "1/0"],
)
def test_an_extractor_that_fails_is_counted(watched_program: Watched, text: str):
    (watched_program.folder / "mine.py").write_text(text)
    watched_program.run(MARKED, marker="serve", span="call", extractor="mine:sizes")
    last = watched_program.batches[-1]
    assert last.failed >= last.count - 1 >= 18
    assert last.workload == {}
    assert len(watched_program.notes("remark")) == 1


def test_threads_are_kept_apart(watched_program: Watched):
    program = """
    import threading, time, torch
    def serve(seconds):
        time.sleep(seconds)
    def work(seconds, times):
        for _ in range(times):
            serve(seconds)
    serve(0.001)
    threads = [threading.Thread(target=work, args=each) for each in ((0.002, 60), (0.008, 15))]
    for each in threads: each.start()
    for each in threads: each.join()
    # Their numbers are free again.
    late = threading.Thread(target=work, args=(0.001, 5)); late.start(); late.join()
    """
    watched_program.run(program, marker="serve")
    by_stream: dict[int, list[float]] = {}
    for batch in watched_program.batches:
        by_stream.setdefault(batch.stream, []).extend(
            duration / 1e6 for duration in batch.duration_ns
        )
    quick, slow = sorted(
        (rows for rows in by_stream.values() if len(rows) > 10), key=statistics.median
    )
    assert 2 < statistics.median(quick) < 4
    assert 8 < statistics.median(slow) < 11
    assert len(by_stream) <= 3


@pytest.mark.parametrize(
    ("preset", "is_ahead", "least_ms", "most_ms"), [("", "False", 4, 7), ("vllm", "True", 8, 12)]
)
def test_vllm(
    watched_program: Watched, preset: str, is_ahead: str, least_ms: float, most_ms: float
):
    """A cycle ends with its tokens, wherever they come from; what has no tokens is none."""
    module(watched_program.folder, "vllm.v1.worker.gpu_model_runner", VLLM)
    watched_program.run(VLLM_PROGRAM.replace("IS_AHEAD", is_ahead), preset=preset)
    assert {(batch.source, batch.span) for batch in watched_program.batches} == {("vllm", "call")}
    assert len(watched_program.durations_ms) == watched_program.batches[-1].count == 13
    assert watched_program.usually(least_ms, most_ms)
    modes = [1.0] + [3.0] * 11 + [2.0]
    assert watched_program.column("forward_mode") == modes
    assert watched_program.column("batch_size") == [2.0] + [3.0] * 11 + [2.0]
    assert watched_program.column("tokens")[0] == 100
    assert watched_program.column("max_input_length")[-1] == 300
    assert watched_program.column("avg_output_length")[-1] == 6


def test_sglang_that_works_ahead(watched_program: Watched):
    """The next batch is begun before the last one is taken: each has the time it adds."""
    module(
        watched_program.folder,
        "sglang.srt.managers.scheduler",
        """
        import time
        class Scheduler:
            def run_batch(self, batch, pp_proxy_tensors=None):
                time.sleep(0.001)
            def process_batch_result(self, batch, result):
                time.sleep(batch.seconds)
        """,
    )
    program = """
    import time, torch
    from types import SimpleNamespace as Told
    from sglang.srt.managers.scheduler import Scheduler
    scheduler, request = Scheduler(), Told(origin_input_ids=[0] * 20, output_ids=[0] * 4)
    def batch(number):
        mode = "DECODE" if number % 5 else "IDLE" if number == 10 else "EXTEND"
        return Told(forward_mode=Told(name=mode), reqs=[request] * (number + 1), extend_lens=[20],
                    seconds=0.012 if number % 5 == 0 else 0.003)
    last = None
    for number in range(15):
        now = batch(number)
        scheduler.run_batch(now)
        if last is not None:
            scheduler.process_batch_result(last, None)
        last = now
    scheduler.process_batch_result(last, None)
    """
    watched_program.run(program)
    assert {batch.source for batch in watched_program.batches} == {"sglang"}
    expected = [number for number in range(15) if number != 10]
    assert watched_program.column("batch_size") == [number + 1.0 for number in expected]
    by_size = dict(zip(expected, watched_program.durations_ms, strict=True))
    assert by_size[5] > 12
    short = [by_size[number] for number in (3, 4, 7, 8, 13)]
    assert 3 < min(short) < 8
    assert watched_program.column("avg_output_length")[0] == 4


def test_generate_and_what_it_has_written(watched_program: Watched):
    module(
        watched_program.folder,
        "transformers.generation.utils",
        """
        import time, torch
        class GenerationMixin:
            generation_config = None
            def generate(self, inputs=None, generation_config=None, **kwargs):
                if inputs.shape[0] == 1:
                    self.generate(torch.zeros(2, 3, dtype=torch.long))
                time.sleep(0.002)
                return torch.zeros(inputs.shape[0], inputs.shape[1] + 7)
        """,
    )
    program = """
    import torch
    from transformers.generation.utils import GenerationMixin
    model = GenerationMixin()
    for number in range(1, 6):
        model.generate(torch.zeros(number, 11, dtype=torch.long), max_new_tokens=30)
    """
    watched_program.run(program)
    assert watched_program.column("batch_size") == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert set(watched_program.column("avg_input_length")) == {11.0}
    assert set(watched_program.column("max_output_length")) == {30.0}
    assert set(watched_program.column("avg_output_length")) == {7.0}


def test_lightning_and_trainer(watched_program: Watched):
    loops = "lightning.pytorch.loops"
    module(
        watched_program.folder,
        f"{loops}.optimization.automatic",
        """
        class _AutomaticOptimization:
            def run(self, optimizer, batch_idx, kwargs): pass
        """,
    )
    module(
        watched_program.folder,
        f"{loops}.training_epoch_loop",
        """
        import time, torch
        from lightning.pytorch.loops.optimization.automatic import _AutomaticOptimization
        class _TrainingEpochLoop:
            def advance(self, data_fetcher):
                time.sleep(0.002)
                kwargs = {"batch": [torch.zeros(6, 3, 8, 8), torch.zeros(6)], "batch_idx": 1}
                _AutomaticOptimization().run(None, 1, kwargs)
        """,
    )
    program = """
    import time, torch
    from lightning.pytorch.loops.training_epoch_loop import _TrainingEpochLoop
    for _ in range(8):
        _TrainingEpochLoop().advance(None)
    """
    watched_program.run(program, preset="lightning")
    assert watched_program.column("batch_size") == [6.0] * 8
    assert watched_program.column("image_size") == [64.0] * 8


def test_coroutines_are_kept_apart(watched_program: Watched):
    if sys.version_info < (3, 12):
        pytest.skip("coroutines cannot be followed before Python 3.12")
    program = """
    import asyncio, torch
    async def serve(seconds):
        await asyncio.sleep(seconds)
    async def main():
        for _ in range(5):
            await asyncio.gather(*(serve(each) for each in (0.02, 0.02, 0.02, 0.02)))
    asyncio.run(main())
    """
    watched_program.run(program, marker="serve", span="call")
    assert len(watched_program.durations_ms) == 20
    assert watched_program.usually(20, 30)


# Programs that are not harmed.


@pytest.mark.parametrize("how", ["gone", "never there", "no folder"])
def test_nobody_listens(watched_program: Watched, how: str):
    watched_program.receiver.close()
    if how == "never there":
        (watched_program.folder / CHANNEL_FILE).unlink()
    program = TRAINING
    if how == "no folder":
        program += "import shutil; shutil.rmtree(sys.argv[0].rpartition('/')[0])\n"
    program += (
        "begin = time.perf_counter()\n"
        "for _ in range(100): cycle(seconds=0)\n"
        "print(time.perf_counter() - begin < 1)"
    )
    watched_program.start(program)
    assert watched_program.process is not None
    out, errors = watched_program.process.communicate(timeout=30)
    assert (out, errors, watched_program.process.returncode) == ("True\n", "", 0)


def test_a_watcher_that_does_not_read(watched_program: Watched):
    """What it misses is kept as long as there is room, then dropped and counted."""
    program = """
    import time, torch
    def serve(): pass
    begin = time.perf_counter()
    for number in range(60_000):
        serve()
    took = time.perf_counter() - begin
    open("done", "w").close()
    while not __import__("os").path.exists("go"):
        time.sleep(0.01)
    for _ in range(3):
        time.sleep(0.25)
        serve()
    print(took)
    """
    watched_program.start(program, marker="serve")
    assert watched_program.process is not None
    while not (watched_program.folder / "done").exists():
        assert watched_program.process.poll() is None
        time.sleep(0.05)
    watched_program.batches += watched_program.receiver.read(0)
    (watched_program.folder / "go").touch()
    took = float(watched_program.to_the_end())
    last = watched_program.batches[-1]
    assert last.dropped > 0
    assert len(watched_program.durations_ms) + last.dropped == last.count
    assert watched_program.notes("left")[0]["dropped"] == last.dropped
    assert took < 3


def test_forks_tell_their_own_cycles(watched_program: Watched):
    program = TRAINING + textwrap.dedent("""
    import os
    for _ in range(10): cycle(seconds=0.001)
    child = os.fork()
    for _ in range(6 if child else 4): cycle(seconds=0.001)
    if child: os.waitpid(child, 0)
    """)
    watched_program.run(program)
    by_pid: dict[int, int] = {}
    for batch in watched_program.batches:
        by_pid[batch.pid] = by_pid.get(batch.pid, 0) + len(batch.duration_ns)
    assert watched_program.process is not None
    assert by_pid.pop(watched_program.process.pid) == 15
    assert list(by_pid.values()) == [3]


@pytest.mark.parametrize("end", ["", "import os; os._exit(0)"])
def test_a_program_that_ends_at_once(watched_program: Watched, end: str):
    watched_program.run(f"import torch\n{end}")
    assert watched_program.batches == []


def test_a_clock_that_jumps_changes_no_duration(watched_program: Watched):
    program = TRAINING + textwrap.dedent("""
    real, jump = time.time_ns, [0]
    time.time_ns = lambda: real() + jump[0]
    for number in range(20):
        jump[0] = -3_600_000_000_000 if number > 9 else 0
        cycle()
    """)
    watched_program.run(program)
    starts = [start for batch in watched_program.batches for start in batch.start_us]
    assert starts[-1] < starts[0] - 3.5e9
    assert all(3 < duration < 1000 for duration in watched_program.durations_ms[1:])


# Orders.

LONG = TRAINING + "while not __import__('os').path.exists('go'): cycle()"


def test_recordings_on_order_twice(watched_program: Watched):
    watched_program.start(LONG)
    process = watched_program.process
    assert process is not None
    watched_program.until(lambda: len(watched_program.durations_ms) > 10)
    for number in (1, 2):
        place = RecordingFolder(watched_program.folder / f"run{number}")
        place.prepare()
        watch = Watch(place.control, place.counters, process.pid,
                      wanted=frozenset(), interval_ms=50)  # fmt: skip
        now_us, count = time.time_ns() // 1000, watched_program.batches[-1].count
        at = count + 120 if number == 2 else None
        watched_program.order(id=number, what="record", cycles=3, plain=2, at=at,
                      control=str(place.control), extras=[])  # fmt: skip
        state = lambda: [note["state"] for note in watched_program.notes("order")]  # noqa: E731
        watched_program.until(lambda: state().count("ended") == number)  # noqa: B023
        plan = RecordPlan(cycles=3, skip=0, plain=2)
        ended = ProgramEnd(None, "", 0)
        program = ProgramRun("0", ("x",), plan, now_us, time.time_ns() // 1000, ended)
        run, _ = conclude(program, watch.watched(), place)
        assert run["cycles"]["recorded"] == 3, run
        assert place.trace().exists()
    begin_notes = [note for note in watched_program.notes("order") if note["state"] == "begun"]
    ended = [note for note in watched_program.notes("order") if note["state"] == "ended"]
    assert {note["workload"]["batch_size"] for note in ended} == {
        *watched_program.column("batch_size")
    }
    assert begin_notes[1]["count"] == at
    seen = len(watched_program.durations_ms)
    watched_program.until(lambda: len(watched_program.durations_ms) > seen + 5)
    (watched_program.folder / "go").touch()
    # The profiler itself says what it does.
    watched_program.to_the_end(is_quiet=False)
    # Cycles under the profiler are counted, and not told.
    last = watched_program.batches[-1]
    assert 6 <= last.count - len(watched_program.durations_ms) <= 12
    assert max(watched_program.durations_ms[5:]) < 400


def test_an_order_to_leave(watched_program: Watched):
    watched_program.start(
        LONG + "\nprint(len(model._forward_pre_hooks), torch.optim.Optimizer.__name__)"
    )
    watched_program.until(lambda: len(watched_program.durations_ms) > 5)
    watched_program.order(id=1, what="leave")
    watched_program.until(lambda: bool(watched_program.notes("left")))
    cycle_count = watched_program.notes("left")[0]["cycles"]
    (watched_program.folder / "go").touch()
    assert watched_program.to_the_end() == "0 Optimizer\n"
    assert len(watched_program.durations_ms) == cycle_count


def test_orders_that_make_no_sense(watched_program: Watched):
    watched_program.start(LONG)
    watched_program.until(lambda: bool(watched_program.batches))
    assert watched_program.process is not None
    path = order_file(watched_program.folder, watched_program.process.pid)
    for order in (
        "{",
        "[]",
        '{"what": "dance"}',
        '{"id": 1, "what": "record", "control": "/none"}',
    ):
        path.write_text(order)
        seen = len(watched_program.durations_ms)
        # It looks for one five times a second.
        watched_program.until(lambda: len(watched_program.durations_ms) > seen + 60)  # noqa: B023
    (watched_program.folder / "go").touch()
    watched_program.to_the_end(is_quiet=False)
    assert len(watched_program.notes("remark")) == 2


def test_a_program_that_runs_already(watched_program: Watched):
    """What the script of `attach` does, between two cycles; a schedule has wrapped the step."""
    script = script_for(watched_program.folder)
    program = TRAINING + (
        "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 100)\n"
        "for _ in range(5): cycle()\n"
        f"exec(open({str(script)!r}).read())\n"
        "for _ in range(10): cycle(); schedule.step()\n"
    )
    watched_program.start_unwatched(program)
    watched_program.to_the_end()
    assert len(watched_program.durations_ms) == 9
    assert watched_program.column("batch_size")[-1] == 8


def test_another_watcher_in_the_folder_hears_nothing(watched_program: Watched):
    """The first was killed: its program is left in peace, and so are processes it starts later."""
    program = LONG + "\nimport subprocess; subprocess.run([sys.executable, 'later.py'], check=True)"
    # Whoever is let in leaves a note of its Python at once, long before torch is imported.
    (watched_program.folder / "later.py").touch()
    watched_program.start(program)
    watched_program.until(lambda: len(watched_program.durations_ms) > 5)
    other = CycleReceiver(watched_program.folder)
    watched_program.until(lambda: bool(watched_program.notes("left")))
    (watched_program.folder / "go").touch()
    watched_program.to_the_end()
    assert other.read(0.05) == []
    assert len(watched_program.notes("python")) == 1
    other.close()


def test_a_recording_that_nobody_waits_for_ends(watched_program: Watched):
    """The thread that is recorded makes no cycle for long; others do not wait for it."""
    program = """
    import os, threading, time, torch
    def serve(): time.sleep(0.002)
    def some():
        for _ in range(150): serve()
    def wait(name):
        while not os.path.exists(name): serve()
    wait("ordered")
    for _ in range(5): serve()
    open("recorded", "w").close()
    other = threading.Thread(target=wait, args=("withdrawn",)); other.start(); other.join()
    other = threading.Thread(target=some); other.start(); other.join()
    some()
    """
    watched_program.start(program, marker="serve", span="call")
    watched_program.until(lambda: bool(watched_program.batches))
    control = RecordingFolder(watched_program.folder / "recording").control
    control.mkdir(parents=True)
    watched_program.order(id=1, what="record", cycles=1000, control=str(control))
    watched_program.until(
        lambda: any(note["state"] == "begun" for note in watched_program.notes("order"))
    )
    (watched_program.folder / "ordered").touch()
    watched_program.until((watched_program.folder / "recorded").exists)
    assert watched_program.process is not None
    order_file(watched_program.folder, watched_program.process.pid).unlink()
    (watched_program.folder / "withdrawn").touch()
    watched_program.to_the_end(is_quiet=False)
    assert [note["state"] for note in watched_program.notes("order")] == ["begun", "ended"]


def test_a_block_takes_all_of_it_back(watched_program: Watched):
    program = TRAINING + (
        "import gc, timesink, weakref\n"
        "with timesink.watch('one', counters='none', no_record=True):\n"
        "    for _ in range(30): cycle()\n"
        "print(len(model._forward_pre_hooks))\n"
        "with timesink.watch('two', counters='none', no_record=True):\n"
        "    for _ in range(30): cycle()\n"
        "    gone = weakref.ref(model)\n"
        "    del model, optimizer\n"
        "    gc.collect()\n"
        "    print(gone() is None)\n"
    )
    watched_program.start_unwatched(program)
    assert watched_program.to_the_end(is_quiet=False).split() == ["0", "True"]
    status = json.loads((watched_program.folder / "two" / "status.json").read_bytes())
    # Of the first cycle nobody saw the beginning.
    assert status["cycles"] == 29
