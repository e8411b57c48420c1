"""`timesink.compare` on what users give."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import timesink
from compared import pair_of
from compared_runs import (
    SLOW_CLOCK,
    process_table,
    rank_fields,
    write_case,
    write_table,
    write_timeline,
)
from timesink.answers.comparison.report import ComparisonAnswer
from timesink.comparison import compare_runs
from timesink.comparison.results import FAMILIES, ROWS, TIMES
from timesink.comparison.steps.verdict import compare_roles
from timesink.errors import NotFoundError, TimesinkError, UnreadableError, UsageError


@pytest.fixture
def pair_measures() -> None:
    """For tests that look at what comes of a pair."""


@pytest.fixture(autouse=True)
def _who_meets_whom(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is what most of these ask: their pairs say nothing but that."""
    if "pair_measures" not in request.fixturenames:
        monkeypatch.setattr(
            compare_runs,
            "compare_roles",
            lambda base, new, kind, **_: pair_of(base=base, new=new, kind=kind),
        )
        # Nor is it how ranks wait for each other: see test_rank_sets.py.
        monkeypatch.setattr(compare_runs.rank_changes, "compared_sets", lambda _: (None, []))


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cases that nobody changes: of a process, of several, of every sort of cycles."""
    folder = tmp_path_factory.mktemp("cases")
    write_case(folder / "one" / "case", [7], [7])
    write_case(folder / "some" / "case", [7, 8], [7, 10])
    for suffix in ("_prefill", "_decode", "_layer", ""):
        write_case(folder / "sorts" / "case", [7], [7], f"job{suffix}_perf_data.csv")
    return folder


@pytest.fixture
def case(cases: Path) -> Path:
    return cases / "one" / "case"


def pids(comparison: ComparisonAnswer) -> list[tuple[str, str, str]]:
    return [(pair.pair.kind, pair.pair.base.pid, pair.pair.new.pid) for pair in comparison.pairs]


# -- two sides -------------------------------------------------------------------------------------


def test_a_table_and_a_recording_have_the_same_cycles(tmp_path: Path) -> None:
    """The recording has profiler steps; the table says that cycles are decode steps."""
    source = write_timeline(tmp_path / "a.json")
    behaviour = timesink.compare(source, source).pair.base.behaviour
    table = write_table(tmp_path / "a.parquet", behaviour)
    new = write_timeline(tmp_path / "b.json", steps=True)
    assert timesink.compare(new, new).pair.base.method == "step"
    compared = timesink.compare(table, new)
    assert compared.pair.new.behaviour["anchor"].unique().to_list() == ["decode_step"]
    assert any("decode_step" in note for note in compared.notes)
    both = compared.pair
    assert compare_roles(both.base, both.new, "strict").workload.comparable


@pytest.mark.usefixtures("pair_measures")
def test_cycles_found_in_different_ways_are_found_again_in_one(tmp_path: Path) -> None:
    base = write_timeline(tmp_path / "a.json", steps=True)
    new = write_timeline(tmp_path / "b.json")
    compared = timesink.compare(base, new)
    assert {compared.pair.base.method, compared.pair.new.method} == {"marker"}
    assert compared.pair.workload.comparable


def test_tables_have_the_cycles_they_have(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.csv", process_table(7))
    with pytest.raises(UsageError, match="--marker"):
        timesink.compare(path, path, marker="decode_step")
    with pytest.raises(UsageError, match="--by"):
        timesink.compare(path, path, by="layer")


@pytest.mark.usefixtures("pair_measures")
def test_an_own_map_says_which_counters_matter(tmp_path: Path) -> None:
    map_file = tmp_path / "map.csv"
    map_file.write_text("class,metric\ngpu_compute,gpu_power\n")
    for name in ("a", "b"):
        write_timeline(tmp_path / name / "trace.json")
        samples = [f"{t},{c},GPU 0,7" for t in range(0, 6000, 100) for c in ("gpu_power", "x")]
        (tmp_path / name / "counters.csv").write_text(
            "\n".join(["timestamp_us,counter,device,value", *samples])
        )
    pair = timesink.compare(tmp_path / "a", tmp_path / "b", metric_map=map_file).pair
    of_kernel = pair.rows.filter(pl.col("function") == "gemm_kernel")
    assert of_kernel["metric"].to_list() == ["gpu_power"]


def test_rows_that_were_ignored_are_noted(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.csv", process_table(7))
    with path.open("a", encoding="utf-8") as file:
        file.write("x,7\n")
    pair = timesink.compare(path, path).pair
    assert any(note.startswith("1 row could not be used, e.g. ") for note in pair.base.notes)


@pytest.mark.usefixtures("pair_measures")
def test_a_single_cycle_is_compared_without_a_test(tmp_path: Path) -> None:
    base, new = (
        write_table(tmp_path / f"{name}.parquet", process_table(7, cycles=1)) for name in ("a", "b")
    )
    pair = timesink.compare(base, new).pair
    assert len(pair.cycle_times.base_ns) == 1
    assert pair.cycle_times.interval_ns is None
    assert pair.rows.height > 0


def test_two_single_processes_are_base_and_new_whatever_their_numbers(tmp_path: Path) -> None:
    base = write_table(tmp_path / "a.csv", process_table(7))
    new = write_table(tmp_path / "b.csv", process_table(9))
    pair = timesink.compare(base, new).pair
    assert (pair.kind, pair.base.label, pair.new.label) == ("cross", "base", "new")
    several = write_table(tmp_path / "c.csv", process_table(9), process_table(10))
    labels = [
        compared_pair.pair.new.label for compared_pair in timesink.compare(base, several).pairs
    ]
    assert labels == ["new_pid_9", "new_pid_10"]
    (chosen,) = timesink.compare(base, several, pid="7,10").pairs
    assert (chosen.pair.new.label, chosen.pair.new.pid) == ("new", "10")


@pytest.mark.usefixtures("pair_measures")
def test_sorts_of_cycles_are_said_in_words_and_end_the_name_of_files(tmp_path: Path) -> None:
    for suffix in ("_prefill", "_decode"):
        write_case(tmp_path / "case", [7], [7], f"job{suffix}_perf_data.csv")
    compared = timesink.compare(tmp_path / "case")
    assert [pair.title for pair in compared.pairs] == [
        "case, decode steps",
        "case, prefill steps",
    ]
    assert compared.pairs[0].file_stem == "case_decode_pid7_strict_comparison"
    assert compared.headline.startswith("Both pairs have longer steps, ")
    assert compared.pair_names == [pair.title for pair in compared.pairs]


# -- folders ---------------------------------------------------------------------------------------


def test_a_rank_nobody_has_is_refused(tmp_path: Path) -> None:
    path = write_timeline(tmp_path / "a.json", **rank_fields(0))
    with pytest.raises(NotFoundError, match="no rank 5"):
        timesink.compare(path, path, rank=5)


def test_one_unreadable_rank_is_named_and_the_others_stand(tmp_path: Path) -> None:
    for side in ("base", "new"):
        for rank in (0, 1):
            write_timeline(tmp_path / side / f"rank{rank}.json")
    (tmp_path / "new" / "rank1.json").write_bytes(b'{"traceEvents": [')
    compared = timesink.compare(tmp_path / "base", tmp_path / "new")
    assert [pair.pair.base.rank for pair in compared.pairs] == [0]
    assert any("rank1.json" in note and "left out" in note for note in compared.notes)
    assert any("without a partner" in note for note in compared.notes)


# -- cases -----------------------------------------------------------------------------------------


def test_a_case_is_normal_and_abnormal(case: Path) -> None:
    (pair,) = timesink.compare(case).pairs
    assert (pair.pair.base.label, pair.pair.new.label) == ("normal", "abnormal")
    assert pair.file_stem == "case_pid7_strict_comparison"


def test_processes_of_a_case(tmp_path: Path) -> None:
    compared = timesink.compare(write_case(tmp_path / "case", [7, 8, 9], [7, 10]))
    assert pids(compared) == [("strict", "7", "7"), ("cross", "8", "10"), ("cross", "9", "10")]
    assert compared.pairs[1].pair.base.label == "normal_pid_8"
    assert [pair.file_stem for pair in compared.pairs][1] == (
        "case_n_pid8_vs_a_pid10_cross_comparison"
    )


@pytest.mark.parametrize(
    ("pid", "expected"),
    [
        ("7", [("strict", "7", "7")]),
        (7, [("strict", "7", "7")]),
        ("8", [("cross", "8", "7"), ("cross", "8", "10")]),
        ("8,10", [("cross", "8", "10")]),
        ("7,10", [("cross", "7", "10")]),
    ],
)
def test_a_process_is_chosen(
    cases: Path, pid: str | int, expected: list[tuple[str, str, str]]
) -> None:
    assert pids(timesink.compare(cases / "some" / "case", pid=pid)) == expected


def test_a_process_nobody_has_is_refused(tmp_path: Path) -> None:
    case = write_case(tmp_path / "case", [7], [8])
    with pytest.raises(NotFoundError, match="no process 5") as caught:
        timesink.compare(case, pid=5)
    assert "7, 8" in caught.value.hint
    with pytest.raises(UsageError, match="--pid"):
        timesink.compare(case, pid="1,2,3")


@pytest.mark.parametrize(("pid", "file"), [("7,7000", "b.csv"), ("8,8", None), ("8,9", "a.csv")])
def test_each_of_two_processes_is_looked_for_on_its_own_side(
    tmp_path: Path, pid: str, file: str | None
) -> None:
    base = write_table(tmp_path / "a.csv", process_table(7))
    new = write_table(tmp_path / "b.csv", process_table(8), process_table(9))
    if file is None:
        assert pids(timesink.compare(base, new, pid=pid)) == [("cross", "7", "8")]
        return
    with pytest.raises(NotFoundError, match=rf"{file}: no process \d+$") as caught:
        timesink.compare(base, new, pid=pid)
    assert caught.value.hint == ("there are 8, 9" if file == "b.csv" else "there are 7")


@pytest.mark.parametrize("sort", ["prefill", "generic"])
def test_one_sort_of_cycles_is_chosen(cases: Path, sort: str) -> None:
    pairs = timesink.compare(cases / "sorts" / "case", cycle_type=sort).pairs
    assert [pair.suffix for pair in pairs] == ["" if sort == "generic" else f"_{sort}"]


def test_decode_cycles_without_such_a_name_are_decode_cycles(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_table(tmp_path / f"{name}.csv", process_table(7, cycle_type="decode"))
    for sort in ("decode", "generic"):
        comparison = timesink.compare(tmp_path / "a.csv", tmp_path / "b.csv", cycle_type=sort)
        assert len(comparison.pairs) == 1


def test_sorts_of_cycles_nobody_has_are_refused(tmp_path: Path) -> None:
    case = write_case(tmp_path / "case", [7], [7], "job_layer_perf_data.csv")
    with pytest.raises(NotFoundError, match="no prefill steps") as caught:
        timesink.compare(case, cycle_type="prefill")
    assert caught.value.hint == "there are layer"
    with pytest.raises(NotFoundError, match="no prefill steps"):
        timesink.compare(case, explore=True, cycle_type="prefill")
    with pytest.raises(UsageError, match="no such step type"):
        timesink.compare(case, cycle_type="epoch")


def test_files_of_a_folder_are_named_beside_a_single_one(tmp_path: Path) -> None:
    base = write_table(tmp_path / "b.csv", process_table(7))
    for number, pid in enumerate((7, 7, 8)):
        write_table(tmp_path / "Folder" / f"x{number}.csv", process_table(pid, seed=number))
    compared = timesink.compare(base, tmp_path / "Folder")
    assert [pair.identifier for pair in compared.pairs] == ["b vs x0", "b vs x1", "b vs x2"]
    assert not any("_v2" in pair.file_stem for pair in compared.pairs)
    assert compared.choices == {}


def test_prefill_without_a_partner_is_said(tmp_path: Path) -> None:
    case = write_case(tmp_path / "case", [7], [7], "job_decode_perf_data.csv")
    write_table(case / "normal_perf_data" / "job_prefill_perf_data.csv", process_table(7))
    compared = timesink.compare(case)
    assert [pair.suffix for pair in compared.pairs] == ["_decode"]
    assert any("job_prefill pid 7" in note for note in compared.notes)


def test_jobs_that_share_a_process_number_are_told_apart(tmp_path: Path) -> None:
    for job in ("chat", "code"):
        write_case(tmp_path / "case", [7], [7], f"{job}_perf_data.csv")
    compared = timesink.compare(tmp_path / "case")
    assert [pair.identifier for pair in compared.pairs] == ["case chat", "case code"]


def test_a_process_is_chosen_among_cases(tmp_path: Path) -> None:
    for name, pid in (("one", 7), ("two", 8)):
        write_case(tmp_path / "data" / name, [pid], [pid])
    compared = timesink.compare(tmp_path / "data", pid=8)
    assert [pair.identifier for pair in compared.pairs] == ["data/two"]


def test_an_empty_case_does_not_stop_the_others(tmp_path: Path) -> None:
    write_case(tmp_path / "data" / "one", [7], [7])
    for side in ("normal_perf_data", "abnormal_perf_data"):
        (tmp_path / "data" / "empty" / side).mkdir(parents=True)
    compared = timesink.compare(tmp_path / "data")
    assert len(compared.pairs) == 1
    assert any("empty" in note for note in compared.notes)


def test_a_case_is_no_side(tmp_path: Path, case: Path) -> None:
    table = write_table(tmp_path / "a.parquet", process_table(7))
    with pytest.raises(UsageError, match="no case") as caught:
        timesink.compare(case, table)
    assert "--explore" in caught.value.hint


# -- hosts -----------------------------------------------------------------------------------------


def test_hosts_tell_processes_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        tables = [process_table(7, host=host, seed=n) for n, host in enumerate(("left", "right"))]
        write_table(tmp_path / f"{name}.csv", *tables)
    compared = timesink.compare(tmp_path / "a.csv", tmp_path / "b.csv")
    hosts = [(pair.pair.base.host, pair.pair.new.host) for pair in compared.pairs]
    assert hosts == [("left", "left"), ("right", "right")]
    assert [pair.file_stem for pair in compared.pairs] == [
        "a_vs_b_left_pid7_strict_comparison",
        "a_vs_b_right_pid7_strict_comparison",
    ]


def test_hosts_can_be_ignored(tmp_path: Path) -> None:
    base = write_table(tmp_path / "a.csv", process_table(7, host="left"))
    new = write_table(tmp_path / "b.csv", process_table(7, host="right"))
    compared = timesink.compare(base, new, ignore_hosts=True)
    assert (compared.pair.base.host, compared.pair.new.host) == (None, None)


# -- devices ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["GPU 0", "gpu 0", "gpu0", "GPU0", 0, "0"])
@pytest.mark.usefixtures("pair_measures")
def test_tables_of_one_device(case: Path, device: str | int) -> None:
    pair = timesink.compare(case, device=device).pair
    assert pair.rows["device"].unique().to_list() == ["GPU 0"]
    assert pair.times["device"].unique().to_list() == ["GPU 0"]
    assert all(finding.device == "GPU 0" for finding in pair.findings)
    assert pair.findings[0].row == 0
    assert len(pair.cycle_times.base_ns) == 8


@pytest.mark.usefixtures("pair_measures")
def test_the_host_is_a_device(case: Path) -> None:
    pair = timesink.compare(case, device="cpu").pair
    assert pair.times["device"].unique().to_list() == ["Host"]


@pytest.mark.usefixtures("pair_measures")
def test_a_device_nobody_has_is_refused(case: Path) -> None:
    with pytest.raises(NotFoundError, match=r"^--device GPU 5: no such device$") as caught:
        timesink.compare(case, device="GPU 5")
    assert "GPU 0, Host" in caught.value.hint


# -- many roles ------------------------------------------------------------------------------------


def write_roles(folder: Path) -> list[Path]:
    return [
        write_table(
            folder / f"{name}_{number}.parquet",
            process_table(100 + number, fault, seed=10 + number),
        )
        for name, fault in (("well", None), ("ill", SLOW_CLOCK))
        for number in range(3)
    ]


@pytest.fixture(scope="module")
def roles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_roles(tmp_path_factory.mktemp("roles"))


@pytest.fixture(scope="module")
def role_comparison(roles: list[Path]) -> ComparisonAnswer:
    return timesink.compare(*roles)


def clusters(comparison: ComparisonAnswer) -> list[set[str]]:
    exploration = comparison.exploration
    assert exploration is not None
    return [
        {exploration.roles[member].label for member in cluster.members}
        for cluster in exploration.clusters
    ]


def test_roles_that_are_alike_have_no_pair(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.parquet", process_table(1), process_table(2))
    compared = timesink.compare(path)
    assert len(clusters(compared)) == 1
    assert compared.headline == "All 2 processes behave the same."
    with pytest.raises(NotFoundError, match="no pair"):
        _ = compared.pair


def test_one_role_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to compare it with"):
        timesink.compare(write_table(tmp_path / "a.parquet", process_table(7)))


# -- what cannot work ------------------------------------------------------------------------------


def test_missing_paths_and_nothing_at_all() -> None:
    with pytest.raises(UnreadableError, match="no such file"):
        timesink.compare("gone", "gone")
    with pytest.raises(UsageError):
        timesink.compare()


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    empty = write_table(tmp_path / "a.csv", process_table(7).head(0))
    full = write_table(tmp_path / "b.csv", process_table(7))
    with pytest.raises(TimesinkError, match=r"a\.csv") as caught:
        timesink.compare(empty, full)
    assert caught.value.hint


def test_a_recording_in_which_nothing_repeats_is_refused(tmp_path: Path) -> None:
    path = write_timeline(tmp_path / "a.json", cycles=1, mark="")
    with pytest.raises(TimesinkError) as caught:
        timesink.compare(path, path)
    assert "--marker" in caught.value.hint or "--by" in caught.value.hint


# -- JSON ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("pair_measures")
def test_json_is_complete(tmp_path: Path) -> None:
    compared = timesink.compare(write_case(tmp_path / "case", [7, 8], [7]))
    answer = json.loads(compared.to_json())
    assert answer["schema"] == "timesink/comparison/1"
    assert answer["headline"] == compared.headline
    (pair,) = answer["pairs"]
    rows = compared.pair.rows
    assert [row["function"] for row in pair["rows"]] == rows["function"].to_list()
    assert list(pair["rows"][0]) == rows.columns
    assert list(pair["times"][0]) == compared.pair.times.columns
    assert len(pair["cycle_times"]["base_ns"]) == 8
    assert {role["pid"] for role in answer["roles"]} == {"7", "8"}
    assert any("without a partner" in note for note in answer["notes"])
    for finding in pair["findings"]:
        assert pair["rows"][finding["row"]]["function"] == finding["function"]


def test_names_that_are_no_text_are_said(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    try:
        path = write_table(tmp_path / name, process_table(7))
    except OSError:
        pytest.skip("this file system takes text only")
    answer = json.loads(timesink.compare(path, path).to_json())
    assert answer["roles"][0]["source"].endswith("caf\\xe9.csv")
    assert answer["pairs"][0]["identifier"] == "caf\\xe9 vs caf\\xe9"


@pytest.mark.usefixtures("pair_measures")
def test_every_key_of_the_json_is_described(case: Path, role_comparison: ComparisonAnswer) -> None:
    page = (Path(__file__).parents[3] / "docs" / "comparison_json.md").read_text(encoding="utf-8")
    answers = [timesink.compare(case), role_comparison]
    tables = (ROWS, TIMES, FAMILIES)
    keys = {key for answer in answers for key in keys_of(answer.to_dict())}.union(*tables)
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []


def keys_of(value: object) -> Iterator[str]:
    """Every key of an answer, however deep."""
    if isinstance(value, dict):
        yield from value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        yield from keys_of(item)
