"""Files of a generated run, one per rank, written by several processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from isal import igzip

from timesink.lab.ranks.kineto import Traces
from timesink.lab.ranks.naming import file_names
from timesink.lab.ranks.plan import Plan, Truth
from timesink.lab.ranks.runs import carry_out
from timesink.readers.workers import Workers, usable_cores

_ALONE = 400_000
"""Events below which another process is not worth its start."""


def generate_ranks(
    plan: Plan,
    folder: str | Path,
    *,
    naming: str = "rank",
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Truth:
    """Write the trace of every rank of a run, and return what is true about it.

    `naming` is one of :data:`~timesink.lab.ranks.naming.NAMINGS`; `progress` is told how many files
    of how many are written.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> truth = generate_ranks(Plan(ranks=2, steps=1), folder)
    >>> truth.answers, sorted(path.name for path in Path(folder).iterdir())
    ((), ['rank0.pt.trace.json.gz', 'rank1.pt.trace.json.gz'])
    """
    run = carry_out(plan)
    traces, target = Traces(run), Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    files = [str(target / name) for name in file_names(traces, naming)]
    events = sum(len(traces.template(rank).event_at) for rank in range(plan.ranks))
    wanted = min(jobs or (usable_cores() if events > _ALONE else 1), plan.ranks)
    shares = [range(first, plan.ranks, wanted) for first in range(wanted)]
    # Processes share nothing: each simulates the run anew, which takes little.
    with Workers(__name__, "write_share", [(plan, files, each) for each in shares[1:]]) as helpers:
        for written, _ in enumerate(_write(traces, files, shares[0]), 1):
            if progress:
                progress(min(written * wanted, plan.ranks), plan.ranks)
        deque(helpers.results(write_share), maxlen=0)
    return replace(run.truth, events=events, files=tuple(files))


def write_share(plan: Plan, files: Sequence[str], ranks: Iterable[int]) -> bool:
    """Write the files of some ranks, in a process of its own."""
    deque(_write(Traces(carry_out(plan)), files, ranks), maxlen=0)
    return True


def _write(traces: Traces, files: Sequence[str], ranks: Iterable[int]) -> Iterator[str]:
    for rank in ranks:
        packed = igzip.compress(traces.trace(rank), compresslevel=1, mtime=0)
        Path(files[rank]).write_bytes(packed)
        yield files[rank]
