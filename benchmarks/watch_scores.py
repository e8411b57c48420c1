"""What a watcher made of faults that were put into its program (`watch_faults.py`), as tables.

python benchmarks/watch_scores.py      scores a made-up run, whose figures are known
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from tables import markdown_table
from timesink.analyses.expected.live import LiveJudge
from timesink.analyses.expected.model import learn_live, live_model_from
from timesink.formats.cycle_rows import read_cycle_rows
from timesink.lab.faults import FAULTS as LAB_FAULTS

ALL = ("train", "decode", "serve", "serve_own")


# Which faults there are, and what should be said about them.


@dataclass(frozen=True)
class Planted:
    """A fault, a load beside the program, or a larger workload, which is no fault."""

    lab: str = ""
    """The fault of `timesink lab` that is meant: its causes and its load are taken."""
    cause: tuple[str, ...] = ()
    strength: Callable[[float], float] | None = None
    """What the file of control says, by how many ms a cycle takes; None: a load."""
    is_fault: bool = True
    needs: str = ""
    programs: tuple[str, ...] = ALL
    is_at_once: bool = False
    """Whether every cycle is slower as soon as it is put in."""

    @property
    def known(self) -> Any:
        return next((one for one in LAB_FAULTS if one.name == self.lab), None)

    @property
    def causes(self) -> tuple[str, ...]:
        """Causes that are right; none: none is asked for."""
        return self.cause or (self.known.cause if self.known else ())

    @property
    def anomalies(self) -> tuple[str, ...]:
        return self.known.anomaly if self.known else ()

    @property
    def load(self) -> tuple[str, ...]:
        return self.known.load if self.known and self.strength is None else ()


FAULTS: Mapping[str, Planted] = {
    "python_stall": Planted(
        "python_stall", strength=lambda cycle_ms: max(2.0, 0.5 * cycle_ms), is_at_once=True
    ),
    "sync_inserted": Planted(
        "extra_sync",
        strength=lambda cycle_ms: max(16, round(4 * cycle_ms)),
        needs="gpu",
        is_at_once=True,
    ),
    "slow_loader": Planted(
        "slow_loader", strength=lambda cycle_ms: max(0.5, cycle_ms / 8), programs=("train",)
    ),
    # Who fills what it allocates also does more; without a device, host code is what allocates.
    "allocator_churn": Planted(
        cause=("allocator", "host_memory", "host_code"),
        strength=lambda _: 8,
        is_at_once=True,
    ),
    "longer_requests": Planted(strength=lambda _: 1.5, is_fault=False),
    "busy_cores": Planted("cpu_hog"),
    "device_products": Planted("gpu_neighbour", needs="gpu"),
    "link_copies": Planted("pcie_copies", needs="gpu"),
    "device_copies": Planted("hbm_copies", needs="gpu"),
    "disk_writes": Planted("disk_hog"),
}
TO_BE_NOTICED = 1.2
"""Cycles that take so many times as long have to be noticed soon; others may be, and later."""
SOON_CYCLES = 10
_FEW_LENGTHS = 4
"""Cycles are compared with healthy ones of the same length where there are so few lengths."""
SETTLES_S = 5.0
"""What a fault did may take so long to go: queues drain, processes end."""


@dataclass
class Put:
    """One fault: when, in us of Unix time."""

    fault: str
    begun_us: int
    """When whoever loads the machine was started."""
    onset_us: int
    end_us: int = 0
    strength: float = 0.0


@dataclass
class Truth:
    """What was done in one watched run."""

    program: str
    seed: int
    command: list[str]
    watching_us: int = 0
    ended_us: int = 0
    puts: list[Put] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    exit: int | None = None


# What came of it.


@dataclass(frozen=True)
class Alarm:
    """One alarm of the watcher, in us of Unix time."""

    since_us: float
    raised_us: float
    ended_us: float | None
    told_us: float
    """When the watcher said so."""


@dataclass
class Noticed:
    """What became of one fault."""

    put: Put
    program: str
    slower: float | None
    """Its cycles over healthy ones of the same workload."""
    alarm: Alarm | None = None
    delay_cycles: int | None = None
    first: str = ""
    """The first cause in the incident, or why there is none."""
    is_right: bool | None = None
    """None: no cause was asked for, or there was no alarm."""
    was_open: bool = False
    """Whether there was an alarm already when it began, so that nothing can be told."""

    @property
    def planted(self) -> Planted:
        return FAULTS[self.put.fault]

    @property
    def is_asked(self) -> bool:
        """Whether it has to be noticed."""
        is_slow = self.slower is None or self.slower >= TO_BE_NOTICED
        return self.planted.is_fault and is_slow and not self.was_open

    @property
    def is_soon(self) -> bool:
        return self.delay_cycles is not None and self.delay_cycles <= SOON_CYCLES


@dataclass
class Scored:
    """One watched run."""

    name: str
    truth: Truth
    faults: list[Noticed]
    false_alarms: list[Alarm]
    false_incidents: int
    healthy_s: float
    cycles: int
    cycle_ms: float
    status: Mapping[str, Any]


def _time_us(told: Mapping[str, Any], name: str) -> float | None:
    for unit, factor in (("_us", 1.0), ("_s", 1e6)):
        if told.get(name + unit) is not None:
            return factor * float(told[name + unit])
    return None


def alarms_of(watch: Path) -> list[Alarm]:
    """Every alarm; incidents know when it ended."""
    known = [alarm for one in incidents_of(watch) for alarm in one.get("alarms") or ()]
    ends = {alarm["number"]: _time_us(alarm, "ended") for alarm in known}
    every = []
    for line in lines_of(watch / "alarms.jsonl"):
        if line.get("event") == "alarm":
            facts, told_us = line["alarm"], _time_us(line, "time") or 0.0
            raised = _time_us(facts, "raised") or told_us
            since = _time_us(facts, "since") or raised
            every.append(Alarm(since, raised, ends.get(facts["number"]), told_us))
    return sorted(every, key=lambda one: one.raised_us)


def alarms_again(watch: Path, from_us: float) -> list[Alarm]:
    """Alarms of the rules of now, learned from the cycles that its model was learned from."""
    told = live_model_from((watch / "model.json").read_bytes(), "model.json")
    rows, start_us = rows_of(watch), 1e6 * pl.col("start_ts")
    model = learn_live(rows.filter(start_us.is_between(*told.learned_us)))
    found = LiveJudge(model).judge(rows.filter(start_us > from_us))
    ends = {one.number: _time_us(asdict(one), "ended") for one in found.ended}
    return [
        Alarm(1e6 * one.since_s, 1e6 * one.raised_s, ends.get(one.number), 1e6 * one.raised_s)
        for one in found.raised
    ]


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Every line of a file of JSON lines; none where there is no such file."""
    with suppress(OSError):
        return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return []


