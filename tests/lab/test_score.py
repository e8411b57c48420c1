"""Scores of recordings whose fault is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from timesink.errors import NotFoundError
from timesink.output.markdown import to_markdown
from timesink.output.terminal import to_text
from timesink_lab.faults import Expected
from timesink_lab.score import DiagnosisAnswer, LabRecording, LabScore, ScoredCase, score
from timesink_lab.score_document import score_document

RENDERERS = {
    "text": lambda score: to_text(score_document(score), 400),
    "md": lambda score: to_markdown(score_document(score)),
    "json": lambda score: json.dumps(score.to_dict()),
}


def case(
    fault: str,
    expected: Expected,
    anomalies: tuple[str, ...] = (),
    causes: tuple[str, ...] = (),
    verdict: str = "no_change",
    *,
    name: str = "",
) -> ScoredCase:
    answer = DiagnosisAnswer(verdict, 1.0, anomalies, causes, 0, 0, 0)
    return ScoredCase("denoise", name or f"{fault}-1", fault, expected, answer)


HOG = Expected("cpu_contention", "cpu_contention")
STALL = Expected(cause="host_code")
MADE_UP = LabScore(
    "lab",
    {"gpu": "NVIDIA H200", "cores": 16, "torch": "2.9.0", "cycles": 40},
    (
        case("cpu_hog", HOG, ("cpu_contention",), ("cpu_contention",), "regression"),
        case("cpu_hog", HOG, ("cpu_contention",), (), "regression"),
        case("python_stall", STALL, ("gpu_clock",), ("host_code",), "regression"),
        case("python_stall", STALL),
        case("normal", Expected(), name="normal-1 vs normal-2"),
        case("normal", Expected(), verdict="improvement", name="normal-2 vs normal-1"),
        case("normal", Expected(), ("disk_io",), name="normal-2 vs normal-3"),
        case("normal", Expected(), verdict="incomparable", name="normal-3 vs normal-2"),
    ),
    ("denoise/more_work-1: cut off",),
)


def test_a_fault_is_right_if_every_list_that_is_asked_for_begins_with_it():
    rates = MADE_UP.rates
    counted = {name: (rate.hits, rate.trials) for name, rate in rates.items()}
    assert counted == {
        "right": (2, 4),
        "anomaly_first": (2, 2),
        "cause_first": (2, 4),
        "anomaly_beside_code_fault": (1, 2),
        # Both orders of a pair are one trial.
        "named_without_fault": (1, 2),
        "verdict_without_fault": (1, 2),
    }


def test_the_confusion_table_has_what_was_met_first():
    assert MADE_UP.confusion == {
        "cpu_hog": {"cpu_contention": 2},
        "python_stall": {"host_code": 1, "none": 1},
        "normal": {"none": 2, "disk_io": 1, "no verdict": 1},
    }


@pytest.mark.parametrize("form", RENDERERS)
def test_every_form_has_faults_names_intervals_and_what_was_left_out(form: str):
    text = RENDERERS[form](MADE_UP)
    for part in ("python_stall", "host_code", "none", "NVIDIA H200", "more_work-1: cut off"):
        assert part in text
    if form == "json":
        answer = json.loads(text)
        assert answer["rates"]["right"]["ci95"] == pytest.approx([0.150, 0.850], abs=1e-3)
        assert [pair["right"] for pair in answer["pairs"]] == [True, False, True, False, True, True,
                                                           False, False]  # fmt: skip
    else:
        assert "2 of 4 faults are named right (50 %, 95 % interval 15 to 85 %)." in text
        alarms = (
            "Of 2 pairs without a fault, in either order, 1 has something named and 1 a verdict"
        )
        assert alarms in text


def test_a_page_says_where_and_how_it_was_made_and_how_to_do_it_again():
    provenance = LabRecording(
        recordings=12,
        devices=("NVIDIA H200, driver 570.1",),
        host=("16 cores, AMD EPYC 9575F",),
        versions=("timesink 0.1.0, torch 2.9.0",),
        days=("2026-11-14", "2026-11-15"),
        cycles=(38, 40),
    )
    page = RENDERERS["md"](replace(MADE_UP, recording_facts=provenance))
    for row in (
        "| device | NVIDIA H200, driver 570.1 |",
        "| recordings | 12, 2 of each fault in each workload |",
        "| steps | 38 to 40 in each recording |",
        "| when | 2026-11-14 to 2026-11-15 |",
        "| all |  | 2 of 4 | 2 of 4 | 50 % | 15 to 85 % |",
    ):
        assert row in page
    again = "--workload denoise --fault cpu_hog python_stall --repeat 2 --cycles 40"
    assert f"timesink lab run -o lab/ {again}" in page


def test_a_folder_without_recordings_is_refused(tmp_path: Path):
    with pytest.raises(NotFoundError, match=r"no recording with a fault.json"):
        score(tmp_path)


def test_names_that_are_wrong_are_in_brackets():
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in RENDERERS["md"](MADE_UP).splitlines()
        if line.startswith(("| put in", "| cpu_hog |", "| python_stall |", "| normal |"))
    ]
    assert rows[:4] == [
        ["put in", "cpu_contention", "disk_io", "host_code", "none", "no verdict"],
        ["cpu_hog", "2", "", "", "", ""],
        ["python_stall", "", "", "1", "(1)", ""],
        ["normal", "", "(1)", "", "2", "(1)"],
    ]


def test_what_was_not_tried_is_no_success():
    only_faults = LabScore("lab", {}, MADE_UP.cases[:1])
    assert "not tried" in RENDERERS["text"](only_faults)
    assert "No pair without a fault was tried." in RENDERERS["md"](only_faults)
