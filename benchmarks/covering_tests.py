"""Which tests run which lines: a plugin of pytest, for `mutants.py`.

`python -m pytest -p covering_tests` with COVERING_TESTS=FOLDER writes there, for each process that
runs tests, the lines by test (as data of coverage.py) and how long each test took (as JSON).

What is made once for several tests (fixtures of a wider scope, cached functions in `tests`) is
run by the first of them and proven by all: its lines count for every test that uses it.
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import coverage
import pytest

PACKAGE = Path("src/timesink")
SHARED = "shared by tests: "
"""How the context of something made once begins; other contexts are the names of tests."""


class LinesByTest:
    def __init__(self, folder: Path, packages: list[str]) -> None:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        self.report = folder / f"tests-{worker}.json"
        self.coverage = coverage.Coverage(
            data_file=str(folder / f"lines-{worker}.coverage"),
            include=[str(Path.cwd() / PACKAGE / name / "*") for name in packages],
            config_file=False,
        )
        self.contexts: list[str] = []
        self.seconds: dict[str, float] = {}
        self.used: dict[str, set[str]] = defaultdict(set)

    @contextmanager
    def context(self, name: str) -> Iterator[None]:
        self.contexts.append(name)
        self.coverage.switch_context(name)
        try:
            yield
        finally:
            self.contexts.pop()
            self.coverage.switch_context(self.contexts[-1] if self.contexts else "")

    def cached(self, function: Callable[..., Any], cache: Callable[..., Any]) -> Callable[..., Any]:
        """The function with its cache, whose lines count for each test that asks it."""
        name = f"{SHARED}{function.__module__}.{function.__qualname__}"

        @functools.wraps(function)
        def made(*args: Any, **options: Any) -> Any:
            with self.context(name):
                return function(*args, **options)

        kept = cache(made)

        @functools.wraps(function)
        def asked(*args: Any, **options: Any) -> Any:
            for user in self.contexts:
                self.used[user].add(name)
            return kept(*args, **options)

        return asked

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        known = getattr(item, "_fixtureinfo", None)
        for definitions in known.name2fixturedefs.values() if known else ():
            self.used[item.nodeid].update(map(_name_of, definitions))
        began = time.process_time()
        with self.context(item.nodeid):
            done = yield
        # Time of the processor: what else the machine does must not matter.
        self.seconds[item.nodeid] = round(time.process_time() - began, 4)
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        with self.context(_name_of(fixturedef)):
            return (yield)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        told = {name: [self.seconds.get(name, 0), sorted(used)] for name, used in self.used.items()}
        self.report.write_text(json.dumps(told))


def _name_of(fixture: pytest.FixtureDef[Any]) -> str:
    return f"{SHARED}{fixture.baseid}::{fixture.argname}"


def _watch_caches(lines: LinesByTest) -> None:
    """Let `functools.cache` in tests tell who asks."""
    plain = functools.cache
    here = str(Path.cwd() / "tests")

    def cache(function: Callable[..., Any]) -> Callable[..., Any]:
        code = getattr(function, "__code__", None)
        is_ours = code is not None and code.co_filename.startswith(here)
        return lines.cached(function, plain) if is_ours else plain(function)

    functools.cache = cache  # type: ignore[assignment]


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):
        return  # the processes that it starts are watched, not this one
    packages = os.environ["COVERING_PACKAGES"].split()
    lines = LinesByTest(Path(os.environ["COVERING_TESTS"]), packages)
    config.pluginmanager.register(lines)
    _watch_caches(lines)
    lines.coverage.start()
