"""Which files are snapshots of memory, told without loading what reads them."""

from __future__ import annotations

from timesink.formats.plain_pickle import is_pickle

_MARKS = (b"segments", b"device_traces")
_LOOKED_AT = 1024


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001 - the content says it
    """Whether a file is a snapshot of memory: a pickle whose first keys are those of one.

    >>> import pickle
    >>> sniff(pickle.dumps({"segments": [], "device_traces": []}), "")
    True
    """
    return is_pickle(head) and any(mark in head[:_LOOKED_AT] for mark in _MARKS)
