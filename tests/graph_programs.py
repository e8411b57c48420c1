"""A small program, run eagerly, captured as a graph, and replayed, as profilers record it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import builders
from builders import Event

LAYERS = (
    ("nn.Module: Linear_0", "aten::addmm", "gemm_128"),
    ("nn.Module: GELU_0", "aten::gelu", "gelu"),
    ("nn.Module: Linear_1", "aten::addmm", "gemm_64"),
    ("nn.Module: Dropout_0", "aten::mul", "mul"),
)
"""Modules, their operators and the kernels these launch."""


def captured(
    layers: Sequence[tuple[str, str, str]] = LAYERS,
    *,
    names: bool = True,
    batch: int = 8,
    start: int = 1000,
    warm_up: bool = True,
) -> list[Event]:
    """What is recorded while a graph is captured: calls and launches, and no work but warm-up."""
    events: list[Event] = []
    if warm_up:
        events += builders.launch("cudaLaunchKernel", "fill", start, start + 1)
    number, at = start + 100, start + 50
    events.append(builders.runtime("cudaStreamBeginCapture", at, 1, number))
    events += _calls(layers, at + 10, number + 1, names=names, batch=batch, eager=False)
    events.append(builders.runtime("cudaStreamEndCapture", at + 500, 1, number + 90))
    return events


def eager(layers: Sequence[tuple[str, str, str]] = LAYERS, *, start: int = 1000) -> list[Event]:
    """The same program, run eagerly."""
    return _calls(layers, start, start, names=False, batch=8, eager=True)


def replay(
    kernels: Sequence[str],
    start: int,
    correlation: int,
    *,
    streams: Sequence[int] = (),
    **args: int,
) -> list[Event]:
    """The call that replays a graph, inside a module, and the kernels it runs one after another."""
    events = [builders.python_call("nn.Module: Net_0", start, 20, **{"Python module id": 0})]
    events.append(builders.runtime("cudaGraphLaunch", start + 2, 10, correlation))
    for place, name in enumerate(kernels):
        stream = streams[place] if streams else 7
        work = builders.kernel(name, start + 30 + 10 * place, 8, correlation, stream=stream, **args)
        events.append({**work, "tid": stream})
    return events


def _calls(
    layers: Sequence[tuple[str, str, str]],
    start: int,
    correlation: int,
    *,
    names: bool,
    batch: int,
    eager: bool,
) -> list[Event]:
    events: list[Event] = []
    net = {"Python module id": 0}
    events.append(builders.python_call("nn.Module: Net_0", start, 20 * len(layers) + 5, **net))
    for place, (module, name, kernel) in enumerate(layers):
        at = start + 2 + 20 * place
        events.append(builders.python_call(module, at, 16, **{"Python module id": place}))
        shapes = {"Input Dims": [[batch, 16], [16, 16]], "Input type": ["float", "float"]}
        events.append(builders.operator(name, at + 2, 12, **shapes))
        launched = {"kernel": kernel} if names else {}
        events.append(
            builders.runtime("cudaLaunchKernel", at + 4, 5, correlation + place, **launched)
        )
        if eager:
            events.append(builders.kernel(kernel, at + 10, 8, correlation + place))
    return events


def write(path: Path, events: Sequence[Event]) -> Path:
    """A trace file of some events."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return builders.write(path, builders.kineto(events))
