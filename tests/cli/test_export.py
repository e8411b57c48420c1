"""`timesink export`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import timesink
from builders import kernel, kineto, operator, python_call, training_trace, write

BOTH = pytest.mark.parametrize("name", ["out.json", "out.json.gz", "tables"])


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write(tmp_path / "small.json", training_trace(1))


@BOTH
def test_export_can_be_opened(run, small: Path, tmp_path: Path, name: str):
    outcome = run("export", small, "-o", tmp_path / name)
    assert outcome.code == 0
    assert f"Wrote {tmp_path / name}" in outcome.out
    assert timesink.open(tmp_path / name).device.height == timesink.open(small).device.height > 0


def test_json_is_plain_json(run, small: Path, tmp_path: Path):
    outcome = run("export", small, "-o", tmp_path / "out.json")
    count = len(json.loads((tmp_path / "out.json").read_bytes())["traceEvents"])
    assert f"({count} events)" in outcome.out


@BOTH
def test_an_export_goes_to_a_new_folder_and_is_replaced(
    run, decline, small: Path, tmp_path: Path, name: str
):
    place = tmp_path / "new" / name
    for _ in range(2):
        assert run("export", small, "-o", place).code == 0
    if place.is_file():
        place.write_text("{}")
        message, hint = decline("export", small, "-o", place)
        assert "already exists" in message
        assert "--force" in hint
        assert run("export", small, "-o", place, "--force").code == 0


def test_folder_of_others_is_never_replaced(decline, tmp_path: Path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1").touch()
    message, _ = decline("export", timesink.sample(), "-o", tmp_path / "thesis", "--force")
    assert "not written by timesink" in message
    assert (tmp_path / "thesis" / "chapter1").exists()


def test_current_folder_is_never_replaced(decline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "mine").touch()
    monkeypatch.chdir(tmp_path)
    decline("export", timesink.sample(), "-o", ".", "--force")
    assert (tmp_path / "mine").exists()


def test_json_over_a_folder(decline, tmp_path: Path):
    (tmp_path / "out.json").mkdir()
    message, _ = decline("export", timesink.sample(), "-o", tmp_path / "out.json", "--force")
    assert "it is a folder" in message


def test_output_is_refused_before_the_input_is_read(decline, tmp_path: Path):
    (tmp_path / "out.json").touch()
    message, _ = decline("export", tmp_path / "nowhere.json", "-o", tmp_path / "out.json")
    assert "already exists" in message


def test_next_command_is_quoted(run, small: Path, tmp_path: Path):
    outcome = run("export", small, "-o", tmp_path / "my tables")
    assert f"timesink query '{tmp_path}/my tables'" in outcome.out


def test_call_stacks_from_nesting_are_exported(run, tmp_path: Path):
    functions = [python_call("main", 0, 100), python_call("forward", 10, 50)]
    source = write(tmp_path / "a.json", kineto([*functions, operator("aten::mm", 20, 10)]))
    run("export", source, "-o", tmp_path / "tables")
    stacks = timesink.open(tmp_path / "tables").host.filter(name="aten::mm")["call_stack"]
    assert stacks.to_list() == ["forward;main"]


def test_the_own_clock_moves_events_and_keeps_them(run, tmp_path: Path):
    recorded = timesink.open(timesink.sample())
    for name in ("own.json.gz", "own"):
        assert run("export", timesink.sample(), "-o", tmp_path / name, "--own-clock").code == 0
        exported = timesink.open(tmp_path / name)
        assert exported.host["name"].to_list() == recorded.host["name"].to_list()
        ends = [
            (trace.host["ts_ns"] + trace.host["dur_ns"]).max() for trace in (exported, recorded)
        ]
        assert ends[0] < ends[1]
        kernels = [
            trace.device.filter(kind="kernel")["dur_ns"].sum() for trace in (exported, recorded)
        ]
        assert kernels[0] == kernels[1] > 0


def test_the_own_clock_is_refused_with_the_reason(decline, tmp_path: Path):
    plain = write(tmp_path / "plain.json", kineto([kernel("gemm", 20, 7, 1)]))
    message, hint = decline("export", plain, "-o", tmp_path / "own.json", "--own-clock", code=2)
    assert message.endswith(
        ": times without profiler overhead are not known: the overhead of this profiler is unknown"
    )
    assert "timesink record" in hint
    assert not (tmp_path / "own.json").exists()


@pytest.mark.parametrize("clock", [[], ["--own-clock"]])
def test_the_critical_path_is_arrows_between_marked_events(run, tmp_path: Path, clock: list[str]):
    place = tmp_path / "path.json"
    assert run("export", timesink.sample(), "-o", place, "--critical-path", *clock).code == 0
    events = json.loads(place.read_bytes())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    marked = [event for event in slices if event["args"].get("critical") == 1]
    assert 0 < len(marked) < len(slices)
    assert all(0 < event["args"]["critical us"] <= event["dur"] + 0.001 for event in marked)
    arrows = [event for event in events if event.get("cat") == "critical_path"]
    starts, ends = (
        {event["id"]: event for event in arrows if event["ph"] == phase} for phase in "sf"
    )
    assert starts.keys() == ends.keys()
    assert len(starts) + len(ends) == len(arrows) > 0
    # Each end lies in an event of the path, of its process or device: slices of one stream that
    # cross have a lane of their own.
    spans = {(event["pid"], event["ts"], event["dur"]) for event in marked}
    for event in arrows[:: len(arrows) // 20]:
        assert any(pid == event["pid"] and ts <= event["ts"] <= ts + dur for pid, ts, dur in spans)
    assert not [
        candidate
        for candidate in events
        if candidate.get("args", {}).get("critical") and candidate["ph"] != "X"
    ]


def test_a_path_without_a_timeline_is_refused(decline, tmp_path: Path):
    table = timesink.sample_runs()[0]
    message, _ = decline("export", table, "-o", tmp_path / "a.parquet", "--critical-path", code=2)
    assert "no timeline" in message
