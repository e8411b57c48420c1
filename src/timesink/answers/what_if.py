"""Predicted step time after changes to a program; as a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from msgspec import UNSET, UnsetType, structs

from timesink.analyses.columns import host_columns
from timesink.analyses.device_activities import has_device_work
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.kernels.peaks import choose_peaks
from timesink.analyses.replay.changes import AskedChange, change_of
from timesink.analyses.replay.own_clock import ESTIMATED, NONE, OwnClock, StepTime
from timesink.analyses.replay.prediction import (
    Prediction,
    Ranked,
    best_changes,
    fixed_waits,
    predict,
    program_of,
)
from timesink.analyses.replay.what_if import NamedWork, named_by, two_devices
from timesink.analyses.steps import find_steps
from timesink.answers.analysis.headline import biggest_saving, saving_sentence
from timesink.answers.common_json import ClockJson, FitnessJson
from timesink.answers.fitness import fitness_sections
from timesink.answers.tables import sentence
from timesink.answers.views import NO_PATH, listed_table, parts_of
from timesink.errors import UnreadableError
from timesink.formats.read_options import Progress
from timesink.formats.small_files import encode_json, plain_values
from timesink.model import units
from timesink.model.findings import RunFinding
from timesink.model.fitness import CRITICAL_PATH
from timesink.model.trace import Trace
from timesink.output.blocks import Block, Document, Section, StackPart, Stacks, Text
from timesink.output.names import cut_end
from timesink.rules.efficiency import proven_savings, time_at_roof
from timesink.sources.opening import open_trace

SCHEMA = "timesink/whatif/1"
_LITTLE = 0.005
"""Of the step time: a change that saves less counts as no saving."""
_MIN_SHARE_SHOWN = 0.0005
"""Of the step time: smaller parts of the critical path are left out for people."""
_NAME = 60
"""Characters of a name in a sentence."""
_MAX_IN_WORDS = 3
"""Changes that a headline says in words."""
_MAX_LIMITS, _MAX_SHOWN, _MAX_IN_VAIN = 8, 12, 4

_PATH = parts_of("critical-path")
KINDS = {kind: part.words for kind, part in _PATH.items()}
"""What people call the kinds of pieces of the critical path."""

_TRIED = "What a step takes less if each can be made; nothing in the recording shows that it can."
_NOT_TOLD = "Savings cannot be predicted from this recording."
_BEST = {
    "change": pl.String(),
    **dict.fromkeys(("saving_ns", "cycle_ns"), pl.Float64()),
    **dict.fromkeys(("limit_kind", "limit_name"), pl.String()),
}
_ASSUMED = parts_of("what-if")
"""What each change takes for granted."""


class MadeChange(msgspec.Struct, frozen=True):
    """A change, what it is about, and what it saves after those before it."""

    change: AskedChange
    named: NamedWork
    saving_ns: float


class PathLimit(msgspec.Struct, frozen=True):
    """What decides most of a cycle: a kind of piece, and the name that has most of it."""

    kind: str
    kind_ns: float
    name: str
    name_ns: float

    def sentence(self, cycle_ns: float) -> str:
        """What limits a step of this length, with its share of the critical path."""
        kind, share = KINDS.get(self.kind, self.kind), units.share(self.kind_ns, cycle_ns)
        name_part = f", mainly {cut_end(self.name, _NAME)}" if self.name else ""
        return f"Next bottleneck: {kind} ({share} of the critical path){name_part}."


@dataclass(frozen=True, eq=False)
class WhatIf:
    """What changes of a program save, by playing it again.

    >>> import timesink
    >>> found = timesink.whatif(timesink.sample(), ["scale kernel:*=1"])
    >>> found.saving_ns, len(found.changes)
    (0.0, 1)
    >>> 0 < found.cycle_ns == found.today_ns
    True
    """

    trace: Trace
    path: str
    changes: tuple[AskedChange, ...]
    ranks_single: bool
    """Whether single changes are ranked as well."""

    @property
    def clock(self) -> OwnClock:
        """What is known of the cycle today."""
        return program_of(self.trace).clock

    @property
    def times(self) -> StepTime:
        """The step time today, on both clocks."""
        return program_of(self.trace).times

    @property
    def today_ns(self) -> float:
        """The step time today, without profiler overhead; as recorded where that is not known."""
        return program_of(self.trace).cycle_ns

    @property
    def cycle_ns(self) -> float:
        """A cycle with the changes."""
        return self._new.cycle_ns

    @property
    def interval_ns(self) -> tuple[float, float] | None:
        """Between which bounds that is, as far as the clock of today is known; None for neither."""
        return self._new.interval_ns

    @property
    def saving_ns(self) -> float:
        """What a cycle takes less; below zero where it takes more."""
        return self._new.saving_ns

    @property
    def sample_ns(self) -> float:
        """The new cycle for as many samples as one has today."""
        return self.cycle_ns / self._new.scenario.batch

    @property
    def is_told(self) -> bool:
        """Whether the recording can carry a prediction: whether it shows what decides a step."""
        return recording_fitness(self.trace).answers(CRITICAL_PATH)

    @cached_property
    def _today(self) -> Prediction:
        return predict(program_of(self.trace))

    @cached_property
    def _new(self) -> Prediction:
        return predict(program_of(self.trace), self.changes)

    @cached_property
    def applied(self) -> tuple[MadeChange, ...]:
        """Each change, in the order given."""
        applied, before = [], self._today
        for number, change in enumerate(self.changes, 1):
            program, last = before.program, number == len(self.changes)
            after = self._new if last else predict(program, self.changes[:number], bounds=False)
            named = named_by(before.scenario, change, before.played)
            applied.append(MadeChange(change, named, before.cycle_ns - after.cycle_ns))
            before = after
        return tuple(applied)

    @cached_property
    def critical_path(self) -> pl.DataFrame:
        """What decides a cycle today and then, by `kind`: `today_ns`, `new_ns`, the most first."""
        sides = [
            prediction.path.group_by("kind").agg(pl.col("path_ns").sum().alias(name))
            for prediction, name in ((self._today, "today_ns"), (self._new, "new_ns"))
        ]
        both = sides[0].join(sides[1], on="kind", how="full", coalesce=True).fill_null(0.0)
        return both.sort("new_ns", "today_ns", "kind", descending=[True, True, False])

    @property
    def limit(self) -> PathLimit:
        """What decides most of the new cycle."""
        return limit_of(self._new)

    @cached_property
    def ranked(self) -> list[Ranked]:
        """Single changes beside those made, the best first; empty unless asked for."""
        if not self.ranks_single:
            return []
        return best_changes(program_of(self.trace), self.changes, time_at_roof(self.trace))

    @cached_property
    def savings(self) -> tuple[RunFinding, ...]:
        """Findings that save something in a step, as `analyze` has them, the most first."""
        findings = proven_savings(self.trace)
        return tuple(sorted(findings, key=lambda finding: -finding.cost_ns))

    @cached_property
    def best(self) -> pl.DataFrame:
        """Single changes that save something: what, and which kind and name limit a cycle then."""
        rows = [
            (row.change.text, row.saving_ns, row.prediction.cycle_ns, limit.kind, limit.name)
            for row in self.ranked
            if row.saving_ns >= _LITTLE * self.cycle_ns
            for limit in [limit_of(row.prediction)]
        ]
        return pl.DataFrame(rows, _BEST, orient="row")

    @property
    def in_vain(self) -> list[AskedChange]:
        """Single changes that save nothing to speak of."""
        return [
            change.change for change in self.ranked if change.saving_ns < _LITTLE * self.cycle_ns
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """Which clock the answer is on, and what it takes for granted."""
        return tuple(_notes(self))

    @property
    def headline(self) -> str:
        """The answer in a sentence or two."""
        return " ".join(_headline(self)) if self.is_told else _NOT_TOLD

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/what_if.md` describes every key."""
        return plain_values(WhatIfJson.of(self))

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        return encode_json(WhatIfJson.of(self))

    def __repr__(self) -> str:
        """One line: what was changed, and the answer."""
        return f"<WhatIf of {Path(self.path).name}: {self.headline}>"


