"""Options several subcommands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from timesink.cli.reading_bar import ReadingBar
from timesink.cli.values import file_or_stdout, not_empty, process_count
from timesink.readers.options import Progress

if TYPE_CHECKING:
    from timesink.model.trace import Trace

CYCLE_METHODS = ("step", "marker", "python", "layer", "kernels")
"""As in `analyses.cycles.cycles`, which the help must not wait for."""


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
    parser.add_argument("--jobs", metavar="N", type=process_count, help="processes to read with")


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


def add_output(parser: argparse.ArgumentParser, what: str) -> None:
    """Where the result goes: a file, or standard output."""
    output = parser.add_argument(
        "-o", "--output", metavar="FILE", type=file_or_stdout, help=f"{what}; - is the screen"
    )
    output.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]
    add_force(parser)


def add_force(parser: argparse.ArgumentParser) -> None:
    """Leave to overwrite the output."""
    parser.add_argument("--force", action="store_true", help="overwrite what is there")


def open_chosen(options: argparse.Namespace) -> Trace:
    """The one trace the options name."""
    from timesink.store.opening import open_trace  # noqa: PLC0415 - --help should not wait for it

    with progress_bar() as progress:
        return open_trace(
            options.path,
            **reading_of(options),
            progress=progress,
        )


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
