"""Files beside recordings that hold anything: they are damaged, and all else goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ab_runs import planned_runs
from asking import Browser
from builders import write
from recorded_runs import loop_trace, write_recording
from timesink.cli import main
from timesink.errors import UnreadableError, UsageError
from timesink.formats.small_files import (
    MAX_BYTES,
    MAX_DEPTH,
    DamagedError,
    last_lines,
    option_text,
    read_small_json,
)
from timesink.sources.ab_folder import is_ab, read_ab, write_ab
from timesink.sources.opening import open_trace
from timesink.sources.run_facts import with_topology
from timesink.sources.sidecars import run_file_in
from timesink.sources.watch_folder import told_values
from watch_folders import WatchedProgram


def _deep(levels: int, schema: str = "") -> bytes:
    return f'{{"schema":"{schema}","a":{"[" * levels}{"]" * levels}}}'.encode()


def _contents(schema: str) -> dict[str, bytes]:
    head = f'{{"schema":"{schema}",'.encode()
    return {
        "deep": _deep(1500, schema),
        "rather deep": _deep(200, schema),
        "hidden deep": head + b'"b":"' + b"]" * 3000 + b'","a":' + b"[" * 1500 + b"]" * 1500 + b"}",
        "no UTF-8": head + b'"why_partial":"\xff","state":"\xff"}',
        "no UTF-8 in a key": head + b'"\xff":1}',
        "cut": head,
        "empty": b"",
        "NaN": head + b'"time_us":NaN}',
        "huge": head + b'"time_us":1' + b"0" * 5000 + b"}",
        "large": head + b'"time_us":1' + b"0" * 300 + b',"pid":1e308}',
        "a list": b"[1]",
        "null": b"null",
        "zeros": bytes(5000),
        "of lists": head + b'"state":[],"runs":[[1]],"processes":{},"base":7,"remarks":9}',
        "of nulls": head + b'"state":null,"runs":null,"processes":[null],"base":null}',
        "surrogate": head + b'"state":"\\ud800","why_partial":"\\ud800"}',
    }


_ASKED_TOO = ("deep", "of lists")
"""Of these every page and command is asked; of the others a listing, which reads the same."""
_LISTED = (*_ASKED_TOO, "no UTF-8", "cut", "of nulls", "surrogate")
"""Damage of every sort of reader: what a decoder refuses, and values of other types."""
SCHEMAS = {
    "ab/ab.json": "timesink/ab/1",
    "watch/watch.json": "timesink/watch/1",
    "watch/status.json": "timesink/watch-status/1",
    "watch/series.json": "timesink/watch-series/1",
    "watch/incidents/2-decode/incident.json": "timesink/incident/1",
    "recorded/run.json": "timesink/run/1",
    "trace/run.json": "timesink/run/1",
    "trace/ab.json": "timesink/ab/1",
}


@pytest.fixture
def served_folder(tmp_path: Path) -> Path:
    """A folder with one of each sort of run."""
    root = tmp_path / "served"
    (root / "ab").mkdir(parents=True)
    write_ab(planned_runs(), root / "ab")
    WatchedProgram(root / "watch", now_us=1_700_000_000_000_000).with_incident(recorded=False)
    write_recording(root / "recorded")
    (root / "trace").mkdir()
    write(root / "trace" / "unet.json", loop_trace(2))
    return root


def check_served(folder: Path, damaged: str = "", *, with_pages: bool = False) -> None:
    """The runs are listed, what was watched answers, and so do pages of runs, if asked."""
    browser = Browser.of(folder)
    listed = browser.get("api/runs")
    assert {"recorded", "trace"} <= {run["name"] for run in listed["runs"]}
    for watch in listed["watches"]:
        reply = browser.reply("api/watch", name=watch["name"])
        assert reply.status_code in {200, 400, 404, 422}, reply.text
    for run in listed["runs"] if with_pages else ():
        if run["name"] != damaged or damaged in {"recorded", "trace"}:
            worker = run["workers"][0]
            query = {"run": run["name"], "worker": worker["name"], "span": worker["spans"][0]}
            assert browser.reply("api/document", **query).status_code == 200, run


@pytest.mark.parametrize("file", SCHEMAS)
def test_a_server_answers_for_the_other_runs_where_a_file_holds_other_values(
    file: str, served_folder: Path
):
    (served_folder / file).write_bytes(_contents(SCHEMAS[file])["of lists"])
    is_incident = file.endswith("incident.json")
    check_served(served_folder, Path(file).parts[0], with_pages=is_incident)


@pytest.mark.parametrize("damage", [name for name in _LISTED if name != "of lists"])
def test_a_server_answers_where_all_such_files_are_damaged(damage: str, served_folder: Path):
    for file, schema in SCHEMAS.items():
        (served_folder / file).write_bytes(_contents(schema)[damage])
    check_served(served_folder)


@pytest.mark.parametrize("file", ["recorded/run.json", "trace/run.json", "trace/ab.json"])
def test_commands_work_or_give_one_line_whatever_a_file_holds(
    file: str, served_folder: Path, capsys: pytest.CaptureFixture[str]
):
    place = served_folder / file
    contents = _contents(SCHEMAS[file])
    for damage in _LISTED:
        place.write_bytes(contents[damage])
        for command in ("info", "analyze") if damage in _ASKED_TOO else ("info",):
            code = main([command, str(place.parent)])
            output = capsys.readouterr()
            assert code in {0, 1} or (damage, output.err) == "", (damage, code, output.err)
            assert "internal" not in output.err, (damage, output.err)
            assert "Traceback" not in output.err
            if code:
                assert output.err.count("\n") <= 2, (damage, output.err)


@pytest.mark.parametrize("damage", ["deep", "no UTF-8", "NaN", "cut"])
@pytest.mark.parametrize("folder", ["recorded", "trace"])
def test_damage_beside_a_trace_is_told_with_its_health(
    damage: str, folder: str, served_folder: Path, capsys: pytest.CaptureFixture[str]
):
    (served_folder / folder / "run.json").write_bytes(_contents("timesink/run/1")[damage])
    assert main(["info", str(served_folder / folder), "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    entry = next(item for item in answer["health"] if item["code"] == "bad_run_file")
    assert entry["example"].startswith("run.json: damaged (")


def test_a_pipe_is_not_waited_for(served_folder: Path):
    (served_folder / "ab" / "ab.json").unlink()
    os.mkfifo(served_folder / "ab" / "ab.json")
    with pytest.raises(DamagedError, match="no regular file"):
        read_ab(served_folder / "ab")
    assert not is_ab(served_folder / "ab")
    os.mkfifo(served_folder / "trace" / "run.json")
    assert run_file_in(served_folder / "trace") is None


def test_one_reader_says_damaged_of_all(tmp_path: Path):
    readers: list[Callable[[Path], object]] = [read_small_json, told_values]
    file = tmp_path / "status.json"
    file.write_bytes(_deep(MAX_DEPTH - 1))
    assert all(reader(file) for reader in readers)
    broken = {name: text for name, text in _contents("s").items() if not name.startswith("of ")}
    for damage, content in broken.items():
        if damage in {"large", "surrogate"}:
            continue
        file.write_bytes(content)
        for reader in readers:
            with pytest.raises(UnreadableError) as caught:
                reader(file)
            assert caught.value.message.startswith(f"{file}: damaged ("), damage
            assert "\n" not in caught.value.message
    file.unlink()
    file.mkdir()
    with pytest.raises(DamagedError, match="a folder"):
        read_small_json(file)


# -- texts -----------------------------------------------------------------------------------------


def test_a_file_that_an_option_names_is_read_as_text(tmp_path: Path):
    file = tmp_path / "rules.txt"
    file.write_bytes(b"\xef\xbb\xbfa\r\nb\n")
    assert option_text(file, "--families", "give rules") == "a\nb\n"


def test_it_may_be_a_pipe_as_shells_make_them():
    reader, writer = os.pipe()
    os.write(writer, b"a = 1")
    os.close(writer)
    try:
        assert option_text(Path(f"/dev/fd/{reader}"), "--budget", "") == "a = 1"
    finally:
        os.close(reader)


@pytest.mark.parametrize(
    ("content", "sentence"), [(b"\xff", "is not text"), (b"a" * (MAX_BYTES + 1), "larger than")]
)
def test_what_is_no_small_text_is_refused(tmp_path: Path, content: bytes, sentence: str):
    file = tmp_path / "rules.txt"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=sentence):
        option_text(file, "--families", "")


def test_a_file_that_is_not_there_and_a_folder_are_told(tmp_path: Path):
    with pytest.raises(UnreadableError, match=r"rules\.txt: no such file or directory"):
        option_text(tmp_path / "rules.txt", "--families", "")
    with pytest.raises(UsageError, match="is a folder"):
        option_text(tmp_path, "--families", "")


def test_only_the_end_of_a_long_log_is_read(tmp_path: Path):
    log = tmp_path / "run.log"
    log.write_bytes(b"\xff\n" + b"line\n" * 100_000 + b"last\n\n")
    assert last_lines(log, 2) == ["line", "last"]
    log.write_bytes(b"")
    assert last_lines(log, 2) == []


def test_a_sidecar_that_unpacks_to_much_is_left_out(tmp_path: Path):
    file = write(tmp_path / "unet.json", loop_trace(2))
    (tmp_path / "topology.csv").write_bytes(b"category,inventory\n" + b" " * (MAX_BYTES + 1))
    trace = with_topology(open_trace(file, cache=False), tmp_path / "topology.csv")
    assert "larger than" in " ".join(entry.example for entry in trace.health)
