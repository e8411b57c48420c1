"""Which views a trace has something for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import annotation, kernel, kineto, memory, operator, python_call, write
from timesink.answers.plugin.overview import available_views

ALWAYS = ["Overview", "Operator", "Trace"]
MODULE = python_call("nn.Module: Linear_0", 1, 5, **{"Python id": 1, "Python module id": 0})
PL_MODULE = operator("[pl][module]torch.nn.Linear: layer", 1, 5)
LIGHTNING = {"Framework": "pytorch-lightning"}


def views_of(folder: Path, *events: Any, **fields: Any) -> list[str]:
    document = kineto([operator("aten::mm", 0, 10), *events], **fields)
    return available_views(timesink.open(write(folder / "trace.json", document)))


@pytest.mark.parametrize(
    ("event", "fields", "view"),
    [
        (kernel("gemm", 2, 5, 1), {}, "Kernel"),
        (memory(2, 512), {}, "Memory"),
        (MODULE, {}, "Module"),
        (PL_MODULE, LIGHTNING, "Lightning"),
        (annotation("nccl:all_reduce", 2, 5), {}, "Distributed"),
        (annotation("gloo:broadcast", 2, 5), {}, "Distributed"),
        (operator("record_param_comms", 2, 5), {}, "Distributed"),
    ],
)
def test_view_with_data_is_listed(tmp_path: Path, event: Any, fields: Any, view: str):
    assert sorted(views_of(tmp_path, event, **fields)) == sorted([*ALWAYS, view])


def test_trace_of_the_host_alone(tmp_path: Path):
    assert views_of(tmp_path) == ALWAYS


def test_order(tmp_path: Path):
    reduce = kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 2, 5, 1)
    assert views_of(tmp_path, MODULE, memory(2, 512), reduce) == [
        "Overview",
        "Operator",
        "Kernel",
        "Trace",
        "Distributed",
        "Memory",
        "Module",
    ]


def test_modules_of_lightning_need_its_mark(tmp_path: Path):
    assert views_of(tmp_path, PL_MODULE) == ALWAYS
