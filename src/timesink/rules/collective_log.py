"""What logs of collectives show: ranks that are missing, that disagree, that others wait for."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from timesink.analyses.collective_log import (
    StuckCollective,
    collective_log,
    disagreements,
    stuck_collectives,
)
from timesink.model import units
from timesink.model.findings import Evidence, RunFinding
from timesink.model.trace import Trace
from timesink.rules.register import make_finding
from timesink.rules.thresholds import CollectiveLogLimits

_MAX_NAMED = 6


def never_entered(trace: Trace) -> list[RunFinding]:
    """Ranks that never entered a collective in which others wait."""
    if not trace.has_only_collectives:
        return []
    return [
        make_finding(
            "rank-never-entered",
            f"{_ranks(stuck.missing)} never entered {_name(stuck)}; {_waiters(stuck)}"
            f"{_place(stuck)}.",
            least_severity="high",
            evidence=_evidence(stuck),
        )
        for stuck in stuck_collectives(trace)
        if stuck.missing
    ]


def hanging_collective(trace: Trace) -> list[RunFinding]:
    """Collectives that every logged rank entered, and that did not complete."""
    if not trace.has_only_collectives:
        return []
    findings = []
    for stuck in stuck_collectives(trace):
        if stuck.missing or len(stuck.waiting) < CollectiveLogLimits.min_ranks:
            continue
        text = f"{_name(stuck)} did not complete: {_waiters(stuck)}"
        if stuck.without_log:
            text += f", and there is no log of {_ranks(stuck.without_log, small=True)}"
        elif stuck.not_started and len(stuck.not_started) < len(stuck.waiting):
            text += f"; it has not begun on {_ranks(stuck.not_started, small=True)}"
        else:
            text += "; every rank entered it"
        findings.append(
            make_finding(
                "hanging-collective",
                f"{text[0].upper()}{text[1:]}{_place(stuck)}.",
                least_severity="high",
                evidence=_evidence(stuck),
            )
        )
    return findings


def disagreeing_ranks(trace: Trace) -> list[RunFinding]:
    """Ranks that call different operations, or sizes, in one place of the order."""
    if not trace.has_only_collectives:
        return []
    findings = []
    for odd in disagreements(trace):
        most, *others = odd.calls
        text = "; ".join(f"{_ranks(ranks, small=True)} {what}" for what, ranks in others)
        findings.append(
            make_finding(
                "ranks-disagree",
                f"Ranks disagree on #{odd.sequence} of {odd.group}: "
                f"{_ranks(most[1], small=True)} {_call(most[1])} {most[0]}, {text}.",
                least_severity="high",
                evidence=tuple(
                    Evidence("call", f"{what} by {_ranks(ranks, small=True)}")
                    for what, ranks in odd.calls
                ),
            )
        )
    return findings


def late_rank(trace: Trace) -> list[RunFinding]:
    """A rank that enters last in most collectives of its group, by more than chance."""
    if not trace.has_only_collectives:
        return []
    findings = []
    log = collective_log(trace).filter(
        (pl.col("entered") == pl.col("members")) & (pl.col("entered") > 1)
    )
    for (group,), rows in log.group_by("group", maintain_order=True):
        if rows.height < CollectiveLogLimits.min_collectives:
            continue
        # Clocks of hosts differ: others wait for who is late no longer than their calls take more.
        awaited = pl.col("dur_ns") - pl.col("least_ns")
        for column, wait, how in (
            ("last_rank", pl.min_horizontal("spread_ns", awaited), "enters"),
            ("least_rank", awaited, "is waited for in"),
        ):
            known = rows.filter(wait > 0).drop_nulls(column)
            if known.height < CollectiveLogLimits.min_collectives:
                continue
            counts = known.group_by(column).agg(pl.len().alias("many"), wait.median().alias("wait"))
            rank, many, wait_ns = counts.sort("many", column, descending=[True, False]).row(0)
            share = many / known.height
            length = float(known.select(pl.col("dur_ns").median()).item() or 0)
            least = max(
                CollectiveLogLimits.min_wait_ns, CollectiveLogLimits.min_wait_share * length
            )
            if share < CollectiveLogLimits.min_share_last or wait_ns < least:
                continue
            last = f"{units.share(many, known.height)} of {known.height} collectives of {group}"
            verb = f"enters {last} last" if how == "enters" else f"is waited for in {last}"
            findings.append(
                make_finding(
                    "late-rank",
                    f"Rank {rank} {verb}, by {units.brief_ns(wait_ns)} (median): the others wait "
                    "for it.",
                    least_severity="medium",
                    evidence=(
                        Evidence(
                            "rank",
                            str(rank),
                            numbers={"wait_us": wait_ns / 1000, "last": many, "of": known.height},
                        ),
                    ),
                )
            )
            break
    return findings


def _name(stuck: StuckCollective) -> str:
    return f"{stuck.collective} #{stuck.sequence} of {stuck.group}"


def _place(stuck: StuckCollective) -> str:
    return f" (called in {stuck.place})" if stuck.place else ""


def _waiters(stuck: StuckCollective) -> str:
    many = len(stuck.waiting)
    if many > _MAX_NAMED:
        return f"{many} ranks wait in it"
    return f"{_ranks(stuck.waiting, small=True)} {'waits' if many == 1 else 'wait'} in it"


def _evidence(stuck: StuckCollective) -> tuple[Evidence, ...]:
    return (
        Evidence(
            "call",
            f"{stuck.collective} #{stuck.sequence}",
            numbers={"waiting_ranks": len(stuck.waiting), "missing_ranks": len(stuck.missing)},
        ),
    )


def _call(ranks: Sequence[int]) -> str:
    return "calls" if len(ranks) == 1 else "call"


def _ranks(ranks: Sequence[int], *, small: bool = False) -> str:
    """Some ranks: `Rank 5`, `Ranks 1, 2`."""
    word = "rank" if len(ranks) == 1 else "ranks"
    names = units.join_names([str(rank) for rank in ranks], _MAX_NAMED)
    return f"{word if small else word.capitalize()} {names}"
