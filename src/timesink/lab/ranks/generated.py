"""Generated runs as tables at once, without files: for tests of many runs.

One rank of each sort is written and read as a file would be; of the others only what differs is
put into its tables.  What comes out is what reading their files gives.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
from isal import igzip

from timesink.lab.ranks.layout import DESCRIPTIONS
from timesink.lab.ranks.plan import Plan, Truth
from timesink.lab.ranks.simulate import SimulatedRun, carry_out
from timesink.lab.ranks.trace_text import BASE_NS, Traces, TraceSort, file_name, file_names
from timesink.model.trace import Distributed, Trace
from timesink.runtime.workers import Workers, usable_cores
from timesink.sources.opening import open_trace

_ROLE_OF = {description: role for role, description in DESCRIPTIONS.items()}
_TIMED = ("host", "device", "flows", "steps")
_KEPT = 32
_models: dict[TraceSort, _Model] = {}
"""Ranks that were read, the one used last at the end: runs of other seeds use them too."""


def rank_tables(plan: Plan) -> dict[int, Trace]:
    """The traces of all ranks of a run."""
    return ranks_and_truth(plan)[0]


def ranks_and_truth(plan: Plan) -> tuple[dict[int, Trace], Truth]:
    """The traces of all ranks of a run, and what is true about it."""
    run = carry_out(plan)
    return dict(tables_of(run)), run.truth


def tables_of(run: SimulatedRun, ranks: Iterable[int] | None = None) -> Iterator[tuple[int, Trace]]:
    """The traces of all or some ranks, one after the other."""
    traces = Traces(run)
    for rank in range(run.plan.ranks) if ranks is None else ranks:
        sort = traces.sort_of(rank)
        model = _models.pop(sort, None) or _Model(traces, rank)
        _models[sort] = model
        while len(_models) > _KEPT:
            _models.pop(next(iter(_models)))
        yield rank, model.trace_of(traces, rank)


class _Model:
    """A rank that was read, and what has to change to make it another rank."""

    def __init__(self, traces: Traces, rank: int) -> None:
        self.rank = rank
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file_name(rank).removesuffix(".gz")
            path.write_bytes(traces.trace(rank))
            self.read = open_trace(path, cache=False, jobs=1)
        self.names = traces.names_of(rank)
        self.frames = {name: frame.collect() for name, frame in self.read.frames.items()}
        self.places: dict[str, dict[str, pl.DataFrame]] = {}
        template = traces.template(rank)
        self.events = {
            name: pl.Series(template.event_at).gather(self.frames[name]["index"]) for name in _TIMED
        }
        self.roles = [
            None if text is None else _ROLE_OF[text]
            for text in self.read.collectives["group_description"].cast(pl.String)
        ]

    def trace_of(self, traces: Traces, rank: int) -> Trace:
        names = traces.names_of(rank)
        start, end = (pl.Series(times) for times in traces.times_ns(rank))
        # Tables with the processes, threads and device of another place on a node.
        place = names["device"]
        if place not in self.places:
            self.places[place] = {
                name: self._renamed(frame, names) for name, frame in self.frames.items()
            }
        frames = dict(self.places[place])
        for name, events in self.events.items():
            begins, ends = start.gather(events), end.gather(events)
            times = {"ts_ns": begins + BASE_NS, "dur_ns": ends - begins}
            timed = {column: times[column] for column in times if column in frames[name].columns}
            frames[name] = frames[name].with_columns(**timed)
        if traces.run.plan.pipeline > 1:
            partners = {
                f"nccl:{talk} {self.names[key]}": f"nccl:{talk} {names[key]}"
                for talk in ("send", "recv")
                for key in (f"peers {talk} -1", f"peers {talk} 1")
            }
            renamed = _replaced("name", partners)
            frames |= {name: frames[name].with_columns(renamed) for name in ("host", "device")}
        frames["collectives"] = self._talking(frames["collectives"], names)
        told, known = traces.head_of(rank), self.read.metadata
        groups = tuple(told["distributedInfo"]["pg_config"])
        metadata = replace(
            known,
            source=file_name(rank),
            worker=f"rank{rank}",
            distributed=Distributed(rank, traces.run.plan.ranks, "nccl", groups),
            extra={**known.extra, "trace_id": told["trace_id"]},
        )
        lazy = {name: frame.lazy() for name, frame in frames.items()}
        return Trace(metadata=metadata, health=self.read.health, frames=lazy)

    def _renamed(self, frame: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
        changes = {"pid": ("pid", "device"), "tid": ("tid main", "tid autograd")}
        columns = [
            _replaced(column, {self.names[key]: names[key] for key in keys})
            for column, keys in changes.items()
            if column in frame.columns
        ]
        if "device" in frame.columns and frame.schema["device"] == pl.Int32():
            columns.append(
                pl.col("device").replace(int(self.names["device"]), int(names["device"]))
            )
        if "labels" in frame.columns:
            # Names and order of threads.
            old, new = self.names, names
            threads = {
                f"thread {old[tid]} ({name})": f"thread {new[tid]} ({name})"
                for tid, name in (("tid main", "python3"), ("tid autograd", "pt_autograd_0"))
            }
            order = {int(old[tid]): int(new[tid]) for tid in ("tid main", "tid autograd")}
            columns += [
                _replaced("name", threads),
                _replaced("labels", {f"GPU {old['device']}": f"GPU {new['device']}"}),
                pl.col("sort_index").replace(order),
            ]
        return frame.with_columns(columns) if columns else frame

    def _talking(self, frame: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
        """Process groups and partners of another rank."""
        neighbours = {
            int(self.names[f"neighbour {forward}"]): int(names[f"neighbour {forward}"])
            for forward in (-1, 1)
        }
        ranks = neighbours | {self.rank: int(names["rank"])}
        said = {
            f"group_{what}": [names[f"{role} {what}"] if role else none for role in self.roles]
            for what, none in (("name", None), ("ranks", "[]"))
        }
        return frame.with_columns(
            pl.col("rank", "src_rank", "dst_rank").replace(ranks),
            *(pl.Series(name, texts, dtype=pl.Categorical) for name, texts in said.items()),
        )


def _replaced(column: str, changes: dict[str, str]) -> pl.Expr:
    return pl.col(column).cast(pl.String).replace(changes).cast(pl.Categorical)


# Files of a generated run, one per rank, written by several processes.

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

    `naming` is one of `trace_text.NAMINGS`; `progress` is told how many files of how many are
    written.
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
