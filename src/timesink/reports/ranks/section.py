"""What the JSON says about ranks: the section `distributed`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import polars as pl

from timesink.analyses.communication.comparison import WorkerSummary, compare_workers
from timesink.analyses.communication.workers import summarise_worker
from timesink.analyses.ranks import views
from timesink.analyses.ranks.rank_set import RankSet
from timesink.model.trace import Trace
from timesink.reports.absent import NO_COMMUNICATION
from timesink.reports.rows import to_rows


def distributed(trace: Trace, ranks: RankSet | None) -> dict[str, Any]:
    """How much of the steps is communication; of a set, who waits for whom and why."""
    if ranks is None:
        return _alone(trace)
    told = _of_set(ranks)
    if not ranks.communicates:
        return {**NO_COMMUNICATION.to_dict(), **told}
    found = ranks.communication
    return {
        "workers": ranks.names,
        "overlap": _overlap(ranks.summaries),
        "steps": to_rows(found.by_step),
        "collectives": to_rows(found.by_name),
        "mismatched_calls": to_rows(found.mismatches),
        **told,
    }


def _alone(trace: Trace) -> dict[str, Any]:
    name, summary = trace.metadata.worker or "worker0", summarise_worker(trace)
    if summary.records.is_empty():
        return NO_COMMUNICATION.to_dict()
    found = compare_workers({name: summary})
    return {
        "workers": [name],
        "overlap": _overlap({name: summary}),
        "steps": to_rows(found.by_step),
        "collectives": to_rows(found.by_name),
        "mismatched_calls": to_rows(found.mismatches),
    }


def _overlap(workers: Mapping[str, WorkerSummary]) -> dict[str, Any]:
    # One table for all: with a thousand ranks, a query for each would take most of the time.
    rows = iter(to_rows(pl.concat([summary.steps for summary in workers.values()])))
    return {name: [*islice(rows, each.steps.height)] for name, each in workers.items()}


def _of_set(ranks: RankSet) -> dict[str, Any]:
    """What only several ranks tell."""
    return {
        "stragglers": to_rows(views.straggler_rows(ranks)),
        "ranks": to_rows(views.rank_rows(ranks)),
        "matched_collectives": to_rows(views.matched_collectives(ranks)),
        "clocks": to_rows(views.clock_rows(ranks)),
        "groups": to_rows(views.process_groups(ranks)),
        "rank_groups": to_rows(views.rank_groups(ranks)),
        "missing_ranks": list(ranks.missing),
        "damaged": [
            {"worker": each.worker, "source": each.source, "reason": each.reason}
            for each in ranks.damaged
        ],
    }
