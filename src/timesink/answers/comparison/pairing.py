"""Which processes are set beside each other, and what they and their files are called."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import polars as pl

from timesink.comparison.inputs import stem_of
from timesink.comparison.results import Pair, ProcessSteps
from timesink.errors import NotFoundError, UsageError
from timesink.model.units import natural
from timesink.output.names import told_apart
from timesink.recorder.processes import safe_text

if TYPE_CHECKING:
    from timesink.comparison.steps.efficiency import EfficiencyChange
    from timesink.model.diagnosis import Diagnosis, Expectation

MAX_CROSS_PAIRS = 64
"""Pairs of unlike processes that are all compared; of more, each process has one partner."""

CYCLE_TYPES = ("prefill", "decode", "layer", "generic")
"""Sorts of cycles that can be asked for; `generic` are those whose file names no sort."""

SORTS_OF_CYCLES = {"_prefill": "prefill steps", "_decode": "decode steps", "_layer": "layers"}
"""What steps are called that a suffix names."""

_OTHER_SUFFIX = {"_decode": "", "": "_decode"}
"""A table of decode cycles goes with an unsuffixed one where the other side has no better."""


@dataclass(frozen=True, slots=True, eq=False)
class ProcessMember:
    """A role of a side and what pairs it."""

    role: ProcessSteps
    job: str
    """Name of the file it comes from."""
    suffix: str
    """Which cycles it holds."""
    origin: Hashable = None
    """What it was read from: the same for a role that is on both sides."""


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """Two members to compare."""

    kind: str
    """`strict`: the same process or rank; `cross`: different ones."""
    base: ProcessMember
    new: ProcessMember
    by_rank: bool = False


@dataclass(slots=True, eq=False)
class Pairing:
    """What was matched, and what was not."""

    matches: list[Match] = field(default_factory=list)
    left_out: list[ProcessMember] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def pair_members(base: Sequence[ProcessMember], new: Sequence[ProcessMember]) -> Pairing:
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
    if not pairing.matches:
        # What was given explicitly is compared, whatever its cycles are called.
        _match_processes(list(base), list(new), pairing)
        rest = ([], [])
    pairing.left_out += [*rest[0], *rest[1]]
    return pairing


def _by_rank(base: Sequence[ProcessMember], new: Sequence[ProcessMember]) -> Pairing | None:
    """Pairs of the same rank; None where ranks do not tell all members apart, or do not meet."""
    of_base, of_new = (
        {(member.role.rank, member.suffix): member for member in side} for side in (base, new)
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
                match = Match("strict", of_base.pop((rank, suffix)), partner, by_rank=True)
                pairing.matches.append(match)
    pairing.matches.sort(key=lambda match: (match.base.role.rank or 0, match.base.suffix))
    pairing.left_out = [*of_base.values(), *of_new.values()]
    return pairing if pairing.matches else None


def _match_processes(base: list[ProcessMember], new: list[ProcessMember], pairing: Pairing) -> None:
    """The same process on both sides; of the others, each with each."""
    for with_host in (True, False):
        of_base, of_new = _once(base, with_host=with_host), _once(new, with_host=with_host)
        common = [value for value in of_base if value in of_new]
        pairing.matches += [Match("strict", of_base[key], of_new[key]) for key in common]
        matched = {id(side[key]) for key in common for side in (of_base, of_new)}
        base = [member for member in base if id(member) not in matched]
        new = [member for member in new if id(member) not in matched]
    crossed = _cross_matches(base, new, pairing.notes)
    pairing.matches += crossed
    met = {id(side) for match in crossed for side in (match.base, match.new)}
    pairing.left_out += [member for member in (*base, *new) if id(member) not in met]


def _once(members: Sequence[ProcessMember], *, with_host: bool) -> dict[Hashable, ProcessMember]:
    """Members by host and process, or by process alone, which only one of them has."""
    keys = [(member.role.host if with_host else "", member.role.pid) for member in members]
    return {
        key: member
        for key, (member, *rest) in _group_members(members, keys).items()
        if not rest and not (with_host and member.role.host is None)
    }


def _group_members(
    members: Iterable[ProcessMember], keys: Iterable[Hashable]
) -> dict[Hashable, list[ProcessMember]]:
    groups: defaultdict[Hashable, list[ProcessMember]] = defaultdict(list)
    for member, key in zip(members, keys, strict=True):
        groups[key].append(member)
    return dict(groups)


def _cross_matches(
    base: list[ProcessMember], new: list[ProcessMember], notes: list[str]
) -> list[Match]:
    """Every process with every other, unless that is too many: then each has one partner."""
    if len(base) * len(new) <= MAX_CROSS_PAIRS:
        return [Match("cross", member, other) for member in base for other in new]
    notes.append(
        f"{len(base)} processes of one side and {len(new)} of the other do not meet: they are "
        "compared one by one in the order of their devices and numbers, not each with each; "
        "choose two with --pid BASE,NEW"
    )
    ordered = (sorted(side, key=_device_and_pid) for side in (base, new))
    return [Match("cross", member, other) for member, other in zip(*ordered, strict=False)]


def _device_and_pid(member: ProcessMember) -> tuple[list[list[tuple[int, str]]], object]:
    devices = member.role.behaviour["device"].drop_nulls().cast(pl.String).unique().to_list()
    return sorted(map(natural, devices)), natural(member.role.pid)


# -- which of several pairs are meant: by sort of cycle, and options that tell them apart ----------


def check_cycle_type(cycle_type: str | None) -> None:
    """Refuse a sort of cycle that does not exist."""
    if cycle_type is not None and cycle_type not in CYCLE_TYPES:
        raise UsageError(
            f"cycle_type {cycle_type}: no such step type", f"there are {', '.join(CYCLE_TYPES)}"
        )


def members_of_type(
    members: Sequence[ProcessMember], cycle_type: str | None
) -> list[ProcessMember]:
    """The roles whose cycles are of a sort; at least one."""
    if cycle_type is None:
        return list(members)
    types = [_types([member.suffix], [member.role]) for member in members]
    return [members[place] for place in _fitting_places(cycle_type, types)]


def pairs_of_type(pairing: Pairing, cycle_type: str | None) -> Pairing:
    """The pairs of a sort of cycle, and what of that sort has no partner; at least one pair."""
    if cycle_type is None or not pairing.matches:
        return pairing
    types = [
        _types([match.base.suffix, match.new.suffix], [match.base.role, match.new.role])
        for match in pairing.matches
    ]
    unpaired = [
        member
        for member in pairing.left_out
        if cycle_type in _types([member.suffix], [member.role])
    ]
    matches = [pairing.matches[place] for place in _fitting_places(cycle_type, types)]
    return Pairing(matches, unpaired, pairing.notes)


def _fitting_places(cycle_type: str, types: Sequence[set[str]]) -> list[int]:
    """Places where a sort of cycle is among the others; refused where there is none."""
    places = [place for place, type_set in enumerate(types) if cycle_type in type_set]
    if not places:
        there = sorted(set[str]().union(*types), key=CYCLE_TYPES.index)
        raise NotFoundError(f"no {cycle_type} steps to compare", f"there are {', '.join(there)}")
    return places


def _types(suffixes: Sequence[str], roles: Sequence[ProcessSteps]) -> set[str]:
    """Under which sorts the cycles go; without a name of their own, decode cycles under two."""
    named = {suffix.removeprefix("_") for suffix in suffixes if suffix}
    if named:
        return named
    kinds = [set(role.behaviour["cycle_type"].cast(pl.String).unique()) for role in roles]
    return {"generic", *(["decode"] if {"decode"} in kinds else [])}


@dataclass(frozen=True, eq=False)
class Compared:
    """Two roles beside each other, and what their comparison is called."""

    identifier: str
    """What was compared: `SGLang/gpu_instability`, `normal vs gpu_clock`."""
    suffix: str
    """Which cycles: `_prefill`, `_decode`, `_layer`, or empty."""
    pair: Pair
    file_stem: str
    """Name of its files, without an ending."""
    full_pair: Pair | None = None
    """The pair of all devices, where `pair` holds the tables of one."""
    peaks: str | None = None
    """What efficiency is compared with, where the user says it."""
    expected: Expectation | None = None
    """Of the second side, where somebody knows."""

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Whether cycles changed, where the time went, and why."""
        # Tables of numbers do not wait for this.
        from timesink.comparison.causes.diagnosis import diagnose  # noqa: PLC0415

        return diagnose(self.full_pair or self.pair, self.expected)

    @cached_property
    def efficiency(self) -> EfficiencyChange | None:
        """What both sides compute and move; None where neither recorded shapes."""
        from timesink.comparison.steps.efficiency import efficiency_change  # noqa: PLC0415

        return efficiency_change(self.full_pair or self.pair, self.peaks)

    @property
    def cycles(self) -> str:
        """Which cycles, in words: `decode steps`; empty where there are no others."""
        return SORTS_OF_CYCLES.get(self.suffix, "")

    @property
    def title(self) -> str:
        """What was compared, and which cycles of it, in words."""
        return f"{self.identifier}, {self.cycles}" if self.cycles else self.identifier

    @property
    def check_name(self) -> str:
        """What its check of step time is called in test reports: a key, which does not change."""
        sort = self.cycles.replace("steps", "cycles")
        return f"cycle time of {self.identifier}{sort and f', {sort}'}"


