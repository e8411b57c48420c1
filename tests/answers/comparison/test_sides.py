"""What a path holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import timesink
from compared_runs import process_table, write_case, write_table, write_timeline
from timesink.comparison.inputs import RunInput, find_cases, find_side, side_of_trace, stem_of
from timesink.errors import UnreadableError
from timesink.formats.parquet_folder import export_folder
from timesink.model.trace import Trace


def jobs(side: RunInput) -> list[tuple[str, str, bool]]:
    return [(source.job, source.suffix, source.is_table) for source in side.sources]


def test_a_case_has_both_sides(tmp_path: Path) -> None:
    case = write_case(tmp_path / "case", [1], [1])
    (sides,) = find_cases(case)
    assert (sides.base.name, sides.new.name) == ("normal_perf_data", "abnormal_perf_data")


def test_plain_names_of_sides_make_a_case_too(tmp_path: Path) -> None:
    write_timeline(tmp_path / "normal" / "trace.json")
    assert find_cases(tmp_path) == []
    write_timeline(tmp_path / "abnormal" / "trace.json")
    assert [case.folder for case in find_cases(tmp_path)] == [tmp_path]


def test_cases_are_found_at_any_depth_and_once(tmp_path: Path) -> None:
    for name in ("b", "a/deep"):
        write_case(tmp_path / name, [1], [1])
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    assert [case.folder.name for case in find_cases(tmp_path)] == ["deep", "b"]


@pytest.mark.parametrize(
    ("name", "job", "suffix"),
    [
        ("result_perf_data.csv", "result", ""),
        ("result_perf_data.csv.gz", "result", ""),
        ("job_prefill_perf_data.csv", "job", "_prefill"),
        ("job_decode_perf_data.csv.gz", "job", "_decode"),
        ("job_layer_perf_data.csv", "job", "_layer"),
        ("rank0_behaviour.parquet", "rank0", ""),
        ("decode_perf_data.csv", ".", "_decode"),
        ("_x_perf_data.csv", "_x", ""),
    ],
)
def test_names_of_tables_say_job_and_cycles(
    tmp_path: Path, name: str, job: str, suffix: str
) -> None:
    write_table(tmp_path / name, process_table(1))
    assert jobs(find_side(tmp_path)) == [(job, suffix, True)]
    assert jobs(find_side(tmp_path / name)) == [(job, suffix, True)]


def test_a_table_goes_before_the_trace_beside_it(tmp_path: Path) -> None:
    write_timeline(tmp_path / "trace.json")
    assert jobs(find_side(tmp_path)) == [("trace", "", False)]
    write_table(tmp_path / "trace.behaviour.parquet", process_table(1))
    side = find_side(tmp_path)
    assert jobs(side) == [("trace", "", True)]
    assert "not the trace beside it" in side.notes[0]


def test_a_trace_goes_before_tables_that_lie_deeper(tmp_path: Path) -> None:
    write_timeline(tmp_path / "trace.json")
    write_table(tmp_path / "old" / "x_perf_data.csv", process_table(1))
    assert jobs(find_side(tmp_path)) == [("trace", "", False)]


def test_below_a_folder_there_may_be_both(tmp_path: Path) -> None:
    write_timeline(tmp_path / "a" / "trace.json")
    write_table(tmp_path / "b" / "x_perf_data.csv", process_table(1))
    write_timeline(tmp_path / "b" / "trace.json")
    assert jobs(find_side(tmp_path)) == [("b/x", "", True), ("a/trace", "", False)]


def test_tables_of_any_name_are_found_where_there_is_nothing_else(tmp_path: Path) -> None:
    write_table(tmp_path / "p1.csv", process_table(1))
    (tmp_path / "counters.csv").write_text("timestamp_us,counter,device,value\n1,a,GPU 0,2\n")
    assert jobs(find_side(tmp_path)) == [("p1", "", True)]


def test_links_do_not_make_a_table_two(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a" / "x_perf_data.csv", process_table(1))
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    (tmp_path / "a" / "y_perf_data.csv").symlink_to(table)
    assert jobs(find_side(tmp_path)) == [("a/x", "", True)]


def test_of_several_spans_the_first_is_taken_and_said(tmp_path: Path) -> None:
    for stamp in (9, 10):
        write_timeline(tmp_path / f"w.{stamp}.pt.trace.json")
    side = find_side(tmp_path)
    assert [source.path.name for source in side.sources] == ["w.9.pt.trace.json"]
    assert "first span" in side.notes[0]


def test_an_exported_trace_is_a_side(tmp_path: Path) -> None:
    trace = timesink.open(write_timeline(tmp_path / "trace.json"), cache=False)
    export_folder(trace, tmp_path / "tables")
    (source,) = find_side(tmp_path / "tables").sources
    assert source.is_export


def test_a_rank_is_chosen_by_name(tmp_path: Path) -> None:
    for rank in (0, 1):
        write_timeline(tmp_path / f"rank{rank}.json")
    assert [source.path.name for source in find_side(tmp_path, 1).sources] == ["rank1.json"]
    with pytest.raises(UnreadableError, match="no trace fits"):
        find_side(tmp_path, 7)


def test_folders_without_anything_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="no trace in this folder"):
        find_side(tmp_path)


def test_opened_traces_are_told_apart_though_of_one_file(tmp_path: Path) -> None:
    trace = timesink.open(write_timeline(tmp_path / "trace.json"), cache=False)
    again = Trace(trace.metadata, trace.health, trace.frames)
    keys = {side_of_trace(opened).sources[0].key for opened in (trace, trace, again)}
    assert len(keys) == 2


@pytest.mark.parametrize("name", [".csv", "csv", "perf_data.csv", "a.b.json"])
def test_a_stem_is_never_empty(name: str) -> None:
    assert stem_of(name)


BROKEN = {
    "empty.csv": b"",
    "junk.csv.gz": b"\x1f\x8b\x08\x00junk",
    "no_share.csv": b"cycle,function_name,duration\n1,f,2\n",
    "wide.csv": "cycle,beta_pct".encode("utf-16"),
    "other.parquet": b"PAR1",
    "notes.csv": b"a,b\n1,2\n",
}
NOT_MEANT = {
    "counters.csv": b"timestamp_us,counter,device,value\n1,c,GPU 0,1\n",
    "topo_component.csv": b"category,inventory\nCAT_CPU,{}\n",
    "readme.txt": b"",
}


def left_out(notes: Sequence[str]) -> set[str]:
    left_out_notes = [note for note in notes if note.startswith("left out: ")]
    return {
        Path(note.removeprefix("left out: ").partition(": ")[0]).name for note in left_out_notes
    }


@pytest.mark.parametrize("name", ["run.csv", "result_perf_data.csv"])
def test_files_among_tables_that_cannot_be_read_are_named(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "many"
    write_table(folder / name, process_table(7))
    for other, content in {**BROKEN, **NOT_MEANT}.items():
        (folder / other).write_bytes(content)
    compared = timesink.compare(folder, write_table(tmp_path / "b.csv", process_table(7)))
    assert left_out(compared.notes) == set(BROKEN)
    assert left_out(compared.to_dict()["notes"]) == set(BROKEN)


def test_a_table_of_another_name_than_the_others_is_named(tmp_path: Path) -> None:
    write_table(tmp_path / "result_perf_data.csv", process_table(7))
    write_table(tmp_path / "spare.csv", process_table(7))
    side = find_side(tmp_path)
    assert jobs(side) == [("result", "", True)]
    assert "not named as one" in side.notes[0]


def test_a_broken_table_beside_a_trace_is_named_and_other_files_are_not(tmp_path: Path) -> None:
    write_timeline(tmp_path / "trace.json")
    for name in ("x_perf_data.csv", "notes.csv"):
        (tmp_path / name).write_text("cycle,beta_pct\n")
    side = find_side(tmp_path)
    assert jobs(side) == [("trace", "", False)]
    assert left_out(side.notes) == {"x_perf_data.csv"}


def test_tables_of_the_folder_come_before_recordings_below_it(tmp_path: Path) -> None:
    write_timeline(tmp_path / "deep" / "trace.json")
    write_table(tmp_path / "a.csv", process_table(7))
    side = find_side(tmp_path)
    assert jobs(side) == [("a", "", True)]
    assert "not the recordings in folders below" in side.notes[0]


def test_a_folder_with_nothing_but_a_broken_table_says_what_is_wrong_with_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.csv").write_text("cycle,function_name,duration\n1,f,2\n")
    with pytest.raises(UnreadableError, match=r"a\.csv: .* without the column beta_pct$"):
        find_side(tmp_path)
