"""Options several subcommands share."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timesink.cli.outputs import ReadingBar
from timesink.errors import UsageError
from timesink.formats.options import Progress
from timesink.runtime.engine import ENGINES, Engine, engine_of

if TYPE_CHECKING:
    from timesink.model.trace import Trace


# Values of options, for `type=`: what cannot be meant is refused in words.

_MOST_PROCESSES = 64
"""On machines with fewer cores than this."""
_MOST_ROWS = 2**31
"""A larger number means the same: all of them."""


def not_empty(text: str) -> str:
    """A path as given; an empty one is refused."""
    if not text:
        # Most likely a shell variable that is not set; the current folder is not what was meant.
        msg = "the path is empty"
        raise argparse.ArgumentTypeError(msg)
    return text


def process_count(text: str) -> int:
    """A number of processes; more than are of any use are not started."""
    return min(whole_number(text, "processes"), max(_MOST_PROCESSES, os.cpu_count() or 1))


def row_count(text: str) -> int:
    """A number of rows to show."""
    return min(whole_number(text, "rows"), _MOST_ROWS)


def whole_number(text: str, things: str) -> int:
    """A count of something."""
    if not (text.isascii() and text.isdigit() and text.strip("0")):
        msg = f"{text!r} is not a number of {things}, 1 or more"
        raise argparse.ArgumentTypeError(msg)
    # Beyond twenty digits the number is large, whichever it is; Python converts only so many.
    return int(text.lstrip("0")[:20])


def fraction(text: str) -> float:
    """A part of a whole between 0 and 1: a decimal, a fraction or a percentage."""
    value = fraction_or_all(text)
    if value in {0, 1}:
        raise _no_fraction(text)
    return value


def fraction_or_all(text: str) -> float:
    """A part of a whole that may be none or all of it."""
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
    """Percent of a whole; the sign may be left out."""
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0 <= value <= 100:
        msg = f"{text!r} is not a percentage between 0 and 100"
        raise argparse.ArgumentTypeError(msg)
    return value


def file_or_stdout(text: str) -> Path | None:
    """An output; None for standard output, which is `-`."""
    return None if text == "-" else Path(not_empty(text))


def file_only(text: str) -> Path:
    """An output that must be a file or a folder."""
    if text == "-":
        msg = "this cannot be written to standard output; name a file"
        raise argparse.ArgumentTypeError(msg)
    return Path(not_empty(text))


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
    """What `add_choice` and `add_reading` were told, as arguments of the functions that read."""
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
    from timesink.sources.opening import open_trace  # noqa: PLC0415 - --help should not wait for it

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


# The program that a command runs: what follows two dashes.


def add_program(parser: argparse.ArgumentParser, command: str) -> None:
    """The last argument of a command that runs a program."""
    parser.usage = f"timesink {command} [options] -- CMD [ARGUMENT ...]"
    program = parser.add_argument(
        "program", metavar="CMD", nargs=argparse.REMAINDER, help="the program and its arguments"
    )
    program.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]


def program_in(options: argparse.Namespace, command: str, what: str) -> tuple[str, ...]:
    """The words of the program, without the dashes."""
    words = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not words:
        hint = f"add it after two dashes: timesink {command} -- python train.py"
        raise UsageError(f"no program to {what}", hint)
    return tuple(words)


# Where many recordings are read: options that commands on sets of ranks share.


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Which engine reads the recordings of a set."""
    group = parser.add_argument_group("many ranks")
    group.add_argument(
        "--engine",
        choices=ENGINES,
        default="local",
        help="where they are read: processes of this machine, or a Ray cluster",
    )
    group.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        type=not_empty,
        help="of a running cluster, HOST:PORT or auto; without one, RAY_ADDRESS or this machine",
    )


def engine_from(options: argparse.Namespace) -> Engine:
    """The engine the options name."""
    return engine_of(options.engine, jobs=options.jobs, address=options.ray_address)
