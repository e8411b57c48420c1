"""What a name says about a cycle: one pass of the work or not, prefill or decode."""

from __future__ import annotations

import re

_PREFILL = re.compile(r"forward_extend|[pP]re_?[fF]ill(?![a-z])|PREFILL|\[EXTEND")
_DECODE = re.compile(r"[dD]ecode(?![a-z])|DECODE")
_EXTENDS = "forward_extend"
_DECODES = re.compile(r"[dD]ecode(?![a-z])")
"""As a Python call says it; flags and constants in capitals say nothing about a call."""
_UNIT = re.compile(r"step|iter|execute|batch|decode|prefill|forward", re.IGNORECASE)
_PASS = re.compile(
    r"(^nn\.Module|[.: _](execute_model|run_batch\w*|_run_batch_inner|forward\w*|_?model_forward"
    r"|step|train_step|training_step|backward|prefill|decode)$)"
)
_BATCH = re.compile(r"context_(\d+)\(.*generation_(\d+)\(")


def type_of_name(name: str) -> str:
    """What a name says about the sort of cycle it marks; `generic` where it says nothing.

    Servers name their passes by what is in them: `execute_context_2(..)_generation_0(..)` is a
    prefill, `step[DECODE bs=32]` a decode.  A pass with both sorts of requests is neither.
    """
    batch = _BATCH.search(name)
    if batch:
        prompts, answers = int(batch[1]) > 0, int(batch[2]) > 0
        if prompts and answers:
            return "generic"
        return "prefill" if prompts else "decode"
    if _PREFILL.search(name):
        return "prefill"
    return "decode" if _DECODE.search(name) else "generic"


def extends(name: str) -> bool:
    """Whether a Python call of this name is made for a prefill only."""
    return _EXTENDS in name


def decodes(name: str) -> bool:
    """Whether a Python call of this name is made for a decode only, unless it decodes text."""
    return _DECODES.search(name) is not None


def is_pass_call(name: str) -> bool:
    """Whether a Python call of this name is one pass of the work.

    What repeats inside of one is a part of it, a layer.
    """
    return _PASS.search(name) is not None


def is_unit_name(name: str) -> bool:
    """Whether people give this name to one pass of their work."""
    return _UNIT.search(name) is not None
