"""Sets of ranks as they reach users: summaries that were written as Parquet and read again."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from timesink.analyses.ranks.rank_set import NamedRecording, RankSet, ranks_of
from timesink.analyses.ranks.summary import from_parquets, summarise_rank, to_parquet
from timesink.errors import TimesinkError
from timesink.model.trace import Trace
from timesink.runtime.engine import Call, Done, make


def as_set(traces: Mapping[str, Trace]) -> RankSet:
    """The set of these traces, by the names of their workers."""
    written = [to_parquet(summarise_rank(trace)) for trace in traces.values()]
    summaries = from_parquets(written)
    names = [
        NamedRecording(name, summary.about.rank, None)
        for name, summary in zip(traces, summaries, strict=True)
    ]
    return ranks_of([*zip(names, summaries, strict=True)])


def make_here(_: object, call: Call, items: Sequence[Any]) -> Iterator[Done]:
    """What an engine does in processes of its own, in this one."""
    return (Done(place, *make(call, pickle.dumps(item))) for place, item in enumerate(items))


class HereEngine:
    """Makes calls in this process, last item first, and counts them."""

    name = "here"

    def __init__(self) -> None:
        self.items: list[Any] = []

    def run(self, call: Call, items: Sequence[Any]) -> Iterator[Done]:
        function = getattr(import_module(call.module), call.function)
        for place in reversed(range(len(items))):
            self.items.append(items[place])
            try:
                yield Done(place, function(items[place], **call.arguments))
            except TimesinkError as error:
                yield Done(place, None, error)
