"""Incidents: slow cycles from the first alarm to the end of the last, and what was found."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from timesink.analyses.expected.live import LiveAlarm
from timesink.model import units
from timesink.sources.watch_folder import INCIDENT_SCHEMA, cycles_of
from timesink.watcher.journal import removed, size_of
from timesink.watcher.references import Likeness

OPEN, CLOSED = "open", "closed"
SAME_S = 10.0
"""Alarms that follow each other so closely are one incident."""
_LISTS = ("causes", "anomalies", "edits", "notes")


@dataclass
class Incident:
    """Alarms that overlap, and one recording of what happens meanwhile."""

    id: str
    folder: Path
    alarms: dict[int, LiveAlarm]
    process: dict[str, Any] = field(default_factory=dict)
    likeness: Likeness | None = None
    recording: dict[str, Any] | None = None
    compared: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
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
        return round(1e6 * min(one.since_s for one in self.alarms.values()))

    @property
    def last_end_s(self) -> float | None:
        """When the last alarm ended; None while one goes on."""
        ends = [one.ended_s for one in self.alarms.values()]
        known = [one for one in ends if one is not None]
        return max(known) if len(known) == len(ends) else None

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
            removed(self.folder / name)
        self.recording, self.likeness, self.compared = None, None, {}
        self.recorded_as, self.wants_recording, self.is_to_repeat = None, True, False

    @property
    def cause(self) -> str:
        """The first cause of the comparison, in a sentence."""
        return str(self.compared.get("cause") or "")

    def remark(self, text: str) -> None:
        if text and text not in self.remarks:
            self.remarks.append(text)

    def brief(self) -> dict[str, Any]:
        """As the status shows it."""
        one = self.first
        return {
            "id": self.id, "state": OPEN if self.is_open else CLOSED, "since_us": self.since_us,
            "ended_us": self.ended_us, "cause": self.cause, "phase": one.phase,
            "expected_us": one.expected_us, "observed_us": one.observed_us,
            "lost_us": sum(each.lost_us for each in self.alarms.values()),
            "folder": f"incidents/{self.id}", "slow_rank": self.compared.get("slow_rank"),
        }  # fmt: skip

    def told(self) -> dict[str, Any]:
        """The content of incident.json."""
        one, compared = self.first, self.compared
        return {
            "schema": INCIDENT_SCHEMA, **self.brief(), "stream": one.stream, **self.process,
            "workload": dict(one.workload), "raised_us": round(1e6 * one.raised_s),
            "cycles": sum(each.cycles for each in self.alarms.values()), "rule": one.rule,
            "alarms": [alarm_told(each) for each in self.alarms.values()],
            "reference": None if self.likeness is None else self.likeness.told(),
            "recording": self.recording,
            "verdict": compared.get("verdict"), "sentence": compared.get("headline"),
            **{name: compared.get(name) or [] for name in _LISTS},
            "cycle_time": compared.get("cycle_time"),
            "files": sorted(path.name for path in self.folder.glob("[!.]*")),
            "remarks": [*self.remarks, *(compared.get("remarks") or ())],
        }  # fmt: skip


def alarm_told(one: LiveAlarm) -> dict[str, Any]:
    """An alarm as JSON has it."""
    return {**asdict(one), "workload": dict(one.workload)}


def alarm_line(one: LiveAlarm) -> str:
    """An alarm in a line."""
    since = time.strftime("%H:%M:%S", time.localtime(one.since_s))
    longer = units.more(one.expected_us, one.observed_us, "", time=True)
    return (
        f"alarm {one.number}: {cycles_of(one.phase, one.stream)} take {longer}: "
        f"{units.brief_ns(1e3 * one.observed_us)} instead of "
        f"{units.brief_ns(1e3 * one.expected_us)}, since {since}"
    )


@dataclass
class Incidents:
    """All of a watched program, the last ones of which are kept."""

    folder: Path
    most_per_hour: int
    quota_bytes: int
    known: list[Incident] = field(default_factory=list)
    removed: int = 0
    _begun_s: list[float] = field(default_factory=list)

    @property
    def open(self) -> Incident | None:
        return next((one for one in reversed(self.known) if one.is_open), None)

    def take_over(self, earlier: Iterable[Incident]) -> None:
        """Go on with those of an earlier watcher: they count for the hour they began in."""
        now_s, time_s = time.monotonic(), time.time()
        for one in earlier:
            self.known.append(one)
            raised_s = min((each.raised_s for each in one.alarms.values()), default=0.0)
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
        one = Incident(folder.name, folder, {alarm.number: alarm})
        self.known.append(one)
        return one

    def make_room(self) -> bool:
        """Keep to the quota; whether there is room for another recording."""
        while size_of(self.folder.parent) > self.quota_bytes:
            # One that is closed may still be compared.
            over = (one for one in self.known if one.is_concluded and not one.is_open)
            old = next((one for one in over if one.folder.is_dir()), None)
            if old is None:
                return False
            removed(old.folder)
            self.known.remove(old)
            self.removed += 1
        return True


def linked_copy(source: Path, target: Path) -> None:
    """A folder whose files are those of another one; where that cannot be, copies of them.

    What was there goes: it may be files of other folders, too.
    """
    removed(target)
    target.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.is_file():
            try:
                os.link(path, target / path.name)
            except OSError:
                shutil.copy2(path, target / path.name)
