"""The answer on one pair in a few sentences, notes on it, and what changed; outputs say these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from timesink.analyses.comparison.pair import CycleTimes, Pair
from timesink.analyses.statistics.ranks import ALPHA
from timesink.answers.comparison.changes import Change, Told, counters_meanwhile
from timesink.answers.comparison.naming import processes
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import amounts, chance, change, interval_pct, per_cycle, signed_ns, times
from timesink.output.names import LONGEST_NAME, cut_middle

_MOST = 2
_MOST_FINDINGS = 5
_MOST_COUNTERS = 3
_SURE = 0.5
"""Confidence in cycles from which on they need no remark."""
_SAME_CALLS = 0.05
"""Calls per cycle that differ by less are told as the same."""
_NO_LENGTHS = "How long cycles take is not recorded on both sides."


def of_pair(pair: Pair, why: Diagnosis | None = None) -> str:
    """Whether the work is the same, how cycle time changed, what explains it or changed most."""
    return " ".join(answer(Told(pair), why))


def answer(told: Told, why: Diagnosis | None = None) -> list[str]:
    """The answer on one pair: unequal work if there is any, cycle time, then why or what changed.

    Where a diagnosis names a cause or an anomaly, that is said, and no other figure of a counter.
    """
    unequal = " ".join(["Cycles do not hold the same work.", *told.whole.workload.reasons[:1]])
    if not told.comparable:
        return [unequal, _as_recorded(told.pair.cycle_times)]
    said = _cycle_words(told)
    if told.whole.equal_work is not None:
        said = f"Put together to equal work, {said[0].lower()}{said[1:]}"
    lines = [said] if told.whole.workload.comparable else [unequal, said]
    if why is not None and (why.causes or why.anomalies):
        lines.append(_why_line(why))
    elif not told.verdict.nothing:
        # Counters and devices that a diagnosis gives figures of.
        symptoms = () if why is None else why.symptoms
        lines.append(_changed_line(told, {(one.metric, one.device) for one in symptoms}))
    return lines


def _as_recorded(cycles: CycleTimes) -> str:
    if not (cycles.base_mean_ns and cycles.new_mean_ns):
        return _NO_LENGTHS
    lengths = times(cycles.base_mean_ns, cycles.new_mean_ns)
    return f"As recorded they take {lengths}, which says nothing about speed."


def _why_line(why: Diagnosis) -> str:
    """The first cause, or else the first anomaly, in a sentence."""
    seen = {
        one.cause: f"({one.metric} of {one.device} {amounts(one.base, one.new, one.unit)})"
        for one in reversed(why.anomalies)
    }
    if not why.causes:
        first = why.anomalies[0].cause
        return f"No cause has evidence; around it {first} shows {seen[first]}."
    cause, *others = why.causes
    lead = "First cause" if why.verdict in {"regression", "improvement"} else "What did change"
    named = " ".join(filter(None, (cause.cause, seen.get(cause.cause))))
    more = f", {units.counted(len(others), 'more causes')} below" if others else ""
    return f"{lead}: {named}, {signed_ns(cause.explained_ns)} per cycle{more}."


# -- cycle time ------------------------------------------------------------------------------------


def _cycle_words(told: Told) -> str:
    cycles, state = told.pair.cycle_times, told.verdict.cycles
    base, new = cycles.base_mean_ns, cycles.new_mean_ns
    lengths, by = times(base, new), change(base, new)
    low, high = cycles.interval_ns or (0, 0)
    bounds = f"95 % interval {units.brief_ns(low)} to {units.brief_ns(high)}"
    if base:
        bounds = f"95 % interval {interval_pct(low / (base / 100), high / (base / 100))}"
    interval = by if cycles.interval_ns is None else f"{by}, {bounds}"
    if told.verdict.nothing and state == "none":
        return f"Both runs are the same within noise: cycles take {lengths} ({interval})."
    if state in {"longer", "shorter"}:
        how = f"{by.lstrip('+-')} {'longer' if new > base else 'less'}"
        how = f"{by.removesuffix(' x')} times as long" if by.endswith(" x") else how
        return f"Cycles take {how}: {lengths} ({bounds})."
    if state == "doubtful":
        p = chance(cycles.rank_p)
        ranks = f"rank test p {p if p.startswith('<') else f'= {p}'}"
        return f"Cycles take {lengths} ({interval}; {ranks}): this may be noise."
    if state == "unknown":
        few = f"Cycles take {lengths}; one cycle on a side cannot be told from noise."
        return few if base and new else _NO_LENGTHS
    if state == "none":
        return f"Cycle time is the same within noise: {lengths} ({interval})."
    said = f"Cycles take {lengths} ({interval})"
    return f"{said}: they are too uneven to tell whether that changed."


# -- what changed most -----------------------------------------------------------------------------


def _changed_line(told: Told, named: Collection[tuple[str, str]]) -> str:
    """What changed most, functions by time and counters by factor."""
    numbers = {"functions": len(told.changes), "counters": len(told.counters)}
    counts = [units.counted(number, things) for things, number in numbers.items() if number]
    if not counts:
        return "No function or counter of its own changed beyond noise."
    most = [
        f"{cut_middle(told.name(one))} on {one.device} ({time_per_cycle(told, one)})"
        for one in told.changes[:1]
    ]
    others = [row for row in told.counters if (row["metric"], row["device"]) not in named]
    most += [
        f"{cut_middle(row['metric'])} of {row['device']} ({counter_amounts(row)})"
        for row in different(others)[: _MOST - len(most)]
    ]
    are_all = len(told.changes) + len(different(told.counters)) == len(most)
    shown = f"{': ' if are_all else ', most of all '}{' and '.join(most)}" if most else ""
    said = f"{' and '.join(counts)} changed beyond noise{shown}"
    compared = (told.pair.loads["runs_on"].cast(pl.String) == "both").any()
    no_counter = not told.counters and compared
    return f"{said}; no counter did." if no_counter else f"{said}."


def time_per_cycle(told: Told, one: Change) -> str:
    """Time per cycle on both sides, or on the one that has the function."""
    if one.runs_on != "both":
        length = units.brief_ns(one.base_ns + one.new_ns)
        return f"only in {told.side_name(one.runs_on)}, {length} per cycle"
    return f"{times(one.base_ns, one.new_ns)} per cycle"


def counter_amounts(row: Mapping[str, Any]) -> str:
    """A counter on both sides."""
    return amounts(row["mu_base"], row["mu_new"], row["unit"])


def different(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose counters read differently; what reads the same is one row with all its names."""
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        alike.setdefault((row["device"], counter_amounts(row)), []).append(row)
    return [
        {**same[0], "metric": "/".join(row["metric"] for row in same)} for same in alike.values()
    ]


