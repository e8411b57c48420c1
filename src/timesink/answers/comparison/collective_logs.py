"""What logs of collectives of two runs differ by, as a document, as JSON and as a gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import polars as pl
from msgspec import UNSET, UnsetType

from timesink.answers.comparison.comparison_json import GateJson
from timesink.answers.comparison.gate_result import GateAnswer
from timesink.answers.comparison.untimed_pair import pair_document
from timesink.answers.tables import to_rows
from timesink.answers.views import listed_table
from timesink.comparison.collective_logs import LogPair, PaceChange
from timesink.comparison.gate.verdict import (
    CYCLE_TIME,
    EXACT,
    FAILED,
    PASSED,
    PRECISE,
    UNJUDGED,
    Limit,
)
from timesink.model import units
from timesink.model.findings import GateCheck
from timesink.output.blocks import Document, Section, Table, Tone
from timesink.recorder.processes import safe_text

SCHEMA = "timesink/collective-log-comparison/1"
_TOP = 10
_LIMITS = (
    "Logs of collectives hold no steps and no kernels: what a rank does between two collectives "
    "needs a recording."
)


def operation_name(row: dict[str, Any]) -> str:
    """An operation with the size of its message."""
    size = f" of {units.brief_bytes(row['bytes'])}" if row["bytes"] is not None else ""
    return f"{row['collective']}{size}"


def operation_sentence(row: dict[str, Any]) -> str:
    """How much longer an operation takes."""
    base, new = row["base_ns"], row["new_ns"]
    word = "longer" if new > base else "less time"
    text = f"{operation_name(row)} takes {units.change(base, new).lstrip('+-')} {word}"
    text += f", {units.brief_ns(base)} to {units.brief_ns(new)}"
    if row["base_bus_bytes_per_s"] and row["new_bus_bytes_per_s"]:
        rates = [f"{row[f'{side}_bus_bytes_per_s'] / 1e9:.3g}" for side in ("base", "new")]
        if rates[0] != rates[1]:
            text += f" (bus bandwidth {' to '.join(rates)} GB/s)"
    return f"{text}."


def rank_sentence(row: dict[str, Any]) -> str:
    """How late a rank is."""
    base, new = (units.brief_ns(row[f"{side}_late_ns"]) for side in ("base", "new"))
    if row["change_ns"] > 0:
        return (
            f"Rank {row['rank']} of {row['group']} comes {new} late ({base} in base): the others "
            "wait for it."
        )
    return f"Rank {row['rank']} of {row['group']} is less late, {base} to {new}."


def _pace_sentence(change: PaceChange) -> str:
    low, high = change.interval_pct or (0.0, 0.0)
    word = "longer" if change.change_pct > 0 else "shorter"
    return (
        f"It is {abs(change.change_pct):.3g} % {word} from one collective of {change.group} to the "
        f"next, {units.brief_ns(change.base_ns)} to {units.brief_ns(change.new_ns)} "
        f"(95 % interval {low:+.3g} to {high:+.3g} %)."
    )


def _changed_calls(pair: LogPair) -> list[dict[str, Any]]:
    rows = pair.operations()
    alone = (pl.col("base_calls") == 0) | (pl.col("new_calls") == 0)
    return rows.filter(alone).sort("new_calls", "base_calls", descending=True).to_dicts()


def sentences(pair: LogPair) -> list[str]:
    """What is worth saying, the gravest first."""
    changes = list(pair.new_problems)
    operations, ranks = (
        table.filter("is_change").to_dicts() for table in (pair.operations(), pair.ranks())
    )
    changes += [operation_sentence(row) for row in operations if row["change_ns"] > 0][:2]
    changes += [rank_sentence(row) for row in ranks if row["change_ns"] > 0][:2]
    paces = sorted(pair.paces, key=lambda change: -abs(change.change_pct))
    changes += [_pace_sentence(change) for change in paces if change.is_change][:1]
    changes += [operation_sentence(row) for row in operations[::-1] if row["change_ns"] < 0][:1]
    changes += [rank_sentence(row) for row in ranks[::-1] if row["change_ns"] < 0][:1]
    for row in _changed_calls(pair)[:2]:
        calls = units.count_noun(row["new_calls"] or row["base_calls"], "calls")
        changes.append(
            f"Only {'new' if row['new_calls'] else 'base'} has {operation_name(row)} ({calls})."
        )
    return changes


def headline(pair: LogPair) -> str:
    """What changed most; that nothing did."""
    changes = sentences(pair)
    if changes:
        return changes[0]
    if pair.base.collectives.is_empty() or pair.new.collectives.is_empty():
        return "One of the two logs holds no collectives of a group."
    return "No change: collectives take as long in both logs, and no rank became later."


def logs_document(pair: LogPair, gate: GateAnswer | None, top: int | None = None) -> Document:
    """The answer: what changed, by operation and size, by rank."""
    changes = sentences(pair)[1:]
    lead = " ".join([*changes, _LIMITS])
    operations = "operations", "By operation and size"
    ranks = "ranks", "By rank"
    tables = [
        (
            _change_table("collective-log-changes", *operations, pair.operations(), top or _TOP),
            lead,
        ),
        (_change_table("collective-log-rank-changes", *ranks, pair.ranks(), top or _TOP), ""),
    ]
    sections = [Section(table.id, table.title, (table,), text) for table, text in tables]
    return pair_document(pair.paths, headline(pair), sections, gate, _tone(pair))


def _tone(pair: LogPair) -> Tone:
    if pair.new_problems:
        return "bad"
    changes = [
        change
        for table in (pair.operations(), pair.ranks())
        for change in table.filter("is_change")["change_ns"].to_list()
    ]
    if any(change > 0 for change in changes):
        return "warning"
    return "good" if changes else "plain"


def _change_table(layout: str, id_: str, title: str, changes: pl.DataFrame, top: int) -> Table:
    rows = changes.head(top)
    marks = {"is_change": _marks(rows)}
    return listed_table(layout, id_, title, rows, marks, total_rows=changes.height)


def _marks(rows: pl.DataFrame) -> list[str]:
    """In words which rows changed."""
    return ["yes" if is_change else "" for is_change in rows["is_change"]]


class PaceChangeJson(msgspec.Struct, frozen=True):
    """How long it is from one collective of a group to the next."""

    group: str
    base_ns: float
    new_ns: float
    change_pct: float
    interval_pct: tuple[float, float] | None
    """With 95 % confidence; None where too few are logged."""
    is_change: bool


class LogComparisonJson(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `timesink compare` about logs of collectives of two runs."""

    schema: str
    headline: str
    sentences: list[str]
    """All that changed, the gravest first."""
    base: str
    new: str
    problems: dict[str, list[str]]
    """Why collectives do not complete, in `base` and in `new`."""
    time_change_pct: float | None
    """How much longer the collectives of base take with the times of new; None without times."""
    operations: list[dict[str, Any]]
    ranks: list[dict[str, Any]]
    paces: list[PaceChangeJson]
    gate: GateJson | UnsetType = UNSET
    """Only of a gate, or with `--fail-on`."""

    @classmethod
    def of(cls, pair: LogPair, gate: GateAnswer | None) -> LogComparisonJson:
        return cls(
            schema=SCHEMA,
            headline=headline(pair),
            sentences=sentences(pair),
            base=safe_text(pair.paths[0]),
            new=safe_text(pair.paths[1]),
            problems={"base": list(pair.base.problems), "new": list(pair.new.problems)},
            time_change_pct=pair.time_change_pct,
            operations=to_rows(pair.operations()),
            ranks=to_rows(pair.ranks()),
            paces=[
                PaceChangeJson(
                    change.group,
                    change.base_ns,
                    change.new_ns,
                    change.change_pct,
                    change.interval_pct,
                    change.is_change,
                )
                for change in pair.paces
            ],
            gate=UNSET if gate is None else GateJson.of(gate),
        )


