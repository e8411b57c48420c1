"""What is known of the graphs that a recording replays, apart from its tables."""

from __future__ import annotations

import msgspec


class CaptureUse(msgspec.Struct, frozen=True):
    """A captured graph, and how much of the recording is replays of it."""

    source: str
    """The file that says what was captured."""
    label: str
    nodes: int
    """Pieces of work in the graph."""
    replays: int
    work: int
    """Pieces of work that these replays ran."""
    named_work: int
    """Those of them that have their call from the capture."""
    memory_bytes: int | None = None
    is_eager: bool = False


class CaptureFailure(msgspec.Struct, frozen=True):
    """A graph that the program could not capture."""

    reason: str
    place: str = ""
    """Where in the program, as file and line."""
    times: int = 1


class GraphFacts(msgspec.Struct, frozen=True):
    """What captures say about a recording."""

    captures: tuple[CaptureUse, ...] = ()
    failures: tuple[CaptureFailure, ...] = ()
    of_replay: tuple[int, ...] = ()
    """For each replay, in the order of their calls, the place among `captures`; -1 for none."""
