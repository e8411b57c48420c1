"""The `timesink` command: one file per subcommand, one place that catches errors."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from timesink import __version__
from timesink.cli import analyze, cache, completion, demo, export, info, query, serve
from timesink.errors import TimesinkError

COMMANDS: dict[str, ModuleType] = {
    "analyze": analyze,
    "info": info,
    "query": query,
    "export": export,
    "serve": serve,
    "demo": demo,
    "cache": cache,
    "completion": completion,
}
"""Subcommands in the order of the help; each module has a docstring, `add_arguments` and `run`."""

_EPILOG = "exit codes: 0 fine, 1 cannot be done, 2 wrong usage"


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="timesink",
        description="Where does the time go? Accelerator traces as fast, honest tables.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"timesink {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").strip().partition("\n")[0]
        command = commands.add_parser(
            name,
            help=summary[0].lower() + summary[1:].rstrip("."),
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_argument(
            "--debug", action="store_true", help="show the Python traceback of an error"
        )
        module.add_arguments(command)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; the exit code says how it went."""
    _accept_any_text()
    options = build_parser().parse_args(arguments)
    try:
        code: int = COMMANDS[options.command].run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output left, e.g. `| head`; that is its right.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _report("interrupted", "", 130)
    except Exception as error:
        if options.debug:
            raise
        return _report_error(error)
    return code


def _report_error(error: Exception) -> int:
    if isinstance(error, TimesinkError):
        return _report(error.message, error.hint, error.exit_code)
    if isinstance(error, MemoryError):
        return _report("out of memory", "close other programs, or read on a larger machine", 1)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return _report(f"{where}{error.strerror or error}", "check the path and the disk", 1)
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return _report(
        f"internal error ({what})", "this is a bug: report it with the output of --debug", 1
    )


def _accept_any_text() -> None:
    """Names in traces and of files may hold what the terminal's encoding cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _report(message: str, hint: str, code: int) -> int:
    print(f"timesink: {' '.join(message.split())}", file=sys.stderr)
    if hint:
        print(f"hint: {' '.join(hint.split())}", file=sys.stderr)
    return code
