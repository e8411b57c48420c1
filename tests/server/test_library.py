"""Which runs a folder offers, and the traces kept open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest

from builders import kineto, operator, training_trace, write
from timesink.errors import NotFoundError, UnreadableError
from timesink.formats.read_options import Progress
from timesink.server.library import KeptValue, RunLibrary
from timesink.server.runs import ReachableFiles, ServedRun
from timesink.sources.opening import Opened, open_each
from timesink.sources.recordings import Recording

pytestmark = pytest.mark.usefixtures("reads_here")


def record(place: Path, steps: int = 1) -> Path:
    """A trace of so many steps, in a folder that may not be there yet."""
    place.parent.mkdir(parents=True, exist_ok=True)
    return write(place, training_trace(steps))


class Clock:
    """A clock that tests turn forward."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


# -- runs ----------------------------------------------------------------------------------------


def test_runs_are_folders_with_traces_at_any_depth(tmp_path: Path):
    record(tmp_path / "b" / "worker0.1.pt.trace.json")
    record(tmp_path / "a" / "deep" / "worker0.1.pt.trace.json.gz")
    (tmp_path / "empty").mkdir()
    assert RunLibrary(tmp_path).runs() == ["a/deep", "b"]


def test_folder_that_is_a_run_itself_has_its_own_name(tmp_path: Path):
    record(tmp_path / "job" / "worker0.1.pt.trace.json")
    record(tmp_path / "job" / "eval" / "worker0.1.pt.trace.json")
    assert RunLibrary(tmp_path / "job").runs() == ["eval", "job"]
    assert RunLibrary(tmp_path / "job" / "." / "eval" / "..").runs() == ["eval", "job"]


def test_name_of_the_folder_may_be_taken_by_a_run_in_it(tmp_path: Path):
    record(tmp_path / "job" / "worker0.1.pt.trace.json")
    record(tmp_path / "job" / "job" / "worker1.1.pt.trace.json")
    library = RunLibrary(tmp_path / "job")
    assert library.runs() == [".", "job"]
    assert library.run("job").workers == ["worker1"]


def test_links_are_followed_and_circles_end(tmp_path: Path):
    record(tmp_path / "elsewhere" / "worker0.1.pt.trace.json")
    record(tmp_path / "logs" / "run1" / "worker0.1.pt.trace.json")
    (tmp_path / "logs" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "logs" / "latest").symlink_to(tmp_path / "logs" / "run1")
    (tmp_path / "logs" / "run1" / "back").symlink_to(tmp_path / "logs")
    assert RunLibrary(tmp_path / "logs").runs() == ["latest", "run1"], "links that lead out are not"
    library = RunLibrary(tmp_path / "logs", follow_links=True)
    assert library.runs() == ["latest", "linked", "run1"]


def test_runs_of_several_folders_begin_with_their_names(tmp_path: Path):
    record(tmp_path / "one" / "run" / "worker0.1.pt.trace.json")
    record(tmp_path / "two" / "worker0.1.pt.trace.json")
    folders = {"a": tmp_path / "one", "b": tmp_path / "two", "c": tmp_path / "not there yet"}
    library = RunLibrary("several", folders=folders)
    assert library.runs() == ["a/run", "b/two"]
    assert library.holds_runs()


def test_traces_with_other_names_make_a_run(tmp_path: Path):
    record(tmp_path / "mine" / "trace.json.gz")
    write(tmp_path / "settings.json", b'{"learning_rate": 0.1}')
    library = RunLibrary(tmp_path)
    assert library.runs() == ["mine"]
    assert library.run("mine").workers == ["trace"]


def test_beside_files_of_the_profiler_others_are_no_workers(tmp_path: Path):
    record(tmp_path / "run" / "worker0.1.pt.trace.json")
    record(tmp_path / "run" / "converted.json")
    assert RunLibrary(tmp_path).run("run").workers == ["worker0"]


def test_single_file_is_a_run(tmp_path: Path):
    file = record(tmp_path / "trace.json")
    library = RunLibrary(file)
    assert library.runs() == ["trace.json"]
    run = library.run("trace.json")
    assert (run.workers, run.spans("trace")) == (["trace"], ["default"])


def test_missing_folder_is_told(tmp_path: Path):
    with pytest.raises(UnreadableError, match="no such file"):
        RunLibrary(tmp_path / "nowhere")


def test_new_runs_appear(tmp_path: Path, clock: Clock):
    record(tmp_path / "run1" / "worker0.1.pt.trace.json")
    library = RunLibrary(tmp_path, clock=clock)
    assert library.runs() == ["run1"]
    record(tmp_path / "run2" / "worker0.1.pt.trace.json")
    record(tmp_path / "run1" / "worker0.2.pt.trace.json")
    assert library.runs() == ["run1"], "not looked at again within a second"
    clock.now += 1.5
    assert library.runs() == ["run1", "run2"]
    assert library.run("run1").spans("worker0") == ["1", "2"]


