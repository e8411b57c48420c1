"""Where each subcommand stands, its parser, and one place that catches errors."""

from __future__ import annotations

import argparse
import atexit
import functools
import gc
import importlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn, TypeAlias

from timesink.errors import TimesinkError, reason_of
from timesink.version import __version__

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "every day": {
        "analyze": ("timesink.cli.analyze", "Show where time goes and what to try."),
        "compare": ("timesink.cli.compare", "Compare two runs and name what changed."),
        "record": ("timesink.cli.record", "Run a program and record some steps."),
        "serve": ("timesink.cli.serve", "Browse the runs of a folder."),
    },
    "in CI": {
        "gate": ("timesink.cli.gate", "Fail when a run is slower than another."),
        "ab": ("timesink.cli.ab", "Run two versions in turn until decided."),
        "baseline": ("timesink.cli.baseline_history", "Store a run to compare later ones with."),
        "history": ("timesink.cli.baseline_history", "Find the commits where times changed."),
    },
    "while serving": {
        "watch": ("timesink.cli.watch", "Watch a running program for slow steps."),
    },
    "deeper": {
        "whatif": ("timesink.cli.whatif", "Predict the step time after a change."),
        "slow-steps": ("timesink.cli.slow_steps", "Explain the slow steps of one run."),
        "steps": ("timesink.cli.steps_functions", "Find the steps, and how long each takes."),
        "functions": ("timesink.cli.steps_functions", "List functions and hardware load per step."),
        "kernels": ("timesink.cli.kernels_peaks", "Show how well kernels use the hardware."),
        "ncu": ("timesink.cli.ncu", "Measure kernels with Nsight Compute."),
        "peaks": ("timesink.cli.kernels_peaks", "List or measure the peaks of devices."),
        "info": ("timesink.cli.info", "Show what a recording holds."),
        "query": ("timesink.cli.query_export", "Query the tables of a recording in SQL."),
    },
    "housekeeping": {
        "export": ("timesink.cli.query_export", "Write a recording for other tools."),
        "demo": ("timesink.cli.demo", "Analyze a recording that comes with timesink."),
        "cache": ("timesink.cli.cache", "Show or clear the cache of recordings."),
        "completion": ("timesink.cli.command_line", "Print a shell completion script."),
    },
}
"""Subcommands by what they are for, in the order of the help: module, and what the command does.

A module bears the name of its command, or of both where two belong together; `completion` stands in
this one, for it prints the parser.  A module of one command has its docstring, `add_arguments` and
`run`; one of two has the same for each in `PARTS`.
"""

_BENCH = "timesink_lab"
"""The test bench: a package of its own, which `pip install timesink` does not bring."""

COMMANDS: dict[str, tuple[str, str]] = {
    **{name: row for rows in GROUPS.values() for name, row in rows.items()},
    "lab": (f"{_BENCH}.command", "Measure how often a diagnosis is right."),
}
"""Every subcommand; `lab` is for those who develop timesink, and does not stand in the help."""

FORMER_NAMES = {"cycles": "steps", "behaviour": "functions", "diagnose": "slow-steps"}
"""Names that commands had, which work as before."""

_EPILOG = """timesink COMMAND --help shows the options of a command, with examples.

exit codes: 0 fine, 1 cannot be done or judged, 2 wrong usage, 3 beyond a limit"""