_Choices = dict[str, str]
"""What to ask for, by option."""


def one_of(pairs: Sequence[Compared]) -> _Choices:
    """The fewest options that tell every pair from the others, with the values of one pair.

    Empty where none do.
    """
    named = [_told_by(pair) for pair in pairs]
    order = sorted(named, key=lambda choices: "decode" not in choices.get("cycles", ()))
    for count in (1, 2):
        for options in combinations(("cycles", "rank", "pid"), count):
            fitting = [
                sum(
                    all(choices[key][0] in other.get(key, ()) for key in options) for other in named
                )
                for choices in order
                if all(option in choices for option in options)
            ]
            if order and fitting == [1] * len(order):
                return {option: order[0][option][0] for option in options}
    return {}


def _told_by(pair: Compared) -> dict[str, tuple[str, ...]]:
    """What a pair can be asked for by; the first value is the one to name."""
    base, new = pair.pair.base, pair.pair.new
    values = {
        "cycles": tuple(sorted(_types([pair.suffix], [base, new]))),
        "pid": (base.pid if base.pid == new.pid else f"{base.pid},{new.pid}",),
    }
    if base.rank is not None and base.rank == new.rank:
        values["rank"] = (str(base.rank),)
    return values


def as_options(choices: _Choices) -> str:
    """Choices as one types them."""
    return " ".join(f"--{option} {value}" for option, value in choices.items())


