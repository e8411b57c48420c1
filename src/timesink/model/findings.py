"""What a rule has to say, as one kind of thing whatever was asked.

Findings of a single run, advice on kernels, causes of a change, anomalies of the environment and
the symptoms beside them, ranks that hold others up, and checks of a gate are all a `Finding`: an id
of the catalogue, what was measured in a sentence, what it costs, what it rests on, what to try.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

HIGH, MEDIUM, LOW = "high", "medium", "low"
SEVERITIES = (HIGH, MEDIUM, LOW)

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
    "attention_backend",
    "optimizer",
    "recomputation",
    "precision_change",
    "layout_conversion",
    "allocator",
    "pageable_copies",
    "extra_copies",
    "casts",
    "added_layer",
    "gradient_handling",
    "debug_mode",
    "graph_capture",
    "compile_fallback",
    "collective_change",
    "kernel_choice",
    "cycle_kind",
    "data_loading",
    "straggler",
    "workload_change",
)
"""Everything that is ever named as a cause of a change; nothing else is."""

Interval = tuple[float, float]

_HIGH_SHARE, _MEDIUM_SHARE = 0.2, 0.05
HIGH_SAVING, MEDIUM_SAVING = 0.1, 0.025
"""Of the step: a tenth is worth a day of anybody's work; the noise of most machines is some 2 %."""
_SILENT: tuple[Any, ...] = ("", None, (), 0.0, -1, 1.0, True, LOW)
_DIGITS = 6
"""Decimals of numbers that were divided: beyond them is only noise."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something a finding rests on, that a user can open and see."""

    kind: str
    """Of a run: `step`, `operator`, `chain` of these, `kernel`, `call`, `copy`, `gap`, `device` or
    `worker`; of a change: `counter`, `function`, `kernel`, `calls`, `program`, `place`, `cycle`."""
    text: str
    """Its name, or what it shows in words."""
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
    numbers: Mapping[str, float] = field(default_factory=dict)
    """What was measured in a single run; units are in the keys."""

    @property
    def name(self) -> str:
        """The event, or group of events, of a single run."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The evidence of a single run as plain data."""
        numbers = {key: round(value, _DIGITS) for key, value in self.numbers.items()}
        return {"kind": self.kind, "name": self.text, **numbers}


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """One cause of lost time, of a change, or of a doubt."""

    id: str
    """Stable: a rule of `rules/catalogue.toml`, one of `CAUSES`, or the kind of a check."""
    sentence: str
    """What was measured, with its numbers."""
    advice: str = ""
    """What to try, or to check next."""
    title: str = ""
    share: float = 0.0
    """What it concerns, 0 to 1: of the step (between steps, of the time from first to last), of the
    kernel time of a device, of the run, or of the capacity of a resource that was lost or taken."""
    cost_ns: float = 0.0
    """What it costs, or what mending it may save: per step or cycle, of the kernel time, or of the
    run; 0 where no number is honest."""
    interval_ns: Interval | None = None
    """95 % interval of that."""
    gain_basis: str = ""
    """What an estimate of the gain assumes; empty where there is none."""
    evidence: tuple[Evidence, ...] = ()
    least_severity: str = LOW
    """Severity whatever the share; a warning about the recording has no share."""
    saving_share: float | None = None
    """What mending it saves, of the step, 0 to 1; severity then follows this and not the share."""
    is_warning: bool = False
    """Whether it is about the recording, which mending makes no faster: `medium` at most."""
    unknown_saving: str = ""
    """Why no saving is given, as the end of a sentence; empty where there is one."""

    # -- what it is about --------------------------------------------------------------------------
    device: Any = None
    """Name of a device or `Host`; of advice on kernels its number."""
    host: str | None = None
    process: str | None = None
    """Which process or ranks, where several are read together."""
    rank: int = -1
    """Of a rank that holds others up; -1 for all else."""
    name: str = ""
    """Of a check, unlike that of any other: `cycle time`, `operators "aten::mm" max`."""

    # -- what only some have -----------------------------------------------------------------------
    together_ns: float = 0.0
    """What it saves with all findings above it, where a replay says that."""
    between_ns: float = 0.0
    """What mending it may save between two steps, beside what it saves in them."""
    marked: bool = True
    """Whether the steps it speaks of are marked; else the whole recording counts as one."""
    kernels: tuple[str, ...] = ()
    """Short names, the longest in time first."""
    steps: tuple[str, ...] = ()
    """Steps in which a rank held the others up."""
    place: str = ""
    """Where in the step a cause on the host sits, in words: `between A and B`."""
    claims: tuple[tuple[str, float], ...] = ()
    """Which components (`Component.name`) the time sits in, and how much in each, in ns."""
    metric: str = ""
    """The counter of an anomaly or a symptom, with its levels on both sides."""
    unit: str | None = None
    base: float = 0.0
    new: float = 0.0
    q_value: float = 1.0
    """p-value corrected for the number of metrics and devices that were tested."""
    why: str | None = None
    """Why a counter is no anomaly, or why a finding saves nothing, as the end of a sentence."""
    outcome: str = ""
    """Of a check: `passed`, `failed` or `unjudged`."""
    counts: bool = True
    """Whether the gate is asked about it; what is only shown fails nothing."""
    is_empty: bool = False
    """Whether there was nothing to look at, which is allowed: an optional budget."""

    def __repr__(self) -> str:
        """What was said of it, and nothing else."""
        pairs = ((field_.name, getattr(self, field_.name)) for field_ in fields(self))
        text = ", ".join(f"{name}={value!r}" for name, value in pairs if value not in _SILENT)
        return f"Finding({text})"

    @property
    def severity(self) -> str:
        """How grave it is: `high`, `medium` or `low`."""
        if self.saving_share is not None and not self.is_warning:
            return _severity_of(self.saving_share, HIGH_SAVING, MEDIUM_SAVING)
        by_share = _severity_of(self.share, _HIGH_SHARE, _MEDIUM_SHARE)
        severity = min(by_share, self.least_severity, key=SEVERITIES.index)
        return max(severity, MEDIUM, key=SEVERITIES.index) if self.is_warning else severity

    @property
    def saves_nothing(self) -> bool:
        """Whether a replay says that mending it alone saves nothing."""
        return bool(self.why) and not self.cost_ns and not self.between_ns

    @property
    def subject(self) -> str:
        """What it is about, in a word: a check, a process, a rank, a device."""
        rank = f"rank {self.rank}" if self.rank >= 0 else ""
        return str(next(filter(None, (self.name, self.process, rank, self.device)), ""))

    @property
    def proofs(self) -> tuple[str, ...]:
        """What speaks for it, in words."""
        return tuple(proof.text for proof in self.evidence)

    # -- the same under the name that users of each kind know --------------------------------------
    @property
    def rule(self) -> str:
        """The id, of findings of a run and of advice on kernels."""
        return self.id

    @property
    def cause(self) -> str:
        """The id, of causes, anomalies and ranks."""
        return self.id

    @property
    def kind(self) -> str:
        """The id, of checks: `exact`, `device time`, `cycle time`, `budget` or `recordings`."""
        return self.id

    @property
    def gain_ns(self) -> float:
        """What mending it may save; 0 where there is no honest number."""
        return self.cost_ns

    @property
    def explained_ns(self) -> float:
        """What of the change of cycle time it explains."""
        return self.cost_ns

    @property
    def time_ns(self) -> float | None:
        """What a check measured in the new run, where that is a time."""
        return self.cost_ns or None

    @property
    def urgency(self) -> int:
        """The lower, the sooner a check is told: failed, not decided, passed."""
        return ("failed", "unjudged", "passed", "").index(self.outcome)

    @property
    def share_pct(self) -> float:
        """The share in percent."""
        return 100 * self.share

    def to_dict(self) -> dict[str, Any]:
        """A finding of a single run as plain data, units in the keys."""
        return {
            "rule": self.id,
            "severity": self.severity,
            "title": self.title,
            "sentence": self.sentence,
            "share_of_step": round(self.share, _DIGITS),
            "gain_us_per_step": round(self.cost_ns / 1000, _DIGITS),
            "gain_us_together": round(self.together_ns / 1000, _DIGITS),
            "gain_us_between_steps": round(self.between_ns / 1000, _DIGITS),
            "gain_basis": self.gain_basis,
            "saves_nothing": self.why or "",
            "unknown_saving": self.unknown_saving,
            "overlaps": [],  # of versions that did not say what findings save together
            "evidence": [item.to_dict() for item in self.evidence],
            "advice": self.advice,
        }

    def to_advice(self) -> dict[str, Any]:
        """Advice on the kernels of a device as plain data, units in the keys."""
        return {
            "rule": self.id,
            "host": self.host,
            "device": self.device,
            "share_pct": round(self.share_pct, _DIGITS),
            "gain_ns": round(self.cost_ns) if self.gain_basis else None,
            "gain_basis": self.gain_basis,
            "kernels": list(self.kernels),
            "sentence": self.sentence,
            "advice": self.advice,
        }


def _severity_of(share: float, high: float, medium: float) -> str:
    if share >= high:
        return HIGH
    return MEDIUM if share >= medium else LOW


def gravest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by severity, then by what mending them may save."""

    def order(finding: Finding) -> tuple[int, float]:
        return SEVERITIES.index(finding.severity), -(finding.cost_ns + finding.between_ns)

    return tuple(sorted(findings, key=order))