def incidents_of(watch: Path) -> list[dict[str, Any]]:
    """Every incident that was written."""
    return [json.loads(one.read_text()) for one in sorted(watch.glob("incidents/*/incident.json"))]


def _names(told: Any) -> list[str]:
    """Names of causes, the first one first."""
    return [str(one.get("cause", one) if isinstance(one, dict) else one) for one in told or ()]


def rows_of(watch: Path) -> pl.DataFrame:
    """The cycles that were kept, in order of time."""
    files = [one for one in (watch / "cycles.old.csv", watch / "cycles.csv") if one.exists()]
    if not files:
        return pl.DataFrame()
    rows = pl.concat([read_cycle_rows(str(one)) for one in files], how="diagonal")
    return rows.filter(pl.col("start_ts").is_not_null()).sort("start_ts")


def cycles_of(watch: Path) -> tuple[np.ndarray, np.ndarray, list[tuple[Any, ...]]]:
    """Starts in us, durations in us, and what is alike about workloads."""
    rows = rows_of(watch)
    if not rows.height:
        return np.empty(0), np.empty(0), []
    alike = [one for one in ("forward_mode", "batch_size") if one in rows.columns]
    if "avg_input_length" in rows.columns and rows["avg_input_length"].n_unique() <= _FEW_LENGTHS:
        alike.append("avg_input_length")
    keys = rows.select(alike).rows() if alike else [()] * rows.height
    return 1e6 * rows["start_ts"].to_numpy(), rows["duration_us"].to_numpy(), keys


def slower_by(
    is_in: np.ndarray, is_healthy: np.ndarray, took: np.ndarray, keys: Sequence[tuple[Any, ...]]
) -> float | None:
    """How many times as long cycles took as healthy ones of the same batch size."""
    middle = _healthy_middles(is_healthy, took, keys)
    places = [one for one in np.flatnonzero(is_in) if keys[one] in middle]
    return median(took[one] / middle[keys[one]] for one in places) if places else None


