"""Columns of the tables about a set of ranks."""

from __future__ import annotations

from timesink.reports.columns import Column, Columns

_RANK = Column("number of the rank", "rank")
_WORKER = Column("name of its recording")

RANKS: Columns = {
    "rank": _RANK,
    "worker": Column("name of its recording", "worker"),
    "host": Column("machine it ran on, where the recording tells", "host"),
    "device": Column("name of its device"),
    "steps": Column("number of complete steps; times are means of these", "steps"),
    "step_ns": Column("length of a step", "step"),
    "compute_ns": Column("time with kernels running", "compute"),
    "communication_ns": Column("time in which data was moved or waited for", "communication"),
    "exposed_communication_ns": Column("part in which the device did nothing else", "exposed"),
    "overlap_ns": Column("part in which it computed as well", "overlap"),
    "wait_suffered_ns": Column(
        "time in collectives before the last rank had come", "wait suffered"
    ),
    "wait_caused_ns": Column(
        "how long most others waited for what the rank itself did", "wait caused"
    ),
    "pipeline_bubble_ns": Column("waits for the stages before and after it", "bubble"),
    "idle_ns": Column("time with neither device work nor communication", "idle"),
}

STRAGGLERS: Columns = {
    "rank": _RANK,
    "worker": _WORKER,
    "cause": Column(
        "`gpu_clock`, `kernel_change`, `uneven_work`, `host_code`, `synchronisation`, "
        "`data_loading` or `slow_link`",
        "cause",
    ),
    "cost_ns": Column(
        "how much longer the run takes for this rank alone; of ranks that are late in the same "
        "steps it does not add up",
        "cost",
    ),
    "share_pct": Column("the same in percent of the run", "share"),
    "steps": Column("number of steps in which it held the others up", "steps"),
    "step_names": Column("which steps these are"),
    "evidence": Column("sentences with numbers, the rank beside its peers", "why"),
}

MATCHED: Columns = {
    "group_kind": Column(
        "what the process group is for: `dp`, `tp`, `pp`, `ep`, `cp`, `mp`, `world`", "group"
    ),
    "group": Column("name of the process group; null where several of a kind are summed"),
    "collective": Column("what it does: `all_reduce`, `all_gather`, `send`, ...", "collective"),
    "dtype": Column("type of the elements", "type"),
    "size_bytes": Column("what a rank puts in", "size"),
    "group_size": Column("number of ranks in the group", "of ranks"),
    "groups": Column("number of groups that are summed", "groups"),
    "ranks": Column("number of ranks that make the call"),
    "calls": Column("number of calls; one counts once, however many ranks take part", "calls"),
    "wait_mean_ns": Column("how long a rank waits until the last has come, on average", "wait"),
    "wait_max_ns": Column("the longest wait", "longest"),
    "transfer_mean_ns": Column("what the collective takes once all are there", "transfer"),
    "algorithm_bytes_per_s": Column("what it is about, over its transfer", "algorithm"),
    "bus_bytes_per_s": Column("what the busiest link moves, over its transfer", "bus"),
    "latest_rank": Column("rank the others waited for longest", "latest"),
    "latest_share": Column("its part of all the waiting, 0 to 1"),
}

CLOCKS: Columns = {
    "rank": _RANK,
    "worker": _WORKER,
    "clock": Column("number of the clock; ranks of one host share it", "clock"),
    "offset_ns": Column("how far it is ahead of the others in the middle of the run", "ahead"),
    "uncertainty_ns": Column("how well that is known", "known to"),
    "drift_ppm": Column("how much faster it goes, in millionths", "drift ppm"),
    "drift_uncertainty_ppm": Column("how well that is known"),
    "ends": Column("ends of collectives that it was found from", "ends"),
    "tied_to": Column("clocks with the same number are tied by collectives"),
    "host": Column("machine, where the recording tells", "host"),
}

RANK_STEPS: Columns = {
    "rank": _RANK,
    "worker": _WORKER,
    "step": Column("number of the step", "step"),
    "complete": Column("false where the recording ends before the step does"),
    "step_ns": Column("length of the step", "length"),
    "compute_ns": Column("time with kernels running", "compute"),
    "communication_ns": Column("time in which data was moved or waited for", "communication"),
    "exposed_communication_ns": Column("part in which the device did nothing else", "exposed"),
    "overlap_ns": Column("part in which it computed as well", "overlap"),
    "own_ns": Column("time in which the rank did not wait for others", "own"),
    "wait_suffered_ns": Column(
        "time in collectives before the last rank had come", "wait suffered"
    ),
    "wait_caused_ns": Column(
        "how long most others waited for what the rank itself did", "wait caused"
    ),
    "pipeline_bubble_ns": Column("waits for the stages before and after it", "bubble"),
    "excess_ns": Column("what the rank itself took more than its peers"),
}

PROCESS_GROUPS: Columns = {
    "group": Column("name of the process group", "group"),
    "description": Column("what the program calls it", "called"),
    "kind": Column(
        "what it is for: `dp` data, `tp` tensor, `pp` pipeline, `ep` expert, `cp` context, `mp` "
        "model parallel, `world` everybody; null where nothing tells",
        "kind",
    ),
    "size": Column("number of ranks in it", "size"),
    "ranks": Column("those of them whose recordings are there", "ranks"),
    "calls": Column("collectives of a rank in it, on average", "calls"),
    "collectives": Column("which collectives these are", "collectives"),
}

RANK_GROUPS: Columns = {
    "group": Column("`usual`, `odd 1`, ...", "group"),
    "ranks": Column("who is in it", "ranks"),
    "size": Column("how many these are", "size"),
    "representative": Column("the rank in the middle of the group", "representative"),
    "odd": Column("whether something sets it apart from its peers"),
    "apart": Column("sentences with numbers: what sets it apart", "apart by"),
}
