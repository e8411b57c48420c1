"""Make a large trace: a real recording repeated, with ids and times shifted each time."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from isal import igzip

_TIME = re.compile(rb'"ts": ?"?(\d+)')
_ID = re.compile(rb'"(?:External id|external id|correlation|id)": ?(\d+)')
_SHIFTED = re.compile(
    rb'("(?:(ts|External id|external id|correlation|id)": ?"?|name": ?"ProfilerStep#))(\d+)'
)
_GAP_US = 1000
_STEPS = 1000
"""By how much the numbers of steps are shifted."""


def repeat(source: Path, target: Path, events: int) -> tuple[int, int]:
    """Write at least `events` events; the number of events and the bytes of JSON written."""
    head, body, tail = _split(_content(source))
    per_copy = body.count(b'"ph":')
    times = [int(number) for number in _TIME.findall(body)]
    ids = [int(number) for number in _ID.findall(body)]
    # Marks at time zero are not moved: the span is that of the real events.
    span_us = max(times) - min(time for time in times if time) + _GAP_US
    copies = -(-events // per_copy)
    written = len(head) + len(tail)
    with igzip.open(target, "wb", compresslevel=1) as file:
        file.write(head)
        for text in _copies(body, copies, span_us, max(ids) + 1):
            file.write(text)
            written += len(text)
        file.write(tail)
    return copies * per_copy, written


def _content(source: Path) -> bytes:
    raw = source.read_bytes()
    return igzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


def _split(content: bytes) -> tuple[bytes, bytes, bytes]:
    start = content.index(b"[", content.index(b'"traceEvents"')) + 1
    end = content.rindex(b"]")
    return content[:start], content[start:end].rstrip(), content[end:]


def _copies(body: bytes, copies: int, span_us: int, id_range: int) -> Iterator[bytes]:
    for number in range(copies):

        def shifted(match: re.Match[bytes], number: int = number) -> bytes:
            step = {b"ts": span_us, None: _STEPS}.get(match.group(2), id_range)
            return match.group(1) + b"%d" % (int(match.group(3)) + step * number)

        yield (b"," if number else b"") + _SHIFTED.sub(shifted, body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--events", type=int, default=1_000_000)
    options = parser.parse_args()
    events, size = repeat(options.source, options.target, options.events)
    print(f"{options.target}: {events} events, {size / 1e6:.0f} MB of JSON")


if __name__ == "__main__":
    main()
