"""A comparison as a document."""

from __future__ import annotations

from math import fsum

import pytest
from msgspec.structs import replace

from compared import BUSY_HOST, comparison, frame, pair_of, two_runs
from diagnosed import MS, clock_anomaly, clock_cause, component, slow_clock
from diagnosed import symptom as a_symptom
from explorations import sample_exploration
from gated import comparison_of, failed_gate
from timesink.answers.comparison.causes import cause_title
from timesink.answers.comparison.document import comparison_document
from timesink.answers.comparison.gate import error_document
from timesink.answers.comparison.gate_result import gate_of_error
from timesink.comparison.results import TIMES, Workload
from timesink.errors import NotFoundError
from timesink.model.findings import CAUSES, Cause, Evidence
from timesink.output.blocks import Attribution, Causes, Document, Text, Verdict
from timesink.output.json import to_json
from told_documents import blocks, cells, rows, section, table


@pytest.fixture(scope="module")
def slower() -> Document:
    return comparison_document(comparison(two_runs(BUSY_HOST), notes=["One file was left out."]))


def diagnosis_document(**parts: object) -> Document:
    """The document of one pair with a diagnosis made by hand."""
    return comparison_document(comparison_of({"normal vs slow": slow_clock(**parts)}))


class TestAnswer:
    def test_change_and_interval_are_ratios(self):
        (verdict,) = blocks(diagnosis_document(), Verdict)
        assert (verdict.base.value, verdict.new.value) == (58.7 * MS, 72.1 * MS)
        assert (verdict.change, verdict.low, verdict.high) == pytest.approx((0.228, 0.158, 0.301))
        assert verdict.notes == ("Cycle 1 is warm-up.",)

    def test_sides_are_called_as_the_runs(self):
        (verdict,) = blocks(diagnosis_document(), Verdict)
        assert (verdict.base.label, verdict.new.label) == ("base: normal", "new: slow")

    def test_notes_come_last(self, slower: Document):
        assert Text("One file was left out.") in slower.sections[-1].blocks

    def test_unequal_work_is_a_warning(self):
        reasons = ("64 layers make a batch.", "They are marked otherwise.")
        unequal = Workload(comparable=False, reasons=reasons, work_ratio=None)
        document = comparison_document(comparison(pair_of(workload=unequal)))
        assert document.tone == "warning"
        assert blocks(document, Verdict)[0].verdict == "incomparable"
        assert Text(reasons[1], "warning") in section(document, "verdict").blocks
        assert "notes" not in {part.id for part in document.sections}


class TestAttribution:
    def test_parts_add_up_to_the_change(self):
        (attribution,) = blocks(diagnosis_document(), Attribution)
        assert fsum(row.change for row in attribution.rows) == pytest.approx(attribution.change)
        assert attribution.rows[0].name == "host code"

    def test_what_no_part_holds_is_a_row(self):
        (attribution,) = blocks(
            diagnosis_document(attribution=(component("host_cpu", 44.0, 52.0),)), Attribution
        )
        assert [row.name for row in attribution.rows] == ["host code", "not attributed"]
        assert fsum(row.change for row in attribution.rows) == pytest.approx(attribution.change)

    def test_only_what_was_tested_is_sure(self):
        (attribution,) = blocks(diagnosis_document(), Attribution)
        sure = {row.id: row.sure for row in attribution.rows}
        assert sure["host_cpu"]
        assert not sure["launch_gap"]


class TestCauses:
    def test_a_cause_says_what_it_explains(self):
        (card, *_) = blocks(diagnosis_document(), Causes)[0].items
        assert (card.cause, card.role, card.title) == ("gpu_clock", "cause", "GPU clock")
        assert card.share == pytest.approx(clock_cause().cost_ns / (13.4 * MS))

    def test_anomalies_of_others_come_after(self):
        other = clock_anomaly(cause="cpu_contention", device="Host", severity=0.4)
        (_, *cards) = blocks(diagnosis_document(anomalies=(other,)), Causes)[0].items
        assert [(card.cause, card.role, card.share) for card in cards] == [
            ("cpu_contention", "anomaly", 0.4)
        ]

    def test_an_anomaly_that_a_cause_tells_is_not_told_again(self):
        sentence = f"{clock_anomaly().sentence} Kernels took longer."
        document = diagnosis_document(causes=(replace(clock_cause(), sentence=sentence),))
        assert [card.role for card in blocks(document, Causes)[0].items] == ["cause"]

    def test_functions_of_evidence_are_found_in_the_table(self):
        kernel = Evidence("kernel", "gemm takes longer", function="sm80_gemm_bf16_64x5")
        document = diagnosis_document(causes=(replace(clock_cause(), evidence=(kernel,)),))
        (link,) = blocks(document, Causes)[0].items[0].links
        assert link.section == "times"
        functions = table(document, "functions").columns[0]
        assert link.search in cells(functions)

    def test_symptoms_stand_by_themselves(self):
        symptom = a_symptom("GPU 0", "gpu_usage", 40.0, 80.0)
        texts = [
            block.text
            for block in blocks(diagnosis_document(anomalies=(), symptoms=(symptom,)), Text)
        ]
        assert "Symptoms (not causes): gpu_usage of GPU 0 40 → 80 %." in texts

    def test_nothing_explained_is_said(self):
        (causes,) = blocks(diagnosis_document(causes=(), anomalies=()), Causes)
        assert (causes.items, causes.empty) == ((), "No cause found.")

    @pytest.mark.parametrize("name", CAUSES)
    def test_every_cause_has_a_title(self, name: str):
        assert cause_title(Cause(name, "")) != name


