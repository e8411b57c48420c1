"""Cycles of single layers."""

from __future__ import annotations

from loops import LAYER, Served, serve
from timesink.analyses.cycles.search import find_cycles


def test_layers_when_asked_for():
    cycles = find_cycles(serve(["decode"] * 5, layers=3, pids=("1", "2")).trace(), by="layer")
    assert (cycles.method, cycles.anchor, cycles.table.height) == ("layer", LAYER, 30)


def test_a_norm_of_layers_is_no_layer():
    served = Served()
    for number in range(5):
        served.call("1", "1", "nn.Module: LayerNorm_0", number * 1_000, 100)
        served.call("1", "1", f"nn.Module: DecoderLayer_{number}", number * 1_000 + 200, 500)
    assert find_cycles(served.trace(), by="layer").anchor == "nn.Module: DecoderLayer_#"
