"""Options several subcommands share."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from timesink.cli.outputs import ReadingBar
from timesink.errors import UsageError
from timesink.formats.read_options import Progress
from timesink.runtime.engine import ENGINES, Engine, engine_of
from timesink.runtime.memory import share_one_heap

if TYPE_CHECKING:
    from timesink.model.trace import Trace
    from timesink.sources.discovery import Input


Value = TypeVar("Value")

# Values of options, for `type=`: what cannot be meant is refused in words.

_SHARE = "a share between 0 and 1, such as 1/3, 0.25 or 25%"
_MAX_PROCESSES = 64
"""On machines with fewer cores than this."""
_MAX_CODE = 255
_MAX_ROWS = 2**31
"""A larger number means the same: all of them."""


def not_empty(text: str) -> str:
    """A path as given; an empty one is refused."""
    if not text:
        # Most likely a shell variable that is not set; the current folder is not what was meant.
        raise argparse.ArgumentTypeError("the path is empty")
    return text


def argument_error(text: str, what: str) -> argparse.ArgumentTypeError:
    """Why a value cannot be meant."""
    return argparse.ArgumentTypeError(f"{text!r} is not {what}")


def value_parser(
    parse: Callable[[str], Value], what: str, fits: Callable[[Value], bool] = lambda _: True
) -> Callable[[str], Value]:
    """Takes what a text is parsed as, where that fits; else says `what` it should be."""

    def parse_value(text: str) -> Value:
        with suppress(ValueError):
            value = parse(text)
            if fits(value):
                return value
        raise argument_error(text, what)

    return parse_value


def process_count(text: str) -> int:
    """A number of processes; more than are of any use are not started."""
    return min(whole_number(text, "processes"), max(_MAX_PROCESSES, os.cpu_count() or 1))


def row_count(text: str) -> int:
    """A number of rows to show."""
    return min(whole_number(text, "rows"), _MAX_ROWS)


def whole_number(text: str, things: str) -> int:
    """A count of something."""
    if not (text.isascii() and text.isdigit() and text.strip("0")):
        raise argument_error(text, f"a number of {things}, 1 or more")
    # Beyond twenty digits the number is large, whichever it is; Python converts only so many.
    return int(text.lstrip("0")[:20])


def cycles_or_none(text: str) -> int:
    """A number of cycles, which may be 0."""
    return 0 if text.strip("0") == "" and text else whole_number(text, "steps")


def rank_number(text: str) -> int:
    """The number of a rank; the first is 0."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argument_error(text, "a rank, 0 or more")
    return int(text)


def seconds(text: str) -> float:
    """A number of seconds, which may be 0."""
    if not re.fullmatch(r"\d{1,6}(\.\d+)?", text):
        raise argument_error(text, "a number of seconds")
    return float(text)


def fraction(text: str) -> float:
    """A part of a whole between 0 and 1: a decimal, a fraction or a percentage."""
    value = fraction_or_all(text)
    if value in {0, 1}:
        raise argument_error(text, _SHARE)
    return value


