"""Columns of the tables about communication, of one worker and of all of a span; and of ranks."""

from __future__ import annotations

from timesink.answers.columns import Columns, ColumnSpec

_GROUP = ColumnSpec("name of the process group")
_SEQUENCE = ColumnSpec("its number among the calls of the group")
_MEANS = ColumnSpec("what it does: `all_reduce`, `all_gather`, `send`, ...", "collective")

CALLS: Columns = {
    "record": ColumnSpec("number of the row"),
    "name": ColumnSpec("name of the call as recorded", "call"),
    "collective": _MEANS,
    "library": ColumnSpec("`nccl`, `gloo`, ...", "library"),
    "step": ColumnSpec("step of the call; null in none", "step"),
    "group": _GROUP,
    "group_ranks": ColumnSpec("ranks of the group, as recorded"),
    "group_size": ColumnSpec("number of ranks in the group", "ranks"),
    "sequence": _SEQUENCE,
    "src_rank": ColumnSpec("rank that sends"),
    "dst_rank": ColumnSpec("rank that receives"),
    "dtype": ColumnSpec("type of the elements", "type"),
    "size_bytes": ColumnSpec("what the rank puts in", "size"),
    "out_bytes": ColumnSpec("what it gets out"),
    "start_ns": ColumnSpec("when the call or its first kernel starts", "start"),
    "end_ns": ColumnSpec("when the call or its last kernel ends"),
    "host_start_ns": ColumnSpec("when the call starts; null where only kernels are known"),
    "host_end_ns": ColumnSpec("when the call ends"),
    "latency_ns": ColumnSpec("time covered by the call and its kernels together", "latency"),
}

WORKERS: Columns = {
    "worker": ColumnSpec("name of the worker", "worker"),
    "step": ColumnSpec("number of the step", "step"),
    "complete": ColumnSpec("false where the recording ends before the step does", "whole"),
    "communication_ns": ColumnSpec(
        "time with communication; the two below add up to it", "communication"
    ),
    "transfer_ns": ColumnSpec("part in which all took part; null for a single worker", "transfer"),
    "waiting_ns": ColumnSpec("part spent waiting for others; null for a single worker", "waiting"),
}

STATISTICS: Columns = {
    "worker": ColumnSpec("name of the worker", "worker"),
    "name": ColumnSpec("name of the call as recorded", "call"),
    "collective": _MEANS,
    "calls": ColumnSpec("number of calls", "calls"),
    "size_bytes": ColumnSpec("what the rank put in, added up", "size"),
    "latency_ns": ColumnSpec("time covered by the calls and their kernels", "latency"),
    "transfer_ns": ColumnSpec("part in which all took part", "transfer"),
    "algorithm_bytes_per_s": ColumnSpec(
        "what the collective is about, over its transfer", "algorithm"
    ),
    "bus_bytes_per_s": ColumnSpec("what the busiest link moved, over its transfer", "bus"),
}

MISMATCHES: Columns = {
    "name": ColumnSpec("name of the call as recorded", "call"),
    "collective": _MEANS,
    "group": _GROUP,
    "sequence": _SEQUENCE,
    "size_bytes": ColumnSpec("what a rank puts in", "size"),
    "step": ColumnSpec("step of the call", "step"),
    "present": ColumnSpec("workers that made the call", "present"),
    "missing": ColumnSpec("workers that did not", "missing"),
}

OVERLAP: Columns = {
    "name": ColumnSpec("number of the step"),
    "start_ns": ColumnSpec("when it starts"),
    "end_ns": ColumnSpec("when its device work is done"),
    "complete": ColumnSpec("false where the recording ends before the step does"),
    "marked": ColumnSpec("false where no steps were recorded"),
    "computation_ns": ColumnSpec("time with kernels running; operators where there are none"),
    "communication_ns": ColumnSpec("time with communication"),
    "overlap_ns": ColumnSpec("time with both"),
    "other_ns": ColumnSpec("time with neither"),
}
"""Of the JSON alone: `distributed.overlap`."""


# Columns of the tables about a set of ranks.

_RANK = ColumnSpec("number of the rank", "rank")
_WORKER = ColumnSpec("name of its recording")
_WORK: Columns = {
    "compute_ns": ColumnSpec("time with kernels running", "compute"),
    "communication_ns": ColumnSpec("time in which data was moved or waited for", "communication"),
    "exposed_communication_ns": ColumnSpec("part in which the device did nothing else", "exposed"),
    "overlap_ns": ColumnSpec("part in which it computed as well", "overlap"),
}
_WAITS: Columns = {
    "wait_suffered_ns": ColumnSpec(
        "time in collectives before the last rank had come", "wait suffered"
    ),
    "wait_caused_ns": ColumnSpec(
        "how long most others waited for what the rank itself did", "wait caused"
    ),
    "pipeline_bubble_ns": ColumnSpec("waits for the stages before and after it", "bubble"),
}

