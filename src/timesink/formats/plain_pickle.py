"""Pickles of plain values: dictionaries, lists, tuples, text, bytes and numbers, and nothing else.

A pickle is a program.  Whoever loads one runs what it asks for, so the one of a stranger is read by
an interpreter that knows no instruction to import, call or build anything: `Interpreter`.  It is
slow, so the content is first cut into instructions by one pattern, which fits only the harmless
ones that today's writers use; what fits goes to the unpickler of the standard library, a few
megabytes at a time.  Whatever does not fit is read by the interpreter.

Who reads gigabytes takes finished parts away while the rest is read: a `Drain` sees the stack.
"""

from __future__ import annotations

import gc
import os
import pickle
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias

from timesink.errors import UnreadableError
from timesink.formats.source_file import SourceFile
from timesink.runtime.native import is_native, native_module

Stack: TypeAlias = list[list[Any]]
"""What is being built: the values of each open level, the outermost first."""
Drain: TypeAlias = Callable[[Stack], None]
"""Takes finished parts out of lists on the stack, to keep memory low."""

MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Of one text; the longest in snapshots are names of C++ functions, some kilobytes."""
MAX_NUMBER_BYTES = 16
"""Of a whole number: addresses take nine."""
MAX_PROTOCOL = 5
"""Of pickles: the newest that there is."""
MAX_MEMO = 1 << 28
"""Values that can be referred to again; more fit no machine."""
MAX_LINE = 1024
"""Characters of a number or name that is written as text."""
MAX_DEPTH = 512
"""Levels that are open at once: snapshots have eight."""
MAX_FREE_VALUES = 1 << 19
"""Texts, lists, dictionaries and tuples of a pickle, however few its bytes are."""
MIN_BYTES_PER_VALUE = 12
"""Of each one beyond: snapshots have 15 and more, and seven make an event of five hundred.

Compiled code has the same bounds (`native/snapshot.hpp`): both refuse the same files.
"""
CHUNK_BYTES = 8 * 1024 * 1024
"""How much is unpickled before finished parts are taken away."""
_PATTERN_BYTES = 256 * 1024
"""How much the pattern is given at once: it remembers every instruction of it."""
_NESTING = (dict, list, tuple)
_HINT = "give a file of torch.cuda.memory._dump_snapshot, or of the flight recorder"


class PickleRefusedError(UnreadableError):
    """A pickle that asks for more than plain values; nothing of it was run."""


class PickleLimitError(PickleRefusedError):
    """A pickle that would take more memory than a recording of its size can need."""

    exit_code = 3


def is_pickle(head: bytes) -> bool:
    """Whether a file begins as a pickle of protocol 2 to 5 does.

    >>> import pickle
    >>> is_pickle(pickle.dumps({})), is_pickle(b"{}")
    (True, False)
    """
    return len(head) > 2 and head[0] == 0x80 and 2 <= head[1] <= 5


def load_plain(source: SourceFile, make_drain: Callable[[], Drain | None] | None = None) -> Any:
    """The value of a pickle that holds plain values alone.

    `make_drain` makes what takes finished parts away, anew for each attempt at the file.

    >>> import pathlib, pickle, tempfile
    >>> from timesink.formats.source_file import open_source
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "some.pickle"
    >>> _ = file.write_bytes(pickle.dumps({"segments": [1, 2.5, "text", None]}))
    >>> load_plain(open_source(file))
    {'segments': [1, 2.5, 'text', None]}
    """
    with without_collection():
        if make_drain is None and is_native() and (value := _load_compiled(source)) is not None:
            return value
        new_drain = make_drain or (lambda: None)
        try:
            return _load_checked(source, new_drain())
        except _UnusualError:
            return Interpreter(source, new_drain()).run()


def plain_text(value: Any) -> str:
    """A value as text; of one that nests its type, for its text may be endless.

    A few bytes that refer to one tuple twice, level by level, stand for billions of them.

    >>> plain_text(7), plain_text("a"), plain_text([[1]])
    ('7', 'a', 'list')
    """
    return type(value).__name__ if isinstance(value, _NESTING) else str(value)


def brief_repr(value: Any) -> str:
    """The start of a value as Python writes it; of one that nests its type.

    >>> brief_repr("a"), brief_repr({"a": []})
    ("'a'", 'dict')
    """
    return type(value).__name__ if isinstance(value, _NESTING) else repr(value)[:80]


def _load_compiled(source: SourceFile) -> Any:
    """The value, by compiled code; None where that does not read it."""
    native = native_module()
    reader = native.snapshot_reader(int.from_bytes(os.urandom(8), "little"), [])
    for block in source.blocks():
        is_complete = native.snapshot_feed(reader, block)
        if is_complete is not False:
            return native.plain_result(reader) if is_complete else None
    return None


@contextmanager
def without_collection() -> Iterator[None]:
    """Millions of values are made and none is in a circle: looking for circles takes longest."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


