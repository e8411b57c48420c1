"""Small cases of what the helpers of answers.comparison give."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl
import pytest

import timesink
from gated import gate_check
from timesink.answers.comparison.budgets import evaluate
from timesink.answers.comparison.changes import PairView, known_amounts
from timesink.answers.comparison.comparison_json import EqualWorkJson
from timesink.answers.comparison.diagnosis_json import diagnosis_fields
from timesink.answers.comparison.document import (
    _names,
    comparison_document,
    error_json,
    files_of,
    indented_json,
)
from timesink.answers.comparison.gate import (
    comment_md,
    error_document,
    fit_lines,
    gate_md,
    outcome,
    screen,
)
from timesink.answers.comparison.gate_result import GateAnswer, gate_of, gate_of_error
from timesink.answers.comparison.naming import (
    as_arguments,
    as_options,
    one_of,
    pair_names,
    processes,
)
from timesink.answers.comparison.pair_tables import table_csv, table_of
from timesink.answers.comparison.published_report import comparison_md
from timesink.answers.comparison.published_tables import (
    printed_again,
    published_table,
    published_titles,
    summary_cells,
)
from timesink.answers.comparison.sentences import (
    both_labels,
    changed_most,
    counter_amounts,
    different,
    headline,
    notes_of_many,
    outlier,
    pair_headline,
    standing_out,
)
from timesink.answers.tables import as_computed, short_labels
from timesink.comparison.compare_runs import is_device
from timesink.comparison.exploration.groups import compare_peers
from timesink.comparison.gate.baseline_store import load_baseline, save_baseline
from timesink.comparison.gate.budget_file import Budget, load_budgets, starting_budgets
from timesink.comparison.gate.verdict import Limit
from timesink.comparison.inputs import find_cases, find_side, stem_of
from timesink.comparison.pairing import case_identifier, check_cycle_type, pair_identifier, safe
from timesink.comparison.reading import recorded_otherwise
from timesink.comparison.results import CycleTimes, KeyFinding, Workload
from timesink.errors import NotFoundError, TimesinkError
from timesink.formats.small_files import plain_values
from timesink.output.names import told_apart


def test_save_baseline() -> None:
    import tempfile

    import timesink

    baseline = save_baseline("main", timesink.sample(), tempfile.mkdtemp())
    assert [role.source.path.as_posix() for role in baseline.runs] == [
        "@main/unet_train.pt.trace.json.gz"
    ]


def test_load_baseline() -> None:
    with pytest.raises(NotFoundError, match="@main:\\ no\\ such\\ baseline\\ in\\ "):
        load_baseline("@main", tempfile.mkdtemp())


def test_load_budgets() -> None:
    file = Path(tempfile.mkdtemp()) / "budgets.toml"
    _ = file.write_text('[operators]\n"aten::mm" = { max = "1.5 ms" }')
    assert [(budget.kind, budget.name, budget.max_ns) for budget in load_budgets(file)] == [
        ("operators", "aten::mm", 1500000.0)
    ]


def test_starting_budgets() -> None:
    import tempfile

    import timesink

    baseline = save_baseline("main", timesink.sample(), tempfile.mkdtemp())
    assert starting_budgets(baseline).splitlines()[3:5] == ["[cycle]", 'max = "30 ms"']


def test_evaluate() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample())
    long = [Budget("operators", "aten::conv2d", max_ns=1e9)]
    assert [result.outcome for result in evaluate(long, same)] == ["passed"]


def test_changes() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample()).pair
    assert PairView(same).changes == []


def test_comparison_document() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample())
    assert [section.id for section in comparison_document(same).sections] == [
        "verdict",
        "program",
        "efficiency",
        "cycles",
        "times",
        "sides",
        "notes",
    ]


def test_names() -> None:
    assert (_names(["runs/a", "runs/b"]), _names(["a/run", "b/run"])) == (
        ["a", "b"],
        ["a/run", "b/run"],
    )


def test_files_of() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample())
    assert [name for name, _ in files_of(same, ("json",), None, None)] == ["comparison.json"]


def test_error_json() -> None:
    error = TimesinkError("no such baseline")
    assert msgspec.json.decode(error_json(gate_of_error(error, "@main vs run"), error))[
        "error"
    ] == {"message": "no such baseline", "hint": ""}


def test_indented_json() -> None:
    assert (
        indented_json(timesink.compare(timesink.sample(), timesink.sample())).splitlines()[1]
        == '  "schema": "timesink/comparison/1",'
    )


def test_outcome() -> None:
    assert outcome(GateAnswer("a vs b", "--fail-on 5%", ())) == "Passed (limit 5 %)"


def test_error_document() -> None:
    error = TimesinkError("no such baseline")
    assert (
        error_document(gate_of_error(error, "@main vs run"), error).headline
        == "Not decided: no such baseline"
    )


def test_fitted() -> None:
    assert fit_lines([(("a", "b"), 0), (("c",), 1), (("d",), 2)], 5) == ["a", "b", "", "c"]


def test_gate_of() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample())
    assert gate_of(same, Limit(5.0)).outcome == "passed"


def test_gate_of_error() -> None:
    assert gate_of_error(TimesinkError("no baseline"), "@main vs run").exit_code == 1


def test_outlier() -> None:
    assert outlier([]) is None


def test_headline() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample())
    assert headline(same.pairs, None) == same.headline


def test_changed_most() -> None:
    assert changed_most([]) is None


def test_standing_out() -> None:
    assert standing_out([]) is None


def test_recorded_otherwise() -> None:
    assert recorded_otherwise([], []) == []


def test_case_identifier() -> None:
    assert (
        case_identifier(Path("data/SGLang/gpu_instability"), Path("data/SGLang"))
        == "SGLang/gpu_instability"
    )


def test_pair_identifier() -> None:
    assert (
        pair_identifier(Path("faults/normal/trace.json.gz"), Path("faults/gpu_clock/trace.json.gz"))
        == "normal vs gpu_clock"
    )


def test_names_of_peers() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample()).pair
    peers = compare_peers(same.new, same.base)
    assert (peers.identifier, peers.suffix) == ("new vs base", "")
    assert peers.file_stem == "exploratory_compare_base_vs_new"


def test_processes() -> None:
    assert processes(timesink.compare(timesink.sample(), timesink.sample()).pair) == "pid 1525"


def test_pair_names() -> None:
    assert pair_names(timesink.compare(timesink.sample(), timesink.sample()).pairs) == ["pid 1525"]


def test_safe() -> None:
    assert safe("SGLang/gpu instability") == "SGLang_gpu_instability"


def test_told_apart() -> None:
    assert told_apart(["a", "b", "a"], "_v") == ["a", "b", "a_v2"]


def test_short_labels() -> None:
    add, mul = (f"void at::native::f<4, {op}<float>>(int)" for op in ("Add", "Mul"))
    assert list(short_labels([add, mul, "void g<4>(int)"]).values()) == ["f (Add)", "f (Mul)", "g"]


def test_known_amounts() -> None:
    assert known_amounts({"mu_base": 37.1, "mu_new": None, "unit": "%"}) == "37.1 % → -"


def test_check_cycle_type() -> None:
    check_cycle_type("decode")


def test_one_of() -> None:
    assert one_of([]) == {}


def test_as_options() -> None:
    assert as_options({"cycles": "decode", "pid": "7"}) == "--cycles decode --pid 7"


def test_as_arguments() -> None:
    assert as_arguments({"cycles": "decode", "rank": "7"}) == 'cycle_type="decode", rank=7'


def test_comparison_md() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample())
    assert comparison_md(same).splitlines()[2:6:2] == [
        "**The recorded calls are the same.** Device time per step is unchanged (20.9 → 20.9 ms).",
        "**Verdict: no change.** No change in step time: 27.2 ms in both runs.",
    ]


def test_table_of() -> None:
    assert (
        table_of(timesink.compare(timesink.sample(), timesink.sample()).pair, "families")
        == "families"
    )


def test_published_titles() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample())
    assert published_titles(same.pair)[4:6] == ["β_base(%)", "β_new(%)"]


def test_times_csv() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample())
    assert table_csv(same.pair, "times").partition(",")[0] == "function"


def test_families_csv() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample())
    assert table_csv(same.pair, "families").startswith("family,name,device")


def test_printed_again() -> None:
    assert (printed_again(["+5.90", "nan", "-0.00"]), printed_again(["6.30", "118,687.50"])) == (
        ["5.9", "nan", "-0"],
        ["6.30", "118,687.50"],
    )


def test_summary_cells() -> None:
    assert summary_cells(CycleTimes((1000,), (2000,), 1e3, 2e3, 100.0, None, None))[1] == (
        "Avg Cycle Time (us)",
        "1.00",
        "2.00",
        "1.00",
        "+100.00%",
    )


def test_of_pair() -> None:
    assert (
        pair_headline(timesink.compare(timesink.sample(), timesink.sample()).pair).split(":")[0]
        == "No change in step time"
    )


def test_counter_amounts() -> None:
    assert counter_amounts({"mu_base": 1980.0, "mu_new": 345.0, "unit": "MHz"}) == "1 980 → 345 MHz"


def test_different() -> None:
    row = {"device": "GPU 0", "mu_base": 1980.0, "mu_new": 345.0, "unit": "MHz"}
    counter_rows = [{**row, "metric": name} for name in ("gpu_frequency", "gpu_sm_frequency")]
    assert [merged_row["metric"] for merged_row in different(counter_rows)] == [
        "gpu_frequency/gpu_sm_frequency"
    ]


def test_find_cases() -> None:
    assert find_cases(timesink.sample()) == []


def test_find_side() -> None:
    assert [source.job for source in find_side(timesink.sample()).sources] == ["unet_train"]


def test_stem_of() -> None:
    assert (
        stem_of("result_decode_perf_data.csv.gz"),
        stem_of("rank0.1794703775062.pt.trace.json.gz"),
    ) == ("result_decode", "rank0")


def test_why() -> None:
    assert diagnosis_fields(None)["causes"] == []


def test_pair() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample()).pair
    findings = (KeyFinding("gemm", "GPU 0", 3, (3, 4)),)
    work = Workload(comparable=True, reasons=(), work_ratio=1.0)
    answer = plain_values(EqualWorkJson.of(replace(same, findings=findings, workload=work)))
    assert answer["workload"] == {"comparable": True, "reasons": [], "work_ratio": 1.0}
    assert answer["findings"] == [
        {"function": "gemm", "device": "GPU 0", "row": 3, "metrics": [3, 4]}
    ]
    assert list(answer["cycle_times"])[-4:] == [
        "warm_up_cycles", "levels_ns", "one_run", "exact_p",
    ]  # fmt: skip


def test_rows() -> None:
    frame = as_computed(pl.DataFrame({"function": ["gemm"], "welch_p": [float("nan")]}))
    assert frame.to_dicts() == [{"function": "gemm", "welch_p": None}]


def test_is_device() -> None:
    assert (is_device("GPU 7", "7"), is_device("NPU 7", "npu7"), is_device("Host", "cpu")) == (
        True,
        True,
        True,
    )
    assert (is_device("GPU 17", "7"), is_device("GPU 0 (virtual)", "gpu 0")) == (False, True)


def test_both_labels() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample())
    assert both_labels(same.pair) == "base vs new"


def test_notes_of_many() -> None:
    assert notes_of_many([("rank 0", ["short", "old"]), ("rank 1", ["short"])]) == [
        "short",
        "rank 0: old",
    ]


def test_screen() -> None:
    text = "No change in step time: 27.2 ms in both runs."
    check = gate_check("cycle time", "cycle time", "passed", text)
    assert screen(GateAnswer("a vs b", "--fail-on 5%", (check,))).splitlines() == [
        "timesink: passed (limit 5 %): a vs b: no change in step time: 27.2 ms in both",
        "runs.",
    ]


def test_published_table() -> None:
    table = published_table(("Function", "n"), [("f<int>", "1")], (False, True))
    assert table.splitlines() == ["| Function | n |", "| :--- | ---: |", "| f<int> | 1 |"]


def test_comment_md() -> None:
    same = timesink.compare(timesink.sample(), timesink.sample())
    assert comment_md(same).splitlines()[0] == "## timesink: no change"


def test_gate_md() -> None:
    gate = gate_of_error(TimesinkError("no such baseline"), "@main vs run")
    lines = ["## timesink: not decided", "", "no such baseline", "", "`@main vs run`"]
    assert gate_md(gate).splitlines() == lines
