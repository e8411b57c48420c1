"""A recording with the calls of its captures: at each replay those whose work it runs.

The calls stand in the table `host`, as kinds of their own, inside the call that replays the graph,
spread evenly over its time: their order and nesting mean something, their times do not.
`device.captured_call` says which of them launched a piece of work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import polars as pl

from timesink.captures.matching import Match, Matches, match_replays
from timesink.captures.replays import Replays, find_replays
from timesink.model.captures import (
    CALL_NUMBERS,
    CALL_TEXTS,
    SHAPE_TEXTS,
    Capture,
)
from timesink.model.graph_facts import CaptureFailure, CaptureUse, GraphFacts
from timesink.model.health import HealthEntry, merge_entries
from timesink.model.intervals import Flags, Ints
from timesink.model.nesting import subtree_sizes
from timesink.model.schema import DEVICE, HOST
from timesink.model.trace import Trace

_NOBODY = -1
_CATEGORY = "from capture"
"""What `host.category` says of calls that were not recorded at the replay."""
_KINDS = {"operator": "captured_operator", "module": "captured_module"}


def with_captured_calls(
    trace: Trace,
    captures: Sequence[Capture],
    *,
    failures: Sequence[CaptureFailure] = (),
    problems: Sequence[str] = (),
) -> Trace:
    """The recording with names from captures; as it is where it replays nothing they are of.

    `failures` are captures that the program could not make, `problems` say which files could not be
    read.
    """
    unread = [HealthEntry("unreadable_captures", len(problems), problems[0])] if problems else []
    trace = replace(trace, health=merge_entries([*trace.health, *unread]))
    replays = find_replays(trace)
    facts = GraphFacts(failures=tuple(failures))
    if not len(replays):
        return _with_facts(trace, facts) if failures else trace
    matches = match_replays(replays, captures)
    groups: defaultdict[tuple[int, bytes], list[int]] = defaultdict(list)
    for replay, match in enumerate(matches.of_replay):
        if match is not None:
            groups[match.capture, match.node.tobytes()].append(replay)
    host = trace.lazy("host").collect(engine="in-memory")
    next_index = _next_index(trace)
    frames: list[pl.DataFrame] = []
    named = np.full(trace.lazy("device").select(pl.len()).collect().item(), _NOBODY)
    for (place, _), members in groups.items():
        match = matches.of_replay[members[0]]
        if match is None:
            continue
        template = _template(captures[place], match, _names_around(host, replays, members))
        rows, work = _expanded(template, replays, members, host, next_index)
        frames.append(rows)
        for replay, indices in work:
            where = replays.row[replays.places(replay)]
            named[where] = indices
        next_index += rows.height
    health = _health(replays, matches, named)
    trace = _with_facts(trace, replace(facts, captures=_uses(captures, matches, replays, named)))
    calls = pl.concat([host, *frames]) if frames else host
    captured = pl.Series("captured_call", named, dtype=pl.Int64)
    device = (
        trace.lazy("device")
        .with_columns(captured_call=captured.set(captured < 0, None))
        .select(*DEVICE.schema)
    )
    return replace(
        trace,
        frames={**trace.frames, "host": calls.lazy(), "device": device},
        health=merge_entries([*trace.health, *health]),
    )


def _with_facts(trace: Trace, facts: GraphFacts) -> Trace:
    return replace(trace, metadata=replace(trace.metadata, graphs=facts))


def _uses(
    captures: Sequence[Capture], matches: Matches, replays: Replays, named: Ints
) -> tuple[CaptureUse, ...]:
    """What became of each capture."""
    times = [0] * len(captures)
    pieces, matched = [0] * len(captures), [0] * len(captures)
    for replay, match in enumerate(matches.of_replay):
        if match is not None:
            rows = replays.row[replays.places(replay)]
            times[match.capture] += 1
            pieces[match.capture] += len(rows)
            matched[match.capture] += int((named[rows] >= 0).sum())
    return tuple(
        CaptureUse(
            source=capture.source,
            label=capture.label,
            nodes=capture.nodes.height,
            replays=times[place],
            work=pieces[place],
            named_work=matched[place],
            memory_bytes=capture.memory_bytes,
            is_eager=capture.is_eager,
        )
        for place, capture in enumerate(captures)
    )


def _next_index(trace: Trace) -> int:
    """The first number that no event of the source has."""
    largest = [trace.metadata.events - 1]
    for table in ("host", "device", "memory", "counters", "flows", "event_args"):
        most = trace.lazy(table).select(pl.col("index").max()).collect().item()
        largest.append(-1 if most is None else int(most))
    return max(largest) + 1


# -- the calls of one replay -----------------------------------------------------------------------


class _Template(msgspec.Struct, frozen=True, eq=False):
    """Calls of a capture whose work a replay runs, in pre-order, and where they begin and end."""

    calls: pl.DataFrame
    enter: Ints
    leave: Ints
    """Places among all begins and ends, from 0."""
    leaf_enter: Ints
    leaf_leave: Ints
    """The same among the innermost calls alone, for replays that took too short for the others."""
    of_work: Ints
    """For each piece of work of the replay: its call, -1 for none."""


def _template(capture: Capture, match: Match, around: frozenset[str]) -> _Template:
    call = capture.nodes["call"].to_numpy()
    parent = capture.calls["parent"].to_numpy()
    of_work = np.where(match.node >= 0, call[match.node], _NOBODY)
    used = np.zeros(len(parent), dtype=np.bool_)
    climbing = np.unique(of_work[of_work >= 0])
    while len(climbing):
        used[climbing] = True
        climbing = np.unique(parent[climbing])
        climbing = climbing[climbing >= 0]
    used &= ~_is_repeated(capture, of_work, around)
    place = np.full(len(parent) + 1, _NOBODY, dtype=np.int64)
    chosen = np.flatnonzero(used)
    place[chosen] = np.arange(len(chosen))
    caller = _nearest_used(parent, used)
    calls = capture.calls[chosen]
    if not match.has_shapes:
        calls = calls.with_columns(pl.lit(None, pl.String).alias(name) for name in SHAPE_TEXTS)
    outer = place[caller[chosen]]
    depth = np.zeros(len(chosen), dtype=np.int64)
    for row, above in enumerate(outer.tolist()):
        depth[row] = depth[above] + 1 if above >= 0 else 0
    size = subtree_sizes(depth, outer)
    number = np.arange(len(chosen))
    enter = 2 * number - depth
    is_leaf = size == 1
    leaves = np.append(0, np.cumsum(is_leaf))
    itself = np.where(used, np.arange(len(parent)), caller) if len(parent) else parent
    of_work = np.where(of_work >= 0, place[itself[of_work]], _NOBODY)
    return _Template(
        calls,
        enter,
        enter + 2 * size - 1,
        leaves[number],
        leaves[number + size],
        of_work,
    )


def _nearest_used(parent: Ints, used: Flags) -> Ints:
    """For each call its nearest caller that is used; -1 for none.  Callers come first."""
    caller = np.full(len(parent), _NOBODY, dtype=np.int64)
    for number, above in enumerate(parent.tolist()):
        if above >= 0:
            caller[number] = above if used[above] else caller[above]
    return caller


def _is_repeated(capture: Capture, of_work: Ints, around: frozenset[str]) -> Flags:
    """Calls around all the work that the recording has around the replay as well."""
    is_repeated = np.zeros(capture.calls.height, dtype=np.bool_)
    parent, names = capture.calls["parent"].to_numpy(), capture.calls["name"].to_list()
    of_work = np.unique(of_work[of_work >= 0])
    if not len(of_work) or not around:
        return is_repeated
    chains = [_callers(int(place), parent) for place in of_work.tolist()]
    for place in set(chains[0]).intersection(*chains[1:]):
        is_repeated[place] = names[place] in around
    return is_repeated


def _callers(place: int, parent: Ints) -> list[int]:
    chain = []
    while place >= 0:
        chain.append(place)
        place = int(parent[place])
    return chain


def _names_around(host: pl.DataFrame, replays: Replays, members: Sequence[int]) -> frozenset[str]:
    """Names of operators and modules that are recorded around the first of some replays."""
    call = host.row(int(replays.call[members[0]]), named=True)
    around = host.lazy().filter(
        pl.col("kind").cast(pl.String).is_in(list(_KINDS)),
        pl.col("pid").cast(pl.String) == call["pid"],
        pl.col("tid").cast(pl.String) == call["tid"],
        pl.col("ts_ns") <= call["ts_ns"],
        pl.col("ts_ns") + pl.col("dur_ns") >= call["ts_ns"] + call["dur_ns"],
    )
    return frozenset(around.select(pl.col("name").cast(pl.String)).collect()["name"].to_list())


def _expanded(
    template: _Template,
    replays: Replays,
    members: Sequence[int],
    host: pl.DataFrame,
    first_index: int,
) -> tuple[pl.DataFrame, list[tuple[int, Ints]]]:
    """The calls of a template at each of its replays, and the indices of those of their work."""
    many = template.calls.height
    call = replays.call[np.array(members)]
    launch = host[call]
    begin, length = launch["ts_ns"].to_numpy(), launch["dur_ns"].to_numpy()
    borders, leaves = 2 * many, int(template.leaf_leave.max(initial=0))
    start = np.zeros((len(members), many), dtype=np.int64)
    end = np.zeros_like(start)
    roomy = length - 2 >= borders
    tight = ~roomy & (length - 2 >= leaves)
    for rows, enter, leave, slots in (
        (roomy, template.enter, template.leave, borders),
        (tight, template.leaf_enter, template.leaf_leave, leaves),
    ):
        room = (length[rows] - 2)[:, None]
        start[rows] = begin[rows][:, None] + 1 + enter[None, :] * room // max(slots, 1)
        end[rows] = begin[rows][:, None] + 1 + leave[None, :] * room // max(slots, 1)
    kept = np.flatnonzero(roomy | tight)
    copies = len(kept)
    repeated = np.tile(np.arange(many), copies)
    of_launch = np.repeat(kept, many)
    calls = template.calls[repeated]
    columns: Mapping[str, Any] = {
        "index": np.arange(first_index, first_index + many * copies),
        "kind": calls["kind"].replace_strict(_KINDS, return_dtype=pl.String),
        "category": pl.repeat(_CATEGORY, many * copies, dtype=pl.String, eager=True),
        "name": calls["name"],
        "pid": launch["pid"][of_launch],
        "tid": launch["tid"][of_launch],
        "ts_ns": start[kept].ravel(),
        "dur_ns": (end - start)[kept].ravel(),
        **{name: calls[name] for name in (*CALL_TEXTS, *CALL_NUMBERS)},
    }
    rows = pl.DataFrame(
        [
            pl.Series(name, columns[name]).cast(dtype)
            if name in columns
            else pl.Series(name, [None], dtype=dtype).new_from_index(0, many * copies)
            for name, dtype in HOST.schema.items()
        ]
    )
    work = [
        (
            members[member],
            np.where(
                template.of_work >= 0, first_index + number * many + template.of_work, _NOBODY
            ),
        )
        for number, member in enumerate(kept.tolist())
    ]
    return rows, work


def _health(replays: Replays, matches: Matches, named: Ints) -> list[HealthEntry]:
    """What of the replayed work has no names."""
    unnamed = int((named[replays.row] < 0).sum())
    entries = []
    if unnamed:
        text = f"{unnamed} of {len(replays.row)} kernels and copies"
        entries.append(HealthEntry("unmatched_replays", unnamed, text))
    if matches.ambiguous:
        entries.append(HealthEntry("ambiguous_captures", matches.ambiguous))
    return entries
