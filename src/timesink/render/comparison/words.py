"""What a comparison has to say besides its tables; where it appears is up to others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from timesink.analyses.comparison.pair import CycleTimes, Pair
from timesink.analyses.comparison.role import Role
from timesink.analyses.comparison.verdict import ALPHA, Verdict, either_p, verdict
from timesink.model import units
from timesink.model.amounts import amounts, chance, change, per_cycle, times
from timesink.render.comparison.names import labels_of
from timesink.render.told_apart import cut_middle

MOST_FINDINGS = 3
_MOST_COUNTERS = 3
_IN_HEADLINE = 2
_NAME_IN_SENTENCE = 40
_SURE = 0.5
"""Confidence in cycles from which on they need no remark."""
_SAME_CALLS = 0.05
"""Calls per cycle that differ by less are told as the same."""


@dataclass(frozen=True)
class Told:
    """A pair with what is to be said of it."""

    whole: Pair
    as_recorded: bool = False

    @property
    def pair(self) -> Pair:
        """The pair whose numbers are told: of equal work where cycles do not hold the same."""
        equal = self.whole.equal_work
        return self.whole if equal is None or self.as_recorded else equal

    @cached_property
    def verdict(self) -> Verdict:
        """What differs by more than noise."""
        return verdict(self.pair)

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """Short names of the functions."""
        return labels_of(self.pair)

    @cached_property
    def counters(self) -> list[dict[str, Any]]:
        """Counters that changed beyond noise, strongest change first."""
        rows = self.pair.rows[list(self.verdict.counters)]
        return rows.with_columns(p=either_p("mu_welch_p", "mu_rank_p")).to_dicts()

    @cached_property
    def functions(self) -> list[dict[str, Any]]:
        """Functions whose time per cycle changed beyond noise."""
        return [self.pair.times.row(place, named=True) for place in self.verdict.functions]

    @property
    def comparable(self) -> bool:
        """Whether the numbers that are told are of the same work."""
        return self.whole.workload.comparable or self.whole.equal_work is not None

    @property
    def same_pid(self) -> bool:
        """Whether both sides are one process by number."""
        return self.whole.base.pid == self.whole.new.pid

    @property
    def processes(self) -> str:
        """Which processes are compared: `rank 3, pid 7 → 9`."""
        base, new = self.whole.base, self.whole.new
        pids = f"pid {base.pid}" if self.same_pid else f"pid {base.pid} → {new.pid}"
        same_rank = base.rank is not None and base.rank == new.rank
        return f"rank {base.rank}, {pids}" if same_rank else pids

    def side_name(self, which: str) -> str:
        """What `base` or `new` is called: `normal`, `abnormal`; names of peers are too long."""
        role = self.pair.base if which == "base" else self.pair.new
        return which if self.pair.kind == "peers" else role.label.partition("_pid_")[0]

    def label(self, function: str) -> str:
        """The short name of a function."""
        return self.labels.get(function, function)


def _different(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose counters read differently; what reads the same is one row with all its names."""
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        alike.setdefault((row["device"], counter_amounts(row)), []).append(row)
    return [
        {**same[0], "metric": "/".join(row["metric"] for row in same)} for same in alike.values()
    ]


# -- the answer ------------------------------------------------------------------------------------


def headlines(told: Told) -> list[str]:
    """The answer: unequal work if there is any, then cycle time, then what changed."""
    if not told.comparable:
        return [_unequal(told.whole), _as_recorded(told.pair.cycle_times)]
    lines = [] if told.whole.workload.comparable else [_unequal(told.whole)]
    lines.append(_cycle_line(told))
    if not told.verdict.nothing:
        lines.append(_changed_line(told))
    return lines


def _unequal(pair: Pair) -> str:
    reasons = pair.workload.reasons
    why = f": {reasons[0].rstrip('.')}" if reasons else ""
    return f"Cycles do not hold the same work{why}."


def _as_recorded(cycles: CycleTimes) -> str:
    lengths = times(cycles.base_mean_ns, cycles.new_mean_ns)
    return f"As recorded they take {lengths}, which says nothing about speed."


