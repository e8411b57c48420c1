"""A watched program as its watcher last told of it, as a document for a page and a terminal."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any

from timesink.answers.views import listed_table
from timesink.errors import UnreadableError
from timesink.model import units
from timesink.output.blocks import (
    Block,
    Curve,
    Curves,
    Document,
    Facts,
    Mark,
    Section,
    Table,
    Text,
    Tile,
    Tiles,
    Tone,
)
from timesink.output.numbers import finite_or_none
from timesink.recorder.folder import RecordingFolder
from timesink.sources.places import place_of, without_password
from timesink.sources.watch_folder import (
    SERIES_FILE,
    STATUS_FILE,
    STATUS_SCHEMA,
    WATCH_FILE,
    Amount,
    IncidentFolder,
    LearnedSoFar,
    ToldIncident,
    WatchSeries,
    WatchStatus,
    check_values,
    cycles_of,
    is_watch,
    shared_statuses,
    told_values,
    told_watch,
)

GONE_US = 10_000_000
"""A status is written every second: an older one has no writer."""
_MAX_INCIDENTS, _MAX_CURVES, _MAX_MARKS = 50, 8, 12
_APART_S = 10
_LONG_AGO_S = 10**9
"""No program is watched as long as this: seconds beyond it count from 1970."""
_SECOND_US, _DAY_S = 1_000_000, 86_400
_OF_INCIDENT = ("id", "state", "cause", "phase")
_TIMES_OF_INCIDENT = ("lost", "expected", "observed")
_CURVES = ("observed", "slowest", "expected", "limit")
_TONES: Mapping[str, Tone] = {"watching": "good", "alarm": "bad", "off": "notice"}


def is_gone(status: WatchStatus, now_us: int) -> bool:
    """Whether nobody watches any more, though nobody said so."""
    return status.state != "ended" and (status.gone or now_us - status.time_us > GONE_US)


def status_document(
    status: dict[str, Any],
    series: dict[str, Any] | None,
    *,
    now_us: int,
    folders: Mapping[str, IncidentFolder] | None = None,
    subject: str = "",
) -> Document:
    """What a watcher says, `status.json` and `series.json`, at a moment.

    `folders` are those of incidents, where they can be looked into.

    >>> told = {"state": "learning", "time_us": 0, "learned": {"cycles": 412, "of": 1000}}
    >>> status_document(told, None, now_us=0).headline
    'Learning what cycles take: 412 of 1 000.'
    """
    now = check_values(status, WatchStatus, STATUS_FILE)
    remarks = list(now.remarks)
    drawn = None
    try:
        drawn = None if series is None else check_values(series, WatchSeries, SERIES_FILE)
    except UnreadableError as error:
        remarks.append(error.message)
    gone = is_gone(now, now_us)
    sections = (
        Section("now", "Now", tuple(_now(now, remarks))),
        Section("incidents", "Incidents", tuple(_incidents(now, folders or {}))),
        Section("latency", "Step time and what is expected", tuple(_latency(now, drawn))),
        Section("workload", "Workload", tuple(_amounts(now.workload))),
        Section("counters", "Counters", tuple(_amounts(now.counters))),
        Section("over-time", "Workload and counters over time", tuple(_over_time(drawn)),
                medium="page"),
        Section("watcher", "The watcher", tuple(_watcher(now))),
    )  # fmt: skip
    return Document(
        "watch",
        f"timesink: {subject or 'watch'}",
        subject or "a watched program",
        f"{_gone(now, now_us)} Its last status: {_headline(now)}" if gone else _headline(now),
        sections=tuple(section for section in sections if section.blocks),
        tone="warning" if gone else _TONES.get(now.state, "plain"),
    )


def _gone(now: WatchStatus, now_us: int) -> str:
    return f"The watcher has ended: its last status is {_long(now_us - now.time_us)} old."


def _headline(now: WatchStatus) -> str:
    """The answer in a sentence."""
    learned, seen = now.learned or LearnedSoFar(), units.count_noun(now.cycles, "steps")
    incidents = (
        units.count_noun(len(now.incidents), "incidents") if now.incidents else "no incident"
    )
    if now.state == "alarm":
        return _alarm(now)
    if now.state == "learning":
        if learned.of and learned.cycles >= learned.of:
            left = learned.seconds_left
            waits = f"{left:.0f} s left (--learn-seconds)" if left else "making the model"
            return f"Learning step times: {units.count_noun(learned.cycles, 'steps')}, {waits}."
        of = f" of {units.count(learned.of)}" if learned.of else ""
        return f"Learning step times: {units.count(learned.cycles)}{of} steps."
    elapsed = "" if now.started_us is None else f" after {_long(now.time_us - now.started_us)}"
    sentences = {
        "waiting": "Waiting for the first step.",
        "watching": f"Step times are as expected: {seen}, {incidents}.",
        "off": f"Watching was switched off after {seen}, {incidents}.",
        "ended": f"The program ended{elapsed}{_exit(now)}: {seen}, {incidents}.",
    }
    return sentences.get(now.state, f"{now.state.capitalize()}: {seen}, {incidents}.")


def _exit(now: WatchStatus) -> str:
    """How, where that is not as usual."""
    if now.exit is None or not (now.exit.signal or now.exit.code):
        return ""
    return f" by {now.exit.signal}" if now.exit.signal else f" with code {now.exit.code}"


def _alarm(now: WatchStatus) -> str:
    opened = now.alarms.open if now.alarms else ()
    judged = [alarm for alarm in opened if alarm.expected_us and alarm.observed_us is not None]
    if not judged:
        return "Steps take longer than expected."
    worst = max(judged, key=lambda alarm: alarm.lost_us or 0)
    took, expected = 1e3 * (worst.observed_us or 0), 1e3 * (worst.expected_us or 0)
    slow = cycles_of(worst.phase, worst.stream)
    lasted_us = math.nan if worst.since_s is None else now.time_us - 1e6 * worst.since_s
    since = f", for {_long(lasted_us)}" if math.isfinite(lasted_us) else ""
    more = len(opened) - 1
    further = f" {units.count_noun(more, 'further alarms')} {'is' if more == 1 else 'are'} open."
    return (
        f"{slow[0].upper()}{slow[1:]} take {units.brief_ns(took)} "
        f"instead of {units.brief_ns(expected)} ({units.change(expected, took)}){since}."
        f"{further if more else ''}"
    )


def _now(now: WatchStatus, remarks: Sequence[str]) -> Iterator[Block]:
    learned, alarms = now.learned, now.alarms
    tiles = [Tile("steps", now.cycles, "count", "steps of the program so far")]
    if now.state == "learning" and learned is not None and learned.of:
        share = min(1.0, learned.cycles / learned.of)
        tiles.append(Tile("learned", share, "share", "of the steps to learn from", share))
    lost = sum(incident.lost_us or 0 for incident in now.incidents)
    still = sum(incident.state == "open" for incident in now.incidents)
    tiles += [
        Tile("alarms", alarms.raised if alarms else 0, "count", "raised so far"),
        Tile("open incidents", still, "count", "still open", None,
             "bad" if still else "plain", "incidents"),
        Tile("lost", 1e3 * lost, "time_ns", "in all incidents, beyond the expected time"),
        Tile("not learned", now.outside, "count",
             "steps whose workload was not learned: no expected time"),
    ]  # fmt: skip
    if alarms is not None and alarms.brief:
        why = "slowdowns of about a second or less: no alarm"
        tiles.append(Tile("brief", alarms.brief, "count", why))
    if now.dropped:
        why = "steps the watcher missed because it was too slow"
        tiles.append(Tile("dropped", now.dropped, "count", why, None, "notice"))
    yield Tiles(tuple(tiles))
    if now.recorder is not None and now.recorder.on:
        yield Text("A recording is being made: steps are slower and raise no alarm.", "notice")
    elif now.recorder is not None and now.recorder.why_not:
        yield Text(f"Not recorded: {now.recorder.why_not}", "notice")
    for remark in remarks:
        yield Text(remark, "notice")


def _incidents(now: WatchStatus, folders: Mapping[str, IncidentFolder]) -> Iterator[Block]:
    if not now.incidents:
        return
    latest = sorted(now.incidents, key=lambda incident: -(incident.since_us or 0))
    rows = latest[:_MAX_INCIDENTS]
    has = [folders.get(incident.id) for incident in rows]
    reports = ["report" if folder is not None and folder.report else None for folder in has]
    values = {
        **{name: [getattr(incident, name) or None for incident in rows] for name in _OF_INCIDENT},
        "slower": map(_slower, rows),
        "since": [_time(incident.since_us) for incident in rows],
        "lasted": [_incident_length(incident, now) for incident in rows],
        **{
            name: [_ns(getattr(incident, f"{name}_us")) for incident in rows]
            for name in _TIMES_OF_INCIDENT
        },
        "report": reports if any(reports) else None,
    }
    yield listed_table("watch-incidents", "incidents", "", rows, values, total_rows=len(latest))
    for folder in filter(None, has):
        for remark in () if folder.pair else folder.remarks:
            yield Text(f"{folder.id}: {remark}")


def _latency(now: WatchStatus, drawn: WatchSeries | None) -> Iterator[Block]:
    if now.phases:
        every = now.phases
        cycles = {
            "phase": [phase.phase or "all" for phase in every],
            "observed": [_ns(phase.observed_us) for phase in every],
            "expected": [_ns(phase.expected_us) for phase in every],
            "limit": [_ns(phase.limit_us) for phase in every],
            "lasting": [_ns(phase.lasting_us) for phase in every],
            "residual": [phase.residual_pct for phase in every],
        }
        yield listed_table("watched-phases", "phases", "", every, cycles)
    if drawn is None:
        return
    midnight_us = _midnight_us(drawn.started_us)
    marks = _marks(drawn, midnight_us)
    for phase, curve in drawn.phases.items():
        values_us = (curve.observed_us, curve.slowest_us, curve.expected_us, curve.limit_us)
        columns = [_scale(values, len(curve.t_s), 1e3) for values in values_us]
        rows = _join_series(curve.t_s, columns)
        if not rows:
            continue
        t_s, *values = zip(*rows, strict=True)
        # While it learns nothing is expected.
        drawn_as = zip(_CURVES, values, strict=True)
        yield Curves(
            f"latency-{phase}",
            phase or "all steps",
            "time_ns",
            _moments(drawn, t_s, midnight_us),
            tuple(
                Curve(name, curve, "band" if name == _CURVES[-1] else "line")
                for name, curve in drawn_as
                if any(value is not None for value in curve)
            ),
            marks,
            from_zero=False,
            of_day=True,
        )


def _join_series(
    t_s: Sequence[float], columns: Sequence[Sequence[Amount]]
) -> list[tuple[Any, ...]]:
    """Rows in which something is known: lines go from one to the next, unless that is long after.

    >>> _join_series((0, 1, 2, 50), [(7, None, 7, 8)])
    [(0, 7), (2, 7), (3, None), (50, 8)]
    """
    rows: list[tuple[Any, ...]] = []
    for t, *values in zip(t_s, *columns, strict=True):
        if all(value is None for value in values):
            continue
        if rows and t - rows[-1][0] > _APART_S:
            rows.append((rows[-1][0] + 1, *[None] * len(values)))
        rows.append((t, *values))
    return rows


def _marks(drawn: WatchSeries, midnight_us: int) -> tuple[Mark, ...]:
    """Where alarms began and ended, the latest."""
    marks = []
    for alarm in drawn.alarms[-_MAX_MARKS:]:
        marks.append(Mark(1e3 * (alarm.since_us - midnight_us), "alarm"))
        if alarm.ended_us is not None:
            marks.append(Mark(1e3 * (alarm.ended_us - midnight_us), "over"))
    return tuple(marks)


def _amounts(amounts: Mapping[str, Amount]) -> Iterator[Block]:
    if amounts:
        every = amounts.items()
        yield Facts(
            tuple((name, "-" if amount is None else units.digits(amount)) for name, amount in every)
        )


def _over_time(drawn: WatchSeries | None) -> Iterator[Block]:
    """A curve for each amount that changed."""
    if drawn is None:
        return
    times = [time_s for time_s in drawn.workload.get("t_s", ()) if time_s is not None]
    every = {name: (times, values) for name, values in drawn.workload.items() if name != "t_s"}
    every |= {name: (list(counter.t_s), counter.value) for name, counter in drawn.counters.items()}
    changing = [
        (name, times, values)
        for name, (times, values) in every.items()
        if len({value for value in values if value is not None}) > 1
    ]
    midnight_us = _midnight_us(drawn.started_us)
    marks = _marks(drawn, midnight_us)
    for name, times, values in islice(changing, _MAX_CURVES):
        moments = _moments(drawn, times, midnight_us)
        curve = Curve(name, _scale(values, len(times), 1))
        yield Curves(f"over-time-{name}", "", "number", moments, (curve,), marks, of_day=True)
    more = len(changing) - _MAX_CURVES
    if more > 0:
        yield Text(f"{units.count(more)} more curves are in series.json.")


def _watcher(now: WatchStatus) -> Iterator[Block]:
    rows = [("last status", _time(now.time_us) or "-")]
    if now.started_us is not None:
        rows.append(("started", _time(now.started_us) or "-"))
    if now.own is not None:
        if now.own.cpu_pct is not None:
            rows.append(("CPU time of the watcher", f"{now.own.cpu_pct:.2g} % of a core"))
        if now.own.rss_bytes is not None:
            rows.append(("memory of the watcher", units.size_bytes(now.own.rss_bytes)))
        if now.own.judged_share is not None:
            rows.append(("steps checked", units.share(now.own.judged_share, 1)))
    rows += [] if now.learned is None else _learning_facts(now.learned)
    if now.references:
        names = [str(reference.get("name", "-") if isinstance(reference, dict) else reference)
                 for reference in now.references]  # fmt: skip
        rows.append(("reference recordings", units.join_names(names)))
    yield Facts(tuple(rows))
    if now.processes:
        every = now.processes
        values = {
            "pid": [str(process.pid) for process in every],
            "source": [o.source or None for o in every],
            "last": [_time(process.last_us) for process in every],
        }
        yield listed_table("watched-processes", "processes", "Processes", every, values)


def _learning_facts(learned: LearnedSoFar) -> Iterator[tuple[str, str]]:
    if learned.kind:
        yield "model", f"{learned.kind}, {units.count_noun(learned.cycles, 'steps')}"
    if learned.range_us is not None and all(learned.range_us):
        low, high = (1e3 * (end or 0) for end in learned.range_us)
        yield "step times while learning", units.range_ns(low, high)
    if isinstance(learned.error_pct, int | float):
        yield "median error of the model", f"{learned.error_pct:.2g} %"


def _moments(drawn: WatchSeries, t_s: Iterable[float], midnight_us: int) -> tuple[float, ...]:
    """Nanoseconds since midnight."""
    begin_us = drawn.started_us
    moments_us = (_SECOND_US * time_s + (0 if time_s > _LONG_AGO_S else begin_us) for time_s in t_s)
    return tuple(1e3 * (moment_us - midnight_us) for moment_us in moments_us)


def _scale(values: Sequence[Amount], length: int, by: float) -> tuple[Amount, ...]:
    """As many values as there are moments; what is missing is none."""
    scaled = [None if value is None else finite_or_none(by * value) for value in values[:length]]
    return (*scaled, *[None] * (length - len(scaled)))


def _incident_length(incident: ToldIncident, now: WatchStatus) -> Amount:
    ended_us = now.time_us if incident.ended_us is None else incident.ended_us
    return None if incident.since_us is None else 1e3 * max(0, ended_us - incident.since_us)


def _slower(incident: ToldIncident) -> Amount:
    if not incident.expected_us or incident.observed_us is None:
        return None
    return 100 * (incident.observed_us / incident.expected_us - 1)


def _ns(value_us: Amount) -> Amount:
    return None if value_us is None else 1e3 * value_us


def _long(value_us: float) -> str:
    """A while in words for people: whole seconds, minutes or hours."""
    seconds = max(0, round(value_us / _SECOND_US))
    for size, unit in ((_DAY_S, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _local(value_us: float) -> datetime:
    return datetime.fromtimestamp(value_us / 1e6, timezone.utc).astimezone()


def _time(value_us: Amount) -> str | None:
    """A moment on the clock of this machine; None where it is none."""
    try:
        return None if value_us is None else f"{_local(value_us):%F %T}"
    except (ValueError, OverflowError, OSError):
        return None


def _midnight_us(value_us: int) -> int:
    """When the day of a moment began here."""
    try:
        start = _local(value_us).replace(hour=0, minute=0, second=0, microsecond=0)
        return int(start.timestamp()) * _SECOND_US
    except (ValueError, OverflowError, OSError):
        return value_us


# -- of a watch folder, or of all watchers that put their status in one place ----------------------

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
            status = _status_fields(status, is_here=is_here, file=str(where / STATUS_FILE))
            return {**status, "watch": about}
        if (where / STATUS_FILE).exists():
            told_values(where / STATUS_FILE)
            why = "damaged, or not of a watcher" if (where / WATCH_FILE).exists() else "missing"
            raise UnreadableError(
                f"{where / WATCH_FILE}: {why}; this is not the folder of a watch",
                "name the folder of  timesink watch -o DIR, or the place of --summary",
            )
    every = shared_statuses(place)
    hosts = {name: _status_fields(status, file=f"{name}.json") for name, status in every}
    if not hosts:
        raise UnreadableError(
            f"{without_password(place)}: no watch in this folder",
            "name the folder of  timesink watch -o DIR, or the place of --summary",
        )
    return {"schema": STATUS_SCHEMA, "hosts": hosts}


def _status_fields(
    status: dict[str, Any], *, is_here: bool = True, file: str = STATUS_FILE
) -> dict[str, Any]:
    """Whether a watcher ended without saying so: its process, where that was here, is no more."""
    checked_status, now_us = check_values(status, WatchStatus, file), time.time_ns() // 1000
    is_silent = checked_status.state != "ended" and now_us - checked_status.time_us > _WRITES_US
    return {**status, "gone": is_gone(checked_status, now_us) or (is_silent and not is_here)}


def place_document(place: str, contents: dict[str, Any]) -> Document:
    """What `status_of` a place says, for people."""
    place_text = without_password(place)
    if "hosts" not in contents:
        _, series, folders = told_watch(Path(place_of(place)))
        now_us = time.time_ns() // 1000
        return status_document(contents, series, now_us=now_us, folders=folders, subject=place_text)
    hosts = {
        name: check_values(host_status, WatchStatus, STATUS_FILE)
        for name, host_status in contents["hosts"].items()
    }
    return Document(
        "watch", f"timesink: {place_text}", place_text, _of_all(hosts),
        sections=(Section("hosts", "Watchers", (_table(hosts),)),),
    )  # fmt: skip


def _of_all(hosts: dict[str, WatchStatus]) -> str:
    slow = sum(host_status.state == "alarm" for host_status in hosts.values())
    incidents = [
        incident for host_status in hosts.values() for incident in host_status.incidents[::-1]
    ]
    rank = next(
        (incident.slow_rank for incident in incidents if incident.slow_rank is not None), None
    )
    waits = "" if rank is None else f" The others wait for rank {rank}."
    return f"{units.count_noun(len(hosts), 'watchers')}, {slow or 'none'} with an alarm.{waits}"


def _table(hosts: dict[str, WatchStatus]) -> Table:
    rows = list(hosts.values())
    ranks = [
        [str(process.rank) for process in host_status.processes if process.rank is not None]
        for host_status in rows
    ]
    causes = [
        host_status.incidents[-1].cause if host_status.incidents else None for host_status in rows
    ]
    values = {
        "name": list(hosts),
        "state": ["gone" if host_status.gone else host_status.state for host_status in rows],
        "ranks": [units.join_names(rank_names) or None for rank_names in ranks],
        "raised": [host_status.alarms.raised if host_status.alarms else 0 for host_status in rows],
        "cause": [cause or None for cause in causes],
    }
    return listed_table("watchers", "hosts", "", rows, values)
