"""Regular expressions that are compiled when they are first used.

The package has hundreds, and a command needs a few dozen of them: to compile all of them takes
longer than to read a small recording.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast

_METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")


class _Regex(Generic[AnyStr]):
    """Has the face of `re.Pattern`."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Not asked again for what the instance then has.
        compiled = re.compile(self._pattern, self._flags)
        vars(self).update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)

    def __reduce__(self) -> tuple[Any, tuple[AnyStr, int]]:
        return regex, (self._pattern, self._flags)


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    r"""A regular expression; what is wrong with one shows when it is first used.

    Functions of `re` do not take it: it has the methods that they have.

    >>> from timesink.patterns import regex
    >>> regex(r"rank(\d+)").search("train_rank7.json")[1]
    '7'
    """
    return cast("re.Pattern[AnyStr]", _Regex(pattern, flags))
