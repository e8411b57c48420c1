"""Cycles on their way to a watcher: none is mixed up, and none goes to another one."""

from __future__ import annotations

import socket
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest

from timesink.recorder import cycle_channel
from timesink.recorder.agent.watched import WatchedThread
from timesink.recorder.cycle_channel import CHANNEL_FILE, CycleReceiver, CycleSender


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[CycleReceiver]:
    made = CycleReceiver(tmp_path)
    yield made
    made.close()


def test_cycles_of_threads_by_turns_come_together(tmp_path, receiver, monkeypatch):
    """A queue of the system may hold ten datagrams: threads must not need one for each cycle."""
    monkeypatch.setattr(cycle_channel, "_SENDS_AFTER", 1000)
    sender = CycleSender(tmp_path)
    for number in range(201):
        sender.add(number % 2, number, 1000 + number, {"batch_size": float(number)})
    sender.close()
    assert sender.dropped == 0
    told = {}
    for batch in receiver.read(1.0):
        rows = zip(batch.start_us, batch.duration_ns, batch.workload["batch_size"], strict=True)
        told.setdefault(batch.stream, []).extend(rows)
    assert {stream: len(rows) for stream, rows in told.items()} == {0: 101, 1: 100}
    assert told[1] == [(each, 1000 + each, float(each)) for each in range(1, 201, 2)]


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


def test_numbers_of_threads_are_used_again():
    free, new = [], iter(range(100))
    first, second, third = (WatchedThread(free, new) for _ in range(3))
    assert [one.number for one in (first, second, third)] == [0, 1, 2]
    del second
    assert WatchedThread(free, new).number == 1
