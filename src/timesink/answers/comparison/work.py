"""The work of a comparison: sides are read, processes paired, pairs and sets of ranks compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.analyses.kernels.peaks import peaks_named
from timesink.analyses.ranks import RankSet
from timesink.analyses.ranks.reading import read_ranks, set_of_traces
from timesink.analyses.statistics.repeats import TimedRun, timed_runs
from timesink.answers.comparison import rank_sets
from timesink.answers.comparison.pairing import (
    VERSION,
    Compared,
    Match,
    ProcessMember,
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
    expand_paths,
    runs_of_ab,
    timed_sides,
)
from timesink.answers.comparison.report import (
    Comparison,
    check_pids,
    chosen,
    join_cases,
    label_roles,
    members_of,
    only_device,
)
from timesink.comparison import inputs
from timesink.comparison.gate.baseline_store import is_reference
from timesink.comparison.inputs import ProcessedRun, SideReadOptions
from timesink.comparison.prefetch import CycleSearch
from timesink.comparison.reading import Runs, read_sides, recorded_otherwise
from timesink.comparison.steps.verdict import compare_roles
from timesink.errors import NotFoundError, TimesinkError, UsageError
from timesink.formats import Progress
from timesink.model.diagnosis import SIDES
from timesink.model.trace import Trace
from timesink.model.units import join_names
from timesink.output.names import told_apart
from timesink.runtime.engine import Engine, engine_of
from timesink.sources.ab_folder import is_ab, read_ab

if TYPE_CHECKING:
    from timesink.comparison.gate.baseline_store import Baseline


_Case = tuple[Comparison, list[ProcessMember]]
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
    """Device time per step of those with a timeline."""
    detect_pct: float | None = None
    """What these were made for; None of others."""

    def compared_cases(self, cases: Sequence[inputs.CaseFolder], first: Path) -> _Case:
        """Every case; one that cannot be compared is named, and the others stand."""
        done: list[Comparison] = []
        roles: list[ProcessMember] = []
        failures: list[TimesinkError] = []
        for case in cases:
            identifier = case_identifier(case.folder, first)
            try:
                base, new = (inputs.find_side(side, self.rank) for side in (case.base, case.new))
                comparison, members = self.compared(base, new, ("normal", "abnormal"), identifier)
            except TimesinkError as error:
                failures.append(error)
            else:
                done.append(comparison)
                roles += members
        if not done:
            raise failures[0]
        return join_cases(done, [error.message for error in failures]), roles

    def explored(self, run_sides: Sequence[inputs.RunInput]) -> Comparison:
        """Every role of every path, distinguished by how it behaves."""
        # Only many roles need this.
        from timesink.comparison.exploration.groups import explore  # noqa: PLC0415

        sources = {source.key: source for side in run_sides for source in side.sources}
        (runs,), noted, _ = read_sides(self.runs, [list(sources.values())])
        every = members_of(runs, ignore_hosts=self.ignore_hosts)
        wanted = set(self.pids) - {None}
        members = [
            member
            for member in chosen(every, self.pids[0], self.rank)
            if not wanted or member.role.pid in wanted
        ]
        members = members_of_type(members, self.cycle_type)
        if len(members) < 2:
            raise UsageError(
                f"{run_sides[0].path}: holds one role, and there is nothing to compare it with",
                inputs.WHAT_COMPARES,
            )
        notes = (*(note for side in run_sides for note in side.notes), *noted)
        exploration = explore(label_roles(members))
        return Comparison((), (), exploration.roles, exploration, notes)

    def compared(
        self, base: inputs.RunInput, new: inputs.RunInput, names: tuple[str, str], identifier: str
    ) -> _Case:
        """Two runs, and what their sides are called."""
        rank_changes, noted = None, list[str]()
        are_sets = self._are_sets(base, new)
        large = max(len(base.sources), len(new.sources)) > rank_sets.ALL_PAIRS
        if are_sets and large:
            # So many ranks that only some of them are compared in full.
            rank_changes, noted = rank_sets.compared_sets(lambda: map(self._ranks, (base, new)))
        if rank_changes is not None:
            few = rank_sets.representatives(rank_changes)
            base, new = (
                rank_sets.only_ranks(base, rank_changes.base, few),
                rank_sets.only_ranks(new, rank_changes.new, few),
            )
            noted.append(rank_sets.chosen_note(rank_changes, few))
        (ours, theirs), of_reading, unread = read_sides(self.runs, [base.sources, new.sources])
        of_base, of_new = (
            [
                self._program_of(member)
                for member in members_of(runs, ignore_hosts=self.ignore_hosts)
            ]
            for runs in (ours, theirs)
        )
        check_pids(of_base, of_new, self.pids)
        pick_base, pick_new = (
            chosen(members, pid, self.rank)
            for members, pid in zip((of_base, of_new), self.pids, strict=True)
        )
        are_single = all(
            len({(member.role.host, member.role.pid) for member in members}) == 1
            for members in (pick_base, pick_new)
        )
        if self.timed is not None:
            if not are_single:
                raise UsageError(f"{identifier}: several processes in a run", ONE_PROCESS)
            pick_base, pick_new = (
                [
                    replace(
                        member,
                        role=replace(member.role, plain=tuple(timed), device_runs_ns=device_ns),
                    )
                    for member in members
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
            rank_changes, noted = rank_sets.compared_sets(
                lambda: map(self._ranks, (base, new), (ours, theirs))
            )
        unpaired = sorted(
            {f"{member.job}{member.suffix} pid {member.role.pid}" for member in pairing.left_out}
        )
        plain = names == SIDES and are_single
        comparison = Comparison(
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
                *(() if rank_changes is None else rank_changes.notes),
                *([f"{inputs.UNPAIRED}: {join_names(unpaired)}"] if unpaired else []),
            ),
            files_left_out=(*base.left_out, *new.left_out, *unread),
            roles_left_out=tuple(unpaired),
            ranks=rank_changes,
        )
        return comparison, [*of_base, *of_new]

    def _program_of(self, member: ProcessMember) -> ProcessMember:
        """A member whose program lacks what is to be ignored."""
        program = member.role.program
        if self.ignore is None or program is None:
            return member
        return replace(member, role=replace(member.role, program=program.without(self.ignore)))

    def _ranks(self, side: inputs.RunInput, runs: Sequence[ProcessedRun] = ()) -> RankSet:
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

    def _are_sets(self, base: inputs.RunInput, new: inputs.RunInput) -> bool:
        one_is_meant = self.rank is not None or any(pid is not None for pid in self.pids)
        has_baseline = any(map(self.runs.was_kept, (*base.sources, *new.sources)))
        return not one_is_meant and not has_baseline and rank_sets.may_be_sets(base, new)


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
    stems = told_apart(
        [file_stem(*name_and_match) for name_and_match in zip(names_of, matches, strict=True)],
        VERSION,
    )
    for match, pair_name, stem in zip(matches, names_of, stems, strict=True):
        base, new = names if plain else side_labels(match, names)
        pair = compare_roles(
            replace(match.base.role, label=base),
            replace(match.new.role, label=new),
            match.kind,
            detect_pct=detect_pct,
        )
        yield Compared(pair_name, match.base.suffix, pair, stem)


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
    such cases.  More, or `explore`, are roles to be distinguished.  `pid` is one process, or two as
    `"1,2"` for base and new; `device` keeps the tables of one device, `cycle_type` the pairs of one
    sort of cycle: `prefill`, `decode`, `layer`, or `generic` for those without such a name.
    `marker`, `by` and `metric_map` are those of `timesink.behaviour`, for recordings.  `"@NAME"` is
    a baseline of `store`, as `timesink baseline save` keeps them.  Folders with the ranks of a run
    are compared as a whole too (`ranks`); calls whose names `ignore`, a regular expression, finds
    are no part of the program; `peaks` are those of the devices, as of `timesink.analyze`.
    `engine` and `ray_address` say where ranks are read.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> same.headline.startswith("No change in step time")
    True
    """
    if explore and against:
        raise UsageError(
            "--explore tells paths apart, and --against compares two sides", "leave out one of them"
        )
    if peaks is not None:
        # What cannot be read is said before all the rest is.
        peaks_named("", peaks)
    opened = [_open_source(source, store) for source in sources]
    several = [_open_source(source, store) for source in against]
    repeated = _repeated_runs(opened, several, rank)
    opened += several
    baselines = [source for source in opened if not isinstance(source, Path | Trace)]
    run_inputs = [source if isinstance(source, Path | Trace) else source.side for source in opened]
    inputs.check_given(run_inputs)
    check_cycle_type(cycle_type)
    finding = _cycle_search(
        baselines,
        CycleSearch(marker, by, metric_map),
        only_baselines=len(baselines) == len(run_inputs),
    )
    runs_by_key: dict[object, ProcessedRun] = {
        run.source.key: run for baseline in baselines for run in baseline.runs
    }
    work = ComparisonWork(
        Runs(SideReadOptions(cache, jobs, progress, finding), runs_by_key),
        _pids(pid),
        rank,
        ignore_hosts,
        cycle_type,
        lambda: engine_of(engine, jobs=jobs, address=ray_address),
        _ignore_pattern(ignore),
    )
    cases = [
        inputs.find_cases(run_input) if isinstance(run_input, Path) else []
        for run_input in run_inputs
    ]
    if repeated is not None:
        comparison = _compared_repeats(work, repeated)
    elif explore or (len(run_inputs) != 2 and not all(cases)):
        comparison = work.explored([inputs.side_of(run_input, rank) for run_input in run_inputs])
    else:
        if any(cases):
            for run_input, input_cases in zip(run_inputs, cases, strict=True):
                if not input_cases:
                    raise UsageError(
                        f"{inputs.path_of(run_input)}: no case, but the other path holds a "
                        "normal and an "
                        "abnormal run",
                        "give two runs, or only cases; --explore takes everything together",
                    )
            distinct = {
                case.folder.resolve(): case for input_cases in cases for case in input_cases
            }
            comparison, members = work.compared_cases(
                list(distinct.values()), inputs.path_of(run_inputs[0])
            )
        else:
            base, new = (inputs.side_of(run_input, rank) for run_input in run_inputs)
            identifier = pair_identifier(base.path, new.path)
            comparison, members = work.compared(base, new, SIDES, identifier)
        comparison = replace(comparison, roles=label_roles(members))
    result = replace(
        comparison,
        pairs=tuple(replace(pair, peaks=peaks) for pair in comparison.pairs),
        sources=tuple(inputs.source_of(run_input) for run_input in run_inputs),
        notes=tuple(dict.fromkeys(comparison.notes)),
        files_left_out=tuple(dict.fromkeys(comparison.files_left_out)),
        roles_left_out=tuple(dict.fromkeys(comparison.roles_left_out)),
    )
    return result if device is None else only_device(result, str(device))


