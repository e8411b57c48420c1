"""Reference figures of comparing runs, from outside: golden tables, a report, recorded faults."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import timesink
from timesink.answers.comparison.report import ComparisonAnswer
from timesink.cli import main

GOLDEN = {
    "SGLang_gpu_instability_pid944615_strict": ("gpu_instability", "944615", 264),
    "SGLang_gpu_memory_squeeze_out_NVLink_pid923229_strict": (
        "gpu_memory_squeeze_out_NVLink",
        "923229",
        287,
    ),
    "SGLang_cpu_frequency_reduction_n_pid805580_vs_a_pid842126_cross": (
        "cpu_frequency_reduction",
        "805580,842126",
        264,
    ),
}
KEY = ["Function Name", "Metric Name", "Device"]
SCORE = "Suspicion Score"
HALF_A_UNIT = 5.01e-7
"""Half a unit of the sixth decimal."""
SEED = "004_713e97ee5e652e9e"
HEADINGS = (
    "## 1. High-Level Performance Summary",
    "## 2. Cycle Duration Distribution Comparison",
    "## 3. In-depth Core Metric Comparison",
    "### Overview",
    "### Key Findings:",
    "### Detailed comparison table",
    "## 5. Legend",
)
CASES = ("cpu_frequency_reduction", "gpu_instability", "gpu_memory_squeeze_out_NVLink")


@pytest.fixture(autouse=True)
def kept_recordings(common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings are read once for all of these."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))


def latencyprism(shared: Path) -> Path:
    return shared / "data" / "latencyprism"


def case(shared: Path, name: str) -> Path:
    return latencyprism(shared) / "SGLang" / name


# -- golden tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize("golden", GOLDEN)
def test_csv_agrees_with_the_golden_table(shared_root: Path, tmp_path: Path, golden: str) -> None:
    name, pid, rows = GOLDEN[golden]
    out = tmp_path / "rows.csv"
    assert main(["compare", str(case(shared_root, name)), "--pid", pid, "-o", str(out)]) == 0
    mine = read_table(out)
    wanted = read_table(latencyprism(shared_root) / "golden" / f"{golden}.csv")
    assert mine.columns == wanted.columns
    assert (mine.height, wanted.height) == (rows, rows)
    assert disagreements(mine, wanted) == []
    assert count_misplaced(mine, wanted) == 0


def read_table(path: Path) -> pl.DataFrame:
    table = pl.read_csv(path, infer_schema=False)
    return table.with_columns(pl.col(table.columns[3:]).cast(pl.Float64))


def disagreements(mine: pl.DataFrame, wanted: pl.DataFrame) -> list[str]:
    """Columns with a cell that differs, or is empty on one side only."""
    joined = wanted.join(mine, on=KEY, how="left", suffix="_mine", validate="1:1")
    assert joined.height == wanted.height
    return [
        column
        for column in wanted.columns[3:]
        if not agrees(joined[f"{column}_mine"], joined[column], column)
    ]


def agrees(mine: pl.Series, wanted: pl.Series, column: str) -> bool:
    if not mine.is_null().equals(wanted.is_null()):
        return False
    largest = wanted.abs().fill_null(0).max()
    limit = max(HALF_A_UNIT, 1e-12 * float(largest or 0))  # type: ignore[arg-type]
    # Two counter values that differ by one step of the reader's precision are tied or not.
    limit = 1e-3 if column == "U-test p(μ)" else limit
    worst = (mine - wanted).abs().fill_null(0).max()
    return float(worst or 0) <= limit  # type: ignore[arg-type]


def count_misplaced(mine: pl.DataFrame, wanted: pl.DataFrame) -> int:
    """Rows at another place although the scores there are not equal."""
    score = mine.select(*KEY, pl.col(SCORE).alias("own")).join(
        wanted.with_row_index("place"), on=KEY, how="right"
    )
    there = mine[SCORE].to_numpy()[score["place"].to_numpy()]
    wanted_there = score[SCORE].to_numpy()
    tolerance = 2e-6 + 1e-12 * np.abs(wanted_there)
    wrong = (np.abs(score["own"].to_numpy() - wanted_there) > tolerance) | (
        np.abs(there - wanted_there) > tolerance
    )
    return int(wrong.sum())


def test_the_check_of_tables_can_fail(shared_root: Path) -> None:
    wanted = read_table(next((latencyprism(shared_root) / "golden").glob("*instability*")))
    assert disagreements(wanted.with_columns(pl.col("Δβ(%)") + 1e-6), wanted) == ["Δβ(%)"]
    emptied = pl.when(pl.int_range(pl.len()) > 0).then("p-value(β)")
    assert disagreements(wanted.with_columns(emptied), wanted) == ["p-value(β)"]
    assert count_misplaced(wanted.reverse(), wanted) > 0


# -- the report ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reports(
    shared_root: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Sequence[str], Sequence[str]]:
    """The lines of our report on gpu_instability, and of the published one."""
    out = tmp_path_factory.mktemp("report") / "report.md"
    words = ["--format", "report", "-o", str(out)]
    assert main(["compare", str(case(shared_root, "gpu_instability")), *words]) == 0
    seed = (shared_root / "seeds" / f"{SEED}.txt").read_text(encoding="utf-8")
    return out.read_text(encoding="utf-8").splitlines(), seed.splitlines()


def test_report_has_the_published_sections(reports: tuple[Sequence[str], Sequence[str]]) -> None:
    ours, seed = reports
    assert ours[0].startswith("# Strict Performance Comparison: ")
    assert ours[0].endswith("gpu_instability (PID: 944615)")
    places = [ours.index(heading) for heading in HEADINGS]
    assert all(place < other for place, other in pairwise(places))
    assert all(heading in seed for heading in HEADINGS)


@pytest.mark.parametrize(("number", "rows"), [(0, 2), (1, 12), (2, 264)])
def test_report_has_every_cell_of_the_published_tables(
    reports: tuple[Sequence[str], Sequence[str]], number: int, rows: int
) -> None:
    ours, seed = (list(tables(lines)) for lines in reports)
    title, *body = seed[number]
    assert len(body) == rows
    mine = next(table for table in ours if table[0] == title)
    assert len(mine) == rows + 1
    # Equal scores may come in any order.
    assert sorted(mine) == sorted(seed[number])


def tables(lines: Sequence[str]) -> Iterator[list[list[str]]]:
    """Tables as rows of cells, without the line under the titles."""
    table: list[list[str]] = []
    for line in [*lines, ""]:
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
                table.append(cells)
        elif table:
            yield table
            table = []


def test_report_has_the_three_key_findings(reports: tuple[Sequence[str], Sequence[str]]) -> None:
    ours, seed = (findings(lines) for lines in reports)
    assert len(seed) == 3
    assert list(ours) == list(seed)
    for function, figures in seed.items():
        assert figures <= ours[function], function


def findings(lines: Sequence[str]) -> dict[str, set[str]]:
    """Every figure said about each function among the key findings."""
    start = lines.index("### Key Findings:")
    end = next(place for place, line in enumerate(lines) if place > start and line.startswith("#"))
    metrics: dict[str, set[str]] = {}
    for line in lines[start + 1 : end]:
        if line.startswith("- "):
            function = line.split("`")[1]
            metrics[function] = set()
        elif line.startswith("  ") and metrics:
            metrics[function] |= set(re.findall(r"(?<![\w.])[+-]?\d[\d,]*\.\d+", line))
    return metrics


# -- the work done ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gpu_instability", "gpu_memory_squeeze_out_NVLink"])
def test_equal_work_is_not_called_unequal(shared_root: Path, name: str) -> None:
    assert all(
        pair.pair.workload.comparable for pair in timesink.compare(case(shared_root, name)).pairs
    )


@pytest.mark.parametrize("form", ["csv", "json"])
def test_unequal_work_is_said_beside_tables(
    shared_root: Path, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(case(shared_root, CASES[0])), "--format", form]) == 0
    assert "do not do the same work per step" in capfd.readouterr().err


def test_waiting_for_the_device_is_not_lost(shared_root: Path) -> None:
    times = timesink.compare(case(shared_root, "gpu_instability")).pair.times
    waits = times.filter(function="cudaStreamSynchronize")
    assert waits.height == 1
    assert not waits["measured"].item()
    assert waits["base_ns"].item() > 0


def test_both_processes_of_a_case_are_compared(shared_root: Path) -> None:
    compared = timesink.compare(case(shared_root, "gpu_memory_squeeze_out_NVLink"))
    assert [pair.pair.base.pid for pair in compared.pairs] == ["923228", "923229"]
    reduce = pl.col("function").str.contains("cross_device_reduce")
    # The wait swaps between the ranks: 1.1 -> 1065 ms here, 1002 -> 2.1 ms there.
    for pair, (base_ms, new_ms) in zip(compared.pairs, ((1.1, 1065), (1002, 2.1)), strict=True):
        spent = pair.pair.times.filter(reduce).select(pl.col("base_ns", "new_ns").sum() / 1e6)
        assert spent.row(0) == pytest.approx((base_ms, new_ms), rel=0.05)


# -- many roles ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def explored_comparison(shared_root: Path) -> ComparisonAnswer:
    return timesink.compare(latencyprism(shared_root) / "SGLang", explore=True)


def groups(comparison: ComparisonAnswer) -> set[frozenset[str]]:
    exploration = comparison.exploration
    assert exploration is not None
    return {
        frozenset(exploration.roles[member].label for member in cluster.members)
        for cluster in exploration.clusters
    }


def test_all_roles_of_the_three_cases_are_explored(explored_comparison: ComparisonAnswer) -> None:
    assert len(explored_comparison.roles) == 8
    assert explored_comparison.exploration is not None
    assert sum(len(cluster.members) for cluster in explored_comparison.exploration.clusters) == 8


def test_no_abnormal_run_is_grouped_with_a_normal_one(
    explored_comparison: ComparisonAnswer,
) -> None:
    for group in groups(explored_comparison):
        assert len({"abnormal" in label for label in group}) == 1, group


def test_two_ranks_of_one_run_stay_together(explored_comparison: ComparisonAnswer) -> None:
    nvlink = [
        group for group in groups(explored_comparison) if any("NVLink" in label for label in group)
    ]
    assert sorted(len(group) for group in nvlink) == [2, 2]


# -- from raw recordings ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clock(shared_root: Path) -> ComparisonAnswer:
    faults = shared_root / "data" / "h200" / "faults"
    return timesink.compare(faults / "normal", faults / "gpu_clock")


def test_share_and_load_of_every_kernel_of_raw_recordings(clock: ComparisonAnswer) -> None:
    rows = clock.pair.rows.filter(pl.col("device") == "GPU 0")
    kernels = clock.pair.times.filter(
        pl.col("device") == "GPU 0", pl.col("function_class") == "gpu_compute"
    )
    assert kernels.height > 5
    of_frequency = rows.filter(pl.col("metric") == "gpu_sm_frequency")
    assert set(kernels["function"]) <= set(of_frequency["function"])
    both = of_frequency.filter(pl.col("runs_on").cast(pl.String) == "both")
    assert both.select((pl.col("beta_base_pct", "beta_new_pct") > 0).all()).row(0) == (True, True)


# -- where results go ------------------------------------------------------------------------------


def test_a_folder_of_cases_is_written_as_published(shared_root: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    assert main(["compare", str(latencyprism(shared_root) / "SGLang"), "-o", str(out)]) == 0
    written = {path.name for path in out.iterdir()}
    for golden in GOLDEN:
        assert {f"{golden}_comparison.csv", f"{golden}_comparison.md"} <= written
    answer = json.loads((out / "comparison.json").read_text(encoding="utf-8"))
    assert answer["schema"] == "timesink/comparison/1"
    assert [pair["file"] for pair in answer["pairs"]] == sorted(
        name.removesuffix(".csv") for name in written if name.endswith(".csv")
    )
