"""A folder of recordings that are no ranks of one run: one answer for each of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from timesink.analyses.ranks.reading import UnrelatedRunsError, open_set
from timesink.answers.analysis.report import Analysis, analyze
from timesink.answers.analysis.step_choice import step_choice
from timesink.errors import SeveralRunsError, TimesinkError
from timesink.model import units
from timesink.output import blocks
from timesink.recorder.processes import safe_text, sayable_values
from timesink.runtime.engine import Engine, engine_of
from timesink.sources import Place, Recording, display_place, place_of
from timesink.sources.discovery import one_run, runs_among
from timesink.sources.opening import find_chosen

SCHEMA = "timesink/analyses/1"


class ListedRun(msgspec.Struct, frozen=True):
    """One run of a folder: its answer, or why there is none."""

    name: str
    path: str
    """What to name to see this run alone."""
    analysis: Analysis | None
    reason: str = ""
    recordings: int = 1


class RunList(msgspec.Struct, frozen=True):
    """What recordings at a place tell, one answer for each run."""

    path: str
    runs: tuple[ListedRun, ...]

    @property
    def headline(self) -> str:
        """How many runs there are, and that they are not compared."""
        many = units.count_noun(self.recordings, "recordings")
        of = "different runs"
        if self.recordings > len(self.runs):
            of = units.count_noun(len(self.runs), "runs")
        return f"{many} of {of}, each analysed separately."

    @property
    def recordings(self) -> int:
        """How many recordings the runs have together."""
        return sum(run.recordings for run in self.runs)

    def to_json(self) -> bytes:
        """The answers as JSON, on one line; `docs/analysis.md` describes every key."""
        return msgspec.json.encode(
            {
                "schema": SCHEMA,
                "headline": self.headline,
                "path": safe_text(self.path),
                "runs": [_values(run) for run in self.runs],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        values: dict[str, Any] = msgspec.json.decode(self.to_json())
        return values


def _values(run: ListedRun) -> dict[str, Any]:
    answer = None if run.analysis is None else msgspec.Raw(run.analysis.to_json())
    facts = {"name": run.name, "path": run.path, "reason": run.reason}
    return {**sayable_values(facts), "recordings": run.recordings, "answer": answer}


def analyze_place(source: str | Path, **options: Any) -> Analysis | RunList:
    """What `analyze` says, or a list of answers where recordings are no ranks of one run.

    `options` are those of `analyze`.
    """
    try:
        return analyze(source, **options)
    except SeveralRunsError:
        place = place_of(str(source))
        chosen = {name: options.get(name) for name in _CHOICES}
        runs_by_name = runs_among(find_chosen(place, **chosen))
        runs = [
            run
            for name in sorted(runs_by_name, key=units.natural)
            for run in _runs(name, runs_by_name[name], place, options)
        ]
        return RunList(display_place(place), tuple(runs))
    except UnrelatedRunsError as several:
        runs = [_listed_run(recordings, options) for recordings in several.runs]
        damaged = [
            ListedRun(recording.worker, recording.source, None, recording.reason)
            for recording in several.damaged
        ]
        return RunList(several.place, (*runs, *damaged))


def _runs(
    name: str, recordings: Sequence[Recording], place: Place, options: dict[str, Any]
) -> Iterator[ListedRun]:
    """A folder among several: its run, or each of those it holds."""
    folder = recordings[0].path.parent
    try:
        members, _ = one_run(recordings, place)
        answer = analyze_place(folder if len(members) > 1 else members[0].source, **options)
    except TimesinkError as error:
        yield ListedRun(name, str(folder), None, error.message, len(recordings))
        return
    if isinstance(answer, RunList):
        yield from (structs.replace(run, name=f"{name}/{run.name}") for run in answer.runs)
        return
    path = str(folder) if len(members) > 1 else members[0].source
    yield ListedRun(name, path, answer, recordings=len(members))


def _listed_run(recordings: Sequence[Recording], options: dict[str, Any]) -> ListedRun:
    first = recordings[0]
    source = first.source if first.remote is None else first.remote.url
    run_options = {name: value for name, value in options.items() if name not in _CHOICES}
    try:
        if len(recordings) == 1:
            return ListedRun(first.worker, first.source, analyze(source, **run_options))
        return ListedRun(
            first.worker,
            first.source,
            _analyze_ranks(recordings, options),
            recordings=len(recordings),
        )
    except TimesinkError as error:
        return ListedRun(first.worker, first.source, None, error.message)


_CHOICES = ("worker", "span", "rank")
"""Options that have chosen these recordings already."""


def _analyze_ranks(recordings: Sequence[Recording], options: dict[str, Any]) -> Analysis:
    """Ranks of one run among recordings of others."""
    engine: str | Engine = options.get("engine", "local")
    steps = options.get("steps")
    ranks, detailed, trace = open_set(
        recordings,
        engine=engine_of(engine, jobs=options.get("jobs"), address=options.get("ray_address")),
        steps=None if steps is None else step_choice(steps),
        cache=options.get("cache", True),
        progress=options.get("progress"),
    )
    note = f"{units.count_noun(len(ranks.ranks), 'ranks')}: {detailed} in detail"
    analysis = Analysis(trace, recordings[0].source, ranks, chosen=(note,))
    return replace(analysis, group_by=options.get("group_by", ""))


def run_list_document(answers: RunList) -> blocks.Document:
    """A headline for each run, and the command that shows it alone."""
    return blocks.Document(
        kind="analysis",
        title=Path(answers.path).name or answers.path,
        subject=answers.path,
        headline=answers.headline,
        sections=tuple(_section(place, run) for place, run in enumerate(answers.runs, start=1)),
    )


def _section(place: int, run: ListedRun) -> blocks.Section:
    command = f"timesink analyze {shlex.quote(run.path)}"
    texts: tuple[blocks.Text, ...]
    if run.analysis is None:
        texts = (blocks.Text(f"Cannot be analysed: {run.reason}", "warning"),)
    else:
        texts = (blocks.Text(run.analysis.headline), blocks.Text(command))
    return blocks.Section(f"run-{place}", run.name, texts)
