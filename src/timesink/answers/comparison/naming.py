"""What comparisons, their sides and their files are called."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import cast

import polars as pl

from timesink.analyses.behaviour.anatomy import only_cycles
from timesink.analyses.comparison.pair import Pair, Role
from timesink.analyses.statistics.repeats import timed_runs
from timesink.answers.comparison.pairing import Compared, Match, RoleMember
from timesink.answers.comparison.sides import SideRun, stem_of
from timesink.errors import NotFoundError
from timesink.model.schema import host_and_pid
from timesink.model.units import listed, natural
from timesink.output.names import told_apart
from timesink.sources.recordings import sayable

EXPLORATORY_REPORT = "exploratory_comparison_report"
VERSUS = " vs "
"""What stands between the names of two runs."""
VERSION = "_v"
"""What tells a second file, or role, of the same name apart: `run_v2`."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


def case_identifier(case: Path, first: Path) -> str:
    """A case by its place below the parent of the first path given; by its name elsewhere."""
    if case.is_relative_to(first):
        # `.` has a name as well.
        name = first.resolve().name if first.name in {"", ".."} else first.name
        return sayable((Path(name) / case.relative_to(first)).as_posix())
    case, root = case.resolve(), first.resolve().parent
    return sayable(case.relative_to(root).as_posix() if case.is_relative_to(root) else case.name)


def pair_identifier(base: Path, new: Path) -> str:
    """Two paths by the last part in which they differ."""
    ours, theirs = _parts(base), _parts(new)
    differing = [places for places in zip(ours, theirs, strict=False) if places[0] != places[1]]
    one, other = differing[0] if differing else (ours[0], theirs[0])
    if one == other and base.name != new.name:
        one, other = base.name, new.name
    return sayable(f"{one}{VERSUS}{other}")


def _parts(path: Path) -> list[str]:
    """Parts of a path from the last to the first."""
    last, *others = reversed(path.resolve().parts)
    return [stem_of(last) if not path.is_dir() else last, *others]


def side_labels(match: Match, names: tuple[str, str]) -> tuple[str, str]:
    """What the sides of a pair are called: plainly, or with the process where they differ."""
    if match.kind == "strict":
        return names
    base, new = match.base.role, match.new.role
    if base.pid == new.pid and base.host != new.host:
        return f"{names[0]}_{base.host}_pid_{base.pid}", f"{names[1]}_{new.host}_pid_{new.pid}"
    return f"{names[0]}_pid_{base.pid}", f"{names[1]}_pid_{new.pid}"


def file_stem(identifier: str, match: Match) -> str:
    """Name of the files of a pair, without an ending."""
    start = f"{identifier}{match.base.suffix}"
    base, new = match.base.role, match.new.role
    if match.by_rank:
        return safe(f"{start}_rank{base.rank}_strict_comparison")
    if match.kind == "strict":
        return safe(f"{start}_pid{base.pid}_strict_comparison")
    return safe(f"{start}_n_pid{base.pid}_vs_a_pid{new.pid}_cross_comparison")


def match_identifiers(identifier: str, matches: Sequence[Match]) -> list[str]:
    """What each of several pairs is called: with its file or host where numbers are shared."""
    names = [identifier] * len(matches)
    # The file, or those of both sides where they are called otherwise; then the host.
    files = [VERSUS.join(dict.fromkeys((one.base.job, one.new.job))) for one in matches]
    for told_by in (files, [one.base.role.host or "unnamed host" for one in matches]):
        stems = [file_stem(name, match) for name, match in zip(names, matches, strict=True)]
        groups: defaultdict[str, set[str]] = defaultdict(set)
        for stem, told in zip(stems, told_by, strict=True):
            groups[stem].add(told)
        shared = {stem for stem, told in groups.items() if len(told) > 1}
        if any(VERSUS in one for stem in shared for one in groups[stem]):
            shared = set(groups)  # one pair by its files and another without would be odd
        for place, (stem, more) in enumerate(zip(stems, told_by, strict=True)):
            if stem in shared:
                # Files of both sides say all of it, unless they are of a case.
                alone = VERSUS in names[place] and VERSUS in more
                names[place] = more if alone else f"{names[place]} {more}"
    return [sayable(name) for name in names]


def peers_stem(pair: Pair) -> str:
    """Name of the files of two representatives, the same whichever comes first."""
    first, second = sorted((pair.base.label, pair.new.label))
    return safe(f"exploratory_compare_{first}_vs_{second}")


def processes(pair: Pair) -> str:
    """Which processes a pair is of: `rank 3`, `pid 7`, `pid 7 → 9`."""
    base, new = pair.base, pair.new
    if base.rank is not None and base.rank == new.rank:
        return f"rank {base.rank}"
    return f"pid {base.pid}" if base.pid == new.pid else f"pid {base.pid} → {new.pid}"


def pair_names(pairs: Sequence[Compared]) -> list[str]:
    """What each pair is called among the others: by process, by what was compared, or by both."""
    names, titles = [processes(one.pair) for one in pairs], [one.title for one in pairs]
    if len(set(titles)) == 1:
        return names
    if len(set(titles)) == len(pairs):
        return titles
    return [f"{title}, {name}" for title, name in zip(titles, names, strict=True)]


def safe(name: str) -> str:
    """A name every file system takes."""
    return _UNSAFE.sub("_", name)


