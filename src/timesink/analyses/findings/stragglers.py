"""Ranks that the others wait for, and why."""

from __future__ import annotations

from timesink.analyses.findings.finding import HIGH, MEDIUM, Evidence, Finding
from timesink.analyses.ranks.rank_set import RankSet
from timesink.analyses.ranks.stragglers import Straggler
from timesink.analyses.ranks.together import cost_together, share_together
from timesink.model import units

_MOST_NAMED = 3
_MOST_EVIDENCE = 16
_HIGH_SHARE = 0.1

_WHY = {
    "gpu_clock": ("its device runs slower", "their devices run slower"),
    "kernel_change": ("some of its kernels take longer", "some of their kernels take longer"),
    "uneven_work": ("it is given more work", "they are given more work"),
    "host_code": ("its host keeps the device waiting", "their hosts keep the devices waiting"),
    "synchronisation": ("it waits for its device more often", "they wait more for their devices"),
    "data_loading": ("it waits for data", "they wait for data"),
    "slow_link": ("its link is slow", "their links are slow"),
}
"""Why a rank is late, and why several are, as the end of a sentence about them."""

_ADVICE = {
    "gpu_clock": (
        (
            "look at clocks, power limit and temperature of the device of {worker} "
            "(nvidia-smi -q -d CLOCK,PERFORMANCE), and replace it if they stay low"
        ),
        (
            "look at clocks, power limits and temperatures of the devices of {worker} "
            "(nvidia-smi -q -d CLOCK,PERFORMANCE), and replace them if these stay low"
        ),
    ),
    "kernel_change": (
        (
            "compare the versions of libraries and the shapes on {worker} with those of another "
            "rank: the same kernels take longer there"
        ),
    ),
    "uneven_work": (
        "give {worker} as much work as the others: balance tokens, experts, stages or the batch",
    ),
    "host_code": (
        (
            "find what else runs on the host of {worker}, and what its program does alone: "
            "logging, checkpoints, garbage collection"
        ),
        (
            "find what else runs on the hosts of {worker}, and what their programs alone do: "
            "logging, checkpoints, garbage collection"
        ),
    ),
    "synchronisation": (
        "take out what only {worker} waits for: .item(), .cpu(), synchronize() on one rank",
        "take out what only {worker} wait for: .item(), .cpu(), synchronize() on some ranks",
    ),
    "data_loading": (
        "look at the input of {worker}: its files, its workers for loading, its disk",
        "look at the input of {worker}: their files, their workers for loading, their disks",
    ),
    "slow_link": ("check the links of {worker}: NIC, cable, PCIe width, NVLink state",),
}
"""What to try with one rank, and with several where that is worded otherwise."""
_COMPARE = ("compare the steps of {worker} with those of another rank",)


def stragglers(ranks: RankSet) -> list[Finding]:
    """Ranks that make the others wait by their own doing: one finding about all of them.

    >>> import timesink
    >>> from timesink.analyses.ranks.rank_set import ranks_of_traces
    >>> stragglers(ranks_of_traces({"rank0": timesink.open(timesink.sample())}))
    []
    """
    late = ranks.analysis.stragglers
    return [_finding(ranks, late)] if late else []


def why_late(cause: str, *, several: bool = False) -> str:
    """Why a rank is late, or several are, as the end of a sentence about them.

    >>> why_late("gpu_clock"), why_late("gpu_clock", several=True)
    ('its device runs slower', 'their devices run slower')
    """
    return _WHY.get(cause, (cause, cause))[several]


def _finding(ranks: RankSet, late: tuple[Straggler, ...]) -> Finding:
    worst, panel, several = late[0], ranks.analysis.panel, len(late) > 1
    steps = max(len(panel.steps), 1)
    marked = bool(ranks.ranks[worst.rank].worker.steps["marked"].any())
    share, cost = share_together(late, panel), cost_together(late, panel) / steps
    names = _names(ranks, late)
    verb = "make" if several else "makes"
    worker = ranks.workers[worst.rank]
    per_step = " a step" if marked else ""
    how_often = _how_often(late, steps) if marked else ""
    alike = several and len({each.cause for each in late}) == 1
    most, why = f"{worker} most, " * (several and not alike), why_late(worst.cause, several=alike)
    return Finding(
        rule="stragglers",
        title=f"{names} {verb} the others wait: {most}{why}",
        sentence=f"{names} {verb} the others wait: {units.duration_ns(cost)}{per_step} "
        f"({units.share(share, 1)}){how_often}. {' '.join(worst.evidence)}{_others(ranks, late)}",
        advice=advice_on(worst.cause, worker),
        share=share,
        gain_ns=cost,
        gain_basis="these ranks are as fast as their peers"
        if several
        else f"{worker} is as fast as its peers",
        evidence=tuple(_evidence(ranks, each, steps) for each in late[:_MOST_EVIDENCE]),
        # All ranks lose what one of them costs.
        least_severity=HIGH if share >= _HIGH_SHARE else MEDIUM,
        marked=marked,
    )


def _names(ranks: RankSet, late: tuple[Straggler, ...]) -> str:
    if len(late) > _MOST_NAMED:
        return f"{len(late)} ranks"
    return units.listed([ranks.workers[each.rank] for each in late], between=" and ")


def _how_often(late: tuple[Straggler, ...], steps: int) -> str:
    many = len({step for each in late for step in each.steps})
    return "" if many >= steps else f", in {many} of {steps} steps"


def _others(ranks: RankSet, late: tuple[Straggler, ...]) -> str:
    """Those after the costliest, and why they are late."""
    if len(late) < 2:
        return ""
    said = [
        f"{ranks.workers[each.rank]} {units.share(each.share, 1)} ({why_late(each.cause)})"
        for each in late[1:]
    ]
    return f" Also {units.listed(said, most=4)}."


def advice_on(cause: str, worker: str, *, several: bool = False) -> str:
    """What to try with a rank, or with several, held up by a cause.

    >>> advice_on("slow_link", "rank 3")
    'Check the links of rank 3: NIC, cable, PCIe width, NVLink state.'
    >>> advice_on("data_loading", "ranks 8-15", several=True)
    'Look at the input of ranks 8-15: their files, their workers for loading, their disks.'
    """
    text = _ADVICE.get(cause, _COMPARE)[-1 if several else 0]
    return f"{text[0].upper()}{text[1:]}.".format(worker=worker)


def _evidence(ranks: RankSet, each: Straggler, steps: int) -> Evidence:
    numbers = {
        "rank": float(each.rank),
        "wait_caused_us_per_step": each.cost_ns / steps / 1000,
        "steps": float(len(each.steps)),
    }
    return Evidence("worker", ranks.workers[each.rank], numbers)
