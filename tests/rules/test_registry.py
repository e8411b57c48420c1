"""Every rule can be asked, and every text of the catalogue can be said."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

import timesink.rules
from timesink.model.findings import CAUSES
from timesink.rules.register import catalogue, make_advice, make_cause, make_finding, rules_for

HOME = Path(timesink.rules.__file__).parent
GAPS = {
    "names": "GPU 0",
    "are": "is",
    "doing": "idle",
    "much": "most",
    "tf32": "",
    "images": "",
    "fusing": "",
    "fusion": "",
    "tried": "Less.",
    "process": "rank 3",
    "padded": "30522 to 30528",
    "wide": "fp64",
    "operator": "aten::mm",
    "optimizer": "",
    "wait": "76 %",
}


RULES = catalogue()["rules"]


@pytest.mark.parametrize("question", RULES)
def test_rules_are_functions_that_say_what_they_are_about(question: str):
    rules = rules_for(question)
    assert len(rules) == len(set(RULES[question])) == len(RULES[question])
    assert all(rule.__doc__ for rule in rules)


def test_rules_about_other_work_are_asked_about_any_change():
    assert set(RULES["other work"]) < set(RULES["change"])


@pytest.mark.parametrize("table", ["run", "kernels"])
def test_every_row_has_advice_and_is_used(table: str):
    code = "".join(file.read_text(encoding="utf-8") for file in HOME.glob("*.py"))
    for rule, row in catalogue()[table].items():
        assert "idle_for" in row or f'"{rule}"' in code, rule
        assert row["advice"], rule
        make = make_finding if table == "run" else make_advice
        finding = make(rule, "So much.", GAPS, cost_ns=1.0)
        assert not re.search(r"[{}]", finding.advice + finding.title)
        assert finding.gain_basis == row.get("basis", "")
        assert not make(rule, "So much.", GAPS).gain_basis


def test_every_cause_has_a_name_and_those_of_the_environment_words_for_both_directions():
    for cause in CAUSES:
        row = catalogue()["causes"][cause]
        assert row["name"]
        assert row["advice"]
        if "sentence" in row:
            gaps = {name for _, name, _, _ in Formatter().parse(row["sentence"]) if name}
            assert gaps <= {"device", "metric", "amounts", "change", "own", "capacity"}
            assert not row["relief"].endswith(".")
        for name in ("late", "late_advice"):
            assert len(row.get(name, ())) <= 2


def test_advice_of_several_sorts_is_chosen_by_its_name():
    usual, wide = (
        make_cause("kernel_change", "", advice=name).advice for name in ("advice", "full_precision")
    )
    assert usual.startswith("Look up in the trace")
    assert wide.startswith("Check the precision")
