"""When a level changed: rows of a series, judged signal by signal, machine by machine."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.statistics.change_points import ChangePoint, exact_changes, level_changes
from timesink.analyses.thresholds import ChangePointsLimits
from timesink.answers.common_json import Rows
from timesink.answers.views import listed_table
from timesink.comparison.gate.baseline_store import reference
from timesink.comparison.gate.history_rows import (
    AddedRuns,
    Commit,
    HistoryRow,
    git_output,
    history_rows,
)
from timesink.comparison.signals import SIGNALS, SignalName
from timesink.errors import UsageError
from timesink.formats.small_files import encode_json, plain_values
from timesink.model import units
from timesink.output.blocks import Curve, Curves, Document, Kind, Mark, Section, Table, Text, Tone
from timesink.output.numbers import column, number_text, table

SCHEMA = "timesink/history/1"
HISTORY_SIGNALS = {
    **{name: SIGNALS[name] for name in ("cycle_ns", "device_ns")},
    **{name: signal for name, signal in SIGNALS.items() if signal.exact},
    "mean_ns": SignalName("mean step", "time_ns", exact=False),
}
"""What a history may be asked about; the mean only where it is asked for by name."""
_OF_CYCLES = ("cycle_ns", "mean_ns")
_MAX_ROWS = 12
"""Rows of the table in text; pages have all."""
_SUBJECT = 60


@dataclass(frozen=True, slots=True)
class LevelChange:
    """One change of one signal on one machine."""

    signal: str
    machine: str
    commit: Commit
    """The first at the new level."""
    before: Commit
    """The last at the old one."""
    base: float | str
    new: float | str
    p: float | None
    """Chance of such a change by noise; None where no test tells."""
    exact: bool
    certain: bool
    base_rows: int
    new_rows: int
    versions: tuple[str, ...] = ()
    """Libraries that changed at the same time."""

    @property
    def change_pct(self) -> float | None:
        """By how much; None for a text, or from nothing."""
        if isinstance(self.base, str) or isinstance(self.new, str) or not self.base:
            return None
        return 100 * (self.new / self.base - 1)

    @property
    def sure(self) -> str:
        """How sure that is, in words."""
        if self.exact:
            return "exact"
        if not self.certain:
            return "not certain: add more runs"
        return f"p = {units.chance(self.p)}"

    @property
    def rises(self) -> bool:
        """Whether more time, work or memory is needed."""
        return isinstance(self.base, float) and isinstance(self.new, float) and self.new > self.base

    @property
    def values(self) -> str:
        """From which level to which."""
        kind = HISTORY_SIGNALS[self.signal].unit
        return units.from_to(*(_value_words(value, kind) for value in (self.base, self.new)))

    @property
    def sentence(self) -> str:
        """What changed, by how much."""
        title = HISTORY_SIGNALS[self.signal].title
        if self.change_pct is None:
            return f"{title} {'changed' if self.signal == 'program' else self.values}"
        may = "" if self.certain else "may have "
        verb = "rose" if self.rises else "fell"
        verb = {"may have rose": "may have risen", "may have fell": "may have fallen"}.get(
            f"{may}{verb}", verb
        )
        return f"{title} {verb} by {units.percent(abs(self.change_pct))} ({self.values})"


class SignalSeries(msgspec.Struct, frozen=True):
    """One signal of the rows of one machine, as far as they tell it."""

    signal: str
    machine: str
    rows: tuple[HistoryRow, ...]
    values: tuple[float | str, ...]
    changes: tuple[LevelChange, ...]
    note: str = ""

    @property
    def levels(self) -> list[float | None]:
        """The level each row is at; numbers only."""
        starts = [0, *(self._place(change.commit) for change in self.changes), len(self.rows)]
        first = [self.changes[0].base] if self.changes else [_level(self.values)]
        levels = [*first, *(change.new for change in self.changes)]
        return [
            level if isinstance(level, float) else None
            for level, (start, end) in zip(levels, pairwise(starts), strict=True)
            for _ in range(start, end)
        ]

    def _place(self, commit: Commit) -> int:
        return next(place for place, row in enumerate(self.rows) if row.commit is commit)


@dataclass(frozen=True, eq=False)
class History:
    """What rows of a series say of when levels changed.

    >>> import tempfile, timesink
    >>> from timesink.comparison.gate.history_rows import add_runs
    >>> old, new = timesink.sample_runs()
    >>> with tempfile.TemporaryDirectory() as place:
    ...     for day, run in enumerate([old] * 5 + [new] * 5):
    ...         _ = add_runs("main", [run], place, commit=f"made-up-{day}", time_us=day)
    ...     found = timesink.history("@main", store=place)
    >>> change = found.changes[0]
    >>> change.signal, change.commit.sha, change.before.sha, round(change.change_pct)
    ('cycle_ns', 'made-up-5', 'made-up-4', 25)
    """

    name: str
    rows: tuple[HistoryRow, ...]
    """In the order of commits, the oldest first."""
    signal: str | None = None
    """The one that was asked for; None for all."""
    left_out: tuple[str, ...] = ()

    @cached_property
    def series(self) -> tuple[SignalSeries, ...]:
        """Every signal that rows tell, machine by machine."""
        signals = [name for name in HISTORY_SIGNALS if name != "mean_ns"]
        return tuple(
            series
            for signal in ([self.signal] if self.signal else signals)
            for series in _series(signal, self.rows)
        )

    @cached_property
    def changes(self) -> tuple[LevelChange, ...]:
        """All changes, the newest first; what is certain first of those at one commit."""
        every = [change for series in self.series for change in series.changes]
        # Commits of one second are in the order of their rows.
        places = {row.commit: place for place, row in enumerate(self.rows)}
        return tuple(sorted(every, key=lambda change: (-places[change.commit], not change.certain)))

    @property
    def machines(self) -> list[str]:
        """What the rows were measured on."""
        return list(dict.fromkeys(row.machine for row in self.rows))

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of the rows."""
        notes = list(self.left_out)
        if len(self.machines) > 1:
            machines = units.join_names(self.machines, 4, "; ")
            notes.append(
                f"rows come from {len(self.machines)} machines, each tested separately: {machines}"
            )
        if self.signal in (None, *_OF_CYCLES) and len({row.by for row in self.rows}) > 1:
            notes.append("unprofiled and recorded step times are tested separately")
        return (*notes, *dict.fromkeys(series.note for series in self.series if series.note))

    @property
    def headline(self) -> str:
        """The answer in a sentence or two."""
        return " ".join(_headline(self))

    @property
    def bisect(self) -> tuple[str, ...]:
        """Lines for a shell that find the commit behind the newest rise; none without a rise."""
        newest = next((change for change in self.changes if change.rises and change.certain), None)
        return (
            ()
            if newest is None
            else tuple(bisect_lines(newest.signal, newest.before, newest.commit, self.rows))
        )

    @cached_property
    def table(self) -> pl.DataFrame:
        """The rows with what each measured, the oldest first."""
        names = [self.signal] if self.signal else list(HISTORY_SIGNALS)
        columns: dict[str, list[Any]] = {
            "commit": [row.commit.sha for row in self.rows],
            "time": [_moment(row.commit) for row in self.rows],
            "subject": [row.commit.subject for row in self.rows],
            "machine": [row.machine for row in self.rows],
            "by": [row.by for row in self.rows],
            "runs": [len(row.runs) for row in self.rows],
        }
        return pl.DataFrame(
            columns | {name: [row.value(name) for row in self.rows] for name in names}
        )

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/history.md` describes every key."""
        return plain_values(HistoryJson.of(self))

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        return encode_json(HistoryJson.of(self))

    def __repr__(self) -> str:
        """One line: the series, and the answer."""
        return f"<History of {len(self.rows)} rows: {self.headline}>"


class LevelChangeJson(msgspec.Struct, frozen=True, kw_only=True):
    """One change of one signal on one machine."""

    signal: str
    machine: str
    commit: Commit
    """The first at the new level."""
    before: Commit
    """The last at the old one."""
    base: float | str
    new: float | str
    p: float | None
    """Chance of such a change by noise; null where no test tells."""
    exact: bool
    certain: bool
    base_rows: int
    new_rows: int
    versions: tuple[str, ...]
    """Libraries that changed at the same time."""
    change_pct: float | None

    @classmethod
    def of(cls, change: LevelChange) -> LevelChangeJson:
        pct = change.change_pct
        fields = {name: getattr(change, name) for name in cls.__struct_fields__}
        return cls(**{**fields, "change_pct": None if pct is None else round(pct, 4)})


class HistoryJson(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `timesink history`."""

    schema: str
    name: str
    headline: str
    changes: list[LevelChangeJson]
    rows: Rows
    """A row per commit, machine and way of timing, the oldest first."""
    bisect: tuple[str, ...]
    """Lines for a shell that find the commit behind the newest rise."""
    notes: tuple[str, ...]

    @classmethod
    def of(cls, report: History) -> HistoryJson:
        return cls(
            schema=SCHEMA,
            name=reference(report.name),
            headline=report.headline,
            changes=list(map(LevelChangeJson.of, report.changes)),
            rows=report.table.to_dicts(),
            bisect=report.bisect,
            notes=report.notes,
        )


def history(name: str, *, store: str | Path | None = None, signal: str | None = None) -> History:
    """When cycle time, device time and counts of a series of commits changed.

    Rows are added by `timesink baseline add NAME RUN`; `signal` is one of those of
    `timesink history --signal`.

    >>> import tempfile, timesink
    >>> from timesink.comparison.gate.history_rows import add_runs
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = add_runs("main", [timesink.sample_runs()[0]], place, commit="0123abcd")
    ...     timesink.history("@main", store=place, signal="cycle_ns").headline
    '@main has 1 row: a change of times needs 6 rows, a change of counts 2.'
    """
    if signal is not None and signal not in HISTORY_SIGNALS:
        raise UsageError(
            f"no signal is named {signal!r}", f"there are {', '.join(HISTORY_SIGNALS)}"
        )
    rows, left_out = history_rows(name, store)
    return History(name.removeprefix(reference("")), rows, signal, left_out)


# -- judging ---------------------------------------------------------------------------------------


def _series(signal: str, rows: Sequence[HistoryRow]) -> Iterator[SignalSeries]:
    apart: dict[tuple[str, str], list[HistoryRow]] = {}
    for row in rows:
        key = row.machine, row.by if signal in _OF_CYCLES else ""
        apart.setdefault(key, []).append(row)
    for (machine, _), every in apart.items():
        row_values = [(row, value) for row in every if (value := row.value(signal)) is not None]
        if not row_values and not any(row.disagree(signal) for row in every):
            continue
        yield _judge_series(signal, machine, every, row_values)


def _judge_series(
    signal: str,
    machine: str,
    every: Sequence[HistoryRow],
    row_values: Sequence[tuple[HistoryRow, float | str]],
) -> SignalSeries:
    rows, values = [row for row, _ in row_values], [value for _, value in row_values]
    about, change_points, exact = HISTORY_SIGNALS[signal], None, HISTORY_SIGNALS[signal].exact
    unequal = sum(row.disagree(signal) for row in every) if exact else 0
    note = f"{about.title} differs between runs in {units.count_noun(unequal, 'rows')}"
    notes = [note] if unequal else []
    if exact:
        change_points = exact_changes(values)
    if change_points is None:
        if exact:
            notes.append(
                f"{about.title} changes too often for an exact test; it is tested like a time"
            )
        numbers = [value for value in values if isinstance(value, (int, float))]
        exact, change_points = False, []
        if len(numbers) == len(values):
            change_points = level_changes(np.array(numbers, dtype=np.float64))
    changes = _changes(signal, machine, rows, values, change_points, exact=exact)
    return SignalSeries(signal, machine, tuple(rows), tuple(values), changes, "; ".join(notes))


def _changes(
    signal: str,
    machine: str,
    rows: Sequence[HistoryRow],
    values: Sequence[float | str],
    change_points: Sequence[ChangePoint],
    *,
    exact: bool,
) -> tuple[LevelChange, ...]:
    ends = [0, *(point.at for point in change_points), len(rows)]
    stretches = list(pairwise(ends))
    return tuple(
        LevelChange(
            signal,
            machine,
            rows[point.at].commit,
            rows[point.at - 1].commit,
            _level(values[before[0] : before[1]]),
            _level(values[after[0] : after[1]]),
            point.p,
            exact,
            point.certain,
            before[1] - before[0],
            after[1] - after[0],
            tuple(_other_versions(rows[point.at - 1], rows[point.at])),
        )
        for point, before, after in zip(change_points, stretches, stretches[1:], strict=False)
    )


def _level(values: Sequence[float | str]) -> float | str:
    """What is usual of them; exact ones are all the same."""
    numbers = [value for value in values if isinstance(value, (int, float))]
    return float(np.median(numbers)) if numbers else values[-1]


def _other_versions(old: HistoryRow, new: HistoryRow) -> Iterator[str]:
    before, after = (
        {name: text for run in row.runs for name, text in run.versions.items()}
        for row in (old, new)
    )
    for name in before:
        if name in after and before[name] != after[name]:
            yield f"{name} {before[name]} → {after[name]}"


# -- in words --------------------------------------------------------------------------------------


def _headline(history: History) -> Iterator[str]:
    name, count = reference(history.name), units.count_noun(len(history.rows), "rows")
    if not history.changes:
        most = max((len(series.rows) for series in history.series), default=0)
        if most < 2 * ChangePointsLimits.min:
            few = f"a change of times needs {2 * ChangePointsLimits.min} rows, a change of counts 2"
            yield f"{name} has {count}: {few}."
        else:
            what = HISTORY_SIGNALS[history.signal].title if history.signal else "No level"
            yield (
                f"{what} of {name} has not changed in {count}."
                if history.signal
                else (f"{what} of {name} has changed in {count}.")
            )
        return
    newest = history.changes[0].commit
    here = [change for change in history.changes if change.commit.sha == newest.sha]
    subject = f" ({cut_subject(newest.subject)})" if newest.subject else ""
    first, before = here[0].sentence, here[0].before.short
    yield f"{first[0].upper()}{first[1:]} at {newest.short}{subject}; last before: {before}."
    if here[1:]:
        yield f"Also there: {'; '.join(change.sentence for change in here[1:])}."
    if here[0].versions:
        yield f"Library versions changed as well: {units.join_names(here[0].versions, 3)}."
    older = {change.commit.sha for change in history.changes} - {newest.sha}
    if older:
        yield f"{units.count_noun(len(older), 'earlier commits')} changed a level, too."


def cut_subject(subject: str) -> str:
    """The beginning of a subject."""
    return subject if len(subject) <= _SUBJECT else f"{subject[: _SUBJECT - 3].rstrip()}..."


def _moment(commit: Commit) -> str:
    moment = datetime.fromtimestamp(commit.time_us / 1e6, tz=timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _value_words(value: float | str, kind: str) -> str:
    if isinstance(value, str):
        return value
    return units.brief_ns(value) if kind == "time_ns" else number_text(value, _kind(kind))


def _kind(unit: str) -> Kind:
    kinds: dict[str, Kind] = {"time_ns": "time_ns", "count": "count", "bytes": "bytes"}
    return kinds.get(unit, "text")


# -- the document ----------------------------------------------------------------------------------


def history_document(history: History) -> Document:
    """The history as blocks that every writer serves."""
    newest = history.changes[0] if history.changes else None
    tone: Tone = "plain" if newest is None else "bad" if newest.rises else "notice"
    sections = [*_changes_sections(history)]
    if history.bisect:
        lines, code = (
            tuple(Text(f"{mark}{line}{mark}") for line in history.bisect) for mark in ("", "`")
        )
        sections += [
            Section("bisect", _BISECT, lines, lead=_BISECT_LEAD, medium="text"),
            Section("bisect", _BISECT, code, lead=_BISECT_LEAD, medium="page"),
        ]
    curves = tuple(_curves(series, history) for series in history.series if _is_drawn(series))
    if curves:
        sections.append(Section("levels", "Levels by commit", curves))
    sections += [
        Section("rows", "Rows", (_rows(history, None),), medium="page"),
        Section("rows", "Rows", (_rows(history, _MAX_ROWS),), medium="text"),
    ]
    name = reference(history.name)
    return Document(
        "history", f"timesink: {name}", name, history.headline, sections=tuple(sections), tone=tone,
        notes=history.notes,
    )  # fmt: skip


