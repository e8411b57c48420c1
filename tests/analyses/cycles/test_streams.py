"""Cycles of programs with several streams, and no marks."""

from __future__ import annotations

from cases import C, K, R, read
from timesink.analyses.cycles.search import find_cycles


def test_layers_on_one_stream_are_no_steps_where_another_copies_once_per_step():
    events, number = [], 0
    for step in range(12):
        at, number = 1600 * step, number + 1
        events += [R(at, 5, c=number), C(at + 10, 300, c=number, stream=21)]
        for place in range(12):
            number, start = number + 1, at + 20 + 130 * place
            events += [R(at + 10 + 5 * place, 4, c=number)]
            name = ("gemm_a", "relu", "gemm_b")[place % 3]
            events += [K(name, start, 125, c=number)]
    cycles = find_cycles(read(*events))
    assert cycles.count == 12