def test_removed_runs_disappear(tmp_path: Path, clock: Clock):
    file = record(tmp_path / "run" / "worker0.1.pt.trace.json")
    library = RunLibrary(tmp_path, clock=clock)
    library.runs()
    file.unlink()
    clock.now += 1.5
    assert library.runs() == []


# -- workers and spans ---------------------------------------------------------------------------


def test_spans_are_numbered_in_the_order_of_their_timestamps(tmp_path: Path):
    for timestamp in (999, 1000, *range(1001, 1010)):
        record(tmp_path / "run" / f"worker0.{timestamp}.pt.trace.json")
    run = RunLibrary(tmp_path).run("run")
    assert run.spans("worker0") == [str(number) for number in range(1, 12)]
    assert run.recording("worker0", "1").path.name == "worker0.999.pt.trace.json"


def test_workers_come_by_their_numbers(tmp_path: Path):
    for rank in (10, 2, 0):
        record(tmp_path / "run" / f"rank{rank}.pt.trace.json")
    run = RunLibrary(tmp_path).run("run")
    assert run.workers == ["rank0", "rank2", "rank10"]
    assert run.spans("rank2") == ["default"]


def test_span_of_all_workers(tmp_path: Path):
    for name in ("rank0.5", "rank0.9", "rank1.7"):
        record(tmp_path / "run" / f"{name}.pt.trace.json")
    run = RunLibrary(tmp_path).run("run")
    assert run.spans("All") == ["1", "2"]
    assert [recording.worker for recording in run.span("1")] == ["rank0", "rank1"]
    assert [recording.worker for recording in run.span("2")] == ["rank0"]


def test_files_with_the_same_worker_and_span_are_told_apart(tmp_path: Path):
    record(tmp_path / "run" / "a.json", steps=1)
    record(tmp_path / "run" / "a.json.gz", steps=2)
    assert RunLibrary(tmp_path).run("run").workers == ["a", "a.json.gz"]


def test_file_names_that_are_not_utf8(tmp_path: Path):
    name = b"tr\xff.json".decode("utf-8", "surrogateescape")
    try:
        record(tmp_path / "run" / name)
    except OSError:
        pytest.skip("this file system wants UTF-8 names")
    library = RunLibrary(tmp_path)
    assert library.run("run").workers == ["tr\\xff"]
    trace = library.trace(library.run("run"), "tr\\xff", "default")
    assert trace.steps.height == 1


