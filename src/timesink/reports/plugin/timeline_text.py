"""The text of a Chrome-format file: whether it is JSON, and as proper UTF-8."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Iterator

import msgspec

from timesink.readers.chrome.container import cut_pieces, split_end, split_head
from timesink.readers.source import Damage, SourceFile

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def text_blocks(source: SourceFile, damage: Damage | None = None) -> Iterator[bytes]:
    """The content of a file; bytes that are not UTF-8 become replacement characters."""
    decoder = getincrementaldecoder("utf-8")("replace")
    for block in source.blocks(damage):
        inside_character, _ = decoder.getstate()
        plain = block.isascii() and not inside_character
        yield block if plain else decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()


def without_mark(head: bytes) -> bytes:
    r"""The start of a file without the byte order mark, which is no part of JSON."""
    return head.removeprefix(_BYTE_ORDER_MARK)


def is_valid_json(source: SourceFile) -> bool:
    """Whether the content is one JSON document with a list of events, looked at piece by piece.

    Readers mend more than they report: a comma too few or too many costs no event.
    """
    damage = Damage()
    parts = split_head(text_blocks(source, damage))
    if parts is None:
        return False
    head, bare, events = parts
    if not bare and not _is_json(without_mark(head) + b"]}"):
        return False
    for piece in cut_pieces(events):
        ending = split_end(piece.text, bare=bare) if piece.last else (piece.text, b"")
        if ending is None or not _is_json(ending[0]):
            return False
    return not damage


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
