"""Ranks that the others wait for, and why."""

from __future__ import annotations

from timesink.analyses.findings.finding import HIGH, MEDIUM, Evidence, Finding
from timesink.analyses.ranks.rank_set import RankSet
from timesink.analyses.ranks.stragglers import Straggler
from timesink.model import units

_MOST_NAMED = 3
_MOST_EVIDENCE = 16
_HIGH_SHARE = 0.1

IN_WORDS = {
    "gpu_clock": "its device runs slower",
    "kernel_change": "some of its kernels take longer",
    "uneven_work": "it is given more work",
    "host_code": "its host keeps the device waiting",
    "synchronisation": "it waits for its device more often",
    "data_loading": "it waits for data",
    "slow_link": "its link is slow",
}
"""Why a rank is late, as the end of a sentence about it."""

_ADVICE = {
    "gpu_clock": "look at clocks, power limit and temperature of the device of {worker} "
    "(nvidia-smi -q -d CLOCK,PERFORMANCE), and replace it if they stay low",
    "kernel_change": "compare the versions of libraries and the shapes on {worker} with those of "
    "another rank: the same kernels take longer there",
    "uneven_work": "give {worker} as much work as the others: balance tokens, experts, stages or "
    "the batch",
    "host_code": "find what else runs on the host of {worker}, and what its program does alone: "
    "logging, checkpoints, garbage collection",
    "synchronisation": "take out what only {worker} waits for: .item(), .cpu(), synchronize() on "
    "one rank",
    "data_loading": "look at the input of {worker}: its files, its workers for loading, its disk",
    "slow_link": "check the links of {worker}: NIC, cable, PCIe width, NVLink state",
}


def stragglers(ranks: RankSet) -> list[Finding]:
    """Ranks that make the others wait by their own doing: one finding about all of them.

    >>> import timesink
    >>> from timesink.analyses.ranks.rank_set import ranks_of_traces
    >>> stragglers(ranks_of_traces({"rank0": timesink.open(timesink.sample())}))
    []
    """
    late = ranks.analysis.stragglers
    return [_finding(ranks, late)] if late else []


def _finding(ranks: RankSet, late: tuple[Straggler, ...]) -> Finding:
    worst = late[0]
    steps = max(len(ranks.analysis.panel.steps), 1)
    marked = bool(ranks.ranks[worst.rank].worker.steps["marked"].any())
    cost, share = worst.cost_ns / steps, min(sum(each.share for each in late), 1.0)
    together = min(sum(each.cost_ns for each in late) / steps, cost / max(worst.share, 1e-9))
    names = _names(ranks, late)
    verb = "makes" if len(late) == 1 else "make"
    worker = ranks.workers[worst.rank]
    per_step = " a step" if marked else ""
    how_often = _how_often(worst, steps) if marked else ""
    return Finding(
        rule="stragglers",
        title=f"{names} {verb} the others wait: {IN_WORDS.get(worst.cause, worst.cause)}",
        sentence=f"{names} {verb} the others wait: {units.duration_ns(together)}{per_step} "
        f"({units.share(share, 1)}){how_often}. {' '.join(worst.evidence)}{_others(ranks, late)}",
        advice=advice_on(worst.cause, worker),
        share=share,
        gain_ns=together,
        gain_basis=f"{worker} is as fast as its peers"
        if len(late) == 1
        else "these ranks are as fast as their peers",
        evidence=tuple(_evidence(ranks, each, steps) for each in late[:_MOST_EVIDENCE]),
        # All ranks lose what one of them costs.
        least_severity=HIGH if share >= _HIGH_SHARE else MEDIUM,
        marked=marked,
    )


def _names(ranks: RankSet, late: tuple[Straggler, ...]) -> str:
    if len(late) > _MOST_NAMED:
        return f"{len(late)} ranks"
    return units.listed([ranks.workers[each.rank] for each in late], between=" and ")


def _how_often(worst: Straggler, steps: int) -> str:
    return "" if len(worst.steps) >= steps else f", in {len(worst.steps)} of {steps} steps"


def _others(ranks: RankSet, late: tuple[Straggler, ...]) -> str:
    """Those after the costliest, and why they are late."""
    if len(late) < 2:
        return ""
    said = [
        f"{ranks.workers[each.rank]} {units.share(each.share, 1)} "
        f"({IN_WORDS.get(each.cause, each.cause)})"
        for each in late[1:]
    ]
    return f" Also {units.listed(said, most=4)}."


def advice_on(cause: str, worker: str) -> str:
    """What to try with a rank, or ranks, held up by a cause.

    >>> advice_on("slow_link", "rank 3")
    'Check the links of rank 3: NIC, cable, PCIe width, NVLink state.'
    """
    text = _ADVICE.get(cause, "compare the steps of {worker} with those of another rank")
    return f"{text[0].upper()}{text[1:]}.".format(worker=worker)


def _evidence(ranks: RankSet, each: Straggler, steps: int) -> Evidence:
    numbers = {
        "rank": float(each.rank),
        "wait_caused_us_per_step": each.cost_ns / steps / 1000,
        "steps": float(len(each.steps)),
    }
    return Evidence("worker", ranks.workers[each.rank], numbers)