@pytest.mark.parametrize(
    ("run", "worker", "span", "hint"),
    [
        ("other", "worker0", "1", "runs route"),
        ("run", "worker9", "1", "worker0"),
        ("run", "worker0", "9", "1"),
        ("run", "All", "1", "worker0"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(
    tmp_path: Path, run: str, worker: str, span: str, hint: str
):
    record(tmp_path / "run" / "worker0.5.pt.trace.json")
    library = RunLibrary(tmp_path)
    with pytest.raises(NotFoundError) as caught:
        library.trace(library.run(run), worker, span)
    assert hint in caught.value.hint


# -- traces --------------------------------------------------------------------------------------


@pytest.fixture
def opener() -> tuple[list[str], Callable]:
    """What traces are opened with, and the names of the files it was asked for."""
    file_names: list[str] = []

    def open_noted(recordings: Sequence[Recording], progress: Progress) -> Iterator[Opened]:
        file_names.extend(recording.path.name for recording in recordings)
        return open_each(recordings, progress=progress)

    return file_names, open_noted


def recording(file: Path) -> Recording:
    return Recording(file, file.stem)


def trace_getter(
    open_traces: Callable, **options: int
) -> Callable[[list[Recording]], list[KeptValue]]:
    """What gives traces of a library that opens them so."""
    library = RunLibrary(".", open_traces=open_traces, **options)
    return partial(
        library._get, ServedRun("run", Path(), ReachableFiles(Path(), follow_links=True))
    )


def test_trace_is_opened_once_and_again_when_its_file_changes(tmp_path: Path, opener):
    file_names, open_noted = opener
    opened = trace_getter(open_noted)
    file = record(tmp_path / "a.json", steps=1)
    first = opened([recording(file)])[0].future.result()
    assert opened([recording(file)])[0].future.result() is first
    record(file, steps=3)
    assert opened([recording(file)])[0].future.result().steps.height == 3
    assert file_names == ["a.json", "a.json"]


def test_counters_that_appear_beside_a_trace_are_read(tmp_path: Path, opener):
    _, open_noted = opener
    opened = trace_getter(open_noted)
    file = write(tmp_path / "a.json", kineto([operator("aten::mm", 100, 10)]))
    assert opened([recording(file)])[0].future.result().counters.is_empty()
    samples = "timestamp_us,counter,device,value\n105,power,0,300\n"
    (tmp_path / "a.counters.csv").write_text(samples)
    assert opened([recording(file)])[0].future.result().counters.height == 1


def test_requests_at_the_same_time_read_a_file_once(tmp_path: Path, opener):
    file_names, open_noted = opener
    reading, go_on = Signal(), Signal()

    def open_slowly(recordings: Sequence[Recording], progress: Progress) -> Iterator[Opened]:
        reading.set()
        go_on.wait()
        return open_noted(recordings, progress)

    opened = trace_getter(open_slowly)
    file = record(tmp_path / "a.json")
    traces = []
    threads = [
        Thread(target=lambda: traces.append(opened([recording(file)])[0].future.result()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    reading.wait()
    go_on.set()
    for thread in threads:
        thread.join()
    assert file_names == ["a.json"]
    assert len({id(trace) for trace in traces}) == 1


def test_traces_used_longest_ago_are_let_go(tmp_path: Path, opener):
    file_names, open_noted = opener
    files = [record(tmp_path / f"{name}.json", steps=1) for name in "abc"]
    opened = trace_getter(open_noted, max_events=60)  # of about 25 each
    for file in (files[0], files[1], files[0], files[2]):
        opened([recording(file)])
    file_names.clear()
    for file in (files[0], files[2], files[1]):
        opened([recording(file)])
    assert file_names == ["b.json"]


def test_file_that_cannot_be_read_is_not_tried_again_until_it_changes(tmp_path: Path, opener):
    file_names, open_noted = opener
    opened = trace_getter(open_noted)
    file = write(tmp_path / "a.json", b"nothing")
    for _ in range(2):
        with pytest.raises(UnreadableError):
            opened([recording(file)])[0].future.result()
    assert file_names == ["a.json"]
    record(file, steps=2)
    assert opened([recording(file)])[0].future.result().steps.height == 2


def test_failure_that_says_nothing_about_the_file_is_tried_again(tmp_path: Path):
    attempts = []

    def fail_once(recordings: Sequence[Recording], progress: Progress) -> Iterator[Opened]:
        attempts.append(recordings)
        if len(attempts) == 1:
            raise MemoryError
        return open_each(recordings, progress=progress)

    opened = trace_getter(fail_once)
    file = record(tmp_path / "a.json")
    with pytest.raises(MemoryError):
        opened([recording(file)])
    assert opened([recording(file)])[0].future.result().steps.height == 1


def test_broken_file_leaves_the_others_alone(tmp_path: Path):
    record(tmp_path / "run" / "rank0.1.pt.trace.json")
    write(tmp_path / "run" / "rank1.1.pt.trace.json", b"nothing")
    library = RunLibrary(tmp_path)
    run = library.run("run")
    assert run.workers == ["rank0", "rank1"]
    ranks = library.ranks(run, "1")
    assert ranks.names == ["rank0"]
    (damaged,) = ranks.damaged
    assert (damaged.worker, "not a trace" in damaged.reason) == ("rank1", True)
    assert library.samples(run) == [library.trace(run, "rank0", "1")]
    with pytest.raises(UnreadableError, match="not a trace"):
        library.trace(run, "rank1", "1")


def test_stray_files_of_a_folder_of_runs_are_no_run(tmp_path: Path):
    (tmp_path / "run").mkdir()
    write(tmp_path / "run" / "worker0.1.pt.trace.json", training_trace())
    write(tmp_path / "expected.json", training_trace())
    assert list(RunLibrary(tmp_path).runs()) == ["run"]
    write(tmp_path / "worker0.1.pt.trace.json", training_trace())
    assert sorted(RunLibrary(tmp_path).runs()) == sorted(["run", tmp_path.name])


def test_folders_of_ranks_are_one_run(tmp_path: Path):
    for rank in (0, 1, 10):
        record(tmp_path / "train" / f"rank_{rank}" / "trace.json")
    record(tmp_path / "other" / "trace.json")
    library = RunLibrary(tmp_path)
    assert library.runs() == ["other", "train"]
    run = library.run("train")
    assert run.workers == ["rank_0", "rank_1", "rank_10"]
    span = run.spans("rank_10")[0]
    assert library.ranks(run, span, "rank_10").names == run.workers
    assert RunLibrary(tmp_path / "train").runs() == ["train"]


def test_folders_of_runs_stay_apart(tmp_path: Path):
    for name in ("run_1", "run_2", "rank_study"):
        record(tmp_path / name / "rank0.json")
    assert RunLibrary(tmp_path).runs() == ["rank_study", "run_1", "run_2"]