def _overview() -> str:
    """What timesink is for, and its commands by what they are for."""
    lines = ["Find where accelerator programs spend their time, and what changed between two runs."]
    for group, rows in GROUPS.items():
        lines += ["", f"{group}:"]
        lines += [f"  {name:<11} {summary.rstrip('.')}" for name, (_, summary) in rows.items()]
    return "\n".join(lines)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; of the test bench where that is installed."""
    from importlib.util import find_spec  # noqa: PLC0415 - only completion prints all of it

    is_complete = find_spec(_BENCH) is not None
    return _parsers_of(*(name for name in COMMANDS if is_complete or name != "lab"))[0]


_SYNONYMS = {
    **dict.fromkeys(("analyse", "report", "summary"), "analyze"),
    **dict.fromkeys(("view", "ui", "open"), "serve"),
    **dict.fromkeys(("profile", "trace", "run"), "record"),
    "diff": "compare",
    "sql": "query",
    "convert": "export",
    "slow": "slow-steps",
    **FORMER_NAMES,
}
"""What other tools call a command."""


def _suggestion(word: str, candidates: Iterable[str]) -> str:
    """What was most likely meant by a word, in brackets; nothing where nothing is close."""
    import difflib  # noqa: PLC0415 - most commands are spelled right

    close = difflib.get_close_matches(word.lower(), [*candidates, *_SYNONYMS], 1, 0.7)
    suggestion = _SYNONYMS.get(close[0], close[0]) if close else ""
    return f" (did you mean {suggestion}?)" if suggestion in {*candidates} else ""


_TYPO = 0.75
"""How alike words are of which one is taken for the other: `stat` and `status` are 0.8."""


class _Parser(argparse.ArgumentParser):
    usual_action = ""
    """What a command means where no action is named."""
    actions: Iterable[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, with the usual action where none is named."""
        if self.usual_action and args is not None:
            named = next((word for word in args if word != "--debug"), "")
            if named not in {*self.actions, "-h", "--help"}:
                self._refuse_typo(named)
                args = [self.usual_action, *args]
        return super().parse_known_args(args, namespace)

    def _refuse_typo(self, word: str) -> None:
        """A word that is nearly an action is one: `stat` is also a program, and is not run."""
        if not word.isalpha() or os.path.exists(word):  # noqa: PTH110 - as below
            return
        import difflib  # noqa: PLC0415 - most actions are spelled right

        close = difflib.get_close_matches(word.lower(), self.actions, 1, _TYPO)
        if close:
            usage = f"{self.prog} -- {word}"
            self.error(f"no action {word!r} (did you mean {close[0]}?; {usage}  runs a program)")

    def error(self, message: str) -> NoReturn:
        """Say how to give a value that looks like an option, and what a word close to one means."""
        match = re.fullmatch(r"argument (?:.*/)?(--[\w-]+): expected one argument", message)
        if match:
            message += f" (for one that starts with a dash write {match[1]}=VALUE)"
        strange = re.match(r"argument \S+: invalid choice: '(.*?)' \(choose from (.*)\)$", message)
        if strange:
            close = _suggestion(strange[1], re.findall(r"[\w-]+", strange[2]))
            message = f"{message[: strange.start(2) - 14]}{close}" if close else message
        super().error(_visible(message))


class _TopParser(_Parser):
    """The parser of the command line as a whole: its description has the commands in groups."""

    def format_help(self) -> str:
        """The help without argparse's own list of the commands."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        formatter.start_section("options")
        formatter.add_arguments(action for action in self._actions if action.option_strings)
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()


@functools.cache
def _parsers_of(*complete: str) -> tuple[_Parser, Mapping[str, _Parser]]:
    """A parser that knows every command by name, and the arguments of some; and those of each."""
    parser = _TopParser(
        prog="timesink",
        usage="timesink [-h] [--version] COMMAND ...",
        description=_overview(),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"timesink {__version__}")
    parser.add_argument(
        "--verbose", action="store_true", help="with --version: also what reads traces"
    )
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, prog="timesink", parser_class=_Parser
    )
    for name, (_, summary) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=summary.rstrip("."),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_argument(
            "--debug",
            action="store_true",
            help="show the traceback of an error, and the limits the answer rests on",
        )
        if name in complete:
            command.description, add_arguments, _ = parts_of(name)
            add_arguments(command)
    return parser, commands.choices


def _why_unknown(words: Sequence[str]) -> str:
    """What to say of words no option takes: most paths too many are a pattern without quotes."""
    if os.path.exists(words[0]):  # noqa: PTH110 - pathlib would be loaded for it
        more = f" (and {len(words) - 1} more)" if len(words) > 1 else ""
        return f"one path is enough: {words[0]}{more}; put a pattern in quotes, as 'run/rank*.json'"
    return f"unrecognized arguments: {' '.join(words)}"


_Arguments: TypeAlias = "Callable[[argparse.ArgumentParser], None]"
_Run: TypeAlias = "Callable[[argparse.Namespace], int]"
_Parts: TypeAlias = tuple[str | None, _Arguments, _Run]


def parts_of(command: str) -> _Parts:
    """What a command says about itself, what adds its arguments, and what runs it.

    A module is imported only when one of its commands is meant: `ncu` and the help work where
    nothing but timesink itself is installed.
    """
    place, _ = COMMANDS[command]
    try:
        module = importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name not in {_BENCH, f"{_BENCH}.command"}:
            raise
        raise TimesinkError(
            f"timesink {command} needs the development package {_BENCH}: in a clone of timesink, "
            "pip install -e packages/timesink_lab"
        ) from None
    several: Mapping[str, _Parts] = getattr(module, "PARTS", {})
    return several.get(command) or (module.__doc__, module.add_arguments, module.run)


def _text_without_command(words: Sequence[str]) -> str | None:
    """The help, or the details of this version, where that is all that is asked."""
    if not words:
        return _parsers_of()[0].format_help()
    is_verbose = "--verbose" in words and all(word.startswith("-") for word in words)
    return _version_details() if is_verbose and "--version" in words else None


def _version_details() -> str:
    """What to state beside a question about speed, a line each."""
    from timesink.runtime.native import native_state  # noqa: PLC0415 - nothing else needs it here

    python = f"{sys.implementation.name} {sys.version.split()[0]} on {sys.platform}"
    return f"timesink {__version__}\ntraces are read by: {native_state()}\npython: {python}"


_GC_THRESHOLDS = (200_000, 20, 100)
"""When garbage is collected: allocations, and rounds of the younger generations."""


def run_process() -> int:
    """Run the command line of this process, which ends with it: `main` and nothing more."""
    codes: list[int] = []
    # Registered first, it is called last: when threads have ended, and files are as they stay.
    atexit.register(_leave, codes)
    codes.append(main())
    return codes[0]


def _leave(codes: Sequence[int]) -> None:
    """End at once: all memory goes back anyway, and to take modules apart takes a while."""
    if codes:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(codes[0])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; the exit code says how it went."""
    # Names in traces and of files may hold what the terminal's encoding cannot show.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # A command leaves few cycles of objects behind and ends soon: at its usual rhythm, the
    # collector takes a twentieth of a short one.
    gc.set_threshold(*_GC_THRESHOLDS)
    # All memory goes back with the process: to take objects apart one by one first only takes time.
    atexit.register(gc.freeze)
    words = sys.argv[1:] if arguments is None else list(arguments)
    text = _text_without_command(words)
    if text is not None:
        print(text.rstrip())
        return 0
    place = next((k for k, word in enumerate(words) if not word.startswith("-")), None)
    if place is not None:
        words[place] = FORMER_NAMES.get(words[place], words[place])
    command = "" if place is None else words[place]
    debug = False
    try:
        # Arguments of the other commands would only be built to be ignored.
        parser, commands = _parsers_of(command)
        options, unknown = parser.parse_known_args(words)
        if unknown:
            commands[options.command].error(_why_unknown(unknown))
        debug = options.debug
        run = parts_of(options.command)[2]
        code = _run_noting_limits(run, options) if debug else run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output left, e.g. `| head`; that is its right.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _report("interrupted", "", 130)
    except Exception as error:
        if debug:
            raise
        return _report_error(error, command)
    return code


