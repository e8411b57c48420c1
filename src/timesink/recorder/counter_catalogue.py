"""Every counter there is, for the command line and for the page that lists them all."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from timesink.errors import UsageError

_DATA = Path(__file__).with_name("counters.csv")
HOST = "Host"
"""Label of what belongs to the machine and to no device of it."""

GROUPS = {
    "gpu": "devices and their links, own and others' use of them",
    "cpu": "processors: use, clock, what a quota or another machine takes",
    "process": "the program itself: processor time, waits for a core, memory",
    "memory": "memory and swap of the host",
    "psi": "pressure: time in which something waited for a core, memory or a disk",
    "disk": "disks",
    "network": "network cards and InfiniBand",
}
"""What can be asked for at once, and what it is about."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One column of figures that a sampler writes."""

    name: str
    group: str
    """A key of `GROUPS`."""
    unit: str
    source: str
    """Where the figure comes from."""
    tells: str
    missing: str
    """When it cannot be had."""


def _read() -> tuple[Counter, ...]:
    """What `counters.csv` beside this file lists; one line is one counter."""
    with _DATA.open(encoding="utf-8", newline="") as file:
        return tuple(Counter(**row) for row in csv.DictReader(file))


COUNTERS = _read()
"""In the order of the page that lists them."""
GPU_COUNTERS = tuple(each for each in COUNTERS if each.group == "gpu")


def wanted(text: str) -> frozenset[str]:
    """The counters that a list of groups, names and globs asks for."""
    words = [word for part in text.split(",") if (word := part.strip())]
    if words == ["none"]:
        return frozenset()
    hint = f"give all, none, or a list of {', '.join(GROUPS)} and names such as gpu_power*"
    if not words:
        raise UsageError("no counters are named", hint)
    found: set[str] = set()
    for word in words:
        named = {
            each.name
            for each in COUNTERS
            if word in ("all", each.group) or fnmatchcase(each.name, word.lower())
        }
        if not named:
            raise UsageError(f"no counter is called {word!r}", hint)
        found |= named
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Missing:
    """A counter that was asked for and is not in the file, or not all of it."""

    counter: str
    why: str


def missing_in_words(missing: Iterable[Missing], most: int = 3) -> tuple[str, ...]:
    """A line for each reason, with the first counters it is the reason for."""
    counters: dict[str, list[str]] = {}
    for one in missing:
        counters.setdefault(one.why, []).append(one.counter)
    lines = []
    for why, names in counters.items():
        more = f" and {len(names) - most} more" if len(names) > most else ""
        lines.append(f"{', '.join(names[:most])}{more}: {why or 'no reason given'}")
    return tuple(lines)