def as_arguments(choices: _Choices) -> str:
    """Choices as `timesink.compare` takes them."""
    forms = {"cycles": 'cycle_type="{}"', "pid": 'pid="{}"', "rank": "rank={}"}
    return ", ".join(forms[option].format(value) for option, value in choices.items())


# -- what comparisons, their sides and their files are called --------------------------------------

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
    files = [VERSUS.join(dict.fromkeys((match.base.job, match.new.job))) for match in matches]
    for told_by in (files, [match.base.role.host or "unnamed host" for match in matches]):
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
    names, titles = [processes(pair.pair) for pair in pairs], [pair.title for pair in pairs]
    if len(set(titles)) == 1:
        return names
    if len(set(titles)) == len(pairs):
        return titles
    return [f"{title}, {name}" for title, name in zip(titles, names, strict=True)]


def safe(name: str) -> str:
    """A name every file system takes."""
    return _UNSAFE.sub("_", name)


def role_labels(members: Sequence[ProcessMember]) -> list[str]:
    """`<file>_<host>_<pid>` for each role; files of the same name by their folders as well.

    Every role says which file it is of: a process number alone tells nobody where to look.
    """
    files = _distinct_files(sorted({Path(member.role.source) for member in members}))
    labels = []
    for member in members:
        role, file = member.role, files[Path(member.role.source)]
        suffix = "" if file.endswith(member.suffix) else member.suffix
        words = [f"{file}{suffix}", *([role.host] if role.host else []), role.pid]
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
