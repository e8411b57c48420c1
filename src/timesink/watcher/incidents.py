"""What the watcher keeps: recordings of healthy cycles, and incidents beside them."""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from msgspec import structs
from msgspec.structs import replace

from timesink.model import units
from timesink.recorder.places import write_whole
from timesink.sources.watch_folder import INCIDENT_SCHEMA, cycles_of
from timesink.watcher.cycles import LEARNING, medians
from timesink.watcher.expected.live import LiveAlarm
from timesink.watcher.expected.workload import BATCH, INPUT, OUTPUT
from timesink.watcher.journal import remove_folder, size_of
from timesink.watcher.thresholds import IncidentsLimits
from timesink.watcher.watch_json import IncidentHead, IncidentJson, LikenessJson, ReferenceJson

# Recordings of healthy cycles: which workloads have one, and which is nearest to another.

EARLY = "early"
_MAX_KINDS, _MAX_TRIES = 500, 3


class Reference(msgspec.Struct, frozen=True):
    """Healthy cycles, and what they had to do."""

    name: str
    folder: Path
    phase: str
    kind: str
    workload: Mapping[str, float]
    taken_us: int
    ended_us: int = 0
    recording: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What came of recording it."""
    is_stale: bool = False
    """Whether it is to be taken anew; it stays until that is done."""

    @property
    def is_early(self) -> bool:
        """Whether it was taken before anything was learned."""
        return self.kind == EARLY

    @property
    def json(self) -> ReferenceJson:
        """As a file and the status have it."""
        return ReferenceJson(
            name=self.name,
            phase=self.phase,
            workload=dict(self.workload),
            taken_us=self.taken_us,
        )


class Likeness(msgspec.Struct, frozen=True):
    """A reference beside a workload."""

    reference: Reference
    factor: float
    """By how much the column differs that differs most."""
    column: str
    same_phase: bool

    @property
    def json(self) -> LikenessJson:
        """As an incident has it."""
        return LikenessJson(
            **structs.asdict(self.reference.json),
            same_phase=self.same_phase,
            differs_most=self.column or None,
            factor=round(self.factor, 3),
        )

    @property
    def is_alike(self) -> bool:
        """Whether what differs comes from elsewhere."""
        return self.same_phase and self.factor <= IncidentsLimits.max_workload_ratio

    @property
    def remark(self) -> str:
        """What to know where workloads differ."""
        if not self.same_phase:
            return f"The nearest reference recording has {self.reference.phase} steps."
        if self.factor > IncidentsLimits.max_workload_ratio:
            return (
                f"Workloads differ: {self.column} of the reference differs by a factor of "
                f"{self.factor:.2g}. Part of the change may come from that."
            )
        return ""


def dominant_phase(judged: pl.DataFrame) -> str:
    """The phase most cycles are in."""
    return str(judged["phase"].mode().sort()[0]) if judged.height else ""


def kind_of(phase: str, workload: Mapping[str, float]) -> str:
    """Workloads of about the same size are of one kind."""
    sizes = (
        f"{name}{round(math.log2(1 + max(value, 0.0)))}" for name, value in _sizes(workload).items()
    )
    return " ".join([phase, *sorted(sizes)])


def _sizes(workload: Mapping[str, float]) -> Mapping[str, float]:
    """What workloads are distinguished by: of sequences, how many there are and all they hold.

    How long each is, and how much of that was written, makes little difference beside.
    """
    if not {BATCH, INPUT, OUTPUT} <= workload.keys():
        return workload
    kv_tokens = workload[BATCH] * (workload[INPUT] + workload[OUTPUT])
    rest = {name: value for name, value in workload.items() if not name.endswith("put_length")}
    return {**rest, "kv": kv_tokens}


class References(msgspec.Struct):
    """All of a watched program."""

    folder: Path
    most: int
    taken: list[Reference] = msgspec.field(default_factory=list)
    _kinds: Counter[str] = msgspec.field(default_factory=Counter)
    _tries: Counter[str] = msgspec.field(default_factory=Counter)

    def see(self, judged: pl.DataFrame, rows: pl.DataFrame) -> None:
        """Count what is common among healthy cycles."""
        phase = dominant_phase(judged)
        if phase and phase != LEARNING:
            self._kinds[kind_of(phase, medians(rows))] += rows.height
            if len(self._kinds) > _MAX_KINDS:
                self._kinds = Counter(dict(self._kinds.most_common(_MAX_KINDS // 2)))

    def is_wanted(self, phase: str, workload: Mapping[str, float]) -> bool:
        """Whether cycles as those now have no recording, and none that are commoner have none."""
        fresh = [reference for reference in self.taken if not reference.is_stale]
        if not fresh:
            return True
        have = {reference.kind for reference in fresh if not reference.is_early}
        common = self._kinds.most_common(self.most)
        # Loads may shift between the look and the recording: it is of another kind then.
        done = have | {kind for kind, tries in self._tries.items() if tries >= _MAX_TRIES}
        left = {kind: cycles for kind, cycles in common if kind not in done}
        if len(have) >= self.most or self._kinds.total() < IncidentsLimits.first_cycles:
            return False
        kind = kind_of(phase, workload)
        return 2 * left.get(kind, 0) >= max(left.values(), default=1)

    def tried(self, phase: str, workload: Mapping[str, float]) -> None:
        """A recording of such cycles was begun."""
        self._tries[kind_of(phase, workload)] += 1

    def place(self) -> Path:
        """Where the next one goes."""
        number = 1
        while (self.folder / f"{number:02d}").exists():
            number += 1
        return self.folder / f"{number:02d}"

    def add(self, reference: Reference) -> None:
        """Keep one; one of the same kind goes, and the early one once two others are there."""
        regular_count = sum(not other.is_early for other in self.taken)
        for old in list(self.taken):
            if old.kind == reference.kind or (old.is_early and (regular_count or old.is_stale)):
                self.drop(old)
        self.taken.append(reference)
        stale = [other for other in self.taken if other.is_stale]
        for old in stale[: max(0, len(self.taken) - self.most)]:
            self.drop(old)
        with suppress(OSError):
            text = json.dumps(structs.asdict(reference.json))
            write_whole(reference.folder / "workload.json", text.encode())

    def drop(self, reference: Reference) -> None:
        """One that is healthy no longer, or was not; its folder may be elsewhere by now."""
        self.taken.remove(reference)
        remove_folder(reference.folder)

    def forget(self) -> None:
        """Take all of them anew; each stays until another has its place."""
        self.taken[:] = [replace(reference, is_stale=True) for reference in self.taken]
        self._kinds.clear()
        self._tries.clear()

    def nearest(self, phase: str, workload: Mapping[str, float]) -> Likeness | None:
        """The one whose phase and workload are most alike; None without any.

        >>> from pathlib import Path
        >>> few = Reference("01", Path("01"), "decode", "", {"batch_size": 4.0}, 0)
        >>> many = Reference("02", Path("02"), "decode", "", {"batch_size": 32.0}, 0)
        >>> found = References(Path(), 4, [few, many]).nearest("decode", {"batch_size": 16.0})
        >>> found.reference.name, found.factor
        ('02', 2.0)
        """
        likenesses = [_likeness(reference, phase, workload) for reference in self.taken]
        return min(likenesses, key=_distance, default=None)


def _distance(likeness: Likeness) -> tuple[bool, bool, bool, bool, float]:
    of = likeness.reference
    return (
        not likeness.same_phase,
        likeness.factor > IncidentsLimits.max_workload_ratio,
        of.is_stale,
        of.is_early,
        likeness.factor,
    )


def _likeness(reference: Reference, phase: str, workload: Mapping[str, float]) -> Likeness:
    worst, column = 1.0, ""
    ours, theirs = _sizes(reference.workload), _sizes(workload)
    for name in {*ours} & {*theirs}:
        low, high = sorted((max(ours[name], 0.0), max(theirs[name], 0.0)))
        factor = high / low if low else (1.0 + high)
        if factor > worst:
            worst, column = factor, name
    # Of one that was taken before anything was learned no phase is known.
    return Likeness(reference, worst, column, reference.phase in {"", phase})


# Incidents: slow cycles from the first alarm to the end of the last, and what was found.

OPEN, CLOSED = "open", "closed"


class Incident(msgspec.Struct):
    """Alarms that overlap, and one recording of what happens meanwhile."""

    id: str
    folder: Path
    alarms: dict[int, LiveAlarm]
    process: dict[str, Any] = msgspec.field(default_factory=dict)
    likeness: Likeness | None = None
    recording: dict[str, Any] | None = None
    compared: dict[str, Any] = msgspec.field(default_factory=dict)
    remarks: list[str] = msgspec.field(default_factory=list)
    wants_recording: bool = True
    ended_us: int | None = None
    is_to_repeat: bool = False
    """Whether it is slow again, and what was recorded was not."""
    calm_since_s: float | None = None
    """Since when no alarm of it goes on."""
    waits: tuple[float, int] | None = None
    """Until when, and for how many cycles, it waits for a workload that has a reference."""
    recorded_as: tuple[str, Mapping[str, float]] | None = None
    """Phase and workload of what is recorded, where that is not the alarm's."""
    is_concluded: bool = False
    """Whether its cause, or that there is none, was told."""

    @property
    def first(self) -> LiveAlarm:
        """The alarm that began it."""
        return self.alarms[min(self.alarms)]

    @property
    def is_open(self) -> bool:
        return self.ended_us is None

    @property
    def since_us(self) -> int:
        return round(1e6 * min(alarm.since_s for alarm in self.alarms.values()))

    @property
    def last_end_s(self) -> float | None:
        """When the last alarm ended; None while one goes on."""
        ends = [alarm.ended_s for alarm in self.alarms.values()]
        past_ends = [end for end in ends if end is not None]
        return max(past_ends) if len(past_ends) == len(ends) else None

    @property
    def is_missed(self) -> bool:
        """Whether what was recorded of it was, in part, healthy again."""
        ended_s = self.last_end_s
        if self.recording is None or ended_s is None:
            return False
        return 1e6 * ended_s < float(self.recording["ended_us"])

    def forget_recording(self) -> None:
        """Be recorded anew."""
        for name in ("base", "new"):
            remove_folder(self.folder / name)
        self.recording, self.likeness, self.compared = None, None, {}
        self.recorded_as, self.wants_recording, self.is_to_repeat = None, True, False

    @property
    def cause(self) -> str:
        """The first cause of the comparison, in a sentence."""
        return str(self.compared.get("cause") or "")

    def remark(self, text: str) -> None:
        if text and text not in self.remarks:
            self.remarks.append(text)

    @property
    def lost_us(self) -> float:
        """What its steps took too long."""
        return sum(alarm.lost_us for alarm in self.alarms.values())

    @property
    def head(self) -> IncidentHead:
        """As the status shows it."""
        return IncidentHead(**self._head_fields())

    def _head_fields(self) -> dict[str, Any]:
        first = self.first
        return {
            "id": self.id, "state": OPEN if self.is_open else CLOSED, "since_us": self.since_us,
            "ended_us": self.ended_us, "cause": self.cause, "phase": first.phase,
            "expected_us": first.expected_us, "observed_us": first.observed_us,
            "lost_us": self.lost_us,
            "folder": f"incidents/{self.id}", "slow_rank": self.compared.get("slow_rank"),
        }  # fmt: skip

    @property
    def json(self) -> IncidentJson:
        """The content of incident.json."""
        first, compared = self.first, self.compared
        return IncidentJson(
            schema=INCIDENT_SCHEMA,
            **self._head_fields(),
            stream=first.stream,
            **{"process": None, "rank": None, "source": "", **self.process},
            workload=dict(first.workload),
            raised_us=round(1e6 * first.raised_s),
            cycles=sum(alarm.cycles for alarm in self.alarms.values()),
            rule=first.rule,
            alarms=list(self.alarms.values()),
            reference=None if self.likeness is None else self.likeness.json,
            recording=self.recording,
            verdict=compared.get("verdict"),
            sentence=compared.get("headline"),
            causes=compared.get("causes") or [],
            anomalies=compared.get("anomalies") or [],
            edits=compared.get("edits") or [],
            notes=compared.get("notes") or [],
            cycle_time=compared.get("cycle_time"),
            files=sorted(path.name for path in self.folder.glob("[!.]*")),
            remarks=[*self.remarks, *(compared.get("remarks") or ())],
        )


