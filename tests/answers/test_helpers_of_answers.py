"""Small cases of what the helpers of answers give."""

from __future__ import annotations

import timesink
from timesink.analyses.ranks.reading import read_ranks, summarise_recording
from timesink.answers.analysis.report import headline
from timesink.answers.comparison.causes import (
    cause_name,
    cause_title,
    part_name,
    told_counters,
    tone,
    verdict_sentence,
)
from timesink.answers.comparison.slow_steps import diagnosis_document, spans
from timesink.answers.query import run_query
from timesink.answers.views import check_group, find_view, load
from timesink.comparison.reading import with_faults
from timesink.model.diagnosis import CycleTime, Diagnosis
from timesink.model.findings import Cause
from timesink.model.health import recording_notes
from timesink.runtime.engine import LocalEngine
from timesink.sources.discovery import find_recordings


def test_part_name() -> None:
    assert (part_name("device_compute/gemm"), part_name("run_queue")) == (
        "gemm kernels",
        "waits for a core",
    )


def test_verdict() -> None:
    uneven = CycleTime(1e6, 2e6, 100.0, (-30.0, 230.0), 0.4)
    assert (
        verdict_sentence(Diagnosis("no_change", "", uneven, (), (), (), 1e6, ())) == "Not decided"
    )


def test_cause_title() -> None:
    assert cause_title(Cause("gpu_clock", "", process="rank 3")) == "GPU clock in rank 3"


def test_cause_name() -> None:
    assert (cause_name("gpu_clock"), cause_name("slow_link")) == ("GPU clock", "Slow link")


def test_told_counters() -> None:
    assert told_counters(None) == set()


def test_tone() -> None:
    assert (
        tone(Diagnosis("regression", "", CycleTime(1, 2, 100.0, None, None), (), (), (), 1.0, ()))
        == "bad"
    )


def test_diagnosis_document() -> None:
    document = diagnosis_document(timesink.diagnose(timesink.sample_runs()[0]))
    assert [section.id for section in document.sections] == [
        "verdict",
        "next",
        "cycles",
        "times",
        "processes",
    ]


def test_spans() -> None:
    assert (spans([3]), spans([3, 7, 8, 9, 12]), spans([1, 2])) == (
        "3",
        "3, 7 to 9 and 12",
        "1 and 2",
    )


def test_with_faults() -> None:
    assert with_faults(timesink.open(timesink.sample()), ["a note"]) == ("a note",)


def test_recording_notes() -> None:
    assert recording_notes(timesink.open(timesink.sample()).health) == []


def test_headline() -> None:
    assert "GPU is busy " in headline(timesink.open(timesink.sample()))


def test_run_query() -> None:
    trace = timesink.open(timesink.sample())
    assert run_query(trace, "select count(*) as n from steps")["n"].to_list() == [2]


def test_summarise_recording() -> None:
    assert summarise_recording(*find_recordings(timesink.sample()))[:4] == b"PAR1"


def test_read_ranks() -> None:
    recordings = timesink.find_recordings(timesink.sample())
    assert read_ranks(recordings, engine=LocalEngine()).names == ["unet_train"]


def test_load() -> None:
    assert load("steps:find_steps", "timesink.analyses").__name__ == "find_steps"


def test_table_of_a_view() -> None:
    table = find_view("operators").table(timesink.open(timesink.sample()))
    assert table.columns[:2] == ["name", "calls"]


def test_find_view() -> None:
    assert find_view("kernels").title == "Kernels"


def test_check_group() -> None:
    check_group("shape", "operators")