class MadeChangeJson(msgspec.Struct, frozen=True):
    """A change, what it saves after those before it, and what it is about per step."""

    asked: str
    saving_us: float
    calls: float
    activities: float
    waits: float
    host_us: float
    device_us: float
    wait_us: float
    """How long threads wait there for the device."""

    @classmethod
    def of(cls, made: MadeChange) -> MadeChangeJson:
        work = made.named
        return cls(
            asked=made.change.text,
            saving_us=_us(made.saving_ns),
            calls=round(work.calls, 3),
            activities=round(work.activities, 3),
            waits=round(work.waits, 3),
            host_us=_us(work.host_ns),
            device_us=_us(work.device_ns),
            wait_us=_us(work.wait_ns),
        )


class PathPartJson(msgspec.Struct, frozen=True):
    """A kind of piece of the critical path, today and then."""

    kind: str
    today_us: float
    cycle_us: float


class LimitJson(msgspec.Struct, frozen=True):
    """What decides most of the new step."""

    kind: str
    kind_us: float
    name: str
    name_us: float


class LimitNameJson(msgspec.Struct, frozen=True):
    """What decides most of a step after a single change."""

    kind: str
    name: str


class SavingJson(msgspec.Struct, frozen=True):
    """A finding of `timesink analyze` that saves something."""

    rule: str
    title: str
    saving_us: float
    gain_basis: str
    """What that assumes."""


