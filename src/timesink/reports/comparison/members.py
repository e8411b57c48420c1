"""The roles in a run: one per process, host and sort of cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import polars as pl

from timesink.analyses.anatomy.anatomy import Anatomy, only_cycles
from timesink.analyses.comparison.role import Role
from timesink.errors import NotFoundError
from timesink.model.processes import host_and_pid
from timesink.model.units import listed
from timesink.reports.comparison.pairing import RoleMember, by_number
from timesink.reports.comparison.runs import SideRun

UNKNOWN_PID = "unknown"


@dataclass(frozen=True, slots=True)
class RoleChoice:
    """Which roles are meant; None is every one."""

    pid: str | None = None
    rank: int | None = None
    ignore_hosts: bool = False


def members_of(runs: Sequence[SideRun], choice: RoleChoice) -> list[RoleMember]:
    """Every role of a side, in the order of files, hosts and processes."""
    return [member for run in runs for member in _members(run, ignore_hosts=choice.ignore_hosts)]


def check_pids(
    base: Sequence[RoleMember], new: Sequence[RoleMember], wanted: Sequence[RoleChoice]
) -> None:
    """Refuse a process that is not there: one for both sides on either, one of two on its own."""
    sides = (base, new)
    both = wanted[0].pid == wanted[1].pid
    for side, choice in zip(sides, wanted, strict=True):
        known = {one.role.pid for one in ((*base, *new) if both else side)}
        if choice.pid is not None and choice.pid not in known:
            there = listed(sorted(known, key=by_number))
            raise NotFoundError(
                f"{side[0].role.source}: no process {choice.pid}", f"there are {there}"
            )


def chosen(members: Sequence[RoleMember], choice: RoleChoice) -> list[RoleMember]:
    """The members that fit; all where the process is one of the other side."""
    of_rank = [one for one in members if choice.rank in (None, one.role.rank)]
    if not of_rank:
        ranks = sorted({one.role.rank for one in members if one.role.rank is not None})
        known = f"it has {', '.join(map(str, ranks[:8]))}" if ranks else "no file names its rank"
        raise NotFoundError(f"{members[0].role.source}: no rank {choice.rank}", known)
    of_pid = [one for one in of_rank if choice.pid in (None, one.role.pid)]
    return of_pid or of_rank


def _members(run: SideRun, *, ignore_hosts: bool) -> Iterator[RoleMember]:
    table = run.behaviour.with_columns(
        pl.col("pid").cast(pl.String).fill_null(UNKNOWN_PID).alias("_pid"), _host(ignore_hosts)
    )
    parts = table.partition_by("_pid", "_host", as_dict=True, include_key=False)
    keys = sorted(parts, key=lambda key: (key[1] or "", by_number(str(key[0]))))
    for pid, host in keys:
        for suffix, rows in _by_suffix(parts[pid, host], run):
            role = Role(
                label="",
                source=str(run.source.path),
                pid=cast("str", pid),
                behaviour=rows,
                host=cast("str | None", host),
                rank=run.rank,
                method=run.unit.method,
                confidence=run.confidence,
                notes=run.notes,
                anatomy=_anatomy(run, cast("str", pid), cast("str | None", host), rows),
                beside=run.beside,
            )
            yield RoleMember(role, run.source.job, suffix, run.source.key)


def _anatomy(run: SideRun, pid: str, host: str | None, rows: pl.DataFrame) -> Anatomy | None:
    """The anatomy of the cycles of a role; None where several processes share the number."""
    named = {key: host_and_pid(key) for key in run.anatomies}
    own = [
        key
        for key, (machine, number) in named.items()
        if pid in {number, number or UNKNOWN_PID} and host in (None, machine)
    ]
    return only_cycles(run.anatomies[own[0]], rows["cycle"]) if len(own) == 1 else None


def _host(ignore: bool) -> pl.Expr:  # noqa: FBT001
    """The host of a row: empty is one host, and a process that names one host is all there."""
    if ignore:
        return pl.lit(None, pl.String).alias("_host")
    name = pl.col("host").cast(pl.String).str.strip_chars()
    named = pl.when(name != "").then(name)
    pid = pl.col("pid").cast(pl.String)
    only_one = named.drop_nulls().n_unique().over(pid) == 1
    return pl.when(only_one).then(named.max().over(pid)).otherwise(named).alias("_host")


def _by_suffix(rows: pl.DataFrame, run: SideRun) -> Iterator[tuple[str, pl.DataFrame]]:
    """Rows by sort of cycle, where one table holds prompts and tokens."""
    if run.source.suffix:
        yield run.source.suffix, rows
        return
    types = sorted(rows["cycle_type"].cast(pl.String).fill_null("generic").unique())
    if len(types) == 1:
        yield _alone(types[0], run), rows
        return
    for kind in types:
        own = pl.col("cycle_type").cast(pl.String).fill_null("generic") == kind
        yield ("" if kind == "generic" else f"_{kind}"), rows.filter(own)


def _alone(kind: str, run: SideRun) -> str:
    """Decode cycles without any others need no name of their own."""
    if run.unit.method == "layer":
        return "_layer"
    return "_prefill" if kind == "prefill" else ""
