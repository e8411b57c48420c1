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
from timesink.output.terminal import to_text


def recording(plain_us: float | None = None) -> Trace:
    """Three steps of 2 ms: operators on the host, and a kernel of 300 us."""
    events = []
    for number in range(3):
        begin = 2000 * number
        events += [
            STEP(number, begin, 2000),
            MODULE("nn.Module: Net_0", begin + 5, 1900, own=1, parent=None, module=0),
            *(O("aten::add", begin + 10 + 22 * each, 20) for each in range(40)),
            R(begin + 950, 10, c=number + 1),
            K("add", begin + 970, 300, c=number + 1),
        ]
    trace = read(*events)
    if plain_us is None:
        return trace
    overhead = RunOverhead(cycle_us=plain_us, plain_cycles_us=(plain_us,) * 5)
    return replace(trace, metadata=replace(trace.metadata, run=RecordedRun(overhead=overhead)))


@pytest.fixture(scope="module")
def measured() -> Analysis:
    return timesink.analyze(recording(1500.0))


@pytest.fixture(scope="module")
def refused() -> Analysis:
    """Of a trace of another format nobody knows what recording it cost."""
    trace = recording()
    return timesink.analyze(replace(trace, metadata=replace(trace.metadata, format="other")))


class TestHeadline:
    def test_measured_cycles_are_told_as_they_are(self, measured: Analysis):
        told, _, rest = measured.headline.partition(", recorded under a profiler that made it ")
        assert re.fullmatch(r"(19.9|20.0) % of each 1.50 ms step is GPU work", told)
        assert rest.startswith("2.00 ms; ")

    def test_an_estimate_says_that_it_is_one(self):
        said = timesink.analyze(recording()).headline
        assert " % of each step of about 1." in said
        assert " ms), recorded under a profiler" not in said
        assert "recorded under a profiler that made it 2.00 ms; " in said

    def test_as_recorded(self, measured: Analysis):
        said = timesink.analyze(measured.trace, clock="recorded").headline
        assert said.startswith("15.0 % of each 2.00 ms step is GPU work; ")

    def test_where_it_is_not_known_it_is_as_recorded(self, refused: Analysis):
        assert refused.headline.startswith("15.0 % of each 2.00 ms step is GPU work; ")
        assert refused.clock_note.startswith("times are as recorded, with what recording costs: ")

    @pytest.mark.parametrize("plain_us", [1970.0, 2030.0])
    def test_a_profiler_that_costs_next_to_nothing_is_not_spoken_of(self, plain_us: float):
        found = timesink.analyze(recording(plain_us))
        assert re.match(r"1\d\.\d % of each (1.97|2.03) ms step is GPU work; ", found.headline)
        assert not found.clock_note

    def test_a_host_that_was_slower_by_itself(self):
        analysis = timesink.analyze(recording(2400.0))
        assert "each 2.00 ms step is GPU work; " in analysis.headline
        assert "cycles without the profiler took longer" in analysis.clock_note


class TestTimelines:
    def test_the_trace_stays_as_recorded(self, measured: Analysis):
        assert average_step(measured.trace)["total_ns"] == 2_000_000
        assert average_step(measured.timeline)["total_ns"] == pytest.approx(1.5e6, rel=0.01)

    def test_of_some_steps_it_is_the_clock_of_all(self, measured: Analysis):
        some = timesink.analyze(measured.trace, steps=1)
        assert some.own_clock is measured.own_clock
        whole = find_steps(measured.timeline)
        assert find_steps(some.timeline).equals(whole.filter(whole["name"] == "1"))
        assert some.played.count == 1

    def test_there_is_no_other(self, measured: Analysis):
        with pytest.raises(UsageError, match="there is no clock 'mine'"):
            timesink.analyze(measured.trace, clock="mine")

    def test_ranks_are_compared_as_recorded(self, healthy: Analysis):
        assert healthy.timeline is healthy.trace
        assert healthy.to_dict()["clock"]["source"] == "none"
        assert "ranks are compared" in healthy.clock_note


class TestTables:
    def test_they_are_as_recorded_unless_asked_for(self, measured: Analysis):
        assert set(measured.table("steps")["total_ns"]) == {2_000_000}
        steps = find_steps(measured.timeline)
        own = measured.table("steps", clock="own")["total_ns"]
        assert own.to_list() == (steps["end_ns"] - steps["start_ns"]).to_list()

    @pytest.mark.parametrize("view", ["operators", "modules"])
    def test_calls_have_both_clocks(self, view: str, measured: Analysis):
        both, own = measured.table(view), measured.table(view, clock="own")
        for name in ("host_self_ns", "host_total_ns"):
            assert both[f"own_{name}"].to_list() == own[name].to_list()
            assert both[f"own_{name}"].sum() < both[name].sum()

    def test_unknown_ones_are_null(self, refused: Analysis):
        assert refused.table("operators")["own_host_self_ns"].null_count() == 1

    def test_what_decides_a_step_is_on_the_clock_of_the_answer(self, measured: Analysis):
        recorded = timesink.analyze(measured.trace, clock="recorded")
        own, before = (one.table("critical-path")["time_ns"].sum() for one in (measured, recorded))
        assert own == pytest.approx(1.5e6, rel=0.01)
        assert before == pytest.approx(2e6, rel=0.01)