def _healthy_middles(
    is_healthy: np.ndarray, took: np.ndarray, keys: Sequence[tuple[Any, ...]]
) -> dict[tuple[Any, ...], float]:
    healthy: dict[tuple[Any, ...], list[float]] = {}
    for place in np.flatnonzero(is_healthy):
        healthy.setdefault(keys[place], []).append(took[place])
    return {key: median(every) for key, every in healthy.items()}


def felt_us(
    one: Noticed, starts: np.ndarray, took: np.ndarray, keys: Sequence[tuple[Any, ...]],
    is_healthy: np.ndarray,
) -> float:  # fmt: skip
    """When cycles began to be slow: loads beside a program take a moment to be one.

    That is the first of three cycles, one behind the other, that are slower by half of what the
    fault comes to, or by a tenth; of a fault in the cycle itself, when it was put in.  A slow
    loader is none of these: while it keeps up, no cycle waits.
    """
    put, slower = one.put, one.slower
    if FAULTS[put.fault].is_at_once or slower is None:
        return float(put.onset_us)
    least = 1 + min(0.1, (slower - 1) / 2)
    middle = _healthy_middles(is_healthy, took, keys)
    within = np.flatnonzero((starts >= put.onset_us) & (starts < put.end_us))
    is_slow = [keys[at] in middle and took[at] > least * middle[keys[at]] for at in within]
    for place in range(len(is_slow) - 2):
        if all(is_slow[place : place + 3]):
            return float(starts[within[place]])
    return float(put.onset_us)


def score(folder: Path, *, again: bool = False) -> Scored:
    """What the watcher made of the faults of one run, or would make of it by the rules of now."""
    told = json.loads((folder / "truth.json").read_text())
    truth = Truth(**{**told, "puts": [Put(**one) for one in told["puts"]]})
    watch = folder / "watch"
    starts, took, keys = cycles_of(watch)
    # Cycles are judged as soon as they were learned, and better once more of them were.
    learned = [
        _time_us(one, "time") or 0.0
        for one in lines_of(watch / "alarms.jsonl")
        if one.get("event") == "learned"
    ]
    judged_us = (max if again else min)(learned, default=truth.watching_us)
    alarms = alarms_again(watch, judged_us) if again else alarms_of(watch)
    incidents = incidents_of(watch)
    settles = 1e6 * SETTLES_S
    is_fault = np.zeros(len(starts), dtype=bool)
    for put in truth.puts:
        is_fault |= (starts >= put.begun_us) & (starts < put.end_us + settles)
    is_healthy = ~is_fault & (starts > judged_us) & (starts < truth.ended_us)
    faults, claimed = [], set()
    for put in truth.puts:
        is_in = (starts >= put.onset_us) & (starts < put.end_us)
        one = Noticed(put, truth.program, slower_by(is_in, is_healthy, took, keys))
        # What is raised once the next one has begun is of that one.
        behind_us = min(
            [
                put.end_us + settles,
                *(one.begun_us for one in truth.puts if one.begun_us > put.begun_us),
            ]
        )
        mine = [alarm for alarm in alarms if put.begun_us <= alarm.raised_us < behind_us]
        one.was_open = any(
            alarm.raised_us < put.begun_us < (alarm.ended_us or truth.ended_us) for alarm in alarms
        )
        if FAULTS[put.fault].is_fault:
            claimed |= {id(alarm) for alarm in mine}
        if mine:
            one.alarm = mine[0]
            onset_us = felt_us(one, starts, took, keys, is_healthy)
            before = (starts >= onset_us) & (starts < mine[0].raised_us)
            one.delay_cycles = int(before.sum())
            _judge_cause(one, incidents, settles)
        faults.append(one)
    false = [
        alarm for alarm in alarms if id(alarm) not in claimed and alarm.raised_us > judged_us > 0
    ]
    of_none = [
        one for one in incidents
        if (_time_us(one, "raised") or 0) in {alarm.raised_us for alarm in false}
    ]  # fmt: skip
    unhealthy = sum(
        put.end_us + settles - put.begun_us for put in truth.puts if FAULTS[put.fault].is_fault
    )
    watched = truth.ended_us - judged_us if judged_us else 0
    status: Mapping[str, Any] = {}
    with suppress(OSError, ValueError):
        status = json.loads((watch / "status.json").read_text())
    return Scored(
        folder.name, truth, faults, false, len(of_none), max(0.0, watched - unhealthy) / 1e6,
        # Of long runs the last cycles are kept, and all are counted.
        int(status.get("cycles", len(starts))),
        float(np.median(took)) / 1000 if len(took) else 0.0, status,
    )  # fmt: skip


