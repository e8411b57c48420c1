"""Options and outputs several subcommands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.errors import OutputError, UsageError
from timesink.readers.options import Progress
from timesink.writers.marks import is_folder

if TYPE_CHECKING:
    from timesink.model.trace import Trace


def add_input(parser: argparse.ArgumentParser) -> None:
    """The trace to read and how to read it."""
    path = parser.add_argument(
        "path", metavar="PATH", type=_not_empty, help="a trace, or a folder that holds one"
    )
    path.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]
    parser.add_argument("--worker", metavar="NAME", help="which worker of a folder")
    parser.add_argument("--span", metavar="N", type=int, help="which span of the worker, from 1")
    parser.add_argument("--rank", metavar="N", type=int, help="which rank of a folder")
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-cache", action="store_true", help="read the file, keep nothing")
    parser.add_argument("--jobs", metavar="N", type=_positive, help="processes to read with")


def _not_empty(text: str) -> str:
    if not text:
        # Most likely a shell variable that is not set; the current folder is not what was meant.
        msg = "the path is empty"
        raise argparse.ArgumentTypeError(msg)
    return text


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        msg = f"{text!r} is not a number of processes, 1 or more"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def add_output(parser: argparse.ArgumentParser, what: str) -> None:
    output = parser.add_argument("-o", "--output", metavar="FILE", type=Path, help=what)
    output.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]
    parser.add_argument("--force", action="store_true", help="overwrite what is there")


def open_chosen(options: argparse.Namespace) -> Trace:
    """The one trace the options name."""
    from timesink.store.opening import open_trace  # noqa: PLC0415 - --help should not wait for it

    with progress_bar() as progress:
        return open_trace(
            options.path,
            worker=options.worker,
            span=options.span,
            rank=options.rank,
            cache=not options.no_cache,
            jobs=options.jobs,
            progress=progress,
        )


def check_output(path: Path, *, force: bool) -> None:
    """Refuse an output file that cannot work before the long work starts."""
    _check_place(path, force=force)
    if path.is_dir():
        raise OutputError.unwritable(path, "it is a folder")


def check_output_folder(path: Path, *, force: bool) -> None:
    """Refuse an output folder that cannot work; what others wrote is never replaced."""
    _check_place(path, force=force)
    if path.is_file() or (path.is_dir() and any(path.iterdir()) and not is_folder(path)):
        raise OutputError.not_replaceable(path)


def _check_place(path: Path, *, force: bool) -> None:
    if path.exists() and not force:
        raise OutputError.exists(path)
    if not path.parent.is_dir():
        raise OutputError.no_folder(path)


def format_of(options: argparse.Namespace, known: tuple[str, ...]) -> str:
    """The format asked for, else the one the output's name ends in, else text."""
    if options.format:
        return str(options.format)
    suffix = options.output.suffix.lower().lstrip(".") if options.output is not None else ""
    if suffix in ("", "txt"):
        return "text"
    if suffix not in known:
        raise UsageError(
            f"{options.output}: .{suffix} is not a format of this command",
            f"end the name in {', '.join(f'.{name}' for name in known)}, or add --format",
        )
    return suffix


def write_text(text: str, path: Path) -> None:
    try:
        path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise OutputError.unwritable(path, error.strerror or str(error)) from None
    print(f"Wrote {path}", file=sys.stderr)


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A bar on stderr while a file is read, when stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with ExitStack() as stack:
        shown: list[Progress] = []

        def advance(done: int, total: int) -> None:
            # Drawn at the first news: a trace from the cache brings none.
            if not shown:
                shown.append(_draw_bar(stack))
            shown[0](done, total)

        yield advance


def _draw_bar(stack: ExitStack) -> Progress:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("reading"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    stack.enter_context(bar)
    task = bar.add_task("reading", total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)
