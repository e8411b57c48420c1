"""The outer shape of a Chrome-format trace: where its events start, may be cut, and end.

The stream is cut into pieces that end at event boundaries, so that pieces can be decoded apart.
Every process that reads the same stream cuts it at the same places.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

import msgspec

from timesink.formats.source_file import EVENTS_KEY, METADATA_KEY
from timesink.patterns import regex

PIECE_BYTES = 2 * 1024 * 1024
"""Small enough that a piece and its events stay in the cache of a core."""
HEAD_LIMIT = 256 * 1024 * 1024
"""A trace whose metadata in front of the events is longer than this is none."""
_MAX_BLANKS = 16
"""Between events, in limits of one: they take no memory, but time."""
EVENT_LIMIT = 256 * 1024 * 1024
"""Text without the end of an event is read no further than this: a small file can unpack to any
size, and what it unpacks to has to fit into memory until an event ends."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_EVENTS_KEY = 256
"""With its white space; so much of the old text is searched again with each new block."""
_BARE_LIST = regex(rb"\s*\[")
_BOUNDARY = regex(rb'\}\s*,\s*(?=\{\s*")')
_EMPTY_LIST = regex(rb"\[\s*\]")
_LIST_END = regex(rb"\}\s*\]")
_PHASE_KEY = regex(rb'"ph"\s*:')
_EARLY_PHASE = regex(rb'[\s,]*\{[^{}]*"ph"\s*:\s*"')
_STRUCTURE = regex(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)
_WINDOW = 64 * 1024
_LONGEST_VALUE = 256 * 1024
"""Beyond this, brackets that do not match are damage; looking further would take forever."""
_EVENT_KEYS = frozenset({"ph", "pid"})
_ENOUGH_EVENTS = 32
"""So many objects with these keys in a row are events, not objects in the arguments of one."""


class PieceText(msgspec.Struct, frozen=True):
    """A stretch of the event list: whole events, in brackets of their own."""

    number: int
    text: bytes
    last: bool
    """The last piece ends as the file does: with the end of the list and what follows it."""


def find_events(head: bytes | bytearray, search_from: int = 0) -> tuple[int, bool] | None:
    """Where the first event may start, and whether the list is bare; None when there is no list."""
    start = len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0
    bare = _BARE_LIST.match(head, start)
    if bare:
        return bare.end(), True
    matches = list(EVENTS_KEY.finditer(head, max(start, search_from)))
    # A field of the same name deeper down is not the list; damaged metadata proves nothing.
    for match in matches:
        if object_in(bytes(head[start : match.end()]) + b"]}") is not None:
            return match.end(), False
    return (matches[0].end(), False) if matches else None


def object_in(text: bytes) -> dict[str, msgspec.Raw] | None:
    """The fields of an object, as they are written; None when it is not one whole object."""
    try:
        return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def looks_like_events(head: bytes) -> bool:
    """Whether the start of a file can be the start of a trace."""
    position = find_events(head)
    if position is None:
        # Metadata may be longer than the head; its keys give it away.
        return METADATA_KEY.search(head) is not None
    at, bare = position
    if not bare:
        return True
    return _PHASE_KEY.search(head, at) is not None and head[at:].lstrip()[:1] == b"{"


def split_head(blocks: Iterable[bytes]) -> tuple[bytes, bool, Iterator[bytes]] | None:
    """Text before the events, whether the list is bare, and the stream from the first event on."""
    stream = iter(blocks)
    gathered = bytearray()
    for block in stream:
        searched = len(gathered) - _LONGEST_EVENTS_KEY
        gathered += block
        position = find_events(gathered, searched)
        if position is not None:
            at, bare = position
            return bytes(gathered[:at]), bare, itertools.chain([bytes(gathered[at:])], stream)
        if len(gathered) > HEAD_LIMIT:
            return None
    return None


def cut_pieces(
    stream: Iterable[bytes],
    *,
    share: int = 0,
    shares: int = 1,
    size: int = PIECE_BYTES,
    limit: int = EVENT_LIMIT,
) -> Iterator[PieceText]:
    """Every `shares`-th piece of the event list, from number `share` on.

    Pieces of other shares are cut at the same places and skipped without being copied.  Where no
    event ends within `limit`, the rest of the stream is left out, as if the file ended there.
    """
    # Blocks of the piece under way: they are copied once, when the piece is cut.
    blocks: list[bytes] = []
    length = number = blanks = 0
    enough, searched = size, 0
    for block in stream:
        blocks.append(block)
        length += len(block)
        while length >= enough:
            # Nearly always the last block tells; else all of them are one.
            end = _clear_boundary(blocks[-1], length, searched)
            if end is None:
                blocks = [b"".join(blocks)]
                if text := _without_blanks(blocks[0], size):
                    blanks += length - len(text)
                    blocks, length, enough = [text], len(text), size
                    break
                end = _last_boundary(blocks[0], searched)
            if end is None:
                # Searching only what is new, and not before it is much, keeps the effort linear.
                enough, searched = 2 * length, blocks[0].rfind(b"}") + 1
                break
            enough, searched = size, 0
            last = blocks.pop()
            if number % shares == share:
                with memoryview(last) as view:
                    text = b"".join((b"[", *blocks, view[:end], b"]"))
                yield PieceText(number, text, last=False)
                del text
            blocks = [last[last.index(b",", end) + 1 :]]
            length = len(blocks[0])
            number += 1
        if length > limit or blanks > _MAX_BLANKS * limit:
            break
    if number % shares == share:
        yield PieceText(number, b"".join((b"[", *blocks)), last=True)