def _judge_cause(one: Noticed, incidents: Sequence[Mapping[str, Any]], settles: float) -> None:
    put = one.put

    def is_of_it(told: Mapping[str, Any], name: str) -> bool:
        return put.begun_us <= (_time_us(told, name) or 0) < put.end_us + settles

    recorded = [each for each in incidents if is_of_it(each.get("recording") or {}, "started")]
    raised = [
        each
        for each in incidents
        if any(is_of_it(alarm, "raised") for alarm in each.get("alarms") or (each,))
    ]
    best = (recorded or raised)[:1]
    if not best:
        one.first = "no incident"
        one.is_right = False if one.planted.causes or one.planted.anomalies else None
        return
    causes, anomalies = _names(best[0].get("causes")), _names(best[0].get("anomalies"))
    if one.planted.causes:
        one.first = (causes or [f"none ({(anomalies or ['-'])[0]})"])[0]
        one.is_right = one.first in one.planted.causes
    else:
        one.first = (causes or anomalies or ["none"])[0]
        wanted = one.planted.anomalies
        one.is_right = bool({*anomalies[:1], *causes[:1]} & {*wanted}) if wanted else None


# Tables.


def _share(every: Sequence[bool]) -> str:
    return f"{sum(every)} of {len(every)}" if every else "-"


def _middle(values: Sequence[float]) -> str:
    if not values:
        return "-"
    most = f" (most {_short(max(values))})" if len(values) > 1 else ""
    return f"{_short(median(values))}{most}"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def tables(runs: Sequence[Scored]) -> str:
    """All there is to say, as Markdown."""
    rows = []
    every = [one for scored in runs for one in scored.faults]
    for program, name in dict.fromkeys((one.program, one.put.fault) for one in every):
        mine = [one for one in every if (one.program, one.put.fault) == (program, name)]
        rows.append([program, name, *_cells(mine)])
    asked = [one for one in every if one.planted.is_fault]
    if asked:
        rows.append(["all", "faults", *_cells(asked)])
    header = [
        "program", "fault", "times", "cycles slower", "alarm within 10 cycles", "alarm at all",
        "delay, cycles", "delay, s", "first cause right", "said", "closed after, s",
    ]  # fmt: skip
    found = markdown_table("", header, rows) if rows else ""
    own = []
    for one in runs:
        hours, told = one.healthy_s / 3600, one.status.get("own") or {}
        learned, alarms = one.status.get("learned") or {}, one.status.get("alarms") or {}
        rate = f"{len(one.false_alarms) / hours:.2f}" if hours else "-"
        own.append([
            one.name, one.truth.program, str(one.cycles), f"{one.cycle_ms:.2f} ms",
            f"{learned.get('cycles', '-')} ({learned.get('error_pct') or 0:.1f} %)",
            f"{hours:.3f}", f"{len(one.false_alarms)} ({one.false_incidents})", rate,
            str(alarms.get("brief", "-")),
            str(one.status.get("dropped", "-")), str(one.status.get("outside", "-")),
            f"{told.get('cpu_pct') or 0:.1f} %", f"{(told.get('rss_bytes') or 0) / 2**20:.0f} MiB",
        ])  # fmt: skip
    hours = sum(one.healthy_s for one in runs) / 3600
    false = sum(len(one.false_alarms) for one in runs)
    header = [
        "run", "program", "cycles", "a cycle", "learned (error)", "healthy hours",
        "false alarms (incidents)", "per hour", "over at once", "rows lost", "outside",
        "watcher CPU", "watcher memory",
    ]  # fmt: skip
    found += "\n" + markdown_table("", header, own)
    rate = f"{false / hours:.2f} per hour" if hours else "no healthy time"
    found += f"\n{false} false alarms in {hours:.3f} healthy hours: {rate}.\n"
    for one in runs:
        for alarm in one.false_alarms:
            at = (alarm.raised_us - one.truth.watching_us) / 1e6
            near = [put.fault for put in one.truth.puts
                    if put.begun_us <= alarm.raised_us < put.end_us + 1e6 * SETTLES_S]  # fmt: skip
            found += f"  false: {one.name}, {at:.1f} s after watching began {' '.join(near)}\n"
        if one.truth.left_out:
            found += f"  left out: {one.name}: {', '.join(one.truth.left_out)}\n"
        if one.truth.exit:
            found += f"  {one.name}: the watcher ended with exit {one.truth.exit}\n"
    return found


