"""Generated runs, as files of every rank or as tables at once: for tests of many runs."""

from __future__ import annotations

import json
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from isal import igzip

from timesink.model.intervals import Ints
from timesink.model.trace import Distributed, Trace
from timesink.runtime.workers import Workers, usable_cores
from timesink.sources.opening import open_trace
from timesink_lab.ranks.events import (
    MARK,
    Events,
    differs,
    event_texts,
    stage_events,
    tail_texts,
)
from timesink_lab.ranks.layout import DESCRIPTIONS
from timesink_lab.ranks.plan import Plan
from timesink_lab.ranks.simulate import SimulatedRun, carry_out
from timesink_lab.ranks.stage_program import stage_program
from timesink_lab.ranks.truth import Truth

# The text of a trace as PyTorch's profiler writes it, with places for what differs.

BASE_NS = 1_790_857_026_000_000_000
"""What timestamps count from, as every trace says."""
_MOMENTS = 3
"""What has a time besides lasting events: the recording, its start, its end."""


@dataclass(frozen=True, eq=False)
class Template:
    """The text of a stage's traces."""

    events: Events
    text: bytes
    fill: Callable[[list[Any]], tuple[Any, ...]]
    names: tuple[str, ...]
    """What is filled in behind the times, by name."""
    event_at: Ints
    """For every event of the file: the event its time is of, as :meth:`Traces.times_ns` counts."""


_HEAD = f"""
  {{
    "schemaVersion": 1,
    "deviceProperties": [
{differs("devices")}
    ],
      "trace_id": "{differs("trace id")}",
      "record_shapes": 1,
      "distributedInfo": {differs("distributed")},
      "cuda_driver_version": 13000,
      "cuda_runtime_version": 13000,
      "cupti_version": 130001,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": {BASE_NS},
  "traceEvents": [
"""


@lru_cache(maxsize=64)  # runs of other seeds have the same
def _template_of(sort: TraceSort) -> Template:
    program = stage_program(sort.shape, sort.stage, extra_layers=sort.extra_layers)
    events = stage_events(sort.shape, program, sort.synced, sort.tokens)
    texts, event_at, lasting = [], [], events.every
    for number, event in enumerate(lasting):
        new_texts = event_texts(number, event)
        texts += new_texts
        event_at += [number] * len(new_texts)
    tail = tail_texts(events)
    trace_number, begins, closed = range(len(lasting), len(lasting) + _MOMENTS)
    event_at += [trace_number] * (len(tail) - 2) + [begins, closed]
    written = _HEAD + ",\n".join([*texts, *tail]) + "\n  ]\n}"
    # Times and names become places of a text that bytes are filled into.
    literals, fields = written.split(MARK)[::2], written.split(MARK)[1::2]
    count = len(lasting) + _MOMENTS
    names: dict[str, int] = {}
    pieces, index = [literals[0].replace("%", "%%")], []
    for field, literal in zip(fields, literals[1:], strict=True):
        kind, _, which = field.partition(" ")
        if kind in {"start", "length"} and which:
            row = int(which) + (0 if kind == "start" else 2 * count)
            index += [row, row + count]
            pieces.append("%d.%03d")
        else:
            index.append(4 * count + names.setdefault(field, len(names)))
            pieces.append("%b")
        pieces.append(literal.replace("%", "%%"))
    text = "".join(pieces).encode()
    return Template(events, text, itemgetter(*index), tuple(names), np.array(event_at))


# Traces of a run: what each rank fills into the text of its stage.

START_NS = 3_846_727_700_000_000
"""When recording starts, counted from there."""
_DEVICE_MEMORY = 150_109_880_320


@dataclass(frozen=True, slots=True)
class TraceSort:
    """All that the events of a rank depend on, but for their times and names."""

    shape: Plan
    """The plan without what only changes times."""
    stage: int
    extra_layers: int
    synced: tuple[int, ...]
    tokens: tuple[float, ...]


