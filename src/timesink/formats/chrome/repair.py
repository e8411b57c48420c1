"""Pieces that are not clean JSON, event by event: mend what can be mended, count the rest.

Mends are tried in a fixed order, from the most to the least certain, and only as long as the event
does not decode.  What cannot be mended is lost, and counted as lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice
from math import isinf
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Raw

from timesink.formats.chrome.arguments import NO_ARGUMENTS, NO_RAW, TextEnvelope
from timesink.formats.chrome.columns import Tally
from timesink.formats.chrome.container import closes_document, event_starts, object_in, value_end
from timesink.patterns import regex

_EVENT_END = regex(rb'\}(?=\s*,?\s*\{\s*"|\s*,?\s*\]|\s*,?\s*$)')
_EVENT_START = regex(rb'\{[^{}]{0,400}?"ph"\s*:\s*"|(?<=\})\s*,\s*(?P<next>\{)')
_MAX_ENDS = 32
"""How many places an event that does not decode may end at before it is given up."""
_LONGEST_MENDABLE = 256 * 1024
_NESTING_WINDOW = 16 * 1024
"""How far brackets are followed to tell an event from its arguments."""
_SEPARATORS = b" \t\r\n,"
_SEPARATION = regex(rb"[%s]*" % _SEPARATORS)
# Unrolled: an alternation per character would keep a state for each of an unclosed string.
_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_SCALAR_ENTRY = regex(_STRING + rb'|[^\s,{}\[\]"]+(?=\s*[,\]])', re.DOTALL)
_SECOND_LIST = regex(rb'"traceEvents"\s*:\s*\[|\A\s*\[')

_STRING_TOKEN = regex(_STRING, re.DOTALL)
_CONTROL = regex(rb"[\x00-\x1f]")
_BARE_WORD = regex(
    _STRING
    + rb"|(?P<nan>[-+]?(?:\b(?:nan|inf(?:inity)?)\b(?:\(\w*\))?|1\.\#(?:IND|INF|QNAN|SNAN)\d*))"
    + rb"|(?P<word>N/A|\b(?:None|undefined|(?-i:True|False))\b)",
    re.DOTALL | re.IGNORECASE,
)
# Only what has three digits in its exponent, or hundreds before it, can be beyond a float64.
_LONG_NUMBER = regex(
    rb"(?<![\w.])-?(?:\d{300,}(?:\.\d+)?(?:[eE][-+]?\d+)?|\d+(?:\.\d+)?[eE]\+?\d{3,})"
)
_MAYBE_BARE_WORD = regex(rb"[:,\[]\s*[-+]?(?:[a-z]|1\.#)", re.IGNORECASE)
_VALUE = regex(
    rb'("[^"\\]{1,64}"\s*:\s*")(.*?)("\s*(?=,\s*"[^"\\]{1,64}"\s*:|\}\s*(?:,\s*"|\}|$)))', re.DOTALL
)
_ESCAPE = regex(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|["\\]')
_SURROGATE = regex(
    rb"\\[^u]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)

Mend = Callable[[bytes, Tally], bytes]

_decode_envelope = msgspec.json.Decoder(TextEnvelope).decode


def mend_piece(text: bytes, tally: Tally, *, last: bool) -> tuple[list[TextEnvelope], bytes | None]:
    """The events of a damaged piece one by one, and the text behind the list if that ends in it.

    `last` says that it should.
    """
    envelopes: list[TextEnvelope] = []
    finder = EventFinder(text)
    at = 1  # behind the opening bracket
    end = len(text) if last else len(text) - 1  # the bracket that closes a piece is our own
    while (at := _skip_separators(text, at)) < end:
        first = text[at : at + 1]
        if first == b"]":
            # It closes the event list where no event of the same document follows it.
            following = finder.next_after(at + 1)
            if following is None or _SECOND_LIST.search(text[at + 1 : following]):
                return envelopes, text[at + 1 :]
        if first != b"{":
            at = _skip_stray(text, at, finder, tally)
            continue
        envelope, at = _next_event(text, at, finder, tally)
        if envelope is not None:
            envelopes.append(envelope)
    if last:
        tally.add("truncated_tail", 1, text[-120:])
    return envelopes, None


def _skip_separators(text: bytes, at: int) -> int:
    apart = _SEPARATION.match(text, at)
    return at if apart is None else apart.end()


class EventFinder:
    """Finds the next event in a text; asking again and again costs one pass in all."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._searched_from = len(text)
        self._found: int | None = None

    def next_after(self, at: int) -> int | None:
        """Where the next event starts, for all that can be told without what lies before it."""
        is_cached = self._searched_from <= at and (self._found is None or at <= self._found)
        if not is_cached:
            self._searched_from, self._found = at, self._search(at)
        return self._found

    def _search(self, at: int) -> int | None:
        for match in _EVENT_START.finditer(self._text, at):
            if not match.group("next"):
                return match.start()
            start = match.start("next")
            if event_starts(self._text, start):
                return start
            end = value_end(self._text, start, _NESTING_WINDOW)
            if end is not None and "ph" in (object_in(self._text[start:end]) or ()):
                return start
        return None


