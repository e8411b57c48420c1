"""Prefill or decode: what a name says about a cycle."""

from __future__ import annotations

import re

_PREFILL = re.compile(r"forward_extend|[pP]re_?[fF]ill(?![a-z])|PREFILL|\[EXTEND")
_DECODE = re.compile(r"[dD]ecode(?![a-z])|DECODE")
_BATCH = re.compile(r"context_(\d+)\(.*generation_(\d+)\(")


def type_of_name(name: str) -> str:
    """What a name says about the sort of cycle it marks; `generic` where it says nothing.

    Servers name their passes by what is in them: `execute_context_2(..)_generation_0(..)` is a
    prefill, `step[DECODE bs=32]` a decode.  A pass with both sorts of requests is neither.

    >>> [type_of_name(name) for name in ("step[DECODE bs=32]", "forward_extend", "train_decoder")]
    ['decode', 'prefill', 'generic']
    >>> type_of_name("execute_context_0(0)_generation_32(32)")
    'decode'
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
