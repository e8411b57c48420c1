"""Changes of a program as they are asked for: an action, on what a selector names.

kernel:PATTERN     kernels by name             op:PATTERN      host calls, with the work they launch
copy:PATTERN       copies by name              host:PATTERN    host calls, without that work
sync:PATTERN       waits for the device, by the call that waits or one around it
call:PATTERN       runtime calls by name       communication   collectives
loading            data loading                cycle           everything
outside            what threads do outside of calls, as Python code between operators
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from timesink.errors import UsageError

SORTS = ("kernel", "copy", "op", "host", "self", "call", "sync")
"""Selectors that take a pattern."""
_WHOLE = ("communication", "loading", "outside", "cycle")
_ON: dict[str, tuple[str, ...]] = {
    "scale": (*SORTS, *_WHOLE),
    "remove": (*SORTS, "communication", "loading", "outside"),
    "fuse": ("op",),
    "graph": ("op", "cycle"),
    "overlap": ("kernel", "copy", "op", "communication"),
}
"""What each action can be done to; those that are not here take no selector."""
ACTIONS = (*_ON, "device", "loader-workers", "batch")
_EXAMPLES = {
    "scale": "kernel:flash*=0.5",
    "remove": "sync:aten::item",
    "fuse": "Optimizer.step",
    "graph": "cycle",
    "overlap": "communication",
    "device": "H100:B200",
    "loader-workers": "4",
    "batch": "2",
}
_PATTERN = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class AskedChange:
    """One change of a program.

    >>> parse_change("scale", "kernel:flash*=0.5")
    AskedChange(action='scale', sort='kernel', pattern='flash*', factor=0.5)
    """

    action: str
    sort: str = "cycle"
    pattern: str = "*"
    factor: float = 0.0
    """What lengths are multiplied by; of `loader-workers` how many there are."""

    @property
    def value(self) -> str:
        """What its option is given."""
        if self.action == "device":
            return self.pattern
        if self.action in ("loader-workers", "batch"):
            return f"{self.factor:g}"
        what = self.sort if self.sort in _WHOLE else f"{self.sort}:{self.pattern}"
        return f"{what}={self.factor:g}" if self.action == "scale" else what

    @property
    def text(self) -> str:
        """The option that asks for it.

        >>> parse_change("remove", "sync:aten::item").text
        '--remove sync:aten::item'
        """
        return f"--{self.action} {shlex.quote(self.value)}"

    @property
    def only_shortens(self) -> bool:
        """Whether nothing takes longer after it."""
        return self.action in ("remove", "fuse", "overlap", "loader-workers") or (
            self.action == "scale" and self.factor <= 1
        )

    @property
    def only_lengthens(self) -> bool:
        """Whether nothing takes less after it."""
        return self.action in ("scale", "batch") and self.factor >= 1


def change_of(asked: str | AskedChange) -> AskedChange:
    """A change in words: an option of the command line and its value, dashes or not.

    >>> change_of("remove sync:aten::item") == change_of("--remove sync:aten::item")
    True
    """
    if isinstance(asked, AskedChange):
        return asked
    action, _, value = asked.strip().lstrip("-").partition(" ")
    return parse_change(action, value.strip().strip("'\"") or "cycle" * (action == "graph"))


def parse_change(action: str, text: str) -> AskedChange:
    """The change an option asks for; refused in a sentence where it makes no sense."""
    if action not in ACTIONS:
        raise UsageError(f"{action!r} is no change", f"there are {', '.join(ACTIONS)}")
    if action == "device":
        if not re.fullmatch(r"[^:]+:[^:]+", text):
            raise _refused(action, text, "not two devices")
        return AskedChange(action, pattern=text)
    if action == "batch":
        return AskedChange(action, factor=_number(action, text, least=0.01))
    if action == "loader-workers":
        return AskedChange(action, "loading", factor=_number(action, text, least=1.0))
    if action != "scale":
        return AskedChange(action, *_selected(action, text, text))
    what, found, number = text.rpartition("=")
    if not found:
        raise _refused(action, text, "no factor")
    return AskedChange(action, *_selected(action, text, what), _number(action, number))


def _selected(action: str, text: str, what: str) -> tuple[str, str]:
    """The selector of an action, and its pattern."""
    sort, found, pattern = what.partition(":")
    if what in _WHOLE:
        sort, found, pattern = what, ":", "*"
    elif action == "fuse" and sort not in SORTS:
        sort, found, pattern = "op", ":", what
    if not found or not pattern or sort not in (*SORTS, *_WHOLE):
        raise _refused(action, text, "nothing that can be chosen")
    if sort not in _ON[action]:
        takes = ", ".join(one if one in _WHOLE else f"{one}:PATTERN" for one in _ON[action])
        raise UsageError(
            f"--{action} {text}: that cannot be done to {sort}", f"--{action} takes {takes}"
        )
    return sort, pattern


_MOST = 1e6
"""By more nothing is scaled that anybody means."""


def _number(action: str, text: str, least: float = 0.0) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if action == "loader-workers" and value == math.inf:
        return value
    if not least <= value <= _MOST:
        raise _refused(action, text, f"not a number from {least:g} to {_MOST:g}")
    return value


def _refused(action: str, text: str, why: str) -> UsageError:
    given = f" {text}" if text else ""
    return UsageError(f"--{action}{given}: {why}", f"try --{action} '{_EXAMPLES[action]}'")


def fitting(
    pattern: str, texts: Iterable[str], short: Callable[[str], str] | None = None
) -> Callable[[str], bool]:
    """Whether a name, whole or short, fits a pattern.

    A text without stars means what is called so, up to its `#`; if nothing is, what has it in its
    name.

    >>> called = ["aten::add", "aten::addmm"]
    >>> [one for one in called if fitting("aten::add", called)(one)]
    ['aten::add']
    >>> [one for one in called if fitting("add", called)(one)]
    ['aten::add', 'aten::addmm']
    >>> fitting("Optimizer.step", ["Optimizer.step#AdamW.step"])("Optimizer.step#AdamW.step")
    True
    """
    wanted = pattern.lower()
    forms = {
        text: {
            text.lower(),
            text.lower().partition("#")[0] or text.lower(),
            short(text).lower() if short else "",
        }
        for text in set(texts)
    }
    if not _PATTERN.search(wanted):
        called = {text for text, each in forms.items() if wanted in each}
        if called:
            return called.__contains__
        wanted = f"*{wanted}*"
    found = {text for text, each in forms.items() if any(fnmatchcase(one, wanted) for one in each)}
    return found.__contains__
