"""What the program does otherwise, as it is said, shown and written."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import timesink
from builders import Event, complete, operator, write
from compared_runs import timeline, write_timeline
from timesink.analyses.comparison.sides import anatomy_of_role
from timesink.answers.comparison.document import (
    comparison_document,
    program_csv,
    program_document,
)
from timesink.answers.comparison.pairing import Compared
from timesink.answers.comparison.program import (
    VIEWS,
    program_frame,
    program_lines,
    program_section,
    program_values,
)
from timesink.answers.comparison.report import Comparison
from timesink.answers.comparison.work import compare
from timesink.cli import main
from timesink.model.diagnosis import ProgramChange, ProgramEdit, SteadyTimes
from timesink.output import terminal
from timesink.rules.case import case_of
from timesink.rules.diagnosis import attribution, causes_of_case

EDIT = ProgramEdit(
    "synchronisation", "100 x aten::item added", "in the cycle, after aten::norm",
    "aten::item", 0, 100, 140_700, 1_550_000, 100, 100, 400,
)  # fmt: skip
OTHER = ProgramEdit("casts", "aten::to removed", "in aten::mm", "aten::to", 1, 0, 0, -2000, 0, 0, 0)


def change(*edits: ProgramEdit, new_ms: float = 10.0, certain: bool = True) -> ProgramChange:
    """Device time of 10 ms a cycle that becomes another, by at least as much as can be told."""
    base, new = 10e6, new_ms * 1e6
    device = new - base
    told = sum(edit.device_ns for edit in edits)
    return ProgramChange(
        edits, (), SteadyTimes(base, new, (device - 6e4, device + 6e4)), device, 0.0,
        device - told, 0.0, certain, 0,
    )  # fmt: skip


# -- sentences -------------------------------------------------------------------------------------


SAME_TIME = "Device time per cycle is the same (10.0 → 10.0 ms)."
LONGER = "Device time per cycle: 10.0 → 11.0 ms (+10.0 %, 95 % interval +9.4 to +10.6 %)."
HOST = (
    "The recorded calls are the same, and so is their device time (10.0 → 10.0 ms). "
    "The host was {}: record both runs again before looking for code."
)
WAITS = (
    "The program changed: 100 x aten::item added, in the cycle, after aten::norm (+140.7 us of "
    "device work, +100 waits per cycle)."
)
SEVERAL = "The program changed: aten::to removed, in aten::mm, and 1 more edit below."


@pytest.mark.parametrize(
    ("found", "cycles", "said"),
    [
        (change(), "none", ["The recorded calls are the same.", SAME_TIME]),
        (change(certain=False), "none", ["The kernels are the same.", SAME_TIME]),
        (change(), "longer", [HOST.format("slower")]),
        (change(), "shorter", [HOST.format("faster")]),
        (change(new_ms=11), "longer", ["The recorded calls are the same.", LONGER]),
        (change(EDIT), "none", [WAITS, SAME_TIME]),
        (change(EDIT, new_ms=11), "longer", [WAITS, LONGER]),
        (change(OTHER, EDIT), "longer", [SEVERAL, SAME_TIME]),
    ],
)
def test_what_is_certain_is_said_before_what_is_precise(
    found: ProgramChange, cycles: str, said: list[str]
):
    longer = {"longer": True, "shorter": False}.get(cycles)
    assert program_lines(found, longer=longer) == said


def test_without_device_work_only_the_program_is_said():
    none = ProgramChange((), (), SteadyTimes(0, 0, (0.0, 0.0)), 0, 0, 0, 0, certain=True, varying=0)
    assert program_lines(none) == ["The recorded calls are the same."]


# -- recordings ------------------------------------------------------------------------------------


def edited(reads: int = 1, **fields: Any) -> dict[str, Any]:
    """A run whose cycles read a value of the device as well."""
    document = timeline(cycles=8, **fields)
    events: list[Event] = document["traceEvents"]
    for number in range(8):
        for read in range(reads):
            at = 1000.0 * number + 800 + 20 * read
            events += [
                operator("aten::item", at, 15),
                complete("cuda_runtime", "cudaStreamSynchronize", at + 2, 10, args={}),
            ]
    for event in events:
        if event["cat"] != "kernel":
            event["pid"] = event["tid"] = 4343
    return document


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for recordings that nobody changes, and for what is kept of them."""
    folder = tmp_path_factory.mktemp("kept")
    write_timeline(folder / "base.json", cycles=8)
    write(folder / "new.json", edited())
    return folder


