"""Running the command line inside the test process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from remembered import remember_answers
from timesink.cli import main, query_export


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def own_cache(common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache for all commands, so that the sample is read once."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))


@pytest.fixture(autouse=True)
def _queries_are_asked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting an interpreter for each takes a second; `test_query_limits` does so."""

    def call(module: str, function: str, arguments: tuple[Any, ...], _limits: object) -> Any:
        return getattr(import_module(module), function)(nullcontext, *arguments)

    monkeypatch.setattr(query_export, "limited_call", call)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line: `run("info", path)`."""

    def call(*arguments: object) -> Outcome:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for what is only read: answers about its files are remembered."""
    folder = tmp_path_factory.mktemp("read")
    with pytest.MonkeyPatch.context() as patch:
        remember_answers(patch, folder)
        yield folder


_OUTCOMES: dict[tuple[str, ...], Outcome] = {}


@pytest.fixture
def ask(run: Run) -> Run:
    """Run a command line that only reads files nobody changes: once, whoever asks it again."""

    def call(*arguments: object) -> Outcome:
        words = (str(Path.cwd()), os.environ.get("COLUMNS", ""), *map(str, arguments))
        if words not in _OUTCOMES:
            _OUTCOMES[words] = run(*arguments)
        return _OUTCOMES[words]

    return call


@pytest.fixture
def decline(run: Run) -> Callable[..., tuple[str, str]]:
    """Run a command line that cannot work; its message and hint, the only words it may say."""

    def call(*arguments: object, code: int = 1) -> tuple[str, str]:
        outcome = run(*arguments)
        assert (outcome.code, outcome.out) == (code, "")
        message, hint = outcome.err.splitlines()
        assert message.startswith("timesink: ")
        assert hint.startswith("hint: ")
        return message.removeprefix("timesink: "), hint.removeprefix("hint: ")

    return call
