"""Arguments of events that have any type: the analysis does without them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from builders import Event, kernel, kineto, memcpy, operator, python_call, runtime, step, write
from timesink.analyses.work.arguments import parse_inputs

WRONG: list[Any] = [
    [], [1], {}, {"a": [1]}, None, 10**30, -1, True, "", "x", 1.5, [[[[]]]], -(10**18), 1e308,
    [None], [["a"]], 2**31, ["float"], [[2, 3], [4, 5]], "[1,2]",
]  # fmt: skip
COLLECTIVE = {
    "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 100, "Out msg nelems": 100,
    "Group size": 8, "Process Group Name": "0", "Process Group Ranks": [0, 1], "Seq": 1,
}  # fmt: skip


def events() -> list[Event]:
    """Two steps with every sort of argument."""
    inputs = {
        "Input type": ["float", "float"], "Input Dims": [[64, 64], [64, 64]],
        "Input Strides": [[64, 1], [64, 1]], "Concrete Inputs": ["", ""], "Sequence number": 1,
        "Fwd thread id": 0, "Call stack": "a.py(1): f;b.py(2): g", "Module Hierarchy": "Model.a",
    }  # fmt: skip
    work = {"stream": 7, "device": 0, "grid": [8, 1, 1], "block": [128, 1, 1], "context": 1}
    all_events: list[Event] = []
    for number in range(2):
        t = 1000 * (number + 1)
        mm, reduce = {"External id": 10 * number + 1}, {"External id": 10 * number + 2}
        all_events += [
            step(number + 1, t, 900),
            python_call("a.py(3): f", t + 5, 300, **{"Python id": number, "Python parent id": 1}),
            operator("aten::mm", t + 10, 100, **inputs, **mm),
            runtime("cudaLaunchKernel", t + 20, 10, number + 1, cbid=211),
            kernel("void gemm<float>(float*)", t + 40, 80, number + 1, **mm, **work),
            runtime("cudaMemcpyAsync", t + 130, 10, 100 + number),
            memcpy("Memcpy HtoD (Pageable -> Device)", t + 150, 40, 100 + number, bytes=4096),
            operator("nccl:all_reduce", t + 200, 50, **reduce, **COLLECTIVE),
            runtime("cudaLaunchKernel", t + 210, 10, 200 + number),
            kernel("ncclDevKernel_AllReduce()", t + 230, 60, 200 + number, **reduce, **COLLECTIVE),
        ]
    return all_events


@pytest.mark.parametrize("seed", [1, 2])
def test_analyze_does_without_them(run, tmp_path: Path, seed: int):
    drawn = random.Random(seed)  # noqa: S311
    wrong = [
        event
        | {
            "args": {
                name: drawn.choice(WRONG) if drawn.random() < 0.4 else value
                for name, value in event.get("args", {}).items()
            }
        }
        for event in events()
    ]
    file = write(tmp_path / "trace.json", kineto(wrong))
    for form in ("text", "json"):
        outcome = run("analyze", file, "--no-cache", "--format", form)
        assert outcome.code == 0, outcome.err


@pytest.mark.parametrize("kind", WRONG)
def test_a_type_of_an_input_may_be_anything(kind: Any):
    import msgspec

    types = msgspec.json.encode([kind, "float"]).decode()
    first, second = parse_inputs("[[2, 3], [4]]", types)
    assert second is not None
    assert first is None or kind == ""
