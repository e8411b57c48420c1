"""Graphs that a recording replays: how often, for how long, and where their names come from.

Work that a graph replays has no call of its own in a recording.  Where captures say which calls
launched it when the graph was made, it counts for these: see :mod:`timesink.captures.naming`.
"""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import (
    device_columns,
    device_kinds,
    device_names,
    memoize_per_trace,
    memoize_structure,
)
from timesink.analyses.forest import call_forest
from timesink.captures.replays import Replays, find_replays
from timesink.model.graph_facts import CaptureUse, GraphFacts
from timesink.model.intervals import Flags, Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("graph", "source"), pl.String()),
    **dict.fromkeys(("replays", "work", "device_ns", "named_ns"), pl.Int64()),
    "captured_pct": pl.Float64(),
    "memory_bytes": pl.Int64(),
}


class ReplayedWork(msgspec.Struct, frozen=True):
    """How much of the device work of a recording graphs replay, and how much of that has names."""

    graphs: int
    replays: int
    device_ns: int
    """All device work of the recording."""
    replayed_ns: int
    named_ns: int
    pieces: int
    named_pieces: int
    sources: tuple[str, ...]
    """Files that the names come from."""
    is_eager: bool
    """Whether they come from an eager recording."""
    failures: int
    """Captures that the program could not make."""


@memoize_structure
def replays_of(trace: Trace) -> Replays:
    """The replays of a recording, see :func:`timesink.captures.replays.find_replays`."""
    return find_replays(trace)


@memoize_structure
def captured_rows(trace: Trace) -> Flags:
    """Which rows of `trace.device` have their call from a capture.

    >>> import timesink
    >>> bool(captured_rows(timesink.open(timesink.sample())).any())
    False
    """
    column = trace.lazy("device").select("captured_call").collect(engine="in-memory")
    return np.asarray(column["captured_call"].is_not_null().to_numpy())


@memoize_structure
def captured_nodes(trace: Trace) -> Flags:
    """Which calls of the forest were made when a graph was captured, and not at its replay."""
    caller = trace.lazy("host").select(pl.col("kind").cast(pl.String)).collect()["kind"]
    is_captured = caller.str.starts_with("captured_").to_numpy()
    return np.asarray(is_captured[call_forest(trace).row])


@memoize_per_trace
def replayed_work(trace: Trace) -> ReplayedWork | None:
    """How much graphs replay; None where a recording replays none.

    >>> import timesink
    >>> replayed_work(timesink.open(timesink.sample())) is None
    True
    """
    replays = replays_of(trace)
    if not len(replays):
        return None
    facts = trace.metadata.graphs or GraphFacts()
    duration = device_columns(trace)["dur_ns"].to_numpy()
    named = captured_rows(trace)[replays.row]
    busy = device_kinds(trace).among(*BUSY_KINDS)
    used = [use for use in facts.captures if use.named_work]
    return ReplayedWork(
        graphs=int(_graph_of_replay(trace).max()) + 1,
        replays=len(replays),
        device_ns=int(duration[busy].sum()),
        replayed_ns=int(duration[replays.row].sum()),
        named_ns=int(duration[replays.row[named]].sum()),
        pieces=len(replays.row),
        named_pieces=int(named.sum()),
        sources=tuple(dict.fromkeys(use.source for use in used)),
        is_eager=any(use.is_eager for use in used),
        failures=sum(failure.times for failure in facts.failures),
    )


@memoize_per_trace
def graph_table(trace: Trace) -> pl.DataFrame:
    """One row per graph, the one that takes most first; graphs that run the same are one.

    >>> import timesink
    >>> graph_table(timesink.open(timesink.sample())).height
    0
    """
    replays = replays_of(trace)
    if not len(replays):
        return pl.DataFrame(schema=SCHEMA)
    facts = trace.metadata.graphs or GraphFacts()
    graph = _graph_of_replay(trace)
    pieces = np.diff(replays.first)
    duration = device_columns(trace)["dur_ns"].to_numpy()[replays.row]
    named = np.where(captured_rows(trace)[replays.row], duration, 0)
    sums = [np.add.reduceat(values, replays.first[:-1]) for values in (duration, named)]
    _, first = np.unique(graph, return_index=True)
    uses = [_use_of(facts, int(replay)) for replay in first.tolist()]
    rows = (
        pl.DataFrame({"number": graph, "work": pieces, "device_ns": sums[0], "named_ns": sums[1]})
        .group_by("number")
        .agg(
            pl.len().alias("replays"),
            pl.col("work").first(),
            pl.col("device_ns").sum(),
            pl.col("named_ns").sum(),
        )
        .sort("number")
        .with_columns(
            graph=pl.Series([_label(use, place) for place, use in enumerate(uses, 1)]),
            source=pl.Series([use and use.source for use in uses], dtype=pl.String),
            memory_bytes=pl.Series([use and use.memory_bytes for use in uses], dtype=pl.Int64),
            captured_pct=pl.when(pl.col("device_ns") > 0).then(
                100 * pl.col("named_ns") / pl.col("device_ns")
            ),
        )
        .sort("device_ns", "number", descending=[True, False])
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())


def _label(use: CaptureUse | None, number: int) -> str:
    """What a graph is called: as its capture is labelled, else by its number."""
    return f"graph {number}" + (f" ({use.label})" if use is not None and use.label else "")


def _use_of(facts: GraphFacts, replay: int) -> CaptureUse | None:
    place = facts.of_replay[replay] if replay < len(facts.of_replay) else -1
    return facts.captures[place] if 0 <= place < len(facts.captures) else None


@memoize_structure
def _graph_of_replay(trace: Trace) -> Ints:
    """A number per replay: equal where the same kernels run, of one capture if it is known."""
    replays = replays_of(trace)
    codes = device_names(trace).codes[replays.row]
    captures = (trace.metadata.graphs or GraphFacts()).of_replay
    place: dict[object, int] = {}
    graph = []
    for replay in range(len(replays)):
        capture = captures[replay] if replay < len(captures) else -1
        names = codes[replays.places(replay)].tobytes()
        graph.append(place.setdefault((capture, names), len(place)))
    return np.array(graph, dtype=np.int64)
