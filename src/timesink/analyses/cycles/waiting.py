"""Calls that wait for somebody else; how often they come says nothing about the work."""

from __future__ import annotations

import re

_WAITS = re.compile(
    r"(^|[.: ])(Event\.wait|Condition\.wait|Barrier\.wait|Scheduler\.recv_requests)$"
    r"|threading\.py\(\d+\): (wait|join|_wait_for_tstate_lock)$"
    r"|(queue|queues|connection|selectors|asyncio/\w+|socket)\.py\(\d+\): \w+$"
    r"|time\.sleep|built-in (method|function) (poll|select|sleep|acquire|recv|wait)\b"
)


def is_wait(name: str) -> bool:
    """Whether a Python call of this name only waits."""
    return _WAITS.search(name) is not None
