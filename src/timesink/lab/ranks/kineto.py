"""Traces of a run: what each rank fills into the text of its stage."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from timesink.lab.ranks.layout import DESCRIPTIONS, Ints
from timesink.lab.ranks.plan import Plan
from timesink.lab.ranks.program import stage_program
from timesink.lab.ranks.runs import SimulatedRun
from timesink.lab.ranks.simulate import StageTimes
from timesink.lab.ranks.text import Template, template_of
from timesink.lab.ranks.written import stage_events

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


@lru_cache(maxsize=64)  # runs of other seeds have the same
def _template_of(sort: TraceSort) -> Template:
    program = stage_program(sort.shape, sort.stage, extra_layers=sort.extra_layers)
    return template_of(stage_events(sort.shape, program, sort.synced, sort.tokens))


class Traces:
    """Writes the traces of a run, one after the other."""

    def __init__(self, run: SimulatedRun) -> None:
        self.run = run
        self._shape = replace(
            run.plan, seed=0, stragglers=(), skew_us=0.0, drift_ppm=0.0, jitter=0.0
        )

    def template(self, rank: int) -> Template:
        """The template of a rank; ranks of a stage that did the same share it."""
        return _template_of(self.sort_of(rank))

    def sort_of(self, rank: int) -> TraceSort:
        run, stage = self.run, self.run.layout.stage_of(rank)
        tokens = tuple(run.tokens_of(rank).tolist())
        extra = run.slow.extra_layers[stage]
        return TraceSort(self._shape, stage, extra, run.synced_steps(rank), tokens)

    def stage(self, rank: int) -> StageTimes:
        return self.run.stages[self.run.layout.stage_of(rank)]

    def times_ns(self, rank: int) -> tuple[Ints, Ints]:
        """Start and end of all lasting events on the rank's own clock, from the base time.

        Behind them come the whole recording and the moments of its start and its end.
        """
        stage, truth = self.stage(rank), self.run.truth
        times = self.template(rank).events.times_ns(stage, int(rank - stage.ranks[0]))
        drift, offset = truth.clock_drift_ppm[rank] * 1e-6, truth.clock_offset_ns[rank]
        start, end = (
            START_NS + offset + one + np.rint(one * drift).astype(np.int64) for one in times
        )
        begins, stops = int(start.min()) - 50_000, int(end.max()) + 80_000
        closed = stops + 60_000
        return np.append(start, [begins, begins, closed]), np.append(end, [stops, begins, closed])

    def trace(self, rank: int) -> bytes:
        """The trace of a rank."""
        start, end = self.times_ns(rank)
        return self.template(rank).trace(start, end, self._told(rank))

    def names_of(self, rank: int) -> dict[str, str]:
        """What differs between ranks, but for times."""
        # Nodes run the same container, where processes are numbered alike.
        layout, pid = self.run.layout, 4000 + 7 * int(self.run.layout.local_rank[rank])
        told = {
            "pid": str(pid),
            "tid main": str(pid),
            "tid autograd": str(pid + 3),
            "rank": str(rank),
            "device": str(layout.local_rank[rank]),
        }
        for group in layout.groups_of(rank):
            told[f"{group.role} name"] = group.name
            told[f"{group.role} size"] = str(len(group.ranks))
            told[f"{group.role} ranks"] = group.ranks_text
        for forward in (-1, 1):
            other = layout.neighbour(rank, forward)
            told[f"neighbour {forward}"] = str(other)
            told[f"peers send {forward}"] = f"{rank}->{other}"
            told[f"peers recv {forward}"] = f"{rank}<-{other}"
        return told

    def _told(self, rank: int) -> dict[str, bytes | int]:
        told: dict[str, bytes | int] = {
            name: text.encode() for name, text in self.names_of(rank).items()
        }
        told["devices"] = _device_properties(self.run.plan.ranks_per_node)
        head = self.head_of(rank)
        told["distributed"] = json.dumps(head["distributedInfo"]).encode()
        told["trace id"] = head["trace_id"].encode()
        return told

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
        said = {
            "backend": "nccl",
            "rank": rank,
            "world_size": self.run.plan.ranks,
            "pg_count": len(groups),
            "pg_config": groups,
            "nccl_version": "2.27.5",
        }
        trace_id = f"{rank + (self.run.plan.seed << 64):032X}"
        return {"distributedInfo": said, "trace_id": trace_id}


def _device_properties(count: int) -> bytes:
    one = """    {
      "id": %d, "name": "NVIDIA H200", "totalGlobalMem": %d,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, """
    one += '"sharedMemPerMultiprocessor": 233472\n    }'
    return ",\n".join(one % (number, _DEVICE_MEMORY) for number in range(count)).encode()
