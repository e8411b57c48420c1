"""What every answer says first of a recording that cannot carry it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import to_bytes, write
from cases import STEP, K, O, R
from timesink.answers.analysis.document import PAGES, analysis_document
from timesink.answers.comparison.document import comparison_document
from timesink.answers.comparison.gate_result import gate_of
from timesink.answers.comparison.slow_steps import diagnosis_document
from timesink.answers.cycles import cycles_document
from timesink.answers.info import info_document
from timesink.answers.info_report import describe_folder
from timesink.answers.what_if import what_if_document
from timesink.cli import main
from timesink.comparison.gate.verdict import UNJUDGED, Limit
from timesink.output import terminal
from timesink.output.blocks import Document
from timesink.sources.discovery import Input
from timesink.sources.opening import Opened

VLLM = "graphs/vllm_decode_full/graph_execution.json.gz"
SGLANG = "graphs/sglang_decode/sglang_Qwen3-8B_decode.json.gz"


@pytest.fixture(scope="module")
def vllm(shared_root: Path) -> Path:
    return shared_root / "data" / VLLM


@pytest.fixture(scope="module")
def sglang(shared_root: Path) -> Path:
    return shared_root / "data" / SGLANG


def first_section(document: Document) -> str:
    return document.sections[0].id


def verdict(answer: dict[str, Any]) -> tuple[str, list[str]]:
    return answer["recording"]["fit"], [reason["code"] for reason in answer["recording"]["reasons"]]


class TestAnalyze:
    def test_json(self, vllm: Path, sglang: Path):
        for path, code in ((vllm, "starts_with_backlog"), (sglang, "work_not_recorded")):
            answer = timesink.analyze(path).to_dict()
            assert verdict(answer) == ("partly", [code])
            assert answer["critical_path"]["withheld"] == [code]
            assert answer["clock"]["own_cycle_us"] is None

    @pytest.mark.parametrize("page", [None, *PAGES])
    def test_every_page_begins_with_it(self, sglang: Path, page: str | None):
        assert first_section(analysis_document(timesink.analyze(sglang), page=page)) == "fitness"


def folder_description(path: Path) -> Any:
    trace = timesink.open(path)
    (recording,) = Input(path).recordings
    return describe_folder(str(path), [Opened(recording, trace, None)])


class TestInfo:
    def test_the_headline_leaves_out_what_is_not_known(self, sglang: Path):
        document = info_document(folder_description(sglang))
        assert document.headline.endswith(
            "9.77 ms of device work were recorded; idle time cannot be measured"
        )
        assert first_section(document) == "fitness"

    def test_json_has_it_beside_what_the_recorder_says(self, sglang: Path):
        assert verdict(folder_description(sglang).to_dict()) == ("partly", ["work_not_recorded"])

    def test_a_fit_recording_has_a_fact(self, capsys: pytest.CaptureFixture[str]):
        assert main(["info", str(timesink.sample())]) == 0
        assert "fit          yes\n" in capsys.readouterr().out


class TestComparison:
    def test_an_unfit_side_is_not_judged(self, vllm: Path):
        comparison = timesink.compare(vllm, vllm)
        assert verdict(comparison.to_dict())[0] == "partly"
        assert comparison.diagnosis is not None
        assert comparison.diagnosis.verdict == "incomparable"
        assert "cannot be judged: The first recorded work waited 7.83 ms" in comparison.headline
        assert comparison.diagnosis.causes == ()
        assert first_section(comparison_document(comparison)) == "fitness"

    def test_the_gate_says_what_to_record(self, vllm: Path):
        gate = gate_of(timesink.compare(vllm, vllm), Limit(5.0))
        assert (gate.outcome, gate.exit_code) == (UNJUDGED, 1)
        assert "Start the profiler after a synchronisation" in gate.reasons[0]

    def test_the_exit_code_is_what_was_asked_for(self, vllm: Path):
        words = ["--fail-on", "5%", "--undecided", "125"]
        assert main(["gate", str(vllm), str(vllm), *words]) == 125

    def test_lost_kernels_are_not_judged(self, tmp_path: Path):
        complete, lost = (
            write(tmp_path / f"{name}.json", to_bytes(document)) for name, document in runs()
        )
        assert timesink.compare(complete, complete).diagnosis.verdict == "no_change"
        comparison = timesink.compare(complete, lost)
        assert "cannot be judged: 20 of 120 launch calls" in comparison.headline
        answer = json.loads(timesink.compare(complete, lost).to_json())
        assert answer["recording"]["reasons"][0]["code"] == "work_not_recorded"


def runs() -> list[tuple[str, list[dict]]]:
    """The same program of six steps, once without some of its kernels."""

    def recorded(*, without: range) -> list[dict]:
        events = []
        for number in range(120):
            ts = 100 * number
            if number % 20 == 0:
                events += [STEP(number // 20, ts, 1990), O("aten::mm", ts + 1, 1900)]
            events.append(R(ts + 5, 5, c=1 + number))
            if number not in without:
                events.append(K("gemm", ts + 15, 80, c=1 + number))
        return events

    return [("whole", recorded(without=range(0))), ("lost", recorded(without=range(50, 70)))]


def test_other_answers_begin_with_it(sglang: Path):
    what_if, cycles = timesink.whatif(sglang, best=True), timesink.cycles(sglang)
    diagnosed = timesink.diagnose(sglang)
    documents = (
        what_if_document(what_if),
        cycles_document(cycles),
        diagnosis_document(diagnosed),
    )
    assert {first_section(document) for document in documents} == {"fitness"}
    for answer in (what_if.to_dict(), diagnosed.to_dict(), cycles.to_dict()["runs"][0]):
        assert verdict(answer) == ("partly", ["work_not_recorded"])


def test_neither_a_bottleneck_nor_an_mfu(vllm: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["analyze", str(vllm), "--view", "critical-path"]) == 0
    assert capsys.readouterr().out.startswith("This recording does not show the bottleneck")
    analysis = timesink.analyze(vllm)
    assert analysis.efficiency.step is None
    text = terminal.to_text(analysis_document(analysis))
    assert "No MFU: this recording does not show how long a step takes." in text
