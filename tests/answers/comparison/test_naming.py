"""What comparisons, sides and files are called."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.comparison.pairing import (
    case_identifier,
    file_stem,
    pair_identifier,
    role_labels,
    safe,
    side_labels,
)
from timesink.comparison.results import Pair, Process
from timesink.output.names import told_apart


def member(
    pid: int, source: str = "a.csv", suffix: str = "", host: str | None = None, rank: int = 0
) -> Process:
    return Process(
        "", source, str(pid), pl.DataFrame(), host=host, rank=rank, job="a", suffix=suffix
    )


def test_a_case_is_named_from_the_parent_of_the_first_path() -> None:
    case = Path("/data/Processed/SGLang/gpu_instability")
    assert case_identifier(case, Path("/data/Processed")) == "Processed/SGLang/gpu_instability"
    assert case_identifier(case, case) == "gpu_instability"


def test_a_linked_case_keeps_the_name_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert case_identifier(tmp_path / "link", tmp_path / "link") == "link"


def test_a_case_elsewhere_goes_by_its_own_name() -> None:
    assert case_identifier(Path("/other/case"), Path("/data/Processed")) == "case"


@pytest.mark.parametrize(
    ("base", "new", "name"),
    [
        ("a/trace.json", "b/trace.json", "a vs b"),
        ("a/before.json.gz", "a/after.json.gz", "before vs after"),
        ("a/x.json", "b/x.json.gz", "a vs b"),
        ("a/x.json", "a/x.json", "x vs x"),
        ("a/b/x", "a/x", "b vs a"),
        ("a/w.1794703775062.json", "b/w.1794703775099.json", "a vs b"),
        (
            "a/w.1794703775062.json",
            "a/w.1794703775099.json",
            "w.1794703775062.json vs w.1794703775099.json",
        ),
    ],
)
def test_two_paths_are_named_by_what_differs(base: str, new: str, name: str) -> None:
    assert pair_identifier(Path("/d") / base, Path("/d") / new) == name


def test_labels_and_files_of_the_same_process() -> None:
    match = Pair("strict", member(944615, suffix="_decode"), member(944615))
    assert side_labels(match, ("normal", "abnormal")) == ("normal", "abnormal")
    assert file_stem("SGLang/case", match) == "SGLang_case_decode_pid944615_strict_comparison"


def test_labels_and_files_of_different_processes() -> None:
    match = Pair("cross", member(1), member(2))
    assert side_labels(match, ("normal", "abnormal")) == ("normal_pid_1", "abnormal_pid_2")
    assert file_stem("a case", match) == "a_case_n_pid1_vs_a_pid2_cross_comparison"


def test_one_number_on_two_hosts_is_labelled_by_host() -> None:
    match = Pair("cross", member(1, host="x"), member(1, host="y"))
    assert side_labels(match, ("base", "new")) == ("base_x_pid_1", "new_y_pid_1")


def test_ranks_are_in_the_name() -> None:
    match = Pair("strict", member(1, rank=3), member(2, rank=3), by_rank=True)
    assert file_stem("a vs b", match) == "a_vs_b_rank3_strict_comparison"


def test_roles_are_labelled_by_file_host_and_process() -> None:
    roles = [member(1, "/d/run_perf_data.csv", host="left"), member(2, "/d/run_perf_data.csv")]
    assert role_labels(roles) == ["run_left_1", "run_2"]


def test_files_of_one_name_are_labelled_by_their_folders_too() -> None:
    roles = [member(1, f"/d/{place}/result_perf_data.csv") for place in ("a/n", "a/m", "b/n")]
    assert role_labels(roles) == ["a_n_result_1", "m_result_1", "b_n_result_1"]


def test_sorts_of_cycles_are_in_the_label_once() -> None:
    roles = [member(1, "/d/x_decode.csv", "_decode"), member(1, "/d/y.csv", "_prefill")]
    assert role_labels(roles) == ["x_decode_1", "y_prefill_1"]


@given(st.lists(st.sampled_from(["a", "a_v2", "a_v3", "b", "a_v2_"]), max_size=8))
def test_names_are_told_apart(names: list[str]) -> None:
    apart = told_apart(names)
    assert len(set(apart)) == len(names)
    assert all(new.startswith(old) for old, new in zip(names, apart, strict=True))


@given(st.text(max_size=20))
def test_names_are_safe_for_files(name: str) -> None:
    assert all(letter.isascii() and (letter.isalnum() or letter in "_.-") for letter in safe(name))
