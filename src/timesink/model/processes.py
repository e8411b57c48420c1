"""Processes as recorders write them: a number, or `host(1234)`."""

from __future__ import annotations

import re

_ON_HOST = re.compile(r"^(?P<host>.+)\((?P<pid>\d+)\)$")


def host_and_pid(process: str) -> tuple[str | None, str]:
    """The machine a recorded process names, and its number there."""
    found = _ON_HOST.match(process)
    return (found["host"], found["pid"]) if found else (None, process)