def _cycle_line(told: Told) -> str:
    cycles, state = told.pair.cycle_times, told.verdict.cycles
    lengths = times(cycles.base_mean_ns, cycles.new_mean_ns)
    same_work = "" if told.whole.equal_work is None else "Put together to equal work, "
    if told.verdict.nothing and state == "none":
        said = f"Both runs are the same within noise: cycles take {lengths} ({_interval(cycles)})."
    elif state in {"longer", "shorter"}:
        said = f"Cycles take {_how_much(cycles)}: {lengths} ({_bounds(cycles)})."
    elif state == "doubtful":
        said = f"Cycles take {lengths} ({_interval(cycles)}; {_ranks(cycles)}): this may be noise."
    elif state == "unknown":
        said = f"Cycles take {lengths}; one cycle on a side cannot be told from noise."
    else:
        said = f"Cycle time is the same within noise: {lengths} ({_interval(cycles)})."
    return same_work + said[0].lower() + said[1:] if same_work else said


def _how_much(cycles: CycleTimes) -> str:
    more = cycles.new_mean_ns > cycles.base_mean_ns
    by = change(cycles.base_mean_ns, cycles.new_mean_ns)
    if by.endswith(" x"):
        return f"{by.removesuffix(' x')} times as long"
    return f"{by.lstrip('+-')} {'longer' if more else 'less'}"


def _ranks(cycles: CycleTimes) -> str:
    p = chance(cycles.rank_p)
    return f"rank test p {p if p.startswith('<') else f'= {p}'}"


def _interval(cycles: CycleTimes) -> str:
    """The change of the mean, and between which bounds it probably is."""
    return f"{change(cycles.base_mean_ns, cycles.new_mean_ns)}, {_bounds(cycles)}"


def _bounds(cycles: CycleTimes) -> str:
    low, high = cycles.interval_ns or (0, 0)
    base = cycles.base_mean_ns / 100
    if not base:
        return f"95 % interval {units.brief_ns(low)} to {units.brief_ns(high)}"
    return f"95 % interval {low / base:+.1f} to {high / base:+.1f} %"


def _changed_line(told: Told) -> str:
    """What changed most, functions by time and counters by factor."""
    counts = [
        units.counted(number, things)
        for number, things in (
            (len(told.functions), "functions"),
            (len(told.counters), "counters"),
        )
        if number
    ]
    if not counts:
        return "No function or counter of its own changed beyond noise."
    said = f"{' and '.join(counts)} changed beyond noise, most of all {' and '.join(_most(told))}"
    no_counter = not told.counters and not told.pair.rows.is_empty()
    return f"{said}; no counter did." if no_counter else f"{said}."


def _most(told: Told) -> Iterator[str]:
    for row in told.functions[:1]:
        name = cut_middle(told.label(row["function"]), _NAME_IN_SENTENCE)
        yield f"{name} on {row['device']} ({_time(told, row)})"
    for row in _different(told.counters)[: _IN_HEADLINE - len(told.functions[:1])]:
        yield f"{row['metric']} of {row['device']} ({counter_amounts(row)})"


def counter_amounts(row: Mapping[str, Any]) -> str:
    """A counter on both sides."""
    return amounts(row["mu_base"], row["mu_new"], row["unit"])


# -- what was compared -----------------------------------------------------------------------------


def subject(told: Told, identifier: str) -> str:
    """What was compared: names, processes, cycles."""
    base, new = told.pair.base, told.pair.new
    named = identifier if base.pid in base.label else f"{identifier}, {told.processes}"
    sides = f"{_side(base)} → {_side(new)}"
    anchors = [_anchor(role) or "unlike calls" for role in (base, new)]
    of = anchors[0] if anchors[0] == anchors[1] else " and of ".join(anchors)
    return f"{named}: {sides} of {of}"


def both_labels(pair: Pair) -> str:
    """What the two sides are called."""
    return f"{pair.base.label} vs {pair.new.label}"


def _side(role: Role) -> str:
    return f"{role.label} ({units.counted(role.behaviour['cycle'].n_unique(), 'cycles')})"


def _anchor(role: Role) -> str:
    """What marks its cycles; empty where that is no single thing."""
    anchors = role.behaviour["anchor"].drop_nulls().unique().to_list()
    return str(anchors[0]) if len(anchors) == 1 else ""


