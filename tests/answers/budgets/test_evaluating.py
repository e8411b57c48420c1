"""Whether comparisons keep to budgets, and what is said about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import Event, python_call, write
from compared_runs import (
    process_table,
    timeline,
    write_table,
    write_timeline,
)
from timesink.answers.comparison.budgets import evaluate
from timesink.answers.comparison.report import ComparisonAnswer, PairAnswer, compare
from timesink.comparison.gate.baseline_store import save_baseline
from timesink.comparison.gate.budget_file import load_budgets, starting_budgets
from timesink.comparison.results import Workload
from timesink.model.findings import Finding


def budgets(folder: Path, text: str, comparison: ComparisonAnswer) -> list[Finding]:
    path = folder / "budgets.toml"
    path.write_text(text)
    return list(evaluate(load_budgets(path), comparison))


def states(folder: Path, text: str, comparison: ComparisonAnswer) -> list[str]:
    return [result.outcome for result in budgets(folder, text, comparison)]


def two_runs(folder: Path, slow: float = 1.0, **options: Any) -> ComparisonAnswer:
    return compare(
        write_timeline(folder / "base.json", cycles=12, **options),
        write_timeline(folder / "new.json", cycles=12, slow=slow, **options),
        cache=False,
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("slower")


@pytest.fixture(scope="module")
def slower(files: Path) -> ComparisonAnswer:
    """Kernels take half as long again: `aten::gemm` 161 → 241.5 us per cycle, half in a module."""
    sides = (("base", 1.0), ("new", 1.5))
    paths = [write(files / f"{side}.json", with_modules(slow)) for side, slow in sides]
    return compare(*paths, cache=False)


@pytest.fixture(scope="module")
def same(tmp_path_factory: pytest.TempPathFactory) -> ComparisonAnswer:
    return two_runs(tmp_path_factory.mktemp("same"))


@pytest.mark.parametrize(
    ("limit", "state"),
    [
        ('max_increase = "60%"', "passed"),
        ('max_increase = "49%"', "failed"),
        ('max_increase = "100 us"', "passed"),
        ('max_increase = "80 us"', "failed"),
        ('max_increase = "10%", ignore_below = "1 ms"', "passed"),
        ('max_increase = "10%", of = "host"', "passed"),
        ('max = "130 us", of = "host"', "passed"),
        ('max = "110 us", of = "host"', "failed"),
    ],
)
def test_limits(slower, tmp_path, limit, state):
    assert states(tmp_path, f'[operators]\n"aten::gemm" = {{ {limit} }}', slower) == [state]


def test_a_pattern_is_a_limit_for_each_that_it_matches(slower, tmp_path):
    most, increase = budgets(
        tmp_path, '[operators]\n"aten::*" = { max = "200 us", max_increase = "10%" }', slower
    )
    assert most.outcome == "failed"
    assert most.sentence == (
        'operators "aten::*": aten::gemm (of 3 names): 242 us of device time per step, '
        "limit 200 us."
    )
    assert increase.sentence.startswith('operators "aten::*": aten::gemm (of 3 names): 161 →')
    assert increase.sentence.endswith("; 2 more over the limit.")


def test_kernels_by_family_by_name_and_by_pattern(slower, tmp_path):
    text = """[kernels]
