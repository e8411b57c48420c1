"""A run: the recordings of one folder, its workers and their spans."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import msgspec

from timesink.errors import NotFoundError, TimesinkError, UnreadableError
from timesink.formats.collective_logs.signatures import is_log_folder
from timesink.formats.file_names import (
    folder_of,
    is_named_as_table,
    is_profiler_name,
    stem_of,
)
from timesink.formats.source_file import open_source
from timesink.model.units import natural
from timesink.patterns import regex
from timesink.recorder.folder import RecordingFolder
from timesink.recorder.places import CONTROL_FOLDER
from timesink.recorder.processes import safe_text
from timesink.sources.ab_folder import AB_FILE, AbRuns, is_ab, read_ab
from timesink.sources.discovery import (
    find_recordings,
    recordings_in,
    runs_among,
    stated_rank,
    told_apart,
    told_runs,
)
from timesink.sources.recordings import Recording
from timesink.sources.sidecars import SNAPSHOT_ENDINGS, TRACE_ENDINGS, run_file_in
from timesink.sources.watch_folder import INCIDENTS, WATCH_FILE, is_watch


class ReachableFiles(msgspec.Struct, frozen=True):
    """Decides which files may be reached."""

    root: Path
    follow_links: bool = False
    """Whether links may lead out of the folder."""

    def holds(self, path: Path) -> bool:
        """Whether a path may be reached, wherever its links lead."""
        if self.follow_links:
            return True
        try:
            return path.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError):  # links that lead in a circle
            return False

    def check(self, paths: Iterable[Path]) -> None:
        """Refuse files that lie elsewhere."""
        for path in paths:
            if not self.holds(path):
                raise NotFoundError(
                    f"{path.name} of {path.parent.name}: a link that leads outside the served "
                    "folder is not followed",
                    "copy the file, serve its folder, or start with --follow-links",
                )

    def check_below(self, folder: Path) -> None:
        """Refuse a folder with a link that leads elsewhere, at any depth."""
        if self.follow_links:
            return
        for place, folders, files in os.walk(folder):
            here = Path(place)
            self.check(here / name for name in (*folders, *files) if (here / name).is_symlink())


ALL_WORKERS = "All"
"""The worker that stands for all workers of a run."""
_NO_TIMESTAMP = "default"

Files: TypeAlias = tuple[tuple[str, int, int], ...]
"""Name, size and time of the files of a folder that may matter."""


def span_of(recording: Recording) -> str:
    """The span as requests spell it."""
    return _NO_TIMESTAMP if recording.span is None else str(recording.span)


@dataclass(frozen=True)
class ServedRun:
    """What was recorded in one folder."""

    name: str
    folder: Path
    """Or the one file that is served."""
    inside: ReachableFiles
    """What of its files may be reached."""
    recordings: tuple[Recording, ...] = ()
    """Timelines by worker, and by span within a worker."""
    tables: tuple[Path, ...] = ()
    """Behaviour tables."""
    counters: tuple[Path, ...] = ()
    """Files of Nsight Compute."""
    files: Files = ()
    recorded_now: bool = False
    """Whether a recorder is at work in the folder."""
    are_apart: bool = False
    """Whether nothing says that its recordings are of one run: each is one of its own."""

    @cached_property
    def _by_worker(self) -> dict[str, list[Recording]]:
        by_worker: dict[str, list[Recording]] = {}
        for recording in self.recordings:
            by_worker.setdefault(recording.worker, []).append(recording)
        return by_worker

    @property
    def workers(self) -> list[str]:
        return list(self._by_worker)

    @property
    def state(self) -> tuple[object, ...]:
        """Changes when anything of the run does."""
        return self.name, self.files, self.recorded_now

    def spans(self, worker: str) -> list[str]:
        """Spans of a worker, or of all workers together, in the order of time."""
        chosen = self.of_worker(worker)
        # A worker whose files carry no timestamp has one span, without a number.
        order = {span_of(recording): recording.span or 0 for recording in chosen}
        return sorted(order, key=lambda span: order[span])

    def recording(self, worker: str, span: str) -> Recording:
        """The trace of one worker and span."""
        if worker == ALL_WORKERS:
            raise NotFoundError(
                f"{self.name}: this view is for one process, not for {ALL_WORKERS}",
                f"it has {_name_list(self.workers)}",
            )
        return self.span(span, worker)[0]

    def span(self, span: str, worker: str = ALL_WORKERS) -> list[Recording]:
        """The traces of one span, of one worker or of all."""
        chosen = self.of_worker(worker)
        recordings = [recording for recording in chosen if span_of(recording) == span]
        if not recordings:
            raise NotFoundError(
                f"{self.name}: {worker} has no span {span!r}",
                f"it has {_name_list(self.spans(worker))}",
            )
        return recordings

    def of_worker(self, worker: str) -> list[Recording]:
        """The traces of one worker, or of all."""
        if worker == ALL_WORKERS:
            return list(self.recordings)
        recordings = self._by_worker.get(worker)
        if not recordings:
            raise NotFoundError(
                f"{self.name}: no process is named {worker!r}", f"it has {_name_list(self.workers)}"
            )
        return recordings


class ServedAb(msgspec.Struct, frozen=True):
    """Runs of two versions in turn, which are one comparison."""

    name: str
    folder: Path
    inside: ReachableFiles
    files: Files = ()
    ab: AbRuns | None = None
    """None where it cannot be read."""
    timelines: dict[str, str] = msgspec.field(default_factory=dict)
    """The run with a timeline of each side that has one."""


class ServedWatch(msgspec.Struct, frozen=True):
    """A program that is, or was, watched."""

    name: str
    folder: Path
    inside: ReachableFiles
    root: str
    """What the names of recordings below it begin with."""

    def name_of(self, *parts: str) -> str:
        """The name of a recording below it."""
        return "/".join(filter(None, (self.root, *parts)))


def _name_list(names: list[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


def with_ranks_joined(runs: list[ServedRun], root: Path) -> list[ServedRun]:
    """Runs, in which folders such as `rank_0` and `rank_1` of one folder are that folder.

    Only names that say so are believed: a folder of runs is listed again and again, and looking
    into every file of it would take too long.
    """
    above: dict[Path, list[ServedRun]] = {}
    for run in runs:
        if run.folder != root:
            above.setdefault(run.folder.parent, []).append(run)
    return [
        rank_run for folder, group in above.items() for rank_run in _join_ranks(folder, group, root)
    ] + [run for run in runs if run.folder == root]


def one_by_one(runs: list[ServedRun]) -> list[ServedRun]:
    """Runs, in which recordings that only lie together in a folder are runs of their own."""
    taken = {run.name for run in runs if not run.are_apart}
    separate_runs = []
    for run in runs:
        if not run.are_apart:
            separate_runs.append(run)
            continue
        for recording in run.recordings:
            below = "" if run.name == "." else f"{run.name}/"
            file = recording.path.name
            name = below + recording.worker
            name = below + safe_text(file) if name in taken else name
            taken.add(name)
            files = tuple(described for described in run.files if described[0] == file)
            single_run = replace(run, name=name, folder=recording.path, recordings=(recording,))
            separate_runs.append(replace(single_run, files=files, are_apart=False))
    return separate_runs


def _are_apart(run: ServedRun, recordings: Sequence[Recording]) -> bool:
    """Whether neither names nor first bytes say that recordings are ranks of one run.

    Those that a profiler or a recorder named are: that is how TensorBoard knows workers.
    """
    named = any(
        recording.rank is not None or is_profiler_name(recording.path.name)
        for recording in recordings
    )
    # `a.json` and `a.json.gz` are one recording.
    recordings = [
        recording for recording in recordings if recording.path.name not in (AB_FILE, WATCH_FILE)
    ]
    contents = {stem_of(recording.path.name) for recording in recordings}
    if len(contents) < max(len(recordings), 2) or named or run_file_in(run.folder) is not None:
        return False
    ranks = [stated_rank(recording) for recording in recordings]
    return None in ranks or len(set(ranks)) < len(ranks)


def _join_ranks(folder: Path, runs: list[ServedRun], root: Path) -> Iterator[ServedRun]:
    # Nothing but the timelines of ranks or hosts, by the names of their folders.
    are_ranks = all(
        run.recordings and not (run.tables or run.counters) and folder_of(run.folder.name).says_so
        for run in runs
    )
    if len(runs) < 2 or not are_ranks:
        yield from runs
        return
    run_recordings = told_runs(
        [recording for run in runs for recording in run.recordings],
        lambda recording: recording.rank,
    )
    if len(runs_among(run_recordings)) > 1:
        yield from runs
        return
    recordings = sorted(
        told_apart(run_recordings),
        key=lambda recording: (natural(recording.worker), recording.span or 0),
    )
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


_TABLE_ENDINGS = (".csv", ".csv.gz", ".parquet")
_COUNTER_ENDINGS = (".csv", ".csv.gz", ".ncu-rep")
_ENDINGS = tuple({*TRACE_ENDINGS, *_TABLE_ENDINGS, *_COUNTER_ENDINGS, *SNAPSHOT_ENDINGS})


class Scan(msgspec.Struct):
    """Looks for runs again and again; what did not change is not looked into twice."""

    inside: ReachableFiles
    prefix: str = ""
    """What the names of its runs begin with."""
    _runs_by_folder: dict[Path, ServedRun] = msgspec.field(default_factory=dict)
    _watched: frozenset[Path] = frozenset()
    _logs: dict[Path, tuple[tuple[str, int, int], bool]] = msgspec.field(default_factory=dict)
    """Of folders without a trace: whether they held logs of collectives, as they were then."""

    def runs(self) -> dict[str, ServedRun]:
        """Every run at or below the folder, by name."""
        root = self.inside.root
        if root.is_file():
            name = safe_text(self._named(root.name))
            recordings = tuple(find_recordings(root))
            # Who names a link means the file it leads to.
            inside = ReachableFiles(root.parent, self.inside.follow_links or root.is_symlink())
            files = tuple(_file_stats(root.parent, [root.name], inside))
            return {name: ServedRun(name, root, inside, recordings, files=files)}
        self._runs_by_folder = {
            folder: self._run(folder, files) for folder, files in folders(root, self.inside)
        }
        self._watched = frozenset(
            folder for folder, run in self._runs_by_folder.items() if self._is_watch(folder, run)
        )
        runs = [
            run
            for run in self._runs_by_folder.values()
            if (run.recordings or run.tables or run.counters or run.recorded_now)
            and not self._is_of_watcher(run.folder)
        ]
        # In a folder of runs, files of its own are a run only if the profiler named them.
        runs = [
            run
            for run in runs
            if run.name != "."
            or len(runs) == 1
            or any(is_profiler_name(recording.path.name) for recording in run.recordings)
        ]
        runs = one_by_one(with_ranks_joined(runs, root))
        # The run that is the folder itself takes its name, unless a run below has it already.
        root_name = _own_name(root)
        taken = {run.name for run in runs} | {""}
        found_as = [
            root_name if run.name == "." and root_name not in taken else run.name for run in runs
        ]
        named = zip(map(self._named, found_as), runs, strict=True)
        return {name: replace(run, name=name) for name, run in named}

    def in_turn(self) -> dict[str, ServedAb]:
        """Folders of `timesink ab` among those that were looked at last, by name."""
        ab_folders = (
            self._ab(folder, run)
            for folder, run in self._runs_by_folder.items()
            if any(name == AB_FILE for name, _, _ in run.files)
            and self.inside.holds(folder / AB_FILE)
            and is_ab(folder)
        )
        return {served_ab.name: served_ab for served_ab in ab_folders}

    def watched(self) -> dict[str, ServedWatch]:
        """Folders of `timesink watch` among those that were looked at last, by name."""
        watches = (
            ServedWatch(
                self._name_of(run),
                folder,
                self.inside,
                self.prefix if run.name == "." else self._named(run.name),
            )
            for folder, run in self._runs_by_folder.items()
            if folder in self._watched
        )
        return {watch.name: watch for watch in watches}

    def _is_watch(self, folder: Path, run: ServedRun) -> bool:
        has = any(name == WATCH_FILE for name, _, _ in run.files)
        return has and self.inside.holds(folder / WATCH_FILE) and is_watch(folder)

    def _is_of_watcher(self, folder: Path) -> bool:
        """Whether a folder holds what a watcher notes; its recordings are in folders below."""
        if folder.parent.name == INCIDENTS and folder.parent.parent in self._watched:
            return True
        return folder in self._watched

    def _name_of(self, run: ServedRun) -> str:
        return self._named(_own_name(self.inside.root) if run.name == "." else run.name)

    def _ab(self, folder: Path, run: ServedRun) -> ServedAb:
        ab, lines = None, dict[str, str]()
        with suppress(TimesinkError):
            ab = read_ab(folder)
            below = {side: folder / timeline for side, timeline in ab.timelines().items()}
            lines = {
                side: self._named(self._runs_by_folder[path].name)
                for side, path in below.items()
                if path in self._runs_by_folder
            }
        return ServedAb(self._name_of(run), folder, self.inside, run.files, ab, lines)

    def _named(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name

    def _run(self, folder: Path, files: Files) -> ServedRun:
        run = self._runs_by_folder.get(folder)
        if run is None or run.files != files:
            name = safe_text(folder.relative_to(self.inside.root).as_posix())
            run = _looked_into(ServedRun(name, folder, self.inside, files=files))
        if not run.recordings and not run.tables and not run.counters:
            run = self._with_logs(run)
        recorder = (
            RecordingFolder(folder).recorder() if (folder / CONTROL_FOLDER).is_dir() else None
        )
        return replace(run, recorded_now=recorder is not None)

    def _with_logs(self, run: ServedRun) -> ServedRun:
        """The run, which is one recording where its folder holds logs of collectives."""
        state: tuple[str, int, int] = ("", 0, 0)
        with suppress(OSError):
            stats = [file.stat() for file in run.folder.iterdir() if file.is_file()]
            state = (
                "",
                sum(s.st_size for s in stats),
                max((s.st_mtime_ns for s in stats), default=0),
            )
        looked_at = self._logs.get(run.folder)
        if looked_at is None or looked_at[0] != state:
            is_log = state[1] > 0 and is_log_folder(run.folder) and self._reaches(run.folder)
            looked_at = self._logs[run.folder] = state, is_log
        if not looked_at[1]:
            return run
        recording = Recording(run.folder, safe_text(run.folder.name))
        return replace(run, recordings=(recording,), files=(*run.files, state))

    def _reaches(self, folder: Path) -> bool:
        """Whether all files of a folder may be reached: they are read together."""
        try:
            return all(self.inside.holds(file) for file in folder.iterdir() if file.is_symlink())
        except OSError:
            return False


def _own_name(root: Path) -> str:
    return safe_text(Path(os.path.abspath(root)).name)  # noqa: PTH100 - a link keeps its own name


def folders(root: Path, inside: ReachableFiles) -> Iterator[tuple[Path, Files]]:
    """Every folder at or below a path with its files that may matter.

    Links are followed as far as they stay inside.  A folder that several links lead to is entered
    through the first of them only, and a link to a folder it lies in is not followed, so that
    circles end.  Folders of a recorder at work are left alone.
    """
    reached: set[Path] = set()
    for place, names, files in os.walk(root, followlinks=True):
        folder = Path(place)
        names[:] = sorted(name for name in names if _leads_on(folder / name, reached, inside))
        yield folder, tuple(_file_stats(folder, files, inside))


def _leads_on(place: Path, reached: set[Path], inside: ReachableFiles) -> bool:
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


def _file_stats(
    folder: Path, names: Iterable[str], inside: ReachableFiles
) -> Iterator[tuple[str, int, int]]:
    for name in sorted(names):
        if name.lower().endswith(_ENDINGS):
            with suppress(OSError):
                file = folder / name
                # Of a link that leads elsewhere nothing is told but that it is there.
                stat = file.stat() if inside.holds(file) else file.lstat()
                yield name, stat.st_size, stat.st_mtime_ns


def _looked_into(run: ServedRun) -> ServedRun:
    """The run with what its files are; links that lead out are no files of it."""
    paths = [run.folder / name for name, _, _ in run.files]
    reachable = {path for path in paths if not path.is_symlink() or run.inside.holds(path)}
    if not reachable:
        return run
    with suppress(OSError):
        recordings = told_apart(recordings_in(run.folder))
        full_run = replace(
            run,
            recordings=tuple(recording for recording in recordings if recording.path in reachable),
            tables=tuple(path for path in paths if path in reachable and _is_table(path)),
            counters=tuple(path for path in paths if path in reachable and _is_counted(path)),
        )
        has_more = bool(full_run.tables or full_run.counters)
        return replace(full_run, are_apart=not has_more and _are_apart(run, full_run.recordings))
    return run


def _is_table(path: Path) -> bool:
    from timesink.sources.run_facts import is_behaviour_table  # noqa: PLC0415 - loads much

    named = path.name.lower().endswith(_TABLE_ENDINGS) and is_named_as_table(path.name)
    return named and is_behaviour_table(path)


def _is_counted(path: Path) -> bool:
    """Whether a file is one of Nsight Compute."""
    if not path.name.lower().endswith(_COUNTER_ENDINGS):
        return False
    from timesink.formats import kernel_table  # noqa: PLC0415 - only where there may be one
    from timesink.formats.ncu import reader as ncu  # noqa: PLC0415 - as above

    with suppress(UnreadableError, OSError):
        head = open_source(path).head()
        return any(reader.sniff(head, path.name) for reader in (ncu, kernel_table))
    return False


_ADDRESS = regex(r"[a-zA-Z][0-9a-zA-Z.]*://")


def log_folders(logdir: str, logdir_spec: str = "") -> dict[str, Path]:
    """The folders TensorBoard was told to show, by what the names of their runs begin with.

    As in TensorBoard, `--logdir` is one folder, and `--logdir_spec` a list of folders, each of
    which may have a name.  Folders on other machines (`gs://...`) hold nothing we could read.
    """
    if logdir:
        return {} if _ADDRESS.match(logdir) else {"": _expand_path(logdir)}
    folders = {}
    for entry in filter(None, logdir_spec.split(",")):
        if not _ADDRESS.match(entry):
            name, colon, rest = entry.partition(":")
            has_name = colon and not entry.startswith("/") and not os.path.splitdrive(entry)[0]
            path = _expand_path(rest if has_name else entry)
            folders[(has_name and name) or path.as_posix().strip("/")] = path
    return folders


def _expand_path(path: str) -> Path:
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - a link keeps its name