def fraction_or_all(text: str) -> float:
    """A part of a whole that may be none or all of it."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    with suppress(ValueError, ZeroDivisionError):
        value = Fraction(number) / (100 if percent else 1)
        if 0 <= value <= 1:
            return float(value)
    raise argument_error(text, _SHARE)


def percentage(text: str) -> float:
    """Percent of a whole; the sign may be left out."""
    with suppress(ValueError):
        value = float(text.strip().removesuffix("%"))
        if 0 <= value <= 100:
            return value
    raise argument_error(text, "a percentage between 0 and 100")


def exit_code(text: str) -> int:
    """A number a program may end with."""
    if not text.isdigit() or int(text) > _MAX_CODE:
        raise argparse.ArgumentTypeError(f"{text!r}: an exit code is a number from 0 to 255")
    return int(text)


def file_or_stdout(text: str) -> Path | None:
    """An output; None for standard output, which is `-`."""
    return None if text == "-" else Path(not_empty(text))


def file_only(text: str) -> Path:
    """An output that must be a file or a folder."""
    if text == "-":
        raise argparse.ArgumentTypeError("this cannot be written to standard output; name a file")
    return Path(not_empty(text))


CYCLE_METHODS = ("step", "marker", "python", "layer", "kernels")
"""As in `analyses.cycles`, which the help must not wait for."""
CYCLE_TYPES = ("prefill", "decode", "layer", "generic")
"""Sorts of cycles; `timesink.comparison.pairing` has them too, and is slow to load."""
_COMPLETED = {
    "file": {"bash": "_shtab_compgen_files", "zsh": "_files"},
    "folder": {"bash": "_shtab_compgen_dirs", "zsh": "_files -/"},
}
"""What shells offer for an argument."""


def add_option(
    parser: argparse._ActionsContainer,
    spelled: str,
    help: str,  # noqa: A002 - as argparse calls it
    *,
    completed: str = "",
    **more: Any,
) -> None:
    """An argument as the help spells it, `-o --output FILE`; one without a value is a switch.

    What shells complete is a path, and not empty.
    """
    *names, value = spelled.split()
    if not names or value.startswith("-"):
        names.append(value)
        if "choices" not in more:
            more.setdefault("action", "store_true")
    else:
        more["metavar"] = value
    if not completed:
        parser.add_argument(*names, help=help, **more)
        return
    argument = parser.add_argument(*names, help=help, **{"type": not_empty, **more})
    argument.complete = _COMPLETED[completed]  # type: ignore[attr-defined]


def add_input(parser: argparse.ArgumentParser) -> None:
    """The trace to read and how to read it."""
    what = "a trace file, a folder with one trace or one per rank, a quoted pattern, or a URL"
    add_option(parser, "path PATH", what, completed="file")
    add_choice(parser)
    add_captures(parser)
    add_reading(parser)


def add_captures(parser: argparse.ArgumentParser) -> None:
    """Where names of replayed work come from."""
    group = parser.add_argument_group("names of work that graphs replay")
    captures = "captures of the graphs: a trace, a folder of them, or *.captures.json"
    add_option(group, "--capture PATH", captures, completed="file")
    eager = "recording of the same program, run eagerly"
    add_option(group, "--names-from PATH", eager, completed="file")


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Which trace of a folder."""
    add_option(parser, "--worker NAME", "process of a folder, by the name in its file names")
    add_option(parser, "--span N", "number of a trace of this process, from 1", type=int)
    add_option(parser, "--rank N", "rank of a folder, from 0", type=rank_number)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How to read, for commands that choose what to read themselves."""
    add_option(parser, "--no-cache", "read the file and store nothing in the cache")
    jobs = "processes that read files (default: one per core)"
    add_option(parser, "--jobs N", jobs, type=process_count)


def add_cycle_options(parser: argparse.ArgumentParser, *, counters: bool = True) -> None:
    """How steps are found, and with `counters` which of these belong to a function."""
    group = parser.add_argument_group("how steps are found")
    marker = "annotation, call or kernel that begins each step; * matches any text"
    add_option(group, "--marker NAME", marker)
    add_option(group, "--by", "use this method only (default: all)", choices=CYCLE_METHODS)
    if counters:
        what = "CSV file that says which counters belong to which functions"
        add_option(group, "--map FILE", what, completed="file")


def add_cycle_type(group: argparse._ActionsContainer) -> None:
    """Steps of one type alone."""
    what = f"only steps of this type: {', '.join(CYCLE_TYPES)} (default: every type)"
    add_option(group, "--step-type --cycles TYPE", what, choices=CYCLE_TYPES, dest="cycles")


CHOICE = ("worker", "span", "rank")
"""What `add_choice` adds."""
_CALLED = {"map": "metric_map", "cycles": "cycle_type"}
"""Arguments of functions that are called otherwise than their option."""


def reading_of(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """What `add_reading` and the named options were told, as arguments of functions that read."""
    arguments = {_CALLED.get(name, name): getattr(options, name) for name in names}
    return {**arguments, "cache": not options.no_cache, "jobs": options.jobs}


def add_top(parser: argparse._ActionsContainer) -> None:
    """How much to show."""
    what = "rows per table (default: 10; pages and single tables have more)"
    add_option(parser, "--top N", what, type=row_count)


def add_rank(parser: argparse._ActionsContainer) -> None:
    """One rank alone."""
    add_option(parser, "--rank N", "this rank only, from 0", type=rank_number)


def add_format(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """How the result is said."""
    what = "format of the output (default: text, or the ending of -o)"
    add_option(parser, "--format", what, choices=formats)


def add_screen_format(parser: argparse.ArgumentParser) -> None:
    """How an answer that is for the screen alone is said."""
    what = "format of the output (default: %(default)s)"
    parser.add_argument("--format", choices=("text", "json"), default="text", help=what)


def add_output(parser: argparse.ArgumentParser, what: str, formats: Sequence[str] = ()) -> None:
    """How the result is said, and where it goes: a file, or standard output."""
    if formats:
        add_format(parser, formats)
    what = f"{what}; - is standard output"
    add_option(parser, "-o --output FILE", what, completed="file", type=file_or_stdout)
    add_force(parser)


def add_place(parser: argparse.ArgumentParser, kind: str, what: str, **more: Any) -> None:
    """Where a result goes that the screen cannot hold: a FILE, or a folder DIR."""
    completed = "folder" if kind == "DIR" else "file"
    add_option(parser, f"-o --output {kind}", what, completed=completed, type=file_only, **more)


def add_force(parser: argparse.ArgumentParser) -> None:
    """Leave to overwrite the output."""
    add_option(parser, "--force", "overwrite existing files")


def add_actions(
    parser: argparse.ArgumentParser, actions: Mapping[str, str], usual: str = ""
) -> dict[str, argparse.ArgumentParser]:
    """Parsers of what a command can do, by the names of these actions.

    `usual` need not be named.
    """
    if usual:
        parser.usual_action, parser.actions = usual, tuple(actions)  # type: ignore[attr-defined]
    added = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    action_parsers = {
        name: added.add_parser(name, help=help_text) for name, help_text in actions.items()
    }
    for action_parser in action_parsers.values():
        # Given before or after the action; the default is that of the command.
        what = "show the traceback of an error, and the limits the answer rests on"
        add_option(action_parser, "--debug", what, default=argparse.SUPPRESS)
    return action_parsers


def add_limit(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """How much slower NEW may be, and the exit code where that is not decided; their group."""
    from timesink.comparison.gate.verdict import Limit  # noqa: PLC0415 - `record` needs none

    passes = parser.add_argument_group("pass or fail (exit code 3: fail)")
    limit = "regression: any slow-down that is certain; 5%%: an estimated slow-down above 5 %%"
    add_option(passes, "--fail-on LIMIT", limit, type=Limit.of)
    code = "exit code when not decided (default: 1; 125 makes git bisect skip)"
    add_option(passes, "--undecided CODE", code, type=exit_code)
    return passes


def input_from(options: argparse.Namespace, path: str | None = None) -> Input:
    """What the options name, to be checked against, read and worded: it is looked up once."""
    from timesink.sources.discovery import Input  # noqa: PLC0415 - --help should not wait for it

    choice = {name: getattr(options, name) for name in CHOICE}
    for argument, name in (("captures", "capture"), ("names_from", "names_from")):
        named = getattr(options, name, None)
        choice[argument] = None if named is None else Path(named)
    return Input(options.path if path is None else path, **choice)


def open_input(source: Input, options: argparse.Namespace) -> Trace:
    """The one trace of an input, read as the options say."""
    from timesink.sources.opening import open_trace  # noqa: PLC0415 - --help should not wait for it

    with read_options(options) as reading:
        return open_trace(source, **reading)


@contextmanager
def read_options(options: argparse.Namespace, *names: str) -> Iterator[dict[str, Any]]:
    """What `reading_of` gives, and the bar that is there meanwhile."""
    share_one_heap()
    with progress_bar() as progress:
        yield {**reading_of(options, *names), "progress": progress}


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


def add_program(parser: argparse.ArgumentParser, command: str) -> None:
    """The last argument of a command that runs a program."""
    parser.usage = f"timesink {command} [options] -- CMD [ARGUMENT ...]"
    what, rest = "the program and its arguments", argparse.REMAINDER
    add_option(parser, "program CMD", what, completed="file", nargs=rest, type=None)


def program_in(options: argparse.Namespace, command: str, what: str) -> tuple[str, ...]:
    """The words of the program, without the dashes."""
    words = without_dashes(options.program)
    if not words:
        hint = f"put it after two dashes: timesink {command} -- python train.py"
        raise UsageError(f"no program to {what}", hint)
    return tuple(words)


def without_dashes(words: list[str]) -> list[str]:
    """What follows the two dashes, or all where there are none."""
    return words[1:] if words[:1] == ["--"] else words


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Which engine reads the recordings of a set."""
    group = parser.add_argument_group("distributed reading")
    where = "read on this machine or on a Ray cluster (default: %(default)s)"
    add_option(group, "--engine", where, choices=ENGINES, default="local")
    address = "Ray cluster, HOST:PORT or auto (default: RAY_ADDRESS, else this machine)"
    add_option(group, "--ray-address ADDRESS", address, type=not_empty)


def engine_from(options: argparse.Namespace) -> Engine:
    """The engine the options name."""
    return engine_of(options.engine, jobs=options.jobs, address=options.ray_address)
