"""What the program does otherwise, as it is said, shown and written."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec import structs

import timesink
from builders import Event, complete, operator, write
from compared_runs import timeline, write_timeline
from diagnosed import slow_clock
from timesink.answers.comparison.diagnosis_json import diagnosis_fields
from timesink.answers.comparison.document import (
    program_csv,
    program_document,
)
from timesink.answers.comparison.program import (
    VIEWS,
    edits_blocks,
    program_frame,
    program_lines,
    program_section,
)
from timesink.answers.comparison.report import ComparisonAnswer, compare
from timesink.answers.comparison.sentences import hidden_work
from timesink.cli import main
from timesink.comparison.causes.case import case_of
from timesink.comparison.causes.diagnosis import attribution, causes_of_case
from timesink.comparison.steps.sides import anatomy_of_role
from timesink.model.diagnosis import CycleTime, ProgramChange, ProgramEdit, SteadyTimes
from timesink.output import terminal

EDIT = ProgramEdit(
    "synchronisation", "100 x aten::item added", "in the step, after aten::norm",
    "aten::item", 0, 100, 140_700, 1_550_000, 100, 100, 400,
)  # fmt: skip
OTHER = ProgramEdit("casts", "aten::to removed", "in aten::mm", "aten::to", 1, 0, 0, -2000, 0, 0, 0)


def change(*edits: ProgramEdit, new_ms: float = 10.0, certain: bool = True) -> ProgramChange:
    """Device time of 10 ms a cycle that becomes another, by at least as much as can be told."""
    base, new = 10e6, new_ms * 1e6
    device = new - base
    edits_ns = sum(edit.device_ns for edit in edits)
    return ProgramChange(
        edits, (), SteadyTimes(base, new, (device - 6e4, device + 6e4)), device, 0.0,
        device - edits_ns, 0.0, certain, 0,
    )  # fmt: skip


# -- sentences -------------------------------------------------------------------------------------


SAME_TIME = "Device time per step is unchanged (10.0 → 10.0 ms)."
LONGER = "Device time per step: 10.0 → 11.0 ms (+10.0 %, 95 % interval +9.4 to +10.6 %)."
HOST = (
    "The recorded calls are the same, and so is their device time (10.0 → 10.0 ms). "
    "The host was {}: record both runs again before you look at the code."
)
WAITS = (
    "The program changed: 100 x aten::item added, in the step, after aten::norm, +141 us of "
    "device work and +100 waits for the device per step."
)
SEVERAL = "The program changed: aten::to removed, in aten::mm; 1 more change below."


@pytest.mark.parametrize(
    ("program", "cycles", "lines"),
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
    program: ProgramChange, cycles: str, lines: list[str]
):
    longer = {"longer": True, "shorter": False}.get(cycles)
    assert program_lines(program, longer=longer) == lines


def test_a_change_beyond_200_percent_is_a_factor_as_is_its_interval():
    assert program_lines(change(EDIT, new_ms=40.62))[1] == (
        "Device time per step: 10.0 → 40.6 ms (4.06 x, 95 % interval 4.06 to 4.07 x)."
    )


def test_one_wait_is_singular():
    edit = structs.replace(EDIT, waits=1)
    assert "and +1 wait for the device per step." in program_lines(change(edit))[0]


def test_without_a_change_of_steps_edits_are_no_causes():
    diagnosis = slow_clock(program=change(EDIT, new_ms=11))
    (changed,) = edits_blocks(diagnosis)
    (table,) = edits_blocks(structs.replace(diagnosis, verdict="incomparable"))
    assert "cause" in {column.key for column in changed.columns}
    assert "cause" not in {column.key for column in table.columns}


def test_more_device_work_behind_a_slow_host_costs_nothing():
    lengths = CycleTime(60e6, 60e6, 0.0, (-5.0, 5.0), 0.9)
    hidden = slow_clock(verdict="no_change", program=change(EDIT, new_ms=20), cycle_time=lengths)
    assert hidden_work(hidden)[0] == (
        "The host is the bottleneck: more device work costs no step time, as host code hides it."
    )
    busy = structs.replace(hidden, cycle_time=CycleTime(25e6, 25e6, 0.0, (-5.0, 5.0), 0.9))
    assert hidden_work(busy) == []
    assert hidden_work(structs.replace(hidden, verdict="regression")) == []


def test_without_device_work_only_the_program_is_said():
    none = ProgramChange((), (), SteadyTimes(0, 0, (0.0, 0.0)), 0, 0, 0, 0, certain=True, varying=0)
    assert program_lines(none) == ["The recorded calls are the same."]


# -- recordings ------------------------------------------------------------------------------------


def edited_program(reads: int = 1, **fields: Any) -> dict[str, Any]:
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
def recordings_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for recordings that nobody changes, and for what is kept of them."""
    folder = tmp_path_factory.mktemp("kept")
    write_timeline(folder / "base.json", cycles=8)
    write(folder / "new.json", edited_program())
    return folder