def _repeated_runs(
    sources: Sequence[Path | Trace | Baseline],
    against: Sequence[Path | Trace | Baseline],
    rank: int | None,
) -> RepeatedRuns | None:
    """Several runs of either side, where such are given."""
    first = sources[0] if sources else None
    if len(sources) == 1 and not against and isinstance(first, Path) and is_ab(first):
        return runs_of_ab(first)
    if against:
        base, new = _side_of(sources, rank), _side_of(against, rank)
        shared = {run.path.resolve() for run in base.runs} & {
            run.path.resolve() for run in new.runs
        }
        if shared:
            raise UsageError(f"{min(shared)}: is on both sides", "give each run once")
        # Runs that were made until they decided are judged so, however they are named.
        folders = {run.path.resolve().parents[1] for run in (*base.runs, *new.runs)}
        ab_folder = folders.pop() if len(folders) == 1 else None
        detect = (
            read_ab(ab_folder).detect_pct if ab_folder is not None and is_ab(ab_folder) else None
        )
        return RepeatedRuns(base, new, detect)
    baselines = [
        source for source in sources if not isinstance(source, Path | Trace) and source.timed
    ]
    if len(sources) == 2 and baselines:
        return RepeatedRuns(_side_of(sources[:1], rank), _side_of(sources[1:], rank))
    return None


