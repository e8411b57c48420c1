"""How well kernels use the hardware, as a document."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import timesink
from measured_kernels import launch, trace_of_launches
from timesink.answers.kernels.document import kernels_document
from timesink.answers.kernels.report import KernelReport
from timesink.answers.kernels.tables import KernelChoice as Choice
from timesink.model.health import HealthEntry
from timesink.output.blocks import Findings, Health, Parts, Picture, Text, Tiles
from timesink.output.json import to_json
from told_documents import blocks, rows, section, table


def report(*uses: tuple[str, int, float | None], source: str = "run.csv") -> KernelReport:
    """Launches by name, length and SM use; a tenth of that is DRAM use."""
    launches = (
        launch(length, {}, name=name, sm_pct=sm, tensor_pct=0.0, dram_pct=sm and sm / 10)
        for name, length, sm in uses
    )
    return replace(timesink.kernels(trace_of_launches(*launches)), source=source)


TWO_KERNELS = report(("gemm", 60, 90.0), ("relu", 40, 5.0))


class TestOneRun:
    def test_the_answer_and_the_figures_come_first(self):
        document = kernels_document([TWO_KERNELS])
        assert document.headline == TWO_KERNELS.headline
        (tiles,) = blocks(document, Tiles, "use")
        assert {tile.label: tile.value for tile in tiles.tiles}["SM"] == pytest.approx(56.0)

    def test_sections_in_their_order(self):
        assert [section.id for section in kernels_document([TWO_KERNELS]).sections] == [
            *("use", "findings", "kernels", "families", "launches", "notes", "health"),
        ]

    def test_classes_are_parts_of_the_time(self):
        (parts,) = blocks(kernels_document([TWO_KERNELS]), Parts)
        assert parts.total == 100
        assert {part.id: part.value for part in parts.parts if part.value} == {
            "both_low": 40,
            "low_dram": 60,
        }

    def test_kernels_are_numbers(self):
        names = table(kernels_document([TWO_KERNELS]), "names")
        assert rows(names, "label", "total_ns", "sm_pct") == [("gemm", 60, 90.0), ("relu", 40, 5.0)]

    def test_every_launch_is_there(self):
        calls = table(kernels_document([TWO_KERNELS]), "calls")
        assert rows(calls, "short_name", "dur_ns") == [("gemm", 60), ("relu", 40)]

    def test_what_to_try_leads_to_its_kernels(self):
        (findings,) = blocks(kernels_document([TWO_KERNELS]), Findings)
        (link, *_) = findings.items[0].links
        assert link.section == "kernels"
        assert (link.search,) in rows(table(kernels_document([TWO_KERNELS]), "names"), "label")

    def test_rows_are_shown_as_chosen(self):
        many = report(*((f"kernel_{number:02}", 100 - number, 50.0) for number in range(30)))
        names = table(kernels_document([many], Choice(sort="name", top=3)), "names")
        assert (names.rows, names.total_rows) == (3, 30)
        assert (names.sort.key, names.sort.descending) == ("label", False)


class TestPictures:
    def drawn(self, kernel_report: KernelReport) -> list[str]:
        return [picture.svg for picture in blocks(kernels_document([kernel_report]), Picture)]

    def test_one_run(self):
        assert len(self.drawn(TWO_KERNELS)) == 2

    def test_captions_say_what_is_drawn(self):
        (first, _) = blocks(kernels_document([TWO_KERNELS]), Picture)
        assert first.caption.startswith("Share of kernel time: both low 40.0 %")

    def test_paper_is_light_on_any_page(self):
        assert all(
            "prefers-color-scheme" not in picture.svg
            for picture in blocks(kernels_document([TWO_KERNELS]), Picture)
        )

    def test_a_roofline_is_drawn_where_there_is_one(self):
        metrics = {
            "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 1e9,
            "dram__bytes.sum": 1e6,
        }
        counted = trace_of_launches(launch(1000, metrics, sm_pct=50.0, tensor_pct=0.0))
        document = kernels_document([timesink.kernels(counted)])
        assert len(blocks(document, Picture)) == 3
        assert table(document, "roofs-1").rows == 1

    def test_a_timeline_has_what_it_knows(self):
        (only,) = self.drawn(timesink.kernels(timesink.sample()))
        assert "Occupancy along the run" in only

    def test_nothing_to_draw(self):
        assert self.drawn(timesink.kernels(trace_of_launches(launch(1000, {})))) == []

    def test_devices_have_pictures_of_their_own(self):
        use = {"sm_pct": 5.0, "dram_pct": 5.0}
        trace = trace_of_launches(launch(10, {}, **use), launch(10, {}, **use, device=1))
        assert len(self.drawn(timesink.kernels(trace))) == 4

    def test_names_stay_text(self):
        hostile = report(("</td><script>\x00\u202e", 10, 5.0), source="<script>.csv")
        document = kernels_document([hostile])
        drawn = "".join(picture.svg for picture in blocks(document, Picture))
        assert not re.search("<script|\x00|\u202e", drawn)
        assert b"\\u202e" in to_json(document)


class TestSeveralRuns:
    def test_runs_stand_side_by_side_and_then_one_by_one(self):
        document = kernels_document([TWO_KERNELS, replace(TWO_KERNELS, source="other.csv")])
        assert [part.title for part in document.sections[:3]] == [
            "Runs",
            "run.csv",
            "other.csv",
        ]
        assert rows(table(document, "runs"), "run", "total_ns") == [
            ("run.csv", 100),
            ("other.csv", 100),
        ]

    def test_tables_have_names_of_their_own(self):
        document = kernels_document([TWO_KERNELS, replace(TWO_KERNELS, source="other.csv")])
        assert table(document, "run-1-names") != table(document, "run-2-names")

    def test_notes_that_all_runs_share_are_told_once(self):
        runs = [
            replace(TWO_KERNELS, source=f"{name}.csv", notes=("for all", f"for {name}"))
            for name in "ab"
        ]
        document = kernels_document(runs)
        texts = [block.text for block in blocks(document, Text)]
        assert [texts.count(note) for note in ("for all", "for a", "for b")] == [1, 1, 1]
        assert section(document, "notes").blocks == (Text("for all"),)

    def test_health_is_told_together(self):
        trace = replace(TWO_KERNELS.trace, health=(HealthEntry("nan_value", 2),))
        (health,) = blocks(kernels_document([replace(TWO_KERNELS, trace=trace)] * 2), Health)
        assert [item.count for item in health.items] == [4]