def _end_of_damage(text: bytes, at: int, finder: EventFinder) -> int:
    """Where reading can go on after a damaged event: the next event, or the end of the list."""
    following = finder.next_after(at + 1)
    if following is not None:
        return following
    for match in _EVENT_END.finditer(text, at, at + _LONGEST_MENDABLE):
        bracket = _skip_separators(text, match.end())
        if text[bracket : bracket + 1] != b"]":
            continue
        segment, rest = text[at : match.end()], text[bracket + 1 :]
        # Brackets must match, unless that cannot be told because a quote is missing.
        is_open = b'"' in _STRING_TOKEN.sub(b"", segment)
        if not is_open and value_end(segment, 0) != len(segment):
            continue
        if rest.strip() and closes_document(rest):
            return bracket
    return value_end(text, at) or len(text)


def _nested_end(text: bytes, at: int, limit: int) -> int | None:
    """Where an event ends by its brackets.

    Its arguments may hold objects, these even a phase, and what follows may be no event.
    """
    segment = text[at:limit].rstrip(_SEPARATORS)
    if segment.endswith(b"}") and segment.count(b"{") == segment.count(b"}"):
        return at + len(segment)
    end = value_end(text[at : 2 * limit - at + _NESTING_WINDOW], 0)
    return None if end is None else at + end


def _skip_stray(text: bytes, at: int, finder: EventFinder, tally: Tally) -> int:
    """Something between events that is no object: step over it."""
    end = None
    if text[at : at + 1] == b"[":
        end = value_end(text, at)
    elif text[at : at + 1] in b"}]":
        end = at + 1
    elif match := _SCALAR_ENTRY.match(text, at):
        end = match.end()
    if end is not None:
        tally.add("not_an_event", 1, text[at : min(end, at + 80)])
        return end
    end = _end_of_damage(text, at, finder)
    tally.add("lost_events", 1, text[at : min(end, at + 120)])
    return end


def _next_event(
    text: bytes, at: int, finder: EventFinder, tally: Tally
) -> tuple[TextEnvelope | None, int]:
    """The event that starts here (None when it is lost) and where the next may start."""
    first = _EVENT_END.search(text, at)
    if first is not None:
        envelope = _strict(text[at : first.end()], tally)
        if envelope is not None:
            return envelope, first.end()
    limit = _end_of_damage(text, at, finder)
    event_end = _nested_end(text, at, limit)
    if event_end is not None:
        envelope = _strict(text[at:event_end], tally)
        if envelope is not None:
            return envelope, event_end
    for match in islice(_EVENT_END.finditer(text, at, limit), _MAX_ENDS):
        segment = text[at : match.end()]
        if len(segment) <= _LONGEST_MENDABLE:
            envelope = _mended_by(_MENDS, segment, tally)
            envelope = envelope or _mended_by(_QUOTES_FIRST, segment, tally)
            if envelope is not None:
                return envelope, match.end()
    tally.add("lost_events", 1, text[at : min(limit, at + 120)])
    return None, limit


def _strict(segment: bytes, tally: Tally) -> TextEnvelope | None:
    local_tally = Tally()
    segment = _mend_numbers(segment, local_tally)
    envelope = _decode_segment(segment, local_tally)
    if envelope is not None:
        tally.update(local_tally)
    return envelope