def _cells(mine: Sequence[Noticed]) -> list[str]:
    asked = [one for one in mine if one.is_asked]
    late = [one for one in mine if one.alarm is not None and not one.was_open]
    slower = [one.slower for one in mine if one.slower is not None]
    if not mine[0].planted.is_fault:
        asked = []
    closed = [
        (one.alarm.ended_us - one.put.end_us) / 1e6
        for one in late
        if one.alarm is not None and one.alarm.ended_us
    ]
    before = sum(one.was_open for one in mine)
    said = Counter(one.first for one in late if one.first)
    return [
        f"{len(mine)}, {before} in alarm before" if before else str(len(mine)),
        f"x{median(slower):.2f}" if slower else "-",
        _share([one.is_soon for one in asked]) if asked else "none asked",
        _share([one.alarm is not None for one in mine]),
        _middle([one.delay_cycles for one in late if one.delay_cycles is not None]),
        _middle([max(0.0, one.alarm.told_us - one.put.onset_us) / 1e6
                 for one in late if one.alarm is not None]),
        _share([one.is_right for one in late if one.is_right is not None]),
        ", ".join(f"{name} {many}" if many > 1 else name for name, many in said.items()) or "-",
        f"{_middle(closed)}; {len(late) - len(closed)} open" if len(closed) < len(late)
        else _middle(closed),
    ]  # fmt: skip


# A run that is made up.


def made_up(folder: Path) -> None:
    """Ten minutes of cycles of 10 ms, two faults, one of them missed, and one false alarm."""
    watch, begin = folder / "watch", 1_000_000_000
    (watch / "incidents" / "1").mkdir(parents=True)
    puts = [
        Put("python_stall", *(begin + 10**6 * second for second in (100, 100, 120)), 5.0),
        Put("longer_requests", *(begin + 10**6 * second for second in (200, 200, 220)), 1.5),
        Put("busy_cores", *(begin + 10**6 * second for second in (300, 301, 320)), 1.0),
    ]
    truth = Truth("train", 0, [], begin + 30 * 10**6, begin + 600 * 10**6, puts, [], 0)
    (folder / "truth.json").write_text(json.dumps(asdict(truth)))
    starts = begin / 1e6 + np.arange(60_000) / 100
    slow = [(starts >= one.onset_us / 1e6) & (starts < one.end_us / 1e6) for one in puts]
    took = 10_000.0 * np.where(slow[0], 1.5, 1.0) * np.where(slow[2], 2.0, 1.0)
    pl.DataFrame({"job_name": "1.0", "start_ts": starts, "duration_us": took}).write_csv(
        watch / "cycles.csv"
    )
    at = begin / 1e6
    lines = [
        {"event": "learned", "time_us": begin + 20_000_000},
        {"event": "alarm", "time_us": begin + 100_500_000,
         "alarm": {"number": 1, "since_s": at + 100.01, "raised_s": at + 100.06}},
        {"event": "incident", "time_us": begin + 100_500_000, "alarm": 1, "incident": "1"},
        {"event": "closed", "time_us": begin + 120_500_000, "incident": "1"},
        {"event": "alarm", "time_us": begin + 400_000_000,
         "alarm": {"number": 2, "since_s": at + 399.9, "raised_s": at + 400}},
    ]  # fmt: skip
    (watch / "alarms.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    incident = {
        "raised_us": begin + 100_060_000, "causes": [{"cause": "host_code"}],
        "alarms": [{"number": 1, "raised_s": at + 100.06, "ended_s": at + 120.5}],
    }  # fmt: skip
    (watch / "incidents" / "1" / "incident.json").write_text(json.dumps(incident))


def main() -> None:
    """Score the made-up run, and see that all figures are as they should be."""
    with tempfile.TemporaryDirectory() as place:
        made_up(Path(place))
        found = score(Path(place))
    stall, longer, busy = found.faults
    wanted = (6, True, True, "host_code", 1.5)
    told = (stall.delay_cycles, stall.is_soon, stall.is_right, stall.first, stall.slower)
    if told != wanted or longer.is_asked or busy.alarm or not busy.is_asked:
        raise SystemExit(f"the score is wrong: {told} instead of {wanted}, {longer}, {busy}")
    if len(found.false_alarms) != 1 or not 525 < found.healthy_s < 535:
        raise SystemExit(f"{found.false_alarms} false alarms in {found.healthy_s} s")
    print(tables([found]))


if __name__ == "__main__":
    main()
