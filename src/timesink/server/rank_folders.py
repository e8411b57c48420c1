"""Folders that hold one rank each are one run, not many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from timesink.model.ordering import natural
from timesink.readers.discover import told_apart
from timesink.readers.folder_names import folder_of
from timesink.readers.run_folders import told_runs
from timesink.readers.runs import runs_among
from timesink.server.runs import ServedRun


def with_ranks_joined(runs: list[ServedRun], root: Path) -> list[ServedRun]:
    """Runs, in which folders such as `rank_0` and `rank_1` of one folder are that folder.

    Only names that say so are believed: a folder of runs is listed again and again, and looking
    into every file of it would take too long.
    """
    above: dict[Path, list[ServedRun]] = {}
    for run in runs:
        if run.folder != root:
            above.setdefault(run.folder.parent, []).append(run)
    return [one for folder, own in above.items() for one in _joined(folder, own, root)] + [
        run for run in runs if run.folder == root
    ]


def _joined(folder: Path, runs: list[ServedRun], root: Path) -> Iterator[ServedRun]:
    # Nothing but the timelines of ranks or hosts, by the names of their folders.
    are_ranks = all(
        run.recordings and not (run.tables or run.counters) and folder_of(run.folder.name).says_so
        for run in runs
    )
    if len(runs) < 2 or not are_ranks:
        yield from runs
        return
    told = told_runs([one for run in runs for one in run.recordings], lambda one: one.rank)
    if len(runs_among(told)) > 1:
        yield from runs
        return
    recordings = sorted(told_apart(told), key=lambda one: (natural(one.worker), one.span or 0))
    name = folder.relative_to(root).as_posix()
    yield replace(
        runs[0],
        name=name,
        folder=folder,
        recordings=tuple(recordings),
        files=tuple(
            (f"{run.folder.name}/{file}", size, time)
            for run in runs
            for file, size, time in run.files
        ),
        recorded_now=any(run.recorded_now for run in runs),
    )