def _decode_segment(segment: bytes, tally: Tally) -> TextEnvelope | None:
    try:
        if not segment.isascii():
            segment.decode("utf-8")  # the decoder does not look into arguments
        return _decode_envelope(segment)
    except msgspec.ValidationError:
        return _coerce_event(segment, tally)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _coerce_event(segment: bytes, tally: Tally) -> TextEnvelope | None:
    """An event with fields of unexpected types: keep what fits, count what does not."""
    fields = object_in(segment)
    if fields is None:
        return None
    usable: dict[str, Any] = {
        key: _as_text_or_int(key, fields[key], tally)
        for key in ("ph", "cat", "name", "pid", "tid", "id")
        if key in fields
    }
    return TextEnvelope(
        **usable,
        ts=fields.get("ts", NO_RAW),
        dur=fields.get("dur", NO_RAW),
        args=fields.get("args", NO_ARGUMENTS),
    )


def _as_text_or_int(key: str, raw: Raw, tally: Tally) -> int | str | None:
    value = msgspec.json.decode(raw)
    if value is None or isinstance(value, str):
        return value
    is_lane = key in ("pid", "tid", "id")
    if is_lane and isinstance(value, int) and not isinstance(value, bool):
        return value
    tally.add("bad_value", 1, f"{key}: {value!r}")
    if key in ("ph", "cat") or isinstance(value, (dict, list, bool)):
        return None
    return int(value) if is_lane and value.is_integer() else str(value)


def _mended_by(mends: Sequence[Mend], segment: bytes, tally: Tally) -> TextEnvelope | None:
    done = Tally()
    for mend in mends:
        tried = Tally()
        segment = mend(segment, tried)
        if not tried.counts:
            continue
        done.update(tried)
        envelope = _strict(segment, done)
        if envelope is not None:
            tally.update(done)
            return envelope
    return None


def _mend_encoding(segment: bytes, tally: Tally) -> bytes:
    try:
        segment.decode("utf-8")
    except UnicodeDecodeError as error:
        tally.add("invalid_utf8", 1, segment[max(0, error.start - 20) : error.end + 20])
        return segment.decode("utf-8", "replace").encode()
    return segment


def _mend_surrogates(segment: bytes, tally: Tally) -> bytes:
    if b"\\u" not in segment:
        return segment

    def replace(match: re.Match[bytes]) -> bytes:
        if match.group("lone"):
            tally.add("invalid_utf8", 1, match.group())
            return rb"\ufffd"
        return match.group()

    return _SURROGATE.sub(replace, segment)


def _mend_control_characters(segment: bytes, tally: Tally) -> bytes:
    if not _CONTROL.search(segment):
        return segment

    def escape(match: re.Match[bytes]) -> bytes:
        string = match.group()
        escaped = _CONTROL.sub(lambda control: b"\\u%04x" % control.group()[0], string)
        if escaped != string:
            tally.add("control_characters", 1, repr(string[:80]))
        return escaped

    return _STRING_TOKEN.sub(escape, segment)


def _mend_bare_words(segment: bytes, tally: Tally) -> bytes:
    if not _MAYBE_BARE_WORD.search(segment):
        return segment

    def replace(match: re.Match[bytes]) -> bytes:
        if not match.lastgroup:
            return match.group()
        code = "nan_value" if match.lastgroup == "nan" else "bare_word"
        tally.add(code, 1, segment[max(0, match.start() - 40) : match.end()])
        return b"null"

    return _BARE_WORD.sub(replace, segment)


def _mend_numbers(segment: bytes, tally: Tally) -> bytes:
    return _apply_mends(segment, _numbers_out_of_range(segment, _quotes(segment), tally))


def _mend_quotes(segment: bytes, tally: Tally) -> bytes:
    def escape_lone(match: re.Match[bytes]) -> bytes:
        # A quote or backslash that stands alone gets one in front; whole escapes stay.
        return b"\\" + match.group() if len(match.group()) == 1 else match.group()

    def escape(match: re.Match[bytes]) -> bytes:
        value = _ESCAPE.sub(escape_lone, match.group(2))
        if value != match.group(2):
            tally.add("unescaped_quotes", 1, match.group(2)[:80])
        return match.group(1) + value + match.group(3)

    return _VALUE.sub(escape, segment)


_MENDS: tuple[Mend, ...] = (
    _mend_encoding,
    _mend_surrogates,
    _mend_control_characters,
    _mend_bare_words,
)
_QUOTES_FIRST: tuple[Mend, ...] = (
    _mend_encoding,
    _mend_surrogates,
    _mend_quotes,
    # Only when quotes are right can the inside of strings be told from the outside.
    _mend_control_characters,
    _mend_bare_words,
)


