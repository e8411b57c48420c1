"""How often diagnoses of recordings with a known fault are right, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from math import sqrt
from pathlib import Path
from statistics import median
from typing import Any

from timesink.answers.comparison.report import compare
from timesink.comparison.causes.diagnosis import diagnose
from timesink.comparison.causes.joint_diagnosis import diagnose_together
from timesink.comparison.results import Pair
from timesink.errors import NoCyclesError, NotFoundError, TimesinkError, UnreadableError
from timesink.formats.read_options import Progress
from timesink.model.diagnosis import Diagnosis
from timesink.sources.sidecars import run_file_in
from timesink_lab.faults import FAULTS, NORMAL, Expected, expected_of, heads
from timesink_lab.order import FAULT, TRACE, read_about, read_json

# Shares of few trials, with how far they may be off.

_NORMAL_95 = 1.959964
"""Standard deviations around the middle that hold 95 % of a normal distribution."""


@dataclass(frozen=True)
class Rate:
    """How many of how many."""

    hits: int
    trials: int

    @property
    def share(self) -> float | None:
        """Part of the trials; None without any."""
        return self.hits / self.trials if self.trials else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the share, by Wilson's formula; None without trials."""
        if not self.trials:
            return None
        share, extra = self.hits / self.trials, _NORMAL_95**2 / self.trials
        middle = share + extra / 2
        reach = _NORMAL_95 * sqrt((share * (1 - share) + extra / 4) / self.trials)
        low, high = ((middle + sign * reach) / (1 + extra) for sign in (-1, 1))
        return max(0.0, low), min(1.0, high)

    @property
    def cells(self) -> tuple[str, str, str]:
        """For a table: how many, the share, its interval."""
        if self.share is None or self.interval is None:
            return "not tried", "", ""
        low, high = (100 * bound for bound in self.interval)
        return (
            f"{self.hits} of {self.trials}",
            f"{100 * self.share:.0f} %",
            f"{low:.0f} to {high:.0f} %",
        )


def rate_of(outcomes: Iterable[bool]) -> Rate:
    """How many are true."""
    every = list(outcomes)
    return Rate(sum(every), len(every))


# The part of a diagnosis that is right or wrong.

NONE = "none"
"""What is named where no name is given."""
NO_VERDICT = "no verdict"
"""The same where both runs cannot be judged at all."""
INCOMPARABLE = "incomparable"


@dataclass(frozen=True)
class DiagnosisAnswer:
    """What a diagnosis says."""

    verdict: str
    change_pct: float | None
    anomalies: tuple[str, ...]
    causes: tuple[str, ...]
    explained_ns: float
    unexplained_ns: float
    total_ns: float

    @property
    def has_changed(self) -> bool:
        """Whether cycles are said to take another time."""
        return self.verdict in ("regression", "improvement")

    @property
    def names_something(self) -> bool:
        """Whether any name is given."""
        return bool(self.anomalies or self.causes)


SILENT = DiagnosisAnswer(INCOMPARABLE, None, (), (), 0.0, 0.0, 0.0)
"""What is said of a recording in which no cycles can be found."""


def diagnose_pairs(pairs: Sequence[Pair]) -> Diagnosis:
    """What is said about a case: of one process, or of all ranks together."""
    return diagnose(pairs[0]) if len(pairs) == 1 else diagnose_together(pairs)


def answer_of(diagnosis: Diagnosis) -> DiagnosisAnswer:
    """What of a diagnosis is judged."""
    times = diagnosis.cycle_time
    return DiagnosisAnswer(
        diagnosis.verdict,
        times.change_pct,
        tuple(dict.fromkeys(anomaly.id for anomaly in diagnosis.anomalies)),
        tuple(dict.fromkeys(cause.id for cause in diagnosis.causes)),
        sum(cause.cost_ns for cause in diagnosis.causes),
        diagnosis.unexplained_ns,
        times.new_ns - times.base_ns,
    )


def misses(wanted: Expected, answer: DiagnosisAnswer) -> int:
    """How many of the answers are wrong; for a run without a fault, whether any name is given."""
    wrong = [wanted.verdict is not None and answer.verdict != wanted.verdict]
    if wanted.is_nothing:
        wrong.append(answer.names_something)
    else:
        wrong += [
            not heads(wanted.anomaly, answer.anomalies),
            not heads(wanted.cause, answer.causes),
        ]
    return sum(wrong)