# -- the fast way ----------------------------------------------------------------------------------


class _UnusualError(Exception):
    """Something that the pattern does not know; the interpreter decides what to make of it."""


@cache
def _instructions() -> re.Pattern[bytes]:
    """Instructions of protocol 4 and 5 that make plain values; of tuples, pairs of numbers alone.

    Pairs name memory pools.  Other tuples could be nested, and as keys would exhaust the stack.
    """
    longs = b"|".join(re.escape(bytes([n])) + b"." * n for n in range(MAX_NUMBER_BYTES + 1))
    texts = b"|".join(re.escape(bytes([n])) + (b".{%d}" % n if n else b"") for n in range(256))
    number = b"(?:K.|M..|J....|\x8a(?:" + longs + b"))"
    return re.compile(
        rb"(?:h.|[}\](\x94uesaN\x88\x89]|j....|"
        + number
        + b"(?:"
        + number
        + rb"\x86)?|G.{8}|\x8c(?:"
        + texts
        + b"))*",
        re.DOTALL,
    )


_ARGUMENTS = {
    **dict.fromkeys(b"K\x8ch\x80\x8a", 1),
    **dict.fromkeys(b"M", 2),
    **dict.fromkeys(b"JXj", 4),
    **dict.fromkeys(b"G\x95", 8),
}
"""Bytes that follow an instruction, of which the first may be a length."""
_BUILDING = b"}])tdl\x85\x86\x87\x8cX\x8dCB\x8e\x96UT"
"""Instructions that make a text, a list, a dictionary or a tuple."""
_BUILDING_HERE = b"}]\x86\x8cX"
"""Those of them that the pattern fits."""
_PAIR, _MAX_CUT_PAIRS = b"\x86", 16
_FRAME, _TEXT, _STOP, _PROTOCOL = 0x95, 0x58, 0x2E, 0x80
_FROM_UNPICKLER = (
    *(pickle.UnpicklingError, EOFError, LookupError, ValueError, TypeError),
    *(AttributeError, OverflowError),
)
_LEVELS = 32
"""Levels that may be open where a chunk ends."""
_OUTER = object()


def _load_checked(source: SourceFile, drain: Drain | None) -> Any:
    """The value, by the unpickler of the standard library; `_UnusualError` where it may not."""
    feed = _Feed()
    unpickler = _PlainUnpickler(feed)
    stack: Stack = [[]]
    built = seen = 0
    for chunk, is_last in _checked_chunks(source):
        # At most: bytes of texts and numbers count, too, and the interpreter counts again.
        built += len(chunk) - len(chunk.translate(None, _BUILDING_HERE))
        if built > MAX_FREE_VALUES + seen // MIN_BYTES_PER_VALUE:
            raise _UnusualError
        seen += len(chunk)
        values = [value for level in stack for value in level]
        unpickler.values = [_OUTER, *values]
        feed.give(_restoring(stack) + chunk + (b"" if is_last else b"t" * _LEVELS + b"."))
        try:
            value = unpickler.load()
        except _FROM_UNPICKLER as error:
            raise _UnusualError from error
        if is_last:
            return value
        stack = _levels_of(value)
        if drain is not None:
            drain(stack)
    raise _UnusualError


def _checked_chunks(source: SourceFile) -> Iterator[tuple[bytes, bool]]:
    """Instructions that fit the pattern, without frames, some megabytes at a time."""
    pieces: list[bytes] = []
    size, rest, seen, pairs = 0, b"", 0, 0
    for block in source.blocks():
        data, place = rest + block, 0
        seen += len(block)
        while place < len(data):
            match = _instructions().match(data, place, place + _PATTERN_BYTES)
            end = place if match is None else match.end()
            pieces.append(data[place:end])
            size += end - place
            if size >= CHUNK_BYTES:
                yield b"".join(pieces), False
                pieces, size = [], 0
            if data[end : end + 1] == _PAIR:
                # The pattern saw its numbers, and not the end: a few such are no danger.
                pairs += 1
                if pairs > _MAX_CUT_PAIRS + seen // _PATTERN_BYTES:
                    raise _UnusualError
                pieces.append(_PAIR)
                place = end + 1
                continue
            after, is_kept = _beyond(data, end)
            if after is None:
                if end == place:
                    break
                place = end
                continue
            if is_kept:
                pieces.append(data[end:after])
                size += after - end
            if data[end] == _STOP:
                yield b"".join(pieces), True
                return
            place = after
        rest = data[place:]
    raise _UnusualError


