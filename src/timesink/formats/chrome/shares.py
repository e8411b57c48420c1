"""One stream, several processes: each decodes its share of the pieces.

Unpacking is cheap beside decoding, so workers share nothing: each unpacks the whole stream and
skips the pieces of the others.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from timesink.formats import IsChosen, Progress
from timesink.formats.chrome.columns import Piece, Tally
from timesink.formats.chrome.container import PieceText, cut_pieces, split_end, split_head
from timesink.formats.chrome.decode import PieceDecoder
from timesink.formats.chrome.repair import mend_piece, mend_text
from timesink.formats.packing import Damage, SourceFile


@dataclass(frozen=True, slots=True)
class Share:
    """What one process decoded."""

    pieces: list[Piece]
    words: dict[str, list[Any]]
    head: bytes
    bare: bool
    found: bool
    """Whether there is an event list at all."""
    damage: list[str] = field(default_factory=list)


def decode_share(
    source: SourceFile,
    share: int,
    shares: int,
    brief: IsChosen | None = None,
    progress: Progress | None = None,
) -> Share:
    """Decode every `shares`-th piece, from number `share` on."""
    damage = Damage()
    opened = split_head(source.blocks(damage, progress))
    if opened is None:
        return Share([], {}, source.head(), bare=False, found=False, damage=damage)
    head, bare, stream = opened
    decoder = PieceDecoder(brief)
    # The C library hands blocks of a few MB back to the system each time they are freed, and
    # faults them in again page by page.  Freeing one large block tells it to keep them.
    np.empty(31 * 1024 * 1024, np.uint8)
    # Millions of short-lived tuples would make the cycle collector walk them again and again.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        pieces = [
            _decode_cut(decoder, cut, bare=bare)
            for cut in cut_pieces(stream, share=share, shares=shares)
        ]
    finally:
        if was_enabled:
            gc.enable()
    return Share(pieces, decoder.vocabularies.tables(), head, bare, found=True, damage=damage)


def _decode_cut(decoder: PieceDecoder, cut: PieceText, *, bare: bool) -> Piece:
    """A piece by the fastest way it allows: as it is, mended as a whole, event by event."""
    piece = _decode_whole(decoder, cut, bare=bare)
    if piece is not None:
        return piece
    tally = Tally()
    text = mend_text(cut.text, tally)
    piece = _decode_whole(decoder, replace(cut, text=text), bare=bare) if tally.counts else None
    if piece is not None:
        piece.tally.update(tally)
        return piece
    tally = Tally()
    envelopes, rest = mend_piece(cut.text, tally, last=cut.last)
    piece = decoder.columns_of(cut.number, envelopes, tally)
    return replace(piece, rest=rest or b"", closed=rest is not None)


def _decode_whole(decoder: PieceDecoder, cut: PieceText, *, bare: bool) -> Piece | None:
    text, rest = cut.text, b""
    if cut.last:
        ended = split_end(text, bare=bare)
        if ended is None:
            return None
        text, rest = ended
    try:
        piece = decoder.decode(cut.number, text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return replace(piece, rest=rest, closed=cut.last)


def text_of_pieces_after(source: SourceFile, number: int) -> bytes:
    """Raw text of the pieces after this one: metadata longer than a piece."""
    opened = split_head(source.blocks())
    if opened is None:
        return b""
    later = (cut for cut in cut_pieces(opened[2]) if cut.number > number)
    # The brackets around a piece are ours.
    return b",".join(cut.text[1:] if cut.last else cut.text[1:-1] for cut in later)