def first_name(wanted: Expected, answer: DiagnosisAnswer) -> str:
    """The name a reader meets first, in the list that should have it, else in the other."""
    around, inside = answer.anomalies[:1], answer.causes[:1]
    asks_inside = wanted.anomaly is None and wanted.cause is not None
    unnamed = NO_VERDICT if answer.verdict == INCOMPARABLE else NONE
    return [*(inside + around if asks_inside else around + inside), unnamed][0]


# Where and how recordings were made, from what each says of itself.

Facts = tuple[str, ...]
"""What recordings say, each once; more than one entry: they differ."""


@dataclass(frozen=True)
class LabRecording:
    """What the `run.json` of all recordings say together; empty where none is there."""

    recordings: int = 0
    partial: int = 0
    devices: Facts = ()
    host: Facts = ()
    versions: Facts = ()
    days: Facts = ()
    cycles: tuple[int, ...] = ()
    interval_ms: tuple[float, ...] = ()
    profiler_pct: float | None = None
    """How much longer cycles were with the profiler on; the median."""


def made_how(folders: Iterable[Path]) -> LabRecording:
    """What the recordings in these folders say."""
    files = [run_file_in(folder) for folder in sorted(folders)]
    runs = [file.run for file in files if file is not None and file.run is not None]
    profiler_pcts = [
        run.overhead.profiler_pct for run in runs if run.overhead.profiler_pct is not None
    ]
    cycles = {run.cycles.recorded for run in runs}
    intervals = {run.counters.interval_ms for run in runs}
    devices, hosts, versions, days = set(), set(), set(), set()
    for run in runs:
        for device in run.devices:
            driver = f", driver {device.driver}" if device.driver else ""
            devices.add(f"{device.name or device.device or 'a device without a name'}{driver}")
        cores = f"{run.host.cores:g} cores" if run.host.cores else None
        hosts.add(", ".join(filter(None, (cores, run.host.cpu, run.host.system))))
        named = {"timesink": run.timesink, **run.versions}
        versions.add(", ".join(f"{name} {version}" for name, version in named.items() if version))
        if run.started_us is not None:
            started = datetime.fromtimestamp(run.started_us / 1e6, timezone.utc)
            days.add(started.date().isoformat())
    return LabRecording(
        recordings=len(runs),
        partial=sum(run.complete is False for run in runs),
        devices=tuple(sorted(devices)),
        host=tuple(sorted(hosts - {""})),
        versions=tuple(sorted(versions - {""})),
        days=tuple(sorted(days)),
        cycles=tuple(sorted(cycle_count for cycle_count in cycles if cycle_count is not None)),
        interval_ms=tuple(sorted(interval for interval in intervals if interval is not None)),
        profiler_pct=median(profiler_pcts) if profiler_pcts else None,
    )


SCHEMA = "timesink/lab-score/1"
BETWEEN_RUNS = " vs "
"""In the name of a pair without a fault."""


@dataclass(frozen=True)
class ScoredCase:
    """What was said about one pair of recordings, and what should have been."""

    workload: str
    name: str
    fault: str
    expected: Expected
    answer: DiagnosisAnswer

    @property
    def is_right(self) -> bool:
        """Whether every list that is asked for has a sound name first; without a fault, none.

        Runs without a fault that cannot be judged are no success.
        """
        is_silent = self.is_normal and self.answer.verdict == INCOMPARABLE
        return not misses(self.expected, self.answer) and not is_silent

    @property
    def named(self) -> str:
        """The name that is met first, or `none`, or `no verdict`."""
        return first_name(self.expected, self.answer)

    @property
    def is_normal(self) -> bool:
        """Whether neither run has a fault."""
        return self.expected.is_nothing