# Mends of a whole piece at once: what can be told without knowing where its events end.
#
# Some profilers write `N/A` into every kernel, or raw control characters into every name; mending
# such a trace event by event would take minutes.

Positions = npt.NDArray[np.int64]

_QUOTE, _BACKSLASH, _FIRST_PRINTABLE = ord('"'), ord("\\"), 0x20
_NOT_NUMBERS = (b"NaN", b"nan", b"NAN", b"Infinity", b"infinity", b"inf", b"Inf", b"INF")
_NOT_VALUES = (b"N/A", b"n/a", b"None", b"undefined")
# One pattern per word: a literal start is found many times faster than an alternation.
_WORDS = {
    code: tuple(regex(re.escape(word) + rb"(?![\w.])") for word in words)
    for code, words in (("nan_value", _NOT_NUMBERS), ("bare_word", _NOT_VALUES))
}
_BEFORE_VALUE = regex(rb"[:,\[]\s{0,64}[-+]?\Z")


Replacement = tuple[int, int, bytes]
"""Start, end and replacement of a stretch of text."""


def mend_text(text: bytes, tally: Tally) -> bytes:
    """The text with bare words and numbers out of range as null, control characters escaped.

    Strings are told from the rest by their quotes alone, so the result is right only if it decodes.
    """
    quotes = _quotes(text)
    mends = [
        *_bare_words(text, quotes, tally),
        *_control_characters(text, quotes, tally),
        *_numbers_out_of_range(text, quotes, tally),
    ]
    return _apply_mends(text, mends)


def _apply_mends(text: bytes, mends: list[Replacement]) -> bytes:
    parts = []
    done = 0
    for start, end, replacement in sorted(mends):
        parts += [text[done:start], replacement]
        done = end
    return b"".join([*parts, text[done:]])


def _quotes(text: bytes) -> Positions:
    """Where strings start and end, in turn."""
    characters = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(characters == _QUOTE)
    behind_backslash = quotes[characters[quotes - 1] == _BACKSLASH]
    # Two backslashes are one that is escaped itself.
    before = ((at, text[max(0, at - 64) : at]) for at in behind_backslash.tolist())
    escaped = [at for at, some in before if (len(some) - len(some.rstrip(b"\\"))) % 2]
    return np.setdiff1d(quotes, escaped, assume_unique=True)


def _is_inside(quotes: Positions, places: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    inside: npt.NDArray[np.bool_] = np.searchsorted(quotes, places) % 2 == 1
    return inside


def _bare_words(text: bytes, quotes: Positions, tally: Tally) -> list[Replacement]:
    mends: list[Replacement] = []
    for code, patterns in _WORDS.items():
        spans = [match.span() for pattern in patterns for match in pattern.finditer(text)]
        inside = _is_inside(quotes, [start for start, _ in spans])
        for (start, end), in_string in zip(spans, inside.tolist(), strict=True):
            before = _BEFORE_VALUE.search(text, max(0, start - 80), start)
            if not in_string and before is not None:
                tally.add(code, 1, text[max(0, start - 40) : end])
                signed = text[start - 1 : start] in (b"-", b"+")
                mends.append((start - signed, end, b"null"))
    return mends


def _numbers_out_of_range(text: bytes, quotes: Positions, tally: Tally) -> list[Replacement]:
    """Numbers beyond what a float64 holds: no value of a file may cost more than its length."""
    spans = [match.span() for match in _LONG_NUMBER.finditer(text)]
    inside = _is_inside(quotes, [start for start, _ in spans])
    mends: list[Replacement] = []
    for (start, end), in_string in zip(spans, inside.tolist(), strict=True):
        if not in_string and isinf(float(text[start:end])):
            tally.add("out_of_range", 1, text[max(0, start - 40) : min(end, start + 40)])
            mends.append((start, end, b"null"))
    return mends


def _control_characters(text: bytes, quotes: Positions, tally: Tally) -> list[Replacement]:
    places = np.flatnonzero(np.frombuffer(text, np.uint8) < _FIRST_PRINTABLE)
    places = places[_is_inside(quotes, places)]
    # One string counts once, however many such characters it holds.
    strings = np.unique(np.searchsorted(quotes, places))
    if len(strings):
        first = int(places[0])
        tally.add("control_characters", len(strings), repr(text[max(0, first - 40) : first + 40]))
    return [(at, at + 1, b"\\u%04x" % text[at]) for at in places.tolist()]
