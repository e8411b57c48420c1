"""Recordings, made of what programs have left."""

from __future__ import annotations

import errno
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from timesink.errors import OutputError
from timesink.recorder import folder, traces
from timesink.recorder.counter_sampler import SampledCounters
from timesink.recorder.folder import RecordingFolder, RecordPlan, read_notes
from timesink.recorder.recording import conclude
from timesink.recorder.run_file import ProgramEnd, ProgramRun, Watched

BASE_NS = 1_790_857_026_000_000_000
PROGRAM = ProgramRun("1", ("python", "a.py"), RecordPlan(cycles=3), 1, 2, ProgramEnd(0, "", 0))
NO_COUNTERS = Watched(SampledCounters(50, 0, (), (), None), {}, None)
COUNTERS = Watched(SampledCounters(50, 9, ("gpu_usage",), (), 0.1), {}, [])
WINDOW = {"event": "window", "by": "step()", "name": "", "skipped": 1}
PLAIN = {**WINDOW, "event": "plain", "started_us": 77}
TRACE = f"""{{"baseTimeNanoseconds": {BASE_NS}, "traceEvents": [
{{"ph": "X", "cat": "user_annotation", "name": "timesink clock 0", "pid": 1, "tid": 1,
  "ts": 1000.000, "dur": 10.000}},
{{"ph": "i", "name": "end", "ts": 1}}]}}"""


@pytest.fixture
def place(tmp_path: Path) -> RecordingFolder:
    place = RecordingFolder(tmp_path / "run")
    place.prepare()
    return place


def leave(place: RecordingFolder, pid: int, *notes: dict[str, Any]) -> None:
    lines = "".join(f"{json.dumps(note)}\n" for note in notes)
    (place.control / f"{pid}.jsonl").write_text(lines)
    (place.control / f"trace-{pid}.json").write_text(TRACE)


def time_plain(
    place: RecordingFolder, pid: int, warm_up_ns: list[int], settled_ns: list[int], rest: str = ""
) -> None:
    rows = [f"{time_ns} 8000 0\n" for time_ns in warm_up_ns]
    rows += [f"{time_ns} - 1\n" for time_ns in settled_ns]
    (place.control / f"{pid}.cycles").write_text("".join(rows) + rest)


def exported_note(pid: int, **more: object) -> dict[str, Any]:
    facts = {"file": f"trace-{pid}.json", "cycles": 3, "why": ""}
    return {"event": "exported", **facts, **more}


def conclude_run(
    place: RecordingFolder, program: ProgramRun = PROGRAM, watched: Watched = COUNTERS
) -> Any:
    conclude(program, watched, place)
    return json.loads(place.run_file.read_text())


def files(place: RecordingFolder) -> list[str]:
    return sorted(path.name for path in place.folder.iterdir())


def test_counters_are_put_on_the_clock_of_the_timeline(place: RecordingFolder):
    """Marks of the timeline lie five milliseconds before the system's time."""
    mark_ns = BASE_NS + 1_000_000
    late_ns = 5_000_000
    clock = [["timesink clock 0", mark_ns + late_ns - 2_000, mark_ns + late_ns + 12_000]]
    leave(place, 7, WINDOW, exported_note(7, clock=clock))
    begun_us = BASE_NS // 1000
    header = "timestamp_us,counter,device,value\n"
    place.counters.write_text(f"{header}{begun_us + 5_000},gpu_usage,GPU 0,97\n")
    assert conclude_run(place)["clock"] == {"offset_us": 5000.0, "spread_us": 2.0}
    assert place.counters.read_text() == f"{header}{begun_us},gpu_usage,GPU 0,97\n"
    assert files(place) == ["counters.csv", "run.json", "trace.json.gz"]


@pytest.mark.parametrize(
    ("settled_ns", "cycle_us", "profiler_pct"),
    [
        ([1000, 1100, 1200], 1.1, 172.73),
        # Two say nothing, and uneven ones say nothing of the profiler.
        ([1000, 1100], None, None),
        ([1000, 1000, 9000, 9000], 5.0, None),
    ],
)
def test_plain_cycles_are_those_before_the_profiler(
    settled_ns: list[int],
    cycle_us: float | None,
    profiler_pct: float | None,
    place: RecordingFolder,
):
    time_plain(place, 7, [9000], settled_ns)
    leave(place, 7, WINDOW, PLAIN, exported_note(7, recorded_ns=[3000, 3000, 3001]))
    run = conclude_run(place)
    overhead = run["overhead"]
    assert (overhead["cycle_us"], overhead["profiler_pct"]) == (cycle_us, profiler_pct)
    assert overhead["plain_cycles_us"] == [9.0, *(time_ns / 1000 for time_ns in settled_ns)]
    assert overhead["plain_probe_us"] == [8.0, *(None for _ in settled_ns)]
    assert (overhead["plain_started_us"], overhead["plain_device_us"]) == (77, [])
    assert overhead["profiled_cycles_us"] == [3.0, 3.0, 3.001]
    assert run["cycles"]["plain"] == len(settled_ns)


def test_events_of_the_device_are_of_the_last_cycles(place: RecordingFolder):
    time_plain(place, 7, [9000], [1000, 1100, 1200])
    leave(place, 7, WINDOW, {"event": "device", "cycles_us": [0.9, None, 1.1]}, exported_note(7))
    assert conclude_run(place)["overhead"]["plain_device_us"] == [None, 0.9, None, 1.1]