@dataclass(frozen=True)
class LabScore:
    """All cases of a folder of recordings."""

    source: str
    about: Mapping[str, Any]
    """How the recordings were to be made."""
    cases: tuple[ScoredCase, ...]
    left_out: tuple[str, ...] = ()
    """Recordings that could not be compared, and why."""
    recording_facts: LabRecording = field(default_factory=LabRecording)
    """Where and how they were made, by their own account."""

    @property
    def faults(self) -> tuple[ScoredCase, ...]:
        """Pairs of which one has a fault."""
        return tuple(case for case in self.cases if not case.is_normal)

    @property
    def normals(self) -> tuple[ScoredCase, ...]:
        """Pairs without a fault."""
        return tuple(case for case in self.cases if case.is_normal)

    @property
    def confusion(self) -> dict[str, Counter[str]]:
        """For every fault that was put in, how often which name was met first."""
        table: dict[str, Counter[str]] = {}
        for case in (*self.faults, *self.normals):
            table.setdefault(case.fault if not case.is_normal else NORMAL, Counter())[
                case.named
            ] += 1
        return table

    @property
    def sound(self) -> dict[str, set[str]]:
        """For every row of the confusion table, the names that are sound."""
        names: dict[str, set[str]] = {NORMAL: {NONE}}
        for case in self.faults:
            wanted = (case.expected.anomaly, case.expected.cause)
            sound_names = {
                name for alternatives in wanted if alternatives for name in alternatives.split("|")
            }
            names.setdefault(case.fault, set()).update(sound_names)
        return names

    @property
    def rates(self) -> dict[str, Rate]:
        """The figures that sum it up, by what they count."""
        faults = self.faults
        return {
            "right": rate_of(case.is_right for case in faults),
            "anomaly_first": rate_of(
                heads(case.expected.anomaly, case.answer.anomalies)
                for case in faults
                if case.expected.anomaly
            ),
            "cause_first": rate_of(
                heads(case.expected.cause, case.answer.causes)
                for case in faults
                if case.expected.cause
            ),
            "anomaly_beside_code_fault": rate_of(
                bool(case.answer.anomalies) for case in faults if not case.expected.anomaly
            ),
            "named_without_fault": rate_of(
                any(case.answer.names_something for case in pair) for pair in self._normal_pairs()
            ),
            "verdict_without_fault": rate_of(
                any(case.answer.has_changed for case in pair) for pair in self._normal_pairs()
            ),
        }

    def _normal_pairs(self) -> Iterable[list[ScoredCase]]:
        """Pairs without a fault, with what was said of them in either order: they count once."""
        pairs: dict[tuple[str, frozenset[str]], list[ScoredCase]] = {}
        for case in self.normals:
            runs = frozenset(case.name.split(BETWEEN_RUNS))
            pairs.setdefault((case.workload, runs), []).append(case)
        return pairs.values()

    def right_by(self, what: str) -> dict[str, Rate]:
        """How often faults are named right: for each `fault`, or for each `workload`."""
        outcomes: dict[str, list[bool]] = {}
        for case in self.faults:
            outcomes.setdefault(str(getattr(case, what)), []).append(case.is_right)
        return {name: rate_of(every) for name, every in outcomes.items()}

    def to_dict(self) -> dict[str, Any]:
        """The whole score, ready for JSON."""
        return {
            "schema": SCHEMA,
            "source": self.source,
            "about": dict(self.about),
            "recorded": asdict(self.recording_facts),
            **{
                what: {name: _plain_rate(rate) for name, rate in rates.items()}
                for what, rates in (
                    ("rates", self.rates),
                    ("by_fault", self.right_by("fault")),
                    ("by_workload", self.right_by("workload")),
                )
            },
            "confusion": {fault: dict(named) for fault, named in self.confusion.items()},
            "pairs": [_plain_case(case) for case in self.cases],
            "left_out": list(self.left_out),
        }


def _plain_rate(rate: Rate) -> dict[str, Any]:
    return {**asdict(rate), "share": rate.share, "ci95": rate.interval and list(rate.interval)}


def _plain_case(case: ScoredCase) -> dict[str, Any]:
    wanted, answer = case.expected, case.answer
    return {
        "workload": case.workload,
        "name": case.name,
        "fault": case.fault,
        "expected": wanted.expectations,
        "verdict": answer.verdict,
        "change_pct": answer.change_pct,
        "anomalies": list(answer.anomalies),
        "causes": list(answer.causes),
        "explained_us": answer.explained_ns / 1e3,
        "unexplained_us": answer.unexplained_ns / 1e3,
        "named": case.named,
        "right": case.is_right,
    }


# Recordings with a known fault, each compared with a run without it, and judged.


@dataclass(frozen=True)
class FoundCase:
    """One fault, beside a run without it, before anything is read."""

    name: str
    recording: str
    """Whose fault it is."""
    fault: str
    base: Path
    new: Path
    expected: Expected

    def pairs(self, *, cache: bool = True) -> tuple[Pair, ...]:
        """Every process of the run with the fault beside that of the other."""
        return compare(self.base, self.new, cache=cache).pairs


