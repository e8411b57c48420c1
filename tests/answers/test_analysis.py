"""An analysis as a document."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import timesink
from cases import STEP, K, O, R, read
from timesink.answers.analysis import collective_log, memory
from timesink.answers.analysis.document import PAGES, SECTIONS, analysis_document, view_document
from timesink.answers.analysis.report import Analysis, whole_of
from timesink.answers.analysis.time import MAX_BARS
from timesink.errors import UsageError
from timesink.output.blocks import (
    Block,
    Curves,
    Document,
    Findings,
    Icicle,
    Numbers,
    Parts,
    Section,
    Stacks,
    Table,
    Text,
    Tiles,
)
from timesink.output.json import to_json

OF_RANKS = frozenset(
    {
        "stragglers",
        "ranks",
        "collectives-matched",
        "rank-groups",
        "process-groups",
        "clocks",
        "damaged",
        *collective_log.SECTIONS,
    }
)
OF_SNAPSHOTS = frozenset(memory.SECTIONS)


def blocks(document: Document, section: str) -> tuple[Block, ...]:
    return next(candidate.blocks for candidate in document.sections if candidate.id == section)


def of(*events: object, page: str | None = None) -> Document:
    analysis = timesink.analyze(read(*events), clock="recorded")  # type: ignore[arg-type]
    return analysis_document(analysis, page=page)


def recorded_sections(document: Document) -> list[Section]:
    """Sections without those of the program's own clock."""
    return [section for section in document.sections if section.clock != "own"]


@pytest.fixture(scope="module")
def sample_document(sample_analysis: Analysis) -> Document:
    return analysis_document(sample_analysis)


@pytest.fixture(scope="module")
def ranks(shared_root: Path) -> Document:
    return analysis_document(timesink.analyze(shared_root / "data/h200/traces/ddp8_stall_rank3"))


class TestWhole:
    def test_ids_are_unique(self, sample_document: Document):
        sections = recorded_sections(sample_document)
        ids = [section.id for section in sections]
        ids += [
            block.id for section in sections for block in section.blocks if hasattr(block, "id")
        ]
        tables = [name for name in ids if ids.count(name) > 1]
        # A section and the one table in it may be called the same.
        assert all(ids.count(name) == 2 and name in SECTIONS for name in tables)

    def test_findings_lead_to_where_they_show(self, sample_document: Document):
        (findings,) = blocks(sample_document, "findings")
        assert isinstance(findings, Findings)
        (card,) = (item for item in findings.items if item.rule == "layout-conversions")
        assert re.fullmatch(r"may save 3\.\d+ ms a step if no conversion is left.*", card.gain)
        assert [link.section for link in card.links] == ["kernels", "kernels"]
        (kernels,) = blocks(sample_document, "kernels")
        assert isinstance(kernels, Table)
        assert card.links[0].search in kernels.columns[0].data.texts  # type: ignore[union-attr]

    def test_parts_add_up(self, sample_document: Document):
        for name in ("breakdown", "devices"):
            for block in blocks(sample_document, name):
                assert isinstance(block, Parts)
                assert sum(part.value for part in block.parts) == pytest.approx(block.total)

    def test_memory_is_drawn_with_its_peak_where_there_is_any_to_speak_of(
        self, sample_document: Document
    ):
        device, peaks = blocks(sample_document, "memory-curve")
        assert isinstance(device, Curves)
        assert isinstance(peaks, Table)
        assert device.title == "GPU0"
        assert peaks.rows == 2
        (mark,) = device.marks
        assert mark.label == "peak 2.4 GiB"
        place = device.x.index(mark.x)
        assert device.series[0].values[place] == 2_578_616_320

    def test_what_takes_most_memory_comes_first(self, sample_document: Document):
        (table,) = blocks(sample_document, "memory")
        assert isinstance(table, Table)
        (sizes,) = (
            column.data for column in table.columns if column.key == "self_allocation_bytes"
        )
        assert isinstance(sizes, Numbers)
        assert list(sizes.values) == sorted(sizes.values, key=lambda size: -(size or 0))