def notes(told: Told) -> list[str]:
    """What to know before believing the numbers."""
    reasons = told.whole.workload.reasons
    shown = list(reasons if told.whole.workload.comparable else reasons[1:])
    for role in (told.whole.base, told.whole.new):
        shown += [f"{role.label}: {note}" for note in role.notes]
        shown += _doubts(role)
    shown += _scores(told)
    return [*dict.fromkeys(shown)]


def _doubts(role: Role) -> Iterator[str]:
    if role.confidence is not None and role.confidence < _SURE:
        yield f"{role.label}: its cycles were found with a confidence of {role.confidence:.0%} only"


def equal_work_note(told: Told) -> list[str]:
    """Which tables are of equal work, where others are not."""
    if told.pair is told.whole:
        return []
    return ["Numbers here are of equal work; --format csv and md compare the cycles as recorded."]


def _scores(told: Told) -> Iterator[str]:
    """High scores where nothing differs are a matter of small spreads."""
    if told.verdict.nothing and told.pair.findings:
        top = told.pair.rows["score"][0]
        yield (
            f"Scores reach {top:.0f} though nothing changed beyond noise: the score divides by the "
            "spread of few cycles, which may be close to nothing."
        )


# -- findings --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Finding:
    """A function that changed: what it is, and how time and counters moved."""

    title: str
    lines: tuple[str, ...]


def findings(told: Told) -> list[Finding]:
    """Up to three functions that changed beyond noise: highest scores first, then largest times.

    Where there are fewer, high scores whose counters changed follow.  Of unequal work there are
    none: what a function took in cycles of another kind says nothing.
    """
    if told.verdict.nothing or not told.comparable:
        return []
    moved = [(row["function"], row["device"]) for row in told.functions]
    high = [(one.function, one.device) for one in told.pair.findings]
    loaded = [key for key in high if _counters_of(told, *key)]
    keys = dict.fromkeys([*(key for key in high if key in moved), *moved, *loaded])
    return list(_findings(told, list(keys)[:MOST_FINDINGS]))


def _findings(told: Told, keys: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    """Functions with their times, and the counters where they are not those just told."""
    before = None
    for function, device in keys:
        lines = list(_time_lines(told, function, device))
        rows = _counters_of(told, function, device)[:_MOST_COUNTERS]
        these = device, [row["metric"] for row in rows]
        if rows and these != before:
            shown = (f"{row['metric']} {counter_amounts(row)}" for row in rows)
            lines.append(f"meanwhile {', '.join(shown)}")
        before = these
        yield Finding(f"{told.label(function)} on {device}", tuple(lines))


def _counters_of(told: Told, function: str, device: str) -> list[dict[str, Any]]:
    """What the counters that changed were while one function ran."""
    rows = told.pair.rows.filter(
        (pl.col("function") == function)
        & (pl.col("device") == device)
        & (pl.col("runs_on").cast(pl.String) == "both")
    )
    here = {row["metric"]: row for row in rows.iter_rows(named=True)}
    changed = [row["metric"] for row in told.counters if row["device"] == device]
    return _different([here[metric] for metric in changed if metric in here])


def _time_lines(told: Told, function: str, device: str) -> Iterator[str]:
    found = told.pair.times.filter(
        (pl.col("function") == function) & (pl.col("device") == device)
    ).with_columns(p=either_p("welch_p", "rank_p"))
    for row in found.iter_rows(named=True):
        if row["runs_on"] != "both":
            yield _time(told, row)
            continue
        moved = change(row["base_ns"], row["new_ns"])
        noise = "" if row["p"] < ALPHA else ", which may be noise"
        yield f"{_time(told, row)} ({moved}{noise}){_calls(row)}"


def _time(told: Told, row: Mapping[str, Any]) -> str:
    """Time per cycle on both sides, or on the one that has the function."""
    if row["runs_on"] == "both":
        return f"{times(row['base_ns'], row['new_ns'])} per cycle"
    length = units.brief_ns(row["base_ns"] + row["new_ns"])
    return f"only in {told.side_name(row['runs_on'])}, {length} per cycle"


def _calls(row: Mapping[str, Any]) -> str:
    """Calls in a cycle, where they are not the same."""
    base, new = row["calls_base"], row["calls_new"]
    if abs(new - base) <= _SAME_CALLS * max(base, new):
        return ""
    return f", {per_cycle(base)} → {per_cycle(new)} calls"