class TestTables:
    def test_functions_are_told_from_noise(self):
        document = comparison_document(comparison(two_runs()))
        functions = table(document, "functions")
        beyond = {
            name for name, verdict in rows(functions, "function", "verdict") if verdict == "yes"
        }
        assert beyond == {"sm80_gemm_bf16_64x5"}

    def test_counters_keep_their_units(self):
        counters = table(comparison_document(comparison(two_runs())), "counters")
        values = dict(rows(counters, "counter", "value"))
        assert values["gpu_sm_frequency"].endswith(" MHz")

    @pytest.mark.parametrize("name", ["functions", "counters", "scores"])
    def test_columns_say_what_they_mean(self, name: str):
        columns_table = table(comparison_document(comparison(two_runs())), name)
        assert [column.key for column in columns_table.columns if not column.help] == []

    def test_chances_are_no_plain_numbers(self):
        functions = table(comparison_document(comparison(two_runs())), "functions")
        assert {column.kind for column in functions.columns if column.key == "p"} == {"p_value"}

    def test_what_is_no_number_is_none(self):
        times = frame(TIMES, {"function": "f", "device": "Host", "change_pct": float("inf")})
        document = comparison_document(comparison(pair_of(times=times)))
        assert "change_pct" not in {column.key for column in table(document, "functions").columns}

    def test_names_may_hold_anything(self):
        times = frame(TIMES, {"function": "<script>", "device": "Host"})
        document = comparison_document(comparison(pair_of(times=times), notes=["no \udcff.csv"]))
        assert rows(table(document, "functions"), "function") == [("<script>",)]
        assert b"no \\\\udcff.csv" in to_json(document)


class TestSeveral:
    def test_one_case_has_one_verdict_and_a_row_for_each(self):
        document = comparison_document(comparison(two_runs(BUSY_HOST), two_runs(BUSY_HOST)))
        assert [part.id for part in document.sections[:4]] == [
            "verdict",
            "pairs",
            "pair-1",
            "pair-2",
        ]
        assert len(blocks(document, Verdict)) == 1
        assert table(document, "pairs").rows == 2

    def test_unlike_cases_have_verdicts_of_their_own(self):
        document = comparison_document(comparison_of({"a": slow_clock(), "b": slow_clock()}))
        assert len(blocks(document, Verdict)) == 2
        names = ["pair-1", "pair-1-tables", "pair-2", "pair-2-tables"]
        assert [part.id for part in document.sections[1:5]] == names
        assert document.sections[0].blocks[0] == table(document, "pairs")

    def test_groups_of_roles(self):
        document = comparison_document(comparison(exploration=sample_exploration()))
        assert rows(table(document, "groups"), "group", "representative") == [
            (1, "p000"),
            (2, "p001"),
        ]
        assert "groups-1" in {part.id for part in document.sections}


class TestGate:
    def test_what_failed_is_told(self):
        gate = failed_gate()
        document = comparison_document(comparison_of({"a vs b": slow_clock()}), gate)
        assert document.headline.startswith("Failed (limit 5 %).")
        assert document.tone == "bad"
        assert rows(table(document, "checks"), "outcome")[0] == ("failed",)

    def test_runs_that_cannot_be_compared(self):
        error = NotFoundError("no such baseline", "save one")
        document = error_document(
            gate_of_error(error, "@main vs run", options="--fail-on 5%"), error
        )
        assert document.tone == "warning"
        assert document.headline == "Not decided (limit 5 %): no such baseline"
        assert section(document, "hint").blocks == (Text("save one"),)
