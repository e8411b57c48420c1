"""Which of several pairs are meant: by sort of cycle, and what options tell one from the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import polars as pl

from timesink.analyses.comparison.role import Role
from timesink.errors import NotFoundError, UsageError
from timesink.reports.comparison.pairing import Match, Pairing, RoleMember

if TYPE_CHECKING:
    from timesink.reports.comparison.report import Compared

CYCLE_TYPES = ("prefill", "decode", "layer", "generic")
"""Sorts of cycles that can be asked for; `generic` are those whose file names no sort."""


def check_cycle_type(asked: str | None) -> None:
    """Refuse a sort of cycle that does not exist.

    >>> check_cycle_type("decode")
    """
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

    >>> one_of([])
    {}
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
    """Choices as one types them.

    >>> as_options({"cycles": "decode", "pid": "7"})
    '--cycles decode --pid 7'
    """
    return " ".join(f"--{option} {value}" for option, value in choices.items())


def as_arguments(choices: _Choices) -> str:
    """Choices as `timesink.compare` takes them.

    >>> as_arguments({"cycles": "decode", "rank": "7"})
    'cycle_type="decode", rank=7'
    """
    forms = {"cycles": 'cycle_type="{}"', "pid": 'pid="{}"', "rank": "rank={}"}
    return ", ".join(forms[option].format(value) for option, value in choices.items())
