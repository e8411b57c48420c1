"""Ranks for people: text, Markdown, documents."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from msgspec import structs

from timesink.analyses.ranks.causes import CAUSES
from timesink.analyses.ranks.causes import late as late_rank
from timesink.analyses.ranks.lateness import Panel
from timesink.analyses.ranks.rank_set import ranks_of_traces
from timesink.answers.analysis import ranks as words
from timesink.answers.analysis.document import PAGES, analysis_document
from timesink.answers.analysis.report import Analysis
from timesink.output import markdown, terminal
from timesink.output.blocks import Causes, Document, Heatmap, Section, Table, Text, Words
from timesink.output.html import report_html


def to_text(analysis: Analysis, top: int) -> str:
    return terminal.to_text(analysis_document(analysis, rows=top, brief=True))


def section(document: Document, name: str) -> Section:
    return next(part for part in document.sections if part.id == name)


@pytest.fixture(scope="module")
def page(late: Analysis) -> Document:
    return analysis_document(late, page="distributed")


class TestText:
    def test_the_map_marks_the_rank(self, late: Analysis):
        lines = to_text(late, 5).splitlines()
        (start,) = (
            at for at, line in enumerate(lines) if line.startswith("Time the others waited")
        )
        rows = [line.split() for line in lines[start + 2 : start + 8]]
        assert [row[:-1] for row in rows] == [["0"], ["1"], ["2"], ["3"], ["4"], [">", "5"]]
        assert set(rows[-1][-1]) <= set("▓█")
        assert set(rows[0][-1]) <= set("·░")

    def test_the_worst_rank_is_the_first_of_the_table(self, late: Analysis):
        lines = to_text(late, 2).splitlines()
        (start,) = (at for at, line in enumerate(lines) if line.startswith("Ranks (the first 2"))
        assert lines[start + 3].split()[0] == "5"
        assert lines[start + 5] == ""

    def test_who_is_not_there_is_told(self, late: Analysis):
        text = to_text(late, 5)
        assert "note: rank 6 of 8 is missing" in text
        assert "note: cannot be read: rank7 (" in text

    def test_nobody_is_late(self, healthy: Analysis):
        text = " ".join(to_text(healthy, 5).split())
        assert "No straggler among 4 ranks in 4 steps." in text

    def test_which_rank_is_looked_into_is_told(self, late: Analysis):
        assert "\nIn detail: rank0\n" in to_text(late, 5)

    def test_markdown_says_the_same(self, late: Analysis):
        text = markdown.to_markdown(analysis_document(late, rows=5, brief=True))
        assert re.search(
            r"1\. \*\*Data loading in rank 5\*\* \(.*\): Rank 5 delays the others", text
        )
        assert "| collective | group | ranks | size |" in text


class TestManyRanksOfOneCause:
    def test_the_worst_speaks_for_the_others(self, late: Analysis):
        assert late.ranks is not None
        panel = late.ranks.analysis.panel
        many = [
            late_rank(rank, "gpu_clock", f"{rank}.", cost_ns=1e6, share=0.1, steps=("3",))
            for rank in range(4)
        ]
        (straggler,) = words.straggler_groups(many, panel)
        assert straggler.evidence == ("0.", "Likewise ranks 1-3.")
        assert straggler.advice.endswith("and replace them if these stay low.")

    def test_who_is_not_known_may_be_it(self, late: Analysis):
        assert late.ranks is not None
        assert words.nobody_sentence(late.ranks).endswith(
            " Ranks 6-7 are missing and could be stragglers."
        )


class TestDocument:
    def test_the_headline_names_the_rank(self, page: Document):
        assert page.headline.startswith("Straggler: rank 5 delays the others by ")
        assert ": it waits for data. Look at the input of rank 5" in page.headline

    def test_the_card_says_what_to_try(self, page: Document):
        card = section(page, "stragglers").blocks[0]
        assert isinstance(card, Causes)
        (straggler,) = card.items
        assert (straggler.role, straggler.title) == ("straggler", "Data loading in rank 5")
        assert straggler.advice.startswith("Look at the input of rank 5")
        assert straggler.share is not None
        assert straggler.explained is not None
        assert [link.search for link in straggler.links] == ["rank=5"]

    def test_the_map_has_a_row_for_each_rank(self, page: Document):
        heat = section(page, "stragglers").blocks[-1]
        assert isinstance(heat, Heatmap)
        assert [row.name for row in heat.rows] == ["0", "1", "2", "3", "4", "5"]
        assert [row.name for row in heat.rows if row.marked] == ["5"]
        marked = heat.rows[5]
        assert (marked.about, marked.worker) == ("data loading", "rank5")
        assert max(v or 0 for row in heat.rows[:5] for v in row.values) < min(
            v or 0 for v in marked.values
        )

    def test_who_is_not_there_is_a_warning(self, page: Document):
        texts = [block for block in section(page, "stragglers").blocks if isinstance(block, Text)]
        assert [text.tone for text in texts] == ["warning", "warning"]
        assert texts[0].text == "Rank 6 of 8 is missing."
        assert texts[1].text.startswith("Cannot be read: rank7 (not a trace timesink can read")
        (table,) = section(page, "damaged").blocks
        assert isinstance(table, Table)
        assert isinstance(table.columns[1].data, Words)
        assert "not a trace" in table.columns[1].data.texts[0]

    def test_every_page_and_the_report_have_their_sections(self, late: Analysis, page: Document):
        assert [part.id for part in page.sections] == [
            name for name in PAGES["distributed"] if name in {part.id for part in page.sections}
        ]
        expected = {"ranks", "collectives-matched", "rank-groups", "process-groups", "clocks"}
        assert expected <= {part.id for part in page.sections}
        full_document = analysis_document(late)
        assert expected <= {part.id for part in full_document.sections}
        assert "Data loading in rank 5" in report_html(full_document)

    def test_the_finding_is_the_first_of_the_overview(self, late: Analysis):
        findings = section(analysis_document(late, page="overview"), "findings").blocks[-1]
        assert findings.items[0].rule == "stragglers"  # type: ignore[union-attr]

    def test_nobody_is_late_is_good_news(self, healthy: Analysis):
        text, heat = section(analysis_document(healthy), "stragglers").blocks
        assert isinstance(text, Text)
        assert text.tone == "good"
        assert isinstance(heat, Heatmap)
        assert not any(row.marked for row in heat.rows)


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_has_a_name_and_advice(cause: str):
    straggler = words.StragglerGroup(cause, (3,), 1e6, 0.1, ("1",), ())
    assert straggler.title.endswith(" in rank 3")
    assert "_" not in straggler.title
    assert "rank 3" in straggler.advice
    assert "compare the steps of" not in straggler.advice.lower()


def test_many_ranks_with_one_cause_are_told_together(late: Analysis):
    assert late.ranks is not None
    panel = late.ranks.analysis.panel
    straggler = late_rank(8, "gpu_clock", "Slow.", cost_ns=2e6, share=0.05, steps=panel.steps[:2])
    many = [structs.replace(straggler, rank=rank) for rank in range(8, 16)]
    other = structs.replace(straggler, rank=3, id="slow_link", cost_ns=5e6)
    first, second = words.straggler_groups([other, *many], panel)
    # They are late in the same steps: what each costs is not added up.
    assert (second.title, second.cost_ns) == ("GPU clock in ranks 8-15", 2e6)
    assert first.title == "Slow link in rank 3"
    assert words.straggler_sentence(second, panel).startswith(
        "Ranks 8-15 delay the others by 500 us per step (4.3 %), in 2 of 4 steps."
    )


def test_a_sentence_says_how_often_and_how_much():
    none = np.zeros((2, 4))
    panel = Panel(np.arange(2), tuple("1234"), none, none, none, {}, none, np.zeros(2))
    straggler = words.StragglerGroup("host_code", (3,), 6e6, 0.12, ("1", "2", "4"), ())
    assert words.straggler_sentence(straggler, panel) == (
        "Rank 3 delays the others by 1.50 ms per step (12.0 %), in 3 of 4 steps."
    )
    assert words.StragglerGroup("slow_link", (3,), 0.0, 0.0, (), ()).advice == (
        "Check the links of rank 3: NIC, cable, PCIe width, NVLink state."
    )


def test_one_rank_alone_cannot_be_judged(sample_analysis: Analysis):
    single_rank = ranks_of_traces({"rank0": sample_analysis.trace})
    (text,) = words.stragglers_section(single_rank).blocks
    assert isinstance(text, Text)
    assert text.text == "Only one rank could be read: stragglers cannot be found."


class TestARankThatDoesMoreAndWaitsLeast:
    @pytest.fixture
    def odd(self, healthy: Analysis) -> Analysis:
        """Rank 2 computes a fifth more and waits 14 ms less; no cost is beyond chance."""
        assert healthy.ranks is not None
        analysis = healthy.ranks.analysis
        mine, step = pl.col("rank") == 2, analysis.panel.step_ns
        rows = analysis.ranks.with_columns(
            compute_ns=pl.when(mine).then(0.6 * step).otherwise(0.5 * step),
            wait_suffered_ns=pl.when(mine).then(0.02 * step).otherwise(0.12 * step),
        )
        ranks = replace(healthy.ranks)
        vars(ranks)["analysis"] = structs.replace(analysis, ranks=rows)
        return replace(healthy, ranks=ranks)

    def test_it_is_named_and_why_its_cost_cannot_be_told(self, odd: Analysis):
        text = " ".join(to_text(odd, 5).split())
        assert text.startswith("Rank 2 may be a straggler: it computes ")
        assert "20.0 % more than any other rank, and waits " in text
        assert "Its cost is not certain: the others wait " in text

    def test_the_json_headline_and_a_finding_name_it_too(self, odd: Analysis):
        (finding,) = (candidate for candidate in odd.findings if candidate.rule == "odd-rank")
        assert finding.title == "Uneven work on rank2"
        assert finding.cost_ns == 0
        assert odd.headline.startswith("Rank 2 may be a straggler: it computes 5.57 ms per step")
        assert " Uneven work on rank2. Look at what rank2 is given" in odd.rank_headline

    def test_healthy_ranks_are_not_odd(self, healthy: Analysis):
        assert healthy.ranks is not None
        assert healthy.ranks.analysis.busiest is None
