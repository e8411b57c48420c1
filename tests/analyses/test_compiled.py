"""Generated kernels of a recording: operators, modules and lines, as far as anything says them."""

from __future__ import annotations

from msgspec.structs import replace

from compiled_runs import BREAK, CODE, FILE, GENERATED, KERNEL, compiled, layer
from timesink.analyses.compiled import code_table, compiled_table, generated_kernels
from timesink.analyses.compiled_modules import compiled_modules
from timesink.analyses.graph_breaks import graph_breaks
from timesink.model.compiled_code import CompiledGraph, GraphCall
from timesink.rules.compiled import broken_graphs


def test_each_launch_is_a_call_of_the_code_in_its_order():
    (kernel,) = generated_kernels(compiled())
    assert [use.modules for use in kernel.uses] == [("layers.0.act",), ("layers.1.act",)] * 2


def test_launches_that_do_not_fit_the_code_state_all_its_places():
    (kernel,) = generated_kernels(compiled(kernels=1))
    assert {use.modules for use in kernel.uses} == {("layers.0.act", "layers.1.act")}


def test_of_kernels_with_one_name_the_file_decides():
    other = replace(GENERATED, file=f"c{'b' * 51}.py", operators=("aten::mul",), uses=())
    code = replace(CODE, kernels=(other, GENERATED))
    (kernel,) = generated_kernels(compiled(code))
    assert kernel.operators == GENERATED.operators
    (kernel,) = generated_kernels(compiled(code, file=other.file))
    assert (kernel.operators, kernel.uses) == (("aten::mul",), ())


def test_a_row_states_all_and_divides_nothing():
    (row,) = compiled_table(compiled()).to_dicts()
    assert (row["operators"], row["module"]) == ("add, gelu_backward", "layers.*.act")
    assert (row["place"], row["calls"], row["device_ns"]) == ("model.py:30,31", 4, 600_000)
    assert code_table(compiled()).rows() == [(KERNEL, FILE, 1, "def triton_(x):", False)]


def test_without_a_file_the_name_says_operators_and_nothing_else():
    (row,) = compiled_table(compiled(None)).to_dicts()
    assert (row["operators"], row["names_from"]) == ("add, gelu_backward", "its name")
    assert (row["module"], row["place"]) == (None, None)
    assert code_table(compiled(None)).is_empty()


def test_time_of_the_host_between_two_graphs():
    (cost,) = graph_breaks(compiled())
    assert (cost.graph_break.place, cost.times, cost.between_ns) == ("net/model.py:22", 2, 400_000)


def test_reasons_of_one_place_have_its_time_in_common():
    breaks = (BREAK, replace(BREAK, reason="Unsupported print"))
    one, both = (broken_graphs(compiled(replace(CODE, breaks=b))) for b in (breaks[:1], breaks))
    assert len(graph_breaks(compiled(replace(CODE, breaks=breaks)))) == 2
    assert one[0].sentence == both[0].sentence


class TestModules:
    def test_time_of_each_call_is_that_of_its_module(self):
        rows = {row["module"]: row for row in compiled_modules(compiled()).to_dicts()}
        assert list(rows) == [
            "layers",
            *(f"layers.{n}{end}" for n in (0, 1) for end in ("", ".act")),
        ]
        assert rows["layers"]["device_ns"] == 600_000
        assert (rows["layers.0.act"]["kind"], rows["layers.0.act"]["device_ns"]) == (
            "GELU",
            200_000,
        )
        assert (rows["layers.1"]["device_self_ns"], rows["layers.1"]["calls"]) == (0, 2)

    def test_what_is_of_several_modules_counts_for_the_one_around_them(self):
        use = replace(layer(0), modules=("layers.0.act", "layers.0.up", "layers.0"))
        calls = (GraphCall(KERNEL, use), GraphCall(KERNEL, layer(1)))
        code = replace(CODE, graphs=(CompiledGraph(("fkey",), calls, is_backward=True),))
        rows = {row["module"]: row for row in compiled_modules(compiled(code)).to_dicts()}
        assert "layers.0.act" not in rows
        assert (rows["layers.0"]["backward_ns"], rows["layers.0"]["device_ns"]) == (200_000, 0)

    def test_a_run_of_other_calls_than_its_code_makes_counts_for_none(self):
        assert compiled_modules(compiled(kernels=1)).is_empty()
