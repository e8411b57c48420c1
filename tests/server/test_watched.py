"""The page of a watched program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from asking import Browser
from timesink.output.terminal import to_text
from timesink.sources.watch_folder import STATUS_FILE
from timesink.watcher.status import status_document
from watch_folders import INCIDENT, WatchedProgram


def block(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """The block of an answer with this id."""
    sections = answer["document"]["sections"]
    return next(
        candidate
        for section in sections
        for candidate in section["blocks"]
        if candidate.get("id") == name
    )


def test_watched_programs_are_listed_with_their_state(tmp_path: Path):
    WatchedProgram(tmp_path / "learns", "learning").write()
    WatchedProgram(tmp_path / "slow").with_incident()
    WatchedProgram(tmp_path / "left", now_us=10**15).write()
    listed = Browser.of(tmp_path).get("api/runs")
    assert {watch["name"]: watch["state"] for watch in listed["watches"]} == {
        "learns": "learning", "slow": "alarm", "left": "gone"
    }  # fmt: skip
    # What the watcher notes is no recording; what it recorded is.
    assert [listed_run["name"] for listed_run in listed["runs"]] == [
        f"slow/incidents/{INCIDENT}/{side}" for side in ("base", "new")
    ]


@pytest.mark.parametrize(
    ("state", "headline"),
    [
        ("waiting", "Waiting for the first step."),
        ("learning", "Learning step times: 412 of 1 000 steps."),
        ("watching", "Step times are as expected: 24 812 steps, no incident."),
        ("off", "Watching was switched off after 24 812 steps, no incident."),
        ("ended", "The program ended after 10 min: 24 812 steps, no incident."),
    ],
)
def test_a_page_says_the_state(tmp_path: Path, state: str, headline: str):
    WatchedProgram(tmp_path, state).write()
    answer = Browser.of(tmp_path).get("api/watch", name=tmp_path.name)
    assert (answer["state"], answer["gone"]) == (state, False)
    assert answer["document"]["headline"] == headline


def test_an_incident_leads_to_its_comparison_and_its_report(tmp_path: Path):
    WatchedProgram(tmp_path).with_incident()
    browser = Browser.of(tmp_path)
    answer = browser.get("api/watch", name=tmp_path.name)
    slow, took = answer["document"]["headline"].split(" take ")
    assert slow == "Decode steps of process 4243"
    assert took == "31.2 ms instead of 24.0 ms (+30.0 %), for 60 s."
    incident = answer["incidents"][INCIDENT]
    assert incident["report"]
    compared = browser.get("api/compare", base=incident["base"], new=incident["new"])
    assert compared["kind"] == "comparison"
    report = browser.reply("api/watch/report", name=tmp_path.name, incident=INCIDENT)
    assert report.content.endswith(b"Report")
    # Whoever wrote it: it may not ask the server for anything.
    assert report.headers["Content-Security-Policy"].startswith("sandbox allow-scripts ")


@pytest.mark.parametrize("counts_from", ["1970", "its start"])
def test_latency_is_drawn_beside_what_is_expected_with_alarms_as_marks(
    tmp_path: Path, counts_from: str
):
    program = WatchedProgram(tmp_path).with_incident(state="closed")
    if counts_from == "its start":
        series = program.series()
        series["phases"]["decode"]["t_s"] = list(range(program.seconds))
        program.put("series.json", series)
    curves = block(Browser.of(tmp_path).get("api/watch", name=tmp_path.name), "latency-decode")
    assert [curve["name"] for curve in curves["series"]] == [
        "observed",
        "slowest",
        "expected",
        "limit",
    ]
    assert [mark["label"] for mark in curves["marks"]] == ["alarm", "over"]
    began, over = (mark["x"] for mark in curves["marks"])
    assert curves["x"][0] < began < over < curves["x"][-1]
    assert over - began == 45e9
    assert curves["x"][0] == pytest.approx(began - (program.seconds - 60) * 1e9, abs=1e9)
    assert {len(curve["values"]) for curve in curves["series"]} == {len(curves["x"])}


def test_an_incident_without_recording_says_why(tmp_path: Path):
    WatchedProgram(tmp_path).with_incident(recorded=False)
    browser = Browser.of(tmp_path)
    answer = browser.get("api/watch", name=tmp_path.name)
    assert answer["incidents"] == {INCIDENT: {"report": False}}
    assert "no recording: another was made within 60 s" in json.dumps(answer["document"])
    sentence = browser.fails("api/watch/report", 404, name=tmp_path.name, incident=INCIDENT)
    assert "no report of an incident" in sentence


def test_a_watcher_that_no_longer_writes_is_gone(tmp_path: Path):
    program = WatchedProgram(tmp_path).write()
    document = status_document(program.status(), None, now_us=program.now_us + 185_000_000)
    assert document.headline.startswith("The watcher has ended: its last status is 3 min old.")
    assert document.tone == "warning"


def test_the_same_is_told_on_a_terminal(tmp_path: Path):
    program = WatchedProgram(tmp_path).with_incident()
    text = to_text(status_document(program.status(), program.series(), now_us=program.now_us))
    assert "Decode steps of process 4243 take 31.2 ms instead of 24.0 ms" in text
    assert all(word in text for word in (INCIDENT, "gpu_clock", "avg_input_length", "1.3 %"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "not there (yet)"),
        (b"", "damaged"),
        (b'{"state": "watchi', "damaged"),
        (b"[]", "damaged (Expected `object`"),
        (b'{"time_us": 3}', "missing required field `state`"),
        (b'{"state": "watching", "time_us": 3, "cycles": "many"}', "Expected `int`"),
    ],
)
def test_a_status_that_cannot_be_read_is_a_sentence(
    tmp_path: Path, content: bytes | None, sentence: str
):
    WatchedProgram(tmp_path).write()
    file = tmp_path / STATUS_FILE
    file.unlink() if content is None else file.write_bytes(content)
    browser = Browser.of(tmp_path)
    assert browser.get("api/runs")["watches"] == [{"name": tmp_path.name, "state": ""}]
    assert browser.get("api/runs")["runs"] == []
    assert sentence in browser.fails("api/watch", 422, name=tmp_path.name)


@pytest.mark.parametrize("content", [b'{"phases": {"dec', b"7", b'{"started_us": "now"}', b"{}"])
def test_without_curves_the_rest_is_shown_and_says_so(tmp_path: Path, content: bytes):
    WatchedProgram(tmp_path).write()
    (tmp_path / "series.json").write_bytes(content)
    answer = Browser.of(tmp_path).get("api/watch", name=tmp_path.name)
    assert answer["document"]["headline"].startswith("Step times are as expected")
    notes = [
        entry["text"] for entry in answer["document"]["sections"][0]["blocks"] if "text" in entry
    ]
    assert any("series.json" in note for note in notes)


def test_links_of_a_watch_folder_do_not_lead_out(tmp_path: Path):
    secret = tmp_path / "secret"
    WatchedProgram(secret).with_incident()
    served = tmp_path / "served"
    WatchedProgram(served / "a").write()
    (served / "a" / STATUS_FILE).unlink()
    (served / "a" / STATUS_FILE).symlink_to(secret / STATUS_FILE)
    WatchedProgram(served / "b").write()
    (served / "b" / "incidents").symlink_to(secret / "incidents")
    WatchedProgram(served / "c").with_incident()
    report = served / "c" / "incidents" / INCIDENT / "report.html"
    report.unlink()
    report.symlink_to(secret / STATUS_FILE)
    browser = Browser.of(served)
    leads_out = "leads outside the served folder"
    assert leads_out in browser.fails("api/watch", 404, name="a")
    assert browser.get("api/watch", name="b")["incidents"] == {}
    assert "no report" in browser.fails("api/watch/report", 404, name="b", incident=INCIDENT)
    assert leads_out in browser.fails("api/watch/report", 404, name="c", incident=INCIDENT)
    for incident in ("..", f"../../c/incidents/{INCIDENT}"):
        assert "no report" in browser.fails("api/watch/report", 404, name="c", incident=incident)
    assert "no watched program" in browser.fails("api/watch", 404, name="../secret")


def test_a_moment_beyond_all_times_does_not_break_the_page(tmp_path: Path):
    program = WatchedProgram(tmp_path).with_incident(recorded=False)
    status = program.status()
    status["alarms"]["open"][0]["since_s"] = 1e308
    program.put("status.json", status)
    assert Browser.of(tmp_path).reply("api/watch", name=tmp_path.name).status_code == 200
