"""What the name of a mark or call says of the cycle it stands for."""

from __future__ import annotations

import re

from timesink.patterns import regex

_NUMBER = regex(r"\d+")


def family_name(name: str) -> str:
    """The name with every number replaced, so that numbered marks are one."""
    return _NUMBER.sub("#", name)


_PREFILL = regex(r"forward_extend|[pP]re_?[fF]ill(?![a-z])|PREFILL|\[EXTEND")
_DECODE = regex(r"[dD]ecode(?![a-z])|DECODE")
_EXTENDS = "forward_extend"
_DECODES = regex(r"[dD]ecode(?![a-z])")
"""As a Python call says it; flags and constants in capitals say nothing about a call."""
_UNIT = regex(r"step|iter|execute|batch|decode|prefill|forward", re.IGNORECASE)
_PASS = regex(
    r"(^nn\.Module|[.: _](execute_model|run_batch\w*|_run_batch_inner|forward\w*|_?model_forward"
    r"|step|train_step|training_step|backward|prefill|decode)$)"
)
_BATCH = regex(r"(?:context|new)_(\d+)(?!\d).*?_(?:generation|cached)_(\d+)")
_SERVER = regex(r"\[(?:DECODE|EXTEND|PREFILL)\b")
"""What servers write around the passes they run."""


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


def is_batch_name(name: str) -> bool:
    """Whether a server marks a pass by this name and says what is in it."""
    return _BATCH.search(name) is not None or _SERVER.search(name) is not None


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


# Calls that wait for somebody else; how often they come says nothing about the work.

_WAITS = regex(
    r"(^|[.: ])(Event\.wait|Condition\.wait|Barrier\.wait|Scheduler\.recv_requests)$"
    r"|threading\.py\(\d+\): (wait|join|_wait_for_tstate_lock)$"
    r"|(queue|queues|connection|selectors|asyncio/\w+|socket)\.py\(\d+\): \w+$"
    r"|time\.sleep|built-in (method|function) (poll|select|sleep|acquire|recv|wait)\b"
)


def is_wait(name: str) -> bool:
    """Whether a Python call of this name only waits."""
    return _WAITS.search(name) is not None