gemm = { max_increase = "10%" }
norm_kernel = { max_increase = "60%" }
"*_kernel" = { max = "1 ms" }
"""
    results = budgets(tmp_path, text, slower)
    assert [result.outcome for result in results] == ["failed", "passed", "passed"]
    assert ["(of 3 names)" in result.sentence for result in results] == [False, False, True]


def with_modules(slow: float = 1.0) -> dict[str, Any]:
    document = timeline(12, slow=slow)
    document["traceEvents"] += [
        _module(name, 1000.0 * cycle + start, length)
        for cycle in range(12)
        for name, start, length in (("Net_0", 1, 800), ("Gemm_0", 5, 100))
    ]
    return document


def test_modules_by_path_and_by_last_part(slower, tmp_path):
    text = '[modules]\n"Net_0.Gemm_0" = { max = "100 us" }\n"Gemm_*" = { max_increase = "60%" }'
    results = budgets(tmp_path, text, slower)
    assert [result.outcome for result in results] == ["failed", "passed"]
    assert results[0].sentence.startswith('modules "Net_0.Gemm_0": 121 us of')
    assert results[1].sentence.startswith('modules "Gemm_*": Net_0.Gemm_0: 80.5 → 121 us of')
    assert "(+50.0 %, " in results[1].sentence


def _module(name: str, ts: float, dur: float) -> Event:
    ids = {"Python id": ts, "Python parent id": None, "Python module id": 0}
    return python_call(f"nn.Module: {name}", ts, dur, **ids)


def test_cycle(slower, tmp_path):
    text = '[cycle]\nmax = "500 us"\nmax_increase = "5%"'
    most, increase = budgets(tmp_path, text, slower)
    assert most.outcome == "failed"
    assert most.sentence == "Step time: 901 us, limit 500 us."
    assert increase.outcome == "passed"
    assert (most.name, increase.name) == ("cycle max", "cycle max_increase")


def of_rank(rank: int, comparison: ComparisonAnswer) -> PairAnswer:
    """Its only pair as that of a rank."""
    (pair,) = comparison.pairs
    base, new = (replace(role, rank=rank) for role in (pair.pair.base, pair.pair.new))
    return replace(pair, base=base, new=new)


def test_the_worst_rank_is_named(same, slower, tmp_path):
    ranks = replace(same, pairs=(of_rank(0, same), of_rank(1, slower)))
    text = '[operators]\n"aten::gemm" = { max = "200 us", max_increase = "10%" }'
    for result in budgets(tmp_path, text, ranks):
        assert result.outcome == "failed"
        assert " in rank 1, " in result.sentence


# -- what cannot be judged -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[operators]\n"aten::nm" = { max = "1 s" }', "matches nothing in either run"),
        ('[operators]\n"aten::nm" = { max_increase = "1%" }', "matches nothing in either run"),
        ('[modules]\n"*" = { max = "1 s" }', "no module was recorded"),
        ('[kernels]\n"nothing*" = { max = "1 s" }', "matches nothing in either run"),
    ],
)
def test_what_matches_nothing_does_not_pass(same, tmp_path, text, why):
    (result,) = budgets(tmp_path, text, same)
    assert result.outcome == "unjudged"
    assert why in result.sentence
    optional = text.replace(" }", ", optional = true }")
    assert states(tmp_path, optional, same) == ["passed"]


@pytest.mark.parametrize(
    ("recorded_in", "states_of"),
    [("base", ["unjudged", "unjudged"]), ("new", ["failed", "unjudged"])],
)
def test_what_one_side_did_not_record_does_not_pass(slower, same, tmp_path, recorded_in, states_of):
    """Its time is not zero, it is not known."""
    other_side = {"base": "new run", "new": "base"}[recorded_in]
    (pair,) = same.pairs
    with_modules_ = replace(pair.pair, **{recorded_in: getattr(slower.pair, recorded_in)})
    compared = replace(same, pairs=(with_modules_,))
    text = '[modules]\n"Net_0" = { max = "1 us", max_increase = "5%" }'
    results = budgets(tmp_path, text, compared)
    assert [result.outcome for result in results] == states_of
    assert f"in the {other_side} (pid 4242) no module was recorded" in results[1].sentence
    optional = text.replace(" }", ", optional = true }")
    assert states(tmp_path, optional, compared) == states_of


def test_operators_of_a_behaviour_table_are_not_recorded(tmp_path):
    paths = [
        write_table(tmp_path / side / "result_perf_data.csv", process_table(7, seed=number))
        for number, side in enumerate(("base", "new"))
    ]
    text = '[operators]\n"*" = { max = "1 s" }\n[cycle]\nmax = "1 s"'
    results = budgets(tmp_path, text, compare(*paths, cache=False))
    assert [result.outcome for result in results] == ["unjudged", "passed"]
    assert "no operator was recorded" in results[0].sentence


def test_unequal_work_has_no_increase(slower, tmp_path):
    (pair,) = slower.pairs
    unequal = Workload(
        comparable=False, reasons=("One side has twice the layers.",), work_ratio=None
    )
    comparison = replace(slower, pairs=(replace(pair, workload=unequal),))
    text = '[operators]\n"aten::gemm" = { max = "1 s", max_increase = "10%" }'
    most, increase = budgets(tmp_path, text, comparison)
    assert (most.outcome, increase.outcome) == ("passed", "unjudged")
    assert increase.sentence.endswith(
        "steps of the two runs do not do the same work. One side has twice the layers."
    )


def test_one_cycle_cannot_be_told_from_noise(tmp_path):
    paths = [
        write_timeline(tmp_path / f"{side}.json", cycles=1, slow=slow, steps=True)
        for side, slow in (("base", 1.0), ("new", 2.0))
    ]
    comparison = compare(*paths, by="step", cache=False)
    text = '[operators]\n"aten::gemm" = { max = "200 us", max_increase = "10%" }'
    most, increase = budgets(tmp_path, text, comparison)
    assert (most.outcome, increase.outcome) == ("failed", "unjudged")
    assert "one step each shows no difference from noise" in increase.sentence


# -- with baselines, and on real recordings --------------------------------------------------------


def test_starting_budgets_hold_for_the_run_they_are_of(same, tmp_path):
    baseline = save_baseline("base", same.sources[0], tmp_path)
    text = starting_budgets(baseline, 10.0)
    assert '"aten::gemm" = { max = "178 us", max_increase = "10%" }' in text
    assert set(states(tmp_path, text, same)) == {"passed"}
    # Upward, or the run itself would be beyond them.
    assert set(states(tmp_path, starting_budgets(baseline, 0.0), same)) == {"passed"}


@pytest.fixture
def faults(shared_root: Path, common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))
    return shared_root / "data" / "h200" / "faults"


@pytest.mark.parametrize("new", ["python_stall"])
def test_device_time_of_operators_does_not_change_with_the_host(faults, tmp_path, new):
    text = '[operators]\n"aten::*" = { max_increase = "10%", ignore_below = "5 us" }'
    assert states(tmp_path, text, timesink.compare(faults / "normal", faults / new)) == ["passed"]