class TestPages:
    def test_every_section_is_on_one_page(self):
        names = [name for page in PAGES.values() for name in page]
        assert sorted(names) == sorted(SECTIONS)

    @pytest.mark.parametrize("page", PAGES)
    def test_pages_have_all_their_sections(self, page: str, sample_analysis: Analysis):
        document = analysis_document(sample_analysis, page=page, rows=10)
        names = tuple(section.id for section in recorded_sections(document))
        # Of a single trace nothing is said about ranks, of eager code nothing of generated kernels.
        left_out = OF_RANKS | OF_SNAPSHOTS | {"compiled"}
        assert names == tuple(name for name in PAGES[page] if name not in left_out)
        assert all(section.blocks for section in document.sections)

    def test_an_empty_page_says_what_to_record(self, sample_analysis: Analysis):
        (text,) = blocks(analysis_document(sample_analysis, page="modules"), "modules")
        assert text == Text("No modules were recorded: profile with with_stack=True.")

    def test_there_is_no_other(self, sample_analysis: Analysis):
        with pytest.raises(UsageError, match="there is no page 'trace'"):
            analysis_document(sample_analysis, page="trace")


class TestDevices:
    def test_how_busy_they_were_comes_first(self, sample_document: Document):
        (lead,) = (
            section.lead
            for section in recorded_sections(sample_document)
            if section.id == "devices"
        )
        assert lead.startswith("GPU 0: kernels 76.8 %, any work 76.9 %, SM efficiency 61.3 %")

    def test_shares_of_the_steps_are_told_where_gaps_between_them_count(self):
        events = []
        for number in (1, 2):
            start = 200 * number
            events += [STEP(number, start, 100), R(start, 5, c=number)]
            events.append(K("gemm", start + 10, 60, c=number))
        (lead,) = (
            section.lead
            for section in recorded_sections(of(*events, page="overview"))
            if section.id == "devices"
        )
        assert lead.startswith("GPU 0: kernels 40.0 %, any work 40.0 %, ")
        assert "kernels 60.0 % of the steps (200 us) without the gaps between them" in lead


class TestFigures:
    def test_what_nothing_tells_is_unknown_and_not_zero(self):
        (tiles,) = blocks(of(STEP(1, 0, 100), O("aten::mm", 10, 50), page="overview"), "figures")
        assert isinstance(tiles, Tiles)
        values = {tile.label: tile.value for tile in tiles.tiles}
        assert values["Step"] == 100_000
        for unknown in ("SM efficiency", "Occupancy", "Tensor cores", "Memory peak"):
            assert values[unknown] is None

    def test_without_marked_steps_none_are_counted(self):
        document = of(O("aten::mm", 10, 50))
        (tiles,) = blocks(document, "figures")
        assert isinstance(tiles, Tiles)
        assert tiles.tiles[0].label == "Recorded"
        assert "No steps are marked" in str(blocks(document, "not-recorded"))


class TestSteps:
    def test_many_steps_become_groups_of_neighbours(self):
        steps = (STEP(number, 100 * number, 100) for number in range(500))
        document = of(*steps, page="overview")
        bars = blocks(document, "steps")[0]
        assert isinstance(bars, Stacks)
        assert bars.labels[:2] == ("0 to 2", "3 to 5")
        assert len(bars.labels) <= MAX_BARS
        (part,) = bars.parts
        assert set(part.values) == {100_000.0}
        lead = next(section.lead for section in document.sections if section.id == "steps")
        assert lead == "Each bar is the mean of 3 neighbouring steps of 500."

    def test_a_recording_without_marks_is_no_step_to_go_to(self):
        document = of(O("aten::mm", 0, 50), R(10, 5, c=1), K("nccl_reduce", 20, 400, c=1))
        (findings,) = blocks(document, "findings")
        assert isinstance(findings, Findings)
        assert "exposed-communication" in [card.rule for card in findings.items]
        names = {section.id for section in document.sections}
        assert {link.section for card in findings.items for link in card.links} <= names