def _without_blanks(buffer: bytes, size: int) -> bytes:
    """The buffer without very many blanks at its end that stand between values; else nothing."""
    text = buffer.rstrip()
    is_between = not text or text[-1:] in b",[{}"
    return text + b" " if is_between and len(buffer) - len(text) >= size // 2 else b""


def _clear_boundary(last: bytes, length: int, searched: int) -> int | None:
    """What `_last_boundary` finds, where its first window is enough and lies in the last block.

    The block is the end of `length` bytes; up to `searched` of them there is no boundary.
    """
    start = len(last) - _WINDOW
    if start < 1 or length - _WINDOW <= searched:
        return None
    ends = [match.start() + 1 for match in _BOUNDARY.finditer(last, start - 1)]
    segments = list(itertools.pairwise(ends))
    return _end_of_events(last, segments)


def _last_boundary(buffer: bytes, searched: int) -> int | None:
    """End of the last whole event in the buffer that another event follows.

    Up to `searched` it is known that there is none.
    """
    window = _WINDOW
    while True:
        start = max(searched, len(buffer) - window)
        ends = [match.start() + 1 for match in _BOUNDARY.finditer(buffer, max(start - 1, 0))]
        # The buffer starts with an event; where the first of a window starts is not known.
        bounds = [start, *ends] if start == searched else ends
        end = _cut_behind_events(buffer, list(itertools.pairwise(bounds)))
        if end is not None or start == searched:
            return end
        window *= 8


def _cut_behind_events(buffer: bytes, segments: list[tuple[int, int]]) -> int | None:
    clear = _end_of_events(buffer, segments)
    if clear is not None:
        return clear
    # Something here is damaged, or arguments hold lists of objects: each cut must be proved.
    for start, end in reversed(segments):
        if "ph" in _keys(buffer, start, end) and _state_of_list(buffer, end) != "open":
            return end
    # Where every event is damaged, one that starts with its phase is still recognised.
    starts = (end for _, end in reversed(segments) if event_starts(buffer, end))
    early = next(starts, None)
    return early if early and _state_of_list(buffer, early) == "damaged" else None


def _end_of_events(buffer: bytes, segments: list[tuple[int, int]]) -> int | None:
    """Where the last of some segments ends, if they are events for sure."""
    recent = segments[-_ENOUGH_EVENTS:]
    if recent and all(_keys(buffer, *segment) >= _EVENT_KEYS for segment in recent):
        return recent[-1][1]
    return None


def _keys(buffer: bytes, start: int, end: int) -> AbstractSet[str]:
    """Keys of the event between two boundaries; none when it is not one whole object."""
    if buffer.find(b'"ph"', start, end) < 0:
        return frozenset()
    return (object_in(buffer[start:end].lstrip(b", \r\n\t")) or {}).keys()


def _state_of_list(buffer: bytes, end: int) -> str:
    """Whether the events up to here are whole, still open (a nested list ends here) or damaged."""
    with memoryview(buffer) as view:
        text = b"".join((b"[", view[:end], b"]"))
    try:
        msgspec.json.decode(text, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return "open" if "truncated" in str(error) else "damaged"
    return "whole"


def event_starts(text: bytes | bytearray, at: int) -> bool:
    """Whether an event seems to start here, as far as its first keys tell."""
    return _EARLY_PHASE.match(text, at) is not None


def value_end(text: bytes, at: int, most: int = _LONGEST_VALUE) -> int | None:
    """Where the object or list that starts here ends, brackets in strings not counted."""
    depth = 0
    for token in _STRUCTURE.finditer(text, at, at + most):
        first = token.group()[:1]
        if first in b"{[":
            depth += 1
        elif first in b"}]":
            depth -= 1
            if depth <= 0:
                return token.end()
    return None


def split_end(text: bytes, *, bare: bool) -> tuple[bytes, bytes] | None:
    """The list of the last piece and the text after it; None when its end is not clear."""
    empty = _EMPTY_LIST.match(text)
    for match in [empty] if empty else _LIST_END.finditer(text):
        # A list in the arguments ends alike, but events follow: no need to try a long rest.
        if len(text) - match.end() > _WINDOW and _PHASE_KEY.search(text, match.end()):
            continue
        rest = text[match.end() :]
        if closes_document(rest) and bare == (not rest.strip()):
            return text[: match.end()], rest
    return None


def closes_document(rest: bytes) -> bool:
    """Whether this text completes a document after its event list; a bare list needs no more."""
    return not rest.strip() or object_in(b'{"":0' + rest) is not None