def _run_noting_limits(run: _Run, options: argparse.Namespace) -> int:
    """Run a command, and then say on the standard error which limits its answer rests on."""
    from timesink.model.limits import consulted_numbers  # noqa: PLC0415 - only --debug asks

    with consulted_numbers() as numbers:
        code = run(options)
    sys.stdout.flush()
    if numbers:
        print_stderr("limits this answer rests on:")
    for number in numbers:
        print_stderr(f"  {number.place} = {number.value:g}: {number.meaning}")
    return code


def _report_error(error: Exception, command: str) -> int:
    if isinstance(error, TimesinkError):
        return _report(error.message, error.hint, error.exit_code)
    if isinstance(error, MemoryError):
        return _report("out of memory", "close other programs, or read on a larger machine", 1)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return _report(f"{where}{reason_of(error)}", "check the path and the disk", 1)
    if isinstance(error, ModuleNotFoundError) and not f"{error.name}.".startswith("timesink."):
        return _report(
            f"timesink {command} needs the analysis stack ({error.name} is not installed)",
            "pip install timesink, without --no-deps",
            1,
        )
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return _report(
        f"internal error ({what})", "this is a bug: report it with the output of --debug", 1
    )


def _report(message: str, hint: str, code: int) -> int:
    log_line(" ".join(message.split()))
    if hint:
        print_stderr(f"hint: {' '.join(hint.split())}")
    return code


def log_line(text: str) -> None:
    """A line of timesink among those of a program that runs, or one that ends a command."""
    print_stderr(f"timesink: {text}")


def print_stderr(text: str) -> None:
    """Lines beside the answer; names in them steer no terminal."""
    print(_visible(text), file=sys.stderr, flush=True)


def _visible(text: str) -> str:
    from timesink.output.names import printable  # noqa: PLC0415 - most commands say nothing

    return "\n".join(printable(line) for line in text.split("\n"))


# -- timesink completion ---------------------------------------------------------------------------

COMPLETION = """Print a shell completion script.

bash:  eval "$(timesink completion bash)"      in ~/.bashrc
zsh:   timesink completion zsh > ~/.zfunc/_timesink
tcsh:  timesink completion tcsh > ~/.timesink.tcsh, then source it
"""


def add_completion_arguments(parser: argparse.ArgumentParser) -> None:
    """Which shell."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell")


def run_completion(options: argparse.Namespace) -> int:
    """Print what the shell is to read."""
    import shtab  # noqa: PLC0415 - nothing else needs it

    print(shtab.complete(build_parser(), shell=options.shell))
    return 0


PARTS = {"completion": (COMPLETION, add_completion_arguments, run_completion)}
