"""Calls of operators as recordings hold them, for tests of what they compute and move."""

from __future__ import annotations

import json
from typing import Any

from timesink.analyses.work import (
    CallArguments,
    Tensor,
    Work,
    parse_inputs,
    parse_values,
    work_of,
)


def half(*shape: int) -> Tensor:
    """A tensor of two bytes per element."""
    return Tensor(shape, "c10::BFloat16")


def single(*shape: int) -> Tensor:
    """A tensor of four bytes per element."""
    return Tensor(shape, "float")


def recorded(name: str, *arguments: Any) -> CallArguments:
    """A call with tensors, plain values and nothing (None), through the texts of a recording."""
    dims = [list(one.shape) if isinstance(one, Tensor) else [] for one in arguments]
    types = [one.type if isinstance(one, Tensor) else "Scalar" for one in arguments]
    strides = [list(one.strides) if isinstance(one, Tensor) else [] for one in arguments]
    values = ["" if isinstance(one, Tensor | None) else str(one) for one in arguments]
    inputs = parse_inputs(json.dumps(dims), json.dumps(types), json.dumps(strides))
    return CallArguments(name, inputs, parse_values(json.dumps(values)))


def work(name: str, *arguments: Any) -> Work:
    """What a call computes and moves."""
    found = work_of(recorded(name, *arguments))
    assert found is not None, name
    return found