# -- whether it passes -----------------------------------------------------------------------------


def logs_gate(
    pair: LogPair, limit: Limit | None, *, options: str, command: Sequence[str]
) -> GateAnswer:
    """Whether collectives complete, take as long as before, and no rank became later."""
    limit = limit or Limit()
    checks = [
        GateCheck(EXACT, problem, f"completion {number}", FAILED)
        for number, problem in enumerate(pair.new_problems, 1)
    ]
    time_pct = pair.time_change_pct
    if time_pct is not None:
        slower = [
            row for row in pair.operations().filter("is_change").to_dicts() if row["change_ns"] > 0
        ]
        fails = bool(slower) and time_pct > 0 and limit.is_exceeded(time_pct)
        how = "longer" if time_pct > 0 else "less time"
        text = f"Collectives take {abs(time_pct):.3g} % {how} than in base, all together."
        text = " ".join([text, *(operation_sentence(row) for row in slower[:1])])
        if not slower:
            text = "Collectives take no longer than in base."
        outcome = FAILED if fails else PASSED
        checks.append(GateCheck(PRECISE, text, "collective time", outcome, beyond=time_pct))
    for change in pair.paces:
        if change.interval_pct is None:
            continue
        fails = change.is_change and change.change_pct > 0 and limit.is_exceeded(change.change_pct)
        text = (
            _pace_sentence(change)
            if change.is_change
            else f"Collectives of {change.group} follow each other as before."
        )
        checks.append(
            GateCheck(
                CYCLE_TIME, text, f"pace {change.group}", FAILED if fails else PASSED,
                beyond=change.change_pct,
            )
        )  # fmt: skip
    usual = pair.usual_ns
    for row in pair.ranks().filter("is_change").to_dicts():
        if row["change_ns"] > 0 and usual and limit.is_exceeded(100 * row["change_ns"] / usual):
            name = f"rank {row['rank']} {row['group']}"
            checks.append(GateCheck(PRECISE, rank_sentence(row), name, FAILED))
    if not checks:
        text = "The logs hold no times that both have: nothing can be judged."
        checks.append(GateCheck(EXACT, text, "collective time", UNJUDGED))
    return GateAnswer(" vs ".join(pair.paths), options, tuple(checks), command=tuple(command))
