"""What baselines may be called: a name is a file in every store, and never a way out of it."""

from __future__ import annotations

import re

from timesink.errors import UsageError

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MARK = "@"


def is_reference(text: str) -> bool:
    """Whether a baseline is meant, and no path."""
    return text.startswith(_MARK)


def checked_name(text: str) -> str:
    """The name of a baseline, given with its @ or without; refused where it is not safe."""
    name = text.removeprefix(_MARK)
    if _SAFE.fullmatch(name) is None:
        raise UsageError(
            f"{text!r} cannot be the name of a baseline",
            "begin with a letter or a digit; letters, digits, . _ and - may follow, 100 in all",
        )
    return name


def reference(name: str) -> str:
    """How a baseline is named where paths are."""
    return f"{_MARK}{name}"
