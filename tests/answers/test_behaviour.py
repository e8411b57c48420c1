"""The summary of a behaviour table for people."""

from __future__ import annotations

import pytest

from behaviours import activity, behaviour, both, call, cycles_at, samples, trace_of_rows
from timesink.analyses.cycles.spans import Cycles
from timesink.answers.behaviour import BehaviourReport, behaviour_document
from timesink.model.trace import Trace
from timesink.output import terminal

NAMES = [f"ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_stages_64x{n}_tn" for n in (5, 6)]


def report_of(trace: Trace, *cycles: Cycles) -> BehaviourReport:
    table = behaviour(trace, both(*(cycles or [cycles_at((0, 1000), (1000, 2000))])))
    return BehaviourReport("run", table.table, table.notes)


def to_text(report: BehaviourReport, top: int = 15) -> str:
    return terminal.to_text(behaviour_document(report, top))


@pytest.fixture
def gemms() -> BehaviourReport:
    return report_of(
        trace_of_rows(
            device=[activity(name, 100 + 300 * n, 200) for n, name in enumerate(NAMES)],
            counters=[*samples("gpu_sm_frequency", {0: 345}), *samples("gpu_temp", {0: 40})],
        )
    )


def printed_lines(report: BehaviourReport, monkeypatch, capsys, width: int) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    terminal.print_text(behaviour_document(report, 15))
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_fits_and_tells_names_apart(gemms, monkeypatch, capsys, width: int):
    lines = printed_lines(gemms, monkeypatch, capsys, width)
    assert max(map(len, lines)) <= width
    title = next(place for place, line in enumerate(lines) if line.startswith("function "))
    names = {line.split()[0] for line in lines[title + 1 : title + 3]}
    assert len(names) == 2


def test_wide_terminals_show_counters_of_functions(gemms, monkeypatch, capsys):
    assert "mean counters" not in "\n".join(printed_lines(gemms, monkeypatch, capsys, 80))
    wide = "\n".join(printed_lines(gemms, monkeypatch, capsys, 140))
    assert "sm_frequency 345 MHz, temp 40 C" in wide


def test_processes_are_named_where_there_are_several():
    trace = trace_of_rows([call("aten::mm", 10, 50), call("aten::mm", 10, 20, pid="2")])
    text = to_text(report_of(trace, cycles_at((0, 100)), cycles_at((0, 100), pid="2")))
    assert text.startswith(
        "2 steps marked by step in 2 processes, median 100 ns; largest share: aten::mm on Host"
    )
    assert "function  process  on    of the step" in text


def test_further_functions_are_counted():
    trace = trace_of_rows([call(f"op{number}", 10 * number, 5) for number in range(20)])
    assert "and 18 more: --top N" in to_text(report_of(trace), top=2)


def test_notes_are_shown():
    assert "functions have times only" in to_text(report_of(trace_of_rows([call("mm", 0, 9)])))
