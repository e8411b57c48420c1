"""Ending a process and all it started."""

from __future__ import annotations

import signal
import subprocess

from timesink.collect.processes import end_family, family, signal_family

_GRACE_S = 20.0


def end(process: subprocess.Popen[str]) -> None:
    """Ask it to end, then end it; one that ended by itself is left alone."""
    if process.poll() is not None:
        return
    members = family(process.pid)
    signal_family(members, signal.SIGTERM)
    end_family(members, _GRACE_S)
    process.wait()
