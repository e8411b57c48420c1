"""How a watched program does, or all whose watchers put their status in one place."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from timesink.answers.watch_status import is_gone, status_document
from timesink.errors import UnreadableError
from timesink.model import units
from timesink.output.blocks import Document, Section, Table
from timesink.output.numbers import column, table
from timesink.recorder.folder import RecordingFolder
from timesink.sources.places import place_of, without_password
from timesink.sources.watch_folder import (
    STATUS_FILE,
    STATUS_SCHEMA,
    WATCH_FILE,
    WatchStatus,
    checked,
    is_watch,
    shared_statuses,
    told_values,
    told_watch,
)

_WRITES_US = 3_000_000
"""A watcher that runs has written since then."""


def status_of(place: str) -> dict[str, Any]:
    """The status of a watch folder; of a place of many, `hosts` with each of them."""
    where = place_of(place)
    if isinstance(where, Path):
        if where.exists() and not where.is_dir():
            hint = f"name its folder:  timesink watch status {where.parent}"
            raise UnreadableError(f"{place}: a file; status takes the folder of a watch", hint)
        if not where.is_dir():
            raise UnreadableError.missing(place)
        if is_watch(where):
            about, status = told_values(where / WATCH_FILE), told_values(where / STATUS_FILE)
            is_here = RecordingFolder(where).recorder() is not None
            status = _marked(status, is_here=is_here, file=str(where / STATUS_FILE))
            return {**status, "watch": about}
        if (where / STATUS_FILE).exists():
            told_values(where / STATUS_FILE)
            why = "damaged, or not of a watcher" if (where / WATCH_FILE).exists() else "missing"
            raise UnreadableError(
                f"{where / WATCH_FILE}: {why}, so this is no folder of a watch",
                "name the folder of  timesink watch -o DIR, or the place of --summary",
            )
    every = shared_statuses(place)
    hosts = {name: _marked(status, file=f"{name}.json") for name, status in every}
    if not hosts:
        raise UnreadableError(
            f"{without_password(place)}: nothing is watched there",
            "name the folder of  timesink watch -o DIR, or the place of --summary",
        )
    return {"schema": STATUS_SCHEMA, "hosts": hosts}


def _marked(
    status: dict[str, Any], *, is_here: bool = True, file: str = STATUS_FILE
) -> dict[str, Any]:
    """Whether a watcher ended without saying so: its process, where that was here, is no more."""
    told, now_us = checked(status, WatchStatus, file), time.time_ns() // 1000
    is_silent = told.state != "ended" and now_us - told.time_us > _WRITES_US
    return {**status, "gone": is_gone(told, now_us) or (is_silent and not is_here)}


def place_document(place: str, found: dict[str, Any]) -> Document:
    """What `status_of` a place says, for people."""
    shown = without_password(place)
    if "hosts" not in found:
        _, series, folders = told_watch(Path(place_of(place)))
        now_us = time.time_ns() // 1000
        return status_document(found, series, now_us=now_us, folders=folders, subject=shown)
    hosts = {name: checked(one, WatchStatus, STATUS_FILE) for name, one in found["hosts"].items()}
    return Document(
        "watch", f"timesink: {shown}", shown, _of_all(hosts),
        sections=(Section("hosts", "Watchers", (_table(hosts),)),),
    )  # fmt: skip


def _of_all(hosts: dict[str, WatchStatus]) -> str:
    slow = sum(one.state == "alarm" for one in hosts.values())
    incidents = [each for one in hosts.values() for each in one.incidents[::-1]]
    rank = next((one.slow_rank for one in incidents if one.slow_rank is not None), None)
    waits = "" if rank is None else f" The others wait for rank {rank}."
    return f"{units.counted(len(hosts), 'watchers')}, {slow or 'none'} with an alarm.{waits}"


def _table(hosts: dict[str, WatchStatus]) -> Table:
    rows = list(hosts.values())
    ranks = [[str(each.rank) for each in one.processes if each.rank is not None] for one in rows]
    causes = [one.incidents[-1].cause if one.incidents else None for one in rows]
    return table(
        "hosts",
        "",
        (
            column("name", "watcher", "text", list(hosts)),
            column("state", "state", "text", ["gone" if one.gone else one.state for one in rows]),
            column("ranks", "ranks", "text", [units.listed(one) or None for one in ranks]),
            column("cycles", "cycles", "count", [one.cycles for one in rows]),
            column("raised", "alarms", "count", [one.alarms.raised if one.alarms else 0
                                                 for one in rows]),
            column("cause", "last cause", "text", [one or None for one in causes]),
        ),
    )  # fmt: skip
