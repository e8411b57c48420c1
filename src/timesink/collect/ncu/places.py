"""Where results go, and how a report gets there without anything being lost."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from timesink.collect.ncu.command import REPORT_SUFFIX, shown
from timesink.collect.signals import interruption
from timesink.errors import CollectError, OutputError, TimesinkError, UsageError

_LEAST_FREE = 64 * 1024**2
"""Bytes without which even the report of a small program does not fit."""

_OF_OTHER_KINDS = (".html", ".htm", ".svg", ".png", ".json", ".md")
"""What `timesink kernels` writes."""


@dataclass(frozen=True, slots=True)
class NcuOutputs:
    """Where results go; the report only where it is asked for."""

    output: Path
    report: Path | None = None
    force: bool = False

    def check(self, program: tuple[str, ...]) -> None:
        """Refuse before the long work what cannot work after it."""
        self.check_names()
        for path in (self.output, self.report):
            if path is not None:
                self._check_one(path, program)
                if not os.access(path.parent, os.W_OK):
                    raise OutputError.unwritable(path, "no permission to write to its folder")
                free = shutil.disk_usage(path.parent).free
                if free < _LEAST_FREE:
                    raise OutputError.unwritable(
                        path, f"only {free // 1024**2} MB left on its disk"
                    )

    def check_names(self) -> None:
        """Refuse one file for two things, and a table under the name of something else."""
        if self.report is not None and self.report.resolve() == self.output.resolve():
            raise UsageError(
                f"{self.report}: cannot be both the table and the report",
                "choose another -o or another --keep-report",
            )
        name = self.output.name.lower().removesuffix(".gz")
        if name.endswith(REPORT_SUFFIX):
            raise UsageError(
                f"{self.output}: -o takes the table, which is CSV",
                f"keep the report with --keep-report {shown([str(self.output)])}",
            )
        if name.endswith(_OF_OTHER_KINDS):
            raise UsageError(
                f"{self.output}: timesink ncu writes CSV",
                "write a .csv file, then  timesink kernels FILE.csv -o "
                + shown([str(self.output)]),
            )

    def _check_one(self, path: Path, program: tuple[str, ...]) -> None:
        if not path.parent.is_dir():
            raise OutputError.no_folder(path)
        if path.is_dir():
            raise OutputError.unwritable(path, "it is a folder")
        if not path.exists():
            return
        if any(_is_same(path, word) for word in program):
            raise OutputError(
                f"{path}: is part of the program, and is not overwritten", "choose another -o"
            )
        if not self.force:
            raise OutputError.exists(path)

    @property
    def beside(self) -> Path:
        """A free name for a report beside the table, for one that nobody asked for."""
        stem = Path(self.output.name.removesuffix(".gz")).stem
        names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
        paths = (self.output.with_name(f"{name}{REPORT_SUFFIX}") for name in names)
        return next(path for path in paths if path != self.output and not os.path.lexists(path))


def _is_same(path: Path, word: str) -> bool:
    try:
        return path.samefile(word)
    except (OSError, ValueError):
        # Most words of a program are no files, and some cannot be names of one.
        return False


# -- the report ----------------------------------------------------------------------------------


@contextmanager
def workplace(output: Path) -> Iterator[Path]:
    """Where the report is written: in a folder beside the output, for reports are large.

    The folder stays where a report is left in it, for then it could not be put anywhere else.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=".timesink-ncu-", dir=output.parent.resolve()))
    except OSError as error:
        raise OutputError.unwritable(output, error.strerror or str(error)) from None
    report = folder / f"report{REPORT_SUFFIX}"
    try:
        yield report
    finally:
        if not report.exists():
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def rescued(report: Path, places: NcuOutputs, interruptions: list[int]) -> Iterator[None]:
    """Measuring may have taken hours: what was measured is not thrown away for a later error."""
    try:
        yield
    except Exception as error:
        if not report.exists():
            raise
        stopped = interruption(interruptions)
        message = _worded(error)
        if stopped is not None and not message.startswith(stopped.message):
            message = f"{stopped.message}; {message}"
        saved = CollectError(message, f"the report is kept as {_save(report, places)}")
        saved.exit_code = stopped.exit_code if stopped is not None else 1
        raise saved from error


def put_away(report: Path, places: NcuOutputs) -> CollectError | None:
    """Keep the report where that was asked for; what to say where it had to go elsewhere."""
    if places.report is None:
        report.unlink(missing_ok=True)
    if not report.exists():
        return None
    kept = _save(report, places)
    if kept == places.report:
        return None
    return CollectError(f"{places.report}: cannot be written", f"the report is kept as {kept}")


def _worded(error: Exception) -> str:
    if isinstance(error, TimesinkError):
        return error.message
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"


def _save(report: Path, places: NcuOutputs) -> Path:
    """Move a report to the first place that takes it; where none does it stays where it is."""
    for path in (places.report, places.beside):
        if path is not None:
            with suppress(OSError):
                _move(report, path)
                return path
    return report


def _move(report: Path, path: Path) -> None:
    """To another disk as well; the file appears whole or not at all."""
    with suppress(OSError):
        os.replace(report, path)  # noqa: PTH105 - says what happens to a file that is there
        return
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        shutil.copyfile(report, unfinished)
        os.replace(unfinished, path)  # noqa: PTH105
    except OSError:
        with suppress(OSError):
            unfinished.unlink()
        raise
    report.unlink()
