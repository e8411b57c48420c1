"""Which processes are set beside each other, and what they and their files are called."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path, PurePath

import msgspec
import polars as pl

from timesink.comparison.inputs import stem_of
from timesink.comparison.results import Pair, Process
from timesink.comparison.thresholds import PairingLimits
from timesink.errors import NotFoundError, UsageError
from timesink.model.units import join_names, natural
from timesink.output.names import told_apart
from timesink.patterns import regex
from timesink.recorder.processes import safe_text

CYCLE_TYPES = ("prefill", "decode", "layer", "generic")
"""Sorts of cycles that can be asked for; `generic` are those whose file names no sort."""

_OTHER_SUFFIX = {"_decode": "", "": "_decode"}
"""A table of decode cycles goes with an unsuffixed one where the other side has no better."""


class Pairing(msgspec.Struct, eq=False):
    """What was matched, and what was not."""

    pairs: list[Pair] = msgspec.field(default_factory=list)
    left_out: list[Process] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)


def pair_processes(base: Sequence[Process], new: Sequence[Process]) -> Pairing:
    """Pairs of members, those of the base in order.

    Ranks are matched where every member has one.  Otherwise files of the same name and the same
    sort of cycles are; in them, and among files whose names do not meet, processes are.
    """
    pairing = _by_rank(base, new)
    if pairing is not None:
        return pairing
    pairing = Pairing()
    rest = (list(base), list(new))
    for by_file, sought in product((True, False), ({}, _OTHER_SUFFIX)):
        # Members of the base say which suffix they look for.
        of_base, of_new = (
            _group_members(
                side,
                [
                    (member.job if by_file else "", named.get(member.suffix, member.suffix))
                    for member in side
                ],
            )
            for side, named in zip(rest, (sought, {}), strict=True)
        )
        for group in [group for group in of_base if group in of_new]:
            _match_processes(of_base.pop(group), of_new.pop(group), pairing)
        rest = (
            [member for members in of_base.values() for member in members],
            [member for members in of_new.values() for member in members],
        )
    if not pairing.pairs:
        # What was given explicitly is compared, whatever its cycles are called.
        _match_processes(list(base), list(new), pairing)
        rest = ([], [])
    pairing.left_out += [*rest[0], *rest[1]]
    return pairing


def _by_rank(base: Sequence[Process], new: Sequence[Process]) -> Pairing | None:
    """Pairs of the same rank; None where ranks do not tell all members apart, or do not meet."""
    of_base, of_new = (
        {(member.rank, member.suffix): member for member in side} for side in (base, new)
    )
    if len(of_base) < len(base) or len(of_new) < len(new):
        return None
    if any(rank is None for rank, _ in (*of_base, *of_new)):
        return None
    pairing = Pairing()
    for suffixes in ({}, _OTHER_SUFFIX):
        for rank, suffix in list(of_base):
            partner = of_new.pop((rank, suffixes.get(suffix, suffix)), None)
            if partner is not None:
                match = Pair("strict", of_base.pop((rank, suffix)), partner, by_rank=True)
                pairing.pairs.append(match)
    pairing.pairs.sort(key=lambda match: (match.base.rank or 0, match.base.suffix))
    pairing.left_out = [*of_base.values(), *of_new.values()]
    return pairing if pairing.pairs else None


def _match_processes(base: list[Process], new: list[Process], pairing: Pairing) -> None:
    """The same process on both sides; of the others, each with each."""
    for with_host in (True, False):
        of_base, of_new = _once(base, with_host=with_host), _once(new, with_host=with_host)
        common = [value for value in of_base if value in of_new]
        pairing.pairs += [Pair("strict", of_base[key], of_new[key]) for key in common]
        matched = {id(side[key]) for key in common for side in (of_base, of_new)}
        base = [member for member in base if id(member) not in matched]
        new = [member for member in new if id(member) not in matched]
    crossed = _cross_matches(base, new, pairing.notes)
    pairing.pairs += crossed
    met = {id(side) for match in crossed for side in (match.base, match.new)}
    pairing.left_out += [member for member in (*base, *new) if id(member) not in met]


def _once(members: Sequence[Process], *, with_host: bool) -> dict[Hashable, Process]:
    """Members by host and process, or by process alone, which only one of them has."""
    keys = [(member.host if with_host else "", member.pid) for member in members]
    return {
        key: member
        for key, (member, *rest) in _group_members(members, keys).items()
        if not rest and not (with_host and member.host is None)
    }


def _group_members(
    members: Iterable[Process], keys: Iterable[Hashable]
) -> dict[Hashable, list[Process]]:
    groups: defaultdict[Hashable, list[Process]] = defaultdict(list)
    for member, key in zip(members, keys, strict=True):
        groups[key].append(member)
    return dict(groups)


def _cross_matches(base: list[Process], new: list[Process], notes: list[str]) -> list[Pair]:
    """Every process with every other, unless that is too many: then each has one partner."""
    if len(base) * len(new) <= PairingLimits.max_cross_pairs:
        return [Pair("cross", member, other) for member in base for other in new]
    notes.append(
        f"{len(base)} processes of one side and {len(new)} of the other do not meet: they are "
        "compared one by one in the order of their devices and numbers, not each with each; "
        "choose two with --pid BASE,NEW"
    )
    ordered = (sorted(side, key=_device_and_pid) for side in (base, new))
    return [Pair("cross", member, other) for member, other in zip(*ordered, strict=False)]


def _device_and_pid(member: Process) -> tuple[list[list[tuple[int, str]]], object]:
    devices = member.behaviour["device"].drop_nulls().cast(pl.String).unique().to_list()
    return sorted(map(natural, devices)), natural(member.pid)


# -- which processes are meant: by number, rank and step type --------------------------------------


def check_pids(
    base: Sequence[Process], new: Sequence[Process], pids: tuple[str | None, str | None]
) -> None:
    """Refuse a process that is not there: one for both sides on either, one of two on its own."""
    for side, pid in zip((base, new), pids, strict=True):
        side_pids = {member.pid for member in ((*base, *new) if pids[0] == pids[1] else side)}
        if pid is not None and pid not in side_pids:
            there = join_names(sorted(side_pids, key=natural))
            raise NotFoundError(f"{side[0].source}: no process {pid}", f"there are {there}")


def chosen(members: Sequence[Process], pid: str | None, rank: int | None) -> list[Process]:
    """The members that fit, None is every one; all where the process is one of the other side."""
    of_rank = [member for member in members if rank in (None, member.rank)]
    if not of_rank:
        ranks = sorted({member.rank for member in members if member.rank is not None})
        hint = f"it has {', '.join(map(str, ranks[:8]))}" if ranks else "no file names its rank"
        raise NotFoundError(f"{members[0].source}: no rank {rank}", hint)
    of_pid = [member for member in of_rank if pid in (None, member.pid)]
    return of_pid or of_rank


def check_cycle_type(cycle_type: str | None) -> None:
    """Refuse a sort of cycle that does not exist."""
    if cycle_type is not None and cycle_type not in CYCLE_TYPES:
        raise UsageError(
            f"cycle_type {cycle_type}: no such step type", f"there are {', '.join(CYCLE_TYPES)}"
        )


def processes_of_type(members: Sequence[Process], cycle_type: str | None) -> list[Process]:
    """The roles whose cycles are of a sort; at least one."""
    if cycle_type is None:
        return list(members)
    types = [step_types([member.suffix], [member]) for member in members]
    return [members[place] for place in _fitting_places(cycle_type, types)]


def pairs_of_type(pairing: Pairing, cycle_type: str | None) -> Pairing:
    """The pairs of a sort of cycle, and what of that sort has no partner; at least one pair."""
    if cycle_type is None or not pairing.pairs:
        return pairing
    types = [
        step_types([match.base.suffix, match.new.suffix], [match.base, match.new])
        for match in pairing.pairs
    ]
    unpaired = [
        member for member in pairing.left_out if cycle_type in step_types([member.suffix], [member])
    ]
    matches = [pairing.pairs[place] for place in _fitting_places(cycle_type, types)]
    return Pairing(matches, unpaired, pairing.notes)


def _fitting_places(cycle_type: str, types: Sequence[set[str]]) -> list[int]:
    """Places where a sort of cycle is among the others; refused where there is none."""
    places = [place for place, type_set in enumerate(types) if cycle_type in type_set]
    if not places:
        there = sorted(set[str]().union(*types), key=CYCLE_TYPES.index)
        raise NotFoundError(f"no {cycle_type} steps to compare", f"there are {', '.join(there)}")
    return places


def step_types(suffixes: Sequence[str], roles: Sequence[Process]) -> set[str]:
    """Which types the steps are of; without a name of their own, decode steps are of two."""
    named = {suffix.removeprefix("_") for suffix in suffixes if suffix}
    if named:
        return named
    kinds = [set(role.behaviour["cycle_type"].cast(pl.String).unique()) for role in roles]
    return {"generic", *(["decode"] if {"decode"} in kinds else [])}


# -- what comparisons, their sides and their files are called --------------------------------------

VERSUS = " vs "
"""What stands between the names of two runs."""
VERSION = "_v"
"""What tells a second file, or role, of the same name apart: `run_v2`."""
_UNSAFE = regex(r"[^A-Za-z0-9_.-]")


def case_identifier(case: Path, first: Path) -> str:
    """A case by its place below the parent of the first path given; by its name elsewhere."""
    if case.is_relative_to(first):
        # `.` has a name as well.
        name = first.resolve().name if first.name in {"", ".."} else first.name
        return safe_text((Path(name) / case.relative_to(first)).as_posix())
    case, root = case.resolve(), first.resolve().parent
    return safe_text(case.relative_to(root).as_posix() if case.is_relative_to(root) else case.name)


def pair_identifier(base: Path, new: Path) -> str:
    """Two paths by the last part in which they differ."""
    ours, theirs = _parts(base), _parts(new)
    differing = [places for places in zip(ours, theirs, strict=False) if places[0] != places[1]]
    name, other = differing[0] if differing else (ours[0], theirs[0])
    if name == other and base.name != new.name:
        name, other = base.name, new.name
    return safe_text(f"{name}{VERSUS}{other}")


def _parts(path: Path) -> list[str]:
    """Parts of a path from the last to the first."""
    last, *parents = reversed(path.resolve().parts)
    return [stem_of(last) if not path.is_dir() else last, *parents]


def side_labels(match: Pair, names: tuple[str, str]) -> tuple[str, str]:
    """What the sides of a pair are called: plainly, or with the process where they differ."""
    if match.kind == "strict":
        return names
    base, new = match.base, match.new
    if base.pid == new.pid and base.host != new.host:
        return f"{names[0]}_{base.host}_pid_{base.pid}", f"{names[1]}_{new.host}_pid_{new.pid}"
    return f"{names[0]}_pid_{base.pid}", f"{names[1]}_pid_{new.pid}"


def file_stem(identifier: str, match: Pair) -> str:
    """Name of the files of a pair, without an ending."""
    start = f"{identifier}{match.base.suffix}"
    base, new = match.base, match.new
    if match.by_rank:
        return safe(f"{start}_rank{base.rank}_strict_comparison")
    if match.kind == "strict":
        return safe(f"{start}_pid{base.pid}_strict_comparison")
    return safe(f"{start}_n_pid{base.pid}_vs_a_pid{new.pid}_cross_comparison")


def pair_identifiers(identifier: str, matches: Sequence[Pair]) -> list[str]:
    """What each of several pairs is called: with its file or host where numbers are shared."""
    names = [identifier] * len(matches)
    # The file, or those of both sides where they are called otherwise; then the host.
    files = [VERSUS.join(dict.fromkeys((match.base.job, match.new.job))) for match in matches]
    for told_by in (files, [match.base.host or "unnamed host" for match in matches]):
        stems = [file_stem(name, match) for name, match in zip(names, matches, strict=True)]
        groups: defaultdict[str, set[str]] = defaultdict(set)
        for stem, label in zip(stems, told_by, strict=True):
            groups[stem].add(label)
        shared = {stem for stem, labels in groups.items() if len(labels) > 1}
        if any(VERSUS in label for stem in shared for label in groups[stem]):
            shared = set(groups)  # one pair by its files and another without would be odd
        for place, (stem, more) in enumerate(zip(stems, told_by, strict=True)):
            if stem in shared:
                # Files of both sides say all of it, unless they are of a case.
                is_enough = VERSUS in names[place] and VERSUS in more
                names[place] = more if is_enough else f"{names[place]} {more}"
    return [safe_text(name) for name in names]


def safe(name: str) -> str:
    """A name every file system takes."""
    return _UNSAFE.sub("_", name)


def label_roles(members: Sequence[Process]) -> tuple[Process, ...]:
    """The roles under names of their own, in the order of these; a role of both sides once."""
    distinct = {
        (member.origin, member.host, member.pid, member.suffix): member for member in members
    }
    every = list(distinct.values())
    named = zip(every, role_labels(every), strict=True)
    roles = [replace(member, label=label) for member, label in named]
    return tuple(sorted(roles, key=lambda role: role.label))


def role_labels(members: Sequence[Process]) -> list[str]:
    """`<file>_<host>_<pid>` for each role; files of the same name by their folders as well.

    Every role says which file it is of: a process number alone tells nobody where to look.
    """
    files = _distinct_files(sorted({Path(member.source) for member in members}))
    labels = []
    for member in members:
        file = files[Path(member.source)]
        suffix = "" if file.endswith(member.suffix) else member.suffix
        words = [f"{file}{suffix}", *([member.host] if member.host else []), member.pid]
        labels.append(safe_text("_".join(words)))
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