_BISECT = "Find the commit of the latest increase"
_BISECT_LEAD = (
    "If there are commits in between: the gate exits with 0 for good, 3 for bad, 125 to skip."
)


def _changes_sections(history: History) -> tuple[Section, ...]:
    changes, apart = history.changes, len(history.machines) > 1
    commits = [change.commit.short for change in changes]
    subjects = [cut_subject(change.commit.subject) for change in changes]
    numbers = [[getattr(change, name) for change in changes] for name in ("base_rows", "new_rows")]
    pct = [None if change.change_pct is None else change.change_pct for change in changes]
    values = {
        "commit": commits,
        "signal": [HISTORY_SIGNALS[change.signal].title for change in changes],
        "change_pct": pct,
        "before": [change.before.short for change in changes],
        "base_rows": numbers[0],
        "new_rows": numbers[1],
        "subject": subjects,
        "versions": [", ".join(change.versions) or None for change in changes],
        "machine": [change.machine if apart else None for change in changes],
    }
    block = listed_table(
        "level-changes",
        "changes",
        "",
        changes,
        values,
        note="" if changes else "No level has changed.",
    )
    notes = tuple(Text(f"{note[0].upper()}{note[1:]}.") for note in history.notes)
    return (
        Section("changes", "Changes, newest first", (block,), medium="text"),
        Section("changes", "Changes, newest first", (block, *notes), medium="page"),
    )


