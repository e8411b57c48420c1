"""Cycles on their way from a watched program to whoever watches it.

Datagrams of one machine, which nobody waits for: a program whose watcher is slow, or gone, keeps
some rows for later, drops the oldest, and says how many it dropped.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import secrets
import select
import socket
import struct
import sys
import tempfile
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from timesink.recorder.places import write_whole

CHANNEL_FILE = "channel"
"""In the control folder: where the watcher listens, with @ for a name that is no file."""
CHANNEL_VARIABLE = "TIMESINK_CHANNEL"
"""Tells a program which channel is meant: another watcher may come to the same folder."""

_SENDS_EVERY_NS = 200_000_000
_SENDS_AFTER = 64
_WAITS_NS = 200_000_000
"""Before it is tried again to reach somebody who does not listen."""
_ASKS_EVERY_NS = 1_000_000_000
MAX_KEPT = 4096
"""Rows that wait for a watcher that does not listen; older ones are dropped."""
_ROWS_AT_A_TIME = 256
_MAX_COLUMNS = 32
_MAX_BYTES = 1 << 20
_TURN_S, _TURN_BYTES, _TURN_MESSAGES = 0.2, 16 << 20, 128
"""Of reading at one time; the messages are those of one process, which sends five a second, one for
every 64 cycles where these are short, and after a pause 16 with all that it has kept."""
_MAX_HEAD_BYTES = 16_384
_LONGEST_TEXT = 512
_MAX_COUNTED = 1 << 31
_MAX_ROWS = 4 * _ROWS_AT_A_TIME
"""Of a message that is taken, for what a later sender may send at a time."""
_SENDER = struct.Struct("iii")
"""Process, user and group of who has sent a datagram."""

Row = tuple[int, int, int, Mapping[str, float]]
"""Stream, start in us, duration in ns, workload."""


def clean_text(text: str) -> str:
    r"""Text that fits into a message, a file and a terminal: at most 512 printable characters.

    >>> clean_text("decode\tstep \x1b[2J")
    'decode step \ufffd[2J'
    """
    text = text[:_LONGEST_TEXT]
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else " " if sign.isspace() else "\ufffd" for sign in text
    )


def _valid_count(number: int | None) -> int | None:
    """A rank or a number of them; None for -1 and the like, which say that there is none."""
    return number if number is not None and 0 <= number <= _MAX_COUNTED else None


@dataclass(frozen=True)
class CycleBatch:
    """Cycles of one stream (a thread) of one process, in order."""

    pid: int
    stream: int
    start_us: list[int]
    duration_ns: list[int]
    workload: dict[str, list[float | None]]
    """What is told of each cycle, by column."""
    count: int
    """Cycles of this process so far, with those that were not sent."""
    dropped: int
    """Of them, lost on the way."""
    rank: int | None = None
    world_size: int | None = None
    source: str = ""
    """What marks cycles: `optimizer step SGD`, `vllm`."""
    span: str = ""
    failed: int = 0
    """Cycles whose workload could not be told."""


def channel_in(control: Path) -> str | None:
    """Who listens, as the control folder has it: empty where nobody does, None if unreadable."""
    try:
        return (control / CHANNEL_FILE).read_text()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError):
        return None


# The side of the program.


def _no_identity() -> Mapping[str, int | None]:
    return {}


class CycleSender:
    """Sends rows, a few at a time, and never waits."""

    def __init__(
        self,
        control: Path,
        identity: Callable[[], Mapping[str, int | None]] = _no_identity,
        channel: str = "",
    ) -> None:
        """`identity` tells rank and world size, which a program may learn late.

        It has one channel to its end: that given, or the first it finds.
        """
        self._control = control
        self._identity = identity
        self.channel = channel or channel_in(control) or ""
        self.is_abandoned = False
        """Whether whoever listened there is gone, and this is known."""
        self.source = self.span = ""
        self.count = self.dropped = self.failed = 0
        # Threads add to it as they like; only one sends.
        self._rows: deque[Row] = deque()
        self._counter = itertools.count(1)
        self._socket: socket.socket | None = None
        self._is_closed = False
        self._own: Mapping[str, int | None] = {}
        self._next_ns = self._asked_ns = 0
        self._is_stuck = False
        self._sends = threading.Lock()

    def add(
        self, stream: int, start_us: int, duration_ns: int, values: Mapping[str, float]
    ) -> None:
        """One more cycle has ended."""
        self.count = next(self._counter)
        rows = self._rows
        rows.append((stream, start_us, duration_ns, values))
        now_ns = time.monotonic_ns()
        if now_ns >= self._next_ns or (len(rows) >= _SENDS_AFTER and not self._is_stuck):
            self.flush(now_ns)

    def skip(self) -> None:
        """One more cycle has ended, whose time tells nothing."""
        self.count = next(self._counter)

    def flush(self, now_ns: int | None = None) -> None:
        """Send what there is, as far as somebody takes it."""
        now_ns = time.monotonic_ns() if now_ns is None else now_ns
        # A signal handler may come between, and mark cycles itself: nobody waits here.
        if not self._sends.acquire(blocking=False):
            return
        try:
            while len(self._rows) > MAX_KEPT:
                self._rows.popleft()
                self.dropped += 1
            self._is_stuck = not (self._is_closed or self._send(now_ns))
            wait_ns = _WAITS_NS if self._is_stuck else _SENDS_EVERY_NS
            self._next_ns = now_ns + wait_ns
        finally:
            self._sends.release()

    def close(self) -> None:
        """Send the last, and be gone; what nobody takes is lost."""
        self.flush()
        self.discard()

    def discard(self) -> None:
        """Be gone at once: a fork has this from the process it was made of."""
        self._is_closed = True
        self.dropped += len(self._rows)
        self._rows.clear()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, now_ns: int) -> bool:
        """Whether all went out."""
        if not self.channel or now_ns - self._asked_ns > _ASKS_EVERY_NS:
            self._asked_ns = now_ns
            self._own = self._identity()
            channel = channel_in(self._control)
            self.channel = self.channel or channel or ""
            self.is_abandoned = channel is not None and channel != self.channel
        while self._rows and self.channel and not self.is_abandoned:
            part = [self._rows.popleft() for _ in range(min(len(self._rows), _ROWS_AT_A_TIME))]
            try:
                if self._socket is None:
                    self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                    self._socket.setblocking(False)
                self._socket.sendto(self._packed(part), _address(self.channel))
            except OSError:
                # Nobody is there, or they do not read, or the program has no socket left.
                self._rows.extendleft(reversed(part))
                break
        return not self._rows

    def _packed(self, rows: list[Row]) -> bytes:
        first = rows[0][3].keys()
        if all(row[3].keys() == first for row in rows):
            names = list(first)[:_MAX_COLUMNS]
        else:
            names = list(dict.fromkeys(name for row in rows for name in row[3]))[:_MAX_COLUMNS]
        # Of names that are the same once they are cleaned, the first.
        columns: dict[str, str] = {}
        for name in names:
            columns.setdefault(clean_text(name), name)
        head = {
            "pid": os.getpid(),
            "columns": [*columns],
            "rows": len(rows),
            "count": self.count,
            "dropped": self.dropped,
            "failed": self.failed,
            "rank": _valid_count(self._own.get("rank")),
            "world_size": _valid_count(self._own.get("world_size")),
            "source": clean_text(self.source),
            "span": clean_text(self.span),
        }
        packed = json.dumps(head).encode()
        while len(packed) > _MAX_HEAD_BYTES:
            # Names of hundreds of letters; without any column it is never too long.
            columns.popitem()
            packed = json.dumps({**head, "columns": [*columns]}).encode()
        times = array("q", [row[0] for row in rows])
        times.extend(row[1] for row in rows)
        times.extend(row[2] for row in rows)
        nothing = math.nan
        names = [*columns.values()]
        values = array("d", [row[3].get(name, nothing) for row in rows for name in names])
        return packed + b"\n" + times.tobytes() + values.tobytes()


def _address(channel: str) -> str:
    return "\0" + channel[1:] if channel.startswith("@") else channel


# The side of the watcher.


class CycleReceiver:
    """Takes what programs send; they find it by a file in the control folder.

    >>> import tempfile, pathlib
    >>> control = pathlib.Path(tempfile.mkdtemp())
    >>> receiver, sender = CycleReceiver(control), CycleSender(control)
    >>> sender.add(0, 17, 2500, {"batch_size": 8.0})
    >>> batch, = receiver.read(1.0)
    >>> batch.start_us, batch.duration_ns, batch.workload
    ([17], [2500], {'batch_size': [8.0]})
    >>> sender.close(), receiver.close()
    (None, None)
    """

    def __init__(self, control: Path) -> None:
        self.invalid = 0
        """Messages that were dropped: of no watched program, or far more than one sends."""
        self._room = bytearray(_MAX_BYTES)
        self._file: Path | None = None
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"timesink-{os.getpid()}-{secrets.token_hex(8)}"
        if sys.platform == "linux":
            channel = f"@{name}"
            # A name without a file is open to all users of the machine: the kernel says who sends.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        else:
            # A path in here must be short, and that of the control folder may be long.
            self._file = Path(tempfile.mkdtemp(prefix="timesink-")) / "c"
            channel = str(self._file)
        self._socket.bind(_address(channel))
        self._socket.setblocking(False)
        write_whole(control / CHANNEL_FILE, channel.encode())

    def read(self, timeout_s: float = 0.0) -> list[CycleBatch]:
        """What has come, waiting for the first of it as long as told.

        Whatever a sender does, a turn ends after a while: what is left waits for the next one,
        and of each process no more messages are looked into than one that is watched sends.
        """
        if not select.select([self._socket], [], [], timeout_s)[0]:
            return []
        batches: list[CycleBatch] = []
        messages_of: dict[int, int] = {}
        size, until = 0, time.monotonic() + _TURN_S
        # Room for who has sent it, and for no open file that comes with it.
        beside_size = socket.CMSG_SPACE(_SENDER.size)
        with suppress(BlockingIOError):
            while size <= _TURN_BYTES and time.monotonic() < until:
                length, beside, _, _ = self._socket.recvmsg_into([self._room], beside_size)
                pid, is_trusted = _sender_of(beside)
                if not is_trusted:
                    continue
                messages_of[pid] = messages = messages_of.get(pid, 0) + 1
                if messages > _TURN_MESSAGES:
                    self.invalid += 1
                    continue
                size += length
                streams = _unpack_batches(bytes(self._room[:length]))
                self.invalid += not streams
                batches += streams
        return batches

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink()
                self._file.parent.rmdir()


def _sender_of(beside: list[tuple[int, int, bytes]]) -> tuple[int, bool]:
    """The process that has sent it, and whether that is of this user or root.

    Zero and true where the kernel does not say.
    """
    for level, kind, content in beside:
        if level == socket.SOL_SOCKET and kind == getattr(socket, "SCM_CREDENTIALS", 2):
            pid, user, _ = _SENDER.unpack(content[: _SENDER.size])
            return pid, user in (0, os.getuid())
    return 0, True


# What a message may say: anybody who runs as this user can send one.

_MAX_STREAMS = 256
"""Of one message: programs have one for each thread that makes cycles."""
_FIRST_DISTANT_US = 1 << 52
"""Microseconds since 1970 until the year 2112: later ones are no times."""
_LONGEST_NS = 400 * 86_400 * 1_000_000_000


def _is_number(value: object, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _is_pid(value: object, most: int) -> bool:
    return _is_number(value, most) and value != 0


def _is_number_or_none(value: object, most: int) -> bool:
    return value is None or _is_number(value, most)


def _is_text(value: object, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most


def _are_texts(value: object, most: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= most
        and len({*map(str, value)}) == len(value)
        and all(_is_text(text, _MAX_HEAD_BYTES) for text in value)
    )


_FIELDS: Mapping[str, tuple[Callable[[object, int], bool], int]] = {
    "pid": (_is_pid, (1 << 31) - 1),
    "columns": (_are_texts, _MAX_COLUMNS),
    "rows": (_is_number, _MAX_ROWS),
    "count": (_is_number, 1 << 53),
    "dropped": (_is_number, 1 << 53),
    "failed": (_is_number, 1 << 53),
    "rank": (_is_number_or_none, _MAX_COUNTED),
    "world_size": (_is_number_or_none, _MAX_COUNTED),
    "source": (_is_text, _MAX_HEAD_BYTES),
    "span": (_is_text, _MAX_HEAD_BYTES),
}
"""Every field of a message: what it must be, and the most it may say; text is cleaned then."""
_NEEDED = frozenset({"pid", "columns", "rows", "count", "dropped"})


def _is_valid(fields: object) -> bool:
    """Whether a message says what it must, and nothing else."""
    return (
        isinstance(fields, dict)
        and _NEEDED <= fields.keys() <= _FIELDS.keys()
        and all(_FIELDS[name][0](value, _FIELDS[name][1]) for name, value in fields.items())
    )


def _unpack_batches(content: bytes) -> list[CycleBatch]:
    """The rows of a datagram, stream by stream; nothing where it is none of ours."""
    head, _, body = content.partition(b"\n")
    if len(head) > _MAX_HEAD_BYTES:
        return []
    try:
        fields: dict[str, Any] = json.loads(head)
    except (ValueError, RecursionError):
        return []
    if not _is_valid(fields):
        return []
    rows, columns = fields.pop("rows"), fields.pop("columns")
    if not rows or len(body) != 8 * rows * (3 + len(columns)):
        return []
    times, numbers = array("q", body[: 24 * rows]), array("d", body[24 * rows :])
    streams, starts, lasted = (times[at : at + rows] for at in range(0, 3 * rows, rows))
    rows_of: dict[int, list[int]] = {}
    for row, stream in enumerate(streams):
        rows_of.setdefault(stream, []).append(row)
    if (
        len(rows_of) > _MAX_STREAMS
        or not 0 <= min(starts) <= max(starts) < _FIRST_DISTANT_US
        or not 0 <= min(lasted) <= max(lasted) <= _LONGEST_NS
    ):
        return []
    workload: dict[str, list[float | None]] = {}
    for place, name in enumerate(columns):
        values = numbers[place :: len(columns)]
        workload.setdefault(
            clean_text(name), [value if math.isfinite(value) else None for value in values]
        )
    fields |= {name: clean_text(fields[name]) for name in ("source", "span") if name in fields}
    return [
        CycleBatch(
            **fields,
            stream=stream,
            start_us=[starts[row] for row in places],
            duration_ns=[lasted[row] for row in places],
            workload={name: [values[row] for row in places] for name, values in workload.items()},
        )
        for stream, places in sorted(rows_of.items())
    ]
