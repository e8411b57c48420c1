"""`timesink info`."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from builders import kineto, operator, training_trace, write

KEYS = {
    "events",
    "operators",
    "runtime_calls",
    "kernels",
    "memcpys",
    "memsets",
    "memory_events",
    "counters",
    "steps",
    "vendor",
    "devices",
    "ranks",
    "span_us",
    "device_span_us",
    "device_busy_us",
    "health",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two ranks of a job of four."""
    place = tmp_path / "job"
    place.mkdir()
    for rank in (0, 2):
        document = training_trace(rank + 1)
        document["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 4}
        write(place / f"rank{rank}.1.pt.trace.json", document)
    return place


def test_text(run):
    outcome = run("info", timesink.sample())
    assert outcome.code == 0
    assert "NVIDIA H200" in outcome.out
    assert "918 kernels" in outcome.out


def test_json(run):
    answer = run("info", timesink.sample(), "--format", "json").json
    assert answer.keys() >= KEYS
    assert (answer["events"], answer["kernels"], answer["steps"]) == (10925, 918, 2)
    assert answer["device_busy_us"] == 41861.707
    assert answer["ranks"] == [0]
    assert [device["name"] for device in answer["devices"]] == ["NVIDIA H200"]
    assert {"overlapping_slices", "rank_assumed"} == {entry["code"] for entry in answer["health"]}


def test_json_of_a_folder_has_totals_and_parts(run, folder: Path):
    answer = run("info", folder, "--format", "json").json
    assert answer.keys() >= KEYS
    assert answer["ranks"] == [0, 2]
    assert (answer["steps"], [part["steps"] for part in answer["traces"]]) == (4, [1, 3])
    missing = next(entry for entry in answer["health"] if entry["code"] == "missing_rank")
    assert missing["example"] == "1, 3"


def test_text_of_a_folder_has_a_line_per_trace(run, folder: Path):
    lines = run("info", folder).out.splitlines()
    assert lines[0].startswith("job: 100 events in 2 traces; devices were busy")
    assert [line.split()[:4] for line in lines[4:6]] == [
        ["rank0", "span", "1", "0"],
        ["rank2", "span", "1", "2"],
    ]


def test_unreadable_file_of_a_folder_is_told(run, folder: Path):
    (folder / "rank1.1.pt.trace.json").write_bytes(b"nothing")
    answer = run("info", folder, "--format", "json").json
    assert answer["ranks"] == [0, 2]
    (entry,) = (entry for entry in answer["health"] if entry["code"] == "unreadable_file")
    assert "rank1" in entry["example"]


def test_choice_in_a_folder(run, folder: Path):
    assert run("info", folder, "--rank", "2", "--format", "json").json["ranks"] == [2]


def test_exported_folder(run, tmp_path: Path):
    run("export", timesink.sample(), "-o", tmp_path / "tables")
    assert run("info", tmp_path / "tables", "--format", "json").json["kernels"] == 918


def test_page_loads_nothing_and_shows_names_as_they_are(run, tmp_path: Path):
    file = write(tmp_path / "<b>x.json", kineto([operator("a", 1, -2)]))
    page = run("info", file, "--format", "html").out
    assert page.startswith("<!doctype html>")
    assert "<b>x" not in page
    assert "<h1>&lt;b&gt;x.json: 1 event" in page
    assert "default-src 'none'" in page


@pytest.mark.parametrize(
    ("name", "start"), [("a.html", "<!doctype"), ("a.json", "{"), ("a.txt", "unet")]
)
def test_output_file_chooses_the_format(run, tmp_path: Path, name: str, start: str):
    outcome = run("info", timesink.sample(), "-o", tmp_path / name)
    assert (outcome.code, outcome.out) == (0, "")
    assert f"Wrote {tmp_path / name}" in outcome.err
    assert (tmp_path / name).read_text().startswith(start)


def test_existing_output_is_kept_without_force(run, decline, tmp_path: Path):
    (tmp_path / "a.json").write_text("mine")
    message, hint = decline("info", timesink.sample(), "-o", tmp_path / "a.json")
    assert "already exists" in message
    assert "--force" in hint
    assert (tmp_path / "a.json").read_text() == "mine"
    assert run("info", timesink.sample(), "-o", tmp_path / "a.json", "--force").code == 0
    assert (tmp_path / "a.json").read_text().startswith("{")


@pytest.mark.parametrize(
    "name", ["a b.json", "été 中文.json", "[red]x[bold].json", "x:key:.json", "a\x1b[31m\n.json"]
)
def test_file_names_are_shown_as_they_are(run, tmp_path: Path, name: str):
    file = write(tmp_path / name, kineto([operator("[bold]a[/]", 1, 2)]))
    outcome = run("info", file)
    assert outcome.code == 0
    expected = name.replace("\x1b", "\\x1b").replace("\n", "\\n")
    assert outcome.out.startswith(f"{expected}: 1 event")
    assert "\x1b" not in outcome.out


def test_file_name_that_is_not_utf8(run, tmp_path: Path):
    name = b"tr\xff.json".decode("utf-8", "surrogateescape")
    try:
        file = write(tmp_path / name, training_trace(1))
    except OSError:
        pytest.skip("this file system wants UTF-8 names")
    assert run("info", file).code == 0
    assert run("info", file, "-o", tmp_path / "a.html").code == 0
    assert run("info", file, "--format", "json").json["steps"] == 1
