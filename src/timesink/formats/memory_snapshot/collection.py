"""EventColumns, segments and blocks of a snapshot as columns, taken out while the pickle is read.

An event of a snapshot is a dictionary of a kilobyte, most of it its call stack.  What is taken out
is emptied, and a stack is left as its number: a reference that comes later finds it there.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from timesink.formats.plain_pickle import Stack, brief_repr, plain_text

ACTIONS = (
    *("alloc", "free_requested", "free_completed"),
    *("segment_alloc", "segment_free", "segment_map", "segment_unmap"),
    *("oom", "snapshot", "workspace_snapshot", "user_defined"),
)
"""What an allocator records; other words are counted and left out."""
CODE_OF = {action: code for code, action in enumerate(ACTIONS)}
NO_STACK = 0
MAX_FRAMES = 512
"""Frames of one stack: deeper ones lose their outermost."""
MAX_NAME = 300
"""Characters of a function's name; C++ templates have thousands."""
_NUMBERS = ("addr", "size", "stream", "time_us")
_FIELDS = itemgetter("action", *_NUMBERS)
_NO_CONTEXT = ("", "N/A")
_PLACES = ("site-packages/", "dist-packages/")
_LARGEST = 2**64

Event: TypeAlias = tuple[int, int, int, int, int, int, int]
"""Action, address, size, stream, microseconds, stack, annotation: numbers of the latter two."""


class EventColumns:
    """The events of a device, column by column, in the order they were recorded."""

    def __init__(self, columns: Sequence[Any] = ()) -> None:
        self._columns: list[Any] = [*columns] or [array(code) for code in "BQQQQLL"]

    def extend(self, rows: Sequence[Event]) -> None:
        """Further events."""
        for column, values in zip(self._columns, zip(*rows, strict=True), strict=bool(rows)):
            column.extend(values)

    def extend_columns(self, columns: Sequence[array[int]]) -> None:
        """The same, column by column."""
        for column, values in zip(self._columns, columns, strict=True):
            column.extend(values)

    def __len__(self) -> int:
        return len(self._columns[0])

    def columns(self) -> dict[str, NDArray[Any]]:
        """Each column by its name."""
        names = ("action", "address", "bytes", "stream", "time_us", "stack", "annotation")
        return {
            name: np.frombuffer(column, dtype=f"u{column.itemsize}")
            for name, column in zip(names, self._columns, strict=False)
        }


