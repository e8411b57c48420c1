"""The answer of a comparison in a sentence or two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from timesink.analyses.clustering.exploration import Exploration
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.verdict import cycle_change, verdict
from timesink.analyses.kernel_names.display import short_kernel_name
from timesink.model import amounts
from timesink.model.units import counted

if TYPE_CHECKING:
    from timesink.reports.comparison.report import Compared


def headline(pairs: Sequence[Compared], exploration: Exploration | None) -> str:
    """What changed, over all pairs."""
    if exploration is not None:
        return _of_many_roles(exploration)
    if len(pairs) == 1:
        return of_pair(pairs[0].pair)
    return _of_many_pairs(pairs)


def of_pair(pair: Pair) -> str:
    """Whether the work is the same, how cycle time changed, and what changed most."""
    if pair.workload.comparable:
        return _changes(pair)
    why = pair.workload.reasons[0].rstrip(".") if pair.workload.reasons else "by their calls"
    start = f"Cycles do not hold the same work ({why})"
    if pair.equal_work is None:
        return f"{start}: their times say nothing about speed."
    return f"{start}. Put together to equal work: {_changes(pair.equal_work)}"


def _changes(pair: Pair) -> str:
    found = verdict(pair)
    lengths = _lengths(pair)
    if found.nothing and found.cycles == "none":
        return f"Both runs are the same within noise: cycles take {lengths}."
    sentence = {
        "none": f"cycle time is the same within noise: {lengths}",
        "doubtful": f"cycles take {lengths}, which may be noise",
        "unknown": f"cycles take {lengths}, too few to tell a change from noise",
    }.get(found.cycles, f"cycles take {lengths}")
    parts = [_function(pair, place) for place in found.functions[:1]]
    parts += [_counter(pair, place) for place in found.counters[:1]]
    return "; ".join([sentence[0].upper() + sentence[1:], *parts]) + "."


def _lengths(pair: Pair) -> str:
    times = pair.cycle_times
    change = "" if times.change_pct is None else f" ({times.change_pct:+.1f} %)"
    return f"{amounts.times(times.base_mean_ns, times.new_mean_ns)}{change}"


def _function(pair: Pair, place: int) -> str:
    row = pair.times.row(place, named=True)
    name = short_kernel_name(row["short_name"] or row["function"])
    return f"{name} on {row['device']} {amounts.times(row['base_ns'], row['new_ns'])} per cycle"


def _counter(pair: Pair, place: int) -> str:
    row = pair.rows.row(place, named=True)
    told = amounts.amounts(row["mu_base"], row["mu_new"], row["unit"])
    return f"{row['metric']} of {row['device']} {told}"


def _of_many_pairs(pairs: Sequence[Compared]) -> str:
    """How many pairs became slower, and the one that changed most."""
    unlike = [one for one in pairs if not one.pair.workload.comparable]
    alike = [one for one in pairs if one.pair.workload.comparable]
    counts = dict.fromkeys(("longer", "shorter", "doubtful", "none", "unknown"), 0)
    for one in alike:
        counts[cycle_change(one.pair.cycle_times)] += 1
    words = {
        "longer": "longer cycles",
        "shorter": "shorter cycles",
        "doubtful": "a doubtful change of cycle time",
        "none": "the same cycle time within noise",
        "unknown": "too few cycles to tell",
    }
    said = [f"{count} with {words[state]}" for state, count in counts.items() if count]
    said += [f"{len(unlike)} whose cycles do not hold the same work"] if unlike else []
    worst = max(alike or pairs, key=lambda one: abs(one.pair.cycle_times.change_pct or 0.0))
    of_worst = f"{worst.identifier}{worst.suffix}, {_who(worst.pair)}"
    return f"{counted(len(pairs), 'pairs')}: {', '.join(said)}. {of_worst}: {of_pair(worst.pair)}"


def _who(pair: Pair) -> str:
    """Which process a pair is about."""
    base, new = pair.base, pair.new
    if base.pid == new.pid:
        return f"pid {base.pid}"
    same_rank = base.rank is not None and base.rank == new.rank
    return f"rank {base.rank}" if same_rank else f"pid {base.pid} to {new.pid}"


def _of_many_roles(exploration: Exploration) -> str:
    roles, clusters = exploration.roles, exploration.clusters
    if len(clusters) == 1:
        return f"All {counted(len(roles), 'roles')} behave alike."
    return f"{counted(len(roles), 'roles')} behave in {len(clusters)} ways."
