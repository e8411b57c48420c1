"""Processes as recorders write them: a number, or `host(1234)`."""

from __future__ import annotations

import re

_ON_HOST = re.compile(r"^(?P<host>.+)\((?P<pid>\d+)\)$")


def host_and_pid(process: str) -> tuple[str | None, str]:
    """The machine a recorded process names, and its number there.

    >>> host_and_pid("node1(1234)"), host_and_pid("944615")
    (('node1', '1234'), (None, '944615'))
    """
    found = _ON_HOST.match(process)
    return (found["host"], found["pid"]) if found else (None, process)
