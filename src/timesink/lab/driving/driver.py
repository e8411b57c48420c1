"""All recordings of a lab, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from timesink.collect.signals import interruption, noticed
from timesink.lab.driving.bench import Bench
from timesink.lab.driving.lab_folder import LabFolder
from timesink.lab.driving.one_run import How, Patience, RunFailedError, make, patience_of
from timesink.lab.driving.order import LabRun, gone_on_with
from timesink.lab.driving.parts import PackedParts
from timesink.lab.driving.time_left import TimeLeft
from timesink.lab.faults.fault import CODE, NORMAL

SCHEMA = "timesink/lab-recordings/1"
_SHORT_S = 100
"""Less is told in seconds."""

Say = Callable[[str], None]
Record = Callable[[LabRun, How, LabFolder, Patience], None]


@dataclass(frozen=True)
class Outcome:
    """What became of the plan."""

    recorded: tuple[LabRun, ...]
    failed: tuple[LabRun, ...]
    left: tuple[LabRun, ...]
    """For which no time was left."""


def conduct(
    runs: Sequence[LabRun],
    how: How,
    lab: LabFolder,
    *,
    time_left: TimeLeft,
    bench: Bench,
    say: Say,
    parts: PackedParts | None = None,
    record: Record = make,
) -> Outcome:
    """Make every run that is not there yet; one that fails does not stop the others."""
    lab.claim(describe(how, bench))
    runs = gone_on_with(runs, lab.has)
    missing = [run for run in runs if not lab.has(run)]
    say(plan_in_words(runs, missing, time_left, bench))
    _pack(parts, lab, [lab.about], say)
    recorded: list[LabRun] = []
    failed: list[LabRun] = []
    with noticed() as stopped:
        for run in _healthy_again(missing, failed):
            if not time_left.has_room:
                break
            begun_us = time.time_ns() // 1000
            try:
                record(run, how, lab, patience_of(min(how.deadline_s, time_left.left_s), stopped))
                lab.finish(run, about(run, how, baseline(run, runs, lab), begun_us))
            except (RunFailedError, OSError) as error:
                interrupted = interruption(stopped)
                if interrupted is not None:
                    raise interrupted from None
                if time_left.left_s <= 0:
                    break
                failed.append(run)
                say(f"{run.folder}: failed, {error}")
            else:
                recorded.append(run)
                time_left.took(time.time_ns() / 1e9 - begun_us / 1e6)
                to_come = len(missing) - 1 - missing.index(run)
                say(f"{run.folder}: recorded, {_time(time_left, to_come)} left")
            _pack(parts, lab, lab.files_of(run), say)
    lost = tuple(run for run in missing if run in failed and run not in recorded)
    left = tuple(run for run in missing if run not in failed and run not in recorded)
    return Outcome(tuple(recorded), lost, left)


def _healthy_again(missing: Sequence[LabRun], failed: Sequence[LabRun]) -> Iterator[LabRun]:
    """Each run; one without a fault that failed a second time, as others are compared with it."""
    for run in missing:
        yield run
        if run.fault is None and run in failed:
            yield run


def _pack(parts: PackedParts | None, lab: LabFolder, files: Sequence[Path], say: Say) -> None:
    if parts is None:
        return
    try:
        parts.add(lab.root, files)
    except (OSError, ImportError) as error:
        say(f"not packed: {error}")


def plan_in_words(
    runs: Sequence[LabRun], missing: Sequence[LabRun], time_left: TimeLeft, bench: Bench
) -> str:
    """How many runs will be made, where, and how long that takes."""
    before = len(runs) - len(missing)
    there = f", {before} recorded before" if before else ""
    planned = f"{len(missing)} of {len(runs)} runs to make{there}, {_time(time_left, len(missing))}"
    return f"{bench.words}: {planned}"


def _time(time_left: TimeLeft, runs: int) -> str:
    seconds = time_left.estimate_s(runs)
    return f"about {seconds:.0f} s" if seconds < _SHORT_S else f"about {seconds / 60:.0f} min"


def describe(how: How, bench: Bench) -> dict[str, Any]:
    """How recordings are made: those of one folder are all made alike."""
    told = {name: value for name, value in asdict(how).items() if name != "deadline_s"}
    return {"schema": SCHEMA, **told, **asdict(bench)}


def baseline(run: LabRun, runs: Sequence[LabRun], lab: LabFolder) -> str:
    """The last run without a fault before this one; one without any before it is its own."""
    if run.is_fresh_start:
        return run.name
    own = [one for one in runs if one.workload == run.workload]
    before = own[: own.index(run)]
    normal = [one.name for one in before if one.fault is None and lab.has(one)]
    return normal[-1] if normal else f"{NORMAL}-1"


def about(run: LabRun, how: How, base: str, begun_us: int) -> Mapping[str, Any]:
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
