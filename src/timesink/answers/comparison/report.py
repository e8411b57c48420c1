"""The answer of `timesink compare` as plain data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, cast

import polars as pl
from msgspec import structs

from timesink.analyses.behaviour.anatomy import only_cycles
from timesink.analyses.statistics.repeats import timed_runs
from timesink.answers.comparison.pairing import (
    VERSION,
    Compared,
    ProcessMember,
    as_arguments,
    one_of,
    pair_names,
    peers_stem,
    role_labels,
)
from timesink.comparison.inputs import LEFT_OUT, ProcessedRun
from timesink.comparison.results import Pair, ProcessSteps, key_findings
from timesink.errors import AmbiguousError, NotFoundError
from timesink.formats.small_files import encode_json
from timesink.model import units
from timesink.model.schema import HOST_DEVICE, host_and_pid
from timesink.model.units import join_names, natural
from timesink.output.names import told_apart

if TYPE_CHECKING:
    from timesink.analyses.replay.own_clock import StepTime
    from timesink.comparison.exploration.groups import Exploration
    from timesink.comparison.rank_changes import RankChanges
    from timesink.model.diagnosis import Diagnosis, Expectation
    from timesink.model.fitness import Fitness


SCHEMA = "timesink/comparison/1"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What changed between runs.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> same.pair.cycle_times.change_pct
    0.0
    """

    sources: tuple[str, ...]
    """The paths that were given."""
    pairs: tuple[Compared, ...]
    roles: tuple[ProcessSteps, ...]
    """Every role that was read; a pair holds two of them."""
    exploration: Exploration | None = None
    """Which of many roles behave alike; None where pairs were compared."""
    notes: tuple[str, ...] = ()
    """What to know before believing the numbers: what was left out, and why."""
    cases_left_out: tuple[str, ...] = ()
    """Why whole cases could not be compared, each in a sentence; notes name them as well."""
    files_left_out: tuple[str, ...] = ()
    """Why files of a side could not be read, in the same way."""
    roles_left_out: tuple[str, ...] = ()
    """Processes that have no partner on the other side, each by its name."""
    ranks: RankChanges | None = None
    """What changed over all ranks, where both sides are runs of many; None otherwise."""

    @property
    def pair(self) -> Pair:
        """The only pair, as of two single processes; of several, none is meant more than others."""
        if not self.all_pairs:
            raise NotFoundError("all roles behave alike: there is no pair", "see `exploration`")
        if len(self.all_pairs) > 1:
            names = units.join_names(self.pair_names, between="; ")
            place = "pairs" if self.exploration is None else "exploration.pairs"
            more = f", or compare with {as_arguments(self.choices)}" if self.choices else ""
            raise AmbiguousError(
                f"there are {len(self.all_pairs)} pairs ({names})", f"take one of `{place}`{more}"
            )
        return self.all_pairs[0].pair

    @property
    def choices(self) -> dict[str, str]:
        """Options of `timesink compare` that leave one of several pairs; empty where none do."""
        return {} if self.exploration is not None else one_of(self.pairs)

    @property
    def pair_names(self) -> list[str]:
        """What each comparison of two roles is called among the others."""
        return pair_names(self.all_pairs)

    @property
    def all_pairs(self) -> tuple[Compared, ...]:
        """Every comparison of two roles, those between representatives of clusters as well."""
        peers = () if self.exploration is None else self.exploration.pairs
        return (
            *self.pairs,
            *(
                Compared(f"{pair.base.label} vs {pair.new.label}", "", pair, peers_stem(pair))
                for pair in peers
            ),
        )

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """Why runs differ, all pairs read together; None where roles were only distinguished."""
        if not self.pairs:
            return None
        diagnosis = self.pairs[0].diagnosis
        if len(self.pairs) > 1:
            from timesink.comparison.causes.diagnosis import beyond_expected  # noqa: PLC0415
            from timesink.comparison.causes.joint_diagnosis import diagnose_together  # noqa: PLC0415

            pairs = [pair.full_pair or pair.pair for pair in self.pairs]
            diagnosis = diagnose_together(pairs, [pair.diagnosis for pair in self.pairs])
            if self.pairs[0].expected is not None:
                expected = self.pairs[0].expected
                causes = beyond_expected(diagnosis.causes, diagnosis.anomalies, expected)
                diagnosis = structs.replace(diagnosis, causes=causes, expected=expected)
        if self.ranks is None:
            return diagnosis
        from timesink.answers.comparison.rank_sets import with_stragglers  # noqa: PLC0415

        return with_stragglers(diagnosis, self.ranks, of_all=self.has_all_ranks)

    @property
    def has_all_ranks(self) -> bool:
        """Whether no rank of a run is only compared as a part of the whole."""
        if self.ranks is None:
            return True
        before, now = (layout.world for layout in self.ranks.layouts)
        compared = {pair.pair.new.rank for pair in self.pairs}
        return before == now and compared.issuperset(self.ranks.common)

    @property
    def fitness(self) -> dict[str, Fitness]:
        """What each recording that was compared can answer, by the name of its role."""
        return {role.label: role.fitness for role in self.roles}

    @cached_property
    def cases(self) -> tuple[Comparison, ...]:
        """Each program and sort of cycle for itself, with the pairs of all its ranks."""
        titles = dict.fromkeys(pair.title for pair in self.pairs)
        if len(titles) == 1:
            return (self,)
        return tuple(
            replace(self, pairs=tuple(pair for pair in self.pairs if pair.title == title))
            for title in titles
        )

    @property
    def headline(self) -> str:
        """The answer in a few sentences."""
        # A table of numbers alone does not wait for these words, nor for those of JSON below.
        from timesink.answers.comparison.sentences import headline  # noqa: PLC0415

        if self.ranks is None:
            return headline(self.pairs, self.exploration)
        from timesink.answers.comparison.rank_sets import rank_headline  # noqa: PLC0415

        return rank_headline(self.pairs, self.ranks, has_all_ranks=self.has_all_ranks)

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/comparison_json.md` describes every key."""
        from timesink.answers.comparison import values as plain  # noqa: PLC0415
        from timesink.answers.comparison.efficiency import efficiency_values  # noqa: PLC0415
        from timesink.answers.fitness import fitness_values  # noqa: PLC0415
        from timesink.recorder.processes import safe_text  # noqa: PLC0415

        return {
            "schema": SCHEMA,
            "headline": self.headline,
            "recording": fitness_values(self.fitness),
            "sources": [safe_text(source) for source in self.sources],
            **plain.diagnosis(self.diagnosis),
            # Of several pairs each has its own.
            **efficiency_values(self.pairs[0].efficiency if len(self.pairs) == 1 else None),
            "notes": [safe_text(note) for note in self.notes],
            "roles": [plain.role(role) for role in self.roles],
            "pairs": [
                {
                    "identifier": pair.identifier,
                    "suffix": pair.suffix,
                    "file": pair.file_stem,
                    **plain.diagnosis(pair.diagnosis),
                    **plain.pair(pair.pair, pair.diagnosis),
                    **efficiency_values(pair.efficiency),
                }
                for pair in self.pairs
            ],
            "exploration": None
            if self.exploration is None
            else plain.exploration(self.exploration),
            # Only of runs of many ranks: everything else has no such key.
            **({} if self.ranks is None else {"ranks": plain.ranks(self.ranks)}),
        }

    def beyond(self, expected: Expectation) -> Comparison:
        """The same, with causes of what is slower than expected first."""
        return replace(self, pairs=tuple(replace(pair, expected=expected) for pair in self.pairs))

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        return encode_json(self.to_dict())

    def __repr__(self) -> str:
        """One line: what was compared, and the answer."""
        return f"<Comparison of {' and '.join(self.sources)}: {self.headline}>"


def label_roles(members: Sequence[ProcessMember]) -> tuple[ProcessSteps, ...]:
    """The roles under names of their own, in the order of these; a role of both sides once."""
    distinct = {
        (member.origin, member.role.host, member.role.pid, member.suffix): member
        for member in members
    }
    every = list(distinct.values())
    named = zip(every, role_labels(every), strict=True)
    roles = [replace(member.role, label=label) for member, label in named]
    return tuple(sorted(roles, key=lambda role: role.label))


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


# -- the roles in a run: one per process, host and sort of cycle -----------------------------------

UNKNOWN_PID = "unknown"


def members_of(runs: Sequence[ProcessedRun], *, ignore_hosts: bool = False) -> list[ProcessMember]:
    """Every role of a side, in the order of files, hosts and processes."""
    return [member for run in runs for member in _members(run, ignore_hosts=ignore_hosts)]


def check_pids(
    base: Sequence[ProcessMember], new: Sequence[ProcessMember], pids: tuple[str | None, str | None]
) -> None:
    """Refuse a process that is not there: one for both sides on either, one of two on its own."""
    for side, pid in zip((base, new), pids, strict=True):
        side_pids = {member.role.pid for member in ((*base, *new) if pids[0] == pids[1] else side)}
        if pid is not None and pid not in side_pids:
            there = join_names(sorted(side_pids, key=natural))
            raise NotFoundError(f"{side[0].role.source}: no process {pid}", f"there are {there}")


def chosen(
    members: Sequence[ProcessMember], pid: str | None, rank: int | None
) -> list[ProcessMember]:
    """The members that fit, None is every one; all where the process is one of the other side."""
    of_rank = [member for member in members if rank in (None, member.role.rank)]
    if not of_rank:
        ranks = sorted({member.role.rank for member in members if member.role.rank is not None})
        hint = f"it has {', '.join(map(str, ranks[:8]))}" if ranks else "no file names its rank"
        raise NotFoundError(f"{members[0].role.source}: no rank {rank}", hint)
    of_pid = [member for member in of_rank if pid in (None, member.role.pid)]
    return of_pid or of_rank


def _members(run: ProcessedRun, *, ignore_hosts: bool) -> Iterator[ProcessMember]:
    name, pid_of = pl.col("host").cast(pl.String).str.strip_chars(), pl.col("pid").cast(pl.String)
    # Empty is one host, and a process that names one host is all there.
    named = pl.when(name != "").then(name)
    only_one = named.drop_nulls().n_unique().over(pid_of) == 1
    host_of = pl.when(only_one).then(named.max().over(pid_of)).otherwise(named)
    table = run.behaviour.with_columns(
        pid_of.fill_null(UNKNOWN_PID).alias("_pid"),
        (pl.lit(None, pl.String) if ignore_hosts else host_of).alias("_host"),
    )
    parts = table.partition_by("_pid", "_host", as_dict=True, include_key=False)
    keys = sorted(parts, key=lambda key: (key[1] or "", natural(str(key[0]))))
    processes_of = {key: host_and_pid(key) for key in run.anatomies}
    for pid, host in cast("list[tuple[str, str | None]]", keys):
        # None where several processes share the number.
        process_keys = [
            key
            for key, (machine, number) in processes_of.items()
            if pid in {number, number or UNKNOWN_PID} and host in (None, machine)
        ]
        only = process_keys[0] if len(process_keys) == 1 else None
        for suffix, rows in _by_suffix(parts[pid, host], run):
            role = ProcessSteps(
                label="",
                source=str(run.source.path),
                pid=pid,
                behaviour=rows,
                host=host,
                rank=run.rank,
                method=run.unit.method,
                confidence=run.confidence,
                notes=run.notes,
                anatomy=None if only is None else only_cycles(run.anatomies[only], rows["cycle"]),
                program=None if only is None else run.programs.get(only),
                beside=run.beside,
                plain=timed_runs(run.recorded, str(run.source.path.parent)),
                peak_memory_bytes=run.peak_memory_bytes,
                work=None if only is None else run.work.get(only),
                fitness=run.fitness,
                step_time=_step_time(run),
            )
            yield ProcessMember(role, run.source.job, suffix, run.source.key)


def _step_time(run: ProcessedRun) -> Callable[[], StepTime] | None:
    """How to work out the mean step of a recording without profiler overhead, on demand."""
    if run.trace is None or run.unit.method != "step":
        return None
    # Only verdicts that it may turn need a replay of both recordings.
    from timesink.analyses.replay.own_clock import step_time  # noqa: PLC0415

    return partial(step_time, run.trace)


def _by_suffix(rows: pl.DataFrame, run: ProcessedRun) -> Iterator[tuple[str, pl.DataFrame]]:
    """Rows by sort of cycle, where one table holds prompts and tokens."""
    if run.source.suffix:
        yield run.source.suffix, rows
        return
    types = sorted(rows["cycle_type"].cast(pl.String).fill_null("generic").unique())
    if len(types) == 1:
        # Decode cycles without any others need no name of their own.
        suffix = "_prefill" if types[0] == "prefill" else ""
        yield "_layer" if run.unit.method == "layer" else suffix, rows
        return
    for kind in types:
        is_kind = pl.col("cycle_type").cast(pl.String).fill_null("generic") == kind
        yield ("" if kind == "generic" else f"_{kind}"), rows.filter(is_kind)


# -- of one device --------------------------------------------------------------------------------

_HOST_NAMES = ("host", "cpu")
_VIRTUAL = re.compile(r" \(virtual\)$", re.IGNORECASE)


def only_device(comparison: Comparison, device: str) -> Comparison:
    """The comparison with the rows of one device; what cycles and work come to is of the whole."""
    tables = [table for pair in comparison.all_pairs for table in (pair.pair.rows, pair.pair.times)]
    device_names = {str(name) for table in tables for name in table["device"].drop_nulls().unique()}
    wanted = [name for name in sorted(device_names) if is_device(name, device)]
    if not wanted:
        raise NotFoundError(
            f"--device {device}: no such device", f"there are {', '.join(sorted(device_names))}"
        )
    pairs = tuple(
        replace(pair, pair=_of_devices(pair.pair, wanted), full_pair=pair.full_pair or pair.pair)
        for pair in comparison.pairs
    )
    exploration = comparison.exploration
    if exploration is not None:
        peers = tuple(_of_devices(pair, wanted) for pair in exploration.pairs)
        exploration = structs.replace(exploration, pairs=peers)
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
