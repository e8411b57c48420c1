"""The work of a comparison: sides are read, processes paired, pairs and sets of ranks compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from timesink.analyses.comparison.pair import Pair, key_findings
from timesink.analyses.comparison.verdict import compare_roles
from timesink.analyses.ranks.changes import RankChanges
from timesink.answers.comparison.baseline_stores import is_reference
from timesink.answers.comparison.changes import Compared
from timesink.answers.comparison.inputs import (
    WHAT_COMPARES,
    Given,
    all_cases,
    check_given,
    finding_for,
    is_for_exploring,
    known_runs,
    one_pid,
    path_of,
    read_sides,
    side_of,
    source_of,
)
from timesink.answers.comparison.kept_runs import Runs, recorded_otherwise
from timesink.answers.comparison.naming import (
    RoleChoice,
    case_identifier,
    check_pids,
    chosen,
    file_stem,
    match_identifiers,
    members_of,
    pair_identifier,
    side_labels,
    told_apart,
)
from timesink.answers.comparison.pairing import (
    Match,
    Pairing,
    RoleMember,
    check_cycle_type,
    members_of_type,
    pair_members,
    pairs_of_type,
)
from timesink.answers.comparison.rank_sets import (
    Sets,
    are_large,
    chosen_note,
    compared_sets,
    may_be_sets,
    only_ranks,
    representatives,
)
from timesink.answers.comparison.report import CaseResult, Comparison, joined, labelled
from timesink.answers.comparison.runs import CycleSearch, SideReadOptions
from timesink.answers.comparison.sides import ALONE, CaseFolder, RunSide, find_cases, find_side
from timesink.errors import NotFoundError, TimesinkError, UsageError
from timesink.formats.options import Progress
from timesink.model.trace import Trace
from timesink.model.units import listed
from timesink.runtime.engine import Engine, engine_of

if TYPE_CHECKING:
    from timesink.answers.comparison.baseline_content import Baseline


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
        from timesink.analyses.clustering.groups import explore  # noqa: PLC0415

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


# `timesink.compare`: which runs are meant, and what changed between them.


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
        Runs(SideReadOptions(cache, jobs, progress, finding), known_runs(given)),
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
    return whole if device is None else only_device(whole, str(device))


def only_device(comparison: Comparison, asked: str) -> Comparison:
    """The comparison with the rows of one device; what cycles and work come to is of the whole."""
    from timesink.answers.comparison.values import is_device  # noqa: PLC0415 - few ask for one

    tables = [table for one in comparison.all_pairs for table in (one.pair.rows, one.pair.times)]
    known = {str(name) for table in tables for name in table["device"].drop_nulls().unique()}
    wanted = [name for name in sorted(known) if is_device(name, asked)]
    if not wanted:
        raise NotFoundError(
            f"--device {asked}: no such device", f"there are {', '.join(sorted(known))}"
        )
    pairs = tuple(
        replace(one, pair=_of_devices(one.pair, wanted), whole=one.whole or one.pair)
        for one in comparison.pairs
    )
    exploration = comparison.exploration
    if exploration is not None:
        peers = tuple(_of_devices(pair, wanted) for pair in exploration.pairs)
        exploration = replace(exploration, pairs=peers)
    return replace(comparison, pairs=pairs, exploration=exploration)


def _of_devices(pair: Pair, wanted: list[str]) -> Pair:
    is_wanted = pl.col("device").cast(pl.String).is_in(wanted)
    rows = pair.rows.filter(is_wanted)
    return replace(
        pair,
        rows=rows,
        known_rows=None if pair.known_rows is None else pair.known_rows.filter(is_wanted),
        times=pair.times.filter(is_wanted),
        families=pair.families.filter(is_wanted),
        findings=key_findings(rows),
        equal_work=None if pair.equal_work is None else _of_devices(pair.equal_work, wanted),
    )


def given_by(source: str | Path | Trace | Baseline, store: str | Path | None) -> Given:
    """What a source is: a path, something that is open already, or a baseline of a store."""
    if isinstance(source, str) and is_reference(source):
        # Most comparisons are of recordings alone.
        from timesink.answers.comparison.baselines import load_baseline  # noqa: PLC0415

        return load_baseline(source, store)
    return Path(source) if isinstance(source, (str, Path)) else source
