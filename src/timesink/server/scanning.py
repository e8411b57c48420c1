"""Runs below a folder: every folder with something that was recorded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from timesink.collect.record.places import CONTROL_FOLDER, RecordingFolder
from timesink.errors import UnreadableError
from timesink.readers.beside import TRACE_ENDINGS
from timesink.readers.discover import (
    find_recordings,
    is_named_by_profiler,
    recordings_in,
    sayable,
    told_apart,
)
from timesink.readers.names import is_named_as_table
from timesink.readers.source import open_source
from timesink.server.inside import Inside
from timesink.server.rank_folders import with_ranks_joined
from timesink.server.runs import Files, ServedRun

_TABLE_ENDINGS = (".csv", ".csv.gz", ".parquet")
_COUNTER_ENDINGS = (".csv", ".csv.gz", ".ncu-rep")
_ENDINGS = tuple({*TRACE_ENDINGS, *_TABLE_ENDINGS, *_COUNTER_ENDINGS})


@dataclass
class Scan:
    """Looks for runs again and again; what did not change is not looked into twice."""

    inside: Inside
    prefix: str = ""
    """What the names of its runs begin with."""
    _known: dict[Path, ServedRun] = field(default_factory=dict)

    def runs(self) -> dict[str, ServedRun]:
        """Every run at or below the folder, by name."""
        root = self.inside.root
        if root.is_file():
            name = sayable(self._named(root.name))
            files = tuple(_described(root.parent, [root.name]))
            found = tuple(find_recordings(root))
            # Who names a link means the file it leads to.
            inside = Inside(root.parent, self.inside.follow_links or root.is_symlink())
            return {name: ServedRun(name, root, inside, found, files=files)}
        self._known = {
            folder: self._run(folder, files) for folder, files in folders(root, self.inside)
        }
        runs = [
            run
            for run in self._known.values()
            if run.recordings or run.tables or run.counters or run.recorded_now
        ]
        # In a folder of runs, files of its own are a run only if the profiler named them.
        runs = [
            run
            for run in runs
            if run.name != "." or len(runs) == 1 or any(map(is_named_by_profiler, run.recordings))
        ]
        runs = with_ranks_joined(runs, root)
        named = [replace(run, name=self._named(run.name)) for run in _with_root_named(runs, root)]
        return {run.name: run for run in named}

    def _named(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name

    def _run(self, folder: Path, files: Files) -> ServedRun:
        known = self._known.get(folder)
        if known is None or known.files != files:
            name = sayable(folder.relative_to(self.inside.root).as_posix())
            known = _looked_into(ServedRun(name, folder, self.inside, files=files))
        recorder = (
            RecordingFolder(folder).recorder() if (folder / CONTROL_FOLDER).is_dir() else None
        )
        return replace(known, recorded_now=recorder is not None)


def folders(root: Path, inside: Inside) -> Iterator[tuple[Path, Files]]:
    """Every folder at or below a path with its files that may matter.

    Links are followed as far as they stay inside.  A folder that several links lead to is entered
    through the first of them only, and a link to a folder it lies in is not followed, so that
    circles end.  Folders of a recorder at work are left alone.
    """
    reached: set[Path] = set()
    for place, names, files in os.walk(root, followlinks=True):
        folder = Path(place)
        names[:] = sorted(name for name in names if _leads_on(folder / name, reached, inside))
        yield folder, tuple(_described(folder, files))


def _leads_on(place: Path, reached: set[Path], inside: Inside) -> bool:
    if place.name == CONTROL_FOLDER:
        return False
    if not place.is_symlink():
        return True
    target = place.resolve()
    if (
        target in reached
        or place.parent.resolve().is_relative_to(target)
        or not inside.holds(place)
    ):
        return False
    reached.add(target)
    return True


def _described(folder: Path, names: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    for name in sorted(names):
        if name.lower().endswith(_ENDINGS):
            with suppress(OSError):
                stat = (folder / name).stat()
                yield name, stat.st_size, stat.st_mtime_ns


def _looked_into(run: ServedRun) -> ServedRun:
    """The run with what its files are; links that lead out are no files of it."""
    paths = [run.folder / name for name, _, _ in run.files]
    reachable = {path for path in paths if not path.is_symlink() or run.inside.holds(path)}
    if not reachable:
        return run
    with suppress(OSError):
        recordings = told_apart(recordings_in(run.folder))
        return replace(
            run,
            recordings=tuple(one for one in recordings if one.path in reachable),
            tables=tuple(path for path in paths if path in reachable and _is_table(path)),
            counters=tuple(path for path in paths if path in reachable and _is_counted(path)),
        )
    return run


def _is_table(path: Path) -> bool:
    from timesink.readers.behaviour.finding import is_behaviour_table  # noqa: PLC0415 - loads much

    named = path.name.lower().endswith(_TABLE_ENDINGS) and is_named_as_table(path.name)
    return named and is_behaviour_table(path)


def _is_counted(path: Path) -> bool:
    """Whether a file is one of Nsight Compute."""
    if not path.name.lower().endswith(_COUNTER_ENDINGS):
        return False
    from timesink.readers import kernel_table, ncu  # noqa: PLC0415 - only where there may be one

    with suppress(UnreadableError, OSError):
        head = open_source(path).head()
        return any(reader.sniff(head, path.name) for reader in (ncu, kernel_table))
    return False


def _with_root_named(runs: list[ServedRun], root: Path) -> Iterator[ServedRun]:
    """The run that is the folder itself takes its name, unless a run below has it already."""
    whole = os.path.abspath(root)  # noqa: PTH100 - a link keeps its own name
    name = sayable(Path(whole).name)
    taken = {run.name for run in runs} | {""}
    for run in runs:
        yield replace(run, name=name) if run.name == "." and name not in taken else run