class _StackNumber:
    """What is left of a stack that was read: its number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class StackTable:
    """Call stacks as text, each once; a number for each, 0 for none.

    >>> stacks = StackTable()
    >>> frames = [{"filename": "a.py", "line": 3, "name": "forward"}]
    >>> stacks.number(frames), stacks.number(frames), stacks.texts
    (1, 1, ['', 'a.py(3): forward'])
    """

    def __init__(self) -> None:
        self.texts = [""]
        self._left = [[_StackNumber(NO_STACK)]]
        self._by_text: dict[str, int] = {"": NO_STACK}
        self._by_frames: dict[tuple[int, ...], int] = {}
        self._frame_texts: dict[int, str] = {}
        self._referred: list[Any] = []  # numbers of objects are theirs while they live

    def number(self, frames: Any) -> int:
        """The number of a stack; its frames are replaced by it."""
        if not isinstance(frames, list) or not frames:
            return NO_STACK
        first = frames[0]
        if isinstance(first, _StackNumber):
            return first.number
        key = tuple(map(id, frames))
        number = self._by_frames.get(key)
        if number is None:
            self._referred += frames
            text = ";".join(filter(None, map(self._frame_text, frames[:MAX_FRAMES])))
            number = self._by_text.setdefault(text, len(self.texts))
            if number == len(self.texts):
                self.texts.append(text)
                self._left.append([_StackNumber(number)])
                self._by_frames[id(self._left[number][0]),] = number
            self._by_frames[key] = number
        frames[:] = self._left[number]
        return number

    def numbers(self, stacks: Iterable[Any]) -> list[int]:
        """The numbers of many stacks; the same as `number` of each."""
        known, left = self._by_frames, self._left
        numbers = []
        for frames in stacks:
            # What was replaced by its number is known by that.
            number = known.get(tuple(map(id, frames))) if type(frames) is list else None
            if number is None:
                number = self.number(frames)
            elif number:
                frames[:] = left[number]
            numbers.append(number)
        return numbers

    def _frame_text(self, frame: Any) -> str:
        known = self._frame_texts.get(id(frame))
        if known is None:
            known = self._frame_texts[id(frame)] = frame_text(frame)
        return known


def frame_text(frame: Any) -> str:
    """A frame as call stacks of recordings have it: `file(line): function`."""
    if not isinstance(frame, dict):
        return ""
    name, file, line = (frame.get(key) for key in ("name", "filename", "line"))
    name = name if isinstance(name, str) else "?"
    name = name[:MAX_NAME].replace(";", ",").replace("\n", " ")
    if not isinstance(file, str) or file in {"", "??"}:
        return name
    for place in _PLACES:
        file = file.rpartition(place)[2]
    file = file[-MAX_NAME:].replace(";", ",").replace("\n", " ")
    return f"{file}({line if isinstance(line, int) else 0}): {name}"


class Collection:
    """What a snapshot holds, device by device, and what of it could not be used."""

    def __init__(self, stacks: StackTable | None = None) -> None:
        self.stacks = StackTable() if stacks is None else stacks
        self.segments: list[dict[str, Any]] = []
        """Of each: its numbers, and its blocks as tuples."""
        self.lost: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.annotations: dict[str, int] = {"": 0}
        """What the program said about allocations, with a number for each."""
        self._events: defaultdict[int, EventColumns] = defaultdict(EventColumns)
        self._lists: list[Any] = []  # as long as they are here, no other has their number

    def drain(self, stack: Stack) -> None:
        """Take what is complete out of the lists that are being filled."""
        for level in stack:
            for value in level:
                if not isinstance(value, list) or not value or not isinstance(value[0], dict):
                    continue
                if "action" in value[0]:
                    self._take_events(value)
                elif "total_size" in value[0]:
                    self.take_segments(value)

    def finish(self, value: Mapping[str, Any]) -> list[EventColumns]:
        """Take the rest of a snapshot; the events of each device."""
        for part in ("segments", "device_traces"):
            if not isinstance(value.get(part), list):
                self.lose("missing_part", part)
        segments = value.get("segments")
        if isinstance(segments, list):
            self.take_segments(segments)
        traces = value.get("device_traces")
        events = []
        for trace in traces if isinstance(traces, list) else ():
            if isinstance(trace, list):
                self._take_events(trace)
                events.append(self._events[id(trace)])
            else:
                self.lose("bad_value", f"a list of events is a {type(trace).__name__}")
                events.append(EventColumns())
        return events

    def lose(self, code: str, example: str, count: int = 1) -> None:
        """Count something that could not be used."""
        self.lost[code] += count
        self.examples.setdefault(code, example)

    def annotation_number(self, text: str) -> int:
        """The number of what the program said about an allocation; 0 where it said nothing."""
        if text in _NO_CONTEXT:
            return 0
        return self.annotations.setdefault(text[:MAX_NAME], len(self.annotations))

    # events

    def _take_events(self, values: list[Any]) -> None:
        taken, values[:] = values[:], []
        self._lists.append(values)
        into = self._events[id(values)]
        # Most events are as they should be, and taking them one by one takes thrice as long.
        columns = self._plain_events(taken)
        if columns is not None:
            into.extend_columns(columns)
            deque(map(dict.clear, taken), maxlen=0)
            return
        into.extend([row for row in map(self._event, taken) if row is not None])

    def _plain_events(self, taken: list[Any]) -> list[array[int]] | None:
        """The columns of events; None where one of them is odd, and each has to be looked at."""
        try:
            action, *numbers = zip(*map(_FIELDS, taken), strict=True)
            notes = [event.get("user_metadata") or "" for event in taken]
            # Of values that nest a hash may be endless, or exhaust the stack.
            if {*map(type, action), *map(type, notes)} != {str}:
                return None
            codes = array("B", map(CODE_OF.__getitem__, action))
            columns = [codes, *(array("Q", values) for values in numbers)]
            if any(note not in _NO_CONTEXT for note in set(notes)):
                return None
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
            return None
        stacks = array("L", self.stacks.numbers(event.get("frames") for event in taken))
        return [*columns, stacks, array("L", bytes(stacks.itemsize * len(stacks)))]

    def _event(self, event: Any) -> Event | None:
        if not isinstance(event, dict):
            self.lose("not_an_event", type(event).__name__)
            return None
        try:
            action, address, size, stream, time_us = _FIELDS(event)
        except KeyError:
            action = event.get("action")
            address = event.get("addr", event.get("device_free", 0))
            size, stream, time_us = (event.get(key, 0) for key in _NUMBERS[1:])
        code = CODE_OF.get(action) if isinstance(action, str) else None
        if code is None:
            self.lose("unknown_action", brief_repr(action)[:60])
            return None
        if not (_is_count(address) and _is_count(size) and _is_count(time_us)):
            odd = ", ".join(brief_repr(value)[:40] for value in (address, size, time_us))
            self.lose("bad_value", f"an event with {odd}")
            return None
        stack = self.stacks.number(event.get("frames"))
        annotation, number = event.get("user_metadata"), 0
        if isinstance(annotation, str):
            number = self.annotation_number(annotation)
        event.clear()
        return code, address, size, stream if _is_count(stream) else 0, time_us, stack, number

    # segments

    def take_segments(self, values: list[Any]) -> None:
        """Take segments and their blocks; the list is empty then."""
        taken, values[:] = values[:], []
        for segment in taken:
            if not isinstance(segment, dict) or not _is_count(segment.get("total_size")):
                self.lose("bad_value", f"a segment: {type(segment).__name__}")
                continue
            blocks = segment.get("blocks")
            self.segments.append(
                {
                    **{key: segment.get(key) for key in _OF_SEGMENT},
                    "frames": self.stacks.number(segment.get("frames")),
                    "blocks": list(
                        self._blocks(segment, blocks if isinstance(blocks, list) else [])
                    ),
                }
            )
            segment.clear()

    def _blocks(self, segment: Mapping[str, Any], blocks: Iterable[Any]) -> Iterable[_Block]:
        """The blocks of a segment; older snapshots do not say where each begins."""
        start = segment.get("address")
        address: int = start if _is_count(start) else 0
        for block in blocks:
            if not isinstance(block, dict) or not _is_count(block.get("size")):
                self.lose("bad_value", f"a block: {type(block).__name__}")
                continue
            size, place = block["size"], block.get("address")
            address = place if _is_count(place) else address
            # Snapshots before 2023 have a list of past allocations in place of these two.
            history = block.get("history")
            past = history[0] if isinstance(history, list) and history else None
            past = past if isinstance(past, dict) else {}
            requested: Any = block.get("requested_size", past.get("real_size", size))
            yield (
                *(address, size, requested if _is_count(requested) else size),
                plain_text(block.get("state")),
                self.stacks.number(block.get("frames", past.get("frames"))),
            )
            address += size


_Block: TypeAlias = tuple[int, int, int, str, int]
"""Address, size, requested size, state, stack."""
_OF_SEGMENT = (
    *("device", "address", "total_size", "allocated_size", "active_size", "requested_size"),
    *("stream", "segment_type", "segment_pool_id", "is_expandable"),
)


def _is_count(value: Any) -> TypeGuard[int]:
    """Whether a value is a whole number that a column can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST
