"""The program of a run: which sites its cycles have, and how often."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl
import pytest

from call_trees import (
    PID,
    Call,
    copy,
    kernel,
    op,
    paths,
    program,
    program_range,
    recording,
    runtime,
)
from timesink.analyses.cycles.spans import Cycles, spans_of
from timesink.analyses.names import plain_name
from timesink.comparison.program.calls import KERNEL, SORTS, Program, programs
from timesink.comparison.program.edits import difference
from timesink.model.trace import Trace

LINEAR = op("aten::linear", op("aten::addmm", kernel("gemm"), shapes="[[8, 8]]", types='["float"]'))
RELU = op("aten::relu", kernel("clamp", 3))


def sums(recorded_program: Program, column: str) -> list[int]:
    """What every cycle has of something."""
    return (
        recorded_program.counts.group_by("cycle")
        .agg(pl.col(column).sum())
        .sort("cycle")[column]
        .to_list()
    )


class TestSites:
    def test_a_chain_of_names_from_the_thread_to_the_work_of_the_device(self):
        recorded_program = program([[LINEAR, RELU, LINEAR], [LINEAR, RELU]])
        assert paths(recorded_program) == {
            "aten::linear": [2, 1],
            "aten::linear > aten::addmm": [2, 1],
            "aten::linear > aten::addmm > gemm": [2, 1],
            "aten::relu": [1, 1],
            "aten::relu > clamp": [1, 1],
        }

    def test_work_stands_below_the_operator_and_not_below_its_launch(self):
        recorded_program = program(
            [[op("aten::copy_", copy("Memcpy HtoD (Pinned -> Device)", 4, 640))]]
        )
        assert sorted(paths(recorded_program)) == [
            "aten::copy_",
            "aten::copy_ > Memcpy HtoD (Pinned -> Device)",
        ]
        assert sums(recorded_program, "bytes") == [640]
        assert sums(recorded_program, "device_ns") == [4000]

    def test_time_of_the_host_is_that_of_the_calls_themselves(self):
        outer = op("outer", op("inner", us=7), us=100)
        recorded_program = program([[outer]])
        by_name = (
            recorded_program.counts.join(recorded_program.sites, on="site")
            .select("name", "host_ns")
            .rows()
        )
        # Two microseconds before, between and after calls, and one call is three.
        assert dict(by_name) == {"outer": 104_000, "inner": 9_000}

    def test_shapes_and_types_are_kept_where_they_were_recorded(self):
        recorded_program = program([[LINEAR]])
        typed = recorded_program.sites.filter(pl.col("name") == "aten::addmm")
        assert typed.select("shapes", "types").row(0) == ("[[8, 8]]", '["float"]')
        assert recorded_program.typed
        assert not program([[RELU]]).typed

    def test_calls_with_a_meaning_have_a_sort_of_their_own(self):
        calls = [
            runtime("cudaStreamSynchronize"),
            runtime("cudaMalloc"),
            program_range("forward", RELU),
        ]
        recorded_program = program([calls])
        sorts = {
            name: SORTS[sort] for name, sort in recorded_program.sites.select("name", "sort").rows()
        }
        assert sorts == {
            "cudaStreamSynchronize": "wait",
            "cudaMalloc": "allocator",
            "forward": "annotation",
            "aten::relu": "operator",
            "clamp": "kernel",
        }

    def test_other_calls_of_the_runtime_are_no_part_of_it(self):
        operator = op("aten::relu", runtime("cudaFuncGetAttributes"), kernel("clamp", 3))
        assert paths(program([[operator]])) == paths(program([[RELU]]))

    def test_what_is_between_cycles_belongs_to_none(self):
        apart = program([[LINEAR]] * 3, between=[RELU])
        assert apart.nodes.equals(program([[LINEAR]] * 3).nodes)

    def test_a_call_belongs_to_the_cycle_in_which_its_caller_began(self):
        trace, _ = recording([[op("outer", LINEAR, LINEAR, us=50)]])
        # A border in the middle of it.
        table = spans_of(PID, "step", [100_000, 110_000], [110_000, 300_000])
        recorded_program = programs(trace, Cycles(table, "marker", "step", 1.0, ""))[PID]
        assert recorded_program.cycles == [1]

    def test_a_process_that_calls_nothing_in_its_cycles_has_none(self):
        trace, _ = recording([[LINEAR]])
        table = spans_of(PID, "step", [900_000_000], [901_000_000])
        assert programs(trace, Cycles(table, "marker", "step", 1.0, "")) == {}

    def test_the_mark_of_a_cycle_is_not_part_of_it(self):
        assert paths(program([[program_range("step", RELU)]])) == paths(program([[RELU]]))
        assert paths(program([[program_range("ProfilerStep#3", RELU)]])) == paths(program([[RELU]]))


class TestGraphs:
    def test_all_work_of_a_graph_is_below_its_launch(self):
        launch = runtime("cudaGraphLaunch", kernel("a"), kernel("b", 5), kernel("b", 5))
        recorded_program = program([[launch]] * 2)
        assert paths(recorded_program) == {
            "cudaGraphLaunch": [1, 1],
            "cudaGraphLaunch > a": [1, 1],
            "cudaGraphLaunch > b": [2, 2],
        }
        assert sums(recorded_program, "device_ns") == [20_000, 20_000]


class TestNames:
    @pytest.mark.parametrize(
        ("kind", "first", "other"),
        [
            ("annotation", "step 17", "step 18"),
            ("annotation", "Optimizer.zero_grad#SGD.zero_grad", "Optimizer.zero_grad#Adam"),
            ("module", "Linear_3", "Linear_12"),
            ("operator", "<Fn object at 0x7f12>", "<Fn object at 0x7fa9>"),
            ("operator", "Torch-Compiled Region: 0/0", "Torch-Compiled Region: 2/1"),
            ("kernel", "triton_poi_fused_add_0", "triton_poi_fused_add_17"),
            ("kernel", "ampere_sgemm_128x64_tn", "ampere_sgemm_32x32_tn"),
            ("kernel", "nvjet_tst_128x256_64x4_2x1_v_bz_TNT", "nvjet_tst_64x8_64x16_4x1_h_bz_TNT"),
        ],
    )
    def test_what_varies_without_meaning_is_equal(self, kind: str, first: str, other: str):
        assert plain_name(kind, first) == plain_name(kind, other)

    @pytest.mark.parametrize(
        ("kind", "first", "other"),
        [
            ("operator", "aten::conv1d", "aten::conv2d"),
            ("annotation", "prefill 3", "decode 3"),
            ("kernel", "triton_poi_fused_add_0", "triton_poi_fused_mul_0"),
            ("kernel", "ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_nn"),
            ("kernel", "ampere_sgemm_128x64_tn", "ampere_fp16_sgemm_128x64_tn"),
        ],
    )
    def test_what_has_a_meaning_is_not(self, kind: str, first: str, other: str):
        assert plain_name(kind, first) != plain_name(kind, other)

    def test_a_site_says_what_was_recorded(self):
        recorded_program = program(
            [[program_range("batch 7", RELU)], [program_range("batch 8", RELU)]]
        )
        first = recorded_program.sites.filter(pl.col("name") == "batch #")
        assert first["recorded"].to_list() == ["batch 7"]
        assert paths(recorded_program)["batch #"] == [1, 1]

    def test_names_as_recorded_and_geometry_are_told_apart_beside_their_site(self):
        tiles = [op("aten::mm", kernel(f"ampere_sgemm_{tile}_tn")) for tile in ("32x32", "64x64")]
        first, other = (program([[tile]]) for tile in tiles)
        assert paths(first) == paths(other)
        assert sorted(first.counts["variant"]) != sorted(other.counts["variant"])
        small, large = (program([[op("aten::mm", kernel("k", grid=n))]]) for n in (1, 2))
        assert sorted(small.counts["variant"]) == sorted(large.counts["variant"])
        assert sorted(small.counts["exact"]) != sorted(large.counts["exact"])


class TestThreads:
    MAIN, LOADER = [LINEAR, RELU], [op("aten::stack"), op("aten::stack")]

    def test_which_thread_is_which_does_not_matter(self):
        first = program([{"1": self.MAIN, "2": self.LOADER}] * 3)
        other = program([{"9": self.LOADER, "4": self.MAIN}] * 3)
        assert paths(first) == paths(other)
        assert difference(first, other).same

    def test_ids_of_launches_do_not_matter(self):
        first, other = (program([self.MAIN] * 3, first_id=number) for number in (1, 5000))
        assert first.counts.sort("site", "cycle").equals(other.counts.sort("site", "cycle"))


class TestUnlinkedWork:
    def test_work_of_which_no_launch_is_known_is_left_out(self):
        lost = op("aten::mm", kernel("seen"), kernel("lost", linked=False))
        assert sorted(paths(program([[lost]]))) == ["aten::mm", "aten::mm > seen"]

    def test_of_cycles_of_the_device_all_work_is_the_program(self):
        trace, _ = recording([[op("aten::mm", kernel("a"), kernel("b"))], [RELU]])
        table = spans_of(PID, "a", [0], [10**9])
        recorded_program = programs(trace, Cycles(table, "kernels", "a", 1.0, "", on_device=True))[
            PID
        ]
        assert paths(recorded_program) == {"a": [1], "b": [1], "clamp": [1]}
        assert not recorded_program.host
        assert set(recorded_program.sites["sort"]) == {KERNEL}


class TestWithout:
    @pytest.mark.parametrize("pattern", ["addmm", "^aten::addmm$"])
    def test_a_call_goes_with_all_that_is_below_it(self, pattern: str):
        remaining = program([[LINEAR, RELU]] * 2).without(re.compile(pattern))
        assert sorted(paths(remaining)) == ["aten::linear", "aten::relu", "aten::relu > clamp"]
        assert difference(remaining, program([[op("aten::linear"), RELU]] * 2)).same

    def test_parents_are_still_rows(self):
        remaining = program([[op("gone", LINEAR), op("kept", RELU)]] * 2).without(
            re.compile("gone")
        )
        rows = remaining.nodes.select("cycle", "site", "parent").rows()
        names = dict(zip(remaining.sites["site"], remaining.sites["name"], strict=True))
        named_rows = [(cycle, names[site], parent) for cycle, site, parent in rows]
        assert named_rows == [
            (1, "kept", -1), (1, "aten::relu", 0), (1, "clamp", 1),
            (2, "kept", -1), (2, "aten::relu", 3), (2, "clamp", 4),
        ]  # fmt: skip

    def test_names_as_recorded_count_too(self):
        recorded_program = program([[program_range("step_log 5"), RELU]])
        assert "step_log #" not in paths(recorded_program.without(re.compile("log 5")))

    def test_nothing_to_leave_out_changes_nothing(self):
        recorded_program = program([[RELU]])
        assert recorded_program.without(re.compile("none")) is recorded_program


class TestKinds:
    """Cycles that do the same are one kind; those of another come with a period."""

    EVALUATION = op("evaluate", *[RELU] * 6)

    def kinds(self, cycles: Sequence[Sequence[Call]]) -> list[tuple[tuple[int, ...], int | None]]:
        recorded_program = program(cycles)
        return [
            (kind.cycles, kind.period)
            for kind in difference(recorded_program, recorded_program).kinds[0]
        ]

    def test_equal_cycles_are_one_kind_without_a_period(self):
        assert self.kinds([[LINEAR]] * 4) == [((1, 2, 3, 4), None)]

    def test_every_fourth_cycle_does_more(self):
        cycles = [[LINEAR] * 3 + ([self.EVALUATION] if n % 4 == 0 else []) for n in range(1, 13)]
        assert self.kinds(cycles) == [((1, 2, 3, 5, 6, 7, 9, 10, 11), None), ((4, 8, 12), 4)]

    def test_what_comes_unevenly_has_no_period(self):
        cycles = [[LINEAR] * 3 + ([self.EVALUATION] if n in {2, 3, 7} else []) for n in range(9)]
        usual, other = self.kinds(cycles)
        assert other == ((3, 4, 8), None)
        assert usual[1] is None

    def test_a_single_cycle_that_is_nearly_the_same_is_of_the_kind(self):
        cycles = [[LINEAR] * 20] * 7 + [[*[LINEAR] * 20, op("aten::item")]]
        assert self.kinds(cycles) == [(tuple(range(1, 9)), None)]


def test_programs_of_several_processes_are_apart():
    trace, cycles = recording([[LINEAR]] * 2)
    host = trace.host.with_columns(pid=pl.lit("2").cast(pl.Categorical))
    both = pl.concat([trace.host, host])
    table = pl.concat([cycles.table, cycles.table.with_columns(pid=pl.lit("2"))])
    frames = {**trace.frames, "host": both.lazy()}
    by_process = programs(
        Trace(trace.metadata, trace.health, frames), Cycles(table, "marker", "step", 1.0, "")
    )
    assert sorted(by_process) == ["1", "2"]
    assert all(
        "aten::linear > aten::addmm" in paths(recorded_program)
        for recorded_program in by_process.values()
    )
