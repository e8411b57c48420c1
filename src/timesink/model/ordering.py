"""The order people expect of names with numbers in them."""

from __future__ import annotations

import re

_NUMBERS = re.compile(r"(\d+)")


def natural(text: str) -> list[tuple[int, str]]:
    """Sort key by which `GPU 2` comes before `GPU 10`."""
    parts = filter(None, _NUMBERS.split(text))
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
