"""The work of a comparison: sides are read, processes paired, pairs and sets of ranks compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from timesink.analyses.comparison.comparing import compare_roles
from timesink.analyses.ranks.changes.comparing import RankChanges
from timesink.errors import NotFoundError, TimesinkError, UsageError
from timesink.model.units import listed
from timesink.reports.comparison.choosing import members_of_type, pairs_of_type
from timesink.reports.comparison.found import CaseResult, joined, labelled
from timesink.reports.comparison.given import WHAT_COMPARES
from timesink.reports.comparison.members import RoleChoice, check_pids, chosen, members_of
from timesink.reports.comparison.naming import (
    case_identifier,
    file_stem,
    match_identifiers,
    pair_identifier,
    side_labels,
    told_apart,
)
from timesink.reports.comparison.pairing import Match, Pairing, RoleMember, pair_members
from timesink.reports.comparison.rank_sets import (
    Sets,
    are_large,
    chosen_note,
    compared_sets,
    may_be_sets,
    only_ranks,
    representatives,
)
from timesink.reports.comparison.reading import read_sides
from timesink.reports.comparison.recorded_otherwise import recorded_otherwise
from timesink.reports.comparison.report import Compared
from timesink.reports.comparison.runs import CycleSearch, Runs
from timesink.reports.comparison.sides import ALONE, CaseFolder, RunSide, find_side

SIDES = ("base", "new")
"""What two runs are called that are no case."""


@dataclass(frozen=True, slots=True)
class ComparisonWork:
    """Reading, pairing and comparing, as the options say."""

    runs: Runs
    of_base: RoleChoice
    of_new: RoleChoice
    finding: CycleSearch
    cycle_type: str | None
    sets: Sets

    def compared_sides(self, base: RunSide, new: RunSide) -> CaseResult:
        """Two runs."""
        identifier = pair_identifier(base.path, new.path)
        return self._compared(base, new, SIDES, identifier)

    def compared_cases(self, cases: Sequence[CaseFolder], first: Path) -> CaseResult:
        """Every case; one that cannot be compared is named, and the others stand."""
        done: list[CaseResult] = []
        failures: list[TimesinkError] = []
        for case in cases:
            identifier = case_identifier(case.folder, first)
            try:
                base, new = (find_side(side, self.of_base.rank) for side in (case.base, case.new))
                done.append(self._compared(base, new, ("normal", "abnormal"), identifier))
            except TimesinkError as error:
                failures.append(error)
        if not done:
            raise failures[0]
        return joined(done, [error.message for error in failures])

    def explored(self, sides: Sequence[RunSide]) -> CaseResult:
        """Every role of every path, told apart by how it behaves."""
        # Only many roles need this.
        from timesink.analyses.clustering.exploring import explore  # noqa: PLC0415

        sources = {source.key: source for side in sides for source in side.sources}
        read = read_sides(self.runs, self.finding, [list(sources.values())])
        members = chosen(members_of(read.sides[0], self.of_base), self.of_base)
        members = members_of_type(self._of_pid(members), self.cycle_type)
        if len(members) < 2:
            raise UsageError(
                f"{sides[0].path}: holds one role, and there is nothing to compare it with",
                WHAT_COMPARES,
            )
        noted = [note for side in sides for note in side.notes]
        exploration = explore(labelled(members))
        return CaseResult((), tuple(members), (*noted, *read.notes), exploration)

    def _of_pid(self, members: list[RoleMember]) -> list[RoleMember]:
        wanted = {self.of_base.pid, self.of_new.pid} - {None}
        return [one for one in members if not wanted or one.role.pid in wanted]

    def _compared(
        self, base: RunSide, new: RunSide, names: tuple[str, str], identifier: str
    ) -> CaseResult:
        whole, noted = self._whole_first(base, new)
        if whole is not None:
            few = representatives(whole)
            base, new = only_ranks(base, whole.base, few), only_ranks(new, whole.new, few)
            noted.append(chosen_note(whole, few))
        read = read_sides(self.runs, self.finding, [base.sources, new.sources])
        ours, theirs = read.sides
        sides = members_of(ours, self.of_base), members_of(theirs, self.of_new)
        check_pids(*sides, (self.of_base, self.of_new))
        base_members, new_members = chosen(sides[0], self.of_base), chosen(sides[1], self.of_new)
        alone = _is_one_process(base_members) and _is_one_process(new_members)
        pairing = pairs_of_type(pair_members(base_members, new_members), self.cycle_type)
        if not pairing.matches:
            raise NotFoundError(
                f"{identifier}: no process of one side has a partner on the other",
                "compare two files, or try --explore",
            )
        alone_there = _without_partner(pairing)
        if whole is None and self._are_sets(base, new) and not are_large(base, new):
            sides_read = ((base, ours), (new, theirs))
            whole, noted = compared_sets(lambda: (self.sets.of_runs(*one) for one in sides_read))
        return CaseResult(
            tuple(_pairs(pairing.matches, names, identifier, plain=names == SIDES and alone)),
            (*sides[0], *sides[1]),
            (
                *base.notes,
                *new.notes,
                *read.notes,
                *recorded_otherwise(ours, theirs),
                *pairing.notes,
                *noted,
                *(() if whole is None else whole.notes),
                *([f"{ALONE}: {listed(alone_there)}"] if alone_there else []),
            ),
            files_left_out=(*base.left_out, *new.left_out, *read.left_out),
            roles_left_out=tuple(alone_there),
            ranks=whole,
        )

    def _whole_first(self, base: RunSide, new: RunSide) -> tuple[RankChanges | None, list[str]]:
        """Two runs of so many ranks that only some of them are compared in full."""
        if not (self._are_sets(base, new) and are_large(base, new)):
            return None, []
        return compared_sets(lambda: (self.sets.read(side) for side in (base, new)))

    def _are_sets(self, base: RunSide, new: RunSide) -> bool:
        one_is_meant = any(
            choice.rank is not None or choice.pid is not None
            for choice in (self.of_base, self.of_new)
        )
        sources = (*base.sources, *new.sources)
        kept = any(map(self.runs.was_kept, sources))
        return not one_is_meant and not kept and may_be_sets(base, new)


# -- pairs -----------------------------------------------------------------------------------------


def _pairs(
    matches: Sequence[Match], names: tuple[str, str], identifier: str, *, plain: bool
) -> Iterable[Compared]:
    """Every pair compared; `plain` names of sides do not say the process."""
    names_of = match_identifiers(identifier, matches)
    stems = told_apart([file_stem(*one) for one in zip(names_of, matches, strict=True)])
    for match, own, stem in zip(matches, names_of, stems, strict=True):
        base, new = names if plain else side_labels(match, names)
        pair = compare_roles(
            replace(match.base.role, label=base), replace(match.new.role, label=new), match.kind
        )
        yield Compared(own, match.base.suffix, pair, stem)


def _is_one_process(members: Sequence[RoleMember]) -> bool:
    return len({(one.role.host, one.role.pid) for one in members}) == 1


def _without_partner(pairing: Pairing) -> list[str]:
    return sorted({f"{one.job}{one.suffix} pid {one.role.pid}" for one in pairing.left_out})
