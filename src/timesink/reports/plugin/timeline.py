"""The trace file itself with counters of the devices' utilisation, as text in blocks.

A file that is valid JSON is passed through: what is added goes in front of its events, and only
slices that cross others on their lane are touched.  A damaged file, and one of another format, is
written anew from the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from timesink.analyses.once import once_per_trace
from timesink.errors import UnreadableError
from timesink.model.trace import Trace
from timesink.readers.chrome.container import split_head
from timesink.readers.source import SourceFile, open_source
from timesink.reports.plugin.query import Query
from timesink.reports.plugin.timeline_counters import counter_events
from timesink.reports.plugin.timeline_lanes import Moves, find_moves, moved_text
from timesink.reports.plugin.timeline_text import is_valid_json, text_blocks, without_mark
from timesink.writers.chrome_json import Event, write_chrome_json

_CHROME_FORMATS = ("kineto", "chrome")
_BATCH = 10_000
_BETWEEN = b",\n"

_encode = msgspec.json.Encoder(decimal_format="number").encode


def trace_view(trace: Trace, _query: Query) -> Iterator[bytes]:
    """The trace with utilisation counters in front of its events, as JSON text in blocks."""
    added = counter_events(trace)
    if _can_pass_through(trace):
        moves = find_moves(trace)
        source = open_source(Path(trace.metadata.source))
        blocks = _with_events(source, chain(added, moves.tracks), moves)
    else:
        blocks = _written_anew(trace, added)
    # What cannot be opened or written shows before the first block is given out.
    return chain([next(blocks)], blocks)


@once_per_trace
def _can_pass_through(trace: Trace) -> bool:
    """Whether the file is JSON as it stands; health tells only of damage that cost something."""
    return (
        trace.metadata.format in _CHROME_FORMATS
        and Path(trace.metadata.source).is_file()
        and is_valid_json(open_source(Path(trace.metadata.source)))
    )


def _written_anew(trace: Trace, added: Iterable[Event]) -> Iterator[bytes]:
    with TemporaryDirectory(prefix="timesink-") as folder:
        file = Path(folder) / "trace.json.gz"
        write_chrome_json(trace, file)
        yield from _with_events(open_source(file), added, Moves())


def _with_events(source: SourceFile, added: Iterable[Event], moves: Moves) -> Iterator[bytes]:
    parts = split_head(text_blocks(source))
    if parts is None:
        raise UnreadableError.damaged(
            source.path, "its list of events is gone", "it changed after it was read; try again"
        )
    head, bare, events = parts
    waiting = iter(added)
    # Many at once.
    batches = iter(lambda: list(islice(waiting, _BATCH)), [])
    texts = (_BETWEEN.join(map(_encode, batch)) for batch in batches)
    first = next(texts, b"")
    yield without_mark(head) + first
    for text in texts:
        yield _BETWEEN + text
    start = _up_to_text(events)
    if first and not start.lstrip().startswith(b"]"):
        yield _BETWEEN
    yield from moved_text(chain([start], events), moves, bare=bare)


def _up_to_text(blocks: Iterator[bytes]) -> bytes:
    """Blocks up to the first that is not white space."""
    gathered = b""
    for block in blocks:
        gathered += block
        if gathered.strip():
            break
    return gathered
