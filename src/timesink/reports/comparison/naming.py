"""What comparisons, their sides and their files are called."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.role import Role
from timesink.readers.discover import sayable
from timesink.reports.comparison.pairing import Match, RoleMember
from timesink.reports.comparison.sides import stem_of

if TYPE_CHECKING:
    from timesink.reports.comparison.report import Compared

EXPLORATORY_REPORT = "exploratory_comparison_report"
SORTS_OF_CYCLES = {"_prefill": "prefill cycles", "_decode": "decode cycles", "_layer": "layers"}
"""What cycles are called that a suffix names."""
VERSUS = " vs "
"""What stands between the names of two runs."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


def case_identifier(case: Path, first: Path) -> str:
    """A case by its place below the parent of the first path given; by its name elsewhere.

    >>> case_identifier(Path("data/SGLang/gpu_instability"), Path("data/SGLang"))
    'SGLang/gpu_instability'
    """
    if case.is_relative_to(first):
        return sayable((Path(_name(first)) / case.relative_to(first)).as_posix())
    case, root = case.resolve(), first.resolve().parent
    return sayable(case.relative_to(root).as_posix() if case.is_relative_to(root) else case.name)


def _name(path: Path) -> str:
    """What a path is called where it is; `.` has a name as well."""
    return path.resolve().name if path.name in {"", ".."} else path.name


def pair_identifier(base: Path, new: Path) -> str:
    """Two paths by the last part in which they differ.

    >>> pair_identifier(Path("faults/normal/trace.json.gz"), Path("faults/gpu_clock/trace.json.gz"))
    'normal vs gpu_clock'
    """
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
    for told_by in (_job, _host):
        groups: defaultdict[str, set[str]] = defaultdict(set)
        for name, match in zip(names, matches, strict=True):
            groups[file_stem(name, match)].add(told_by(match))
        shared = {stem for stem, told in groups.items() if len(told) > 1}
        if any(VERSUS in one for stem in shared for one in groups[stem]):
            shared = set(groups)  # one pair by its files and another without would be odd
        names = [
            _with(name, told_by(match)) if file_stem(name, match) in shared else name
            for name, match in zip(names, matches, strict=True)
        ]
    return [sayable(name) for name in names]


def _with(name: str, more: str) -> str:
    """A name that says more; files of both sides say all of it, unless they are of a case."""
    return more if VERSUS in name and VERSUS in more else f"{name} {more}"


def _job(match: Match) -> str:
    """The file, or those of both sides where they are called otherwise."""
    base, new = match.base.job, match.new.job
    return base if base == new else f"{base}{VERSUS}{new}"


def _host(match: Match) -> str:
    return match.base.role.host or "unnamed host"


def peers_stem(pair: Pair) -> str:
    """Name of the files of two representatives, the same whichever comes first.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> peers_stem(same.pair)
    'exploratory_compare_base_vs_new'
    """
    first, second = sorted((pair.base.label, pair.new.label))
    return safe(f"exploratory_compare_{first}_vs_{second}")


def processes(pair: Pair) -> str:
    """Which processes a pair is of: `rank 3`, `pid 7`, `pid 7 → 9`.

    >>> import timesink
    >>> processes(timesink.compare(timesink.sample(), timesink.sample()).pair)
    'pid 1525'
    """
    base, new = pair.base, pair.new
    if base.rank is not None and base.rank == new.rank:
        return f"rank {base.rank}"
    return f"pid {base.pid}" if base.pid == new.pid else f"pid {base.pid} → {new.pid}"


def pair_names(pairs: Sequence[Compared]) -> list[str]:
    """What each pair is called among the others: by process, by what was compared, or by both.

    >>> import timesink
    >>> pair_names(timesink.compare(timesink.sample(), timesink.sample()).pairs)
    ['pid 1525']
    """
    names, titles = [processes(one.pair) for one in pairs], [one.title for one in pairs]
    if len(set(titles)) == 1:
        return names
    if len(set(titles)) == len(pairs):
        return titles
    return [f"{title}, {name}" for title, name in zip(titles, names, strict=True)]


def safe(name: str) -> str:
    """A name every file system takes.

    >>> safe("SGLang/gpu instability")
    'SGLang_gpu_instability'
    """
    return _UNSAFE.sub("_", name)


def told_apart(names: Sequence[str], mark: str = "_v") -> list[str]:
    """Names none of which is another's: a second gets `_v2`.

    >>> told_apart(["a", "b", "a"])
    ['a', 'b', 'a_v2']
    """
    seen: Counter[str] = Counter()
    taken = set(names)
    apart = []
    for name in names:
        seen[name] += 1
        unique = name
        while seen[name] > 1 and (unique == name or unique in taken):
            unique = f"{name}{mark}{seen[name]}" if unique == name else f"{unique}_"
        taken.add(unique)
        apart.append(unique)
    return apart


def role_labels(members: Sequence[RoleMember]) -> list[str]:
    """`<file>_<host>_<pid>` for each role; files of the same name by their folders as well.

    Every role says which file it is of: a process number alone tells nobody where to look.
    """
    files = _distinct_files(sorted({Path(one.role.source) for one in members}))
    return told_apart([_role_label(one, files[Path(one.role.source)]) for one in members])


def _role_label(member: RoleMember, file: str) -> str:
    role: Role = member.role
    suffix = "" if file.endswith(member.suffix) else member.suffix
    words = [f"{file}{suffix}", *([role.host] if role.host else []), role.pid]
    return sayable("_".join(words))


def _distinct_files(paths: Sequence[Path]) -> dict[Path, str]:
    """The shortest end of each path that no other path has, without endings."""
    resolved = {path: PurePath(path.resolve()) for path in paths}
    names = {path: stem_of(path.name) for path in paths}
    depth = 1
    while clashing := _clashing(names):
        grown = {path: _end(resolved[path], depth + 1) for path in clashing}
        if all(grown[path] == names[path] for path in clashing):
            break
        names |= grown
        depth += 1
    return names


def _clashing(names: dict[Path, str]) -> list[Path]:
    counts = Counter(names.values())
    return [path for path, name in names.items() if counts[name] > 1]


def _end(path: PurePath, depth: int) -> str:
    *folders, name = path.parts[-depth:]
    return "_".join([*(folder.strip("/\\") for folder in folders), stem_of(name)])
