"""The examples in docstrings of what users call, and of what they get back."""

from __future__ import annotations

import doctest
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import timesink
from forked_programs import host_of_programs
from recorded import environment, needs_torch, write
from timesink.analyses.work.formulas import REGISTERED
from timesink.comparison.gate.history_rows import add_runs


def _history() -> Any:
    with tempfile.TemporaryDirectory() as place:
        add_runs("main", [timesink.sample_runs()[0]], place, commit="0123abcd")
        return timesink.history("@main", store=place)


pytestmark = pytest.mark.usefixtures("reads_here")


@pytest.fixture(autouse=True)
def _own_formulas() -> Iterator[None]:
    """A formula of an example is not for other tests: answers would no longer be kept for them."""
    yield
    REGISTERED.clear()


PUBLIC = [name for name in dir(timesink) if callable(getattr(timesink, name))]
ANSWERS = {
    "analyze": lambda: timesink.analyze(timesink.sample()),
    "behaviour": lambda: timesink.behaviour(timesink.sample()),
    "compare": lambda: timesink.compare(*timesink.sample_runs()),
    "cycles": lambda: timesink.cycles(timesink.sample()),
    "diagnose": lambda: timesink.diagnose(timesink.sample_runs()[0]),
    "find_recordings": lambda: timesink.find_recordings(timesink.sample())[0],
    "history": _history,
    "kernels": lambda: timesink.kernels(timesink.sample(counters=True)),
    "whatif": lambda: timesink.whatif(timesink.sample()),
}
"""How to come by an answer of each kind."""

_FINDER = doctest.DocTestFinder()
_OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def run_examples(thing: Any) -> int:
    """Run the examples of a function, or of a class and its methods; how many there were."""
    count = 0
    for examples in _FINDER.find(thing, getattr(thing, "__qualname__", thing.__name__)):
        output: list[str] = []
        runner = doctest.DocTestRunner(optionflags=_OPTIONS)
        result = runner.run(examples, out=output.append)
        assert not result.failed, "".join(output)
        count += result.attempted
    return count


def test_the_package_is_introduced():
    assert run_examples(timesink) >= 5


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "record"])
def test_examples_of_what_users_call(name: str):
    is_shown = run_examples(getattr(timesink, name)) > 0
    assert is_shown or name in {"Trace", "TimesinkError"}


_RECORDING = """
import doctest, timesink
(examples,) = doctest.DocTestFinder().find(timesink.record, "record")
result = doctest.DocTestRunner().run(examples)
assert result.attempted == 4, result
raise SystemExit(result.failed)
"""


@needs_torch
def test_the_example_of_recording_a_block(tmp_path: Path):
    """In a program that others share: to import torch takes long."""
    text = Path(write(tmp_path, _RECORDING))
    program = host_of_programs().start(tmp_path, text, environment())
    out, errors = program.communicate()
    assert program.returncode == 0, out + errors


@pytest.mark.parametrize("name", ANSWERS)
def test_examples_of_what_users_get(name: str):
    run_examples(type(ANSWERS[name]()))


def test_every_answer_is_looked_at():
    assert set(ANSWERS) | {"formula", "open", "record", "sample", "sample_runs", "watch"} >= {
        name for name in PUBLIC if name.islower()
    }
