"""Files of a generated run, one per rank, written by several processes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from isal import igzip

from timesink.lab.ranks.kineto import Traces
from timesink.lab.ranks.plan import Plan, Truth
from timesink.lab.ranks.runs import carry_out
from timesink.readers.workers import Worker, usable_cores

_ALONE = 400_000
"""Events below which another process is not worth its start."""


def generate_ranks(plan: Plan, folder: str | Path, *, jobs: int | None = None) -> Truth:
    """Write the trace of every rank of a run, and return what is true about it.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> truth = generate_ranks(Plan(ranks=2, steps=1), folder)
    >>> truth.answers, sorted(path.name for path in Path(folder).iterdir())
    ((), ['rank0.pt.trace.json.gz', 'rank1.pt.trace.json.gz'])
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    run = carry_out(plan)
    traces = Traces(run)
    events = sum(len(traces.template(rank).event_at) for rank in range(plan.ranks))
    wanted = jobs or (usable_cores() if events > _ALONE else 1)
    shares = [range(first, plan.ranks, wanted) for first in range(min(wanted, plan.ranks))]
    # Processes share nothing: each simulates the run anew, which takes little.
    helpers = [(Worker(__name__, "write_share", plan, target, share), share)
               for share in shares[1:]]  # fmt: skip
    try:
        _write(traces, target, shares[0])
        for helper, share in helpers:
            if helper.result() is None:
                _write(traces, target, share)
    finally:
        for helper, _ in helpers:
            helper.stop()
    files = tuple(str(target / file_name(rank)) for rank in range(plan.ranks))
    return replace(run.truth, events=events, files=files)


def file_name(rank: int) -> str:
    """How the file of a rank is called.

    >>> file_name(3)
    'rank3.pt.trace.json.gz'
    """
    return f"rank{rank}.pt.trace.json.gz"


def write_share(plan: Plan, folder: Path, ranks: Iterable[int]) -> bool:
    """Write the files of some ranks, in a process of its own."""
    _write(Traces(carry_out(plan)), folder, ranks)
    return True


def _write(traces: Traces, folder: Path, ranks: Iterable[int]) -> None:
    for rank in ranks:
        packed = igzip.compress(traces.trace(rank), compresslevel=1, mtime=0)
        (folder / file_name(rank)).write_bytes(packed)