class TestJson:
    def test_what_was_there_stays_as_recorded(self, measured: Analysis):
        told = measured.to_dict()
        before = timesink.analyze(measured.trace, clock="recorded").to_dict()
        same = ("source", "health", "device", "steps", "breakdown", "kernels", "distributed")
        assert [told[key] for key in same] == [before[key] for key in same]
        assert before["own"] is None
        assert told["clock"] == before["clock"]

    def test_both_clocks(self, measured: Analysis):
        told = measured.to_dict()
        assert told["clock"]["own_cycle_us"] == 1500
        assert told["clock"]["recorded_cycle_us"] == 2000
        assert list(told["own"]) == ["steps", "breakdown", "device", "efficiency"]
        assert told["own"]["breakdown"]["step_us"] == pytest.approx(1500, rel=0.01)
        (row,) = told["operators"]["rows"]
        assert row["own_host_self_us"] < row["host_self_us"]

    def test_the_critical_path_adds_up(self, measured: Analysis):
        path = measured.to_dict()["critical_path"]
        assert path["cycle_us"] == pytest.approx(1500, rel=0.01)
        assert sum(one["share_pct"] for one in path["kinds"]) == pytest.approx(100)
        assert sum(one["time_us"] for one in path["rows"]) == pytest.approx(path["cycle_us"])


def sections(document: Document) -> list[tuple[str, str]]:
    return [(one.id, one.clock) for one in document.sections]


class TestDocument:
    def test_pages_have_both_clocks_that_of_the_answer_first(self, measured: Analysis):
        found = sections(analysis_document(measured, page="overview"))
        for name in ("figures", "breakdown", "steps", "devices"):
            place = found.index((name, "own"))
            assert found[place + 1] == (name, "recorded")
        assert ("findings", "") in found

    def test_each_has_its_own_times(self, measured: Analysis):
        document = analysis_document(measured, page="overview")
        lengths = {}
        for one in document.sections:
            if one.id == "breakdown":
                (parts,) = one.blocks
                assert isinstance(parts, Parts)
                lengths[one.clock] = parts.total
            if one.id == "figures":
                (tiles,) = one.blocks
                assert isinstance(tiles, Tiles)
                lengths[f"tile {one.clock}"] = tiles.tiles[0].value
        assert lengths["recorded"] == lengths["tile recorded"] == 2_000_000
        assert lengths["own"] == lengths["tile own"] == pytest.approx(1.5e6, rel=0.01)

    def test_where_it_is_not_known_there_is_one(self, refused: Analysis):
        document = analysis_document(refused)
        assert document.clock == ""
        assert {one.clock for one in document.sections} == {""}

    def test_as_recorded_the_other_comes_second(self, measured: Analysis):
        recorded = timesink.analyze(measured.trace, clock="recorded")
        document = analysis_document(recorded)
        assert document.clock == "recorded"
        found = sections(document)
        assert found.index(("steps", "recorded")) < found.index(("steps", "own"))

    def test_text_shows_the_chosen_one(self, measured: Analysis):
        for document in (
            analysis_document(measured, brief=True),
            analysis_document(measured),
        ):
            told = to_text(document)
            assert told.count("Where a step goes") == 1
        told = to_text(analysis_document(measured, brief=True))
        said = "a step takes 1.50 ms (measured), 2.00 ms as recorded"
        assert said in " ".join(told.split())
        assert "What decides a step" in told

    def test_operators_of_a_page_have_both_and_of_text_one(self, measured: Analysis):
        tables = {}
        for brief in (True, False):
            document = analysis_document(measured, brief=brief)
            (section,) = (one for one in document.sections if one.id == "operators")
            table = section.blocks[0]
            assert isinstance(table, Table)
            tables[brief] = {one.key: one.data for one in table.columns}
        assert tables[True]["host_self_ns"] == tables[False]["own_host_self_ns"]
        assert "own_host_self_ns" not in tables[True]

    def test_one_table_is_as_recorded_unless_asked_for(self, measured: Analysis):
        def first(**clock: str) -> float | None:
            (section,) = view_document(measured, "steps", **clock).sections  # type: ignore[arg-type]
            (table,) = section.blocks
            assert isinstance(table, Table)
            (total,) = (one.data for one in table.columns if one.key == "total_ns")
            return total.values[0]  # type: ignore[union-attr]

        assert first() == first(clock="recorded") == 2_000_000
        assert first(clock="own") == pytest.approx(1.5e6, rel=0.01)
