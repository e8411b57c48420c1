"""Answers on the program's own clock, and as recorded."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import timesink
from cases import MODULE, STEP, K, O, R, read
from timesink.analyses.steps import average_step, find_steps
from timesink.answers.analysis.document import analysis_document, view_document
from timesink.answers.analysis.report import Analysis
from timesink.errors import UsageError
from timesink.model.recorded_run import RecordedRun, RunOverhead
from timesink.model.trace import Trace
from timesink.output.blocks import Document, Parts, Table, Tiles


def recording(plain_us: float | None = None) -> Trace:
    """Three steps of 2 ms: operators on the host, and a kernel of 300 us."""
    events = []
    for number in range(3):
        begin = 2000 * number
        events += [
            STEP(number, begin, 2000),
            MODULE("nn.Module: Net_0", begin + 5, 1900, python_id=1, parent=None, module=0),
            *(O("aten::add", begin + 10 + 22 * place, 20) for place in range(40)),
            R(begin + 950, 10, c=number + 1),
            K("add", begin + 970, 300, c=number + 1),
        ]
    trace = read(*events)
    if plain_us is None:
        return trace
    overhead = RunOverhead(cycle_us=plain_us, plain_cycles_us=(plain_us,) * 5)
    return replace(trace, metadata=replace(trace.metadata, run=RecordedRun(overhead=overhead)))


@pytest.fixture(scope="module")
def measured_analysis() -> Analysis:
    return timesink.analyze(recording(1500.0))


@pytest.fixture(scope="module")
def unknown_clock_analysis() -> Analysis:
    """Of a trace of another format nobody knows what recording it cost."""
    trace = recording()
    return timesink.analyze(replace(trace, metadata=replace(trace.metadata, format="other")))


class TestHeadline:
    def test_measured_cycles_are_told_as_they_are(self, measured_analysis: Analysis):
        assert measured_analysis.headline.startswith(
            "Host-bound: the GPU is busy 20 % of each 1.50 ms step. "
        )
        assert measured_analysis.clock_note == (
            "2.00 ms as recorded; 496 us of it is profiler overhead (measured)"
        )

    def test_an_estimate_says_that_it_is_one(self):
        analysis = timesink.analyze(recording())
        assert " % of each 1." in analysis.headline
        assert re.fullmatch(
            r"2\.00 ms as recorded; \d+ us of it is profiler overhead \(estimated\); "
            r"without it 1\.\d\d ms, 95 % interval 1\.\d\d to [12]\.\d\d ms",
            analysis.clock_note,
        )

    def test_as_recorded(self, measured_analysis: Analysis):
        headline = timesink.analyze(measured_analysis.trace, clock="recorded").headline
        assert headline.startswith("Host-bound: the GPU is busy 15 % of each 2.00 ms step. ")

    def test_where_it_is_not_known_it_is_as_recorded(self, unknown_clock_analysis: Analysis):
        assert unknown_clock_analysis.headline.startswith(
            "Host-bound: the GPU is busy 15 % of each 2.00 ms step. "
        )
        assert unknown_clock_analysis.clock_note.startswith(
            "times are as recorded, with profiler overhead: "
        )

    def test_a_host_that_was_slower_by_itself(self):
        analysis = timesink.analyze(recording(2400.0))
        assert "each 2.00 ms step. " in analysis.headline
        assert "unprofiled steps took longer than profiled ones" in analysis.clock_note


class TestTimelines:
    def test_the_trace_stays_as_recorded(self, measured_analysis: Analysis):
        assert average_step(measured_analysis.trace)["total_ns"] == 2_000_000
        assert average_step(measured_analysis.timeline)["total_ns"] == pytest.approx(
            1.5e6, rel=0.01
        )

    def test_of_some_steps_it_is_the_clock_of_all(self, measured_analysis: Analysis):
        some = timesink.analyze(measured_analysis.trace, steps=1)
        assert some.own_clock is measured_analysis.own_clock
        all_steps = find_steps(measured_analysis.timeline)
        assert find_steps(some.timeline).equals(all_steps.filter(all_steps["name"] == "1"))
        assert some.played.count == 1

    def test_there_is_no_other(self, measured_analysis: Analysis):
        with pytest.raises(UsageError, match="there is no clock 'mine'"):
            timesink.analyze(measured_analysis.trace, clock="mine")


class TestTables:
    def test_they_are_as_recorded_unless_asked_for(self, measured_analysis: Analysis):
        assert set(measured_analysis.table("steps")["total_ns"]) == {2_000_000}
        steps = find_steps(measured_analysis.timeline)
        corrected_ns = measured_analysis.table("steps", clock="own")["total_ns"]
        assert corrected_ns.to_list() == (steps["end_ns"] - steps["start_ns"]).to_list()

    @pytest.mark.parametrize("view", ["operators", "modules"])
    def test_calls_have_both_clocks(self, view: str, measured_analysis: Analysis):
        both, corrected_table = (
            measured_analysis.table(view),
            measured_analysis.table(view, clock="own"),
        )
        for name in ("host_self_ns", "host_total_ns"):
            assert both[f"own_{name}"].to_list() == corrected_table[name].to_list()
            assert both[f"own_{name}"].sum() < both[name].sum()

    def test_unknown_ones_are_null(self, unknown_clock_analysis: Analysis):
        assert unknown_clock_analysis.table("operators")["own_host_self_ns"].null_count() == 1

    def test_what_decides_a_step_is_on_the_clock_of_the_answer(self, measured_analysis: Analysis):
        recorded = timesink.analyze(measured_analysis.trace, clock="recorded")
        corrected_ns, before = (
            analysis.table("critical-path")["time_ns"].sum()
            for analysis in (measured_analysis, recorded)
        )
        assert corrected_ns == pytest.approx(1.5e6, rel=0.01)
        assert before == pytest.approx(2e6, rel=0.01)


class TestJson:
    def test_what_was_there_stays_as_recorded(self, measured_analysis: Analysis):
        answer = measured_analysis.to_dict()
        before = timesink.analyze(measured_analysis.trace, clock="recorded").to_dict()
        same = ("source", "health", "device", "steps", "breakdown", "kernels", "distributed")
        assert [answer[key] for key in same] == [before[key] for key in same]
        assert before["own"] is None
        assert answer["clock"] == before["clock"]

    def test_both_clocks(self, measured_analysis: Analysis):
        answer = measured_analysis.to_dict()
        assert answer["clock"]["own_cycle_us"] == 1500
        assert answer["clock"]["recorded_cycle_us"] == 2000
        assert list(answer["own"]) == ["steps", "breakdown", "device", "efficiency"]
        assert answer["own"]["breakdown"]["step_us"] == pytest.approx(1500, rel=0.01)
        (row,) = answer["operators"]["rows"]
        assert row["own_host_self_us"] < row["host_self_us"]

    def test_the_critical_path_adds_up(self, measured_analysis: Analysis):
        path = measured_analysis.to_dict()["critical_path"]
        assert path["cycle_us"] == pytest.approx(1500, rel=0.01)
        assert sum(kind["share_pct"] for kind in path["kinds"]) == pytest.approx(100)
        assert sum(row["time_us"] for row in path["rows"]) == pytest.approx(path["cycle_us"])


def sections(document: Document) -> list[tuple[str, str]]:
    return [(section.id, section.clock) for section in document.sections]


class TestDocument:
    def test_pages_have_both_clocks_that_of_the_answer_first(self, measured_analysis: Analysis):
        names_and_clocks = sections(analysis_document(measured_analysis, page="overview"))
        for name in ("figures", "breakdown", "steps", "devices"):
            place = names_and_clocks.index((name, "own"))
            assert names_and_clocks[place + 1] == (name, "recorded")
        assert ("findings", "") in names_and_clocks

    def test_each_has_its_own_times(self, measured_analysis: Analysis):
        document = analysis_document(measured_analysis, page="overview")
        lengths = {}
        for section in document.sections:
            if section.id == "breakdown":
                (parts,) = section.blocks
                assert isinstance(parts, Parts)
                lengths[section.clock] = parts.total
            if section.id == "figures":
                (tiles,) = section.blocks
                assert isinstance(tiles, Tiles)
                lengths[f"tile {section.clock}"] = tiles.tiles[0].value
        assert lengths["recorded"] == lengths["tile recorded"] == 2_000_000
        assert lengths["own"] == lengths["tile own"] == pytest.approx(1.5e6, rel=0.01)

    def test_where_it_is_not_known_there_is_one(self, unknown_clock_analysis: Analysis):
        document = analysis_document(unknown_clock_analysis)
        assert document.clock == ""
        assert {section.clock for section in document.sections} == {""}

    def test_as_recorded_the_other_comes_second(self, measured_analysis: Analysis):
        recorded = timesink.analyze(measured_analysis.trace, clock="recorded")
        document = analysis_document(recorded)
        assert document.clock == "recorded"
        names_and_clocks = sections(document)
        assert names_and_clocks.index(("steps", "recorded")) < names_and_clocks.index(
            ("steps", "own")
        )

    def test_operators_of_a_page_have_both_and_of_text_one(self, measured_analysis: Analysis):
        tables = {}
        for brief in (True, False):
            document = analysis_document(measured_analysis, brief=brief)
            (section,) = (part for part in document.sections if part.id == "operators")
            table = section.blocks[0]
            assert isinstance(table, Table)
            tables[brief] = {column.key: column.data for column in table.columns}
        assert tables[True]["host_self_ns"] == tables[False]["own_host_self_ns"]
        assert "own_host_self_ns" not in tables[True]

    def test_one_table_is_as_recorded_unless_asked_for(self, measured_analysis: Analysis):
        def first(**clock: str) -> float | None:
            (section,) = view_document(measured_analysis, "steps", **clock).sections  # type: ignore[arg-type]
            (table,) = section.blocks
            assert isinstance(table, Table)
            (total,) = (column.data for column in table.columns if column.key == "total_ns")
            return total.values[0]  # type: ignore[union-attr]

        assert first() == first(clock="recorded") == 2_000_000
        assert first(clock="own") == pytest.approx(1.5e6, rel=0.01)