def fault_files(folder: Path) -> list[Path]:
    """What says of each recording in a folder what was wrong with it."""
    return sorted(folder.glob(f"*/{FAULT}"))


def cases_of(file: Path, expected_by_fault: Mapping[str, Expected]) -> Iterator[FoundCase]:
    """The recording that a `fault.json` describes, beside the one without a fault.

    `fault.json` names the `fault`, and may name the `baseline` (a folder beside it; `normal`
    otherwise) and what is expected: `anomaly`, `cause`, `verdict`.  Runs whose fault is unknown
    here and that expect nothing are runs without a fault: they are compared in both orders.
    """
    about = read_json(file, "record it again")
    if not isinstance(about, dict):
        raise UnreadableError(f"{file}: does not describe a fault", "record it again")
    name, beside = file.parent.name, file.parent.parent
    folders = [beside / str(folder_name) for folder_name in (about.get("baseline") or NORMAL, name)]
    # The trace of one process, or the folder of several.
    base, new = (folder / TRACE if (folder / TRACE).is_file() else folder for folder in folders)
    if base == new:
        return
    expected = expected_of(about, expected_by_fault)
    case = FoundCase(name, name, str(about.get("fault") or NORMAL), base, new, expected)
    if not expected.is_nothing:
        yield case
        return
    names = [side.parent.name if side.name == TRACE else side.name for side in (base, new)]
    yield replace(case, name=BETWEEN_RUNS.join(names))
    back = {"regression": "improvement", "improvement": "regression"}
    turned = Expected(verdict=back.get(str(expected.verdict), expected.verdict))
    names.reverse()
    yield replace(case, name=BETWEEN_RUNS.join(names), base=new, new=base, expected=turned)


_EXPECTED_BY_FAULT = {fault.name: Expected(**fault.expected) for fault in FAULTS}
"""What is expected of faults of the lab that were recorded elsewhere."""
_WHICH = "name the folder that `timesink lab run -o` wrote"


def score(folder: Path, *, cache: bool = True, progress: Progress | None = None) -> LabScore:
    """Compare every recording with the one without a fault before it, and judge what is said.

    The folder is what `timesink lab run` wrote, or holds recordings with a `fault.json` each.
    `progress` is called with how many pairs were compared, and how many there are.
    """
    if not folder.is_dir():
        raise NotFoundError(
            f"{folder}: {'is no folder' if folder.exists() else 'no such folder'}", _WHICH
        )
    cases: list[ScoredCase] = []
    left_out: list[str] = []
    # The folder itself, and the folders of workloads in it.
    places = [folder, *sorted(subfolder for subfolder in folder.iterdir() if subfolder.is_dir())]
    files = [(place, file) for place in places for file in fault_files(place)]
    every: list[tuple[str, FoundCase]] = []
    about: dict[str, Any] = {}
    # What cannot be read is named, and the others are gone on with.
    for place, file in files:
        try:
            every += [(place.resolve().name, case) for case in cases_of(file, _EXPECTED_BY_FAULT)]
        except UnreadableError as error:  # noqa: PERF203
            left_out.append(error.message)
    try:
        about = read_about(folder)
    except UnreadableError as error:
        left_out.append(error.message)
    for number, (workload, case) in enumerate(every, 1):
        try:
            answer = _answer(case, cache=cache)
            cases.append(ScoredCase(workload, case.name, case.fault, case.expected, answer))
        except TimesinkError as error:
            left_out.append(f"{workload}/{case.recording}: {error.message}")
        if progress is not None:
            progress(number, len(every))
    left_out = list(dict.fromkeys(left_out))
    if not cases:
        raise NotFoundError(
            f"{folder}: no recording with a {FAULT} can be compared"
            + (f" ({left_out[0]})" if left_out else ""),
            _WHICH,
        )
    recording_facts = made_how({file.parent for _, file in files})
    return LabScore(str(folder), about, tuple(cases), tuple(left_out), recording_facts)


def _answer(case: FoundCase, *, cache: bool) -> DiagnosisAnswer:
    if case.expected.is_nothing and not case.fault.startswith(NORMAL):
        raise UnreadableError(f"its {FAULT} names neither an anomaly nor a cause to expect")
    try:
        return answer_of(diagnose_pairs(case.pairs(cache=cache)))
    except NoCyclesError:
        return SILENT
