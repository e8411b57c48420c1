"""A diagnosis as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from timesink.analyses.comparison.pair import SteadyTimes

VERDICTS = ("regression", "improvement", "no_change", "incomparable")

CAUSES = (
    "gpu_clock",
    "gpu_power_cap",
    "gpu_thermal",
    "gpu_contention",
    "hbm_contention",
    "pcie_contention",
    "nvlink_contention",
    "network",
    "cpu_contention",
    "cpu_clock",
    "host_memory",
    "disk_io",
    "host_code",
    "synchronisation",
    "kernel_change",
    "data_loading",
    "straggler",
    "workload_change",
)
"""Everything that is ever named as a cause; nothing else is."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something a user can open and see."""

    kind: str
    """`counter`, `function`, `kernel`, `calls`, `place` or `cycle`."""
    text: str
    side: str | None = None
    """`base` or `new`, where it is in one of them only."""
    cycle: int | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    function: str | None = None
    device: str | None = None
    metric: str | None = None
    unit: str | None = None
    base: float | None = None
    new: float | None = None


@dataclass(frozen=True, slots=True)
class CycleTime:
    """How long cycles are, and whether that changed."""

    base_ns: float
    """Mean of all cycles."""
    new_ns: float
    change_pct: float | None
    interval_pct: tuple[float, float] | None
    """95 % interval of the change; None with fewer than two cycles on a side."""
    p_value: float | None
    steady: SteadyTimes | None = None
    """Means without warm-up and isolated outliers, which is what is tested; None as above."""

    @property
    def tested_pct(self) -> float | None:
        """The change of what is tested, where anything is."""
        return self.change_pct if self.steady is None else self.steady.change_pct


@dataclass(frozen=True, slots=True)
class Component:
    """One part of a cycle, and what it adds to the change of the mean cycle."""

    part: str
    """One of `anatomy.PARTS`."""
    family: str | None
    """Family of kernels, for `device_compute`."""
    base_ns: float
    new_ns: float
    interval_ns: tuple[float, float] | None
    """95 % interval of the change."""
    p_value: float | None
    same_launches_ns: float | None = None
    """For `device_compute`: what of the change is in kernels launched equally often on both sides;
    the rest is in more, fewer or other kernels."""

    @property
    def delta_ns(self) -> float:
        """What it adds to the change."""
        return self.new_ns - self.base_ns

    @property
    def name(self) -> str:
        """The part, with the family of kernels: `device_compute/gemm`."""
        return self.part if self.family is None else f"{self.part}/{self.family}"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A resource that is less there for the process than it was."""

    cause: str
    """One of `CAUSES`."""
    device: str
    metric: str
    unit: str | None
    base: float
    new: float
    severity: float
    """0 to 1: share of the resource's capacity that was lost or taken by others."""
    q_value: float
    """p-value corrected for the number of metrics and devices that were tested."""
    sentence: str
    advice: str
    """What to check next."""
    evidence: tuple[Evidence, ...] = ()
    explained_ns: float = 0.0
    """What of the change of cycle time the cause of this name explains on this device."""
    process: str | None = None
    """Which process, where several are read together."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What explains a part of the change of cycle time."""

    cause: str
    explained_ns: float
    interval_ns: tuple[float, float] | None
    sentence: str
    advice: str
    evidence: tuple[Evidence, ...]
    claims: tuple[tuple[str, float], ...]
    """Which components (`Component.name`) the time sits in, and how much in each, in ns."""
    process: str | None = None


@dataclass(frozen=True, slots=True)
class Symptom:
    """A counter that changed, and that tells of the change instead of explaining it."""

    device: str
    metric: str
    unit: str | None
    base: float
    new: float
    sentence: str
    process: str | None = None
    why: str | None = None
    """Why it is no anomaly, as the end of a sentence; None where it is of the process itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """Whether cycles changed, where the time went, and why."""

    verdict: str
    """One of `VERDICTS`."""
    reason: str
    """Why this verdict, in a sentence."""
    cycle_time: CycleTime
    attribution: tuple[Component, ...]
    """Largest change first; the changes add up to that of the mean cycle."""
    anomalies: tuple[Anomaly, ...]
    """Most severe first."""
    causes: tuple[Cause, ...]
    """Most time explained first."""
    unexplained_ns: float
    """The change of the mean cycle less what causes explain."""
    unexplained: tuple[tuple[str, float], ...]
    """Where it sits: components and ns, largest first."""
    symptoms: tuple[Symptom, ...] = ()
    notes: tuple[str, ...] = ()
    """Warm-up, drift, and what could not be tested."""
