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
from timesink.formats.cycle_rows import read_cycle_rows
from timesink.watcher.expected.live import LiveJudge
from timesink.watcher.expected.model import learn_live, live_model_from
from timesink_lab.faults import FAULTS as LAB_FAULTS

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
    def lab_fault(self) -> Any:
        return next((fault for fault in LAB_FAULTS if fault.name == self.lab), None)

    @property
    def causes(self) -> tuple[str, ...]:
        """Causes that are right; none: none is asked for."""
        return self.cause or (self.lab_fault.cause if self.lab_fault else ())

    @property
    def anomalies(self) -> tuple[str, ...]:
        return self.lab_fault.anomaly if self.lab_fault else ()

    @property
    def load(self) -> tuple[str, ...]:
        return self.lab_fault.load if self.lab_fault and self.strength is None else ()


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


def _time_us(fields: Mapping[str, Any], name: str) -> float | None:
    for unit, factor in (("_us", 1.0), ("_s", 1e6)):
        if fields.get(name + unit) is not None:
            return factor * float(fields[name + unit])
    return None


def alarms_of(watch: Path) -> list[Alarm]:
    """Every alarm; incidents know when it ended."""
    alarms = [alarm for incident in incidents_of(watch) for alarm in incident.get("alarms") or ()]
    ends = {alarm["number"]: _time_us(alarm, "ended") for alarm in alarms}
    every = []
    for line in lines_of(watch / "alarms.jsonl"):
        if line.get("event") == "alarm":
            facts, told_us = line["alarm"], _time_us(line, "time") or 0.0
            raised = _time_us(facts, "raised") or told_us
            since = _time_us(facts, "since") or raised
            every.append(Alarm(since, raised, ends.get(facts["number"]), told_us))
    return sorted(every, key=lambda alarm: alarm.raised_us)