@pytest.fixture
def pair(recordings_folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(recordings_folder / "cache"))
    return str(recordings_folder / "base.json"), str(recordings_folder / "new.json")


@pytest.fixture(scope="module")
def edited_comparison(recordings_folder: Path) -> ComparisonAnswer:
    """Both compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIMESINK_CACHE_DIR", str(recordings_folder / "cache"))
        return compare(recordings_folder / "base.json", recordings_folder / "new.json")


def test_an_edit_is_the_first_cause_whatever_cycles_take(edited_comparison: ComparisonAnswer):
    assert edited_comparison.diagnosis is not None
    first = edited_comparison.diagnosis.causes[0]
    assert first.id == "synchronisation"
    assert "aten::item added" in first.sentence


def test_causes_are_ordered_by_what_they_cost(edited_comparison: ComparisonAnswer):
    """However the edits of a program are ordered, and whatever each of them is."""
    pair = edited_comparison.pairs[0].pair
    sides = anatomy_of_role(pair.base), anatomy_of_role(pair.new)
    case = case_of(pair, sides, attribution(pair, *sides), ())
    slight, heavy = (structs.replace(EDIT, cause=cause, host_ns=ns, device_ns=0.0)
                     for cause, ns in (("workload_change", 1e3), ("added_layer", 9e3)))  # fmt: skip
    causes = causes_of_case(case, program=change(slight, heavy))
    assert [cause.id for cause in causes][:1] == ["added_layer"]
    costs = [abs(cause.cost_ns) for cause in causes]
    assert costs == sorted(costs, reverse=True)


def test_json(edited_comparison: ComparisonAnswer):
    document = edited_comparison.to_dict()
    program = document["program"]
    assert program == document["pairs"][0]["program"]
    assert set(program) == {
        "same",
        "certain",
        "device_time",
        "change",
        "varying",
        "kinds",
        "edits",
    } | {"choices"}
    (edit,) = program["edits"]
    assert set(edit) == {
        "edit", "cause", "place", "call", "base_calls", "new_calls", "device_us", "host_us",
        "launches", "waits", "bytes", "evidence",
    }  # fmt: skip
    assert (edit["cause"], edit["base_calls"], edit["new_calls"], edit["waits"]) == (
        "synchronisation", 0, 1, 1,
    )  # fmt: skip
    assert edit["host_us"] == 15
    parts = program["change"]
    assert parts["host_us"] == pytest.approx(edit["host_us"] + parts["same_calls_host_us"])
    assert parts["device_us"] == pytest.approx(edit["device_us"] + parts["same_calls_device_us"])
    assert list(program["kinds"][0]["base_cycles"]) == list(range(1, 9))


def test_without_a_timeline_nothing_is_known():
    assert diagnosis_fields(None)["program"] is None


# -- views -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("edits", ["aten::item added", "Synchronisation", "0 → 1", "in the step, after"]),
        ("program", ["+ aten::item", "  aten::gemm"]),
        ("kinds", ["Step types", "unevenly"]),
    ],
)
def test_views_as_text(edited_comparison: ComparisonAnswer, view: str, expected: list[str]):
    text = terminal.to_text(program_document(edited_comparison, view))
    assert "The program changed" in text
    assert [part for part in expected if part not in text] == []


@pytest.mark.parametrize(
    ("view", "first"),
    [
        ("edits", {"cause": "synchronisation", "new_calls": "1.0", "host_us": "15.0"}),
        ("program", {"name": "aten::gemm", "state": "same", "folded": "1"}),
        ("kinds", {"kind": "1", "base_cycles": "8", "new_cycles": "8", "base_period": ""}),
    ],
)
def test_views_as_csv(edited_comparison: ComparisonAnswer, view: str, first: dict[str, str]):
    rows = list(csv.DictReader(io.StringIO(program_csv(edited_comparison.pairs[0], view))))
    assert first.items() <= rows[0].items()


def test_a_view_is_shown_or_written_by_the_command(
    pair: tuple[str, str], edited_comparison: ComparisonAnswer, capfd: pytest.CaptureFixture[str]
):
    assert main(["compare", *pair, "--view", "edits"]) == 0
    assert "aten::item added" in capfd.readouterr().out
    assert main(["compare", *pair, "--view", "edits", "--format", "csv"]) == 0
    assert capfd.readouterr().out == program_csv(edited_comparison.pairs[0], "edits") + "\n"


def test_every_view_has_all_rows_and_columns_as_a_frame():
    program = change(EDIT, OTHER)
    assert [program_frame(program, view).height for view in VIEWS] == [0, 2, 0]
    assert program_frame(program, "edits")["device_us"].to_list() == [140.7, 0.0]
    assert program_frame(change(), "edits").height == 0


@pytest.mark.parametrize("more", [["--format", "json"], ["--table", "times"]])
def test_a_view_is_one_table(pair: tuple[str, str], more: list[str]):
    assert main(["compare", *pair, "--view", "edits", *more]) == 2


def test_tables_have_no_program(capfd: pytest.CaptureFixture[str]):
    paths = list(map(str, timesink.sample_runs()))
    assert main(["compare", *paths, "--view", "edits"]) == 0
    assert "The program is not known" in capfd.readouterr().out
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
    program = json.loads(capfd.readouterr().out)["program"]
    assert (len(program["edits"]), program["same"]) == (edits, not edits)


def test_a_pattern_that_is_none_is_refused(
    pair: tuple[str, str], capfd: pytest.CaptureFixture[str]
):
    assert main(["compare", *pair, "--ignore", "("]) == 2
    assert "--ignore" in capfd.readouterr().err


def test_a_kept_run_has_its_program(edited_comparison: ComparisonAnswer, pair: tuple[str, str]):
    again = compare(*pair)
    for role, other in zip(edited_comparison.roles, again.roles, strict=True):
        assert role.program is not None
        assert other.program is not None
        assert other.program is not role.program
        for table in ("sites", "counts", "nodes"):
            ours, theirs = getattr(role.program, table), getattr(other.program, table)
            assert isinstance(ours, pl.DataFrame)
            assert ours.equals(theirs)
        assert (role.program.host, role.program.typed) == (other.program.host, other.program.typed)


def test_a_baseline_keeps_the_program(pair: tuple[str, str], tmp_path: Path):
    store = ["--store", str(tmp_path / "store")]
    assert main(["baseline", "save", "main", pair[0], *store]) == 0
    comparison = compare("@main", pair[1], store=str(tmp_path / "store"))
    assert comparison.diagnosis is not None
    program = comparison.diagnosis.program
    assert program is not None
    assert [edit.cause for edit in program.edits] == ["synchronisation"]
