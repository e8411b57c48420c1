"""The outer shape of a Chrome-format trace: where the event list starts, where it can be cut,
where it ends.

The stream is cut into pieces that end at event boundaries, so that pieces can be decoded apart.
Every process that reads the same stream cuts it at the same places.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

PIECE_BYTES = 4 * 1024 * 1024
"""Small enough that a piece and its events stay in the cache of a core."""
HEAD_LIMIT = 256 * 1024 * 1024
"""A trace whose metadata in front of the events is longer than this is none."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_BARE_LIST = re.compile(rb"\s*\[")
_BOUNDARY = re.compile(rb'\}\s*,\s*(?=\{\s*")')
_LIST_END = re.compile(rb"[}\[]\s*\]")
_METADATA_KEY = re.compile(rb'"(?:schemaVersion|deviceProperties|distributedInfo)"\s*:')
_PHASE_KEY = re.compile(rb'"ph"\s*:')
_WINDOW = 64 * 1024


@dataclass(frozen=True, slots=True)
class Cut:
    """A stretch of the event list: whole events, in brackets of their own."""

    number: int
    text: bytes
    last: bool
    """The last piece ends as the file does: with the end of the list and what follows it."""


def find_events(head: bytes) -> tuple[int, bool] | None:
    """Where the first event may start, and whether the list is bare; None when there is no list.

    >>> find_events(b'{"schemaVersion": 1, "traceEvents": [ {"ph": "X"}]}')
    (37, False)
    >>> find_events(b'[{"ph": "X"}]')
    (1, True)
    """
    start = len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0
    bare = _BARE_LIST.match(head, start)
    if bare:
        return bare.end(), True
    keyed = _EVENTS_KEY.search(head, start)
    return (keyed.end(), False) if keyed else None


def looks_like_events(head: bytes) -> bool:
    """Whether the start of a file can be the start of a trace.

    >>> looks_like_events(b'{"traceEvents": [{"ph": "X", "ts": 1}]}')
    True
    >>> looks_like_events(b'[[1, 2], [3, 4]]')
    False
    """
    found = find_events(head)
    if found is None:
        # Metadata may be longer than the head; its keys give it away.
        return _METADATA_KEY.search(head) is not None
    at, bare = found
    if not bare:
        return True
    return _PHASE_KEY.search(head, at) is not None and head[at:].lstrip()[:1] == b"{"


def split_head(blocks: Iterable[bytes]) -> tuple[bytes, bool, Iterator[bytes]] | None:
    """Text before the events, whether the list is bare, and the stream from the first event on."""
    stream = iter(blocks)
    gathered = b""
    for block in stream:
        gathered += block
        found = find_events(gathered)
        if found is not None:
            at, bare = found
            return gathered[:at], bare, _chain(gathered[at:], stream)
        if len(gathered) > HEAD_LIMIT:
            return None
    return None


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def cut_pieces(
    stream: Iterable[bytes], *, share: int = 0, shares: int = 1, size: int = PIECE_BYTES
) -> Iterator[Cut]:
    """Every `shares`-th piece of the event list, from number `share` on.

    Pieces of other shares are cut at the same places and skipped without being copied.
    """
    buffer = bytearray()
    number = 0
    for block in stream:
        buffer += block
        while len(buffer) >= size:
            end = _last_boundary(buffer)
            if end is None:
                break
            if number % shares == share:
                with memoryview(buffer) as view:
                    text = b"".join((b"[", view[:end], b"]"))
                yield Cut(number, text, last=False)
            comma = buffer.index(b",", end)
            del buffer[: comma + 1]
            number += 1
    if number % shares == share:
        yield Cut(number, b"[" + buffer, last=True)


def _last_boundary(buffer: bytearray) -> int | None:
    """End of the last whole event in the buffer that another event follows."""
    window = _WINDOW
    while True:
        start = max(0, len(buffer) - window)
        ends = [match.start() + 1 for match in _BOUNDARY.finditer(buffer, start)]
        for before, end in zip(reversed(ends[:-1]), reversed(ends), strict=False):
            if _is_event(bytes(buffer[before:end]).lstrip(b", \r\n\t")):
                return end
        if start == 0:
            return ends[-1] if ends else None
        window *= 8


def _is_event(text: bytes) -> bool:
    # Objects nested in arguments are separated alike; only events have a phase.
    try:
        return "ph" in msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return False


def split_end(text: bytes, *, bare: bool) -> tuple[bytes, bytes] | None:
    """The list of the last piece and the text after it; None when its end is not clear.

    >>> split_end(b'[{"ph": "X"}], "displayTimeUnit": "ms"}', bare=False)
    (b'[{"ph": "X"}]', b', "displayTimeUnit": "ms"}')
    """
    for match in _LIST_END.finditer(text):
        rest = text[match.end() :]
        if _closes(rest, bare=bare):
            return text[: match.end()], rest
    return None


def _closes(rest: bytes, *, bare: bool) -> bool:
    """Whether this text completes the document after the event list."""
    if bare:
        return not rest.strip()
    try:
        msgspec.json.decode(b'{"":0' + rest, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return False
    return True
