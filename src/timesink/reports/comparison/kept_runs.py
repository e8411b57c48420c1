"""What recordings say cycle by cycle, kept beside their traces: it is not found out twice."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from timesink.errors import TimesinkError
from timesink.model.trace import Trace
from timesink.readers.discover import Recording
from timesink.reports.ahead import Question
from timesink.reports.comparison.run_tables import run_of_tables, tables_of
from timesink.reports.comparison.runs import CycleSearch, SideRun, run_of
from timesink.reports.comparison.sides import SideSource
from timesink.store.answers import KeptAnswer
from timesink.store.background import wait_until_saved
from timesink.store.cache import Cache
from timesink.store.opening import key_of, open_recording
from timesink.store.tables import from_bytes, to_bytes


def keep_runs(
    store: Cache, recordings: Sequence[Recording], question: Question, cores: int
) -> None:
    """Find out what recordings say and keep it; errors are left to whoever asks for it."""
    finding = CycleSearch(question.marker, question.by)
    for recording in recordings:
        source = SideSource(recording, is_table=False, job="")
        with suppress(TimesinkError):
            trace = open_recording(recording, store, jobs=cores, in_background=True)
            place = place_for(source, finding, store)
            if place is not None and place.load() is None:
                save_run(place, run_of(source, trace, finding))
    for recording in recordings:
        wait_until_saved(store, key_of(recording, store))


def place_for(
    source: SideSource, finding: CycleSearch, store: Cache | None = None
) -> KeptAnswer | None:
    """Where the run of a recording is kept; None where it is not."""
    # A map of one's own may change at any time.
    if finding.metric_map is not None:
        return None
    store = store or Cache.default()
    key = key_of(source.recording, store)
    question = ("run", str(source.path), finding.marker, finding.by)
    return KeptAnswer.about(store, key, question) if key else None


def load_run(place: KeptAnswer, source: SideSource, trace: Trace) -> SideRun | None:
    """The run of a recording as it was kept; None where none is."""
    content = place.load()
    kept = None if content is None else from_bytes(content)
    if kept is None:
        return None
    return run_of_tables(kept, source, replace(trace))


def save_run(place: KeptAnswer, run: SideRun) -> None:
    """Keep the run of a recording, without the calls: only budgets and baselines need them."""
    kept = tables_of(run, calls=False)
    place.save(to_bytes(kept.about, kept.tables))
