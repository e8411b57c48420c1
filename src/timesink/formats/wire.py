"""The wire format of protocol buffers: fields of many messages at once, and messages written.

A file of a profiler holds millions of small messages.  `split_messages` steps through all of them
together, one field of each at a time, in whole-array NumPy; a few long ones are walked one field
after the other.  Nothing here knows a schema: fields are numbers, readers say what they mean.

>>> data = Message().integer(1, 150).text(2, "testing").encode()
>>> fields = split_messages(as_bytes(data), [0], [len(data)])
>>> fields.number.tolist(), int(fields.value[0])
([1, 2], 150)
>>> fields.texts(fields.select(2))
['testing']
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Wire types.  Groups (3 and 4) have left the format before any of these files was written."""
MAX_VARINT = 10
"""Bytes of a number of 64 bits, seven bits a byte."""
_FEW = 48
"""So few messages are walked one after the other: a step through arrays costs as much."""
_MAX_FIELD = 2**29 - 1
_COLUMNS = 6
"""Of a field: message, position of its tag, number, wire type, value, length."""


class Fields(msgspec.Struct, frozen=True):
    """Fields of messages, in the order of the bytes; columns of equal length."""

    data: Bytes
    message: Integers
    """Which of the messages the field is in."""
    number: Integers
    wire_type: Integers
    value: Integers
    """The number as 64 bits; of text and messages, where their bytes begin."""
    length: Integers
    """Bytes of text and messages, else 0."""
    broken: Integers
    """Messages that could not be read to their end, with the position of the break after each."""
    break_at: Integers

    def __len__(self) -> int:
        return len(self.number)

    def select(self, number: int, wire_type: int | None = None) -> Integers:
        """Positions of the fields of a number, and of a wire type where one is given."""
        chosen = self.number == number
        if wire_type is not None:
            chosen &= self.wire_type == wire_type
        return np.flatnonzero(chosen)

    def submessages(self, number: int) -> tuple[Integers, Integers, Integers]:
        """Messages inside the messages: in which, start and end of each."""
        rows = self.select(number, LENGTH)
        starts = self.value[rows]
        return self.message[rows], starts, starts + self.length[rows]

    def numbers(self, number: int, messages: int, missing: int = 0) -> Integers:
        """A number of each message, the last where several; `missing` where there is none."""
        result = np.full(messages, missing, np.int64)
        rows = self.select(number)
        rows = rows[self.wire_type[rows] != LENGTH]
        result[self.message[rows]] = self.value[rows]
        return result

    def has(self, number: int, messages: int) -> npt.NDArray[np.bool_]:
        """Which messages have a field of the number."""
        result = np.zeros(messages, np.bool_)
        result[self.message[self.number == number]] = True
        return result

    def doubles(self, rows: Integers) -> npt.NDArray[np.float64]:
        """The values of fields of eight bytes as floating-point numbers."""
        return self.value[rows].view(np.float64)

    def texts(self, rows: Integers) -> list[str]:
        """The texts of fields; bytes that are not UTF-8 become replacement characters."""
        buffer = self.data.tobytes() if len(rows) > _FEW else None
        spans = zip(self.value[rows].tolist(), self.length[rows].tolist(), strict=True)
        if buffer is None:
            return [
                self.data[start : start + size].tobytes().decode("utf-8", "replace")
                for start, size in spans
            ]
        return [buffer[start : start + size].decode("utf-8", "replace") for start, size in spans]

    def text_of(self, number: int, messages: int) -> list[str | None]:
        """A text of each message, the last where several; None where there is none."""
        result: list[str | None] = [None] * messages
        rows = self.select(number, LENGTH)
        for message, text in zip(self.message[rows].tolist(), self.texts(rows), strict=True):
            result[message] = text
        return result

    def packed(self, number: int) -> tuple[Integers, Integers]:
        """Repeated numbers, one by one or packed into one field: their message and value."""
        rows = self.select(number)
        is_packed = self.wire_type[rows] == LENGTH
        single = rows[~is_packed]
        messages, values = [self.message[single]], [self.value[single]]
        for row in rows[is_packed].tolist():
            start = int(self.value[row])
            inside = unpack_numbers(self.data, start, start + int(self.length[row]))
            messages.append(np.full(len(inside), self.message[row], np.int64))
            values.append(inside)
        return np.concatenate(messages), np.concatenate(values)


def as_bytes(content: bytes | bytearray | memoryview) -> Bytes:
    """Content as an array of bytes, with room behind it that `split_messages` needs.

    >>> as_bytes(b"a").tolist()
    [97]
    """
    data = np.frombuffer(content, np.uint8)
    return np.concatenate([data, _ROOM])[: len(data)]


_ROOM = np.zeros(2 * MAX_VARINT, np.uint8)


def _with_room(data: Bytes) -> Bytes:
    """The same bytes, behind which may be read a little: of all messages of a file one copy."""
    base = data.base
    if isinstance(base, np.ndarray) and base.dtype == np.uint8 and base.ndim == 1:
        has_room = len(base) == len(data) + len(_ROOM)
        if has_room and base.ctypes.data == data.ctypes.data:
            return base
    return np.concatenate([data, _ROOM])


