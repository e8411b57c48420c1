"""Which faults there are: loads beside the program, then switches in its code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from timesink.errors import UsageError
from timesink.lab.ranks.plan import SLOWNESS
from timesink.lab.workloads.registry import WORKLOADS, LabWorkload

# What a fault is, and what a sound diagnosis says about it.

NORMAL = "normal"
"""What a run without a fault is called."""

LOAD = "load"
CODE = "code"

SCRATCH = "{scratch}"
"""Among the arguments of a load: a folder on the disk that recordings go to."""

GPU = "gpu"
LOADER = "loader"


@dataclass(frozen=True)
class Fault:
    """One fault.

    Of the names in `anomaly` and in `cause` the first is the one that is meant; the others are
    sound as well, because the fault does that too.  An empty list asks nothing.
    """

    name: str
    summary: str
    strength: str
    """How strong it is, in words."""
    anomaly: tuple[str, ...] = ()
    cause: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """What must be there: `gpu`, `loader` (a workload whose batches others load)."""
    load: tuple[str, ...] = ()
    """One of `timesink.lab.loads`, and its arguments."""
    switches: Mapping[str, float] = field(default_factory=dict)
    """Those of `timesink.lab.workloads.registry`."""

    @property
    def kind(self) -> str:
        """`load`: another process beside the program.  `code`: a switch in the program."""
        return LOAD if self.load else CODE

    def lacks(self, available: Sequence[str]) -> tuple[str, ...]:
        """What it needs and what is not there."""
        return tuple(one for one in self.needs if one not in available)

    @property
    def expected(self) -> dict[str, str]:
        """What should head the lists, as `fault.json` says it."""
        named = {"anomaly": "|".join(self.anomaly), "cause": "|".join(self.cause)}
        return {what: names for what, names in named.items() if names}


FAULTS = (
    Fault(
        "cpu_hog",
        "processes that count, several for every core",
        "3 processes per core",
        anomaly=("cpu_contention",),
        # Whoever loads batches has to wait for a core as well.
        cause=("cpu_contention", "data_loading"),
        load=("busy_cores", "--per-core", "3"),
    ),
    Fault(
        "gpu_neighbour",
        "another process multiplies large matrices on the device",
        "products of 8192 x 8192, without a pause",
        # Two who compute draw more power than one: a device at its limit lowers its clock.
        anomaly=("gpu_contention", "gpu_power_cap"),
        cause=("gpu_contention", "gpu_power_cap"),
        needs=(GPU,),
        load=("device_products",),
    ),
    Fault(
        "pcie_copies",
        "another process copies between host and device",
        "pinned memory, both ways at once, without a pause",
        # What it costs depends on how much the workload copies, so no cause is asked for.
        anomaly=("pcie_contention",),
        needs=(GPU,),
        load=("link_copies",),
    ),
    Fault(
        "hbm_copies",
        "another process copies within the memory of the device",
        "2 GiB at a time, without a pause",
        # Whoever copies keeps the device busy as well.
        anomaly=("hbm_contention", "gpu_contention"),
        needs=(GPU,),
        load=("device_copies",),
    ),
    Fault(
        "disk_hog",
        "another process writes to the disk",
        "32 MiB at a time, waiting for the disk each time",
        # Workloads read nothing from the disk, so nothing should become slower.
        anomaly=("disk_io",),
        load=("disk_writes", "--folder", SCRATCH),
    ),
    Fault(
        "python_stall",
        "the main thread sleeps once per cycle",
        "12 ms",
        cause=("host_code",),
        switches={"sleep_ms": 12},
    ),
    Fault(
        "extra_sync",
        "`.item()` in every layer",
        "16 per layer",
        cause=("synchronisation",),
        needs=(GPU,),
        switches={"reads_per_layer": 16},
    ),
    Fault(
        "wrong_precision",
        "some linear layers compute in 32 bits",
        "every fourth layer",
        cause=("kernel_change",),
        # A CPU may be faster in 32 bits.
        needs=(GPU,),
        switches={"full_precision": 1},
    ),
    Fault(
        "slow_loader",
        "one process loads all batches, and sleeps over each example",
        "100 ms per batch",
        cause=("data_loading",),
        needs=(LOADER,),
        switches={"loader_ms": 100},
    ),
    Fault(
        "more_work",
        "the model has more layers",
        "a fifth more, one at least",
        # More layers are more launches of the same kernels.
        cause=("workload_change", "kernel_change"),
        switches={"more_depth": 0.2},
    ),
)


# What the lab can record, for people and for programs.

_Thing = TypeVar("_Thing", LabWorkload, Fault)


def _chosen(
    what: str, known: tuple[_Thing, ...], names: Sequence[str] | None
) -> tuple[_Thing, ...]:
    """Those of the known things that are named, each once and in their order; without names all."""
    if names is None:
        return known
    unknown = [name for name in names if name not in [one.name for one in known]]
    if unknown:
        raise UsageError(
            f"no {what} is called {unknown[0]!r}", f"known: {', '.join(one.name for one in known)}"
        )
    return tuple(one for one in known if one.name in names)


workloads_named = partial(_chosen, "workload", WORKLOADS)
faults_named = partial(_chosen, "fault", FAULTS)


def as_text() -> str:
    """Workloads, faults, kinds of slow ranks, and what should be said about them."""
    width = max(len(one.name) for one in (*WORKLOADS, *FAULTS, *SLOWNESS)) + 2
    lines = ["workloads"]
    for workload in WORKLOADS:
        cycle = f"one call of {workload.marker}" if workload.marker else "a step of the optimizer"
        lines.append(f"  {workload.name:{width}}{workload.summary}; a cycle is {cycle}")
    lines.append("faults")
    for fault in FAULTS:
        named = [f"{what} {names.replace('|', ' or ')}" for what, names in fault.expected.items()]
        needs = f"; needs a {' and a '.join(fault.needs)}" if fault.needs else ""
        lines.append(f"  {fault.name:{width}}{fault.summary}: {fault.strength}")
        lines.append(f"  {'':{width}}should be called {', '.join(named)}{needs}")
    lines.append("slowness of ranks, for `timesink lab ranks --straggler KIND:RANK`")
    lines += [
        f"  {kind.name:{width}}{kind.summary}; should be called {kind.cause}" for kind in SLOWNESS
    ]
    return "\n".join(lines)


def as_json() -> str:
    """The same as JSON."""
    told = {
        "workloads": [
            {"name": one.name, "summary": one.summary, "marker": one.marker or None}
            for one in WORKLOADS
        ],
        "faults": [
            {
                "name": one.name,
                "kind": one.kind,
                "summary": one.summary,
                "strength": one.strength,
                "needs": list(one.needs),
                **one.expected,
            }
            for one in FAULTS
        ],
        "slowness": [
            {"name": one.name, "summary": one.summary, "cause": one.cause} for one in SLOWNESS
        ],
    }
    return json.dumps(told, indent=1)
