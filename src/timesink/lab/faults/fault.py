"""What a fault is, and what a sound diagnosis says about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
    """Module below `timesink.lab.loads`, and its arguments."""
    switches: Mapping[str, float] = field(default_factory=dict)
    """Those of `timesink.lab.workloads.switches`."""

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
