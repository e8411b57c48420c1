"""The work of a comparison: sides are read, processes paired, pairs and sets of ranks compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.analyses.comparison.verdict import compare_roles
from timesink.analyses.kernels.peaks import peaks_named
from timesink.analyses.ranks import RankSet
from timesink.analyses.statistics.repeats import TimedRun, timed_runs
from timesink.answers.ahead import CycleSearch
from timesink.answers.comparison import rank_sets, sides
from timesink.answers.comparison.baseline_store import is_reference
from timesink.answers.comparison.kept_runs import Runs, read_sides, recorded_otherwise
from timesink.answers.comparison.pairing import (
    VERSION,
    Compared,
    Match,
    RoleMember,
    case_identifier,
    check_cycle_type,
    file_stem,
    match_identifiers,
    members_of_type,
    pair_identifier,
    pair_members,
    pairs_of_type,
    side_labels,
)
from timesink.answers.comparison.repeated import (
    ONE_PROCESS,
    RepeatedRuns,
    RepeatedSide,
    device_times,
    distinct,
    expanded,
    runs_of_ab,
    timed_sides,
)
from timesink.answers.comparison.report import (
    Comparison,
    check_pids,
    chosen,
    joined,
    labelled,
    members_of,
    only_device,
)
from timesink.answers.comparison.sides import SideReadOptions, SideRun
from timesink.answers.rank_reading import read_ranks, set_of_traces
from timesink.errors import NotFoundError, TimesinkError, UsageError
from timesink.formats import Progress
from timesink.model.diagnosis import SIDES
from timesink.model.trace import Trace
from timesink.model.units import listed
from timesink.output.names import told_apart
from timesink.runtime.engine import Engine, engine_of
from timesink.sources.ab_folder import is_ab, read_ab

if TYPE_CHECKING:
    from timesink.answers.comparison.baseline_store import Baseline


_Case = tuple[Comparison, list[RoleMember]]
"""What came of some of the sources, and every role that was read for it."""


@dataclass(frozen=True, slots=True)
class ComparisonWork:
    """Reading, pairing and comparing, as the options say."""

    runs: Runs
    pids: tuple[str | None, str | None]
    """The process of either side; None is every one."""
    rank: int | None
    ignore_hosts: bool
    cycle_type: str | None
    engine: Callable[[], Engine]
    """Where many ranks are summarised."""
    ignore: re.Pattern[str] | None = None
    """Calls that are no part of the program."""
    timed: tuple[Sequence[TimedRun], Sequence[TimedRun]] | None = None
    """Cycles of several runs of either side."""
    device_ns: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    """Device time per cycle of those with a timeline."""
    detect_pct: float | None = None
    """What these were made for; None of others."""

    def compared_cases(self, cases: Sequence[sides.CaseFolder], first: Path) -> _Case:
        """Every case; one that cannot be compared is named, and the others stand."""
        done: list[Comparison] = []
        roles: list[RoleMember] = []
        failures: list[TimesinkError] = []
        for case in cases:
            identifier = case_identifier(case.folder, first)
            try:
                base, new = (sides.find_side(side, self.rank) for side in (case.base, case.new))
                found, members = self.compared(base, new, ("normal", "abnormal"), identifier)
            except TimesinkError as error:
                failures.append(error)
            else:
                done.append(found)
                roles += members
        if not done:
            raise failures[0]
        return joined(done, [error.message for error in failures]), roles

    def explored(self, given: Sequence[sides.RunSide]) -> Comparison:
        """Every role of every path, told apart by how it behaves."""
        # Only many roles need this.
        from timesink.analyses.comparison.role_groups import explore  # noqa: PLC0415

        sources = {source.key: source for side in given for source in side.sources}
        (runs,), noted, _ = read_sides(self.runs, [list(sources.values())])
        every = members_of(runs, ignore_hosts=self.ignore_hosts)
        wanted = set(self.pids) - {None}
        members = [
            one
            for one in chosen(every, self.pids[0], self.rank)
            if not wanted or one.role.pid in wanted
        ]
        members = members_of_type(members, self.cycle_type)
        if len(members) < 2:
            raise UsageError(
                f"{given[0].path}: holds one role, and there is nothing to compare it with",
                sides.WHAT_COMPARES,
            )
        notes = (*(note for side in given for note in side.notes), *noted)
        found = explore(labelled(members))
        return Comparison((), (), found.roles, found, notes)

    def compared(
        self, base: sides.RunSide, new: sides.RunSide, names: tuple[str, str], identifier: str
    ) -> _Case:
        """Two runs, and what their sides are called."""
        whole, noted = None, list[str]()
        are_sets = self._are_sets(base, new)
        large = max(len(base.sources), len(new.sources)) > rank_sets.ALL_PAIRS
        if are_sets and large:
            # So many ranks that only some of them are compared in full.
            whole, noted = rank_sets.compared_sets(lambda: map(self._ranks, (base, new)))
        if whole is not None:
            few = rank_sets.representatives(whole)
            base, new = (
                rank_sets.only_ranks(base, whole.base, few),
                rank_sets.only_ranks(new, whole.new, few),
            )
            noted.append(rank_sets.chosen_note(whole, few))
        (ours, theirs), of_reading, unread = read_sides(self.runs, [base.sources, new.sources])
        of_base, of_new = (
            [self._program_of(one) for one in members_of(runs, ignore_hosts=self.ignore_hosts)]
            for runs in (ours, theirs)
        )
        check_pids(of_base, of_new, self.pids)
        pick_base, pick_new = (
            chosen(members, pid, self.rank)
            for members, pid in zip((of_base, of_new), self.pids, strict=True)
        )
        are_single = all(
            len({(one.role.host, one.role.pid) for one in members}) == 1
            for members in (pick_base, pick_new)
        )
        if self.timed is not None:
            if not are_single:
                raise UsageError(f"{identifier}: several processes in a run", ONE_PROCESS)
            pick_base, pick_new = (
                [
                    replace(
                        one, role=replace(one.role, plain=tuple(timed), device_runs_ns=device_ns)
                    )
                    for one in members
                ]
                for members, timed, device_ns in zip(
                    (pick_base, pick_new), self.timed, self.device_ns, strict=True
                )
            )
        pairing = pairs_of_type(pair_members(pick_base, pick_new), self.cycle_type)
        if not pairing.matches:
            raise NotFoundError(
                f"{identifier}: no process of one side has a partner on the other",
                "compare two files, or try --explore",
            )
        if are_sets and not large:
            whole, noted = rank_sets.compared_sets(
                lambda: map(self._ranks, (base, new), (ours, theirs))
            )
        alone = sorted({f"{one.job}{one.suffix} pid {one.role.pid}" for one in pairing.left_out})
        plain = names == SIDES and are_single
        found = Comparison(
            (),
            tuple(_pairs(pairing.matches, names, identifier, self.detect_pct, plain=plain)),
            (),
            notes=(
                *base.notes,
                *new.notes,
                *of_reading,
                *recorded_otherwise(ours, theirs),
                *pairing.notes,
                *noted,
                *(() if whole is None else whole.notes),
                *([f"{sides.ALONE}: {listed(alone)}"] if alone else []),
            ),
            files_left_out=(*base.left_out, *new.left_out, *unread),
            roles_left_out=tuple(alone),
            ranks=whole,
        )
        return found, [*of_base, *of_new]

    def _program_of(self, member: RoleMember) -> RoleMember:
        """A member whose program lacks what is to be ignored."""
        program = member.role.program
        if self.ignore is None or program is None:
            return member
        return replace(member, role=replace(member.role, program=program.without(self.ignore)))

    def _ranks(self, side: sides.RunSide, runs: Sequence[SideRun] = ()) -> RankSet:
        """The ranks of a side, each summarised where the engine says.

        Of recordings that were opened and are not in the cache, nobody reads them twice.
        """
        reading = self.runs.reading
        traces = {run.source.recording.worker: run.trace for run in runs if run.trace is not None}
        if traces and not reading.cache and len(traces) == len(side.sources):
            return set_of_traces([source.recording for source in side.sources], traces)
        recordings = [source.recording for source in side.sources]
        return read_ranks(
            recordings, engine=self.engine(), cache=reading.cache, progress=reading.progress
        )

    def _are_sets(self, base: sides.RunSide, new: sides.RunSide) -> bool:
        one_is_meant = self.rank is not None or any(pid is not None for pid in self.pids)
        kept = any(map(self.runs.was_kept, (*base.sources, *new.sources)))
        return not one_is_meant and not kept and rank_sets.may_be_sets(base, new)


def _pairs(
    matches: Sequence[Match],
    names: tuple[str, str],
    identifier: str,
    detect_pct: float | None,
    *,
    plain: bool,
) -> Iterator[Compared]:
    """Every pair compared; `plain` names of sides do not say the process."""
    names_of = match_identifiers(identifier, matches)
    stems = told_apart([file_stem(*one) for one in zip(names_of, matches, strict=True)], VERSION)
    for match, own, stem in zip(matches, names_of, stems, strict=True):
        base, new = names if plain else side_labels(match, names)
        pair = compare_roles(
            replace(match.base.role, label=base),
            replace(match.new.role, label=new),
            match.kind,
            detect_pct=detect_pct,
        )
        yield Compared(own, match.base.suffix, pair, stem)


# -- which runs are meant, and what changed between them ------------------------------------------


def compare(
    *sources: str | Path | Trace | Baseline,
    against: Sequence[str | Path | Trace | Baseline] = (),
    pid: str | int | None = None,
    rank: int | None = None,
    device: str | int | None = None,
    cycle_type: str | None = None,
    marker: str | None = None,
    by: str | None = None,
    metric_map: str | Path | None = None,
    explore: bool = False,
    ignore_hosts: bool = False,
    ignore: str | None = None,
    store: str | Path | None = None,
    peaks: str | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
    engine: str | Engine = "local",
    ray_address: str | None = None,
) -> Comparison:
    """What changed between two runs, or how many roles differ.

    Two sources are the base and the new run: recordings, folders of them, or behaviour tables.
    `against` are runs of the new side, where all others are runs of the base; patterns stand for
    several.  A folder of `timesink ab` holds runs of both.
    One is a folder with both sides (`normal_perf_data` and `abnormal_perf_data`), or with several
    such cases.  More, or `explore`, are roles to be told apart.  `pid` is one process, or two as
    `"1,2"` for base and new; `device` keeps the tables of one device, `cycle_type` the pairs of one
    sort of cycle: `prefill`, `decode`, `layer`, or `generic` for those without such a name.
    `marker`, `by` and `metric_map` are those of `timesink.behaviour`, for recordings.  `"@NAME"` is
    a baseline of `store`, as `timesink baseline save` keeps them.  Folders with the ranks of a run
    are compared as a whole too (`ranks`); calls whose names `ignore`, a regular expression, finds
    are no part of the program; `peaks` are those of the devices, as of `timesink.analyze`.
    `engine` and `ray_address` say where ranks are read.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> same.headline.startswith("The recorded calls are the same.")
    True
    """
    if explore and against:
        raise UsageError(
            "--explore tells paths apart, and --against compares two sides", "leave out one of them"
        )
    if peaks is not None:
        # What cannot be read is said before all the rest is.
        peaks_named("", peaks)
    opened = [_opened(one, store) for one in sources]
    several = [_opened(one, store) for one in against]
    repeated = _repeated(opened, several, rank)
    opened += several
    kept = [one for one in opened if not isinstance(one, Path | Trace)]
    given = [one if isinstance(one, Path | Trace) else one.side for one in opened]
    sides.check_given(given)
    check_cycle_type(cycle_type)
    finding = _finding(kept, CycleSearch(marker, by, metric_map), alone=len(kept) == len(given))
    known: dict[object, SideRun] = {run.source.key: run for one in kept for run in one.runs}
    work = ComparisonWork(
        Runs(SideReadOptions(cache, jobs, progress, finding), known),
        _pids(pid),
        rank,
        ignore_hosts,
        cycle_type,
        lambda: engine_of(engine, jobs=jobs, address=ray_address),
        _ignored(ignore),
    )
    cases = [sides.find_cases(one) if isinstance(one, Path) else [] for one in given]
    if repeated is not None:
        found = _compared_repeats(work, repeated)
    elif explore or (len(given) != 2 and not all(cases)):
        found = work.explored([sides.side_of(one, rank) for one in given])
    else:
        if any(cases):
            for one, own in zip(given, cases, strict=True):
                if not own:
                    raise UsageError(
                        f"{sides.path_of(one)}: no case, but the other path holds a normal and an "
                        "abnormal run",
                        "give two runs, or only cases; --explore takes everything together",
                    )
            distinct = {case.folder.resolve(): case for own in cases for case in own}
            found, members = work.compared_cases(list(distinct.values()), sides.path_of(given[0]))
        else:
            base, new = (sides.side_of(one, rank) for one in given)
            identifier = pair_identifier(base.path, new.path)
            found, members = work.compared(base, new, SIDES, identifier)
        found = replace(found, roles=labelled(members))
    whole = replace(
        found,
        pairs=tuple(replace(one, peaks=peaks) for one in found.pairs),
        sources=tuple(sides.source_of(one) for one in given),
        notes=tuple(dict.fromkeys(found.notes)),
        files_left_out=tuple(dict.fromkeys(found.files_left_out)),
        roles_left_out=tuple(dict.fromkeys(found.roles_left_out)),
    )
    return whole if device is None else only_device(whole, str(device))


def _repeated(
    given: Sequence[Path | Trace | Baseline],
    against: Sequence[Path | Trace | Baseline],
    rank: int | None,
) -> RepeatedRuns | None:
    """Several runs of either side, where such are given."""
    first = given[0] if given else None
    if len(given) == 1 and not against and isinstance(first, Path) and is_ab(first):
        return runs_of_ab(first)
    if against:
        base, new = _side_of(given, rank), _side_of(against, rank)
        shared = {one.path.resolve() for one in base.runs} & {
            one.path.resolve() for one in new.runs
        }
        if shared:
            raise UsageError(f"{min(shared)}: is on both sides", "give each run once")
        # Runs that were made until they decided are judged so, however they are named.
        folders = {one.path.resolve().parents[1] for one in (*base.runs, *new.runs)}
        made = folders.pop() if len(folders) == 1 else None
        detect = read_ab(made).detect_pct if made is not None and is_ab(made) else None
        return RepeatedRuns(base, new, detect)
    kept = [one for one in given if not isinstance(one, Path | Trace) and one.timed]
    if len(given) == 2 and kept:
        return RepeatedRuns(_side_of(given[:1], rank), _side_of(given[1:], rank))
    return None


def _side_of(given: Sequence[Path | Trace | Baseline], rank: int | None) -> RepeatedSide:
    """Runs of one side: recordings, or a baseline."""
    paths = [one for one in given if isinstance(one, Path)]
    if len(paths) == len(given):
        runs = distinct(expanded(paths))
        return RepeatedSide(tuple(sides.find_side(one, rank) for one in runs))
    if len(given) > 1 or isinstance(given[0], Path):
        raise UsageError(
            "a side is one baseline or open trace, or paths of recordings",
            "give BASE runs, then --against and NEW runs",
        )
    if isinstance(given[0], Trace):
        return RepeatedSide((sides.side_of_trace(given[0]),))
    side, recorded = given[0].side, given[0].runs[0].recorded
    timed = given[0].timed or timed_runs(recorded, str(side.path))
    return RepeatedSide((side,), side, timed)


def _compared_repeats(work: ComparisonWork, repeated: RepeatedRuns) -> Comparison:
    base, new, notes = timed_sides(repeated, work.runs)
    work = replace(
        work,
        timed=(base.timed, new.timed),
        device_ns=device_times(repeated, work.runs),
        detect_pct=repeated.detect_pct,
    )
    identifier = pair_identifier(base.leading.path, new.leading.path)
    found, members = work.compared(base.leading, new.leading, SIDES, identifier)
    return replace(found, roles=labelled(members), notes=(*notes, *found.notes))


def _ignored(pattern: str | None) -> re.Pattern[str] | None:
    """Names that are no part of the program."""
    try:
        return None if pattern is None else re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"--ignore {pattern}: no regular expression: {error}", "write --ignore 'name|other'"
        ) from error


def _opened(
    source: str | Path | Trace | Baseline, store: str | Path | None
) -> Path | Trace | Baseline:
    """What a source is: a path, something that is open already, or a baseline of a store."""
    if isinstance(source, str) and is_reference(source):
        # Most comparisons are of recordings alone.
        from timesink.answers.comparison.baselines import load_baseline  # noqa: PLC0415

        return load_baseline(source, store)
    return Path(source) if isinstance(source, (str, Path)) else source


def _finding(kept: Sequence[Baseline], asked: CycleSearch, *, alone: bool) -> CycleSearch:
    """How cycles are looked for: as asked, which baselines must fit, else as baselines were.

    Nothing can be looked for in baselines again: those of other cycles than the first are refused.
    """
    ways = [one.finding_for(asked) for one in kept]
    for other in kept[1:]:
        pairs = product(kept[0].runs, other.runs)
        if not all(one.unit.is_that_of(another.unit) for one, another in pairs):
            named = [f"{one.side.path} ({one.units_said})" for one in (kept[0], other)]
            raise UsageError(
                f"{' and '.join(named)}: these baselines were saved with other cycles",
                "save one of them again, with the --marker or --by of the other",
            )
    return CycleSearch() if alone else next((way for way in ways if way.says_unit), asked)


def _pids(pid: str | int | None) -> tuple[str | None, str | None]:
    """The process of either side: `1,2` names one of each."""
    if pid is None:
        return None, None
    names = [name.strip() for name in str(pid).split(",")]
    if len(names) > 2 or not all(names):
        raise UsageError(f"--pid {pid}: not one process, nor two", "write --pid 12 or --pid 12,34")
    return names[0], names[-1]
