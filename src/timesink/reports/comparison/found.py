"""What comparing some of the sources came to, and several of such answers as one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from timesink.analyses.comparison.role import Role
from timesink.reports.comparison.naming import role_labels, told_apart
from timesink.reports.comparison.pairing import RoleMember
from timesink.reports.comparison.report import Compared
from timesink.reports.comparison.sides import LEFT_OUT

if TYPE_CHECKING:
    from timesink.analyses.clustering.exploration import Exploration
    from timesink.analyses.ranks.changes.comparing import RankChanges


@dataclass(frozen=True, slots=True, eq=False)
class CaseResult:
    """What came of some of the sources."""

    pairs: tuple[Compared, ...]
    members: tuple[RoleMember, ...]
    notes: tuple[str, ...]
    exploration: Exploration | None = None
    cases_left_out: tuple[str, ...] = ()
    files_left_out: tuple[str, ...] = ()
    roles_left_out: tuple[str, ...] = ()
    ranks: RankChanges | None = None

    @property
    def roles(self) -> tuple[Role, ...]:
        """Every role under a name of its own."""
        if self.exploration is not None:
            return self.exploration.roles
        return tuple(labelled(self.members))


def labelled(members: Sequence[RoleMember]) -> list[Role]:
    """The roles under names of their own, in the order of these; a role of both sides once."""
    distinct = list({_same_role(one): one for one in members}.values())
    roles = [
        replace(one.role, label=label)
        for one, label in zip(distinct, role_labels(distinct), strict=True)
    ]
    return sorted(roles, key=lambda role: role.label)


def _same_role(member: RoleMember) -> tuple[Hashable, ...]:
    return member.origin, member.role.host, member.role.pid, member.suffix


def joined(done: Sequence[CaseResult], failures: Sequence[str]) -> CaseResult:
    """Several cases as one answer; `failures` say why others could not be compared."""
    several = len(done) > 1
    notes = [
        f"{one.pairs[0].identifier}: {note}" if several else note
        for one in done
        for note in one.notes
    ]
    pairs = [pair for one in done for pair in one.pairs]
    stems = told_apart([pair.file_stem for pair in pairs])
    sets = [one.ranks for one in done if one.ranks is not None]
    return CaseResult(
        tuple(replace(pair, file_stem=stem) for pair, stem in zip(pairs, stems, strict=True)),
        tuple(member for one in done for member in one.members),
        (*notes, *(f"{LEFT_OUT}{failure}" for failure in failures)),
        cases_left_out=tuple(failures),
        files_left_out=tuple(file for one in done for file in one.files_left_out),
        roles_left_out=tuple(
            f"{one.pairs[0].identifier}: {role}" if several else role
            for one in done
            for role in one.roles_left_out
        ),
        # Of several cases each is a run of its own.
        ranks=sets[0] if len(sets) == len(done) == 1 else None,
    )
