"""The last minutes in buckets of a second, and the last seconds as medians."""

from __future__ import annotations

import os
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from timesink.analyses.expected.workload import FIRST
from timesink.formats.cycle_rows import START

_KEPT = 900
_RECENT_S = 10.0
LEARNING = "learning"
"""What cycles are called that nothing is known of yet."""
_OF_PHASE = ("cycles", "observed_us", "slowest_us", "expected_us", "limit_us")
_NOT_WORKLOAD = ("job_name", START, "duration_us", FIRST)
AT_MOST_US = tuple(float(f"{100 * 10 ** (step / 5):.3g}") for step in range(31))
"""Bounds of the histogram, from 0.1 ms to 100 s."""
_MEDIANS = (
    pl.len().alias("cycles"),
    pl.col("duration_us").median().alias("observed_us"),
    pl.col("duration_us").max().alias("slowest_us"),
    pl.col("expected_us").median(),
    pl.col("limit_us").median(),
)


def unjudged(rows: pl.DataFrame) -> pl.DataFrame:
    """Cycles without a model, in the columns of judged ones."""
    nothing = pl.lit(None, dtype=pl.Float64)
    return rows.select(
        "job_name", START, "duration_us", nothing.alias("expected_us"), nothing.alias("limit_us"),
        phase=pl.lit(LEARNING), outside=pl.lit(value=False), alarm=pl.lit(value=False),
    )  # fmt: skip


class WatchedSeries:
    """What the page draws; bounded, however long the program runs."""

    def __init__(self, started_us: int) -> None:
        self._started_us = started_us
        self._pending: list[pl.DataFrame] = []
        self._recent: deque[tuple[float, pl.DataFrame, pl.DataFrame]] = deque()
        self._phases: dict[str, dict[int, dict[str, Any]]] = {}
        self._took: dict[str, tuple[npt.NDArray[np.int64], float]] = {}
        """Of all cycles so far: how many are within each bound and beyond, and their sum in us."""
        self._workload: dict[int, dict[str, float]] = {}
        self._counters: dict[str, dict[str, list[float]]] = {}

    def add(self, judged: pl.DataFrame, rows: pl.DataFrame) -> None:
        """Cycles that came, and what they had to do."""
        self._pending.append(judged)
        self._recent.append((time.monotonic(), judged, rows))

    def add_counters(self, found: list[tuple[float, str, float]]) -> None:
        """Values of counters: when, which, how much."""
        for at_s, name, value in found:
            one = self._counters.setdefault(name, {"t_s": [], "value": []})
            for values, new in zip(one.values(), (at_s, value), strict=True):
                values.append(new)
                del values[:-_KEPT]

    def last_counters(self) -> dict[str, float]:
        return {name: one["value"][-1] for name, one in sorted(self._counters.items())}

    def recent(self) -> pl.DataFrame | None:
        """Workloads of the last seconds."""
        until = time.monotonic() - _RECENT_S
        while self._recent and self._recent[0][0] < until:
            self._recent.popleft()
        if not self._recent:
            return None
        return pl.concat([rows for _, _, rows in self._recent], how="diagonal")

    def recent_judged(self) -> pl.DataFrame | None:
        """Cycles of the last seconds beside what was expected of them."""
        if self.recent() is None:
            return None
        return pl.concat([judged for _, judged, _ in self._recent], how="vertical_relaxed")

    def phases(self) -> list[dict[str, Any]]:
        """Medians of the last seconds, phase by phase."""
        table = self.recent_judged()
        if table is None:
            return []
        # Rows come in bunches: when they came is not when they were.
        table = table.filter(pl.col(START) > time.time() - _RECENT_S)
        found = table.group_by("phase").agg(*_MEDIANS).sort("phase").to_dicts()
        for one in found:
            known = one["expected_us"]
            one["residual_pct"] = 100 * (one["observed_us"] / known - 1) if known else None
        return found

    def workload(self) -> dict[str, float]:
        """Medians of what the last cycles had to do, as of the last second with any."""
        is_known = self._workload and self.recent() is not None
        return self._workload[next(reversed(self._workload))] if is_known else {}

    def close_second(self) -> None:
        """Put what came into buckets; late rows join the bucket that is there."""
        if not self._pending:
            return
        table = pl.concat(self._pending, how="vertical_relaxed")
        self._pending = []
        self._count(table)
        second = pl.col(START).floor().cast(pl.Int64).alias("second")
        for one in table.group_by("phase", second).agg(*_MEDIANS).sort("second").to_dicts():
            buckets = self._phases.setdefault(one.pop("phase"), {})
            at = one.pop("second")
            if at in buckets:
                before, one["slowest_us"] = (
                    buckets[at], max(one["slowest_us"], buckets[at]["slowest_us"]),
                )  # fmt: skip
                if before["cycles"] > one["cycles"]:
                    told = ("observed_us", "expected_us", "limit_us")
                    one |= {name: before[name] for name in told}
                one["cycles"] += before["cycles"]
            buckets[at] = one
            while len(buckets) > _KEPT:
                del buckets[next(iter(buckets))]
        now = int(time.time())
        self._workload[now] = medians(self.recent())
        while len(self._workload) > _KEPT:
            del self._workload[next(iter(self._workload))]

    def _count(self, table: pl.DataFrame) -> None:
        for (phase,), mine in table.select("phase", "duration_us").group_by("phase"):
            took = mine["duration_us"].drop_nulls().to_numpy()
            took = took[np.isfinite(took)]
            counts, total = self._took.get(str(phase), (0, 0.0))
            places = np.searchsorted(AT_MOST_US, took)
            counts = counts + np.bincount(places, minlength=len(AT_MOST_US) + 1)
            self._took[str(phase)] = counts, total + float(took.sum())

    def durations(self) -> dict[str, Any]:
        """What all cycles took so far, as a histogram for each phase."""
        phases = {
            phase: {"sum_us": total, "counts": counts.tolist()}
            for phase, (counts, total) in sorted(self._took.items())
        }
        return {"at_most_us": AT_MOST_US, "phases": phases}

    def told(self, alarms: list[dict[str, Any]]) -> dict[str, Any]:
        """The content of series.json."""
        phases = {}
        for name, buckets in self._phases.items():
            times = sorted(buckets)
            columns = {key: [buckets[at][key] for at in times] for key in _OF_PHASE}
            phases[name] = {"t_s": times, **columns}
        names = sorted({name for one in self._workload.values() for name in one})
        workload: dict[str, Any] = {"t_s": list(self._workload)}
        for name in names:
            workload[name] = [one.get(name) for one in self._workload.values()]
        return {
            "started_us": self._started_us, "every_s": 1, "phases": phases, "workload": workload,
            "counters": dict(sorted(self._counters.items())), "alarms": alarms,
        }  # fmt: skip