def split_messages(
    data: Bytes, starts: Sequence[int] | Integers, ends: Sequence[int] | Integers
) -> Fields:
    r"""The fields of messages that lie between the starts and ends.

    A message that breaks off, or holds what is no field, gives its fields up to the break, and is
    listed as broken.

    >>> broken = split_messages(as_bytes(b"\x08\x01\x12\x09abc"), [0], [7])
    >>> broken.number.tolist(), broken.broken.tolist(), broken.break_at.tolist()
    ([1], [0], [2])
    """
    position = np.array(starts, np.int64)
    end = np.array(ends, np.int64)
    message = np.flatnonzero(position < end)
    position, end = position[message], end[message]
    padded = _with_room(data)
    parts: list[tuple[Integers, ...]] = []
    breaks: list[tuple[Integers, Integers]] = []
    while len(message) > _FEW:
        part, position, is_whole = _step(padded, position, end)
        if not is_whole.all():
            breaks.append((message[~is_whole], part[0][~is_whole]))
            part = tuple(column[is_whole] for column in part)
            message, end, position = message[is_whole], end[is_whole], position[is_whole]
        parts.append((message, *part))
        left = position < end
        if not left.all():
            message, position, end = message[left], position[left], end[left]
    walked = array("q")
    broken: list[tuple[int, int]] = []
    buffer = data.tobytes() if len(message) else b""
    for place in range(len(message)):
        of_message = int(message[place])
        break_at = _walk(buffer, int(position[place]), int(end[place]), of_message, walked)
        if break_at is not None:
            broken.append((of_message, break_at))
    if walked:
        columns = np.frombuffer(walked, np.int64).reshape(-1, _COLUMNS)
        parts.append(tuple(columns[:, place] for place in range(_COLUMNS)))
    if broken:
        pairs = np.array(broken, np.int64)
        breaks.append((pairs[:, 0], pairs[:, 1]))
    empty = np.empty(0, np.int64)
    columns_of = [np.concatenate(column) for column in zip(*parts, strict=True)]
    columns_of = columns_of or [empty] * _COLUMNS
    order = np.argsort(columns_of[1], kind="stable") if len(parts) > 1 else slice(None)
    columns_of = [column[order] for column in columns_of]
    of, _, number, wire_type, value, length = columns_of
    bad = [np.concatenate(column) for column in zip(*breaks, strict=True)] or [empty, empty]
    return Fields(data, of, number, wire_type, value, length, bad[0], bad[1])


def split_repeated(content: bytes, number: int) -> tuple[Integers, Integers] | None:
    """Starts and ends of messages under one number, where the content is nothing else.

    None where it holds anything besides, or breaks off: then `split_messages` says what.

    >>> starts, ends = split_repeated(Message().raw(1, b"abc").raw(1, b"").encode(), 1)
    >>> starts.tolist(), ends.tolist()
    ([2, 7], [5, 7])
    """
    tag, size = number << 3 | LENGTH, len(content)
    spans = array("q")
    append = spans.append
    position = 0
    while position + 1 < size and content[position] == tag:
        length = content[position + 1]
        position += 2
        if length > 127:
            length, position = _varint(content, position - 1, size)
        append(position)
        position += length
        if position > size or length < 0 or spans[-1] < 0:
            return None
        append(position)
    if position != size:
        return None
    columns = np.frombuffer(spans, np.int64).reshape(-1, 2) if spans else np.empty((0, 2), np.int64)
    return columns[:, 0], columns[:, 1]


def _varints(data: Bytes, position: Integers) -> tuple[Integers, Integers, npt.NDArray[np.bool_]]:
    """The numbers at the positions, where each ends, and whether it ends at all."""
    byte = data[position]
    value = (byte & 0x7F).astype(np.uint64)
    after = position + 1
    going = np.flatnonzero(byte & 0x80)
    for place in range(1, MAX_VARINT):
        if not len(going):
            break
        more = data[after[going]]
        value[going] |= (more & 0x7F).astype(np.uint64) << np.uint64(7 * place)
        after[going] += 1
        going = going[(more & 0x80) != 0]
    ended = np.ones(len(position), np.bool_)
    ended[going] = False
    return value.view(np.int64), after, ended


_WIDTHS = np.array([0, 8, 0, 0, 0, 4, 0, 0], np.int64)
_IS_WIRE_TYPE = np.array([True, True, True, False, False, True, False, False])


