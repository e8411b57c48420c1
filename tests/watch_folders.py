"""Folders as `timesink watch` leaves them, in every state."""

from __future__ import annotations

import json
import math
import random
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import timesink

SECOND_US = 1_000_000
INCIDENT = "2-decode"


@dataclass
class WatchedProgram:
    """A server that was slow from a moment on, and what a watcher writes of it."""

    folder: Path
    state: str = "watching"
    seconds: int = 600
    """How long it is watched."""
    slow_from: int | None = None
    now_us: int = field(default_factory=lambda: time.time_ns() // 1000)
    incidents: list[dict[str, Any]] = field(default_factory=list)

    @property
    def started_us(self) -> int:
        return self.now_us - self.seconds * SECOND_US

    def write(self) -> WatchedProgram:
        """All files, as at this moment."""
        self.folder.mkdir(parents=True, exist_ok=True)
        about = {"schema": "timesink/watch/1", "command": ["python", "serve.py"], "options": {},
                 "started_us": self.started_us, "ended_us": None, "exit": None, "pid": 4242,
                 "timesink": timesink.__version__}  # fmt: skip
        self.put("watch.json", about)
        self.put("status.json", self.status())
        self.put("series.json", self.series())
        self.put("model.json", {"schema": "timesink/watch-live/1"})
        (self.folder / "cycles.csv").write_text("start_ts,duration_us\n0,24000\n")
        return self

    def put(self, name: str, values: dict[str, Any]) -> None:
        """A file, replaced whole as the watcher does."""
        new = self.folder / f".{name}.new"
        new.write_text(json.dumps(values))
        new.replace(self.folder / name)

    def with_incident(self, *, recorded: bool = True, state: str = "open") -> WatchedProgram:
        """An incident with both recordings and a report, or with why there are none."""
        self.state, self.slow_from = "alarm" if state == "open" else self.state, self.seconds - 60
        since_us = self.started_us + self.slow_from * SECOND_US
        place = self.folder / "incidents" / INCIDENT
        place.mkdir(parents=True)
        facts = {
            "id": INCIDENT, "state": state, "since_us": since_us,
            "ended_us": None if state == "open" else since_us + 45 * SECOND_US,
            "cause": "gpu_clock: the clock of the device fell" if recorded else None,
            "phase": "decode", "expected_us": 24_000.0, "observed_us": 31_200.0,
            "lost_us": 3_100_000.0, "folder": f"incidents/{INCIDENT}",
        }  # fmt: skip
        remarks = [] if recorded else ["no recording: another was made within 60 s"]
        about = {"schema": "timesink/incident/1", **facts, "remarks": remarks}
        (place / "incident.json").write_text(json.dumps(about))
        for side, sample in zip(("base", "new"), timesink.sample_runs(), strict=True):
            if recorded:
                (place / side).mkdir()
                shutil.copy(sample, place / side)
        if recorded:
            (place / "report.html").write_text("<!doctype html><title>report</title>Report")
        self.incidents.append(facts)
        return self.write()

    def status(self) -> dict[str, Any]:
        """What is in `status.json`."""
        is_slow = self.state == "alarm"
        observed = 31_200.0 if is_slow else 24_100.0
        alarm = {
            "number": 1, "stream": "4243.0", "phase": "decode", "rule": "lasting",
            "since_s": self.now_us / 1e6 - 60, "raised_s": self.now_us / 1e6 - 59,
            "ended_s": None, "cycles": 2400, "expected_us": 24_000.0, "observed_us": observed,
            "lost_us": 3_100_000.0, "workload": {"batch_size": 32.0},
        }  # fmt: skip
        learning = self.state == "learning"
        phases = [
            {"phase": "decode", "cycles": 400, "observed_us": observed, "expected_us": 24_000.0,
             "limit_us": 27_500.0, "residual_pct": 100 * (observed / 24_000 - 1)},
            {"phase": "prefill", "cycles": 12, "observed_us": 88_000.0, "expected_us": 86_500.0,
             "limit_us": 99_000.0, "residual_pct": 1.7},
        ]  # fmt: skip
        return {
            "schema": "timesink/watch-status/1",
            "state": self.state,
            "time_us": self.now_us,
            "started_us": self.started_us,
            "cycles": 412 if learning else 24_812,
            "dropped": 0,
            "outside": 37,
            "learned": {"cycles": 412 if learning else 1000, "of": 1000,
                        "kind": "boosted trees", "error_pct": None if learning else 0.8},
            "processes": [{"pid": 4243, "rank": None, "world_size": None, "streams": 1,
                           "source": "vllm", "cycles": 24_812, "last_us": self.now_us}],
            "phases": [] if learning else phases,
            "workload": {"batch_size": 32.0, "avg_input_length": 1187.5},
            "counters": {"gpu0_power_w": 412.5, "gpu0_sm_clock_mhz": 1980.0},
            "alarms": {"raised": 2 if is_slow else 0, "open": [alarm] if is_slow else [],
                       "last": None},
            "incidents": self.incidents,
            "recorder": {"on": False, "last_us": None, "why_not": None},
            "own": {"cpu_pct": 1.3, "rss_bytes": 96 << 20, "judged_share": 1.0},
            "references": [{"name": "decode-32"}],
            "remarks": ["the device has no counter of its power limit"],
        }  # fmt: skip

    def series(self) -> dict[str, Any]:
        """What is in `series.json`."""
        chance = random.Random(4)  # noqa: S311
        t_s = list(range(max(0, self.seconds - 900), self.seconds))
        moments = [self.started_us // SECOND_US + time_s for time_s in t_s]
        slow = [self.slow_from is not None and time_s >= self.slow_from for time_s in t_s]
        if self.incidents and (ended := self.incidents[0]["ended_us"]):
            over = (ended - self.started_us) / 1e6
            slow = [is_slow and t < over for is_slow, t in zip(slow, t_s, strict=True)]

        def phase(usual: float, every: int) -> dict[str, list[float | int | None]]:
            expected = [usual * (1 + 0.08 * math.sin(time_s / 40)) for time_s in t_s]
            there = [time_s % every == 0 for time_s in t_s]
            observed = [
                value * chance.gauss(1.3 if is_slow else 1.0, 0.01)
                for value, is_slow in zip(expected, slow, strict=True)
            ]
            spikes = [1.9 if chance.random() < 0.01 else chance.uniform(1.02, 1.1) for _ in t_s]

            def where_present(values: list[float]) -> list[float | int | None]:
                return [
                    value if is_in else None for value, is_in in zip(values, there, strict=True)
                ]

            return {
                "t_s": moments,
                "cycles": where_present([40.0 for _ in t_s]),
                "observed_us": where_present(observed),
                "slowest_us": where_present([a * b for a, b in zip(observed, spikes, strict=True)]),
                "expected_us": where_present(expected),
                "limit_us": where_present([1.15 * value for value in expected]),
            }

        clock = [1500.0 if is_slow else 1980.0 for is_slow in slow]
        learning = self.state == "learning"
        return {
            "schema": "timesink/watch-series/1",
            "started_us": self.started_us,
            "every_s": 1,
            "phases": {} if learning else {"decode": phase(24e3, 1), "prefill": phase(86.5e3, 5)},
            "workload": {"t_s": moments, "batch_size": [32 + 8 * math.sin(t / 40) for t in t_s]},
            "counters": {"gpu0_sm_clock_mhz": {"t_s": moments, "value": clock}},
            "alarms": [
                {
                    "since_us": incident["since_us"],
                    "ended_us": incident["ended_us"],
                    "incident": incident["id"],
                }
                for incident in self.incidents
            ],
        }
