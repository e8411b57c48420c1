"""Severity follows what a finding saves, and every view of an answer has the same first one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

import timesink
from shared_folder import find_shared
from thinning import IS_SEARCH
from timesink.analyses.replay.changes import change_of
from timesink.answers.analysis.report import Analysis
from timesink.model.findings import HIGH, HIGH_SAVING, LOW, MEDIUM, MEDIUM_SAVING, RunFinding
from timesink.rules.register import catalogue
from timesink.rules.steps import complete_steps

_SMALL = 120_000
"""Bytes of a recording that takes a tenth of a second."""
DATA = (find_shared() or Path("nowhere")) / "data"
RANK0 = "h200/traces/ddp8_normal/rank0.1794703754643334605.pt.trace.json.gz"
NAMED = ("h200/traces/cuda_graph", RANK0)
pytestmark = pytest.mark.usefixtures("shared_root")
SMALL = sorted(
    str(file.relative_to(DATA))
    for folder in ("hta", "tracelens", "graphs")
    for file in DATA.joinpath(folder).rglob("*.json.gz")
    if file.stat().st_size < _SMALL
)
if not IS_SEARCH:
    SMALL = SMALL[::12]


@lru_cache(maxsize=4)
def analysis_of(name: str) -> Analysis:
    return timesink.analyze(DATA / name)


@pytest.mark.parametrize("name", [*NAMED, *SMALL])
def test_nothing_is_grave_that_saves_nothing(name: str):
    analysis = analysis_of(name)
    length_ns = complete_steps(analysis.timeline).length_ns
    for finding in analysis.findings:
        saving = finding.cost_ns + finding.between_ns
        assert finding.severity != HIGH or saving > 0, finding
        most = saving or finding.most_ns
        assert finding.severity == LOW or most > 0 or finding.is_warning, finding
        # What has no figure says why, unless it is about the recording.
        assert saving > 0 or finding.no_saving or finding.unknown_saving or finding.is_warning, (
            finding
        )
        assert finding.together_ns <= length_ns * (1 + 1e-9), finding
        assert "<if" not in finding.advice
        assert "</>" not in finding.advice
    graded = [finding for finding in analysis.findings if not finding.is_warning]
    for finding in graded:
        for other in graded:
            if (finding.saving_share or 0.0) > (other.saving_share or 0.0):
                assert (HIGH, MEDIUM, LOW).index(finding.severity) <= (HIGH, MEDIUM, LOW).index(
                    other.severity
                )


@pytest.mark.parametrize(
    ("saving", "severity"),
    [(HIGH_SAVING, HIGH), (0.099, MEDIUM), (MEDIUM_SAVING, MEDIUM), (0.024, LOW), (0.0, LOW)],
)
def test_what_is_saved_decides_and_not_what_is_concerned(saving: float, severity: str):
    assert RunFinding("rule", "Sentence.", share=0.9, saving_share=saving).severity == severity


def test_warnings_about_the_recording_are_medium_at_most():
    finding = RunFinding("rule", "Sentence.", share=0.9, saving_share=0.0, is_warning=True)
    assert finding.severity == MEDIUM


def test_every_rule_without_a_saving_says_why_or_warns():
    priced = {rule for rule, row in catalogue()["run"].items() if row.get("basis")}
    silent = {
        rule
        for rule, row in catalogue()["run"].items()
        if rule not in priced and not row.get("unknown") and not row.get("warning")
    }
    assert silent == set()


class TestCollectivesOfTheHost:
    def test_nccl_has_its_own_saving_and_overlap_its_own(self):
        findings = {finding.id: finding for finding in analysis_of(RANK0).findings}
        gloo, overlap = findings["gloo-on-devices"], findings["exposed-communication"]
        exposed = overlap.share * complete_steps(analysis_of(RANK0).timeline).length_ns
        assert gloo.severity == HIGH
        assert 0.5 * exposed < gloo.cost_ns <= 1.001 * exposed
        assert "nccl" in gloo.advice
        assert (overlap.severity, overlap.cost_ns) == (LOW, 0.0)
        assert "Overlap" not in overlap.advice

    def test_their_gaps_are_not_told_again(self):
        gain_ns = {finding.id: finding.cost_ns for finding in analysis_of(RANK0).findings}
        assert gain_ns["gloo-on-devices"] > 40_000_000
        assert gain_ns.get("large-gaps", 0) < 5_000_000
        # A thread that goes on when a collective of another ends waits for it: no graph helps.
        saved = timesink.whatif(DATA / RANK0, ["graph cycle"]).saving_ns
        assert saved < 20_000_000


class TestAGraphThatIsReplayed:
    def test_the_wait_is_first_with_what_its_removal_saves(self):
        analysis = analysis_of("h200/traces/cuda_graph")
        first = analysis.findings[0]
        assert (first.id, first.severity) == ("synchronisation", HIGH)
        assert "aten::item" in first.title
        saved = timesink.whatif(
            DATA / "h200/traces/cuda_graph", [change_of("remove sync:aten::item")]
        ).saving_ns
        assert first.cost_ns == pytest.approx(saved, rel=0.02)
        advice = "read the value of aten::item after the loop or every few steps"
        assert f"Biggest saving: {advice} (at most " in analysis.headline

    def test_it_is_not_told_to_replay_graphs(self):
        for finding in analysis_of("h200/traces/cuda_graph").findings:
            assert "CUDA graphs" not in finding.advice
