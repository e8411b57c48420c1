"""`ab.json`: runs of two versions in turn, as `timesink ab` leaves them in a folder."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import msgspec

from timesink.errors import OutputError, UnreadableError
from timesink.formats.small_files import DamagedError, encode_json, read_small_json
from timesink.model.diagnosis import SIDES
from timesink.recorder.places import write_whole

AB_FILE = "ab.json"
AB_SCHEMA = "timesink/ab/1"
BASE, NEW = SIDES


class AbSide(msgspec.Struct, frozen=True):
    """One version of the program."""

    command: tuple[str, ...] = ()
    """As given, what is secret in it masked."""
    ref: str | None = None
    """The commit; None: as it was in its folder."""
    python: str | None = None
    head: str | None = None
    """The commit its folder was at, where `ref` is none and git knows."""
    dirty: bool = False
    """Whether files differed from that."""

    @property
    def commit(self) -> str | None:
        """The commit that was run, but for changes of its files."""
        return self.ref or self.head


class AbPlan(msgspec.Struct, frozen=True):
    """How the runs are made."""

    plain: int = 20
    """Cycles of a run, at least."""
    plain_s: float = 2.0
    """Measured time of a run, at least."""
    skip: int | None = None
    """Cycles let pass first; None: as the recorder does."""
    marker: str = ""
    most_runs: int | None = None
    """Of each side."""
    has_timeline: bool = True
    counters: str = "all"
    setup: str = ""
    directory: str = ""
    """Where the command was given."""


class AbRun(msgspec.Struct, frozen=True):
    """One run of one side."""

    side: str
    folder: str
    """Below the folder of all: `base/03`."""
    started_us: int
    ended_us: int
    exit: int
    failed: str = ""
    """Why it does not count; empty where it has not failed."""
    timeline: bool = False
    warm_up: bool = False

    @property
    def counts(self) -> bool:
        """Whether its unprofiled steps are compared."""
        return not (self.failed or self.timeline or self.warm_up)


class AbLook(msgspec.Struct, frozen=True):
    """What was known after a pair of runs."""

    pairs: int
    change_pct: float | None
    interval_pct: tuple[float, float] | None


class AbRuns(msgspec.Struct, frozen=True):
    """All runs of both versions, in the order in which they ran."""

    schema: str
    timesink: str
    base: AbSide
    new: AbSide
    detect_pct: float
    budget_s: float
    seed: int
    plan: AbPlan = msgspec.field(default_factory=AbPlan)
    complete: bool = False
    why_partial: str = "it has not ended"
    runs: tuple[AbRun, ...] = ()
    history: tuple[AbLook, ...] = ()

    @property
    def counted(self) -> tuple[AbRun, ...]:
        """Runs that are compared."""
        return tuple(run for run in self.runs if run.counts)

    @property
    def pairs(self) -> int:
        """How often both sides ran and are compared."""
        return len(self.counted) // 2

    def timelines(self) -> dict[str, str]:
        """The folder of the run with a timeline, for each side that has one.

        >>> from timesink.sources.ab_folder import AbRun, AbRuns, AbSide
        >>> runs = (AbRun("new", "new/09", 0, 1, 0, timeline=True),)
        >>> AbRuns("timesink/ab/1", "", AbSide(), AbSide(), 1, 600, 1, runs=runs).timelines()
        {'new': 'new/09'}
        """
        return {run.side: run.folder for run in self.runs if run.timeline and not run.failed}


_HEAD_BYTES = 200


def is_of_family(path: Path, family: str) -> bool:
    """Whether a file says that its schema is one of a family, as far as it can be read."""
    try:
        return str(read_small_json(path).get("schema")).startswith(family)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except DamagedError as error:
        # Whoever reads a damaged one says so.
        return f'"{family}'.encode() in error.content[:_HEAD_BYTES]


def is_ab(folder: Path) -> bool:
    """Whether a folder holds runs of two versions."""
    return is_of_family(folder / AB_FILE, AB_SCHEMA.rstrip("1"))


def refuse_ab(folder: Path) -> None:
    """Refuse the runs of two versions where one recording is meant."""
    if not is_ab(folder):
        return
    ab, quoted_folder = read_ab(folder), shlex.quote(str(folder))
    sides = " and ".join(f"{sum(run.side == side for run in ab.runs)} of {side}" for side in SIDES)
    raise UnreadableError(
        f"{folder}: runs of two versions ({sides}), not one recording",
        f"timesink compare {quoted_folder}  compares them; or name one run, such as "
        f"{quoted_folder}/{BASE}/01",
    )


def read_ab(folder: Path) -> AbRuns:
    """The runs of a folder that `timesink ab` has made.

    >>> import tempfile
    >>> from timesink.sources.ab_folder import AbRuns, AbSide, read_ab, write_ab
    >>> with tempfile.TemporaryDirectory() as place:
    ...     command = AbSide(("python", "train.py"), ref="5740c1d5")
    ...     ab = AbRuns("timesink/ab/1", "0.1.0", command, command, 1.0, 600.0, seed=1)
    ...     write_ab(ab, Path(place))
    ...     read_ab(Path(place)) == ab
    True
    """
    path = folder / AB_FILE
    hint = "name a folder that  timesink ab -o DIR  has made"
    try:
        ab: AbRuns = read_small_json(path, hint, shape=AbRuns)
    except (FileNotFoundError, NotADirectoryError):
        why = f"no {AB_FILE} in this folder" if folder.is_dir() else "no such folder"
        raise UnreadableError(f"{folder}: {why}", hint) from None
    if any(Path(run.folder).is_absolute() or ".." in Path(run.folder).parts for run in ab.runs):
        raise UnreadableError(f"{path}: has runs outside of its folder", hint)
    if ab.schema != AB_SCHEMA:
        raise UnreadableError(f"{path}: is {ab.schema!r}, and {AB_SCHEMA} is known here", hint)
    return ab


def write_ab(ab: AbRuns, folder: Path) -> None:
    """Write `ab.json`; it is there whole or not at all."""
    path = folder / AB_FILE
    try:
        text = msgspec.json.format(encode_json(ab), indent=1)
        write_whole(path, text + b"\n")
    except OSError as error:
        raise OutputError.unwritable(path, error) from None


def clear_ab(folder: Path) -> None:
    """Remove what an earlier one left, and nothing else."""
    if not is_ab(folder):
        return
    for side in SIDES:
        for path in list((folder / side).glob("*")):
            if path.name.isdigit():
                shutil.rmtree(path, ignore_errors=True)
    (folder / AB_FILE).unlink()
