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

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        fixture_info = getattr(item, "_fixtureinfo", None)
        for definitions in fixture_info.name2fixturedefs.values() if fixture_info else ():
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
        payload = {
            name: [self.seconds.get(name, 0), sorted(used)] for name, used in self.used.items()
        }
        self.report.write_text(json.dumps(payload))


def _name_of(fixture: pytest.FixtureDef[Any]) -> str:
    return f"{SHARED}{fixture.baseid}::{fixture.argname}"


def _watch_cache(function: Any, cache: Callable[..., Any]) -> Any:
    """A function with its cache; in tests, lines of an answer count for each test that asks."""
    code = getattr(function, "__code__", None)
    if code is None or not code.co_filename.startswith(str(Path.cwd() / "tests")):
        return cache(function)

    def name(args: tuple[Any, ...], options: dict[str, Any]) -> str:
        return f"{SHARED}{function.__module__}.{function.__qualname__}{args}{options}"

    @functools.wraps(function)
    def compute(*args: Any, **options: Any) -> Any:
        with _watching[0].context(name(args, options)):
            return function(*args, **options)

    cached_compute = cache(compute)

    @functools.wraps(function)
    def look_up(*args: Any, **options: Any) -> Any:
        if not _watching:
            return function(*args, **options)
        for user in _watching[0].contexts:
            _watching[0].used[user].add(name(args, options))
        return cached_compute(*args, **options)

    return look_up


def _watch_caches() -> None:
    """Let caches of functions tell who asks."""
    plain, plain_of_size = functools.cache, functools.lru_cache

    def cache_of_size(maxsize: Any = 128, typed: bool = False) -> Any:  # noqa: FBT001, FBT002
        if callable(maxsize):
            return _watch_cache(maxsize, plain_of_size)
        return lambda function: _watch_cache(function, plain_of_size(maxsize, typed))

    functools.cache = lambda function: _watch_cache(function, plain)  # type: ignore[assignment]
    functools.lru_cache = cache_of_size  # type: ignore[assignment]


_watching: list[LinesByTest] = []
# At once: files with fixtures are loaded before any plugin is asked.
_watch_caches()


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):
        return  # the processes that it starts are watched, not this one
    packages = os.environ["COVERING_PACKAGES"].split()
    lines = LinesByTest(Path(os.environ["COVERING_TESTS"]), packages)
    config.pluginmanager.register(lines)
    _watching.append(lines)
    lines.coverage.start()