def _is_drawn(series: SignalSeries) -> bool:
    """What never changed at all is in the table of rows."""
    return len(set(series.values)) > 1 and not isinstance(series.values[0], str)


def _curves(series: SignalSeries, history: History) -> Curves:
    about = HISTORY_SIGNALS[series.signal]
    where = f", {series.machine}" if len(history.machines) > 1 else ""
    numbers = tuple(None if isinstance(value, str) else float(value) for value in series.values)
    places = {row.commit.sha: place for place, row in enumerate(series.rows)}
    return Curves(
        f"{series.signal}-{history.machines.index(series.machine)}",
        f"{about.title[0].upper()}{about.title[1:]}{where}",
        _kind(about.unit),
        tuple(map(float, range(len(series.rows)))),
        (Curve("row", numbers, "dots"), Curve("level", tuple(series.levels), "step")),
        tuple(Mark(places[change.commit.sha], change.commit.short) for change in series.changes),
        tuple(row.commit.short for row in series.rows),
        from_zero=False,
    )


def _rows(history: History, most: int | None) -> Table:
    rows = list(reversed(history.rows))[:most]
    apart = len(history.machines) > 1
    names = [history.signal] if history.signal else list(HISTORY_SIGNALS)
    minor = {"syncs": 3, "copied_bytes": 4, "peak_memory_bytes": 3, "program": 5, "mean_ns": 5}
    return table(
        "rows",
        "",
        (
            column("commit", "commit", "text", [row.commit.short for row in rows], cut="nothing"),
            column("time", "time", "text", [_moment(row.commit) for row in rows], spare=3),
            column("runs", "runs", "count", [len(row.runs) for row in rows], spare=2),
            *(
                column(name, HISTORY_SIGNALS[name].title, _kind(HISTORY_SIGNALS[name].unit),
                       [row.value(name) for row in rows], spare=minor.get(name, 0))
                for name in names
            ),
            column("subject", "subject", "text",
                   [cut_subject(row.commit.subject) or None for row in rows], spare=1),
            column("machine", "machine", "text",
                   [row.machine if apart else None for row in rows], spare=4),
        ),
        total_rows=len(history.rows),
    )  # fmt: skip


