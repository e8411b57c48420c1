"""Hints name only what exists: every sentence of the package that speaks of a command or option."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tomllib

import timesink
from timesink.answers.views import VIEWS
from timesink.cli.command_line import COMMANDS, build_parser

_PACKAGE = Path(timesink.__file__).parent
_OF_OTHER_TOOLS = {
    *("--query-compute-apps", "--format", "--clock"),  # nvidia-smi, amd-smi
    *("--set", "--page", "--csv", "--import", "--print-units", "--target-processes"),  # ncu
    *("--query-metrics", "--print-metric-name", "--print-metric-instances", "--log-file"),
    *("--launch-skip", "--kernel-name", "--kernel-id"),
    *("--type", "--output-format", "--cap-add", "--pause"),  # nsys, rocprofv3, docker
    *("--head", "--num-cpus", "--logdir", "--no-deps", "--nproc-per-node"),  # ray, TensorBoard
    *("--force", "--detach", "--prune"),  # git
    *("--max-tokens", "--tokenizer", "--key-size", "--use-auth-token", "--lr"),  # of programs
}
_COMMAND = re.compile(r"(?<![\w./-])timesink ([a-z]+)\b((?:(?!timesink )[^`;\n])*)")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
_MAY_NAME = re.compile(r"--[a-z]|timesink ")


def _options_of(parser: argparse.ArgumentParser) -> set[str]:
    names = {name for action in parser._actions for name in action.option_strings}
    for subparser in _below(parser).values():
        names |= _options_of(subparser)
    return names


def _below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    kinds = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return next((action.choices for action in kinds), {})


_PARSERS = _below(build_parser())
_OPTIONS = {name: _options_of(parser) for name, parser in _PARSERS.items()}
_EVERY = set().union(*_OPTIONS.values(), {"--help", "--version", "--verbose"})


def _said_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts of a file, by line; parts that a text is made of are not told for themselves."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
            waiting += [part for part in node.values if not isinstance(part, ast.Constant)]
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield node.lineno, node.value
        else:
            waiting += ast.iter_child_nodes(node)


@cache
def _sentences() -> list[tuple[str, str]]:
    return list(_found_sentences())


def _found_sentences() -> Iterator[tuple[str, str]]:
    for file in sorted(_PACKAGE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if _MAY_NAME.search(text):
            place = file.relative_to(_PACKAGE)
            texts = _said_in(ast.parse(text))
            yield from (
                (f"{place}:{line}", sentence) for line, sentence in texts if " " in sentence
            )
    catalogue = tomllib.loads((_PACKAGE / "rules/catalogue.toml").read_text(encoding="utf-8"))
    del catalogue["rules"]  # names of functions
    for table, rows in catalogue.items():
        for name, row in rows.items():
            yield from ((f"{table}.{name}", str(sentence)) for sentence in row.values())
    for row in (_PACKAGE / "model/health.csv").read_text(encoding="utf-8").splitlines():
        yield "health.csv", row


def _problems() -> Iterator[str]:
    for place, text in _sentences():
        for option in set(_OPTION.findall(text)) - _EVERY - _OF_OTHER_TOOLS:
            yield f"{place}: {option}"
        for view in re.findall(r"--view ([a-z][a-z-]+)", text):
            if view not in VIEWS:
                yield f"{place}: --view {view}"
        for command, rest in _COMMAND.findall(text):
            options = set(_OPTION.findall(rest.split(" -- ")[0]))
            if command in COMMANDS and options - _OPTIONS[command]:
                yield f"{place}: timesink {command} {' '.join(options - _OPTIONS[command])}"


def test_hints_name_only_commands_options_and_views_that_exist():
    assert list(_problems()) == []


def test_commands_in_code_spans_exist():
    spans = (
        command
        for place, text in _sentences()
        for command in re.findall(r"(?:`|try  )timesink ([a-z-]+)", text)
    )
    assert {*spans} <= {*COMMANDS}


def test_a_mistyped_action_is_not_run_as_a_program(run):
    outcome = run("watch", "stat")
    assert outcome.code == 2
    assert "no action 'stat' (did you mean status?; timesink watch -- stat" in outcome.err


def test_a_gate_says_what_is_missing(run, tmp_path):
    (tmp_path / "empty").mkdir()
    outcome = run("gate", tmp_path / "empty")
    assert (outcome.code, "no trace in this folder" in outcome.err) == (1, True)
    for missing in (tmp_path / "missing", tmp_path / "none*.json"):
        outcome = run("gate", timesink.sample(), missing, "--undecided", "125")
        assert outcome.code == 1, outcome.err


def test_numbers_below_the_first_are_wrong_usage(run):
    for option in ("--rank", "--top"):
        assert run("analyze", timesink.sample(), f"{option}=-1").code == 2


def test_a_device_nobody_knows_gets_the_closest_few(run):
    outcome = run("analyze", timesink.sample(), "--device", "H300")
    assert outcome.code == 2
    assert "hint: close are H200, " in outcome.err
    assert outcome.err.count(",") < 6