@pytest.fixture
def pair(kept: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(kept / "cache"))
    return str(kept / "base.json"), str(kept / "new.json")


@pytest.fixture(scope="module")
def found(kept: Path) -> Comparison:
    """Both compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIMESINK_CACHE_DIR", str(kept / "cache"))
        return compare(kept / "base.json", kept / "new.json")


def test_sentences_come_in_their_order(found: Comparison):
    said = found.headline
    order = [
        "The program changed: aten::item added",
        "Device time per cycle is the same",
        "Cycle time is the same within noise",
        "What did change: Synchronisation",
    ]
    places = [said.find(part) for part in order]
    assert -1 not in places, said
    assert places == sorted(places)


@pytest.mark.parametrize(("slow", "told"), [(1.0, "is the same"), (2.0, "Device time per cycle: ")])
def test_an_equal_program_is_never_said_to_have_changed(tmp_path: Path, slow: float, told: str):
    base = write_timeline(tmp_path / "base.json", cycles=8)
    new = write_timeline(tmp_path / "new.json", cycles=8, slow=slow)
    found = compare(base, new)
    assert "recorded calls are the same" in found.headline
    assert told in found.headline
    assert "program changed" not in found.headline
    assert found.diagnosis is not None
    program = found.diagnosis.program
    assert program is not None
    assert program.same
    assert not {"synchronisation", "kernel_change", "added_layer"} & {
        one.cause for one in found.diagnosis.causes
    }


def test_an_edit_is_the_first_cause_whatever_cycles_take(found: Comparison):
    assert found.diagnosis is not None
    first = found.diagnosis.causes[0]
    assert first.cause == "synchronisation"
    assert "aten::item added" in first.sentence


def test_causes_are_ordered_by_what_they_cost(found: Comparison):
    """However the edits of a program are ordered, and whatever each of them is."""
    pair = found.pairs[0].pair
    sides = anatomy_of_role(pair.base), anatomy_of_role(pair.new)
    case = case_of(pair, sides, attribution(pair, *sides), ())
    slight, heavy = (replace(EDIT, cause=cause, host_ns=ns, device_ns=0.0)
                     for cause, ns in (("workload_change", 1e3), ("added_layer", 9e3)))  # fmt: skip
    causes = causes_of_case(case, program=change(slight, heavy))
    assert [cause.cause for cause in causes][:1] == ["added_layer"]
    costs = [abs(cause.cost_ns) for cause in causes]
    assert costs == sorted(costs, reverse=True)


def test_json(found: Comparison):
    document = found.to_dict()
    said = document["program"]
    assert said == document["pairs"][0]["program"]
    assert set(said) == {
        "same",
        "certain",
        "device_time",
        "change",
        "varying",
        "kinds",
        "edits",
    } | {"choices"}
    (edit,) = said["edits"]
    assert set(edit) == {
        "edit", "cause", "place", "call", "base_calls", "new_calls", "device_us", "host_us",
        "launches", "waits", "bytes", "evidence",
    }  # fmt: skip
    assert (edit["cause"], edit["base_calls"], edit["new_calls"], edit["waits"]) == (
        "synchronisation", 0, 1, 1,
    )  # fmt: skip
    assert edit["host_us"] == 15
    parts = said["change"]
    assert parts["host_us"] == pytest.approx(edit["host_us"] + parts["same_calls_host_us"])
    assert parts["device_us"] == pytest.approx(edit["device_us"] + parts["same_calls_device_us"])
    assert list(said["kinds"][0]["base_cycles"]) == list(range(1, 9))


def test_without_a_timeline_nothing_is_known():
    assert program_values(None) == {"program": None}


# -- views -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "told"),
    [
        ("edits", ["aten::item added", "Synchronisation", "0 → 1", "in the cycle, after"]),
        ("program", ["+ aten::item", "  aten::gemm"]),
        ("kinds", ["Kinds of cycles", "unevenly"]),
    ],
)
def test_views_as_text(found: Comparison, view: str, told: list[str]):
    shown = terminal.to_text(program_document(found, view))
    assert "The program changed" in shown
    assert [part for part in told if part not in shown] == []


@pytest.mark.parametrize(
    ("view", "first"),
    [
        ("edits", {"cause": "synchronisation", "new_calls": "1.0", "host_us": "15.0"}),
        ("program", {"name": "aten::gemm", "state": "same", "folded": "1"}),
        ("kinds", {"kind": "1", "base_cycles": "8", "new_cycles": "8", "base_period": ""}),
    ],
)
def test_views_as_csv(found: Comparison, view: str, first: dict[str, str]):
    rows = list(csv.DictReader(io.StringIO(program_csv(found.pairs[0], view))))
    assert first.items() <= rows[0].items()


def test_a_view_is_shown_or_written_by_the_command(
    pair: tuple[str, str], found: Comparison, capfd: pytest.CaptureFixture[str]
):
    assert main(["compare", *pair, "--view", "edits"]) == 0
    assert "aten::item added" in capfd.readouterr().out
    assert main(["compare", *pair, "--view", "edits", "--format", "csv"]) == 0
    assert capfd.readouterr().out == program_csv(found.pairs[0], "edits") + "\n"


def test_every_view_has_all_rows_and_columns_as_a_frame():
    found = change(EDIT, OTHER)
    assert [program_frame(found, view).height for view in VIEWS] == [0, 2, 0]
    assert program_frame(found, "edits")["device_us"].to_list() == [140.7, 0.0]
    assert program_frame(change(), "edits").height == 0


@pytest.mark.parametrize("more", [["--format", "json"], ["--table", "times"]])
def test_a_view_is_one_table(pair: tuple[str, str], more: list[str]):
    assert main(["compare", *pair, "--view", "edits", *more]) == 2


def test_tables_have_no_program(capfd: pytest.CaptureFixture[str]):
    paths = list(map(str, timesink.sample_runs()))
    assert main(["compare", *paths, "--view", "edits"]) == 0
    assert "No timeline tells" in capfd.readouterr().out
    assert main(["compare", *paths, "--view", "edits", "--format", "csv"]) == 1


def test_a_section_is_only_there_for_what_it_holds():
    assert list(program_section(change(), 5, ("base", "new"))) == []
    assert list(program_section(None, None, ("base", "new"))) == []


# -- what is left out, and several ranks -----------------------------------------------------------


@pytest.mark.parametrize(("pattern", "edits"), [("^aten::item$", 0), ("aten::norm", 1)])
def test_ignored_calls_are_no_part_of_the_program(
    pair: tuple[str, str], pattern: str, edits: int, capfd: pytest.CaptureFixture[str]
):
    assert main(["compare", *pair, "--ignore", pattern, "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)["program"]
    assert (len(found["edits"]), found["same"]) == (edits, not edits)


def test_a_pattern_that_is_none_is_refused(
    pair: tuple[str, str], capfd: pytest.CaptureFixture[str]
):
    assert main(["compare", *pair, "--ignore", "("]) == 2
    assert "--ignore" in capfd.readouterr().err


def test_ranks_that_do_the_same_are_told_once(kept: Path, found: Comparison):
    more = compare(kept / "base.json", write(kept / "more.json", edited(reads=3)), cache=False)
    ranks = [of_rank(rank, one) for rank, one in enumerate((found, found, more))]
    run = replace(found, pairs=tuple(ranks))
    sections = program_document(run, "edits").sections
    assert [section.title.count("rank") for section in sections] == [2, 1]
    assert run.diagnosis is not None
    program = run.diagnosis.program
    assert program is not None
    assert len(program.edits) == 1
    shown = terminal.to_text(comparison_document(run, top=5))
    assert "Synchronisation" in shown


def of_rank(rank: int, comparison: Comparison) -> Compared:
    """Its only pair as that of a rank."""
    (one,) = comparison.pairs
    base, new = (replace(role, rank=rank) for role in (one.pair.base, one.pair.new))
    return replace(one, pair=replace(one.pair, base=base, new=new))


def test_a_kept_run_has_its_program(found: Comparison, pair: tuple[str, str]):
    again = compare(*pair)
    for one, other in zip(found.roles, again.roles, strict=True):
        assert one.program is not None
        assert other.program is not None
        assert other.program is not one.program
        for table in ("sites", "counts", "nodes"):
            ours, theirs = getattr(one.program, table), getattr(other.program, table)
            assert isinstance(ours, pl.DataFrame)
            assert ours.equals(theirs)
        assert (one.program.host, one.program.typed) == (other.program.host, other.program.typed)


def test_a_baseline_keeps_the_program(pair: tuple[str, str], tmp_path: Path):
    store = ["--store", str(tmp_path / "store")]
    assert main(["baseline", "save", "main", pair[0], *store]) == 0
    found = compare("@main", pair[1], store=str(tmp_path / "store"))
    assert found.diagnosis is not None
    program = found.diagnosis.program
    assert program is not None
    assert [edit.cause for edit in program.edits] == ["synchronisation"]
