"""Published schemas: every answer as JSON is valid by the schema of its name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import timesink
from timesink.answers.analysis.document import analysis_document
from timesink.answers.comparison.baselines import baseline_values
from timesink.answers.comparison.document import comparison_document
from timesink.answers.info_report import describe_input
from timesink.answers.kernels.kernels_json import KernelRunsJson
from timesink.answers.peaks import known_peaks, peaks_dict
from timesink.comparison.gate.baseline_store import save_baseline
from timesink.comparison.gate.history_rows import add_runs
from timesink.formats.small_files import plain_values
from timesink.output.blocks import Document
from timesink.output.json import to_json
from timesink.sources.discovery import input_of

jsonschema = pytest.importorskip("jsonschema")

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"
SAMPLE = timesink.sample()
OLD, NEW = timesink.sample_runs()


@cache
def schema(name: str) -> Any:
    return jsonschema.Draft202012Validator(json.loads((FOLDER / f"{name}.json").read_text()))


def problems(answer: Mapping[str, Any], name: str) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in schema(name).iter_errors(answer)]


def history_values(store: Path) -> dict[str, Any]:
    for day, run in enumerate([OLD, OLD, NEW]):
        add_runs("main", [run], store, commit=f"made-up-{day}", time_us=day)
    return timesink.history("@main", store=store).to_dict()


def saved_values(store: Path) -> dict[str, Any]:
    return baseline_values(save_baseline("main", SAMPLE, store))


def pages(document: Document) -> dict[str, Any]:
    """A document as pages get it."""
    return dict(json.loads(to_json(document)))


ANSWERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "info": lambda _: describe_input(input_of(SAMPLE)).to_dict(),
    "info of a folder": lambda _: describe_input(input_of(SAMPLE.parent)).to_dict(),
    "analysis": lambda _: timesink.analyze(SAMPLE).to_dict(),
    "analysis of recorded steps": lambda _: timesink.analyze(SAMPLE, steps=3).to_dict(),
    "kernels": lambda _: timesink.kernels(SAMPLE).to_dict(),
    "kernels of several": lambda _: plain_values(
        KernelRunsJson.of([timesink.kernels(SAMPLE).json])
    ),
    "cycles": lambda _: timesink.cycles(SAMPLE).to_dict(),
    "behaviour": lambda _: timesink.behaviour(SAMPLE).to_dict(),
    "comparison": lambda _: timesink.compare(OLD, NEW).to_dict(),
    "comparison of timelines": lambda _: timesink.compare(SAMPLE, SAMPLE).to_dict(),
    "diagnosis": lambda _: timesink.diagnose(OLD).to_dict(),
    "whatif": lambda _: timesink.whatif(SAMPLE, ["scale kernel:*=0.5"], best=True).to_dict(),
    "peaks": lambda _: peaks_dict(known_peaks()),
    "history": history_values,
    "baseline": saved_values,
    "document": lambda _: pages(analysis_document(timesink.analyze(SAMPLE))),
    "document of a comparison": lambda _: pages(comparison_document(timesink.compare(OLD, NEW))),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_valid(name: str, tmp_path: Path):
    answer = json.loads(json.dumps(ANSWERS[name](tmp_path), allow_nan=False))
    assert problems(answer, name.partition(" ")[0]) == []


def test_a_schema_refuses_what_is_none():
    answer = timesink.kernels(SAMPLE).to_dict()
    del answer["headline"]
    assert problems(answer, "kernels") != []
    assert problems(timesink.cycles(SAMPLE).to_dict() | {"runs": [{}]}, "cycles") != []
