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
from fnmatch import fnmatchcase

import msgspec

from timesink.errors import UsageError
from timesink.patterns import regex

SORTS = ("kernel", "copy", "op", "host", "self", "call", "sync")
"""Selectors that take a pattern."""
_WITHOUT_PATTERN = ("communication", "loading", "outside", "cycle")
_ON: dict[str, tuple[str, ...]] = {
    "scale": (*SORTS, *_WITHOUT_PATTERN),
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
_PATTERN = regex(r"[*?\[]")


class AskedChange(msgspec.Struct, frozen=True):
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
        what = self.sort if self.sort in _WITHOUT_PATTERN else f"{self.sort}:{self.pattern}"
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


def change_of(spec: str | AskedChange) -> AskedChange:
    """A change in words: an option of the command line and its value, dashes or not.

    >>> change_of("remove sync:aten::item") == change_of("--remove sync:aten::item")
    True
    """
    if isinstance(spec, AskedChange):
        return spec
    action, _, value = spec.strip().lstrip("-").partition(" ")
    return parse_change(action, value.strip().strip("'\"") or "cycle" * (action == "graph"))


def parse_change(action: str, text: str) -> AskedChange:
    """The change an option asks for; refused in a sentence where it makes no sense."""
    if action not in ACTIONS:
        raise UsageError(f"{action!r} is no change", f"there are {', '.join(ACTIONS)}")
    if action == "device":
        if not re.fullmatch(r"[^:]+:[^:]+", text):
            raise _refusal(action, text, "not two devices")
        return AskedChange(action, pattern=text)
    if action == "batch":
        return AskedChange(action, factor=_number(action, text, least=0.01))
    if action == "loader-workers":
        return AskedChange(action, "loading", factor=_number(action, text, least=1.0))
    if action != "scale":
        return AskedChange(action, *_parse_selector(action, text, text))
    what, separator, number = text.rpartition("=")
    if not separator:
        raise _refusal(action, text, "no factor")
    return AskedChange(action, *_parse_selector(action, text, what), _number(action, number))


def _parse_selector(action: str, text: str, what: str) -> tuple[str, str]:
    """The selector of an action, and its pattern."""
    sort, separator, pattern = what.partition(":")
    if what in _WITHOUT_PATTERN:
        sort, separator, pattern = what, ":", "*"
    elif action == "fuse" and sort not in SORTS:
        sort, separator, pattern = "op", ":", what
    if not separator or not pattern or sort not in (*SORTS, *_WITHOUT_PATTERN):
        raise _refusal(action, text, "nothing that can be chosen")
    if sort not in _ON[action]:
        takes = ", ".join(
            selector if selector in _WITHOUT_PATTERN else f"{selector}:PATTERN"
            for selector in _ON[action]
        )
        raise UsageError(
            f"--{action} {text}: that cannot be done to {sort}", f"--{action} takes {takes}"
        )
    return sort, pattern


_MAX_SCALE = 1e6
"""By more nothing is scaled that anybody means."""


def _number(action: str, text: str, least: float = 0.0) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if action == "loader-workers" and value == math.inf:
        return value
    if not least <= value <= _MAX_SCALE:
        raise _refusal(action, text, f"not a number from {least:g} to {_MAX_SCALE:g}")
    return value


def _refusal(action: str, text: str, why: str) -> UsageError:
    value = f" {text}" if text else ""
    return UsageError(f"--{action}{value}: {why}", f"try --{action} '{_EXAMPLES[action]}'")


def name_filter(
    pattern: str, texts: Iterable[str], short: Callable[[str], str] | None = None
) -> Callable[[str], bool]:
    """Whether a name, whole or short, fits a pattern.

    A text without stars means what is called so, up to its `#`; if nothing is, what has it in its
    name.

    >>> called = ["aten::add", "aten::addmm"]
    >>> [one for one in called if name_filter("aten::add", called)(one)]
    ['aten::add']
    >>> [one for one in called if name_filter("add", called)(one)]
    ['aten::add', 'aten::addmm']
    >>> name_filter("Optimizer.step", ["Optimizer.step#AdamW.step"])("Optimizer.step#AdamW.step")
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
        called = {text for text, spellings in forms.items() if wanted in spellings}
        if called:
            return called.__contains__
        wanted = f"*{wanted}*"
    matches = {
        text
        for text, spellings in forms.items()
        if any(fnmatchcase(spelling, wanted) for spelling in spellings)
    }
    return matches.__contains__
