"""Cycles on their way to a watcher: none is mixed up, and none goes to another one."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import sys
import time
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from timesink.recorder import cycle_channel
from timesink.recorder.agent.watched import WatchedThread
from timesink.recorder.cycle_channel import CHANNEL_FILE, CycleReceiver, CycleSender


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[CycleReceiver]:
    channel_receiver = CycleReceiver(tmp_path)
    yield channel_receiver
    channel_receiver.close()


def test_cycles_of_threads_by_turns_come_together(tmp_path, receiver, monkeypatch):
    """A queue of the system may hold ten datagrams: threads must not need one for each cycle."""
    monkeypatch.setattr(cycle_channel, "_SENDS_AFTER", 1000)
    sender = CycleSender(tmp_path)
    for number in range(201):
        sender.add(number % 2, number, 1000 + number, {"batch_size": float(number)})
    sender.close()
    assert sender.dropped == 0
    rows_by_stream = {}
    for batch in receiver.read(1.0):
        rows = zip(batch.start_us, batch.duration_ns, batch.workload["batch_size"], strict=True)
        rows_by_stream.setdefault(batch.stream, []).extend(rows)
    assert {stream: len(rows) for stream, rows in rows_by_stream.items()} == {0: 101, 1: 100}
    assert rows_by_stream[1] == [(cycle, 1000 + cycle, float(cycle)) for cycle in range(1, 201, 2)]


def test_another_watcher_in_the_folder_is_told_nothing(tmp_path, receiver, monkeypatch):
    monkeypatch.setattr(cycle_channel, "_ASKS_EVERY_NS", 0)
    sender = CycleSender(tmp_path)
    sender.add(0, 1, 1, {})
    assert receiver.read(1.0)
    other = CycleReceiver(tmp_path)
    sender.flush()
    assert sender.is_abandoned
    sender.add(0, 2, 2, {})
    sender.flush()
    assert (other.read(0.05), receiver.read(0.05)) == ([], [])
    other.close()
    sender.close()


@pytest.mark.usefixtures("receiver")
def test_a_folder_that_is_gone_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(cycle_channel, "_ASKS_EVERY_NS", 0)
    sender = CycleSender(tmp_path)
    (tmp_path / CHANNEL_FILE).unlink()
    sender.flush()
    assert sender.is_abandoned


@pytest.mark.skipif(sys.platform != "linux", reason="names without a file")
def test_files_that_come_with_a_datagram_are_not_opened(tmp_path, receiver):
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    files = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [0, 1]))]
    address = "\0" + (tmp_path / CHANNEL_FILE).read_text()[1:]
    before = len(list(Path("/proc/self/fd").iterdir()))
    sender.sendmsg([b"{}\n"], files, 0, address)
    assert receiver.read(1.0) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    sender.close()


HEAD = {"pid": 7, "columns": ["tokens"], "rows": 1, "count": 1, "dropped": 0}
BODY = array("q", [0, 17, 2500]).tobytes() + array("d", [8.0]).tobytes()
WRONG: dict[str, list[object]] = {
    "pid": [[1], None, "7", 0, -1, 1.5, True, 10**30, {}],
    "columns": [None, "tokens", [1], [["a"]], ["a"] * 2, [f"{n}" for n in range(99)]],
    "rows": [None, [1], -1, 2, 1.0, 10**30, "1", 0],
    "count": [None, [], {}, -1, 1.5, "1", 10**30, True],
    "dropped": [None, [0], -1, "0"],
    "failed": [None, [0], -1],
    "rank": [[0], "0", -1, 10**30, False],
    "world_size": [[0], {}, -1],
    "source": [None, 1, ["x"], "x" * 20_000],
    "span": [None, 1, {}],
    "other": [1],
}


def datagrams() -> Iterator[bytes]:
    """What nobody sends who is watched."""
    for name, values in WRONG.items():
        for value in values:
            yield json.dumps(HEAD | {name: value}).encode() + b"\n" + BODY
    for missing in HEAD:
        yield json.dumps({k: v for k, v in HEAD.items() if k != missing}).encode() + b"\n" + BODY
    head = json.dumps(HEAD).encode() + b"\n"
    yield from (b"", b"\n", b"{}\n", b"[1]\n" + BODY, b"null\n", b"\xff\n" + BODY)
    yield from (head, head + BODY[:-1], head + BODY + BODY)
    yield b'{"a":' + b"[" * 100_000 + b"\n"
    yield b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}\n" + BODY
    for start_us, duration_ns in ((-1, 1), (1, -1), (1 << 62, 1), (1, 1 << 62)):
        yield head + array("q", [0, start_us, duration_ns]).tobytes() + BODY[24:]


def test_messages_of_wrong_types_are_dropped_and_counted(tmp_path, receiver):
    program = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    address = cycle_channel._address((tmp_path / CHANNEL_FILE).read_text())
    sent = 0
    for datagram in datagrams():
        program.sendto(datagram, address)
        sent += 1
        assert receiver.read(1.0) == [], datagram[:200]
    assert receiver.invalid == sent
    values = array("d", [math.inf]).tobytes()
    for body in (BODY, BODY[:24] + values):
        program.sendto(json.dumps(HEAD).encode() + b"\n" + body, address)
    tokens = [batch.workload["tokens"] for batch in receiver.read(1.0)]
    assert tokens == [[8.0], [None]]
    program.close()


TEXTS = {
    "decode\tstep": "decode step",
    "lot\u00a0size": "lot size",
    "👩\u200d💻": "👩\ufffd💻",
    "\x1b[2J": "\ufffd[2J",
    "\ud800": "\ufffd",
    "é" * 600: "é" * 512,
}


@pytest.mark.parametrize(("text", "clean"), TEXTS.items(), ids=range(len(TEXTS)))
def test_odd_names_lose_no_cycles(tmp_path, receiver, text: str, clean: str):
    """As a sender packs them, and as another one might send them."""
    sender = CycleSender(tmp_path, lambda: {"rank": -1, "world_size": -1})
    sender.source, sender.span = f"optimizer step {text}", text
    sender.add(0, 17, 2500, {text: 8.0, clean: 9.0, "tokens": 1.0})
    sender.close()
    program = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    head = HEAD | {"columns": [text], "span": text, "source": f"optimizer step {text}"}
    address = cycle_channel._address((tmp_path / CHANNEL_FILE).read_text())
    program.sendto(json.dumps(head).encode() + b"\n" + BODY, address)
    program.close()
    packed, other = receiver.read(1.0)
    assert receiver.invalid == 0
    assert packed.workload == {clean: [8.0], "tokens": [1.0]}
    assert other.workload == {clean: [8.0]}
    assert (packed.rank, packed.world_size) == (None, None)
    for batch in (packed, other):
        assert (batch.span, batch.source) == (clean, f"optimizer step {clean}"[:512])


def test_names_that_no_message_has_room_for_lose_columns_and_no_cycles(tmp_path, receiver):
    sender = CycleSender(tmp_path)
    sender.add(0, 17, 2500, {f"{number} {'👩' * 500}": 1.0 for number in range(32)})
    sender.close()
    (batch,) = receiver.read(1.0)
    assert batch.duration_ns == [2500]
    assert 0 < len(batch.workload) < 32


def message(rows: int, columns: int, streams: int) -> bytes:
    head = HEAD | {"columns": [f"{number}" for number in range(columns)], "rows": rows}
    times = array("q", [row % streams for row in range(rows)])
    times.extend(range(rows))
    times.extend([1000] * rows)
    values = array("d", [1.0]) * (rows * columns)
    return json.dumps(head).encode() + b"\n" + times.tobytes() + values.tobytes()


def test_no_message_outlasts_a_turn():
    """However many threads its rows are of: each row is looked at once."""
    many = message(cycle_channel._MAX_ROWS, 32, 256)
    start_s = time.process_time()
    batches = cycle_channel._unpack_batches(many)
    assert time.process_time() - start_s < cycle_channel._TURN_S
    assert len(batches) == 256
    assert sum(len(batch.start_us) for batch in batches) == cycle_channel._MAX_ROWS
    assert cycle_channel._unpack_batches(message(40_000, 0, 256)) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel says who sends")
@pytest.mark.parametrize("message", [b"x" * 1000, json.dumps(HEAD).encode() + b"\n" + BODY])
def test_a_flood_keeps_no_program_from_being_read(tmp_path, receiver, message):
    channel = (tmp_path / CHANNEL_FILE).read_text()
    flood = os.fork()
    if not flood:
        program = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with suppress(OSError):
            while os.getppid() != 1:
                program.sendto(message, cycle_channel._address(channel))
        os._exit(0)
    sender = CycleSender(tmp_path)
    try:
        taken, until = 0, time.monotonic() + 20
        number = most = 0
        while taken < 20 and time.monotonic() < until:
            sender.add(number % 2, number, 1000, {})
            number += 1
            before = time.monotonic()
            batches = receiver.read(0.1)
            assert time.monotonic() - before < 2.0
            taken += sum(len(batch.start_us) for batch in batches if batch.pid == os.getpid())
            most = max(most, sum(batch.pid != os.getpid() for batch in batches))
        assert taken >= 20
        assert most <= cycle_channel._TURN_MESSAGES
        # Of messages that are right only those beyond the number of a turn are dropped.
        assert receiver.invalid or message.startswith(b"{")
    finally:
        os.kill(flood, signal.SIGKILL)
        os.waitpid(flood, 0)
        sender.close()


def test_numbers_of_threads_are_used_again():
    free, new = [], iter(range(100))
    first, second, third = (WatchedThread(free, new) for _ in range(3))
    assert [thread.number for thread in (first, second, third)] == [0, 1, 2]
    del second
    assert WatchedThread(free, new).number == 1
