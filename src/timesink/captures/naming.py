"""A recording with the calls of its captures: at each replay those whose work it runs.

The calls stand in the table `host`, as kinds of their own, at the moment at which the call that
replays the graph returns, and take no time: nobody makes them then.  `host.captured_caller` says
how they lie in one another, `device.captured_call` which of them launched a piece of work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import polars as pl
from msgspec import structs

from timesink.captures.matching import Match, Matches, match_replays
from timesink.captures.replays import Replays, find_replays, numbers_around
from timesink.model.captures import (
    CALL_KINDS,
    CALL_NUMBERS,
    CALL_TEXTS,
    SHAPE_TEXTS,
    Capture,
)
from timesink.model.graph_facts import CaptureFailure, CaptureUse, GraphFacts
from timesink.model.health import HealthEntry, merge_entries
from timesink.model.intervals import Flags, Ints
from timesink.model.schema import DEVICE, HOST
from timesink.model.trace import Trace

_NOBODY = -1
_CATEGORY = "from capture"
"""What `host.category` says of calls that were not recorded at the replay."""
_KINDS = {kind: f"captured_{kind}" for kind in CALL_KINDS}


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
    host = trace.lazy("host").collect(engine="in-memory")
    has_sizes = any(capture.batch_size is not None for capture in captures)
    matches = match_replays(replays, captures, numbers_around(host, replays) if has_sizes else ())
    groups: defaultdict[tuple[int, bytes], list[int]] = defaultdict(list)
    for replay, match in enumerate(matches.of_replay):
        if match is not None:
            groups[match.capture, match.node.tobytes()].append(replay)
    next_index = _next_index(trace)
    frames: list[pl.DataFrame] = []
    named = np.full(trace.lazy("device").select(pl.len()).collect().item(), _NOBODY)
    for (place, _), members in groups.items():
        match = matches.of_replay[members[0]]
        if match is None:
            continue
        template = _template(captures[place], match, _names_around(host, replays, members))
        rows, work = _calls_at_replays(template, replays, members, host, next_index)
        frames.append(rows)
        for replay, indices in work:
            where = replays.row[replays.places(replay)]
            named[where] = indices
        next_index += rows.height
    health = _health(replays, matches, named)
    of_replay = tuple(_NOBODY if match is None else match.capture for match in matches.of_replay)
    uses = _uses(captures, matches, replays, named)
    trace = _with_facts(trace, structs.replace(facts, captures=uses, of_replay=of_replay))
    calls = pl.concat([host, *frames]) if frames else host
    if frames:
        # Operators are known now, of these graphs at least.
        entries = tuple(entry for entry in trace.health if entry.code != "no_host_activity")
        trace = replace(trace, health=entries)
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
    # What several captures may be of has the words of none.
    is_sure = [True] * len(captures)
    pieces, matched = [0] * len(captures), [0] * len(captures)
    for replay, match in enumerate(matches.of_replay):
        if match is not None:
            rows = replays.row[replays.places(replay)]
            times[match.capture] += 1
            is_sure[match.capture] &= match.has_shapes
            pieces[match.capture] += len(rows)
            matched[match.capture] += int((named[rows] >= 0).sum())
    return tuple(
        CaptureUse(
            source=capture.source,
            label=capture.label if is_sure[place] else "",
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
    """Calls of a capture whose work a replay runs, callers before their callees."""

    calls: pl.DataFrame
    caller: Ints
    """For each call the place of its caller, -1 for none."""
    of_work: Ints
    """For each piece of work of the replay: its call, -1 for none."""


def _template(capture: Capture, match: Match, around: frozenset[str]) -> _Template:
    call = capture.nodes["call"].to_numpy()
    parent = capture.calls["parent"].to_numpy()
    of_work = np.where(match.node >= 0, call[match.node], _NOBODY)
    used = _with_callers(of_work[of_work >= 0], parent)
    # Calls without work are there because a backward pass belongs to them.
    idle = ~_with_callers(call[call >= 0], parent)
    idle &= capture.calls["sequence_number"].is_not_null().to_numpy()
    used |= _with_callers(np.flatnonzero(idle), parent)
    used &= ~_is_repeated(capture, of_work, around)
    place = np.full(len(parent) + 1, _NOBODY, dtype=np.int64)
    chosen = np.flatnonzero(used)
    place[chosen] = np.arange(len(chosen))
    caller = _nearest_used(parent, used)
    calls = capture.calls[chosen]
    if not match.has_shapes:
        calls = calls.with_columns(pl.lit(None, pl.String).alias(name) for name in SHAPE_TEXTS)
    itself = np.where(used, np.arange(len(parent)), caller)
    of_work = np.where(of_work >= 0, place[itself[of_work]], _NOBODY)
    return _Template(calls, place[caller[chosen]], of_work)


def _with_callers(calls: Ints, parent: Ints) -> Flags:
    """Which calls are among some, or call these however indirectly."""
    used = np.zeros(len(parent), dtype=np.bool_)
    climbing = np.unique(calls)
    while len(climbing):
        used[climbing] = True
        climbing = np.unique(parent[climbing])
        climbing = climbing[climbing >= 0]
    return used


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


def _calls_at_replays(
    template: _Template,
    replays: Replays,
    members: Sequence[int],
    host: pl.DataFrame,
    first_index: int,
) -> tuple[pl.DataFrame, list[tuple[int, Ints]]]:
    """The calls of a template at each of its replays, and the indices of those of their work."""
    many, copies = template.calls.height, len(members)
    launch = host[replays.call[np.array(members)]]
    returned = (launch["ts_ns"] + launch["dur_ns"]).to_numpy()
    of_launch = np.repeat(np.arange(copies), many)
    calls = template.calls[np.tile(np.arange(many), copies)]
    first = first_index + many * np.arange(copies)
    caller = np.where(template.caller >= 0, template.caller + first[:, None], _NOBODY).ravel()
    columns: Mapping[str, Any] = {
        "index": np.arange(first_index, first_index + many * copies),
        "kind": calls["kind"].replace_strict(_KINDS, return_dtype=pl.String),
        "category": pl.repeat(_CATEGORY, many * copies, dtype=pl.String, eager=True),
        "name": calls["name"],
        "pid": launch["pid"][of_launch],
        "tid": launch["tid"][of_launch],
        "ts_ns": returned[of_launch],
        "dur_ns": np.zeros(many * copies, dtype=np.int64),
        "captured_caller": pl.Series(caller).set(pl.Series(caller < 0), None),
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
    of_work = np.where(template.of_work >= 0, template.of_work + first[:, None], _NOBODY)
    return rows, list(zip(members, of_work, strict=True))


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