class BestChangeJson(msgspec.Struct, frozen=True):
    """A single change that saves something."""

    asked: str
    saving_us: float
    cycle_us: float
    limit: LimitNameJson


class WhatIfJson(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `timesink whatif`; where the recording cannot carry it, null and empty."""

    schema: str
    source: str
    headline: str
    recording: FitnessJson
    clock: ClockJson
    today_us: float
    cycle_us: float | None = None
    ci95_us: tuple[float, float] | None = None
    saving_us: float | None = None
    saving_ratio: float | None = None
    per_sample_us: float | None = None
    changes: tuple[MadeChangeJson, ...] = ()
    critical_path: tuple[PathPartJson, ...] = ()
    limit: LimitJson | None = None
    notes: tuple[str, ...] = ()
    savings: tuple[SavingJson, ...] | UnsetType = UNSET
    """What findings save in the program as it is, the most first; with `--best`."""
    best: tuple[BestChangeJson, ...] | UnsetType = UNSET
    """Single changes that were tried, the best first; with `--best`."""
    in_vain: tuple[str, ...] | UnsetType = UNSET
    """Single changes that save nothing to speak of; with `--best`."""

    @classmethod
    def of(cls, answer: WhatIf) -> WhatIfJson:
        head = cls(
            schema=SCHEMA,
            source=answer.path,
            headline=answer.headline,
            recording=FitnessJson.of(recording_fitness(answer.trace)),
            clock=ClockJson.of_trace(answer.trace),
            today_us=_us(answer.today_ns),
            savings=() if answer.ranks_single else UNSET,
            best=() if answer.ranks_single else UNSET,
            in_vain=() if answer.ranks_single else UNSET,
        )
        if not answer.is_told:
            return head
        limit, interval_ns = answer.limit, answer.interval_ns
        full = structs.replace(
            head,
            cycle_us=_us(answer.cycle_ns),
            ci95_us=None if interval_ns is None else (_us(interval_ns[0]), _us(interval_ns[1])),
            saving_us=_us(answer.saving_ns),
            saving_ratio=round(answer.saving_ns / answer.today_ns, 6) if answer.today_ns else None,
            per_sample_us=_us(answer.sample_ns),
            changes=tuple(map(MadeChangeJson.of, answer.applied)),
            critical_path=tuple(
                PathPartJson(kind, _us(today), _us(new))
                for kind, today, new in answer.critical_path.iter_rows()
            ),
            limit=LimitJson(limit.kind, _us(limit.kind_ns), limit.name, _us(limit.name_ns)),
            notes=answer.notes,
        )
        if not answer.ranks_single:
            return full
        return structs.replace(
            full,
            savings=tuple(
                SavingJson(found.id, found.title, _us(found.cost_ns), found.gain_basis)
                for found in answer.savings
            ),
            best=tuple(
                BestChangeJson(change, _us(saving), _us(cycle), LimitNameJson(kind, name))
                for change, saving, cycle, kind, name in answer.best.iter_rows()
            ),
            in_vain=tuple(change.text for change in answer.in_vain),
        )


def _us(value: float) -> float:
    return round(value / 1000, 3)


def limit_of(prediction: Prediction) -> PathLimit:
    """What decides most of a cycle."""
    path = prediction.path
    kinds = path.group_by("kind").agg(pl.col("path_ns").sum()).sort("path_ns", "kind")
    kind, path_ns = kinds.row(-1) if kinds.height else ("", 0.0)
    named = path.filter(pl.col("kind") == kind, pl.col("name") != "")
    name, most = named.select("name", "path_ns").row(0) if named.height else ("", path_ns)
    return PathLimit(kind, path_ns, name, most)


def whatif(
    source: str | Path | Trace,
    changes: Iterable[str | AskedChange] = (),
    *,
    best: bool | None = None,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> WhatIf:
    """Predict the step time with changes, each an option of `timesink whatif` and its value.

    With `best`, or without any change, single changes are tried beside them and ranked.

    >>> import timesink
    >>> found = timesink.whatif(timesink.sample(), ["remove sync:aten::item"])
    >>> 0 < found.saving_ns < found.today_ns
    True
    >>> "--graph cycle" in timesink.whatif(timesink.sample()).best["change"]
    True
    """
    requested = tuple(change_of(change) for change in changes)
    trace = source
    if not isinstance(trace, Trace):
        chosen = {"worker": worker, "span": span, "rank": rank}
        trace = open_trace(source, **chosen, cache=cache, jobs=jobs, progress=progress)  # type: ignore[arg-type]
    path = trace.metadata.source if isinstance(source, Trace) else str(source)
    if not trace.has_timeline:
        if trace.has_behaviour:
            raise UnreadableError.only_behaviour(path)
        raise UnreadableError.no_timeline(path)
    what_if = WhatIf(trace, path, requested, not requested if best is None else best)
    # What nothing is named by is refused here, not where the answer is looked at.
    _ = what_if.cycle_ns
    return what_if


# -- in words --------------------------------------------------------------------------------------


def _headline(what_if: WhatIf) -> Iterator[str]:
    if what_if.changes:
        yield from _outcome(what_if)
    if what_if.ranks_single:
        yield from _ranking(what_if)


def _ranking(what_if: WhatIf) -> Iterator[str]:
    """What saves most: the finding that `analyze` names, and what was tried where that saves more.

    A finding is shown by the recording; of what was tried nothing shows that it can be done.
    """
    new, best = what_if.cycle_ns, what_if.best
    is_marked = find_steps(what_if.trace)["marked"].all()
    of = f"of {'each' if is_marked else 'the recorded'} {units.brief_ns(new)}{' step' * is_marked}"
    # A finding is about the program of today, not about one with changes.
    biggest = None if what_if.changes else biggest_saving(what_if.savings)
    if biggest is not None:
        yield saving_sentence(biggest)
    if best.is_empty():
        if biggest is None:
            yield f"No single change that was tried saves a noticeable part {of}."
        return
    change, saving_ns = cut_end(best["change"][0], _NAME), best["saving_ns"][0]
    saves = f"{units.brief_ns(saving_ns)} ({units.brief_share(saving_ns, new)})"
    if biggest is None:
        tried = units.count_noun(len(what_if.ranked), "single changes")
        yield f"Of {tried} that were tried, {change} would save most: {saves} {of}."
    elif saving_ns > (1 + _LITTLE) * biggest.cost_ns:
        yield f"What no finding names would save more, if it can be done: {change}, {saves}."


def _outcome(what_if: WhatIf) -> Iterator[str]:
    """What the changes make of a cycle."""
    today, new, bounds = what_if.today_ns, what_if.cycle_ns, what_if.interval_ns
    marked = find_steps(what_if.trace)["marked"].all()
    about = "about " * (what_if.clock.source == ESTIMATED)
    interval_part = (
        f", 95 % interval {_bounds(*bounds)}" if bounds and bounds[0] < bounds[1] else ""
    )
    what = "predicted step time" if marked else "predicted time of the recording"
    asked = [change_words(change) for change in what_if.changes]
    what = f"With {units.join_names(asked, _MAX_IN_WORDS)}: {what}"
    if abs(new - today) <= _LITTLE / 10 * today:
        yield f"{what} {about}{units.brief_ns(new)}, unchanged{interval_part}."
    else:
        share = units.signed_pct(100 * (new / today - 1))
        yield f"{what} {about}{units.times(today, new)} ({share}{interval_part})."
    if what_if.sample_ns != new:
        yield f"Time per sample: {units.signed_pct(100 * (what_if.sample_ns / today - 1))}."
    if what_if.limit.kind_ns:
        yield what_if.limit.sentence(new)


_THINGS = {
    "kernel": "{} kernels",
    "copy": "{} copies",
    "op": "{} and what it launches",
    "host": "host code of {}",
    "self": "self time of {}",
    "call": "{} calls",
    "sync": "waits in {}",
    "communication": "communication",
    "loading": "data loading",
    "outside": "Python code between operators",
    "cycle": "everything",
}
"""What a selector names, in words."""
_EVERY = {"kernel": "all kernels", "copy": "all copies", "call": "all runtime calls"}
_EVERY |= {"sync": "all waits for the device", "op": "all operators", "host": "all host code"}
_DONE = {
    "remove": "{} removed",
    "fuse": "{} fused",
    "graph": "{} launched as a graph",
    "overlap": "{} overlapped with computation",
}
_FASTER = {2.0: "twice", 3.0: "three times", 4.0: "four times"}


def change_words(change: AskedChange) -> str:
    """A change as an assumption in words.

    >>> change_words(change_of("scale kernel:*gemm*=0.5"))
    'gemm kernels twice as fast'
    >>> change_words(change_of("remove sync:aten::item"))
    'waits in aten::item removed'
    """
    if change.action == "device":
        return f"{change.pattern.partition(':')[2]} instead of {change.pattern.partition(':')[0]}"
    if change.action == "batch":
        return f"the batch {change.factor:g} times as large"
    if change.action == "loader-workers":
        endless = change.factor == float("inf")
        number = "unlimited" if endless else f"{change.factor:g}"
        return f"{number} data loader worker{'s' * (change.factor != 1)}"
    name = cut_end(change.pattern.strip("*"), _NAME)
    things = _THINGS[change.sort].format(name) if name else ""
    things = things or _EVERY.get(change.sort) or _THINGS[change.sort].format("calls")
    if change.action in ("fuse", "graph"):
        things = "the step" if change.sort == "cycle" else name or "all operators"
    if change.action != "scale":
        return _DONE[change.action].format(things)
    return f"{things} {_speed_words(change.factor)}"


def _speed_words(factor: float) -> str:
    """What lengths are multiplied by, as a speed."""
    if factor == 0:
        return "in no time"
    if factor >= 1:
        return "as fast as now" if factor == 1 else f"{units.digits(factor)} times as long"
    return f"{_FASTER.get(1 / factor, f'{units.digits(1 / factor)} times')} as fast"


def _bounds(low: float, high: float) -> str:
    return units.from_to(units.brief_ns(low), units.brief_ns(high)).replace(" → ", " to ")


def _notes(what_if: WhatIf) -> Iterator[str]:
    clock, times = what_if.clock, what_if.times
    recorded = units.brief_ns(times.recorded_ns)
    if clock.source == NONE:
        yield (f"Step times are as recorded ({clock.why}), so there is no confidence interval.")
    elif clock.source == ESTIMATED and times.interval_ns is not None:
        yield (
            f"The step time now is estimated: {units.brief_ns(what_if.today_ns)} without profiler "
            f"overhead ({_bounds(*times.interval_ns)}), {recorded} as recorded."
            + f" {clock.outside[:1].upper()}{clock.outside[1:]}."
            * bool(clock.outside)
        )
    else:
        yield (
            f"The step time now was measured: {units.brief_ns(what_if.today_ns)} without profiler "
            f"overhead, {recorded} as recorded."
        )
    if not find_steps(what_if.trace)["marked"].all():
        yield "No steps are marked: the whole recording counts as one step."
    if host_columns(what_if.trace).is_empty():
        yield "The host was not recorded: causes of idle gaps are not known, so gaps stay."
    yield from _wide(what_if)
    yield from _fixed_waits(what_if)
    for action in dict.fromkeys(change.action for change in what_if.changes):
        if action in _ASSUMED:
            yield _ASSUMED[action].meaning
    for change in what_if.changes:
        if change.action == "device":
            base, new = two_devices(change)
            yield f"Peaks are those of {base.device} and {new.device}."
            here = choose_peaks(what_if.trace).peaks
            if here is not None and here.device != base.device:
                yield f"The recording is from {here.device}, not from {base.device}."


_WIDER = 2.0
"""How many times as uncertain as the step today a new one is that needs a word."""


def _wide(what_if: WhatIf) -> Iterator[str]:
    """Why the new step is far less certain than that of today."""
    today, new, bounds = what_if.clock.interval_ns, what_if.cycle_ns, what_if.interval_ns
    if today is None or bounds is None or not new or not what_if.today_ns:
        return
    before, after = (today[1] - today[0]) / what_if.today_ns, (bounds[1] - bounds[0]) / new
    if after > _WIDER * before:
        yield (
            "The interval is wide: what remains is mostly host code, whose time without profiler "
            "overhead is uncertain."
        )


_FIXED = 0.02
"""Of the step today: fixed waits that take less are not told."""


def _fixed_waits(what_if: WhatIf) -> Iterator[str]:
    """What of a step a scale of everything does not touch, and its names."""
    for change in what_if.changes:
        if change.action != "scale" or change.sort != "cycle" or change.factor == 1:
            continue
        fixed, left = fixed_waits(program_of(what_if.trace), what_if.changes, change)
        if fixed < _FIXED * what_if.today_ns:
            continue
        waits = [
            f"{KINDS.get(kind, kind)}{f', mainly {cut_end(name, _NAME)}' * bool(name)}"
            for kind, name, share in left.iter_rows()
            if share >= _FIXED
        ]
        waits_part = f": {units.join_names(waits, 3, '; ')}" if waits else ""
        yield (
            f"{units.brief_ns(fixed)} of the step are waits that {change.text} does not change"
            f"{waits_part}."
        )


def what_if_document(what_if: WhatIf) -> Document:
    """The new cycle, what each change does, what decides a cycle before and after, what is best."""
    sections: list[Section] = []
    if what_if.changes and what_if.is_told:
        sections += [_changes(what_if), *_path(what_if), _limits(what_if)]
    if what_if.ranks_single and what_if.is_told:
        sections += [*_savings(what_if), _best(what_if)]
    if what_if.is_told:
        notes = tuple(Text(note) for note in what_if.notes)
        sections.append(Section("notes", "Assumptions", notes))
    return Document(
        kind="whatif",
        title=f"What if: {Path(what_if.path).name}",
        subject=Path(what_if.path).name,
        headline=what_if.headline,
        sections=(*fitness_sections(recording_fitness(what_if.trace)), *sections),
    )


def _changes(what_if: WhatIf) -> Section:
    applied = what_if.applied
    values = {
        "change": [applied_change.change.text for applied_change in applied],
        "named": [*map(_about, applied)],
        "saving_ratio": [
            applied_change.saving_ns / what_if.today_ns if what_if.today_ns else None
            for applied_change in applied
        ],
    }
    table = listed_table("what-if", "changes", "", applied, values)
    return Section("changes", "Changes, applied in order", (table,))


def _about(applied: MadeChange) -> str:
    """What a change names, in words."""
    named, sort = applied.named, applied.change.sort
    work = {"kernel": "kernels", "copy": "copies", "communication": "collectives"}.get(
        sort, "kernels" if applied.change.action == "device" else "device activities"
    )
    parts = (
        (named.waits, "waits", named.wait_ns),
        (named.activities, work, named.device_ns),
        (named.calls, "calls", named.host_ns),
    )
    phrases = [
        f"{units.count_noun(1, things) if many == 1 else f'{units.per_cycle(many)} {things}'}"
        f" of {units.brief_ns(ns)}"
        for many, things, ns in parts
        if many and not (sort == "sync" and things == "calls")
    ]
    if sort in ("cycle", "outside") and named.host_ns and applied.change.action != "device":
        phrases.append(f"{units.brief_ns(named.host_ns)} of host code")
    return ", ".join(phrases) or "nothing inside a step"


def _path(what_if: WhatIf) -> tuple[Section, Section]:
    path = what_if.critical_path
    rows = path.filter(
        (pl.col("today_ns") > _MIN_SHARE_SHOWN * what_if.today_ns)
        | (pl.col("new_ns") > _MIN_SHARE_SHOWN * what_if.cycle_ns)
    )
    if rows.is_empty():
        absent = (Text(sentence(NO_PATH)),)
        return (
            Section("critical-path", "Critical path", absent, medium="page"),
            Section("critical-path", "Critical path", absent, medium="text"),
        )
    kinds = [KINDS[kind] for kind in rows["kind"]]
    today, new = rows["today_ns"], rows["new_ns"]
    values = {
        "kind": kinds,
        "today_ns": today,
        "today_ratio": today / max(what_if.today_ns, 1.0),
        "new_ns": new,
        "new_ratio": new / max(what_if.cycle_ns, 1.0),
        "change_ns": new - today,
    }
    table = listed_table("what-if-path", "critical-path", "", (), values)
    bars = Stacks(
        "Critical path of a step",
        "time_ns",
        ("now", "predicted"),
        tuple(StackPart(_PATH[kind].colour, KINDS[kind], (a, b)) for kind, a, b in rows.rows()),
    )
    return (
        Section("critical-path", "Critical path", (bars, table), medium="page"),
        Section("critical-path", "Critical path", (table,), medium="text"),
    )


def _limits(what_if: WhatIf) -> Section:
    path = what_if._new.path.head(_MAX_LIMITS)  # noqa: SLF001 - one subject
    values = {
        "name": [name or "outside of recorded calls" for name in path["name"]],
        "kind": [KINDS[kind] for kind in path["kind"]],
        "path_ratio": path["path_ns"] / max(what_if.cycle_ns, 1.0),
    }
    table = listed_table("what-if-limits", "limits", "", path, values)
    return Section("limits", "Next limits", (table,))


def _savings(what_if: WhatIf) -> Iterator[Section]:
    if what_if.savings and not what_if.changes:
        rows = what_if.savings
        values = {
            "saving_ns": [finding.cost_ns for finding in rows],
            "saving_ratio": [finding.cost_ns / max(what_if.today_ns, 1.0) for finding in rows],
        }
        table = listed_table("what-if-savings", "savings", "", rows, values)
        yield Section("savings", "Savings that findings name", (table,))


def _best(what_if: WhatIf) -> Section:
    best = what_if.best.head(_MAX_SHOWN)
    limits = [
        KINDS.get(limit_kind, "") for limit_kind in best["limit_kind"]
    ]  # none where nothing is left
    values = {"saving_ratio": best["saving_ns"] / max(what_if.cycle_ns, 1.0), "limit_kind": limits}
    table = listed_table("what-if-best", "best", "", best, values, total_rows=what_if.best.height)
    blocks: list[Block] = [table]
    for why, changes in _vain(what_if).items():
        some = {"change": changes[:_MAX_IN_VAIN]}
        blocks.append(
            listed_table("what-if-vain", "in-vain", why, (), some, total_rows=len(changes))
        )
    return Section("best", "Single changes that were tried", tuple(blocks), _TRIED)


def _vain(what_if: WhatIf) -> Mapping[str, list[str]]:
    """Changes that save nothing, by why, the shortest first."""
    path, on_device = what_if.critical_path, ("kernel", "memcpy", "memset", "communication")
    decided = path.filter(pl.col("kind").is_in(on_device))["new_ns"].sum()
    reasons: dict[str, list[str]] = {}
    has_device = has_device_work(what_if.trace)
    for change in what_if.in_vain:
        idle = (
            has_device
            and change.sort in ("kernel", "copy", "communication")
            and 2 * decided < what_if.cycle_ns
        )
        why = "the device is idle at that time" if idle else "not on the critical path"
        reasons.setdefault(f"No saving: {why}", []).append(change.text)
    for changes in reasons.values():
        changes.sort(key=len)
    return reasons