class Traces:
    """Writes the traces of a run, in order."""

    def __init__(self, run: SimulatedRun) -> None:
        self.run = run
        self._shape = replace(
            run.plan, seed=0, stragglers=(), skew_us=0.0, drift_ppm=0.0, jitter=0.0
        )

    def template(self, rank: int) -> Template:
        """The template of a rank; ranks of a stage that did the same share it."""
        return _template_of(self.sort_of(rank))

    def sort_of(self, rank: int) -> TraceSort:
        slow, stage = self.run.slow, self.run.layout.stage_of(rank)
        synced = tuple(np.flatnonzero(slow.sync_us[:, rank] > 0).tolist())
        tokens = tuple(slow.tokens[:, rank].tolist())
        return TraceSort(self._shape, stage, slow.extra_layers[stage], synced, tokens)

    def times_ns(self, rank: int) -> tuple[Ints, Ints]:
        """Start and end of all lasting events on the rank's clock, from the base time.

        Behind them come the whole recording and the moments of its start and its end.
        """
        stage, truth = self.run.stages[self.run.layout.stage_of(rank)], self.run.truth
        times = self.template(rank).events.times_ns(stage, int(rank - stage.ranks[0]))
        drift, offset = truth.clock_drift_ppm[rank] * 1e-6, truth.clock_offset_ns[rank]
        start, end = (
            START_NS + offset + time_ns + np.rint(time_ns * drift).astype(np.int64)
            for time_ns in times
        )
        begins, stops = int(start.min()) - 50_000, int(end.max()) + 80_000
        closed = stops + 60_000
        return np.append(start, [begins, begins, closed]), np.append(end, [stops, begins, closed])

    def trace(self, rank: int) -> bytes:
        """The trace of a rank."""
        start, end = self.times_ns(rank)
        template, head, length = self.template(rank), self.head_of(rank), end - start
        values_by_name = {
            **self.names_of(rank),
            "devices": _device_properties(self.run.plan.ranks_per_node),
            "distributed": json.dumps(head["distributedInfo"]),
            "trace id": head["trace_id"],
        }
        parts = (start // 1000, start % 1000, length // 1000, length % 1000)
        pool = [value for part in parts for value in part.tolist()]
        pool += [values_by_name[name].encode() for name in template.names]
        return template.text % template.fill(pool)

    def names_of(self, rank: int) -> dict[str, str]:
        """What differs between ranks, but for times."""
        # Nodes run the same container, where processes are numbered alike.
        layout, pid = self.run.layout, 4000 + 7 * int(self.run.layout.local_rank[rank])
        names = {
            "pid": str(pid),
            "tid main": str(pid),
            "tid autograd": str(pid + 3),
            "rank": str(rank),
            "device": str(layout.local_rank[rank]),
        }
        for group in layout.groups_of(rank):
            names[f"{group.role} name"] = group.name
            names[f"{group.role} size"] = str(len(group.ranks))
            names[f"{group.role} ranks"] = group.ranks_text
        for forward in (-1, 1):
            other = layout.neighbour(rank, forward)
            names[f"neighbour {forward}"] = str(other)
            names[f"peers send {forward}"] = f"{rank}->{other}"
            names[f"peers recv {forward}"] = f"{rank}<-{other}"
        return names

    def head_of(self, rank: int) -> dict[str, Any]:
        """What a rank's trace says of the rank before its events."""
        groups = [
            {
                "pg_name": group.name,
                "pg_desc": DESCRIPTIONS[group.role],
                "backend_config": "cuda:nccl",
                "pg_size": len(group.ranks),
                "ranks": list(group.ranks),
            }
            for group in self.run.layout.groups_of(rank)
        ]
        distributed = {
            "backend": "nccl",
            "rank": rank,
            "world_size": self.run.plan.ranks,
            "pg_count": len(groups),
            "pg_config": groups,
            "nccl_version": "2.27.5",
        }
        trace_id = f"{rank + (self.run.plan.seed << 64):032X}"
        return {"distributedInfo": distributed, "trace_id": trace_id}


def _device_properties(count: int) -> str:
    template = """    {
      "id": %d, "name": "NVIDIA H200", "totalGlobalMem": %d,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, """
    template += '"sharedMemPerMultiprocessor": 233472\n    }'
    return ",\n".join(template % (number, _DEVICE_MEMORY) for number in range(count))


# How the files of a run are called.

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
    # Worker, as `tensorboard_trace_handler` calls host and process, and when it was written: on the
    # clock of the rank, some time after the last step.
    plan, truth, names = traces.run.plan, traces.run.truth, []
    for rank in ranks:
        worker = f"node{int(traces.run.layout.node[rank]):03d}_{traces.names_of(rank)['pid']}"
        took = 250_000_000 + np.random.default_rng([plan.seed, 6, rank]).integers(150_000_000)
        lasted = round(truth.run_us * 1e3) + int(took)
        written_ns = BASE_NS + START_NS + truth.clock_offset_ns[rank] + lasted
        names.append(f"{worker}.{written_ns}.pt.trace.json.gz")
    return names


# Runs as tables at once, without files.
#
# One rank of each sort is written and read as a file would be; of the others only what differs is
# put into its tables.  What comes out is what reading their files gives.

_ROLE_OF = {description: role for role, description in DESCRIPTIONS.items()}
_TIMED = ("host", "device", "flows", "steps")
_MAX_MODELS = 32
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
    """The traces of all or some ranks, in order."""
    traces = Traces(run)
    for rank in range(run.plan.ranks) if ranks is None else ranks:
        sort = traces.sort_of(rank)
        model = _models.pop(sort, None) or _Model(traces, rank)
        _models[sort] = model
        while len(_models) > _MAX_MODELS:
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
            renamed = _replace_texts("name", partners)
            frames |= {name: frames[name].with_columns(renamed) for name in ("host", "device")}
        frames["collectives"] = self._talking(frames["collectives"], names)
        head, read_metadata = traces.head_of(rank), self.read.metadata
        groups = tuple(head["distributedInfo"]["pg_config"])
        metadata = replace(
            read_metadata,
            source=file_name(rank),
            worker=f"rank{rank}",
            distributed=Distributed(rank, traces.run.plan.ranks, "nccl", groups),
            extra={**read_metadata.extra, "trace_id": head["trace_id"]},
        )
        lazy = {name: frame.lazy() for name, frame in frames.items()}
        return Trace(metadata=metadata, health=self.read.health, frames=lazy)

    def _renamed(self, frame: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
        changes = {"pid": ("pid", "device"), "tid": ("tid main", "tid autograd")}
        columns = [
            _replace_texts(column, {self.names[key]: names[key] for key in keys})
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
                _replace_texts("name", threads),
                _replace_texts("labels", {f"GPU {old['device']}": f"GPU {new['device']}"}),
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
        group_texts = {
            f"group_{what}": [names[f"{role} {what}"] if role else none for role in self.roles]
            for what, none in (("name", None), ("ranks", "[]"))
        }
        return frame.with_columns(
            pl.col("rank", "src_rank", "dst_rank").replace(ranks),
            *(pl.Series(name, texts, dtype=pl.Categorical) for name, texts in group_texts.items()),
        )


def _replace_texts(column: str, changes: dict[str, str]) -> pl.Expr:
    return pl.col(column).cast(pl.String).replace(changes).cast(pl.Categorical)


# Files of a generated run, one per rank, written by several processes.

_MAX_SERIAL_EVENTS = 400_000
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

    `naming` is one of `NAMINGS`; `progress` is told how many files of how many are
    written.
    """
    run = carry_out(plan)
    traces, target = Traces(run), Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    files = [str(target / name) for name in file_names(traces, naming)]
    events = sum(len(traces.template(rank).event_at) for rank in range(plan.ranks))
    wanted = min(jobs or (usable_cores() if events > _MAX_SERIAL_EVENTS else 1), plan.ranks)
    shares = [range(first, plan.ranks, wanted) for first in range(wanted)]
    # Processes share nothing: each simulates the run anew, which takes little.
    with Workers(
        __name__, "write_share", [(plan, files, share) for share in shares[1:]]
    ) as helpers:
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
