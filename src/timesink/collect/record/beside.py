"""The process beside a program that records itself, as that program sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from timesink.collect.record.keeper import READY
from timesink.collect.record.places import RecordingFolder
from timesink.collect.record.plan import CONTROL_VARIABLE
from timesink.errors import CollectError

_SOURCES = Path(__file__).resolve().parents[3]
_KEEPER = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from timesink.collect.record.keeper import main; main()"
)
_FINISHES_S = 600.0
"""Packing a long timeline takes minutes; a driver that hangs must not stop the program for ever."""


def start_keeper(place: RecordingFolder) -> subprocess.Popen[bytes]:
    """The process beside the program, once it samples."""
    environment = {name: value for name, value in os.environ.items() if name != CONTROL_VARIABLE}
    try:
        keeper = subprocess.Popen(  # noqa: S603 - our own Python
            [sys.executable, "-c", _KEEPER, str(_SOURCES), str(place.control)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # Ctrl-C in the terminal is for the program.
            start_new_session=True,
        )
    except OSError as error:
        raise CollectError(
            f"the process beside the program cannot be started ({error.strerror or error})",
            "check sys.executable",
        ) from None
    if keeper.stdout is None or keeper.stdout.readline() != READY:
        keeper.communicate()
        raise CollectError(
            f"{place.folder}: the process beside the program has failed", "see its message above"
        )
    return keeper


def has_finished(keeper: subprocess.Popen[bytes]) -> bool:
    """Tell the keeper that the block has ended, and wait for what it makes of it."""
    with suppress(subprocess.TimeoutExpired):
        # Forks of the program hold its input open: the end of that would tell nothing.
        keeper.communicate(b"end\n", timeout=_FINISHES_S)
    return keeper.returncode == 0
