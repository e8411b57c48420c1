"""Calls for engines to make: they work, refuse, break, wait, or take their process with them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import NoReturn

from timesink.errors import UnreadableError
from timesink.runtime.engine import Call


def call(function: str, **arguments: object) -> Call:
    return Call("engine_calls", function, arguments)


def echo(item: object) -> bytes:
    return str(item).encode()


def chatter(item: object) -> bytes:
    print("this is not an answer")  # noqa: T201
    os.write(1, b"nor is this")
    return echo(item)


def refuse(item: str) -> NoReturn:
    raise UnreadableError.empty(item)


def break_down(item: str) -> NoReturn:
    raise KeyError(item)


def exit_at_once(item: str) -> NoReturn:
    raise SystemExit(item)


def take_all_memory(item: str) -> bytes:
    if item == "large":
        raise MemoryError
    return echo(item)


def die(item: str, *, often: int, notes: Path) -> bytes:
    """Die at the item called `deadly`, the first `often` times."""
    if item == "deadly":
        with (notes / "deaths").open("a+") as deaths:
            deaths.seek(0)
            if len(deaths.read()) < often:
                deaths.write("x")
                deaths.flush()
                os.kill(os.getpid(), signal.SIGKILL)
    return echo(item)


def wait_for(item: str, *, notes: Path) -> bytes:
    """At the item called `slow`, wait until somebody says that it may go on."""
    (notes / f"{os.getpid()}.pid").touch()
    while item == "slow" and not (notes / "go").exists():
        time.sleep(0.01)
    return echo(item)


def process(_: object) -> bytes:
    return str(os.getpid()).encode()


def act(item: object, *, notes: Path) -> bytes:
    """Do what the item says: one of all this."""
    if item == "deadly":
        return die("deadly", often=1, notes=notes)
    if item == "here":
        return str(Path.cwd()).encode()
    for broken in (refuse, break_down, exit_at_once):
        if item == broken.__name__:
            broken(broken.__name__)
    return echo(item)