def _beyond(data: bytes, place: int) -> tuple[int | None, bool]:
    """Where an instruction ends that the pattern does not fit, and whether it is to be kept.

    None where more has to be read, or the pattern is to be asked again.
    """
    if place >= len(data):
        return None, False
    code, arguments = data[place], _ARGUMENTS.get(data[place], 0)
    end = place + 1 + arguments
    if code == _STOP:
        return end, True
    if end > len(data):
        return None, False
    if code in {_FRAME, _PROTOCOL}:
        return end, False
    if code == _TEXT:
        length = int.from_bytes(data[place + 1 : end], "little")
        if length > MAX_TEXT_BYTES:
            raise _UnusualError
        end += length
        return (end, True) if end <= len(data) else (None, False)
    if code not in _INSTRUCTIONS_BY_CODE:
        raise _UnusualError
    if code == 0x8A and data[place + 1] > MAX_NUMBER_BYTES:
        raise _UnusualError
    return None, False  # cut by the end of what the pattern saw


_INSTRUCTIONS_BY_CODE = frozenset(b"h}](\x94uesaN\x88\x89jKMJ\x8aG\x8c")


class _Feed:
    """A file that is filled again and again."""

    def __init__(self) -> None:
        self._data, self._place = b"", 0

    def give(self, instructions: bytes) -> None:
        """Go on with these, as one frame: the unpickler then asks for all of them at once."""
        self._data = b"\x95" + len(instructions).to_bytes(8, "little") + instructions
        self._place = 0

    def read(self, size: int) -> bytes:
        """The next bytes."""
        taken = self._data[self._place : self._place + size]
        self._place += len(taken)
        return taken

    def readline(self) -> bytes:
        """Instructions that the pattern fits have no lines."""
        return b""