# -- rows that were added, and the commit between two ---------------------------------------------


def added_words(added: AddedRuns, name: str, place: str, *, new: bool) -> str:
    """That runs were added, in lines."""
    runs, commit = units.count_noun(len(added.runs), "runs"), added.commit
    what = f" ({commit.subject})" if commit.subject else ""
    if not new:
        return f"{reference(name)} already has {runs} of {commit.short}{what}"
    lines = [f"Added {runs} of {commit.short}{what} to {reference(name)} in {place}"]
    if commit.dirty:
        lines.append("note: the work tree has uncommitted changes; the row says so")
    return "\n".join([*lines, f"See what changed:  timesink history {reference(name)}"])


_BUDGETS = {
    "program": 'program = "same"',
    "launches": 'launches = "+0"',
    "syncs": 'syncs = "+0"',
    "copied_bytes": 'bytes_copied = "+0"',
    "peak_memory_bytes": 'peak_memory = "2%"',
    "device_ns": 'device_time = "1%"',
}
"""What decides about each signal from one run a side; cycle time needs more."""


def bisect_lines(
    signal: str, before: Commit, after: Commit, rows: Sequence[HistoryRow]
) -> Iterator[str]:
    """Lines for a shell that find the commit between two at which a signal rose.

    None where git says that one follows the other.
    """
    if git_output("rev-list", "--count", "--end-of-options", f"{before.sha}..{after.sha}") == "1":
        return
    commands = (run.command for row in reversed(rows) for run in row.runs if run.command)
    program = shlex.join(next(commands, ("python", "train.py")))
    good, bad = before.short, after.short
    budget = _BUDGETS.get(signal)
    if budget is None:
        # Cycle time needs runs of both commits in turn.
        yield f"git bisect start {bad} {good}"
        yield (
            f"git bisect run timesink ab -o ../bisect --force --base-ref {good} "
            f"--fail-on regression --undecided 125 -- {program}"
        )
        yield "git bisect reset"
        return
    trial = f"timesink record -o run --force -- {program} || exit 125\n"
    trial += "timesink gate @good run --budget ../budgets.toml --undecided 125"
    yield f"echo {shlex.quote(budget)} > ../budgets.toml"
    yield f"git checkout {good}"
    yield f"timesink record -o good --force -- {program}"
    yield "timesink baseline save good good --force"
    yield f"git bisect start {bad} {good}"
    yield from f"git bisect run sh -c {shlex.quote(trial)}".split("\n")
    yield "git bisect reset"
