"""Which processes are set beside each other: same cycles, same rank, same process, else all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import polars as pl

from timesink.analyses.comparison.pair import Role
from timesink.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from timesink.answers.comparison.changes import Compared


MOST_CROSS_PAIRS = 64
"""Pairs of unlike processes that are all compared; of more, each process has one partner."""

_OTHER_SUFFIX = {"_decode": "", "": "_decode"}
"""A table of decode cycles goes with an unsuffixed one where the other side has no better."""


@dataclass(frozen=True, slots=True, eq=False)
class RoleMember:
    """A role of a side and what pairs it."""

    role: Role
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
    base: RoleMember
    new: RoleMember
    by_rank: bool = False


@dataclass(slots=True, eq=False)
class Pairing:
    """What was matched, and what was not."""

    matches: list[Match] = field(default_factory=list)
    left_out: list[RoleMember] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def pair_members(base: Sequence[RoleMember], new: Sequence[RoleMember]) -> Pairing:
    """Pairs of members, those of the base in order.

    Ranks are matched where every member has one.  Otherwise files of the same name and the same
    sort of cycles are; in them, and among files whose names do not meet, processes are.
    """
    pairing = _by_rank(base, new)
    if pairing is not None:
        return pairing
    pairing = Pairing()
    rest = (list(base), list(new))
    for key in (_same_file, _same_file_but_suffix, _same_suffix, _other_suffix):
        rest = _matched_groups(*rest, key, pairing)
    if not pairing.matches:
        # What was given explicitly is compared, whatever its cycles are called.
        _match_processes(list(base), list(new), pairing)
        rest = ([], [])
    pairing.left_out += [*rest[0], *rest[1]]
    return pairing


def _by_rank(base: Sequence[RoleMember], new: Sequence[RoleMember]) -> Pairing | None:
    """Pairs of the same rank; None where ranks do not tell all members apart, or do not meet."""
    sides = [_distinct_by(side, lambda one: (one.role.rank, one.suffix)) for side in (base, new)]
    if any(side is None or any(rank is None for rank, _ in side) for side in sides):
        return None
    of_base, of_new = (side or {} for side in sides)
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


# -- groups of files -------------------------------------------------------------------------------

_Key = Callable[[RoleMember, bool], Hashable]


def _same_file(member: RoleMember, is_base: bool) -> Hashable:  # noqa: ARG001, FBT001
    return member.job, member.suffix


def _same_file_but_suffix(member: RoleMember, is_base: bool) -> Hashable:  # noqa: FBT001
    return member.job, _suffix_sought(member.suffix, is_base=is_base)


def _same_suffix(member: RoleMember, is_base: bool) -> Hashable:  # noqa: ARG001, FBT001
    return member.suffix


def _other_suffix(member: RoleMember, is_base: bool) -> Hashable:  # noqa: FBT001
    return _suffix_sought(member.suffix, is_base=is_base)


def _suffix_sought(suffix: str, *, is_base: bool) -> str:
    """The suffix a partner has: the members of the base say which they look for."""
    return _OTHER_SUFFIX.get(suffix, suffix) if is_base else suffix


def _matched_groups(
    base: list[RoleMember], new: list[RoleMember], key: _Key, pairing: Pairing
) -> tuple[list[RoleMember], list[RoleMember]]:
    """Match the members of groups both sides have; what is in no such group remains."""
    of_base = _grouped(base, lambda one: key(one, True))
    of_new = _grouped(new, lambda one: key(one, False))
    common = [group for group in of_base if group in of_new]
    for group in common:
        _match_processes(of_base.pop(group), of_new.pop(group), pairing)
    return [one for members in of_base.values() for one in members], [
        one for members in of_new.values() for one in members
    ]


# -- processes -------------------------------------------------------------------------------------


def _match_processes(base: list[RoleMember], new: list[RoleMember], pairing: Pairing) -> None:
    """The same process on both sides; of the others, each with each."""
    for key in (_host_and_pid, _pid):
        of_base, of_new = _once(base, key), _once(new, key)
        common = [value for value in of_base if value in of_new]
        pairing.matches += [Match("strict", of_base[one], of_new[one]) for one in common]
        matched = {id(side[one]) for one in common for side in (of_base, of_new)}
        base = [one for one in base if id(one) not in matched]
        new = [one for one in new if id(one) not in matched]
    if base and new:
        crossed = _crossed(base, new, pairing.notes)
        pairing.matches += crossed
        met = {id(side) for one in crossed for side in (one.base, one.new)}
        pairing.left_out += [one for one in (*base, *new) if id(one) not in met]
    else:
        pairing.left_out += [*base, *new]


def _host_and_pid(member: RoleMember) -> Hashable:
    return None if member.role.host is None else (member.role.host, member.role.pid)


def _pid(member: RoleMember) -> Hashable:
    return member.role.pid


def _crossed(base: list[RoleMember], new: list[RoleMember], notes: list[str]) -> list[Match]:
    """Every process with every other, unless that is too many: then each has one partner."""
    if len(base) * len(new) <= MOST_CROSS_PAIRS:
        return [Match("cross", one, other) for one in base for other in new]
    notes.append(
        f"{len(base)} processes of one side and {len(new)} of the other do not meet: they are "
        "compared one by one in the order of their devices and numbers, not each with each; "
        "choose two with --pid BASE,NEW"
    )
    ordered = (sorted(side, key=_device_and_pid) for side in (base, new))
    return [Match("cross", one, other) for one, other in zip(*ordered, strict=False)]


def _device_and_pid(member: RoleMember) -> tuple[list[tuple[int, str]], tuple[int, str]]:
    devices = member.role.behaviour["device"].drop_nulls().cast(pl.String).unique().to_list()
    return sorted(by_number(device) for device in devices), by_number(member.role.pid)


def by_number(text: str) -> tuple[int, str]:
    """Sort key that puts process 9 before 10, and `GPU 2` before `GPU 10`."""
    digits = "".join(letter for letter in text if letter.isascii() and letter.isdigit())
    return int(digits[:20] or -1), text


# -- keys ------------------------------------------------------------------------------------------


def _grouped(
    members: Iterable[RoleMember], key: Callable[[RoleMember], Hashable]
) -> dict[Hashable, list[RoleMember]]:
    groups: defaultdict[Hashable, list[RoleMember]] = defaultdict(list)
    for member in members:
        groups[key(member)].append(member)
    return dict(groups)


def _once(
    members: Iterable[RoleMember], key: Callable[[RoleMember], Hashable]
) -> dict[Hashable, RoleMember]:
    """Members by a key that only one of them has."""
    groups = _grouped(members, key)
    return {
        value: alone
        for value, (alone, *others) in groups.items()
        if not others and value is not None
    }


def _distinct_by(
    members: Sequence[RoleMember], key: Callable[[RoleMember], tuple[int | None, str]]
) -> dict[tuple[int | None, str], RoleMember] | None:
    found = {key(member): member for member in members}
    return found if len(found) == len(members) else None


# Which of several pairs are meant: by sort of cycle, and what options tell one from the others.

CYCLE_TYPES = ("prefill", "decode", "layer", "generic")
"""Sorts of cycles that can be asked for; `generic` are those whose file names no sort."""


def check_cycle_type(asked: str | None) -> None:
    """Refuse a sort of cycle that does not exist."""
    if asked is not None and asked not in CYCLE_TYPES:
        raise UsageError(
            f"cycle_type {asked}: no such sort of cycle", f"there are {', '.join(CYCLE_TYPES)}"
        )


def members_of_type(members: Sequence[RoleMember], asked: str | None) -> list[RoleMember]:
    """The roles whose cycles are of a sort; at least one."""
    if asked is None:
        return list(members)
    fitting = [one for one in members if asked in _types([one.suffix], [one.role])]
    if not fitting:
        raise _none_fits(asked, (_types([one.suffix], [one.role]) for one in members))
    return fitting


def pairs_of_type(pairing: Pairing, asked: str | None) -> Pairing:
    """The pairs of a sort of cycle, and what of that sort has no partner; at least one pair."""
    if asked is None or not pairing.matches:
        return pairing
    matches = [one for one in pairing.matches if asked in _types_of_match(one)]
    if not matches:
        raise _none_fits(asked, map(_types_of_match, pairing.matches))
    alone = [one for one in pairing.left_out if asked in _types([one.suffix], [one.role])]
    return Pairing(matches, alone, pairing.notes)


def _types_of_match(match: Match) -> set[str]:
    return _types([match.base.suffix, match.new.suffix], [match.base.role, match.new.role])


def _types(suffixes: Sequence[str], roles: Sequence[Role]) -> set[str]:
    """Under which sorts the cycles go; without a name of their own, decode cycles under two."""
    named = {suffix.removeprefix("_") for suffix in suffixes if suffix}
    if named:
        return named
    return {"generic", *(["decode"] if any(map(_is_decode, roles)) else [])}


def _is_decode(role: Role) -> bool:
    return set(role.behaviour["cycle_type"].cast(pl.String).unique()) == {"decode"}


def _none_fits(asked: str, known: Iterable[set[str]]) -> NotFoundError:
    there = sorted(set[str]().union(*known), key=CYCLE_TYPES.index)
    return NotFoundError(f"no {asked} cycles to compare", f"there are {', '.join(there)}")


# -- one of several --------------------------------------------------------------------------------

_Choices = dict[str, str]
"""What to ask for, by option."""


def one_of(pairs: Sequence[Compared]) -> _Choices:
    """The fewest options that tell every pair from the others, with the values of one pair.

    Empty where none do.
    """
    named = [_told_by(one) for one in pairs]
    order = sorted(named, key=lambda one: "decode" not in one.get("cycles", ()))
    for count in (1, 2):
        for options in combinations(("cycles", "rank", "pid"), count):
            if order and all(_is_alone(one, named, options) for one in order):
                return {option: order[0][option][0] for option in options}
    return {}


def _told_by(one: Compared) -> dict[str, tuple[str, ...]]:
    """What a pair can be asked for by; the first value is the one to name."""
    base, new = one.pair.base, one.pair.new
    types = _types([one.suffix], [base, new])
    told = {
        "cycles": tuple(sorted(types)),
        "pid": (base.pid if base.pid == new.pid else f"{base.pid},{new.pid}",),
    }
    if base.rank is not None and base.rank == new.rank:
        told["rank"] = (str(base.rank),)
    return told


def _is_alone(
    one: dict[str, tuple[str, ...]],
    every: Sequence[dict[str, tuple[str, ...]]],
    options: Sequence[str],
) -> bool:
    if not all(option in one for option in options):
        return False
    fitting = [
        other for other in every if all(one[key][0] in other.get(key, ()) for key in options)
    ]
    return len(fitting) == 1


def as_options(choices: _Choices) -> str:
    """Choices as one types them."""
    return " ".join(f"--{option} {value}" for option, value in choices.items())


def as_arguments(choices: _Choices) -> str:
    """Choices as `timesink.compare` takes them."""
    forms = {"cycles": 'cycle_type="{}"', "pid": 'pid="{}"', "rank": "rank={}"}
    return ", ".join(forms[option].format(value) for option, value in choices.items())
