"""A load beside a program: started with it, held until the word, ended after it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from timesink.collect.processes import end_family, family, signal_family
from timesink.lab.faults.fault import SCRATCH

_GRACE_S = 20.0


@contextmanager
def beside(
    load: Sequence[str], scratch: Path, environment: Mapping[str, str], log: IO[str]
) -> Iterator[subprocess.Popen[str] | None]:
    """Run a load, if there is one; `scratch` is where it may write."""
    if not load:
        yield None
        return
    module, *arguments = (word.replace(SCRATCH, str(scratch)) for word in load)
    command = [sys.executable, "-m", f"timesink.lab.loads.{module}", *arguments]
    # No session of its own: Linux shares processors out by session first, and all processes of a
    # load would together get no more than the program.
    process = subprocess.Popen(  # noqa: S603 - our own module
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, text=True,
        env=dict(environment),
    )  # fmt: skip
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Ask it and all it started to end, then end them; one that ended by itself is left alone."""
    if process.poll() is not None:
        return
    members = family(process.pid)
    signal_family(members, signal.SIGTERM)
    end_family(members, _GRACE_S)
    # A process that hangs in a driver survives even that, and must not hold up the others.
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
