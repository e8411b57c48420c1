"""Pieces that are not clean JSON, event by event: mend what can be mended, count the rest.

Each mend is tried alone and in a fixed order, from the most to the least certain, and only as
long as the event does not decode.  What cannot be mended is lost, and counted as lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from timesink.readers.chrome.arguments import NO_ARGUMENTS, NO_RAW
from timesink.readers.chrome.columns import Tally
from timesink.readers.chrome.decode import TextEnvelope

_EVENT_END = re.compile(rb'\}(?=\s*,\s*\{\s*"|\s*,?\s*\]|\s*,?\s*$)')
_NESTING_LIMIT = 32
"""How many objects inside arguments an event may hold before it is given up."""
_SEPARATORS = b" \t\r\n,"

_STRING = rb'"(?:[^"\\]|\\.)*"'
_STRING_TOKEN = re.compile(_STRING, re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_BARE_WORD = re.compile(
    _STRING + rb"|(?P<nan>[-+]?\b(?:nan|inf(?:inity)?)\b)|(?P<word>N/A|\b(?:None|undefined)\b)",
    re.DOTALL | re.IGNORECASE,
)
_VALUE = re.compile(
    rb'("[^"\\]{1,64}"\s*:\s*")(.*?)("\s*(?=,\s*"[^"\\]{1,64}"\s*:|\}\s*(?:,\s*"|\}|$)))', re.DOTALL
)
_LONE_BACKSLASH = re.compile(rb'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_UNESCAPED_QUOTE = re.compile(rb'(?<!\\)((?:\\\\)*)"')

_decode_envelope = msgspec.json.Decoder(TextEnvelope).decode


class Mended:
    """Events of a damaged piece, in order, and how the piece ended."""

    def __init__(self, envelopes: list[TextEnvelope], rest: bytes, *, closed: bool) -> None:
        self.envelopes = envelopes
        self.rest = rest
        self.closed = closed


def mend_piece(text: bytes, tally: Tally, *, last: bool) -> Mended:
    """Decode a piece event by event; `last` says that the list should end in it."""
    envelopes: list[TextEnvelope] = []
    at = 1  # behind the opening bracket
    while True:
        at = _skip(text, at)
        if at >= len(text):
            if last:
                tally.add("truncated_tail", 1, "the event list is not closed")
            return Mended(envelopes, b"", closed=False)
        if text[at : at + 1] == b"]":
            return Mended(envelopes, text[at + 1 :], closed=True)
        envelope, at = _next_event(text, at, tally, last=last)
        if envelope is not None:
            envelopes.append(envelope)


def _skip(text: bytes, at: int) -> int:
    while at < len(text) and text[at] in _SEPARATORS:
        at += 1
    return at


def _next_event(
    text: bytes, at: int, tally: Tally, *, last: bool
) -> tuple[TextEnvelope | None, int]:
    """The event that starts here (None when it is lost) and where the next may start."""
    if text[at : at + 1] != b"{":
        return None, _skip_stray(text, at, tally)
    first_end = 0
    for tries, match in enumerate(_EVENT_END.finditer(text, at)):
        first_end = first_end or match.end()
        envelope = _strict(text[at : match.end()], tally)
        if envelope is not None:
            return envelope, match.end()
        if tries >= _NESTING_LIMIT:
            break
    segment = text[at : first_end or len(text)]
    envelope = _mended(segment, tally)
    if envelope is None:
        cut = last and not first_end
        tally.add("truncated_tail" if cut else "lost_events", 1, segment[:120])
    return envelope, at + len(segment)


def _skip_stray(text: bytes, at: int, tally: Tally) -> int:
    """Something between events that is no object: step over it."""
    match = re.compile(rb"[{\]]").search(text, at + 1)
    end = match.start() if match else len(text)
    tally.add("not_an_event", 1, text[at : min(end, at + 80)])
    return end


def _strict(segment: bytes, tally: Tally) -> TextEnvelope | None:
    try:
        return _decode_envelope(segment)
    except msgspec.ValidationError:
        return _coerced(segment, tally)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _coerced(segment: bytes, tally: Tally) -> TextEnvelope | None:
    """An event with fields of unexpected types: keep what fits, count what does not."""
    try:
        fields = msgspec.json.decode(segment, type=dict[str, Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    kept: dict[str, Any] = {}
    for key in ("ph", "cat", "name", "pid", "tid", "id"):
        if key in fields:
            kept[key] = _as_text_or_int(key, fields[key], tally)
    args = fields.get("args", NO_ARGUMENTS)
    return TextEnvelope(
        **kept,
        ts=fields.get("ts", NO_RAW),
        dur=fields.get("dur", NO_RAW),
        args=args if bytes(args).startswith(b"{") else NO_ARGUMENTS,
    )


def _as_text_or_int(key: str, raw: Raw, tally: Tally) -> int | str | None:
    value = msgspec.json.decode(raw)
    if value is None or isinstance(value, str):
        return value
    if key in ("pid", "tid", "id") and isinstance(value, int) and not isinstance(value, bool):
        return value
    tally.add("bad_value", 1, f"{key}: {value!r}")
    return str(value)


def _mended(segment: bytes, tally: Tally) -> TextEnvelope | None:
    for mend in _MENDS:
        tried = Tally()
        segment = mend(segment, tried)
        if not tried.counts:
            continue
        tally.update(tried)
        envelope = _strict(segment, tally)
        if envelope is not None:
            return envelope
    return None


def _mend_encoding(segment: bytes, tally: Tally) -> bytes:
    try:
        segment.decode("utf-8")
    except UnicodeDecodeError as error:
        tally.add("invalid_utf8", 1, repr(segment[max(0, error.start - 20) : error.end + 20]))
        return segment.decode("utf-8", "replace").encode()
    return segment


def _mend_control_characters(segment: bytes, tally: Tally) -> bytes:
    def escape(match: re.Match[bytes]) -> bytes:
        string = match.group()
        escaped = _CONTROL.sub(lambda control: b"\\u%04x" % control.group()[0], string)
        if escaped != string:
            tally.add("control_characters", 1, repr(string[:80]))
        return escaped

    return _STRING_TOKEN.sub(escape, segment)


def _mend_bare_words(segment: bytes, tally: Tally) -> bytes:
    def replace(match: re.Match[bytes]) -> bytes:
        if match.group("nan"):
            tally.add("nan_value", 1, segment[max(0, match.start() - 40) : match.end()])
            return b"null"
        if match.group("word"):
            tally.add("bare_word", 1, segment[max(0, match.start() - 40) : match.end()])
            return b"null"
        return match.group()

    return _BARE_WORD.sub(replace, segment)


def _mend_quotes(segment: bytes, tally: Tally) -> bytes:
    def escape(match: re.Match[bytes]) -> bytes:
        value = _LONE_BACKSLASH.sub(rb"\\\\", match.group(2))
        value = _UNESCAPED_QUOTE.sub(rb'\1\\"', value)
        if value != match.group(2):
            tally.add("unescaped_quotes", 1, match.group(2)[:80])
        return match.group(1) + value + match.group(3)

    return _VALUE.sub(escape, segment)


_MENDS: tuple[Callable[[bytes, Tally], bytes], ...] = (
    _mend_encoding,
    _mend_control_characters,
    _mend_bare_words,
    _mend_quotes,
    # Quotes mended, the strings are whole and their inside can be seen.
    _mend_control_characters,
    _mend_bare_words,
)
