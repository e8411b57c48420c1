"""What a rule has to say.

Findings of a run, advice on kernels, causes of a change, anomalies of the environment and
stragglers have a `Finding` in common: an id of the catalogue, what was measured in a sentence, what
it costs, what it rests on, what to try.  Each kind is a record with what only it has.  Symptoms and
checks of a gate are records of their own: they cost nothing, and there is nothing to try.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

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
OUTCOMES = ("failed", "unjudged", "passed")
"""Of a check of a gate, in the order in which they are listed."""


class Evidence(msgspec.Struct, frozen=True, repr_omit_defaults=True):
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
    numbers: Mapping[str, float] = {}
    """What was measured in a single run; units are in the keys."""

    @property
    def name(self) -> str:
        """The event, or group of events, of a single run."""
        return self.text


class Finding(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """One cause of lost time, of a change, or of a doubt."""

    id: str
    """Stable: a rule of `rules/catalogue.toml`, or one of `CAUSES`."""
    sentence: str
    """What was measured, with its numbers."""
    advice: str = ""
    """What to try, or to check next."""
    cost_ns: float = 0.0
    """What it costs, or what mending it may save: per step, of the kernel time, or of the run; 0
    where no number is honest."""
    evidence: tuple[Evidence, ...] = ()

    @property
    def subject(self) -> str:
        """What it is about, in a word: a process, a rank, a device; empty where it is the run."""
        return ""

    @property
    def proofs(self) -> tuple[str, ...]:
        """What speaks for it, in words."""
        return tuple(proof.text for proof in self.evidence)


class RunFinding(Finding, frozen=True, kw_only=True):
    """A finding of a single run, or of the ranks of one."""

    title: str = ""
    share: float = 0.0
    """What it concerns of the step, 0 to 1; between steps, of the time from first to last."""
    gain_basis: str = ""
    """What an estimate of the gain assumes; empty where there is none."""
    least_severity: str = LOW
    """Severity whatever the share; a warning about the recording has no share."""
    saving_share: float | None = None
    """What mending it saves, of the step, 0 to 1; severity then follows this and not the share."""
    is_warning: bool = False
    """Whether it is about the recording, which mending makes no faster: `medium` at most."""
    is_timeless: bool = False
    """Whether it costs no time of a step but the run itself: `least_severity` is its severity."""
    unknown_saving: str = ""
    """Why no saving is given, as the end of a sentence; empty where there is one."""
    no_saving: str = ""
    """Why mending it alone saves nothing, as the end of a sentence; empty where it does."""
    together_ns: float = 0.0
    """What it saves with all findings above it, where a replay says that."""
    between_ns: float = 0.0
    """What mending it may save between two steps, beside what it saves in them."""
    most_ns: float = 0.0
    """The most that mending it can save per step, where nothing shows how much of that it does:
    all that it speaks of."""
    kernels: tuple[str, ...] = ()
    """Names of all kernels it is about, where the evidence names only some."""
    marked: bool = True
    """Whether the steps it speaks of are marked; else the whole recording counts as one."""

    @property
    def rule(self) -> str:
        """The id, as JSON calls it."""
        return self.id

    @property
    def severity(self) -> str:
        """How grave it is: `high`, `medium` or `low`."""
        if self.is_timeless:
            return self.least_severity
        if self.saving_share is not None and not self.is_warning:
            by_saving = _severity_of(self.saving_share, HIGH_SAVING, MEDIUM_SAVING)
            # What may save nothing is never grave.
            return max(by_saving, MEDIUM, key=SEVERITIES.index) if self.most_ns else by_saving
        by_share = _severity_of(self.share, _HIGH_SHARE, _MEDIUM_SHARE)
        severity = min(by_share, self.least_severity, key=SEVERITIES.index)
        return max(severity, MEDIUM, key=SEVERITIES.index) if self.is_warning else severity

    @property
    def saves_nothing(self) -> bool:
        """Whether a replay says that mending it alone saves nothing."""
        return bool(self.no_saving) and not self.cost_ns and not self.between_ns


class KernelAdvice(Finding, frozen=True, kw_only=True):
    """What to try on the kernels of a device."""

    title: str = ""
    share: float = 0.0
    """Of the kernel time of the device, 0 to 1."""
    gain_basis: str = ""
    """What an estimate of the gain assumes; empty where there is none."""
    host: str | None = None
    device: int | None = None
    kernels: tuple[str, ...] = ()
    """Short names, the longest in time first."""

    @property
    def severity(self) -> str:
        """How grave it is: `high`, `medium` or `low`."""
        return _severity_of(self.share, _HIGH_SHARE, _MEDIUM_SHARE)

    @property
    def share_pct(self) -> float:
        """The share in percent."""
        return 100 * self.share


class Straggler(Finding, frozen=True, kw_only=True):
    """A rank that holds the others up."""

    rank: int
    share: float = 0.0
    """Of the run, 0 to 1."""
    steps: tuple[str, ...] = ()
    """In which it held them up."""

    @property
    def subject(self) -> str:
        """The rank."""
        return f"rank {self.rank}"


class Cause(Finding, frozen=True, kw_only=True):
    """What explains a part of a change; the cost is what the new run takes more for it."""

    interval_ns: Interval | None = None
    """95 % interval of the cost."""
    claims: tuple[tuple[str, float], ...] = ()
    """Which components (`Component.name`) the time sits in, and how much in each, in ns."""
    process: str | None = None
    """Which process or ranks, where several are read together."""
    device: str | None = None
    place: str = ""
    """Where in the step a cause on the host sits, in words: `between A and B`."""

    @property
    def subject(self) -> str:
        """The process, or else the device."""
        return self.process or self.device or ""


class Anomaly(Finding, frozen=True, kw_only=True):
    """A resource that is less there than it was; it costs what the cause of its name explains."""

    device: str
    """Name of a device or `Host`."""
    metric: str = ""
    """The counter, with its levels on both sides."""
    unit: str | None = None
    base: float = 0.0
    new: float = 0.0
    share: float = 0.0
    """Of its capacity, 0 to 1: what was lost or taken."""
    q_value: float = 1.0
    """p-value corrected for the number of metrics and devices that were tested."""
    process: str | None = None
    """Which process or ranks, where several are read together."""

    @property
    def subject(self) -> str:
        """The process, or else the device."""
        return self.process or self.device


class Symptom(msgspec.Struct, frozen=True, kw_only=True):
    """A counter that tells of a change instead of explaining it."""

    sentence: str
    device: str
    metric: str
    unit: str | None = None
    base: float
    new: float
    why: str | None = None
    """Why it is no anomaly, as the end of a sentence; None where it was no suspect."""
    process: str | None = None


class GateCheck(msgspec.Struct, frozen=True):
    """One thing that a gate was asked about, and what became of it."""

    kind: str
    """`exact`, `device time`, `cycle time`, `budget` or `recordings`."""
    sentence: str
    name: str
    """Unlike that of any other: `cycle time`, `operators "aten::mm" max`."""
    outcome: str
    """`passed`, `failed` or `unjudged`."""
    time_ns: float | None = None
    """What was measured in the new run, where that is a time."""
    beyond: float = 0.0
    """By how much a limit is passed: of several ranks the worst is listed."""
    counts: bool = True
    """Whether the gate is asked about it; what is only shown fails nothing."""
    is_empty: bool = False
    """Whether there was nothing to look at, which is allowed: an optional budget."""

    @property
    def urgency(self) -> int:
        """The lower, the sooner it is listed."""
        return OUTCOMES.index(self.outcome)


def _severity_of(share: float, high: float, medium: float) -> str:
    if share >= high:
        return HIGH
    return MEDIUM if share >= medium else LOW


def gravest_first(findings: Iterable[RunFinding]) -> tuple[RunFinding, ...]:
    """Findings by severity, then by what mending them saves; what may save nothing comes last."""

    def order(finding: RunFinding) -> tuple[int, float, bool, float]:
        saving_ns = finding.cost_ns + finding.between_ns
        return SEVERITIES.index(finding.severity), -saving_ns, finding.most_ns > 0, -finding.most_ns

    return tuple(sorted(findings, key=order))