def role_labels(members: Sequence[RoleMember]) -> list[str]:
    """`<file>_<host>_<pid>` for each role; files of the same name by their folders as well.

    Every role says which file it is of: a process number alone tells nobody where to look.
    """
    files = _distinct_files(sorted({Path(one.role.source) for one in members}))
    labels = []
    for one in members:
        role, file = one.role, files[Path(one.role.source)]
        suffix = "" if file.endswith(one.suffix) else one.suffix
        words = [f"{file}{suffix}", *([role.host] if role.host else []), role.pid]
        labels.append(sayable("_".join(words)))
    return told_apart(labels, VERSION)


def _distinct_files(paths: Sequence[Path]) -> dict[Path, str]:
    """The shortest end of each path that no other path has, without endings."""
    resolved = {path: PurePath(path.resolve()) for path in paths}
    names = {path: stem_of(path.name) for path in paths}
    depth = 1
    while True:
        counts, depth = Counter(names.values()), depth + 1
        grown = {}
        for path in (path for path, name in names.items() if counts[name] > 1):
            *folders, name = resolved[path].parts[-depth:]
            grown[path] = "_".join([*(folder.strip("/\\") for folder in folders), stem_of(name)])
        if all(grown[path] == names[path] for path in grown):
            return names
        names |= grown


# The roles in a run: one per process, host and sort of cycle.

UNKNOWN_PID = "unknown"


def members_of(runs: Sequence[SideRun], *, ignore_hosts: bool = False) -> list[RoleMember]:
    """Every role of a side, in the order of files, hosts and processes."""
    return [member for run in runs for member in _members(run, ignore_hosts=ignore_hosts)]


def check_pids(
    base: Sequence[RoleMember], new: Sequence[RoleMember], pids: tuple[str | None, str | None]
) -> None:
    """Refuse a process that is not there: one for both sides on either, one of two on its own."""
    for side, pid in zip((base, new), pids, strict=True):
        known = {one.role.pid for one in ((*base, *new) if pids[0] == pids[1] else side)}
        if pid is not None and pid not in known:
            there = listed(sorted(known, key=natural))
            raise NotFoundError(f"{side[0].role.source}: no process {pid}", f"there are {there}")


def chosen(members: Sequence[RoleMember], pid: str | None, rank: int | None) -> list[RoleMember]:
    """The members that fit, None is every one; all where the process is one of the other side."""
    of_rank = [one for one in members if rank in (None, one.role.rank)]
    if not of_rank:
        ranks = sorted({one.role.rank for one in members if one.role.rank is not None})
        known = f"it has {', '.join(map(str, ranks[:8]))}" if ranks else "no file names its rank"
        raise NotFoundError(f"{members[0].role.source}: no rank {rank}", known)
    of_pid = [one for one in of_rank if pid in (None, one.role.pid)]
    return of_pid or of_rank


def _members(run: SideRun, *, ignore_hosts: bool) -> Iterator[RoleMember]:
    name, pid_of = pl.col("host").cast(pl.String).str.strip_chars(), pl.col("pid").cast(pl.String)
    # Empty is one host, and a process that names one host is all there.
    named = pl.when(name != "").then(name)
    only_one = named.drop_nulls().n_unique().over(pid_of) == 1
    host_of = pl.when(only_one).then(named.max().over(pid_of)).otherwise(named)
    table = run.behaviour.with_columns(
        pid_of.fill_null(UNKNOWN_PID).alias("_pid"),
        (pl.lit(None, pl.String) if ignore_hosts else host_of).alias("_host"),
    )
    parts = table.partition_by("_pid", "_host", as_dict=True, include_key=False)
    keys = sorted(parts, key=lambda key: (key[1] or "", natural(str(key[0]))))
    processes_of = {key: host_and_pid(key) for key in run.anatomies}
    for pid, host in cast("list[tuple[str, str | None]]", keys):
        # None where several processes share the number.
        own = [
            key
            for key, (machine, number) in processes_of.items()
            if pid in {number, number or UNKNOWN_PID} and host in (None, machine)
        ]
        only = own[0] if len(own) == 1 else None
        for suffix, rows in _by_suffix(parts[pid, host], run):
            role = Role(
                label="",
                source=str(run.source.path),
                pid=pid,
                behaviour=rows,
                host=host,
                rank=run.rank,
                method=run.unit.method,
                confidence=run.confidence,
                notes=run.notes,
                anatomy=None if only is None else only_cycles(run.anatomies[only], rows["cycle"]),
                program=None if only is None else run.programs.get(only),
                beside=run.beside,
                plain=timed_runs(run.recorded, str(run.source.path.parent)),
                peak_memory_bytes=run.peak_memory_bytes,
                work=None if only is None else run.work.get(only),
            )
            yield RoleMember(role, run.source.job, suffix, run.source.key)


def _by_suffix(rows: pl.DataFrame, run: SideRun) -> Iterator[tuple[str, pl.DataFrame]]:
    """Rows by sort of cycle, where one table holds prompts and tokens."""
    if run.source.suffix:
        yield run.source.suffix, rows
        return
    types = sorted(rows["cycle_type"].cast(pl.String).fill_null("generic").unique())
    if len(types) == 1:
        # Decode cycles without any others need no name of their own.
        alone = "_prefill" if types[0] == "prefill" else ""
        yield "_layer" if run.unit.method == "layer" else alone, rows
        return
    for kind in types:
        own = pl.col("cycle_type").cast(pl.String).fill_null("generic") == kind
        yield ("" if kind == "generic" else f"_{kind}"), rows.filter(own)
