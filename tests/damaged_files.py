"""Files damaged by a seeded generator, and what may become of them."""

from __future__ import annotations

import random
from pathlib import Path

from timesink.errors import TimesinkError
from timesink.formats.source_file import read_trace
from timesink.model.trace import Trace


def damage(content: bytes, label: str, *, first: int = 0) -> bytes:
    """The content with some bits flipped, and bytes lost, added or repeated behind the first."""
    rng = random.Random(label)  # noqa: S311 - repeatable, not secret
    data = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(min(first, len(data) - 1), len(data))
        sort = rng.randrange(5)
        if sort == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif sort == 1:
            del data[at : at + rng.randint(1, 60)]
        elif sort == 2:
            data[at:at] = rng.randbytes(rng.randint(1, 12))
        elif sort == 3:
            data = data[: max(at, 20)]
        else:
            other = rng.randrange(len(data))
            data[at:at] = data[other : other + rng.randint(1, 200)]
    return bytes(data)


def read_or_refused(path: Path) -> Trace | None:
    """The trace of a file; None where an error of one line refuses it."""
    message = ""
    try:
        return read_trace(path)
    except TimesinkError as error:
        message = error.message
    assert message
    assert "\n" not in message
    return None
