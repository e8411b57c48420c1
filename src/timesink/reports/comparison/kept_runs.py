"""What recordings say cycle by cycle, kept beside their traces: it is not found out twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import polars as pl

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.errors import TimesinkError
from timesink.model.trace import Trace
from timesink.readers.discover import Recording
from timesink.reports.ahead import Question
from timesink.reports.comparison.runs import Finding, Run, Unit, run_of
from timesink.reports.comparison.sides import Source
from timesink.store.answers import KeptAnswer
from timesink.store.background import wait_until_saved
from timesink.store.cache import Cache
from timesink.store.opening import key_of, open_recording
from timesink.store.tables import Tables, from_bytes, to_bytes

_BEHAVIOUR = "behaviour"


def keep_runs(
    store: Cache, recordings: Sequence[Recording], question: Question, cores: int
) -> None:
    """Find out what recordings say and keep it; errors are left to whoever asks for it."""
    finding = Finding(question.marker, question.by)
    for recording in recordings:
        source = Source(recording, is_table=False, job="")
        with suppress(TimesinkError):
            trace = open_recording(recording, store, jobs=cores, in_background=True)
            place = place_for(source, finding, store)
            if place is not None and place.load() is None:
                save_run(place, run_of(source, trace, finding))
    for recording in recordings:
        wait_until_saved(store, key_of(recording, store))


def place_for(source: Source, finding: Finding, store: Cache | None = None) -> KeptAnswer | None:
    """Where the run of a recording is kept; None where it is not."""
    # A map of one's own may change at any time.
    if finding.metric_map is not None:
        return None
    store = store or Cache.default()
    key = key_of(source.recording, store)
    question = ("run", str(source.path), finding.marker, finding.by)
    return KeptAnswer.about(store, key, question) if key else None


def load_run(place: KeptAnswer, source: Source, trace: Trace) -> Run | None:
    """The run of a recording as it was kept; None where none is."""
    content = place.load()
    kept = None if content is None else from_bytes(content)
    if kept is None:
        return None
    about = kept.about
    return Run(
        source,
        kept.tables[_BEHAVIOUR],
        Unit(about["method"], about["anchor"]),
        trace=replace(trace),
        rank=about["rank"],
        confidence=about["confidence"],
        notes=tuple(about["notes"]),
        anatomies=dict(_anatomies(kept)),
    )


def save_run(place: KeptAnswer, run: Run) -> None:
    """Keep the run of a recording."""
    tables, plain = {_BEHAVIOUR: run.behaviour}, {}
    for pid, anatomy in run.anatomies.items():
        values = {one.name: getattr(anatomy, one.name) for one in fields(anatomy)}
        own = [name for name, value in values.items() if isinstance(value, pl.DataFrame)]
        tables |= {_name(pid, name): values.pop(name) for name in own}
        plain[pid] = {"tables": own, "values": values}
    about = {
        "method": run.unit.method,
        "anchor": run.unit.anchor,
        "rank": run.rank,
        "confidence": run.confidence,
        "notes": run.notes,
        "anatomies": plain,
    }
    place.save(to_bytes(about, tables))


def _anatomies(kept: Tables) -> Iterator[tuple[str, Anatomy]]:
    for pid, about in kept.about["anatomies"].items():
        values: dict[str, Any] = dict(about["values"])
        values["notes"] = tuple(values["notes"])
        values |= {name: kept.tables[_name(pid, name)] for name in about["tables"]}
        yield pid, Anatomy(**values)


def _name(pid: str, table: str) -> str:
    return f"{table} of {pid}"
