"""Options and outputs several subcommands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.errors import OutputError
from timesink.readers.options import Progress

if TYPE_CHECKING:
    from timesink.model.trace import Trace


def add_input(parser: argparse.ArgumentParser) -> None:
    """The trace to read and how to read it."""
    path = parser.add_argument("path", metavar="PATH", help="a trace, or a folder that holds one")
    path.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]
    parser.add_argument("--worker", metavar="NAME", help="which worker of a folder")
    parser.add_argument("--span", metavar="N", type=int, help="which span of the worker, from 1")
    parser.add_argument("--rank", metavar="N", type=int, help="which rank of a folder")
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-cache", action="store_true", help="read the file itself, keep nothing")
    parser.add_argument("--jobs", metavar="N", type=_positive, help="processes to read with")


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        msg = "must be at least 1"
        raise argparse.ArgumentTypeError(msg)
    return value


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
    """Refuse an output that cannot work before the long work starts."""
    if path.exists() and not force:
        raise OutputError.exists(path)
    if not path.parent.is_dir():
        raise OutputError.unwritable(path, "its folder does not exist")


def write_text(text: str, path: Path, *, force: bool) -> None:
    check_output(path, force=force)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError.unwritable(path, error.strerror or str(error)) from None
    print(f"Wrote {path}", file=sys.stderr)


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A bar on stderr while a file is read, when stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
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
    with bar:
        task = bar.add_task("reading")
        yield lambda done, total: bar.update(task, completed=done, total=total)
