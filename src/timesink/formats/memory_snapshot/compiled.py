"""Snapshots read by compiled code: the same columns, without an object for each event.

Compiled code refuses whatever is unusual. The file is then read in Python, from its beginning.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from timesink.formats.memory_snapshot.collection import (
    ACTIONS,
    MAX_FRAMES,
    NO_STACK,
    Collection,
    EventColumns,
    StackTable,
    frame_text,
)
from timesink.formats.source_file import SourceFile
from timesink.runtime.native import native_module

SnapshotParts: TypeAlias = tuple[Mapping[str, Any], Collection, list[EventColumns]]
"""The value of the pickle, what was taken out of it, and the events of each device."""
_COLUMN_TYPES = (np.uint8, np.uint64, np.uint64, np.uint64, np.uint64)
"""Action, address, size, stream, microseconds."""


class NumberedStacks(StackTable):
    """Stacks that have numbers already: here frames are given by theirs."""

    def __init__(
        self,
        frames: Sequence[tuple[str | None, str | None, int]],
        members: NDArray[np.uint32],
        starts: NDArray[np.int64],
    ) -> None:
        super().__init__()
        texts = [
            frame_text({"name": name, "filename": file, "line": line})
            for name, file, line in frames
        ]
        numbers, places = [], starts.tolist()
        for start, end in pairwise(places):
            stack = members[start : min(end, start + MAX_FRAMES)].tolist()
            text = ";".join(filter(None, map(texts.__getitem__, stack)))
            # Frames may differ, and their text not.
            number = self._by_text.setdefault(text, len(self.texts))
            if number == len(self.texts):
                self.texts.append(text)
            numbers.append(number)
        self.numbers_of = np.array(numbers, dtype=np.uint64)
        """The number of a text, by the number that compiled code gave to a stack."""

    def number(self, frames: Any) -> int:
        """The number of a stack."""
        return int(self.numbers_of[frames]) if type(frames) is int else NO_STACK


def compiled_parts(source: SourceFile) -> SnapshotParts | None:
    """What a snapshot holds; None where compiled code does not read it."""
    native = native_module()
    reader = native.snapshot_reader(int.from_bytes(os.urandom(8), "little"), list(ACTIONS))
    is_complete = False
    for block in source.blocks():
        is_complete = native.snapshot_feed(reader, block)
        if is_complete is not False:
            break
    result = native.snapshot_result(reader) if is_complete else None
    if result is None:
        return None
    value, traces, columns, frames, members, starts, notes = result
    stacks = NumberedStacks(
        frames, np.frombuffer(members, np.uint32), np.frombuffer(starts, np.int64)
    )
    collection = Collection(stacks)
    collection.take_segments(value["segments"])
    events = [_event_columns(part, notes, collection, stacks) for part in columns]
    none = EventColumns()
    of_device = [
        none if number < 0 else events[number] for number in np.frombuffer(traces, np.int64)
    ]
    return value, collection, of_device


def _event_columns(
    parts: Sequence[bytes],
    notes: Mapping[int, str],
    collection: Collection,
    stacks: NumberedStacks,
) -> EventColumns:
    """Columns of events, with the numbers that stacks and annotations have here."""
    columns = [
        np.frombuffer(part, kind) for part, kind in zip(parts[:5], _COLUMN_TYPES, strict=True)
    ]
    stack = stacks.numbers_of[np.frombuffer(parts[5], np.uint32)]
    note = np.frombuffer(parts[6], np.int32)
    annotation = np.zeros(len(note), dtype=np.uint64)
    present, first = np.unique(note, return_index=True)
    for code in present[np.argsort(first)].tolist():
        number = collection.annotation_number(notes[code]) if code >= 0 else 0
        if number:
            annotation[note == code] = number
    return EventColumns([*columns, stack, annotation])
