"""The table Nsight Compute prints: what it holds, and the file it becomes."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from timesink.errors import CollectError, OutputError, TimesinkError, UsageError
from timesink.recorder.folder import check_room
from timesink.recorder.ncu.plan import DEVICE_NAME, REPORT_SUFFIX, command_line
from timesink.recorder.processes import end_family, family, interruption

MARK = "# timesink-ncu "
"""Starts the first line of a file written here; what was asked for follows as JSON."""

TABLE_HEAD = b'"ID"'
"""How the table starts that Nsight Compute prints as CSV."""
_ABSENT = frozenset({"", "n/a", "nan"})
_KEY = ("Process ID", "Device", "ID")
_PREFIXES = ("regex:", "group:", "breakdown:")


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """What a printed table holds; ``offset`` is where its header starts in the file."""

    path: Path
    offset: int
    kernels: int
    device: str
    without_values: tuple[str, ...]


def look_at(path: Path, metrics: Sequence[str]) -> PrintedTable | None:
    """Describe the table in a file; None when there is none."""
    with path.open("rb") as file:
        offset = 0
        for line in file:
            if line.startswith(TABLE_HEAD):
                break
            offset += len(line)
        else:
            return None
        file.seek(offset)
        rows = csv.reader(io.TextIOWrapper(file, "utf-8", errors="replace", newline=""))
        header = next(rows)
        see = _see_long if "Metric Name" in header else _see_wide
        kernels, device, measured = see(header, rows)
    # Asked for by name, and no kernel has them; a name without suffix stands for several.
    absent = (
        name
        for name in metrics
        if not name.startswith(_PREFIXES)
        and name not in measured
        and not any(metric.startswith(f"{name}.") for metric in measured)
    )
    return PrintedTable(path, offset, kernels, device, tuple(absent))


_Seen = tuple[int, str, set[str]]
"""How many kernels, on which device, and the metrics that have values."""


def _see_wide(header: list[str], rows: Iterable[list[str]]) -> _Seen:
    """A row per kernel, a column per metric; the row of units has no number."""
    kernels, device = 0, ""
    empty = dict(enumerate(header))
    name = header.index(DEVICE_NAME) if DEVICE_NAME in header else None
    for row in rows:
        if len(row) != len(header) or not row[0]:
            continue
        kernels += 1
        if name is not None and not device and row[name] not in _ABSENT:
            device = row[name]
        for column in [column for column in empty if row[column] not in _ABSENT]:
            del empty[column]
    return kernels, device, set(header) - set(empty.values())


def _see_long(header: list[str], rows: Iterable[list[str]]) -> _Seen:
    """A row per kernel and metric."""
    key = [header.index(column) for column in _KEY]
    metric, value = header.index("Metric Name"), header.index("Metric Value")
    kernels: set[tuple[str, ...]] = set()
    measured: set[str] = set()
    for row in rows:
        if len(row) != len(header):
            continue
        kernels.add(tuple(row[column] for column in key))
        if row[value] not in _ABSENT:
            measured.add(row[metric])
    return len(kernels), "", measured


def write_table(
    table: PrintedTable, output: Path, collected: dict[str, Any], notes: Sequence[str]
) -> None:
    """The table as a file that says how it came about; .gz at the end of its name packs it.

    The file appears whole or not at all.
    """
    unfinished = table.path.with_name("unfinished")
    open_packed = gzip.open if output.suffix == ".gz" else open
    try:
        with table.path.open("rb") as source, open_packed(unfinished, "wb") as target:
            source.seek(table.offset)
            first = [MARK + json.dumps(collected), *notes]
            target.write("".join(f"{line}\n" for line in first).encode("utf-8", "replace"))
            shutil.copyfileobj(source, target)
        os.replace(unfinished, output)  # noqa: PTH105 - says what happens to a file that is there
    except OSError as error:
        raise OutputError.unwritable(output, error) from None


# Having Nsight Compute print its report as a table.

_POLL_S = 0.1
_EXCERPT = 1000
_ERROR = "==ERROR=="

PLAIN_NUMBERS = {"LC_ALL": "C"}
"""For an environment in which numbers are printed alike, whatever language the machine speaks."""


def printed_table(
    commands: Sequence[list[str]], path: Path, metrics: Sequence[str], interruptions: list[int]
) -> PrintedTable:
    """The table that the first of the commands prints to its end."""
    complaint = ""
    for command in commands:
        count_before = len(interruptions)
        code, complaint = _print(command, path, interruptions)
        # A terminal interrupts the profiler as well, and what it printed is not all.
        stopped = interruption(interruptions[count_before:])
        if stopped is not None:
            raise stopped
        table = look_at(path, metrics) if not code else None
        if table is not None:
            return table
    raise CollectError(f"Nsight Compute cannot print its own report: {complaint}", "")


def _print(command: Sequence[str], path: Path, interruptions: list[int]) -> tuple[int, str]:
    """Have a report printed into a file: the exit code, and what the profiler complained about."""
    with path.open("wb") as file:
        try:
            process = subprocess.Popen(  # noqa: S603 - the program the user chose
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.PIPE,
                env={**os.environ, **PLAIN_NUMBERS},
            )
        except OSError as error:
            raise CollectError.cannot_start(command[0], error) from None
    with process:
        output, count_before = None, len(interruptions)
        while output is None:
            with suppress(subprocess.TimeoutExpired):
                output = process.communicate(timeout=_POLL_S)[1]
            if output is None and len(interruptions) > count_before:
                end_family(family(process.pid), 0)
    code = process.returncode
    with path.open("rb") as file:
        # The start and the end of what may be very large.
        start = file.read(_EXCERPT)
        file.seek(max(file.seek(0, os.SEEK_END) - _EXCERPT, len(start)))
        output += start + b"\n" + file.read()
    lines = output.decode("utf-8", "replace").splitlines()
    errors = [line.removeprefix(_ERROR).strip() for line in lines if line.startswith(_ERROR)]
    return code, errors[-1] if errors else f"exit code {code}" if code else "no table"


# Where results go, and how a report gets there without anything being lost.

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
        for path in filter(None, (self.output, self.report)):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OutputError.unwritable(path, error) from None
            if path.is_dir():
                raise OutputError.unwritable(path, "it is a folder")
            if path.exists() and any(_is_same(path, word) for word in program):
                raise OutputError(
                    f"{path}: is part of the program, and is not overwritten", "choose another -o"
                )
            if path.exists() and not self.force:
                raise OutputError.exists(path)
            check_room(path, path.parent, "its folder")

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
                f"keep the report with --keep-report {command_line([str(self.output)])}",
            )
        if name.endswith(_OF_OTHER_KINDS):
            raise UsageError(
                f"{self.output}: timesink ncu writes CSV",
                "write a .csv file, then  timesink kernels FILE.csv -o "
                + command_line([str(self.output)]),
            )

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
        raise OutputError.unwritable(output, error) from None
    report = folder / f"report{REPORT_SUFFIX}"
    try:
        yield report
    finally:
        if not report.exists():
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def rescue_report(report: Path, places: NcuOutputs, interruptions: list[int]) -> Iterator[None]:
    """Measuring may have taken hours: what was measured is not thrown away for a later error."""
    try:
        yield
    except Exception as error:
        if not report.exists():
            raise
        stopped = interruption(interruptions)
        message = _error_text(error)
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
    saved_path = _save(report, places)
    if saved_path == places.report:
        return None
    return CollectError(
        f"{places.report}: cannot be written", f"the report is kept as {saved_path}"
    )


def _error_text(error: Exception) -> str:
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
