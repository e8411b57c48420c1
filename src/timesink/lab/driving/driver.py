"""All recordings of a lab, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from timesink.collect.signals import interruption, noticed
from timesink.lab.driving.budget import Clock
from timesink.lab.driving.machine import Machine
from timesink.lab.driving.one_run import How, RunFailedError, make
from timesink.lab.driving.order import Run, gone_on_with
from timesink.lab.driving.places import Places
from timesink.lab.faults.fault import CODE, NORMAL

SCHEMA = "timesink/lab-recordings/1"
_SHORT_S = 100
"""Less is told in seconds."""

Say = Callable[[str], None]
Record = Callable[[Run, How, Places, Sequence[int]], None]


@dataclass(frozen=True)
class Outcome:
    """What became of the plan."""

    recorded: tuple[Run, ...]
    failed: tuple[Run, ...]
    left: tuple[Run, ...]
    """For which no time was left."""


def conduct(
    runs: Sequence[Run],
    how: How,
    places: Places,
    *,
    clock: Clock,
    machine: Machine,
    say: Say,
    record: Record = make,
) -> Outcome:
    """Make every run that is not there yet; one that fails does not stop the others."""
    places.claim(describe(how, machine))
    runs = gone_on_with(runs, places.has)
    missing = [run for run in runs if not places.has(run)]
    say(plan_in_words(runs, missing, clock, machine))
    recorded: list[Run] = []
    failed: list[Run] = []
    with noticed() as stopped:
        for place, run in enumerate(missing):
            if not clock.has_room:
                return Outcome(tuple(recorded), tuple(failed), tuple(missing[place:]))
            begun_us = time.time_ns() // 1000
            try:
                record(run, how, places, stopped)
            except RunFailedError as error:
                _raise_if(stopped)
                failed.append(run)
                say(f"{run.folder}: failed, {error}")
                continue
            places.finish(run, about(run, how, baseline(run, runs, places), begun_us))
            recorded.append(run)
            clock.took(time.time_ns() / 1e9 - begun_us / 1e6)
            say(f"{run.folder}: recorded, {_time(clock, len(missing) - place - 1)} left")
    return Outcome(tuple(recorded), tuple(failed), ())


def _raise_if(stopped: list[int]) -> None:
    interrupted = interruption(stopped)
    if interrupted is not None:
        raise interrupted


def plan_in_words(
    runs: Sequence[Run], missing: Sequence[Run], clock: Clock, machine: Machine
) -> str:
    """How many runs will be made, where, and how long that takes."""
    before = len(runs) - len(missing)
    there = f", {before} recorded before" if before else ""
    planned = f"{len(missing)} of {len(runs)} runs to make{there}, {_time(clock, len(missing))}"
    return f"{machine.words}: {planned}"


def _time(clock: Clock, runs: int) -> str:
    seconds = clock.estimate_s(runs)
    return f"about {seconds:.0f} s" if seconds < _SHORT_S else f"about {seconds / 60:.0f} min"


def describe(how: How, machine: Machine) -> dict[str, Any]:
    """How recordings are made: those of one folder are all made alike."""
    told = {name: value for name, value in asdict(how).items() if name != "most_s"}
    return {"schema": SCHEMA, **told, **asdict(machine)}


def baseline(run: Run, runs: Sequence[Run], places: Places) -> str:
    """The last run without a fault before this one; one without any before it is its own."""
    if run.is_fresh_start:
        return run.name
    own = [one for one in runs if one.workload == run.workload]
    before = own[: own.index(run)]
    normal = [one.name for one in before if one.fault is None and places.has(one)]
    return normal[-1] if normal else f"{NORMAL}-1"


def about(run: Run, how: How, base: str, begun_us: int) -> Mapping[str, Any]:
    """What stands in `fault.json`."""
    fault = run.fault
    return {
        "fault": run.fault_name,
        "workload": run.workload.name,
        "cycles": how.cycles,
        "started_us": begun_us,
        "baseline": base,
        **({} if fault is None else {"kind": fault.kind, "strength": fault.strength}),
        **({} if fault is None or fault.kind != CODE else {"switches": dict(fault.switches)}),
        **({} if fault is None else fault.expected),
    }