def findings(told: Told, named: Collection[tuple[str, str]] = ()) -> Iterator[tuple[str, str]]:
    """The functions whose time changed most of those that changed beyond noise.

    Each with its times, and with how counters moved meanwhile where that was not told before.  Of
    unequal work there are none: what a function took in cycles of another kind says nothing.
    Counters and devices that were `named` before are not told again with other figures.
    """
    before = set()
    changed = [(row["metric"], row["device"]) for row in told.counters]
    for one in told.changes[:_MOST_FINDINGS] if told.comparable else ():
        counters = [name for name, device in changed
                    if device == one.device and (name, device) not in named]  # fmt: skip
        rows = different(counters_meanwhile(told.pair.loads, one, counters))[:_MOST_COUNTERS]
        shown = (
            f"{cut_middle(row['metric'], LONGEST_NAME)} {counter_amounts(row)}" for row in rows
        )
        these = (one.device, *(row["metric"] for row in rows))
        new = rows and these not in before
        yield _line(told, one), f"meanwhile {', '.join(shown)}" if new else ""
        before.add(these)


def findings_left(told: Told) -> str:
    """How many more functions changed; empty where all are told."""
    more = len(told.changes) - _MOST_FINDINGS if told.comparable else 0
    return f"and {units.count(more)} more: --table times" if more > 0 else ""


