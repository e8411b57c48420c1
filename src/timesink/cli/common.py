"""Options and outputs several subcommands share."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timesink.cli.reading_bar import ReadingBar
from timesink.errors import OutputError, TimesinkError, UsageError
from timesink.readers.options import Progress
from timesink.reports.baselines.stores.store import ENDING as BASELINE_ENDING
from timesink.writers.marks import is_folder

if TYPE_CHECKING:
    from timesink.model.trace import Trace

CYCLE_METHODS = ("step", "marker", "python", "layer", "kernels")
"""As in `analyses.cycles.cycles`, which the help must not wait for."""
_MOST_PROCESSES = 64
_MOST_ROWS = 2**31
"""Limits beyond which a larger number means the same."""


def add_input(parser: argparse.ArgumentParser) -> None:
    """The trace to read and how to read it."""
    path = parser.add_argument(
        "path",
        metavar="PATH",
        type=not_empty,
        help="a trace, a folder that holds one or one of each rank, a quoted pattern, or a URL",
    )
    path.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]
    add_choice(parser)
    add_reading(parser)


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Which trace of a folder."""
    parser.add_argument("--worker", metavar="NAME", help="which worker of a folder")
    parser.add_argument("--span", metavar="N", type=int, help="which span of the worker, from 1")
    parser.add_argument("--rank", metavar="N", type=int, help="which rank of a folder")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How to read, for commands that choose what to read themselves."""
    parser.add_argument("--no-cache", action="store_true", help="read the file, keep nothing")
    parser.add_argument("--jobs", metavar="N", type=_positive, help="processes to read with")


def add_cycle_options(parser: argparse.ArgumentParser, *, counters: bool = True) -> None:
    """What a cycle is, and with `counters` which of these matter to a function."""
    group = parser.add_argument_group("what a cycle is")
    group.add_argument(
        "--marker", metavar="NAME", help="annotation, call or kernel that marks one; * fits all"
    )
    group.add_argument("--by", choices=CYCLE_METHODS, help="only this way to find them")
    if counters:
        own_map = group.add_argument(
            "--map", metavar="FILE", type=not_empty, help="CSV: which counters matter to functions"
        )
        own_map.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]


def reading_of(options: argparse.Namespace) -> dict[str, Any]:
    """What `add_choice` and `add_reading` were told, as arguments of the functions that read.

    >>> told = argparse.Namespace(worker=None, span=1, rank=None, no_cache=True, jobs=2)
    >>> reading_of(told)
    {'worker': None, 'span': 1, 'rank': None, 'cache': False, 'jobs': 2}
    """
    return {
        "worker": options.worker,
        "span": options.span,
        "rank": options.rank,
        "cache": not options.no_cache,
        "jobs": options.jobs,
    }


def not_empty(text: str) -> str:
    """A path as given, for `type=`; an empty one is refused.

    >>> not_empty("trace.json")
    'trace.json'
    """
    if not text:
        # Most likely a shell variable that is not set; the current folder is not what was meant.
        msg = "the path is empty"
        raise argparse.ArgumentTypeError(msg)
    return text


def _positive(text: str) -> int:
    return min(whole_number(text, "processes"), _MOST_PROCESSES)


def row_count(text: str) -> int:
    """A number of rows to show, for `type=`.

    >>> row_count("10")
    10
    """
    return min(whole_number(text, "rows"), _MOST_ROWS)


def whole_number(text: str, things: str) -> int:
    """A count of something, for `type=`.

    >>> whole_number("010", "launches")
    10
    """
    if not (text.isascii() and text.isdigit() and text.strip("0")):
        msg = f"{text!r} is not a number of {things}, 1 or more"
        raise argparse.ArgumentTypeError(msg)
    # Beyond twenty digits the number is large, whichever it is; Python converts only so many.
    return int(text.lstrip("0")[:20])


def fraction(text: str) -> float:
    """A part of a whole between 0 and 1, for `type=`: a decimal, a fraction or a percentage.

    >>> fraction("0.25"), fraction("25%"), fraction("1/4")
    (0.25, 0.25, 0.25)
    """
    value = fraction_or_all(text)
    if value in {0, 1}:
        raise _no_fraction(text)
    return value


def fraction_or_all(text: str) -> float:
    """A part of a whole that may be none or all of it, for `type=`.

    >>> fraction_or_all("0"), fraction_or_all("100%")
    (0.0, 1.0)
    """
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        value = Fraction(number) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        raise _no_fraction(text) from None
    if not 0 <= value <= 1:
        raise _no_fraction(text)
    return float(value)


def _no_fraction(text: str) -> argparse.ArgumentTypeError:
    msg = f"{text!r} is not a share between 0 and 1, such as 1/3, 0.25 or 25%"
    return argparse.ArgumentTypeError(msg)


def percentage(text: str) -> float:
    """Percent of a whole, for `type=`; the sign may be left out.

    >>> percentage("1"), percentage("0.5%")
    (1.0, 0.5)
    """
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0 <= value <= 100:
        msg = f"{text!r} is not a percentage between 0 and 100"
        raise argparse.ArgumentTypeError(msg)
    return value


def add_output(parser: argparse.ArgumentParser, what: str) -> None:
    """Where the result goes: a file, or standard output."""
    output = parser.add_argument(
        "-o", "--output", metavar="FILE", type=_file_or_stdout, help=f"{what}; - is the screen"
    )
    output.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]
    add_force(parser)


def add_force(parser: argparse.ArgumentParser) -> None:
    """Leave to overwrite the output."""
    parser.add_argument("--force", action="store_true", help="overwrite what is there")


def _file_or_stdout(text: str) -> Path | None:
    return None if text == "-" else Path(not_empty(text))


def file_only(text: str) -> Path:
    """An output that must be a file or a folder, for `type=`.

    >>> file_only("tables").name
    'tables'
    """
    if text == "-":
        msg = "this cannot be written to standard output; name a file"
        raise argparse.ArgumentTypeError(msg)
    return Path(not_empty(text))


def open_chosen(options: argparse.Namespace) -> Trace:
    """The one trace the options name."""
    from timesink.store.opening import open_trace  # noqa: PLC0415 - --help should not wait for it

    with progress_bar() as progress:
        return open_trace(
            options.path,
            **reading_of(options),
            progress=progress,
        )


def check_output(path: Path, source: str | Path, *, force: bool) -> None:
    """Refuse an output file that cannot work before the long work starts.

    What is read (`source`) is never overwritten, whatever `force` says.
    """
    if path.is_dir():
        raise OutputError.unwritable(path, "it is a folder")
    if path.suffix == BASELINE_ENDING:
        raise OutputError.unwritable(path, "names of baselines end like this")
    _check_place(path, source, force=force)


def check_output_folder(path: Path, source: str | Path, *, force: bool) -> None:
    """Refuse an output folder that cannot work; what others wrote is never replaced."""
    _check_place(path, source, force=force)
    if path.is_file() or (path.is_dir() and any(path.iterdir()) and not is_folder(path)):
        raise OutputError.not_replaceable(path)


def _check_place(path: Path, source: str | Path, *, force: bool) -> None:
    if path.exists():
        if any(_replaces(path, file) for file in _read_from(source)):
            raise OutputError(
                f"{path}: is what is read, and is not overwritten", "choose another -o"
            )
        if not force:
            raise OutputError.exists(path)
    if not path.parent.is_dir():
        raise OutputError.no_folder(path)


def _replaces(output: Path, file: Path) -> bool:
    """Whether writing the output destroys the file: it is that file, or a folder around it."""
    return output.samefile(file) or (output.is_dir() and output.resolve() in file.resolve().parents)


def _read_from(source: str | Path) -> Iterator[Path]:
    """The files a command reads for this input; none where nothing can be read."""
    from timesink.readers.discover import find_recordings  # noqa: PLC0415
    from timesink.readers.places import is_url, place_of  # noqa: PLC0415
    from timesink.store.opening import files_beside  # noqa: PLC0415 - only where a file is at risk

    place = place_of(source)
    if is_url(place):
        return
    if isinstance(place, Path) and is_folder(place):
        yield from place.iterdir()
        return
    if isinstance(place, Path) and place.is_file():
        yield place
    with suppress(TimesinkError, OSError):
        for recording in find_recordings(place):
            yield recording.path
            yield from files_beside(recording.path)


def format_of(options: argparse.Namespace, known: tuple[str, ...]) -> str:
    """The format asked for, else the one the output's name ends in, else text."""
    if options.format:
        return str(options.format)
    suffix = options.output.suffix.lower().lstrip(".") if options.output is not None else ""
    if suffix in ("", "txt"):
        return "text"
    if suffix not in known:
        endings = ", ".join(".txt" if name == "text" else f".{name}" for name in known)
        raise UsageError(
            f"{options.output}: .{suffix} is not a format of this command",
            f"end the name in {endings}, or add --format",
        )
    return suffix


def check_page(form: str) -> None:
    """Refuse a page that nothing would show before the long work starts.

    >>> check_page("html")
    """
    if form == "html":
        from timesink.render.bundle import bundle  # noqa: PLC0415 - other forms need none

        bundle()


def give(text: str, path: Path | None) -> None:
    """Hand over a result: on the screen, or in a file."""
    if path is None:
        print(text)
    else:
        write_text(text, path)


def write_text(text: str, path: Path) -> None:
    """Write a result to a file and say so."""
    write_bytes(as_bytes(text), path)


def as_bytes(text: str) -> bytes:
    r"""Text as a file holds it, whatever is in its names.

    >>> as_bytes("gemm")
    b'gemm\n'
    """
    return f"{text}\n".encode(errors="backslashreplace")


def write_bytes(content: bytes, path: Path) -> None:
    """Write a result that is no text to a file and say so."""
    save(content, path)
    print(f"Wrote {path}", file=sys.stderr)


def save(content: bytes, path: Path) -> None:
    """Write a file; one that cannot be written is refused in words."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise OutputError.unwritable(path, error.strerror or str(error)) from None


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A bar on stderr while files are read, when stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = ReadingBar()
    try:
        yield bar
    finally:
        bar.close()
