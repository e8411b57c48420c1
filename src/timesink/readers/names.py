"""What file names, and the first bytes of a file, say: worker, span and rank."""

from __future__ import annotations

import re

_WORKER_NAME = re.compile(r"^(?P<worker>.*?)(?:\.(?P<span>\d+))?\.pt\.trace\.json(?:\.gz|\.zip)?$")
_RANK_IN_HEAD = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]*?"rank"\s*:\s*"?(\d{1,9})')
_TABLE_NAME = re.compile(
    r"(?:_perf_data\.csv(?:\.gz)?|behaviour.*\.(?:csv|csv\.gz|parquet))$", re.IGNORECASE
)
_RANK_IN_NAME = re.compile(r"(?:^|[^a-z])rank[-_. ]?(\d+)", re.IGNORECASE)


def rank_in_name(name: str) -> int | None:
    """Rank that a file name states.

    >>> rank_in_name("rank-34.Jul_15.pt.trace.json.gz"), rank_in_name("worker0.pt.trace.json")
    (34, None)
    """
    match = _RANK_IN_NAME.search(name)
    return int(match.group(1)) if match else None


def worker_and_span(name: str) -> tuple[str | None, int | None]:
    """Worker and span timestamp in the file names the PyTorch profiler writes.

    >>> worker_and_span("worker0.1623143089861.pt.trace.json.gz")
    ('worker0', 1623143089861)
    """
    match = _WORKER_NAME.match(name)
    if not match:
        return None, None
    span = match.group("span")
    return match.group("worker"), int(span) if span else None


def rank_in_head(head: bytes) -> int | None:
    """Rank that the first bytes of a trace state.

    >>> rank_in_head(b'{"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}')
    3
    """
    match = _RANK_IN_HEAD.search(head)
    return int(match.group(1)) if match else None


def is_named_as_table(name: str) -> bool:
    """Whether the name of a file says that it is a behaviour table.

    >>> is_named_as_table("result_perf_data.csv.gz"), is_named_as_table("counters.csv")
    (True, False)
    """
    return _TABLE_NAME.search(name) is not None
