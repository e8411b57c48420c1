"""`timesink.diagnose`: which cycles of a run are slow, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from timesink.errors import NotFoundError, UsageError
from timesink.model.trace import Trace
from timesink.model.units import listed
from timesink.readers.options import Progress
from timesink.reports.comparison.choosing import check_cycle_type, members_of_type
from timesink.reports.comparison.given import check_given, check_recordings, side_of, source_of
from timesink.reports.comparison.members import RoleChoice, chosen, members_of
from timesink.reports.comparison.naming import SORTS_OF_CYCLES, told_apart
from timesink.reports.comparison.pairing import RoleMember, by_number
from timesink.reports.comparison.runs import CycleSearch, ReadOptions, Runs, SideRun
from timesink.reports.comparison.sides import SideSource, find_cases
from timesink.reports.diagnosis.report import Diagnosed
from timesink.reports.diagnosis.within import within


def diagnose(
    source: str | Path | Trace,
    *,
    pid: str | int | None = None,
    rank: int | None = None,
    cycle_type: str | None = None,
    marker: str | None = None,
    by: str | None = None,
    metric_map: str | Path | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Diagnosed:
    """Why some cycles of a run take longer than its others.

    The source is a recording, a folder of them (one per rank) or a behaviour table; every process
    is looked at for itself.  `pid`, `rank` and `cycle_type` choose, `marker`, `by` and `metric_map`
    are those of `timesink.behaviour`.

    >>> import timesink
    >>> found = timesink.diagnose(timesink.sample_runs()[0])
    >>> found.processes[0].split.slow, found.diagnosis.verdict
    ((8,), 'regression')
    """
    given = source if isinstance(source, Trace) else Path(source)
    check_given([given])
    check_cycle_type(cycle_type)
    _check_one_run(given)
    finding = CycleSearch(marker, by, metric_map)
    side = side_of(given, rank)
    runs, notes = _read(side.sources, ReadOptions(cache, jobs, progress, finding))
    if finding.says_unit:
        check_recordings(runs, finding)
    choice = RoleChoice(None if pid is None else str(pid), rank)
    members = chosen(_of_pid(members_of(runs, choice), choice.pid), choice)
    members = members_of_type(members, cycle_type)
    names = _names(members)
    return Diagnosed(
        source=source_of(given),
        processes=tuple(within(one.role, name) for one, name in zip(members, names, strict=True)),
        notes=(*side.notes, *notes, *_own_notes(members)),
    )


def _check_one_run(given: Path | Trace) -> None:
    if isinstance(given, Path) and find_cases(given):
        raise UsageError(
            f"{given}: holds a normal and an abnormal run",
            "compare them with timesink compare, or give one of the two",
        )


def _read(sources: Sequence[SideSource], reading: ReadOptions) -> tuple[list[SideRun], list[str]]:
    runs, failures = Runs(reading).of(sources)
    if not runs:
        raise failures[0].error
    return runs, [f"left out: {one.error.message}" for one in failures]


def _of_pid(members: list[RoleMember], pid: str | None) -> list[RoleMember]:
    fitting = [one for one in members if pid in (None, one.role.pid)]
    if not fitting:
        known = listed(sorted({one.role.pid for one in members}, key=by_number))
        raise NotFoundError(f"{members[0].role.source}: no process {pid}", f"there are {known}")
    return fitting


def _names(members: Sequence[RoleMember]) -> list[str]:
    """What each process is called among the others; with its sort of cycles and its file."""
    jobs, types = ({getattr(one, name) for one in members} for name in ("job", "suffix"))
    names = []
    for one in members:
        rank = one.role.rank
        name = f"pid {one.role.pid}" if rank is None else f"rank {rank}"
        words = [name, SORTS_OF_CYCLES.get(one.suffix, "") if len(types) > 1 else ""]
        if len(jobs) > 1 and rank is None:
            words.append(one.job)
        names.append(", ".join(filter(None, words)))
    return told_apart(names, mark=" #")


def _own_notes(members: Sequence[RoleMember]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for one in members for note in one.role.notes))
