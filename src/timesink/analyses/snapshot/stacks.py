"""What a call stack says about an allocation: which part of a program made it, and where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from timesink.model.vendors import LIBRARIES_WITH_WORKSPACES
from timesink.patterns import regex

FORWARD, BACKWARD, OPTIMIZER, SETUP = "forward", "backward", "optimizer", "setup"
LIBRARY, LOADING, OTHER, NO_STACK = "library", "loading", "other", "no_stack"
PARTS = (FORWARD, BACKWARD, OPTIMIZER, SETUP, LIBRARY, LOADING, OTHER, NO_STACK)
"""Parts of a program by the innermost frame that belongs to one."""

MAX_MODULES = 6
"""Frames of a path of modules; deeper ones lose their outermost."""

_FRAME = regex(r"^(?P<file>.*)\((?P<line>\d+)\): (?P<name>.*)$", re.DOTALL)
_PART_OF_FRAME: Sequence[tuple[str, re.Pattern[str]]] = (
    (
        LIBRARY,
        regex(rf"[Ww]orkspace|{LIBRARIES_WITH_WORKSPACES}"),
    ),
    (LOADING, regex(r"torch/utils/data/|pin_memory|DataLoader")),
    (
        OPTIMIZER,
        regex(
            r"(?:^|[/\\])optim(?:izers?|er)?[/\\]|[/\\](?:zero|fused_adam|lamb|lion)\w*[/\\.]"
            r"|optimizer\w*\.py\(\d+\): |: (?:_init_group|_(?:single|multi)_tensor_\w+)$"
            r"|clip_grad",
        ),
    ),
    (
        BACKWARD,
        regex(
            r"torch/autograd/(?!grad_mode)|torch/_tensor\.py\(\d+\): backward|: backward$"
            r"|autograd::Engine|_engine_run_backward|Backward\d*(?:::apply|$)",
        ),
    ),
    (
        SETUP,
        regex(
            r"torch/nn/modules/module\.py\(\d+\): (?:_apply|convert|to|cuda|xpu|half|bfloat16|float"
            r"|double|load_state_dict|_load_from_state_dict|to_empty)$|torch/nn/init\.py"
            r"|torch/nn/.*: __init__$|: (?:reset_parameters|_init_weights|init_weights"
            r"|from_pretrained|load_state_dict|_load_state_dict|load_weights)$"
            r"|torch/nn/parameter\.py|torch/serialization\.py",
        ),
    ),
    (
        FORWARD,
        regex(
            r": (?:forward|_call_impl|_wrapped_call_impl|__call__)$|torch/nn/functional\.py"
            r"|torch/_inductor/|inductor_cache|torchinductor",
        ),
    ),
)
_IS_FRAMEWORK = regex(r"^(?:torch|torchvision|torchaudio|functorch|transformers|accelerate)/")
_IS_CALL = regex(r"torch/nn/modules/module\.py$")
_IS_LAYER = regex(r"torch/nn/modules/(?P<layer>\w+)\.py$")
_STEM = regex(r"(?:.*[/\\])?(?P<stem>[^/\\]+?)(?:\.py)?$")


class StackFacts(NamedTuple):
    """What one call stack tells."""

    part: str
    """One of `PARTS`."""
    module: str
    """The path of modules it was made in, the outermost first; empty where there is none."""
    place: str
    """The innermost line of the program itself; of the framework where there is no other."""


@lru_cache(maxsize=1 << 16)
def stack_facts(stack: str) -> StackFacts:
    """What a call stack tells, its frames separated by ';', the innermost first.

    >>> stack_facts("torch/nn/modules/linear.py(134): forward;net.py(20): forward;run.py(3): main")
    StackFacts(part='forward', module='net.py:20 > linear', place='net.py(20): forward')
    >>> stack_facts("torch/optim/adam.py(90): _init_group;run.py(9): main").part
    'optimizer'
    """
    if not stack:
        return StackFacts(NO_STACK, "", "")
    frames = stack.split(";")
    part = next((part for frame in frames if (part := _part_of(frame))), OTHER)
    own = (frame for frame in frames if _FRAME.match(frame) and not _IS_FRAMEWORK.match(frame))
    return StackFacts(part, _module_path(frames), next(own, frames[0]))


@lru_cache(maxsize=1 << 16)
def _part_of(frame: str) -> str:
    return next((part for part, pattern in _PART_OF_FRAME if pattern.search(frame)), "")


def _module_path(frames: Sequence[str]) -> str:
    """The calls of `forward` on a stack, by file and line; layers of PyTorch by their file."""
    path = []
    for frame in frames:
        match = _FRAME.match(frame)
        if match is None or match["name"] not in {"forward", "__init__"}:
            continue
        layer = _IS_LAYER.search(match["file"])
        if layer is not None:
            if not _IS_CALL.search(match["file"]):
                path.append(layer["layer"])
            continue
        if _IS_FRAMEWORK.match(match["file"]) and match["name"] == "__init__":
            continue
        stem = _STEM.match(match["file"])
        path.append(f"{stem['stem'] if stem else match['file']}.py:{match['line']}")
    return " > ".join(reversed(path[:MAX_MODULES]))
