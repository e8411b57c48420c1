"""The program that a command runs: what follows two dashes."""

from __future__ import annotations

import argparse

from timesink.errors import UsageError


def add_program(parser: argparse.ArgumentParser, command: str) -> None:
    """The last argument of a command that runs a program."""
    parser.usage = f"timesink {command} [options] -- CMD [ARGUMENT ...]"
    program = parser.add_argument(
        "program", metavar="CMD", nargs=argparse.REMAINDER, help="the program and its arguments"
    )
    program.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]


def program_in(options: argparse.Namespace, command: str, what: str) -> tuple[str, ...]:
    """The words of the program, without the dashes.

    >>> program_in(argparse.Namespace(program=["--", "python", "a.py"]), "record", "record")
    ('python', 'a.py')
    """
    words = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not words:
        hint = f"add it after two dashes: timesink {command} -- python train.py"
        raise UsageError(f"no program to {what}", hint)
    return tuple(words)
