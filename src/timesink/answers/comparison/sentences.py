"""The answer on one pair in a few sentences; every output says these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from timesink.analyses.behaviour.functions import STEP_MARK, STEP_MARK_TOLD
from timesink.analyses.comparison.pair import CycleTimes, Pair
from timesink.analyses.comparison.verdict import PairVerdict, either_p, verdict
from timesink.answers.comparison.changes import Change, changes
from timesink.answers.comparison.naming import processes, short_labels
from timesink.model import units
from timesink.model.diagnosis import Diagnosis
from timesink.model.findings import Finding
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import amounts, chance, change, interval_pct, signed_ns, times
from timesink.output.names import cut_middle

# A pair with what is worth saying of it.


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
    def verdict(self) -> PairVerdict:
        """What differs by more than noise."""
        return verdict(self.pair)

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """Short names of the functions; no two have the same."""
        functions = self.pair.times.select("function", "device").unique(maintain_order=True)
        host = set(functions.filter(functions["device"] == HOST_DEVICE)["function"])
        return short_labels(functions["function"].unique(maintain_order=True), host)

    @cached_property
    def counters(self) -> list[dict[str, Any]]:
        """Counters that changed beyond noise, strongest change first."""
        rows = self.pair.loads[list(self.verdict.counters)]
        return rows.with_columns(p=either_p("mu_welch_p", "mu_rank_p")).to_dicts()

    @cached_property
    def changes(self) -> list[Change]:
        """Functions whose time per cycle changed beyond noise, largest change first.

        By family where names do not meet.
        """
        return changes(self.pair, self.verdict)

    def known_load(self, place: int) -> dict[str, Any]:
        """A row with its counter as far as it is known: None on a side that knows nothing of it."""
        return known_load(self.pair, place)

    @property
    def tested(self) -> bool:
        """Whether there is a test: one cycle on a side has no spread."""
        cycles = self.pair.cycle_times
        return min(len(cycles.base_ns), len(cycles.new_ns)) > 1

    def is_tested(self, row: Mapping[str, Any]) -> bool:
        """Whether there is a test of a row, which may be in fewer cycles than there are."""
        in_one = 1 in (row["cycles_base"], row["cycles_new"])
        return self.tested and row["runs_on"] == "both" and not in_one

    # -- tables ------------------------------------------------------------------------------------

    @cached_property
    def times(self) -> pl.DataFrame:
        """`Pair.times` without functions of a sort that one side did not record.

        Nor callers of such functions that one side lacks: their own time is what was not recorded.
        """
        lacking = self.verdict.unrecorded
        alone = pl.col("runs_on").cast(pl.String) != "both"
        return self.pair.times.filter(~(lacking.of_these() | (lacking.call_these() & alone)))

    @cached_property
    def families(self) -> pl.DataFrame:
        """`Pair.families` without those that hold nothing else than such functions."""
        table, known = self.pair.families, self.times.select("function", "device")
        if known.height == self.pair.times.height:
            return table
        names = pl.concat_list("names_base", "names_new").alias("function")
        listed = table.with_row_index("place").select("place", "device", names)
        single = listed.explode("function", empty_as_null=True, keep_nulls=True)
        kept = single.join(known, ["function", "device"], "semi")
        return table[kept["place"].unique().sort()]

    @property
    def unrecorded(self) -> str:
        """Why functions are left out of these; empty where none are."""
        lacking, count = self.verdict.unrecorded, self.pair.times.height - self.times.height
        if not count:
            return ""
        said = [
            f"{self.side_name(side)} did not record {_and(sorts)}"
            for side, sorts in (("base", lacking.base), ("new", lacking.new))
            if sorts
        ]
        why = "; ".join(said) or "only one side tells what threads did outside of recorded calls"
        return f"left out here: {count} {'functions' if count > 1 else 'function'}, as {why}"

    # -- names -------------------------------------------------------------------------------------

    @property
    def comparable(self) -> bool:
        """Whether the numbers that are told are of the same work, or of one run."""
        whole = self.whole
        return (
            whole.workload.comparable or whole.equal_work is not None or whole.cycle_times.one_run
        )

    @property
    def processes(self) -> str:
        """Which processes are compared: `rank 3`, `pid 7`, `pid 7 → 9`."""
        return processes(self.whole)

    def side_name(self, which: str) -> str:
        """What `base` or `new` is called: `normal`, `abnormal`; names of peers are too long."""
        if self.pair.kind == "peers":
            return "the first" if which == "base" else "the second"
        role = self.pair.base if which == "base" else self.pair.new
        return role.label.partition("_pid_")[0]

    def label(self, function: str) -> str:
        """The short name of a function."""
        return self.labels.get(function, function)

    def in_words(self, function: str) -> str:
        """A function in a sentence: the mark of a step is no function to a reader."""
        return STEP_MARK_TOLD if function == STEP_MARK else self.label(function)

    def name(self, change: Change) -> str:
        """What a change is called: a function by its short name, or a family."""
        if change.level == "family":
            return f"{change.name} family"
        if change.level == "normalised":
            return short_labels([change.name])[change.name]
        return self.in_words(change.name)


def known_load(pair: Pair, place: int) -> dict[str, Any]:
    """A row of a pair, the counter None on a side that does not know it."""
    row, known = (table.row(place, named=True) for table in (pair.rows, pair.loads))
    counter = {name: known[name] for name in known if "mu_" in name}
    for side, other in (("base", "new"), ("new", "base")):
        if other in (known["runs_on"], row["runs_on"]):
            counter[f"mu_{side}"] = None
    return {**row, **counter}


def _and(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


_MOST = 2
_NO_LENGTHS = "How long cycles take is not recorded on both sides."
_CERTAIN = frozenset({"longer", "shorter"})


def of_pair(pair: Pair, why: Diagnosis | None = None) -> str:
    """Whether the work is the same, how cycle time changed, what explains it or changed most."""
    return " ".join(answer(Told(pair), why))


def answer(told: Told, why: Diagnosis | None = None) -> list[str]:
    """The answer on one pair: unequal work if there is any, cycle time, then why or what changed.

    Where a diagnosis names a cause or an anomaly, that is said, and no other figure of a counter.
    """
    if not told.comparable:
        return [_unequal(told.whole), _as_recorded(told.pair.cycle_times)]
    lines = [] if told.whole.workload.comparable else [_unequal(told.whole)]
    lines.append(_cycle_line(told))
    if why is not None and (why.causes or why.anomalies):
        lines.append(why_line(why))
    elif not told.verdict.nothing:
        lines.append(_changed_line(told, _symptoms(why)))
    return lines


def why_line(why: Diagnosis) -> str:
    """The first cause, or else the first anomaly, in a sentence."""
    for cause in why.causes[:1]:
        more = f", {units.counted(len(why.causes) - 1, 'more causes')} below" * (
            len(why.causes) > 1
        )
        is_change = why.verdict in {"regression", "improvement"}
        lead = "First cause" if is_change else "What did change"
        seen = [f" ({_seen(one)})" for one in why.anomalies if one.cause == cause.cause]
        said = f"{cause.cause}{''.join(seen[:1])}, {signed_ns(cause.explained_ns)} per cycle{more}"
        return f"{lead}: {said}."
    first = why.anomalies[0]
    return f"No cause has evidence; around it {first.cause} shows ({_seen(first)})."


def _seen(one: Finding) -> str:
    return f"{one.metric} of {one.device} {amounts(one.base, one.new, one.unit)}"


def _unequal(pair: Pair) -> str:
    reasons = pair.workload.reasons
    return " ".join(["Cycles do not hold the same work.", *reasons[:1]])


def _as_recorded(cycles: CycleTimes) -> str:
    if not (cycles.base_mean_ns and cycles.new_mean_ns):
        return _NO_LENGTHS
    lengths = times(cycles.base_mean_ns, cycles.new_mean_ns)
    return f"As recorded they take {lengths}, which says nothing about speed."


# -- cycle time ------------------------------------------------------------------------------------


def _cycle_line(told: Told) -> str:
    said = _cycle_words(told)
    if told.whole.equal_work is None:
        return said
    return f"Put together to equal work, {said[0].lower()}{said[1:]}"


def _cycle_words(told: Told) -> str:
    cycles, state = told.pair.cycle_times, told.verdict.cycles
    lengths = times(cycles.base_mean_ns, cycles.new_mean_ns)
    if told.verdict.nothing and state == "none":
        return f"Both runs are the same within noise: cycles take {lengths} ({_interval(cycles)})."
    if state in _CERTAIN:
        return f"Cycles take {_how_much(cycles)}: {lengths} ({_bounds(cycles)})."
    if state == "doubtful":
        return f"Cycles take {lengths} ({_interval(cycles)}; {_ranks(cycles)}): this may be noise."
    if state == "unknown":
        few = f"Cycles take {lengths}; one cycle on a side cannot be told from noise."
        return few if cycles.base_mean_ns and cycles.new_mean_ns else _NO_LENGTHS
    if state == "none":
        return f"Cycle time is the same within noise: {lengths} ({_interval(cycles)})."
    said = f"Cycles take {lengths} ({_interval(cycles)})"
    return f"{said}: they are too uneven to tell whether that changed."


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
    by = change(cycles.base_mean_ns, cycles.new_mean_ns)
    return by if cycles.interval_ns is None else f"{by}, {_bounds(cycles)}"


def _bounds(cycles: CycleTimes) -> str:
    low, high = cycles.interval_ns or (0, 0)
    base = cycles.base_mean_ns / 100
    if not base:
        return f"95 % interval {units.brief_ns(low)} to {units.brief_ns(high)}"
    return f"95 % interval {interval_pct(low / base, high / base)}"


# -- what changed ----------------------------------------------------------------------------------


def _symptoms(why: Diagnosis | None) -> set[tuple[str, str]]:
    """Counters and devices that a diagnosis gives figures of."""
    return set() if why is None else {(one.metric, one.device) for one in why.symptoms}


def _changed_line(told: Told, named: set[tuple[str, str]]) -> str:
    """What changed most, functions by time and counters by factor."""
    counts = [
        units.counted(number, things)
        for number, things in (
            (len(told.changes), "functions"),
            (len(told.counters), "counters"),
        )
        if number
    ]
    if not counts:
        return "No function or counter of its own changed beyond noise."
    most = list(_most(told, named))
    are_all = len(told.changes) + len(different(told.counters)) == len(most)
    shown = f"{': ' if are_all else ', most of all '}{' and '.join(most)}" if most else ""
    said = f"{' and '.join(counts)} changed beyond noise{shown}"
    compared = (told.pair.loads["runs_on"].cast(pl.String) == "both").any()
    no_counter = not told.counters and compared
    return f"{said}; no counter did." if no_counter else f"{said}."


def _most(told: Told, named: set[tuple[str, str]]) -> Iterator[str]:
    others = [row for row in told.counters if (row["metric"], row["device"]) not in named]
    for one in told.changes[:1]:
        yield f"{cut_middle(told.name(one))} on {one.device} ({time_per_cycle(told, one)})"
    for row in different(others)[: _MOST - len(told.changes[:1])]:
        yield f"{cut_middle(row['metric'])} of {row['device']} ({counter_amounts(row)})"


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
