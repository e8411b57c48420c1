"""A recording that belongs to another thread than the main one."""

from __future__ import annotations

import threading

import pytest

from timesink.recorder.agent import shutdown as own_thread
from timesink.recorder.agent.shutdown import RecordedThread, is_main_thread


def in_thread(work: object) -> None:
    thread = threading.Thread(target=work)  # type: ignore[arg-type]
    thread.start()
    thread.join()


def test_thread_that_ends_is_heard_on_itself():
    ends: list[tuple[str, int]] = []
    recorded_thread = RecordedThread(lambda why: ends.append((why, threading.get_ident())))
    threads: list[int] = []

    def work() -> None:
        threads.append(threading.get_ident())
        recorded_thread.begin()
        assert not is_main_thread()

    in_thread(work)
    assert ends == [("the thread that was recorded ended", threads[0])]


def test_main_thread_is_not_waited_for():
    ends: list[str] = []
    recorded_thread = RecordedThread(ends.append)
    recorded_thread.begin()
    del recorded_thread
    assert ends == []


def test_wish_to_end_is_carried_over():
    recorded_thread = RecordedThread(lambda _why: None)
    is_asked = threading.Event()

    def work() -> None:
        is_asked.wait(60)
        while not recorded_thread.asked:
            is_asked.wait(0.001)
        recorded_thread.ended()

    thread = threading.Thread(target=work)
    thread.start()
    is_asked.set()
    recorded_thread.ask("the program ended", lambda: False)
    thread.join()
    assert recorded_thread.asked == "the program ended"


def test_recording_that_is_being_written_is_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(own_thread, "_ANSWERS_S", 0.0)
    recorded_thread = RecordedThread(lambda _why: None)
    may_go_on, written = threading.Event(), []

    def write() -> None:
        may_go_on.wait(60)
        written.append(True)
        recorded_thread.ended()

    thread = threading.Thread(target=write)
    thread.start()
    # Asked only once the time for an answer is over.
    recorded_thread.ask("the program ended", lambda: may_go_on.set() is None)
    assert written
    thread.join()