class TestOperators:
    def test_shares_are_of_all_device_work_as_in_words(self):
        graph = R(60, 5, c=2)
        replayed = K("replayed", 70, 90, c=2)
        launched = O("aten::mm", 0, 50), R(10, 5, c=1), K("gemm", 20, 10, c=1)
        document = of(*launched, graph, replayed, page="operators")
        operators, sites = blocks(document, "operators")
        assert isinstance(operators, Table)
        assert isinstance(sites, Table)
        (share,) = (column.data for column in operators.columns if column.key == "share")
        assert share == Numbers((0.1,))
        assert sites.id == "launch-sites"

    def test_an_operator_has_one_share_in_the_summary_and_in_its_view(self):
        trace = read(
            *(O("aten::mm", 0, 50), R(10, 5, c=1), K("gemm", 20, 10, c=1)),
            *(R(60, 5, c=2), K("replayed", 70, 90, c=2)),
        )
        analysis = timesink.analyze(trace)
        documents = (
            analysis_document(analysis, page="operators"),
            view_document(analysis, "operators"),
        )
        tables = [
            block
            for document in documents
            for section in document.sections
            for block in section.blocks
            if isinstance(block, Table) and block.id == "operators"
        ]
        shares = {
            column.data for block in tables for column in block.columns if column.key == "share"
        }
        assert len(tables) == len(documents)
        assert shares == {Numbers((0.1,))}

    def test_without_other_launches_there_is_one_table(
        self, sample_document: Document, sample_analysis: Analysis
    ):
        assert len(blocks(sample_document, "operators")) == 1
        assert (
            whole_of(sample_analysis, "operators", sample_analysis.table("operators")) == 41_882_282
        )


class TestModules:
    def test_parents_stand_before_their_children(self, shared_root: Path):
        (run,) = (shared_root / "data/h200/traces/resnet50_train").iterdir()
        tree = blocks(analysis_document(timesink.analyze(run), page="modules"), "modules")[0]
        assert isinstance(tree, Icicle)
        assert tree.texts[tree.codes[0]] == "ResNet_0"
        assert all(parent < place for place, parent in enumerate(tree.parent))
        assert tree.parent.count(-1) == 1


class TestRanks:
    def test_who_is_waited_for_shows(self, ranks: Document):
        bars = blocks(ranks, "workers")[0]
        assert isinstance(bars, Stacks)
        waiting = dict(zip(bars.labels, bars.parts[1].values, strict=True))
        assert min(waiting, key=waiting.__getitem__) == "rank3"

    def test_it_is_told_in_words(self, ranks: Document):
        assert ranks.headline.startswith("Straggler: rank 3 delays the others by ")
        assert "): its host is late launching work. Look at the host of rank 3" in ranks.headline

    def test_moments_lead_to_the_trace(self, ranks: Document):
        (findings,) = blocks(ranks, "findings")
        assert isinstance(findings, Findings)
        links = [link for card in findings.items for link in card.links]
        (step, *_) = [link for link in links if link.section == "steps"]
        assert step.label == "step 6"
        assert step.from_ns is not None
        assert step.to_ns is not None
        assert step.to_ns - step.from_ns == 127_084_008
        assert "collectives" in {link.section for link in links}

    def test_what_was_chosen_is_told(self, ranks: Document):
        lead = next(section.lead for section in ranks.sections if section.id == "figures")
        assert lead.startswith("8 ranks: rank0 in detail; --worker NAME shows another one alone.")


def test_an_empty_trace_has_a_document():
    document = json.loads(to_json(of()))
    assert document["headline"].startswith("Nothing was recorded: no calls and no device work")
    assert document["tone"] == "notice"
    fit, findings, *_ = document["sections"]
    assert fit["id"] == "fitness"
    (block,) = findings["blocks"]
    assert (block["type"], block["tone"]) == ("text", "notice")


def test_hostile_names_stay_what_they_are():
    name = "</script><img src=x>\u202e"
    events = STEP(1, 0, 100), O(name, 0, 50), R(10, 5, c=1), K(name, 20, 10, c=1)
    document = of(*events, page="operators")
    sections = [
        section
        for section in json.loads(to_json(document))["sections"]
        if section["id"] == "operators"
    ]
    assert sections[0]["blocks"][0]["columns"][0]["data"]["texts"] == [
        "</script><img src=x>\\u202e"
    ]


def test_damage_is_told_before_what_was_found(tmp_path: Path):
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(timesink.sample().read_bytes()[:100_000])
    document = analysis_document(timesink.analyze(cut, cache=False), page="overview")
    damage, *other_blocks = blocks(document, "findings")
    assert isinstance(damage, Text)
    assert damage.text.startswith("No findings: the file is damaged")
    assert "ends early" in document.headline
    # What is left of it gives no finding, and that is no good news.
    assert (damage.tone, document.tone, other_blocks) == ("warning", "warning", [])
