"""Which files and folders are logs of collectives, told without loading what reads them."""

from __future__ import annotations

from pathlib import Path

from timesink.errors import TimesinkError
from timesink.formats.plain_pickle import is_pickle
from timesink.formats.source_file import open_source

FLIGHT_RECORDER, INSPECTOR = "flight_recorder", "inspector"
MAX_FILES = 20_000
"""Of a folder: one or two for each rank."""
_MAX_LOOKED_AT = 40
"""Files of a folder that are looked at to find a log among them."""
_HEAD_BYTES = 8192
_ENDINGS = ("", ".json", ".jsonl", ".log", ".txt", ".pickle", ".pkl", ".gz")
_OTHERS = ("run.json", "trace.json")
"""Files of recordings: a folder that has one is none of logs."""
_KEYS = (b'"profiling_name"', b'"pg_config"', b'"collective_seq_id"')
_OF_TRACES = (b'"traceEvents"', b'"schemaVersion"', b'"deviceProperties"', b'"distributedInfo"')
"""A trace tells its process groups as well, before its events."""
_PICKLED_KEYS = (b"pg_config", b"entries", b"nccl_comm_state", b"pg_status")
_PARTS = (b'"header"', b'"metadata"')
_MEASURES = (b'"coll_perf"', b'"p2p_perf"', b'"coll_sn"', b'"p2p_sn"')


def is_flight_recorder(head: bytes) -> bool:
    """Whether a file that begins so is a dump of the flight recorder.

    >>> is_flight_recorder(b'{"entries":[{"profiling_name":"nccl:all_reduce"')
    True
    """
    if is_pickle(head):
        return sum(key in head[:_HEAD_BYTES] for key in _PICKLED_KEYS) >= 2
    is_object = head.lstrip()[:1] == b"{" and not any(key in head for key in _OF_TRACES)
    return is_object and any(key in head for key in _KEYS)


def is_inspector(head: bytes) -> bool:
    """Whether a file that begins so is a log of the NCCL Inspector.

    >>> is_inspector(b'{"header":{"id":"0x1"},"metadata":{},"coll_perf":{"coll":"AllReduce"}}')
    True
    """
    is_object = head.lstrip()[:1] == b"{" and all(part in head for part in _PARTS)
    return is_object and any(key in head for key in _MEASURES)


def log_format(file: Path) -> str | None:
    """Which log a file is; None where it is none.

    >>> log_format(Path("/no/such/file"))
    """
    suffix = file.suffix.lower()
    if suffix not in _ENDINGS and not suffix[1:].isdigit():
        return None
    try:
        head = open_source(file).head(_HEAD_BYTES) if file.is_file() else b""
    except (TimesinkError, OSError):
        return None
    if is_flight_recorder(head):
        return FLIGHT_RECORDER
    return INSPECTOR if is_inspector(head) else None


def is_log_folder(folder: Path) -> bool:
    """Whether a folder holds logs of collectives.

    >>> is_log_folder(Path("/no/such/folder"))
    False
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file())[:MAX_FILES]
    except OSError:
        return False
    if any(file.name in _OTHERS or ".pt.trace.json" in file.name for file in files):
        return False
    return any(log_format(file) is not None for file in files[:_MAX_LOOKED_AT])