def _step(
    data: Bytes, position: Integers, end: Integers
) -> tuple[tuple[Integers, ...], Integers, npt.NDArray[np.bool_]]:
    """One field of each message: its columns, where the next begins, and which are whole."""
    tag, after, is_whole = _varints(data, position)
    number, wire_type = tag >> 3, tag & 7
    is_whole &= _IS_WIRE_TYPE[wire_type] & (number >= 1) & (number <= _MAX_FIELD) & (after <= end)
    after = np.minimum(after, end)
    is_fixed = _WIDTHS[wire_type] > 0
    value, behind, ended = _varints(data, after)
    is_whole &= ended | is_fixed
    is_text = wire_type == LENGTH
    length = np.where(is_text & (value >= 0) & (value <= end), value, 0)
    is_whole &= ~is_text | ((value >= 0) & (value <= end))
    if is_fixed.any():
        for width, kind in ((8, FIXED64), (4, FIXED32)):
            rows = np.flatnonzero(wire_type == kind)
            rows = rows[after[rows] + width <= end[rows]]
            if len(rows):
                cells = data[after[rows][:, None] + np.arange(width)]
                value[rows] = cells.copy().view(f"<u{width}")[:, 0].astype(np.uint64).view(np.int64)
        behind = np.where(is_fixed, after + _WIDTHS[wire_type], behind)
    value = np.where(is_text, behind, value)
    following = behind + length
    is_whole &= following <= end
    return (position, number, wire_type, value, length), following, is_whole


def _walk(data: bytes, position: int, end: int, message: int, rows: array[int]) -> int | None:
    """The fields of one message, appended to `rows`; where it breaks, if it does."""
    append = rows.extend
    while position < end:
        start = position
        tag = data[position]
        position += 1
        if tag > 127:
            tag, position = _varint(data, start, end)
        wire_type, number = tag & 7, tag >> 3
        if position < 0 or not 0 < number <= _MAX_FIELD:
            return start
        if wire_type in _FIXED:
            value, position = _read_fixed(data, position, end, _FIXED[wire_type])
        elif wire_type in (VARINT, LENGTH):
            value, position = _varint(data, position, end)
        else:
            return start
        if position < 0:
            return start
        if wire_type != LENGTH:
            append((message, start, number, wire_type, _to_signed(value), 0))
        elif value <= end - position:
            append((message, start, number, LENGTH, position, value))
            position += value
        else:
            return start
    return None


_FIXED = {FIXED64: 8, FIXED32: 4}


def _read_fixed(data: bytes, position: int, end: int, width: int) -> tuple[int, int]:
    """The number of so many bytes at the position and where it ends; -1 where it does not."""
    after = position + width
    return int.from_bytes(data[position:after], "little"), after if after <= end else -1


def _varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """The number at the position and where it ends; -1 for the latter where it does not."""
    if position < end and data[position] < 128:
        return data[position], position + 1
    value = shift = 0
    for place in range(position, min(end, position + MAX_VARINT)):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 128:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place + 1
        shift += 7
    return 0, -1


def _to_signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def unpack_numbers(data: Bytes, start: int, end: int) -> Integers:
    r"""Numbers packed one after the other, up to where they break off.

    >>> unpack_numbers(as_bytes(b"\x01\x96\x01\x02"), 0, 4).tolist()
    [1, 150, 2]
    """
    cells = data[start:end]
    last = np.flatnonzero(cells < 128)
    if not len(last):
        return np.empty(0, np.int64)
    first = np.concatenate([[0], last[:-1] + 1])
    short = last - first < MAX_VARINT
    padded = np.concatenate([cells, np.zeros(MAX_VARINT, np.uint8)])
    return _varints(padded, first[short])[0]


# Messages that are written.


def encode_varint(value: int) -> bytes:
    r"""A number as it is written; a negative one takes ten bytes.

    >>> encode_varint(150)
    b'\x96\x01'
    """
    value &= 0xFFFF_FFFF_FFFF_FFFF
    result = bytearray()
    while value > 127:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


class Message:
    r"""A message under construction, field by field in the order they are added.

    >>> Message().integer(1, 1).message(2, Message().text(1, "a")).encode()
    b'\x08\x01\x12\x03\n\x01a'
    """

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts = bytearray()

    def integer(self, number: int, value: int) -> Message:
        """Add a number, written in as few bytes as it needs."""
        self._parts += encode_varint(number << 3 | VARINT) + encode_varint(value)
        return self

    def double(self, number: int, value: float) -> Message:
        """Add a floating-point number of 64 bits."""
        self._parts += encode_varint(number << 3 | FIXED64) + struct.pack("<d", value)
        return self

    def text(self, number: int, value: str) -> Message:
        """Add a text."""
        return self.raw(number, value.encode("utf-8", "replace"))

    def raw(self, number: int, value: bytes | bytearray) -> Message:
        """Add bytes: a message that is encoded already, or packed numbers."""
        self._parts += encode_varint(number << 3 | LENGTH) + encode_varint(len(value)) + value
        return self

    def message(self, number: int, value: Message) -> Message:
        """Add a message."""
        return self.raw(number, value._parts)

    def messages(self, number: int, values: Iterable[Message]) -> Message:
        """Add messages under one number."""
        for value in values:
            self.message(number, value)
        return self

    def encode(self) -> bytes:
        """The message as bytes."""
        return bytes(self._parts)
