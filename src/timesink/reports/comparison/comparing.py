"""`timesink.compare`: which runs are meant, and what changed between them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from timesink.engines.choosing import engine_of
from timesink.engines.engine import Engine
from timesink.model.trace import Trace
from timesink.readers.options import Progress
from timesink.reports.comparison.choosing import check_cycle_type
from timesink.reports.comparison.given import (
    all_cases,
    check_given,
    finding_for,
    given_by,
    is_for_exploring,
    known_runs,
    one_pid,
    path_of,
    side_of,
    source_of,
)
from timesink.reports.comparison.members import RoleChoice
from timesink.reports.comparison.rank_sets import Sets
from timesink.reports.comparison.report import Comparison
from timesink.reports.comparison.runs import CycleSearch, ReadOptions, Runs
from timesink.reports.comparison.sides import find_cases
from timesink.reports.comparison.working import ComparisonWork

if TYPE_CHECKING:
    from timesink.reports.baselines.baseline import Baseline


def compare(
    *sources: str | Path | Trace | Baseline,
    pid: str | int | None = None,
    rank: int | None = None,
    device: str | int | None = None,
    cycle_type: str | None = None,
    marker: str | None = None,
    by: str | None = None,
    metric_map: str | Path | None = None,
    explore: bool = False,
    ignore_hosts: bool = False,
    store: str | Path | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
    engine: str | Engine = "local",
    ray_address: str | None = None,
) -> Comparison:
    """What changed between two runs, or how many roles differ.

    Two sources are the base and the new run: recordings, folders of them, or behaviour tables.
    One is a folder with both sides (`normal_perf_data` and `abnormal_perf_data`), or with several
    such cases.  More, or `explore`, are roles to be told apart.  `pid` is one process, or two as
    `"1,2"` for base and new; `device` keeps the tables of one device, `cycle_type` the pairs of one
    sort of cycle: `prefill`, `decode`, `layer`, or `generic` for those without such a name.
    `marker`, `by` and `metric_map` are those of `timesink.behaviour`, for recordings.  `"@NAME"` is
    a baseline of `store`, as `timesink baseline save` keeps them.  Folders with the ranks of a run
    are compared as a whole too (`ranks`); `engine` and `ray_address` say where these are read.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> same.headline.startswith("Both runs are the same within noise")
    True
    """
    given = [given_by(one, store) for one in sources]
    check_given(given)
    check_cycle_type(cycle_type)
    finding = finding_for(given, CycleSearch(marker, by, metric_map))
    work = ComparisonWork(
        Runs(ReadOptions(cache, jobs, progress, finding), known_runs(given)),
        RoleChoice(one_pid(pid, 0), rank, ignore_hosts),
        RoleChoice(one_pid(pid, 1), rank, ignore_hosts),
        finding,
        cycle_type,
        Sets(lambda: engine_of(engine, jobs=jobs, address=ray_address), cache, progress),
    )
    cases = [find_cases(one) if isinstance(one, Path) else [] for one in given]
    if explore or is_for_exploring(given, cases):
        found = work.explored([side_of(one, rank) for one in given])
    elif any(cases):
        found = work.compared_cases(all_cases(given, cases), path_of(given[0]))
    else:
        base, new = (side_of(one, rank) for one in given)
        found = work.compared_sides(base, new)
    whole = Comparison(
        sources=tuple(source_of(one) for one in given),
        pairs=found.pairs,
        roles=found.roles,
        exploration=found.exploration,
        notes=tuple(dict.fromkeys(found.notes)),
        cases_left_out=found.cases_left_out,
        files_left_out=tuple(dict.fromkeys(found.files_left_out)),
        roles_left_out=tuple(dict.fromkeys(found.roles_left_out)),
        ranks=found.ranks,
    )
    if device is None:
        return whole
    from timesink.reports.comparison.one_device import only_device  # noqa: PLC0415

    return only_device(whole, str(device))
