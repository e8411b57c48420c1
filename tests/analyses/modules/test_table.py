"""Time per module along the hierarchy of their calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import timesink
from builders import Event, flow
from cases import MAIN, MODULE, OTHER, PID, K, O, R, read
from thinning import every_nth
from timesink.analyses.modules import SCHEMA, link_backward, module_table
from timesink.analyses.operators import node_times
from timesink.model.trace import Trace

US = 1000


def table(trace: Trace, *columns: str) -> list[tuple[Any, ...]]:
    return module_table(trace).select(columns).rows()


def module(name: str, ts: int, dur: int, number: int = 0) -> Event:
    """The call of a module; who called it follows from the times."""
    return MODULE(f"nn.Module: {name}", ts, dur, python_id=ts, parent=None, module=number)


# -- hierarchy -------------------------------------------------------------------------------------


def test_calls_under_equal_callers_share_a_row():
    trace = read(
        module("Net", 0, 100),
        module("Conv", 10, 20),
        module("Conv", 40, 30),
        module("Net", 200, 100),
        module("Conv", 210, 10),
    )
    assert table(trace, "id", "parent_id", "name", "occurrences", "host_total_ns") == [
        (0, None, "Net", 2, 200 * US),
        (1, 0, "Conv", 3, 60 * US),
    ]


def test_a_module_used_in_two_places_has_a_row_for_each():
    trace = read(
        module("Encoder", 0, 100),
        module("Embedding", 10, 20),
        module("Decoder", 200, 100),
        module("Embedding", 210, 30),
    )
    assert table(trace, "name", "parent_id", "host_total_ns") == [
        ("Decoder", None, 100 * US),
        ("Embedding", 0, 30 * US),
        ("Encoder", None, 100 * US),
        ("Embedding", 2, 20 * US),
    ]


def test_top_by_name_and_below_in_the_order_of_calls():
    trace = read(
        module("Net", 0, 100, 2),
        module("Pool", 10, 10),
        module("Conv", 30, 10),
        module("Loss", 200, 50),
        module("Net", 300, 50, 1),
    )
    assert table(trace, "name", "module_id") == [
        ("Loss", 0),
        ("Net", 2),
        ("Pool", 0),
        ("Conv", 0),
        ("Net", 1),
    ]


def test_operators_between_modules_do_not_part_them():
    """Checkpointing calls modules from inside an operator."""
    trace = read(module("Net", 0, 100), O("Checkpoint", 10, 80), module("Conv", 20, 50))
    assert table(trace, "name", "parent_id", "operators", "host_self_ns") == [
        ("Net", None, 1, 20 * US),
        ("Conv", 0, 0, 50 * US),
    ]


def test_no_modules():
    module_rows = module_table(read(O("aten::mm", 0, 10)))
    assert (module_rows.height, module_rows.schema) == (0, pl.Schema(SCHEMA))


RECORDINGS = (
    "h200/traces/resnet50_train",
    "h200/traces/gpt_infer",
    "h200/traces/llama_decode",
    "tracelens/b200",
    "tracelens/h100/timesformer.json.gz",
    "tracelens/mi300/resnet_act_checkpoint.json.gz",
)


@pytest.mark.parametrize("path", every_nth(RECORDINGS, 3))
def test_nesting_and_recorded_callers_agree(shared_root: Path, path: str):
    trace = timesink.open(shared_root / "data" / path)
    rows = module_table(trace).rows(named=True)
    chains: dict[tuple[str, ...], int] = {}
    for row in rows:
        above = rows[row["parent_id"]]["chain"] if row["parent_id"] is not None else ()
        row["chain"] = (*above, row["name"])
        chains[row["chain"]] = chains.get(row["chain"], 0) + row["occurrences"]
    assert chains == chains_by_python_ids(trace)


def chains_by_python_ids(trace: Trace) -> dict[tuple[str, ...], int]:
    """How often each chain of modules was called, from the ids of Python calls alone."""
    calls = {
        python_id: (caller, name.removeprefix("nn.Module: ") if kind == "module" else None)
        for python_id, caller, kind, name in trace.host.filter(pl.col("python_id").is_not_null())
        .select("python_id", "python_parent_id", "kind", pl.col("name").cast(pl.String))
        .iter_rows()
    }
    counts: dict[tuple[str, ...], int] = {}
    for python_id, (_, called) in calls.items():
        if called is not None:
            chain = chain_of(python_id, calls)
            counts[chain] = counts.get(chain, 0) + 1
    return counts


def chain_of(call: int | None, calls: dict[int, tuple[int, str | None]]) -> tuple[str, ...]:
    names: list[str] = []
    while call in calls:
        call, name = calls[call]
        names += [name] if name is not None else []
    return tuple(reversed(names))


# -- times -----------------------------------------------------------------------------------------


def test_own_device_work_and_that_of_operators():
    trace = read(
        module("Net", 0, 100),
        R(5, 5, c=1),
        K("fused", 10, 7, c=1),
        O("aten::mm", 20, 30, x=2),
        R(25, 5, c=2, x=2),
        K("gemm", 30, 40, c=2, x=2),
        module("Conv", 60, 30),
        O("aten::conv", 65, 20, x=3),
        R(70, 5, c=3, x=3),
        K("conv", 80, 11, c=3, x=3),
    )
    columns = ("name", "device_self_ns", "device_with_operators_ns", "device_total_ns")
    assert table(trace, *columns) == [
        ("Net", 7 * US, 47 * US, 58 * US),
        ("Conv", 0, 11 * US, 11 * US),
    ]
    assert table(trace, "avg_duration_ns") == [(58.0 * US,), (11.0 * US,)]


def test_kernels_of_a_replayed_graph_count_for_the_module_that_replays():
    trace = read(
        module("Decoder", 0, 100),
        R(10, 20, c=5) | {"name": "cudaGraphLaunch"},
        K("gemm", 30, 40, c=5),
        K("norm", 70, 10, c=5),
    )
    assert table(trace, "device_self_ns", "device_total_ns") == [(50 * US, 50 * US)]


def test_average_without_device_work_is_host_time():
    trace = read(module("Net", 0, 100), module("Net", 200, 50))
    assert table(trace, "avg_duration_ns") == [(75.0 * US,)]


def backward_pass(**on_forward: Any) -> list[Event]:
    """A layer inside a network, and the backward call of its operator on another thread."""
    engine = "autograd::engine::evaluate_function: "
    return [
        module("Net", 0, 100),
        module("Linear", 10, 50),
        O("aten::addmm", 20, 30, x=1, **on_forward),
        O(f"{engine}AddmmBackward0", 200, 40, x=2, tid=OTHER),
        R(210, 5, c=1, x=2, tid=OTHER),
        K("gemm", 220, 25, c=1, x=2),
        O(f"{engine}torch::autograd::AccumulateGrad", 250, 10, tid=OTHER),
    ]


def test_backward_time_counts_for_a_module_and_those_around_it():
    arrow = [
        flow("s", 1, 20, category="fwdbwd", pid=PID, tid=MAIN),
        flow("f", 1, 200, category="fwdbwd", pid=PID, tid=OTHER),
    ]
    trace = read(*backward_pass(), *arrow)
    columns = ("name", "backward_host_ns", "backward_device_ns", "device_total_ns")
    assert table(trace, *columns) == [
        ("Net", 50 * US, 25 * US, 0),
        ("Linear", 50 * US, 25 * US, 0),
    ]


def test_modules_hold_the_backward_time_of_a_real_recording(shared_root: Path):
    trace = timesink.open(shared_root / "data/h200/traces/resnet50_train")
    root_row = module_table(trace).row(0, named=True)
    links, device = link_backward(trace), node_times(trace).device_total
    assert root_row["name"] == "ResNet_0"
    # All but the loss, which is computed outside of the network.
    assert 0.99 < root_row["backward_device_ns"] / device[links.node].sum() < 1


# -- Lightning -------------------------------------------------------------------------------------


def lightning_trace(*events: Event) -> Trace:
    return read(*events, Framework="pytorch-lightning")


def test_lightning_modules_by_dotted_names():
    trace = lightning_trace(
        O("[pl][module]torch.nn.modules.container.Sequential: encoder", 0, 100, x=1),
        O("[pl][module]torch.nn.modules.linear.Linear: encoder.0", 10, 40, x=2),
        O("aten::linear", 15, 30, x=3),
        R(20, 5, c=1, x=3),
        K("gemm", 30, 20, c=1, x=3),
        O("[pl][module]torch.nn.modules.linear.Linear: head.out", 200, 40, x=4),
    )
    columns = ("name", "parent_id", "module_id", "operators", "host_self_ns", "device_total_ns")
    assert table(trace, *columns) == [
        ("encoder", None, 0, 0, 60 * US, 20 * US),
        ("encoder.0", 0, 0, 1, 10 * US, 20 * US),
        ("head.out", None, 0, 0, 40 * US, 0),
    ]


def test_lightning_names_mean_nothing_elsewhere():
    assert table(read(O("[pl][module]Linear: head", 0, 40)), "name") == []
