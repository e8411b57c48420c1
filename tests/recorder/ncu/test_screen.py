"""Progress, on a terminal and in a pipe."""

from __future__ import annotations

import io

import pytest

from timesink.recorder.ncu.process import Screen


class Output(io.TextIOWrapper):
    """A stream whose bytes can be looked at."""

    def __init__(self, *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    @property
    def screen_text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined, no-any-return]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_pipe_gets_a_line_every_ten_seconds_or_thousand_kernels(clock: Clock):
    err = Output()
    screen = Screen(Output(), err, clock)
    for kernel in range(1, 2101):
        clock.now += 0.005
        screen.kernel(kernel, "gemm", None)
    assert [line.split(":")[0] for line in err.screen_text.splitlines()] == [
        "profiling kernel 1 000",
        "profiling kernel 2 000",
    ]
    clock.now += 10
    screen.kernel(2101, "relu", 4000)
    assert "profiling kernel 2 101 of 4 000: relu (" in err.screen_text


def test_terminal_gets_one_line_that_changes(clock: Clock):
    out, err = Output(terminal=True), Output(terminal=True)
    screen = Screen(out, err, clock)
    for kernel in range(1, 101):
        clock.now += 1 / 128
        screen.kernel(kernel, "gemm", None)
    assert err.screen_text.split("\r\x1b[K") == [
        "",
        *(f"profiling kernel {kernel}: gemm (128/s)" for kernel in range(13, 101, 13)),
    ]
    screen.pass_on(b"hello\n", out)
    assert err.screen_text.endswith("\r\x1b[K")


def test_unfinished_line_of_the_program_is_left_alone(clock: Clock):
    out, err = Output(terminal=True), Output(terminal=True)
    screen = Screen(out, err, clock)
    screen.pass_on(b"name? ", out)
    screen.show("profiling")
    assert (out.screen_text, err.screen_text) == ("name? ", "")
    screen.say("a line")
    assert err.screen_text == "\na line\n"
    screen.show("profiling")
    assert err.screen_text.endswith("profiling")


def test_bytes_pass_unchanged(clock: Clock):
    out = Output()
    screen = Screen(out, Output(), clock)
    out.write("before ")
    screen.pass_on(b"\xff\x00\r\n", out)
    assert out.buffer.getvalue() == b"before \xff\x00\r\n"  # type: ignore[attr-defined]


@pytest.mark.parametrize("reason", [BrokenPipeError(), OSError(5, "terminal hung up")])
def test_reader_that_left_stops_nothing(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, reason: OSError
):
    out = Output()

    def fail(_data: bytes) -> int:
        raise reason

    class Gone(io.BytesIO):
        write = staticmethod(fail)  # type: ignore[assignment]

    monkeypatch.setattr(Output, "buffer", Gone())
    screen = Screen(out, Output(), clock)
    screen.pass_on(b"one", out)
    screen.pass_on(b"two", out)
    screen.say("three")