def _side_of(sources: Sequence[Path | Trace | Baseline], rank: int | None) -> RepeatedSide:
    """Runs of one side: recordings, or a baseline."""
    paths = [source for source in sources if isinstance(source, Path)]
    if len(paths) == len(sources):
        runs = distinct(expand_paths(paths))
        return RepeatedSide(tuple(inputs.find_side(path, rank) for path in runs))
    if len(sources) > 1 or isinstance(sources[0], Path):
        raise UsageError(
            "a side is one baseline or open trace, or paths of recordings",
            "give BASE runs, then --against and NEW runs",
        )
    if isinstance(sources[0], Trace):
        return RepeatedSide((inputs.side_of_trace(sources[0]),))
    side, recorded = sources[0].side, sources[0].runs[0].recorded
    timed = sources[0].timed or timed_runs(recorded, str(side.path))
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
    comparison, members = work.compared(base.leading, new.leading, SIDES, identifier)
    return replace(comparison, roles=label_roles(members), notes=(*notes, *comparison.notes))


def _ignore_pattern(pattern: str | None) -> re.Pattern[str] | None:
    """Names that are no part of the program."""
    try:
        return None if pattern is None else re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"--ignore {pattern}: no regular expression: {error}", "write --ignore 'name|other'"
        ) from error


def _open_source(
    source: str | Path | Trace | Baseline, store: str | Path | None
) -> Path | Trace | Baseline:
    """What a source is: a path, something that is open already, or a baseline of a store."""
    if isinstance(source, str) and is_reference(source):
        # Most comparisons are of recordings alone.
        from timesink.answers.comparison.baselines import load_baseline  # noqa: PLC0415

        return load_baseline(source, store)
    return Path(source) if isinstance(source, (str, Path)) else source


def _cycle_search(
    baselines: Sequence[Baseline], search: CycleSearch, *, only_baselines: bool
) -> CycleSearch:
    """How cycles are looked for: as asked, which baselines must fit, else as baselines were.

    Nothing can be looked for in baselines again: those of other cycles than the first are refused.
    """
    ways = [baseline.finding_for(search) for baseline in baselines]
    for other in baselines[1:]:
        pairs = product(baselines[0].runs, other.runs)
        if not all(run.unit.is_that_of(another.unit) for run, another in pairs):
            named = [
                f"{baseline.side.path} ({baseline.units_said})"
                for baseline in (baselines[0], other)
            ]
            raise UsageError(
                f"{' and '.join(named)}: these baselines were saved with other steps",
                "save one of them again, with the --marker or --by of the other",
            )
    return CycleSearch() if only_baselines else next((way for way in ways if way.says_unit), search)


def _pids(pid: str | int | None) -> tuple[str | None, str | None]:
    """The process of either side: `1,2` names one of each."""
    if pid is None:
        return None, None
    names = [name.strip() for name in str(pid).split(",")]
    if len(names) > 2 or not all(names):
        raise UsageError(f"--pid {pid}: not one process, nor two", "write --pid 12 or --pid 12,34")
    return names[0], names[-1]
