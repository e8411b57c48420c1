"""What changed between runs: sides are read, processes paired, and pairs compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from string import ascii_lowercase

import msgspec
import polars as pl

from timesink.analyses.kernels.peaks import peaks_named
from timesink.analyses.ranks.rank_set import RankSet
from timesink.analyses.ranks.reading import read_ranks, set_of_traces
from timesink.comparison import inputs, rank_changes
from timesink.comparison.gate.baseline_store import Baseline, is_reference, load_baseline
from timesink.comparison.inputs import LEFT_OUT, SideReadOptions
from timesink.comparison.pairing import (
    VERSION,
    case_identifier,
    check_cycle_type,
    check_pids,
    chosen,
    file_stem,
    label_roles,
    pair_identifier,
    pair_identifiers,
    pair_processes,
    pairs_of_type,
    processes_of_type,
    side_labels,
)
from timesink.comparison.prefetch import CycleSearch
from timesink.comparison.reading import RunReader, processes_of, read_sides, recorded_otherwise
from timesink.comparison.repeated import (
    ONE_PROCESS,
    RepeatedRuns,
    RepeatedSide,
    device_times,
    distinct,
    expand_paths,
    runs_of_ab,
    timed_sides,
)
from timesink.comparison.repeated_runs import TimedRun, timed_runs
from timesink.comparison.results import Comparison, Pair, Process, Run
from timesink.comparison.steps.sides import key_findings
from timesink.comparison.steps.verdict import compare_roles
from timesink.comparison.thresholds import RankChangesLimits
from timesink.errors import NotFoundError, TimesinkError, UsageError
from timesink.model.diagnosis import SIDES
from timesink.model.schema import HOST_DEVICE
from timesink.model.trace import Trace
from timesink.model.units import join_names
from timesink.output.names import told_apart
from timesink.patterns import regex
from timesink.runtime.engine import Engine, engine_of
from timesink.sources.ab_folder import is_ab, read_ab

Source = str | Path | Trace | Baseline
"""A place, something that is open already, or a baseline; `@NAME` is one of a store."""


class ComparisonOptions(msgspec.Struct, frozen=True):
    """What of the runs is compared, and how they are read."""

    reading: SideReadOptions = msgspec.field(default_factory=SideReadOptions)
    pid: str | int | None = None
    """The process of both sides, or `"1,2"` for base and new; None is every one."""
    rank: int | None = None
    device: str | int | None = None
    cycle_type: str | None = None
    explore: bool = False
    ignore_hosts: bool = False
    ignore: str | None = None
    """A regular expression of calls that are no part of the program."""
    store: str | Path | None = None
    """Of baselines."""
    peaks: str | None = None
    engine: str | Engine = "local"
    """Where many ranks are summarised."""
    ray_address: str | None = None


class _Repeats(msgspec.Struct, frozen=True):
    """What all runs of either side say, where several were given."""

    timed: tuple[Sequence[TimedRun], Sequence[TimedRun]]
    """Steps of every run."""
    device_ns: tuple[tuple[float, ...], tuple[float, ...]]
    """Device time per step of those with a timeline."""
    detect_pct: float | None
    """What they were made for; None of others."""


def compare_runs(
    sources: Sequence[Source],
    against: Sequence[Source] = (),
    options: ComparisonOptions | None = None,
) -> Comparison:
    """What changed between two runs, or how many processes differ; `timesink.compare` in data."""
    options = options or ComparisonOptions()
    if options.explore and against:
        raise UsageError(
            "--explore tells paths apart, and --against compares two sides", "leave out one of them"
        )
    if options.peaks is not None:
        # What cannot be read is said before all the rest is.
        peaks_named("", options.peaks)
    opened = [_open_source(source, options.store) for source in sources]
    several = [_open_source(source, options.store) for source in against]
    repeated = _repeated_runs(opened, several, options.rank)
    opened += several
    baselines = [source for source in opened if not isinstance(source, Path | Trace)]
    run_inputs = [source if isinstance(source, Path | Trace) else source.side for source in opened]
    inputs.check_given(run_inputs)
    check_cycle_type(options.cycle_type)
    only_baselines = len(baselines) == len(run_inputs)
    search = _cycle_search(baselines, options.reading.finding, only_baselines=only_baselines)
    runs_by_key: dict[object, Run] = {
        run.source.key: run for baseline in baselines for run in baseline.runs
    }
    work = _Work(
        RunReader(replace(options.reading, finding=search), runs_by_key),
        options,
        _pids(options.pid),
        _ignore_pattern(options.ignore),
    )
    comparison = work.compared_inputs(run_inputs, repeated)
    comparison = replace(
        comparison,
        sources=tuple(inputs.source_of(run_input) for run_input in run_inputs),
        notes=tuple(dict.fromkeys(comparison.notes)),
        files_left_out=tuple(dict.fromkeys(comparison.files_left_out)),
        roles_left_out=tuple(dict.fromkeys(comparison.roles_left_out)),
        pairs=tuple(replace(pair, peaks=options.peaks) for pair in comparison.pairs),
    )
    return comparison if options.device is None else only_device(comparison, str(options.device))


_Case = tuple[Comparison, list[Process]]
"""What came of some of the sources, and every process that was read for it."""


class _Work(msgspec.Struct, frozen=True):
    """Reading, pairing and comparing, as the options say."""

    reader: RunReader
    options: ComparisonOptions
    pids: tuple[str | None, str | None]
    """The process of either side; None is every one."""
    ignore: re.Pattern[str] | None = None

    def compared_inputs(
        self, run_inputs: Sequence[inputs.GivenSide], repeated: RepeatedRuns | None
    ) -> Comparison:
        """Two sides, cases of two sides, or processes that are told apart."""
        if repeated is not None:
            return self._compared_repeats(repeated)
        cases = [
            inputs.find_cases(run_input) if isinstance(run_input, Path) else []
            for run_input in run_inputs
        ]
        rank = self.options.rank
        if self.options.explore or (len(run_inputs) != 2 and not all(cases)):
            return self._explored([inputs.side_of(run_input, rank) for run_input in run_inputs])
        if any(cases):
            for run_input, input_cases in zip(run_inputs, cases, strict=True):
                if not input_cases:
                    raise UsageError(
                        f"{inputs.path_of(run_input)}: no case, but the other path holds a "
                        "normal and an "
                        "abnormal run",
                        "give two runs, or only cases; --explore takes everything together",
                    )
            by_folder = {case.folder.resolve(): case for found in cases for case in found}
            first = inputs.path_of(run_inputs[0])
            comparison, processes = self._compared_cases(list(by_folder.values()), first)
        else:
            base, new = (inputs.side_of(run_input, rank) for run_input in run_inputs)
            identifier = pair_identifier(base.path, new.path)
            comparison, processes = self._compared(base, new, SIDES, identifier)
        return replace(comparison, roles=label_roles(processes))

    def _compared_repeats(self, repeated: RepeatedRuns) -> Comparison:
        """One run of either side in full, and step times of all of them."""
        base, new, notes = timed_sides(repeated, self.reader)
        repeats = _Repeats(
            (base.timed, new.timed), device_times(repeated, self.reader), repeated.detect_pct
        )
        identifier = pair_identifier(base.leading.path, new.leading.path)
        comparison, processes = self._compared(
            base.leading, new.leading, SIDES, identifier, repeats
        )
        roles = label_roles(processes)
        return replace(comparison, roles=roles, notes=(*notes, *comparison.notes))

    def _compared_cases(self, cases: Sequence[inputs.CaseFolder], first: Path) -> _Case:
        """Every case; one that cannot be compared is named, and the others stand."""
        done: list[Comparison] = []
        processes: list[Process] = []
        failures: list[TimesinkError] = []
        for case in cases:
            identifier = case_identifier(case.folder, first)
            try:
                base, new = (
                    inputs.find_side(side, self.options.rank) for side in (case.base, case.new)
                )
                comparison, of_case = self._compared(base, new, ("normal", "abnormal"), identifier)
            except TimesinkError as error:
                failures.append(error)
            else:
                done.append(comparison)
                processes += of_case
        if not done:
            raise failures[0]
        return join_cases(done, [error.message for error in failures]), processes

    def _explored(self, run_sides: Sequence[inputs.RunInput]) -> Comparison:
        """Every role of every path, distinguished by how it behaves."""
        # Only many roles need this.
        from timesink.comparison.exploration.groups import explore  # noqa: PLC0415

        sources = {source.key: source for side in run_sides for source in side.sources}
        (runs,), noted, _ = read_sides(self.reader, [list(sources.values())])
        every = processes_of(runs, ignore_hosts=self.options.ignore_hosts)
        wanted = set(self.pids) - {None}
        members = [
            member
            for member in chosen(every, self.pids[0], self.options.rank)
            if not wanted or member.pid in wanted
        ]
        members = processes_of_type(members, self.options.cycle_type)
        if len(members) < 2:
            raise UsageError(
                f"{run_sides[0].path}: holds one role, and there is nothing to compare it with",
                inputs.WHAT_COMPARES,
            )
        notes = (*(note for side in run_sides for note in side.notes), *noted)
        exploration = explore(label_roles(members))
        return Comparison((), (), exploration.roles, exploration, notes)

    def _compared(
        self,
        base: inputs.RunInput,
        new: inputs.RunInput,
        names: tuple[str, str],
        identifier: str,
        repeats: _Repeats | None = None,
    ) -> _Case:
        """Two runs, and what their sides are called."""
        changes, noted = None, list[str]()
        are_sets = self._are_sets(base, new)
        large = max(len(base.sources), len(new.sources)) > RankChangesLimits.all_pairs
        if are_sets and large:
            # So many ranks that only some of them are compared in full.
            changes, noted = rank_changes.compared_sets(lambda: map(self._ranks, (base, new)))
        if changes is not None:
            few = rank_changes.representatives(changes)
            base, new = (
                rank_changes.only_ranks(base, changes.base, few),
                rank_changes.only_ranks(new, changes.new, few),
            )
            noted.append(rank_changes.chosen_note(changes, few))
        (ours, theirs), of_reading, unread = read_sides(self.reader, [base.sources, new.sources])
        of_base, of_new = (
            [
                self._program_of(member)
                for member in processes_of(runs, ignore_hosts=self.options.ignore_hosts)
            ]
            for runs in (ours, theirs)
        )
        check_pids(of_base, of_new, self.pids)
        pick_base, pick_new = (
            chosen(members, pid, self.options.rank)
            for members, pid in zip((of_base, of_new), self.pids, strict=True)
        )
        are_single = all(
            len({(member.host, member.pid) for member in members}) == 1
            for members in (pick_base, pick_new)
        )
        if repeats is not None:
            if not are_single:
                raise UsageError(f"{identifier}: several processes in a run", ONE_PROCESS)
            pick_base, pick_new = (
                [
                    replace(member, plain=tuple(timed), device_runs_ns=device_ns)
                    for member in members
                ]
                for members, timed, device_ns in zip(
                    (pick_base, pick_new), repeats.timed, repeats.device_ns, strict=True
                )
            )
        pairing = pairs_of_type(pair_processes(pick_base, pick_new), self.options.cycle_type)
        if not pairing.pairs:
            raise NotFoundError(
                f"{identifier}: no process of one side has a partner on the other",
                "compare two files, or try --explore",
            )
        if are_sets and not large:
            changes, noted = rank_changes.compared_sets(
                lambda: map(self._ranks, (base, new), (ours, theirs))
            )
        unpaired = sorted(
            {f"{member.job}{member.suffix} pid {member.pid}" for member in pairing.left_out}
        )
        labels = names if names == SIDES and are_single else None
        detect_pct = None if repeats is None else repeats.detect_pct
        comparison = Comparison(
            (),
            tuple(_compared_pairs(pairing.pairs, names, labels, identifier, detect_pct)),
            (),
            notes=(
                *base.notes,
                *new.notes,
                *of_reading,
                *recorded_otherwise(ours, theirs),
                *pairing.notes,
                *noted,
                *(() if changes is None else changes.notes),
                *([f"{inputs.UNPAIRED}: {join_names(unpaired)}"] if unpaired else []),
            ),
            files_left_out=(*base.left_out, *new.left_out, *unread),
            roles_left_out=tuple(unpaired),
            ranks=changes,
        )
        return comparison, [*of_base, *of_new]

    def _program_of(self, member: Process) -> Process:
        """A process whose program lacks what is to be ignored."""
        program = member.program
        if self.ignore is None or program is None:
            return member
        return replace(member, program=program.without(self.ignore))

    def _ranks(self, side: inputs.RunInput, runs: Sequence[Run] = ()) -> RankSet:
        """The ranks of a side, each summarised where the engine says.

        Of recordings that were opened and are not in the cache, nobody reads them twice.
        """
        reading = self.reader.reading
        traces = {run.source.recording.worker: run.trace for run in runs if run.trace is not None}
        if traces and not reading.cache and len(traces) == len(side.sources):
            return set_of_traces([source.recording for source in side.sources], traces)
        recordings = [source.recording for source in side.sources]
        engine = engine_of(self.options.engine, jobs=reading.jobs, address=self.options.ray_address)
        return read_ranks(recordings, engine=engine, cache=reading.cache, progress=reading.progress)

    def _are_sets(self, base: inputs.RunInput, new: inputs.RunInput) -> bool:
        one_is_meant = self.options.rank is not None or any(pid is not None for pid in self.pids)
        has_baseline = any(map(self.reader.was_kept, (*base.sources, *new.sources)))
        return not one_is_meant and not has_baseline and rank_changes.may_be_sets(base, new)


def _compared_pairs(
    matched: Sequence[Pair],
    names: tuple[str, str],
    labels: tuple[str, str] | None,
    identifier: str,
    detect_pct: float | None,
) -> Iterator[Pair]:
    """Every pair with what changed; without `labels` those of its sides say the process."""
    identifiers = pair_identifiers(identifier, matched)
    stems = told_apart(
        [file_stem(name, pair) for name, pair in zip(identifiers, matched, strict=True)], VERSION
    )
    for pair, name, stem in zip(matched, identifiers, stems, strict=True):
        base, new = labels or side_labels(pair, names)
        compared = compare_roles(
            replace(pair.base, label=base),
            replace(pair.new, label=new),
            pair.kind,
            detect_pct=detect_pct,
        )
        yield replace(compared, identifier=name, file_stem=stem, by_rank=pair.by_rank)


def join_cases(done: Sequence[Comparison], failures: Sequence[str]) -> Comparison:
    """Several cases as one answer; `failures` say why others could not be compared."""
    several = len(done) > 1
    pairs = [pair for case in done for pair in case.pairs]
    stems = told_apart([pair.file_stem for pair in pairs], VERSION)
    notes, left_out_roles = (
        [
            f"{case.pairs[0].identifier}: {text}" if several else text
            for case in done
            for text in getattr(case, name)
        ]
        for name in ("notes", "roles_left_out")
    )
    return Comparison(
        (),
        tuple(replace(pair, file_stem=stem) for pair, stem in zip(pairs, stems, strict=True)),
        (),
        notes=(*notes, *(f"{LEFT_OUT}{failure}" for failure in failures)),
        cases_left_out=tuple(failures),
        files_left_out=tuple(file for case in done for file in case.files_left_out),
        roles_left_out=tuple(left_out_roles),
        # Of several cases each is a run of its own.
        ranks=done[0].ranks if len(done) == 1 else None,
    )


# -- which runs are meant --------------------------------------------------------------------------


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


# -- of one device --------------------------------------------------------------------------------

_HOST_NAMES = ("host", "cpu")
_VIRTUAL = regex(r" \(virtual\)$", re.IGNORECASE)


def only_device(comparison: Comparison, device: str) -> Comparison:
    """The comparison with the rows of one device; what cycles and work come to is of the whole."""
    tables = [table for pair in comparison.all_pairs for table in (pair.rows, pair.times)]
    device_names = {str(name) for table in tables for name in table["device"].drop_nulls().unique()}
    wanted = [name for name in sorted(device_names) if is_device(name, device)]
    if not wanted:
        raise NotFoundError(
            f"--device {device}: no such device", f"there are {', '.join(sorted(device_names))}"
        )
    pairs = tuple(
        replace(_of_devices(pair, wanted), of_all_devices=pair) for pair in comparison.pairs
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


def is_device(name: str, device: str) -> bool:
    """Whether a device of a table is the one asked for: `0`, `gpu0` and `GPU 0` are `GPU 0`."""
    wanted, full_name, short_name = (
        "".join(text.lower().split()) for text in (device, name, _VIRTUAL.sub("", name))
    )
    if name == HOST_DEVICE:
        return wanted in _HOST_NAMES
    is_number = wanted.isdigit() and short_name.lstrip(ascii_lowercase) == wanted
    return wanted in {short_name, full_name} or is_number