class _PlainUnpickler(pickle.Unpickler):
    """That of the standard library, which imports nothing; values of the stack go in by number."""

    values: list[Any]

    def find_class(self, module: str, name: str, /) -> Any:
        """Refuse: no instruction that the pattern fits asks for it."""
        raise pickle.UnpicklingError(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        """A value that was on the stack when the last chunk ended."""
        return self.values[pid]


_ENTER = b"K\x00Q("  # the mark of an outer level, behind a value that tells it
_ENTER_ALL = _ENTER * _LEVELS


def _restoring(stack: Stack) -> bytes:
    """Instructions that bring a stack back, below which there are levels to be closed."""
    parts, number = [_ENTER_ALL], 1
    for depth, level in enumerate(stack):
        if depth:
            parts.append(b"(")
        count = len(level)
        parts += [b"J" + struct.pack("<i", number + k) + b"Q" for k in range(count)]
        number += count
    return b"".join(parts)


def _levels_of(value: Any) -> Stack:
    """The levels of a stack whose marks were closed, `_LEVELS` of them, into nested tuples."""
    outer = 0
    while value and value[0] is _OUTER:
        value, outer = value[1], outer + 1
    if not outer:
        raise _UnusualError  # more levels are open than can be told from here
    levels: Stack = []
    for _ in range(_LEVELS - 1 - outer):
        levels.append(list(value[:-1]))
        value = value[-1]
    return [*levels, list(value)]


# -- the careful way -------------------------------------------------------------------------------

_KEYS = (str, int, float, bool, bytes, type(None))
"""What a key may be: of nested tuples, a hash would exhaust the stack."""
_ASKS = {
    **dict.fromkeys(b"cRoibQP\x81\x82\x83\x84\x92\x93", "to import, build or call something"),
    **dict.fromkeys(b"\x8f\x90\x91", "for a set"),
    **dict.fromkeys(b"\x97\x98", "for memory of another process"),
}
_DRAIN_EVERY = 1 << 16


class Interpreter:
    """Runs the instructions that make plain values, one by one, and no others."""

    def __init__(self, source: SourceFile, drain: Drain | None = None) -> None:
        self._path = source.path
        self._damage: list[str] = []
        self._blocks = source.blocks(self._damage)
        self._data, self._place, self._before = b"", 0, 0
        self._tuples: dict[int, tuple[int, Any]] = {}
        self._drain = drain
        self.memo: dict[int, Any] = {}
        self.stack: Stack = [[]]

    def run(self) -> Any:
        """The value that the pickle ends with."""
        steps = built = 0
        while True:
            code = self.take(1)[0]
            if code == _STOP:
                return self.pop()
            act = _ACTS.get(code)
            if act is None:
                raise self._refusal(code)
            try:
                act(self)
            except (ValueError, OverflowError, struct.error, UnicodeDecodeError) as error:
                raise self._broken(f"a value that cannot be read: {error}") from None
            if code in _BUILDING:
                built += 1
                seen = self._before + self._place
                if built > MAX_FREE_VALUES + seen // MIN_BYTES_PER_VALUE:
                    raise PickleLimitError(
                        f"{self._path}: more values than one for each {MIN_BYTES_PER_VALUE} bytes "
                        "of it, which no recording has",
                        _HINT,
                    )
            steps += 1
            if self._drain is not None and not steps % _DRAIN_EVERY:
                self._drain(self.stack)

    # what instructions are made of

    def take(self, size: int) -> bytes:
        end = self._place + size
        if end > len(self._data):
            self._fill(size)
            end = size
        taken = self._data[self._place : end]
        self._place = end
        return taken

    def _fill(self, size: int) -> None:
        """Read on until there are so many bytes ahead."""
        parts = [self._data[self._place :]]
        have = len(parts[0])
        while have < size:
            block = next(self._blocks, b"")
            if not block:
                raise self._broken(self._damage[0] if self._damage else "it ends in the middle")
            parts.append(block)
            have += len(block)
        self._before += self._place
        self._data, self._place = b"".join(parts), 0

    def number(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def line(self) -> str:
        line = bytearray()
        while (byte := self.take(1)) != b"\n":
            line += byte
            if len(line) > MAX_LINE:
                raise self._broken("a line is too long")
        return line.decode("latin-1")

    def push(self, value: Any) -> None:
        self.stack[-1].append(value)

    def pop(self) -> Any:
        if not self.stack[-1]:
            raise self._broken("a value is missing")
        return self.stack[-1].pop()

    def top(self, kind: type) -> Any:
        value = self.stack[-1][-1] if self.stack[-1] else None
        if not isinstance(value, kind):
            raise self._broken(f"a {kind.__name__} is missing")
        return value

    def mark(self) -> None:
        if len(self.stack) > MAX_DEPTH:
            raise self._broken("values are nested too deeply")
        self.stack.append([])

    def close(self) -> list[Any]:
        """The values since the last mark."""
        if len(self.stack) == 1:
            raise self._broken("a mark is missing")
        return self.stack.pop()

    def push_text(self, length: int) -> None:
        if length > MAX_TEXT_BYTES:
            raise self._broken(f"a text of {length} bytes")
        self.push(self.take(length).decode("utf-8", "surrogatepass"))

    def push_bytes(self, length: int) -> None:
        if length > MAX_TEXT_BYTES:
            raise self._broken(f"a value of {length} bytes")
        self.push(self.take(length))

    def push_long(self, length: int) -> None:
        if length > MAX_NUMBER_BYTES:
            raise self._broken(f"a number of {length} bytes")
        self.push(self.number(length, signed=True))

    def put(self, place: int) -> None:
        if not self.stack[-1] or not 0 <= place < MAX_MEMO:
            raise self._broken("a reference is out of range")
        self.memo[place] = self.stack[-1][-1]

    def recall(self, place: int) -> None:
        if place not in self.memo:
            raise self._broken("a reference leads nowhere")
        self.push(self.memo[place])

    def push_tuple(self, size: int) -> None:
        values = self.stack[-1][-size:]
        if len(values) < size:
            raise self._broken("a value is missing")
        self.stack[-1][-size:] = [self.tuple_of(values)]

    def tuple_of(self, values: list[Any]) -> tuple[Any, ...]:
        """A tuple, which is not nested too deeply in tuples of its own."""
        made = tuple(values)
        inner = [id(value) for value in values if type(value) is tuple]
        if inner:
            depth = 1 + max(self._tuples[i][0] if i in self._tuples else 1 for i in inner)
            if depth > MAX_DEPTH:
                raise self._broken("values are nested too deeply")
            self._tuples[id(made)] = depth, made  # held, that no other has its number
        return made

    def set_items(self, items: list[Any]) -> None:
        target = self.top(dict)
        if len(items) % 2:
            raise self._broken("a key has no value")
        for key in items[::2]:
            if not isinstance(key, _KEYS):
                raise self._broken("a key is no text and no number")
        target.update(zip(items[::2], items[1::2], strict=True))

    def extend(self, values: list[Any]) -> None:
        self.top(list).extend(values)

    def pair(self) -> list[Any]:
        value = self.pop()
        return [self.pop(), value]

    def push_int(self) -> None:
        line = self.line()
        self.push({"00": False, "01": True}[line] if line in {"00", "01"} else int(line))

    def push_long_line(self) -> None:
        self.push(int(self.line().removesuffix("L")))

    def _refusal(self, code: int) -> UnreadableError:
        asks = _ASKS.get(code)
        if asks is None:
            return self._broken(f"the instruction {code:#04x} is unknown")
        return PickleRefusedError(
            f"{self._path}: this pickle asks {asks}; it was not loaded, and nothing of it was run",
            _HINT,
        )

    def _broken(self, reason: str) -> UnreadableError:
        return UnreadableError.damaged(
            self._path, f"a pickle: {reason}", "copy the file again, or record again"
        )


_Act: TypeAlias = Callable[[Interpreter], None]


def _float(reader: Interpreter) -> None:
    reader.push(struct.unpack(">d", reader.take(8))[0])


def _protocol(reader: Interpreter) -> None:
    if reader.number(1) > MAX_PROTOCOL:
        msg = "its protocol is newer than Python's"
        raise ValueError(msg)


def _frame(reader: Interpreter) -> None:
    reader.take(8)


def _drop(reader: Interpreter) -> None:
    reader.pop()


def _drop_all(reader: Interpreter) -> None:
    reader.close()


def _duplicate(reader: Interpreter) -> None:
    reader.push(reader.top(object))


def _acts() -> Mapping[int, _Act]:
    """What each instruction does; those that are not here are refused."""
    i = Interpreter
    acts: dict[str, _Act] = {
        "\x80": _protocol,
        "\x95": _frame,
        "(": i.mark,
        "0": _drop,
        "1": _drop_all,
        "2": _duplicate,
        "N": lambda r: r.push(None),
        "\x88": lambda r: r.push(True),
        "\x89": lambda r: r.push(False),
        "}": lambda r: r.push({}),
        "]": lambda r: r.push([]),
        ")": lambda r: r.push(()),
        "d": lambda r: _dictionary(r, r.close()),
        "l": lambda r: r.push(r.close()),
        "t": lambda r: r.push(r.tuple_of(r.close())),
        "\x85": lambda r: r.push_tuple(1),
        "\x86": lambda r: r.push_tuple(2),
        "\x87": lambda r: r.push_tuple(3),
        "u": lambda r: r.set_items(r.close()),
        "s": lambda r: r.set_items(r.pair()),
        "e": lambda r: r.extend(r.close()),
        "a": lambda r: r.extend([r.pop()]),
        "K": lambda r: r.push(r.number(1)),
        "M": lambda r: r.push(r.number(2)),
        "J": lambda r: r.push(r.number(4, signed=True)),
        "\x8a": lambda r: r.push_long(r.number(1)),
        "\x8b": lambda r: r.push_long(r.number(4)),
        "G": _float,
        "F": lambda r: r.push(float(r.line())),
        "I": i.push_int,
        "L": i.push_long_line,
        "\x8c": lambda r: r.push_text(r.number(1)),
        "X": lambda r: r.push_text(r.number(4)),
        "\x8d": lambda r: r.push_text(r.number(8)),
        "C": lambda r: r.push_bytes(r.number(1)),
        "B": lambda r: r.push_bytes(r.number(4)),
        "\x8e": lambda r: r.push_bytes(r.number(8)),
        "\x96": lambda r: r.push_bytes(r.number(8)),
        "U": lambda r: r.push_bytes(r.number(1)),
        "T": lambda r: r.push_bytes(r.number(4)),
        "\x94": lambda r: r.put(len(r.memo)),
        "q": lambda r: r.put(r.number(1)),
        "r": lambda r: r.put(r.number(4)),
        "p": lambda r: r.put(int(r.line())),
        "h": lambda r: r.recall(r.number(1)),
        "j": lambda r: r.recall(r.number(4)),
        "g": lambda r: r.recall(int(r.line())),
    }
    return {ord(code): act for code, act in acts.items()}


def _dictionary(reader: Interpreter, items: list[Any]) -> None:
    reader.push({})
    reader.set_items(items)


_ACTS = _acts()