def medians(rows: pl.DataFrame | None) -> dict[str, float]:
    """Medians of the columns that tell the workload."""
    if rows is None or rows.is_empty():
        return {}
    told = rows.select(pl.exclude(_NOT_WORKLOAD).median()).to_dicts()
    return {name: value for name, value in (told[0] if told else {}).items() if value is not None}


class CounterTail:
    """New lines of a file of counters, which is shortened now and then."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place: tuple[int, int] = (0, 0)
        self._last_us = 0

    def read(self) -> list[tuple[float, str, float]]:
        """When, which counter, how much; of several devices the name tells which."""
        found: list[tuple[float, str, float]] = []
        with suppress(OSError), self._path.open("rb") as file:
            number, at = os.fstat(file.fileno()).st_ino, self._place[1]
            # Of a file that was shortened some lines are known; what was added to one is new,
            # whatever its clock says.
            known_us = 0
            if number != self._place[0]:
                at, known_us = 0, self._last_us
            file.seek(at)
            content = file.read()
            whole = content[: content.rfind(b"\n") + 1]
            self._place = (number, at + len(whole))
            for line in whole.decode(errors="replace").splitlines():
                with suppress(ValueError):
                    at_us, name, device, value = line.split(",")
                    if int(at_us) > known_us:
                        name = f"{name} {device}".strip() if device != "Host" else name
                        found.append((int(at_us) / 1e6, name, float(value)))
                        self._last_us = int(at_us)
        return found
