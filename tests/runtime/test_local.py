"""Processes of this machine: every item once, whatever happens to a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine_calls import call
from timesink.errors import TimesinkError, UnreadableError
from timesink.runtime.engine import Call, Done, LocalEngine

BESIDE = 5
"""Items beside the one that a test is about."""


def answers(task: Call, items: list[str], jobs: int = 2) -> dict[str, bytes | TimesinkError | None]:
    done = list(LocalEngine(jobs).run(task, items))
    assert sorted(result.place for result in done) == list(range(len(items)))
    return {
        items[result.place]: result.value if result.error is None else result.error
        for result in done
    }


def error_of(task: Call, item: str) -> TimesinkError:
    other_items = [f"item {number}" for number in range(BESIDE)]
    results = answers(task, [*other_items, item])
    assert [results[other] for other in other_items] == [other.encode() for other in other_items]
    error = results[item]
    assert isinstance(error, TimesinkError)
    return error


@pytest.mark.parametrize("jobs", [1, 3])
def test_many_items_are_done_once_each(jobs: int) -> None:
    items = [str(number) for number in range(500)]

    assert answers(call("echo"), items, jobs) == {item: item.encode() for item in items}


def test_nothing_to_do() -> None:
    assert list(LocalEngine().run(call("echo"), [])) == []


def test_a_slow_item_holds_nobody_up(tmp_path: Path) -> None:
    items = ["slow", *(str(number) for number in range(20))]
    running = LocalEngine(2).run(call("wait_for", notes=tmp_path), items)
    early = [next(running).place for _ in range(20)]
    (tmp_path / "go").touch()

    assert sorted(early) == list(range(1, 21))
    assert list(running) == [Done(0, b"slow")]


def test_processes_are_used_again() -> None:
    used = answers(call("process"), [str(number) for number in range(40)])

    assert len(set(used.values())) <= 2
    assert str(os.getpid()).encode() not in used.values()


def test_an_item_whose_process_was_killed_is_tried_again(tmp_path: Path) -> None:
    results = answers(call("die", often=1, notes=tmp_path), ["a", "deadly", "b", "c"])

    assert results == {"a": b"a", "deadly": b"deadly", "b": b"b", "c": b"c"}


def test_an_item_that_kills_twice_is_an_error_and_the_others_stand(tmp_path: Path) -> None:
    error = error_of(call("die", often=2, notes=tmp_path), "deadly")

    assert error.message == "deadly: the process that read it died each time (killed by SIGKILL)"
    assert "--jobs 1" in error.hint


def test_too_little_memory_is_said() -> None:
    error = error_of(call("take_all_memory"), "large")

    assert error.message == "large: the process that read it died each time (out of memory)"


def test_errors_on_purpose_come_back_as_they_are() -> None:
    (done,) = LocalEngine(1).run(call("refuse"), ["rank3.json"])

    assert isinstance(done.error, UnreadableError)
    assert (done.error.message, done.error.hint) == (
        UnreadableError.empty("rank3.json").message,
        UnreadableError.empty("rank3.json").hint,
    )


@pytest.mark.parametrize(
    ("function", "what"),
    [
        ("break_down", "KeyError: 'rank3.json'"),
        ("exit_at_once", "SystemExit: rank3.json"),
        ("no_such_function", "AttributeError: module 'engine_calls' has no attribute"),
    ],
)
def test_what_nobody_expected_names_the_item(function: str, what: str) -> None:
    (done,) = LocalEngine(1).run(call(function), ["rank3.json"])

    assert done.error is not None
    assert done.error.message.startswith(f"rank3.json: internal error ({what}")
    assert "bug" in done.error.hint


def test_what_a_call_prints_does_not_get_in_the_way() -> None:
    assert answers(call("chatter"), ["a", "b"]) == {"a": b"a", "b": b"b"}


def test_who_stops_early_leaves_no_process_behind(tmp_path: Path) -> None:
    # GIVEN a process at work on an item that does not end, and another that answers
    running = LocalEngine(2).run(call("wait_for", notes=tmp_path), ["slow", "a"])
    next(running)
    while len(children := [int(note.stem) for note in tmp_path.glob("*.pid")]) < 2:
        time.sleep(0.01)

    # WHEN nobody wants the rest
    running.close()  # type: ignore[attr-defined]

    # THEN both are gone, and waited for
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


INTERRUPTED = """
import signal
import sys
from pathlib import Path
from engine_calls import call
from timesink.runtime.engine import LocalEngine
# What a shell starts in the background ignores it, and hands that on.
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    for done in LocalEngine(2).run(call("wait_for", notes=Path(sys.argv[1])), ["slow", "a"]):
        print(done.value, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_all_processes_without_a_word(tmp_path: Path) -> None:
    path = os.pathsep.join(sys.path)
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "b'a'\n"
        # As the terminal does: to all processes of the program.
        os.killpg(program.pid, signal.SIGINT)
        output, errors = program.communicate(timeout=60)

    assert (output, errors, program.returncode) == ("interrupted\n", "", 0)
    with pytest.raises(ProcessLookupError):
        os.killpg(program.pid, 0)
