"""How the files of a run are called."""

from __future__ import annotations

import numpy as np

from timesink.lab.ranks.kineto import START_NS, Traces
from timesink.lab.ranks.text import BASE_NS

NAMINGS = ("rank", "handler")
"""By rank, as programs of many ranks do; or as PyTorch's own handler does, which tells no rank."""


def file_name(rank: int) -> str:
    """The name that tells the rank."""
    return f"rank{rank}.pt.trace.json.gz"


def file_names(traces: Traces, naming: str) -> list[str]:
    """The names of the files of all ranks."""
    ranks = range(traces.run.plan.ranks)
    if naming == "rank":
        return [file_name(rank) for rank in ranks]
    return [_as_handler(traces, rank) for rank in ranks]


def _as_handler(traces: Traces, rank: int) -> str:
    """Worker, as `tensorboard_trace_handler` calls host and process, and when it was written."""
    plan, truth = traces.run.plan, traces.run.truth
    worker = f"node{int(traces.run.layout.node[rank]):03d}_{traces.names_of(rank)['pid']}"
    # On the clock of the rank, some time after the last step.
    took = 250_000_000 + np.random.default_rng([plan.seed, 6, rank]).integers(150_000_000)
    lasted = round(truth.run_us * 1e3) + int(took)
    written_ns = BASE_NS + START_NS + truth.clock_offset_ns[rank] + lasted
    return f"{worker}.{written_ns}.pt.trace.json.gz"
