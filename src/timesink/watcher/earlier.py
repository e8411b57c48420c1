"""What an earlier watcher of the same folder left: its references and incidents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from timesink.analyses.expected.live import LiveAlarm
from timesink.sources.watch_folder import INCIDENT_FILE
from timesink.watcher.incidents import CLOSED, Incident
from timesink.watcher.journal import removed
from timesink.watcher.references import EARLY, Reference, kind_of

_UNREADABLE = (OSError, ValueError, TypeError, KeyError, msgspec.ValidationError)


def earlier_references(folder: Path) -> Iterator[Reference]:
    """Recordings of healthy cycles; what was not finished goes."""
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        try:
            told = json.loads((place / "workload.json").read_bytes())
            phase, workload = str(told["phase"]), dict(told["workload"])
            kind = kind_of(phase, workload) if phase else EARLY
            one = Reference(place.name, place, phase, kind, workload, int(told["taken_us"]))
        except _UNREADABLE:
            removed(place)
            continue
        yield one


def earlier_incidents(folder: Path) -> Iterator[Incident]:
    """Incidents, so that they are shown and count for the quota; none is open any more."""
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        with suppress(*_UNREADABLE):
            file = place / INCIDENT_FILE
            told: dict[str, Any] = json.loads(file.read_bytes())
            alarms = msgspec.convert(told["alarms"], list[LiveAlarm])
            if told["ended_us"] is None:
                told |= {"state": CLOSED, "ended_us": file.stat().st_mtime_ns // 1000}
                told["remarks"] = [*told["remarks"], "The watcher ended before it was over."]
                beside = file.with_name(f".{file.name}.new")
                beside.write_text(json.dumps(told))
                beside.replace(file)
            known = {one.number: one for one in alarms}
            compared = {name: told.get(name) for name in ("cause", "slow_rank", "verdict")}
            yield Incident(
                place.name, place, known, compared=compared, wants_recording=False,
                ended_us=int(told["ended_us"]), is_concluded=True,
            )  # fmt: skip