def test_program_killed_among_its_plain_cycles(place: RecordingFolder):
    """The last line is not whole; nothing else says that it ended."""
    time_plain(place, 7, [9000], [1000, 1100, 1200], rest="11")
    leave(place, 7, {"event": "torch"}, PLAIN)
    run = conclude_run(place)
    assert run["why_partial"] == "the program was killed before its timeline began"
    assert (run["cycles"]["by"], run["cycles"]["plain"]) == ("step()", 3)
    assert run["overhead"]["cycle_us"] == 1.1


def test_only_the_last_plain_cycles_are_kept(place: RecordingFolder, monkeypatch: Any):
    monkeypatch.setattr(folder, "MAX_PLAIN", 2)
    time_plain(place, 7, [9000], [1000, 1100, 1200])
    window = {**WINDOW, "plain_only": True}
    leave(place, 7, window, PLAIN, {"event": "exported", "cycles": 0, "plain": 3, "why": ""})
    run = conclude_run(place, replace(PROGRAM, plan=RecordPlan(plain_only=True)))
    assert run["complete"]
    assert run["overhead"]["plain_cycles_us"] == [1.1, 1.2]
    assert run["cycles"]["plain"] == 2
    assert "unprofiled steps are kept, 2 are not" in run["notes"][0]


def test_timeline_that_cannot_be_kept(place: RecordingFolder):
    """As where the disk is full: the rest is kept, and says so."""
    leave(place, 7, WINDOW, exported_note(7))
    # In the way of the file.
    (place.trace() / "folder").mkdir(parents=True)
    run = conclude_run(place)
    assert run["processes"][0]["trace"] is None
    assert run["why_partial"] == "the timeline cannot be written: Is a directory"


def test_second_process_of_a_rank_is_told(place: RecordingFolder):
    window = {**WINDOW, "rank": 0, "world_size": 2}
    leave(place, 7, window, exported_note(7))
    leave(place, 8, window, exported_note(8, cycles=2))
    run = conclude_run(place)
    assert [process["pid"] for process in run["processes"]] == [7]
    note = "2 processes recorded as rank 0: the one with most steps, process 7, is kept"
    assert run["notes"] == [note]
    assert files(place) == ["run.json", "trace.rank0.json.gz"]


def test_workers_without_a_rank_are_told_apart(place: RecordingFolder):
    for pid in (7, 8):
        leave(place, pid, {**WINDOW, "rank": None, "world_size": 2}, exported_note(pid))
    run = conclude_run(place)
    assert [process["trace"] for process in run["processes"]] == [
        "trace.json.gz",
        "trace.pid8.json.gz",
    ]


def test_counters_of_a_program_without_torch_are_all_there_is(place: RecordingFolder):
    leave(place, 7, {"event": "python", "version": "3.12"})
    run = conclude_run(place)
    assert (run["complete"], run["why_partial"]) == (True, "")
    assert run["notes"] == ["the program did not import torch: counters only"]
    assert run["cycles"]["by"] is None


@pytest.mark.parametrize(
    ("plan", "watched"), [(RecordPlan(marker="step"), COUNTERS), (RecordPlan(), NO_COUNTERS)]
)
def test_program_without_torch_of_which_more_was_asked(
    place: RecordingFolder, plan: RecordPlan, watched: Watched
):
    leave(place, 7, {"event": "python", "version": "3.12"})
    run = conclude_run(place, replace(PROGRAM, plan=plan), watched)
    assert run["why_partial"] == "the program did not import torch: counters only"


def test_exit_code_says_more_than_that_it_ended(place: RecordingFolder):
    leave(place, 7, WINDOW, exported_note(7, cycles=2, why="the program ended"))
    run = conclude_run(place, replace(PROGRAM, ended=ProgramEnd(4, "", 4)))
    assert run["why_partial"] == "the program ended with exit code 4, after 2 of 3 steps"


def test_secrets_of_the_command_are_not_kept(place: RecordingFolder):
    run = conclude_run(place, replace(PROGRAM, command=("python", "a.py", "--token", "abc")))
    assert run["command"] == ["python", "a.py", "--token", "***"]


def test_program_that_tidies_up(place: RecordingFolder):
    """Notes are lost with the folder they lie in; the counters are not."""
    shutil.rmtree(place.control)
    assert "no Python process loaded the recorder" in conclude_run(place)["why_partial"]
    assert files(place) == ["run.json"]


def test_nothing_is_lost_where_it_cannot_be_put(place: RecordingFolder):
    """As where the folder was locked meanwhile."""
    leave(place, 7, WINDOW, exported_note(7))
    for path in (place.trace(), place.run_file):
        (path / "folder").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"run\.json: cannot be written"):
        conclude(PROGRAM, COUNTERS, place)
    assert (place.control / "trace-7.json").read_text() == TRACE


def test_full_disk_leaves_room_for_the_rest(
    place: RecordingFolder, monkeypatch: pytest.MonkeyPatch
):
    def fill(raw: Path, _packed: Path, _cut: str) -> None:
        assert raw.exists()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(traces, "pack", fill)
    leave(place, 7, WINDOW, exported_note(7))
    (recorded,) = traces.collect_traces(read_notes(place.control), place)
    assert recorded.why_partial == "the timeline cannot be written: No space left on device"
    assert not (place.control / "trace-7.json").exists()


def test_captures_that_find_no_room_are_said(
    place: RecordingFolder, monkeypatch: pytest.MonkeyPatch
):
    def fill(*_paths: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(traces, "collect_captures", fill)
    leave(place, 7, WINDOW, exported_note(7))
    run, _ = conclude(PROGRAM, COUNTERS, place)
    assert "captured graphs of process 7 are lost: No space left on device" in run["notes"]


def test_folder_that_is_gone(place: RecordingFolder):
    shutil.rmtree(place.folder)
    with pytest.raises(OutputError, match=r"run\.json: cannot be written"):
        conclude(PROGRAM, COUNTERS, place)
