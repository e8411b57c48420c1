"""Which faults there are: loads beside the program, then switches in its code (`faults.toml`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from timesink.errors import UsageError
from timesink.model.data_files import toml_tables
from timesink_lab.ranks.plan import SLOWNESS
from timesink_lab.workloads.switches import WORKLOADS, LabWorkload

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
    """One of `timesink_lab.loads`, and its arguments."""
    switches: Mapping[str, float] = field(default_factory=dict)
    """Those of `timesink_lab.workloads`."""

    @property
    def kind(self) -> str:
        """`load`: another process beside the program.  `code`: a switch in the program."""
        return LOAD if self.load else CODE

    def lacks(self, available: Sequence[str]) -> tuple[str, ...]:
        """What it needs and what is not there."""
        return tuple(need for need in self.needs if need not in available)

    @property
    def expected(self) -> dict[str, str]:
        """What should head the lists, as `fault.json` says it."""
        named = {"anomaly": "|".join(self.anomaly), "cause": "|".join(self.cause)}
        return {what: names for what, names in named.items() if names}


def _fault(name: str, table: Mapping[str, Any]) -> Fault:
    lists = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
    return Fault(name, **{**table, **lists})


FAULTS = tuple(
    _fault(*item) for item in toml_tables(Path(__file__).with_name("faults.toml")).items()
)


# What should be said about a recording whose fault is known.


@dataclass(frozen=True)
class Expected:
    """What should head the lists, and the verdict; None where nothing is asked.

    `a|b` is either of two names; the first is the one that is meant.
    """

    anomaly: str | None = None
    cause: str | None = None
    verdict: str | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether no name should be given at all."""
        return self.anomaly is None and self.cause is None

    @property
    def expectations(self) -> dict[str, str | None]:
        """What is asked of a diagnosis, and what it should say."""
        return asdict(self)


def expected_of(about: Mapping[str, Any], expected_by_fault: Mapping[str, Expected]) -> Expected:
    """What a `fault.json` expects, else what is known of its fault."""
    names = {what: str(about[what]) for what in Expected().expectations if about.get(what)}
    return (
        Expected(**names) if names else expected_by_fault.get(str(about.get("fault")), Expected())
    )


def heads(wanted: str | None, names: Sequence[str]) -> bool:
    """Whether the wanted name stands first."""
    return wanted is None or (bool(names) and names[0] in wanted.split("|"))


# What the lab can record, for people and for programs.

_Thing = TypeVar("_Thing", LabWorkload, Fault)


def _chosen(
    what: str, things: tuple[_Thing, ...], names: Sequence[str] | None
) -> tuple[_Thing, ...]:
    """Those of the known things that are named, each once and in their order; without names all."""
    if names is None:
        return things
    unknown = [name for name in names if name not in [thing.name for thing in things]]
    if unknown:
        raise UsageError(
            f"no {what} is called {unknown[0]!r}",
            f"known: {', '.join(thing.name for thing in things)}",
        )
    return tuple(thing for thing in things if thing.name in names)


workloads_named = partial(_chosen, "workload", WORKLOADS)
faults_named = partial(_chosen, "fault", FAULTS)


def as_text() -> str:
    """Workloads, faults, kinds of slow ranks, and what should be said about them."""
    names = [workload.name for workload in WORKLOADS] + [fault.name for fault in FAULTS]
    width = max(map(len, (*names, *(kind.name for kind in SLOWNESS)))) + 2
    lines = ["workloads"]
    for workload in WORKLOADS:
        step = f"one call of {workload.marker}" if workload.marker else "one of the optimizer"
        lines.append(f"  {workload.name:{width}}{workload.summary}; a step is {step}")
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
    document = {
        "workloads": [
            {"name": workload.name, "summary": workload.summary, "marker": workload.marker or None}
            for workload in WORKLOADS
        ],
        "faults": [
            {
                "name": fault.name,
                "kind": fault.kind,
                "summary": fault.summary,
                "strength": fault.strength,
                "needs": list(fault.needs),
                **fault.expected,
            }
            for fault in FAULTS
        ],
        "slowness": [
            {"name": kind.name, "summary": kind.summary, "cause": kind.cause} for kind in SLOWNESS
        ],
    }
    return json.dumps(document, indent=1)
