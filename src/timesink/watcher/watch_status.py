"""How watched programs do, for people: one, or all of a run of many hosts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from timesink.errors import UnreadableError
from timesink.model import units
from timesink.output.blocks import Document, Facts, Section, Table, Text
from timesink.output.numbers import column, table
from timesink.sources.places import is_url, place_of, without_password
from timesink.watcher.journal import STATUS_SCHEMA, WatchFolder
from timesink.watcher.notices import summaries

KILLED = "killed"
_SILENT_S = 30.0


def status_of(place: str) -> dict[str, Any]:
    """The status of a watch folder; of a place of many, `hosts` with each of them."""
    if not is_url(place_of(place)):
        folder = WatchFolder(Path(place))
        if not folder.folder.is_dir():
            raise UnreadableError.missing(place)
        if (folder.folder / "watch.json").exists():
            return _of_folder(folder)
    hosts = {}
    for name, content in summaries(place):
        found = _decoded(content)
        if found is not None:
            hosts[name] = _marked(found, is_running=None)
    if not hosts:
        raise UnreadableError(
            f"{without_password(place)}: nothing is watched there",
            "name the folder of  timesink watch -o DIR, or the place of --summary",
        )
    return {"schema": STATUS_SCHEMA, "hosts": hosts}


def _of_folder(folder: WatchFolder) -> dict[str, Any]:
    watch = folder.told("watch.json")
    found = folder.told("status.json")
    is_running = folder.place.recorder() is not None
    return {**_marked(found, is_running=is_running), "watch": watch}


def _decoded(content: bytes) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(content)
    except msgspec.DecodeError:
        return None
    is_one = isinstance(found, dict) and found.get("schema") == STATUS_SCHEMA
    return found if is_one else None


def _marked(found: dict[str, Any], *, is_running: bool | None) -> dict[str, Any]:
    """A watcher that ended without saying so was killed."""
    silent_s = time.time() - found["time_us"] / 1e6
    is_gone = silent_s > _SILENT_S if is_running is None else not is_running
    if is_gone and found["state"] != "ended":
        return {**found, "state": KILLED}
    return found


def status_document(place: str, found: dict[str, Any]) -> Document:
    """The status as blocks that every writer serves."""
    title = f"timesink: {without_password(place)}"
    if "hosts" in found:
        return Document("watch", title, place, _of_all(found["hosts"]), sections=(
            Section("hosts", "Watchers", (_hosts(found["hosts"]),)),
        ))  # fmt: skip
    sections = [
        Section("phases", "Cycles of the last 10 seconds", (_phases(found),)),
        Section("incidents", "Incidents", (_incidents(found),)),
        Section("facts", "The watch", (Facts(tuple(_facts(found))), *_remarks(found))),
    ]
    return Document(
        "watch", title, place, headline(found), sections=tuple(sections),
        tone="bad" if found["state"] == "alarm" else "plain",
    )  # fmt: skip


def headline(found: dict[str, Any]) -> str:
    """The status in a sentence."""
    alarms, learned = found["alarms"], found["learned"]
    raised = units.counted(alarms["raised"], "alarms") if alarms["raised"] else "no alarm"
    seen = f"{units.counted(found['cycles'], 'cycles')}, {raised}"
    if found["state"] == "alarm":
        one = alarms["open"][0]
        longer = units.more(one["expected_us"], one["observed_us"], "", time=True)
        return f"Cycles of {one['stream']} ({one['phase']}) take {longer} than expected. {seen}."
    said: dict[str, str] = {
        "waiting": "No cycle was seen yet.",
        "learning": f"Learning: {learned['cycles']} of {learned['of']} cycles.",
        "watching": f"Cycles take what is expected. {seen}.",
        "off": f"Watching was switched off. {seen}.",
        "ended": f"The program has ended. {seen}.",
        KILLED: f"The watcher was killed; the program may go on. Until then {seen}.",
    }
    return said[found["state"]]


def _phases(found: dict[str, Any]) -> Table:
    rows = found["phases"]

    def times(name: str) -> list[float | None]:
        return [None if one[name] is None else 1e3 * one[name] for one in rows]

    return table(
        "phases",
        "",
        (
            column("phase", "phase", "text", [one["phase"] for one in rows]),
            column("cycles", "cycles", "count", [one["cycles"] for one in rows]),
            column("observed", "observed", "time_ns", times("observed_us")),
            column("expected", "expected", "time_ns", times("expected_us")),
            column("limit", "limit", "time_ns", times("limit_us")),
        ),
        note="" if rows else "No cycle came.",
    )


def _incidents(found: dict[str, Any]) -> Table:
    rows = found["incidents"][::-1]
    return table(
        "incidents",
        "",
        (
            column("id", "incident", "text", [one["id"] for one in rows]),
            column("state", "state", "text", [one["state"] for one in rows]),
            column("phase", "phase", "text", [one["phase"] for one in rows], spare=1),
            column("expected", "expected", "time_ns", [1e3 * one["expected_us"] for one in rows]),
            column("observed", "observed", "time_ns", [1e3 * one["observed_us"] for one in rows]),
            column("lost", "lost", "time_ns", [1e3 * one["lost_us"] for one in rows]),
            column("cause", "cause", "text", [one["cause"] or None for one in rows]),
        ),
        note="" if rows else "There was none.",
    )


def _facts(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "state", found["state"]
    yield "cycles", units.count(found["cycles"])
    if found["dropped"]:
        yield "not told", units.count(found["dropped"])
    if found["outside"]:
        yield "unlike what was learned", units.count(found["outside"])
    learned = found["learned"]
    if learned["kind"]:
        error = f", median error {learned['error_pct']:.2g} %" if learned["error_pct"] else ""
        yield "learned", f"{learned['kind']}, {units.counted(learned['cycles'], 'cycles')}{error}"
    for one in found["processes"][:8]:
        rank = f"rank {one['rank']}, " if one["rank"] is not None else ""
        yield f"process {one['pid']}", f"{rank}{one['source']}, {units.count(one['cycles'])} cycles"
    yield "references", units.count(len(found["references"]))
    own = found["own"]
    if own["cpu_pct"] is not None and own["rss_bytes"]:
        size = units.size_bytes(own["rss_bytes"])
        yield "the watcher takes", f"{own['cpu_pct']:.1f} % of a core, {size}"


def _remarks(found: dict[str, Any]) -> Iterator[Text]:
    for text in found["remarks"]:
        yield Text(text)
    why = found["recorder"]["why_not"]
    if why:
        yield Text(f"Last time nothing was recorded: {why}.")


# Many hosts.


def _of_all(hosts: dict[str, Any]) -> str:
    slow = [name for name, one in hosts.items() if one["state"] == "alarm"]
    ranks = [rank for one in hosts.values() for rank in _slow_ranks(one)]
    text = f"{units.counted(len(hosts), 'watchers')}, {len(slow) or 'none'} with an alarm."
    if ranks:
        text += f" The others wait for rank {ranks[0]}."
    return text


def _slow_ranks(one: dict[str, Any]) -> list[int]:
    found = (incident.get("slow_rank") for incident in one["incidents"][::-1])
    return [rank for rank in found if rank is not None]


def _hosts(hosts: dict[str, Any]) -> Table:
    rows = list(hosts.values())
    ranks = [
        ", ".join(str(each["rank"]) for each in one["processes"][:8] if each["rank"] is not None)
        for one in rows
    ]
    return table(
        "hosts",
        "",
        (
            column("name", "watcher", "text", list(hosts)),
            column("state", "state", "text", [one["state"] for one in rows]),
            column("ranks", "ranks", "text", [one or None for one in ranks]),
            column("cycles", "cycles", "count", [one["cycles"] for one in rows]),
            column("raised", "alarms", "count", [one["alarms"]["raised"] for one in rows]),
            column(
                "cause", "last cause", "text",
                [(one["incidents"] or [{}])[-1].get("cause") or None for one in rows],
            ),
        ),
    )  # fmt: skip