def alarm_told(alarm: LiveAlarm) -> dict[str, Any]:
    """An alarm as JSON has it."""
    return {**asdict(alarm), "workload": dict(alarm.workload)}


def alarm_line(alarm: LiveAlarm) -> str:
    """An alarm in a line."""
    since = time.strftime("%H:%M:%S", time.localtime(alarm.since_s))
    longer = units.more(alarm.expected_us, alarm.observed_us, "", time=True)
    return (
        f"alarm {alarm.number}: {cycles_of(alarm.phase, alarm.stream)} take {longer}: "
        f"{units.brief_ns(1e3 * alarm.observed_us)} instead of "
        f"{units.brief_ns(1e3 * alarm.expected_us)}, since {since}"
    )


class Incidents(msgspec.Struct):
    """All of a watched program, the last ones of which are kept."""

    folder: Path
    most_per_hour: int
    quota_bytes: int
    entries: list[Incident] = msgspec.field(default_factory=list)
    removed: int = 0
    _begun_s: list[float] = msgspec.field(default_factory=list)

    @property
    def open(self) -> Incident | None:
        return next((incident for incident in reversed(self.entries) if incident.is_open), None)

    def take_over(self, earlier: Iterable[Incident]) -> None:
        """Go on with those of an earlier watcher: they count for the hour they began in."""
        now_s, time_s = time.monotonic(), time.time()
        for incident in earlier:
            self.entries.append(incident)
            raised_s = min((alarm.raised_s for alarm in incident.alarms.values()), default=0.0)
            self._begun_s.append(now_s - max(time_s - raised_s, 0.0))

    def why_not(self, now_s: float) -> str:
        """Why another one cannot be begun; empty where it can."""
        self._begun_s = [at for at in self._begun_s if now_s - at < 3600]
        if len(self._begun_s) >= self.most_per_hour:
            return f"there were {len(self._begun_s)} incidents within an hour (--most-incidents)"
        return ""

    def begin(self, alarm: LiveAlarm, now_s: float) -> Incident:
        """A new one; the oldest that are closed go where there is no room."""
        self._begun_s.append(now_s)
        name = time.strftime("%Y%m%d-%H%M%S", time.localtime(alarm.raised_s))
        folder, number = self.folder / name, 1
        while folder.exists():
            number += 1
            folder = self.folder / f"{name}-{number}"
        with suppress(OSError):
            folder.mkdir(parents=True)
        incident = Incident(folder.name, folder, {alarm.number: alarm})
        self.entries.append(incident)
        return incident

    def make_room(self) -> bool:
        """Keep to the quota; whether there is room for another recording."""
        while size_of(self.folder.parent) > self.quota_bytes:
            # One that is closed may still be compared.
            over = (
                incident
                for incident in self.entries
                if incident.is_concluded and not incident.is_open
            )
            old = next((incident for incident in over if incident.folder.is_dir()), None)
            if old is None:
                return False
            remove_folder(old.folder)
            self.entries.remove(old)
            self.removed += 1
        return True


def linked_copy(source: Path, target: Path) -> None:
    """A folder whose files are those of another one; where that cannot be, copies of them.

    What was there goes: it may be files of other folders, too.
    """
    remove_folder(target)
    target.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.is_file():
            try:
                os.link(path, target / path.name)
            except OSError:
                shutil.copy2(path, target / path.name)
