"""Which counters were asked for."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase

from timesink.collect.counters.catalogue import COUNTERS
from timesink.collect.counters.counter import GROUPS, Wanted
from timesink.errors import UsageError

_ALL = "all"
_NONE = "none"


def wanted(text: str) -> Wanted:
    """What a list of groups, names and globs asks for.

    >>> sorted(wanted("psi,gpu_power*").counters)[:3]
    ['gpu_power_instant_mw', 'gpu_power_limit_mw', 'gpu_power_mw']
    >>> bool(wanted("none")), wanted("all").has("host_cpu_usage")
    (False, True)
    >>> wanted("gpus")
    Traceback (most recent call last):
    timesink.errors.UsageError: no counter is called 'gpus'
    """
    words = [word for part in text.split(",") if (word := part.strip())]
    if words in ([_ALL], [_NONE]):
        return Wanted(frozenset(each.name for each in COUNTERS if words == [_ALL]))
    if not words:
        raise UsageError("no counters are named", _hint())
    return Wanted(frozenset(name for word in words for name in _named(word)))


def _named(word: str) -> Collection[str]:
    found = [
        each.name
        for each in COUNTERS
        if word in (_ALL, each.group) or fnmatchcase(each.name, word.lower())
    ]
    if not found:
        raise UsageError(f"no counter is called {word!r}", _hint())
    return found


def _hint() -> str:
    return f"give all, none, or a list of {', '.join(GROUPS)} and names such as gpu_power*"