def _line(told: Told, one: Change) -> str:
    """A function with its times; its calls and names where both sides have others."""
    name = cut_middle(told.name(one), LONGEST_NAME)
    said = f"{name} on {one.device}: {time_per_cycle(told, one)}"
    if one.runs_on != "both":
        return said
    noise = "" if one.p < ALPHA else ", which may be noise"
    said += f" ({change(one.base_ns, one.new_ns)}{noise})"
    base, new = one.calls_base, one.calls_new
    if abs(new - base) > _SAME_CALLS * max(base, new):
        said += f", {per_cycle(base)} → {per_cycle(new)} calls"
    if one.level == "exact" or set(one.names_base) == set(one.names_new):
        return said
    return f"{said}, other {'functions' if one.device == HOST_DEVICE else 'kernels'}"


# -- what was compared, and what to know of it -----------------------------------------------------


def subject(told: Told, identifier: str) -> str:
    """What was compared: names, processes, cycles."""
    base, new = told.pair.base, told.pair.new
    named = identifier if base.pid in base.label else f"{identifier}, {processes(told.whole)}"
    sides, anchors = [], []
    for role in (base, new):
        sides.append(
            f"{role.label} ({units.counted(role.behaviour['cycle'].n_unique(), 'cycles')})"
        )
        # What marks its cycles, where that is a single thing.
        marks = role.behaviour["anchor"].drop_nulls().unique().to_list()
        mark = cut_middle(told.label(str(marks[0])), LONGEST_NAME) if len(marks) == 1 else ""
        anchors.append(mark or "unlike calls")
    return f"{named}: {' → '.join(sides)} of {' and of '.join(dict.fromkeys(anchors))}"


def both_labels(pair: Pair) -> str:
    """What the two sides are called."""
    return f"{pair.base.label} vs {pair.new.label}"


def notes(told: Told) -> list[str]:
    """What to know before believing the numbers."""
    reasons = told.whole.workload.reasons
    shown = list(reasons if told.whole.workload.comparable else reasons[1:])
    own = []
    # Each side as recorded, and as its numbers are told.
    for whole, role in ((told.whole.base, told.pair.base), (told.whole.new, told.pair.new)):
        said = [*whole.notes, *role.notes]
        if whole.confidence is not None and whole.confidence < _SURE:
            said.append(f"its cycles were found with a confidence of {whole.confidence:.0%} only")
        own.append((role.label, list(dict.fromkeys(said))))
    of_both = [note for note in own[0][1] if note in own[1][1]]
    shown += [f"both: {note}" for note in of_both]
    shown += [f"{label}: {note}" for label, each in own for note in each if note not in of_both]
    if told.verdict.nothing and told.pair.findings:
        # High scores where nothing differs are a matter of small spreads.
        shown.append(
            f"Scores reach {told.pair.rows['score'][0]:.0f} though nothing changed beyond noise: "
            "the score divides by the spread of few cycles, which may be close to nothing."
        )
    return [*dict.fromkeys(shown)]


def equal_work_note(told: Told) -> list[str]:
    """Which tables are of equal work, where others are not."""
    if told.pair is told.whole:
        return []
    as_recorded = "--format csv and report compare the cycles as recorded"
    return [f"Numbers here are of equal work; {as_recorded}."]


def notes_of_many(pairs: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Notes of several pairs under their names; what is said of all of them is said once."""
    every = list(pairs)
    of_all = [note for note in every[0][1] if all(note in own for _, own in every)] if every else []
    return [
        *of_all,
        *(f"{name}: {note}" for name, own in every for note in own if note not in of_all),
    ]