def alarms_again(watch: Path, from_us: float) -> list[Alarm]:
    """Alarms of the rules of now, learned from the cycles that its model was learned from."""
    stored_model = live_model_from((watch / "model.json").read_bytes(), "model.json")
    rows, start_us = rows_of(watch), 1e6 * pl.col("start_ts")
    model = learn_live(rows.filter(start_us.is_between(*stored_model.learned_us)))
    judgement = LiveJudge(model).judge(rows.filter(start_us > from_us))
    ends = {alarm.number: _time_us(asdict(alarm), "ended") for alarm in judgement.ended}
    return [
        Alarm(
            1e6 * alarm.since_s, 1e6 * alarm.raised_s, ends.get(alarm.number), 1e6 * alarm.raised_s
        )
        for alarm in judgement.raised
    ]


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Every line of a file of JSON lines; none where there is no such file."""
    with suppress(OSError):
        return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return []


def incidents_of(watch: Path) -> list[dict[str, Any]]:
    """Every incident that was written."""
    return [
        json.loads(file.read_text()) for file in sorted(watch.glob("incidents/*/incident.json"))
    ]


def _names(causes: Any) -> list[str]:
    """Names of causes, the first one first."""
    return [
        str(cause.get("cause", cause) if isinstance(cause, dict) else cause)
        for cause in causes or ()
    ]


def rows_of(watch: Path) -> pl.DataFrame:
    """The cycles that were kept, in order of time."""
    files = [file for file in (watch / "cycles.old.csv", watch / "cycles.csv") if file.exists()]
    if not files:
        return pl.DataFrame()
    rows = pl.concat([read_cycle_rows(str(file)) for file in files], how="diagonal")
    return rows.filter(pl.col("start_ts").is_not_null()).sort("start_ts")


def cycles_of(watch: Path) -> tuple[np.ndarray, np.ndarray, list[tuple[Any, ...]]]:
    """Starts in us, durations in us, and what is alike about workloads."""
    rows = rows_of(watch)
    if not rows.height:
        return np.empty(0), np.empty(0), []
    key_columns = [column for column in ("forward_mode", "batch_size") if column in rows.columns]
    if "avg_input_length" in rows.columns and rows["avg_input_length"].n_unique() <= _FEW_LENGTHS:
        key_columns.append("avg_input_length")
    keys = rows.select(key_columns).rows() if key_columns else [()] * rows.height
    return 1e6 * rows["start_ts"].to_numpy(), rows["duration_us"].to_numpy(), keys


def slower_by(
    is_in: np.ndarray, is_healthy: np.ndarray, took: np.ndarray, keys: Sequence[tuple[Any, ...]]
) -> float | None:
    """How many times as long cycles took as healthy ones of the same batch size."""
    middle = _healthy_middles(is_healthy, took, keys)
    places = [row for row in np.flatnonzero(is_in) if keys[row] in middle]
    return median(took[row] / middle[keys[row]] for row in places) if places else None


def _healthy_middles(
    is_healthy: np.ndarray, took: np.ndarray, keys: Sequence[tuple[Any, ...]]
) -> dict[tuple[Any, ...], float]:
    healthy: dict[tuple[Any, ...], list[float]] = {}
    for place in np.flatnonzero(is_healthy):
        healthy.setdefault(keys[place], []).append(took[place])
    return {key: median(every) for key, every in healthy.items()}


def felt_us(
    notice: Noticed, starts: np.ndarray, took: np.ndarray, keys: Sequence[tuple[Any, ...]],
    is_healthy: np.ndarray,
) -> float:  # fmt: skip
    """When cycles began to be slow: loads beside a program take a moment to be one.

    That is the first of three cycles, one behind the other, that are slower by half of what the
    fault comes to, or by a tenth; of a fault in the cycle itself, when it was put in.  A slow
    loader is none of these: while it keeps up, no cycle waits.
    """
    put, slower = notice.put, notice.slower
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
    document = json.loads((folder / "truth.json").read_text())
    truth = Truth(**{**document, "puts": [Put(**fields) for fields in document["puts"]]})
    watch = folder / "watch"
    starts, took, keys = cycles_of(watch)
    # Cycles are judged as soon as they were learned, and better once more of them were.
    learned = [
        _time_us(entry, "time") or 0.0
        for entry in lines_of(watch / "alarms.jsonl")
        if entry.get("event") == "learned"
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
        notice = Noticed(put, truth.program, slower_by(is_in, is_healthy, took, keys))
        # What is raised once the next one has begun is of that one.
        behind_us = min(
            [
                put.end_us + settles,
                *(
                    other_put.begun_us
                    for other_put in truth.puts
                    if other_put.begun_us > put.begun_us
                ),
            ]
        )
        mine = [alarm for alarm in alarms if put.begun_us <= alarm.raised_us < behind_us]
        notice.was_open = any(
            alarm.raised_us < put.begun_us < (alarm.ended_us or truth.ended_us) for alarm in alarms
        )
        if FAULTS[put.fault].is_fault:
            claimed |= {id(alarm) for alarm in mine}
        if mine:
            notice.alarm = mine[0]
            onset_us = felt_us(notice, starts, took, keys, is_healthy)
            before = (starts >= onset_us) & (starts < mine[0].raised_us)
            notice.delay_cycles = int(before.sum())
            _judge_cause(notice, incidents, settles)
        faults.append(notice)
    false = [
        alarm for alarm in alarms if id(alarm) not in claimed and alarm.raised_us > judged_us > 0
    ]
    of_none = [
        incident for incident in incidents
        if (_time_us(incident, "raised") or 0) in {alarm.raised_us for alarm in false}
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


def _judge_cause(notice: Noticed, incidents: Sequence[Mapping[str, Any]], settles: float) -> None:
    put = notice.put

    def is_of_it(fields: Mapping[str, Any], name: str) -> bool:
        return put.begun_us <= (_time_us(fields, name) or 0) < put.end_us + settles

    recorded = [
        incident for incident in incidents if is_of_it(incident.get("recording") or {}, "started")
    ]
    raised = [
        incident
        for incident in incidents
        if any(is_of_it(alarm, "raised") for alarm in incident.get("alarms") or (incident,))
    ]
    best = (recorded or raised)[:1]
    if not best:
        notice.first = "no incident"
        notice.is_right = False if notice.planted.causes or notice.planted.anomalies else None
        return
    causes, anomalies = _names(best[0].get("causes")), _names(best[0].get("anomalies"))
    if notice.planted.causes:
        notice.first = (causes or [f"none ({(anomalies or ['-'])[0]})"])[0]
        notice.is_right = notice.first in notice.planted.causes
    else:
        notice.first = (causes or anomalies or ["none"])[0]
        wanted = notice.planted.anomalies
        notice.is_right = bool({*anomalies[:1], *causes[:1]} & {*wanted}) if wanted else None


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
    every = [notice for scored in runs for notice in scored.faults]
    for program, name in dict.fromkeys((notice.program, notice.put.fault) for notice in every):
        mine = [notice for notice in every if (notice.program, notice.put.fault) == (program, name)]
        rows.append([program, name, *_cells(mine)])
    fault_notices = [notice for notice in every if notice.planted.is_fault]
    if fault_notices:
        rows.append(["all", "faults", *_cells(fault_notices)])
    header = [
        "program", "fault", "times", "cycles slower", "alarm within 10 cycles", "alarm at all",
        "delay, cycles", "delay, s", "first cause right", "said", "closed after, s",
    ]  # fmt: skip
    text = markdown_table("", header, rows) if rows else ""
    run_rows = []
    for run in runs:
        hours, usage = run.healthy_s / 3600, run.status.get("own") or {}
        learned, alarms = run.status.get("learned") or {}, run.status.get("alarms") or {}
        rate = f"{len(run.false_alarms) / hours:.2f}" if hours else "-"
        run_rows.append([
            run.name, run.truth.program, str(run.cycles), f"{run.cycle_ms:.2f} ms",
            f"{learned.get('cycles', '-')} ({learned.get('error_pct') or 0:.1f} %)",
            f"{hours:.3f}", f"{len(run.false_alarms)} ({run.false_incidents})", rate,
            str(alarms.get("brief", "-")),
            str(run.status.get("dropped", "-")), str(run.status.get("outside", "-")),
            f"{usage.get('cpu_pct') or 0:.1f} %",
            f"{(usage.get('rss_bytes') or 0) / 2**20:.0f} MiB",
        ])  # fmt: skip
    hours = sum(run.healthy_s for run in runs) / 3600
    false = sum(len(run.false_alarms) for run in runs)
    header = [
        "run", "program", "cycles", "a cycle", "learned (error)", "healthy hours",
        "false alarms (incidents)", "per hour", "over at once", "rows lost", "outside",
        "watcher CPU", "watcher memory",
    ]  # fmt: skip
    text += "\n" + markdown_table("", header, run_rows)
    rate = f"{false / hours:.2f} per hour" if hours else "no healthy time"
    text += f"\n{false} false alarms in {hours:.3f} healthy hours: {rate}.\n"
    for run in runs:
        for alarm in run.false_alarms:
            at = (alarm.raised_us - run.truth.watching_us) / 1e6
            near = [put.fault for put in run.truth.puts
                    if put.begun_us <= alarm.raised_us < put.end_us + 1e6 * SETTLES_S]  # fmt: skip
            text += f"  false: {run.name}, {at:.1f} s after watching began {' '.join(near)}\n"
        if run.truth.left_out:
            text += f"  left out: {run.name}: {', '.join(run.truth.left_out)}\n"
        if run.truth.exit:
            text += f"  {run.name}: the watcher ended with exit {run.truth.exit}\n"
    return text


def _cells(mine: Sequence[Noticed]) -> list[str]:
    expected_notices = [notice for notice in mine if notice.is_asked]
    late = [notice for notice in mine if notice.alarm is not None and not notice.was_open]
    slower = [notice.slower for notice in mine if notice.slower is not None]
    if not mine[0].planted.is_fault:
        expected_notices = []
    closed = [
        (notice.alarm.ended_us - notice.put.end_us) / 1e6
        for notice in late
        if notice.alarm is not None and notice.alarm.ended_us
    ]
    before = sum(notice.was_open for notice in mine)
    causes = Counter(notice.first for notice in late if notice.first)
    return [
        f"{len(mine)}, {before} in alarm before" if before else str(len(mine)),
        f"x{median(slower):.2f}" if slower else "-",
        _share([notice.is_soon for notice in expected_notices])
        if expected_notices
        else "none asked",
        _share([notice.alarm is not None for notice in mine]),
        _middle([notice.delay_cycles for notice in late if notice.delay_cycles is not None]),
        _middle([max(0.0, notice.alarm.told_us - notice.put.onset_us) / 1e6
                 for notice in late if notice.alarm is not None]),
        _share([notice.is_right for notice in late if notice.is_right is not None]),
        ", ".join(f"{name} {many}" if many > 1 else name for name, many in causes.items()) or "-",
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
    slow = [(starts >= put.onset_us / 1e6) & (starts < put.end_us / 1e6) for put in puts]
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
    (watch / "alarms.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    incident = {
        "raised_us": begin + 100_060_000, "causes": [{"cause": "host_code"}],
        "alarms": [{"number": 1, "raised_s": at + 100.06, "ended_s": at + 120.5}],
    }  # fmt: skip
    (watch / "incidents" / "1" / "incident.json").write_text(json.dumps(incident))


def main() -> None:
    """Score the made-up run, and see that all figures are as they should be."""
    with tempfile.TemporaryDirectory() as place:
        made_up(Path(place))
        result = score(Path(place))
    stall, longer, busy = result.faults
    wanted = (6, True, True, "host_code", 1.5)
    actual = (stall.delay_cycles, stall.is_soon, stall.is_right, stall.first, stall.slower)
    if actual != wanted or longer.is_asked or busy.alarm or not busy.is_asked:
        raise SystemExit(f"the score is wrong: {actual} instead of {wanted}, {longer}, {busy}")
    if len(result.false_alarms) != 1 or not 525 < result.healthy_s < 535:
        raise SystemExit(f"{result.false_alarms} false alarms in {result.healthy_s} s")
    print(tables([result]))


if __name__ == "__main__":
    main()