RANKS: Columns = {
    "rank": _RANK,
    "worker": ColumnSpec("name of its recording", "worker"),
    "host": ColumnSpec("machine it ran on, where the recording tells", "host"),
    "device": ColumnSpec("name of its device"),
    "steps": ColumnSpec("number of complete steps; times are means of these", "steps"),
    "step_ns": ColumnSpec("length of a step", "step"),
    **_WORK,
    **_WAITS,
    "idle_ns": ColumnSpec("time with neither device work nor communication", "idle"),
}

STRAGGLERS: Columns = {
    "rank": _RANK,
    "worker": _WORKER,
    "cause": ColumnSpec(
        "`gpu_clock`, `kernel_change`, `uneven_work`, `host_code`, `synchronisation`, "
        "`data_loading` or `slow_link`",
        "cause",
    ),
    "cost_ns": ColumnSpec(
        "how much longer the run takes for this rank alone; of ranks that are late in the same "
        "steps it does not add up",
        "cost",
    ),
    "share_pct": ColumnSpec("the same in percent of the run", "share"),
    "steps": ColumnSpec("number of steps in which it held the others up", "steps"),
    "step_names": ColumnSpec("which steps these are"),
    "evidence": ColumnSpec("sentences with numbers, the rank beside its peers", "why"),
}

MATCHED: Columns = {
    "group_kind": ColumnSpec(
        "what the process group is for: `dp`, `tp`, `pp`, `ep`, `cp`, `mp`, `world`", "group"
    ),
    "group": ColumnSpec("name of the process group; null where several of a kind are summed"),
    "collective": ColumnSpec("what it does: `all_reduce`, `all_gather`, `send`, ...", "collective"),
    "dtype": ColumnSpec("type of the elements", "type"),
    "size_bytes": ColumnSpec("what a rank puts in", "size"),
    "group_size": ColumnSpec("number of ranks in the group", "of ranks"),
    "groups": ColumnSpec("number of groups that are summed", "groups"),
    "ranks": ColumnSpec("number of ranks that make the call"),
    "calls": ColumnSpec("number of calls; one counts once, however many ranks take part", "calls"),
    "wait_mean_ns": ColumnSpec("how long a rank waits until the last has come, on average", "wait"),
    "wait_max_ns": ColumnSpec("the longest wait", "longest"),
    "transfer_mean_ns": ColumnSpec("what the collective takes once all are there", "transfer"),
    "algorithm_bytes_per_s": ColumnSpec("what it is about, over its transfer", "algorithm"),
    "bus_bytes_per_s": ColumnSpec("what the busiest link moves, over its transfer", "bus"),
    "latest_rank": ColumnSpec("rank the others waited for longest", "latest"),
    "latest_share": ColumnSpec("its part of all the waiting, 0 to 1"),
}

CLOCKS: Columns = {
    "rank": _RANK,
    "worker": _WORKER,
    "clock": ColumnSpec("number of the clock; ranks of one host share it", "clock"),
    "offset_ns": ColumnSpec("how far it is ahead of the others in the middle of the run", "ahead"),
    "uncertainty_ns": ColumnSpec("how well that is known", "known to"),
    "drift_ppm": ColumnSpec("how much faster it goes, in millionths", "drift ppm"),
    "drift_uncertainty_ppm": ColumnSpec("how well that is known"),
    "ends": ColumnSpec("ends of collectives that it was found from", "ends"),
    "tied_to": ColumnSpec("clocks with the same number are tied by collectives"),
    "host": ColumnSpec("machine, where the recording tells", "host"),
}

RANK_STEPS: Columns = {
    "rank": _RANK,
    "worker": _WORKER,
    "step": ColumnSpec("number of the step", "step"),
    "complete": ColumnSpec("false where the recording ends before the step does"),
    "step_ns": ColumnSpec("length of the step", "length"),
    **_WORK,
    "own_ns": ColumnSpec("time in which the rank did not wait for others", "own"),
    **_WAITS,
    "excess_ns": ColumnSpec("what the rank itself took more than its peers"),
}

PROCESS_GROUPS: Columns = {
    "group": ColumnSpec("name of the process group", "group"),
    "description": ColumnSpec("what the program calls it", "called"),
    "kind": ColumnSpec(
        "what it is for: `dp` data, `tp` tensor, `pp` pipeline, `ep` expert, `cp` context, `mp` "
        "model parallel, `world` everybody; null where nothing tells",
        "kind",
    ),
    "size": ColumnSpec("number of ranks in it", "size"),
    "ranks": ColumnSpec("those of them whose recordings are there", "ranks"),
    "calls": ColumnSpec("collectives of a rank in it, on average", "calls"),
    "collectives": ColumnSpec("which collectives these are", "collectives"),
}

RANK_GROUPS: Columns = {
    "group": ColumnSpec("`usual`, `odd 1`, ...", "group"),
    "ranks": ColumnSpec("who is in it", "ranks"),
    "size": ColumnSpec("how many these are", "size"),
    "representative": ColumnSpec("the rank in the middle of the group", "representative"),
    "odd": ColumnSpec("whether something sets it apart from its peers"),
    "apart": ColumnSpec("sentences with numbers: what sets it apart", "apart by"),
}
