"""Options and exit code of a gate: `timesink compare` with `--fail-on` or `--budget`."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from timesink.answers.comparison.gate_result import Limit
from timesink.cli.options import not_empty
from timesink.errors import TimesinkError, UsageError
from timesink.sources.places import without_password

if TYPE_CHECKING:
    from timesink.answers.comparison import Comparison
    from timesink.answers.comparison.budget_file import Budget
    from timesink.answers.comparison.gate_result import Gate
    from timesink.model.findings import Finding

_CHOICES = ("pid", "rank", "device", "cycles", "marker", "by", "map")
"""Options that choose what is compared, and how cycles are found."""


def add_gate(parser: argparse.ArgumentParser) -> None:
    """What a run may not exceed."""
    group = parser.add_argument_group("whether it passes: exit code 3 where it does not")
    group.add_argument(
        "--fail-on",
        metavar="LIMIT",
        type=Limit.of,
        help="regression: a certain slow-down; or 5%%: one by more than that, as best estimated",
    )
    budget = group.add_argument(
        "--budget", metavar="FILE", type=not_empty, help="TOML: how long operators, ... may take"
    )
    budget.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]
    group.add_argument(
        "--store", metavar="DIR", type=not_empty, help="folder or URL of baselines, for @NAME"
    )


def is_asked(options: argparse.Namespace) -> bool:
    """Whether the exit code says if the run passes."""
    return options.fail_on is not None or options.budget is not None


def needs_gate(options: argparse.Namespace, form: str) -> bool:
    """Whether there is something to judge: test results are a judgement."""
    return is_asked(options) or form == "junit"


def check_gate(options: argparse.Namespace, form: str) -> None:
    """Refuse what has no verdict, before anything is read."""
    if not needs_gate(options, form):
        return
    if options.explore:
        raise _nothing_to_judge("--explore tells processes apart, and judges none")
    if len(options.paths) != 2 and not _are_cases(options.paths):
        raise _nothing_to_judge("these paths are told apart, and not compared as two runs")


def _are_cases(paths: Sequence[str]) -> bool:
    """Whether each path holds both sides; one that is not there is another error."""
    from timesink.answers.comparison.sides import find_cases  # noqa: PLC0415 - most gates have two

    return all(not Path(path).exists() or find_cases(Path(path)) for path in paths)


def budgets_of(options: argparse.Namespace) -> tuple[Budget, ...] | None:
    """The budgets asked for, read before the long work starts."""
    if options.budget is None:
        return None
    from timesink.answers.comparison.budget_file import load_budgets  # noqa: PLC0415 - most gates have none

    return load_budgets(options.budget)


def gate_for(
    comparison: Comparison, options: argparse.Namespace, budgets: Sequence[Budget] | None
) -> Gate:
    """The gate of a comparison; where none is asked for, that of any regression."""
    from timesink.answers.comparison.gate_result import gate_of  # noqa: PLC0415 - --help does not wait for it

    if comparison.exploration is not None:
        raise _nothing_to_judge("these paths are told apart, and not compared as two runs")
    results: tuple[Finding, ...] = ()
    if budgets is not None:
        from timesink.answers.comparison.budgets import evaluate  # noqa: PLC0415

        results = evaluate(budgets, comparison)
    limit = options.fail_on if is_asked(options) else Limit()
    return gate_of(comparison, limit, results, asked=_asked(options), command=command_of(options))


def gate_for_error(error: TimesinkError, options: argparse.Namespace) -> Gate:
    """The gate of runs that cannot be compared."""
    from timesink.answers.comparison.gate_result import gate_of_error  # noqa: PLC0415

    subject = " vs ".join(options.paths)
    return gate_of_error(error, subject, asked=_asked(options), command=command_of(options))


def concluded(gate: Gate) -> int:
    """Say on standard error why it does or does not pass; the exit code."""
    from timesink.answers.comparison.gate import screen  # noqa: PLC0415

    handed_over(lambda: print(screen(gate), file=sys.stderr), sys.stderr)
    return gate.exit_code


def handed_over(give: Callable[[], None], stream: TextIO) -> None:
    """Say something; a reader who leaves early, as `head` does, does not make a gate pass."""
    try:
        give()
        stream.flush()
    except BrokenPipeError:
        with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - it is no file
            os.dup2(nowhere.fileno(), stream.fileno())


def junit(gate: Gate) -> str:
    """The gate as JUnit XML, of now and here."""
    from timesink.answers.comparison.gate import screen  # noqa: PLC0415
    from timesink.output.junit import junit_xml  # noqa: PLC0415

    return junit_xml(gate, screen(gate), datetime.now(), socket.gethostname())  # noqa: DTZ005 - it has no zone


def command_of(options: argparse.Namespace, *more: str) -> tuple[str, ...]:
    """A command line that compares the same, and judges it the same unless `more` is asked."""
    judged = () if more else _judged(options)
    return ("timesink", "compare", *options.paths, *_chosen(options), *judged, *more)


def _chosen(options: argparse.Namespace) -> Iterator[str]:
    for name in _CHOICES:
        value = getattr(options, name)
        if value is not None:
            yield from _option(name, str(value))
    if options.store is not None:
        # Others read the comment and the log.
        yield from _option("store", without_password(options.store))
    if options.ignore_hosts:
        yield "--ignore-hosts"


def _judged(options: argparse.Namespace) -> Iterator[str]:
    if options.fail_on is not None:
        yield from _option("fail-on", options.fail_on.text)
    if options.budget is not None:
        yield from _option("budget", options.budget)


def _option(name: str, value: str) -> tuple[str, ...]:
    return (f"--{name}={value}",) if value.startswith("-") else (f"--{name}", value)


def _asked(options: argparse.Namespace) -> str:
    return " ".join(_judged(options))


def _nothing_to_judge(why: str) -> UsageError:
    return UsageError(f"{why}: there is nothing to pass or fail", "give BASE and NEW, two runs")
