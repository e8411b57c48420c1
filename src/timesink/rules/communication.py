"""Communication that nothing hides, the wrong way to do it, and ranks that others wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from timesink.analyses.columns import device_columns, device_numbers, host_columns, host_names
from timesink.analyses.communication_workers import step_communication
from timesink.analyses.device_activities import has_device_work
from timesink.analyses.steps import average_step, is_communication
from timesink.model import units
from timesink.model.findings import Evidence, RunFinding
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace
from timesink.model.vendors import NVIDIA, is_collective_call
from timesink.rules.register import catalogue, make_finding
from timesink.rules.steps import complete_steps, longest_by_name, worst_step
from timesink.rules.thresholds import CommunicationLimits

if TYPE_CHECKING:
    from timesink.analyses.ranks.rank_set import RankSet

DATA_PARALLEL = "DataParallel.forward"
_MAX_NAMED = 3
_MAX_EVIDENCE = 16
_COMPARE = ("compare the steps of {worker} with those of another rank",)


def exposed_communication(trace: Trace) -> list[RunFinding]:
    """Time in which ranks talk and nothing is computed."""
    average, steps = average_step(trace), complete_steps(trace)
    if (
        not average
        or average["communication_ns"] <= CommunicationLimits.min_talking * average["total_ns"]
    ):
        return []
    exposed, total = average["communication_ns"], average["total_ns"]
    if not has_device_work(trace):
        # Host calls overlap what other threads compute; parts of a step count that only once.
        talking = step_communication(trace).filter("complete")
        hidden = int(talking["overlap_ns"].sum()) / max(1, talking.height)
        exposed = max(exposed - hidden, 0.0)
        if exposed <= CommunicationLimits.min_talking * total:
            return []
    behind = _to_hide_behind(trace)
    much = f"Only {units.brief_ns(behind)} of" if behind else "No"
    few = f" {much} computation is left to overlap it with."
    left = Evidence("step", "computation to overlap with", numbers={"left_us": behind / 1000})
    is_hidden = behind >= CommunicationLimits.max_hidden * exposed
    return steps.loss_findings(
        "exposed-communication",
        f"Exposed communication takes {units.brief_ns(exposed)} of {steps.step_phrase} "
        f"({units.share(exposed, total)})."
        f"{few if behind < exposed else ''}",
        exposed,
        (
            *_collectives(trace),
            worst_step(trace, "communication"),
            *([left] if 0 < behind < exposed else []),
        ),
        share=exposed / total,
        # What can be hidden is no saving of sending less: nobody knows how much less that is.
        cost_ns=min(exposed, behind) if is_hidden else 0.0,
        advice=("partly" if behind < exposed else "advice") if is_hidden else "unhidden",
    )


def _to_hide_behind(trace: Trace) -> float:
    """Computation of an average step during which nothing is communicated yet."""
    steps = step_communication(trace).filter("complete")
    unoverlapped_ns = int(steps["computation_ns"].sum()) - int(steps["overlap_ns"].sum())
    return unoverlapped_ns / max(1, steps.height)


def _collectives(trace: Trace) -> tuple[Evidence, ...]:
    """The kernels that communicate longest; the host calls where no kernel does."""
    work = device_columns(trace).filter(pl.Series(is_communication(trace)))
    if not work.is_empty():
        return longest_by_name("kernel", work)
    return longest_by_name("call", _collective_calls(trace))


def _collective_calls(trace: Trace) -> pl.DataFrame:
    return host_columns(trace)[host_names(trace).rows(is_collective_call)]


def gloo_on_devices(trace: Trace) -> list[RunFinding]:
    """Data-parallel training on NVIDIA devices whose collectives go through the host."""
    calls, steps = _collective_calls(trace), complete_steps(trace)
    names = calls["name"].cast(pl.String)
    through_host = names.str.starts_with("gloo:")
    if trace.metadata.vendor != NVIDIA.name or not through_host.any() or not steps.length_ns:
        return []
    if names.str.starts_with(f"{NVIDIA.collectives[0]}:").any() or is_communication(trace).any():
        return []
    spent = int(calls.filter(through_host)["dur_ns"].sum())
    exposed = average_step(trace)["communication_ns"]
    return steps.loss_findings(
        "gloo-on-devices",
        f"{units.count_noun(int(through_host.sum()), 'gloo calls')} took "
        f"{units.brief_ns(spent)} in all. Exposed gloo communication is "
        f"{units.share(exposed, steps.length_ns)} of {steps.step_phrase}.",
        exposed,
        _collectives(trace),
    )


def data_parallel(trace: Trace) -> list[RunFinding]:
    """One process drives several devices, copies the model each step and shares one interpreter."""
    calls = host_columns(trace)[host_names(trace).rows(DATA_PARALLEL.__eq__)]
    if calls.is_empty():
        return []
    busy = device_columns(trace)["kind"].is_in(BUSY_KINDS).to_numpy()
    devices = sorted(set(device_numbers(trace)[busy].tolist()))
    steps = complete_steps(trace)
    if len(devices) < 2 or not steps.length_ns:
        return []
    per_step = steps.time_of(calls)
    numbers = {"calls": calls.height, "host_us_per_step": per_step / 1000}
    return steps.loss_findings(
        "data-parallel",
        f"{DATA_PARALLEL} ran {units.count_noun(calls.height, 'times')} for {len(devices)} "
        f"devices and takes {units.brief_ns(per_step)} of {steps.step_phrase} on the host.",
        per_step,
        (
            Evidence("call", DATA_PARALLEL, numbers=numbers),
            *(Evidence("device", str(number)) for number in devices),
        ),
        cost_ns=0.0,
    )


def stragglers(ranks: RankSet) -> list[RunFinding]:
    """Stragglers, which delay the others themselves: one finding about all of them."""
    late = ranks.analysis.stragglers
    if not late:
        odd = ranks.analysis.busiest
        if odd is None:
            return []
        words = {"names": ranks.workers[int(odd["rank"])]}
        return [make_finding("odd-rank", odd_rank(ranks), words, saving_share=0.0)]
    from timesink.analyses.ranks.analysis import cost_together  # noqa: PLC0415 - most runs have one rank

    worst, panel, several = late[0], ranks.analysis.panel, len(late) > 1
    steps = max(len(panel.steps), 1)
    marked = bool(ranks.ranks[worst.rank].worker.steps["marked"].any())
    lost_ns, share = cost_together(late, panel)
    cost = lost_ns / steps
    workers = {straggler.rank: ranks.workers[straggler.rank] for straggler in late}
    names = units.join_names(list(workers.values()), between=" and ")
    if len(late) > _MAX_NAMED:
        names = f"{len(late)} ranks"
    wait = f"{names} {'delay' if several else 'delays'} the others"
    late_count = len({step for straggler in late for step in straggler.steps})
    often = f", in {late_count} of {steps} steps" if marked and late_count < steps else ""
    is_same_cause = several and len({straggler.id for straggler in late}) == 1
    worker = workers[worst.rank]
    most, why = (
        f"{worker} most, " * (several and not is_same_cause),
        why_late(worst.id, several=is_same_cause),
    )
    # Those after the costliest, and why they are late.
    later_texts = [
        f"{workers[straggler.rank]} {units.share(straggler.share, 1)} ({why_late(straggler.id)})"
        for straggler in late[1:]
    ]
    rest_text = f" Also {units.join_names(later_texts, most=4)}." if later_texts else ""
    return [
        RunFinding(
            "stragglers",
            f"{wait} by {units.brief_ns(cost)}{' per step' if marked else ''} "
            f"({units.share(share, 1)}){often}. {worst.sentence}{rest_text}",
            advice_on(worst.id, worker),
            title=f"{wait}: {most}{why}",
            share=share,
            cost_ns=cost,
            gain_basis="these ranks are as fast as their peers"
            if several
            else f"{worker} is as fast as its peers",
            evidence=tuple(
                Evidence(
                    "worker",
                    workers[straggler.rank],
                    numbers={
                        "rank": float(straggler.rank),
                        "wait_caused_us_per_step": straggler.cost_ns / steps / 1000,
                        "steps": float(len(straggler.steps)),
                    },
                )
                for straggler in late[:_MAX_EVIDENCE]
            ),
            saving_share=share,
            marked=marked,
        )
    ]


def odd_rank(ranks: RankSet) -> str:
    """The rank that computes clearly more than all others and waits least, at no certain cost.

    Empty where there is a straggler, or no such rank.
    """
    odd, panel = ranks.analysis.busiest, ranks.analysis.panel
    if ranks.analysis.stragglers or odd is None:
        return ""
    blocked_ns = dict(zip(panel.ranks.tolist(), panel.delay.sum(axis=1).tolist(), strict=True))
    odd_ns, steps = blocked_ns.pop(int(odd["rank"])), max(len(panel.steps), 1)
    other = max(blocked_ns, key=lambda rank: blocked_ns[rank])
    brief = {name: units.brief_ns(value) for name, value in odd.items()}
    more = units.more(odd["next_compute_ns"], odd["compute_ns"], "", "any other rank")
    return (
        f"Rank {odd['rank']} may be a straggler: it computes {brief['compute_ns']} per step, "
        f"{more}, and waits {brief['wait_ns']} in collectives, the others "
        f"{brief['next_wait_ns']} or more. Its cost is not certain: the others wait "
        f"{units.brief_ns(odd_ns / steps)} per step for it "
        f"({units.share(odd_ns, panel.run_ns)} of the run) and "
        f"{units.brief_ns(blocked_ns[other] / steps)} for rank {other}."
    )


def why_late(cause: str, *, several: bool = False) -> str:
    """Why a rank is late, or several are, as the end of a sentence about them."""
    phrases = catalogue()["causes"].get(cause, {}).get("late", (cause, cause))
    return str(phrases[several])


def advice_on(cause: str, worker: str, *, several: bool = False) -> str:
    """What to try with a rank, or with several, held up by a cause."""
    phrases = catalogue()["causes"].get(cause, {}).get("late_advice", _COMPARE)
    text = phrases[-1 if several else 0].format(worker=worker)
    return f"{text[0].upper()}{text[1:]}."
