"""Calls of operators as recordings hold them, for tests of what they compute and move."""

from __future__ import annotations

import json
from typing import Any

from timesink.analyses.work.arguments import CallArguments, Tensor, parse_inputs, parse_values
from timesink.analyses.work.formulas import Work, work_of


def half(*shape: int) -> Tensor:
    """A tensor of two bytes per element."""
    return Tensor(shape, "c10::BFloat16")


def single(*shape: int) -> Tensor:
    """A tensor of four bytes per element."""
    return Tensor(shape, "float")


def call_arguments(name: str, *arguments: Any) -> CallArguments:
    """A call with tensors, plain values and nothing (None), through the texts of a recording."""
    dims = [list(argument.shape) if isinstance(argument, Tensor) else [] for argument in arguments]
    types = [argument.type if isinstance(argument, Tensor) else "Scalar" for argument in arguments]
    strides = [
        list(argument.strides) if isinstance(argument, Tensor) else [] for argument in arguments
    ]
    values = [
        "" if isinstance(argument, Tensor | None) else str(argument) for argument in arguments
    ]
    inputs = parse_inputs(json.dumps(dims), json.dumps(types), json.dumps(strides))
    return CallArguments(name, inputs, parse_values(json.dumps(values)))


def work(name: str, *arguments: Any) -> Work:
    """What a call computes and moves."""
    result = work_of(call_arguments(name, *arguments))
    assert result is not None, name
    return result
