"""Programs whose cycles are known by the name of a function: servers, and loops of libraries.

Which function that is, when a cycle of it is over, and what tells its workload are rows of
presets.csv.  A function is replaced in its class when its module is loaded; others cost nothing.
"""

from __future__ import annotations

import csv
import functools
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Preset:
    """One function that makes cycles; several of one name are versions of a program."""

    name: str
    function: str
    """As `package.module:Class.method`."""
    goes_on: tuple[tuple[str, str], ...]
    """A call whose outcome is of this type, * for any, is a cycle until that function returns."""
    workload: str
    """The function whose arguments tell the workload; empty: the same."""
    span: str
    extractor: str
    """One of workloads.EXTRACTORS."""
    default: bool
    """Whether it counts where nobody said what makes a cycle."""


@functools.cache
def presets() -> tuple[Preset, ...]:
    """All there are, in order.

    >>> sorted({preset.name for preset in presets()})[:3]
    ['continuous-batching', 'generate', 'lightning']
    """
    with (Path(__file__).parent / "presets.csv").open(newline="") as file:
        return tuple(
            Preset(
                row["name"],
                row["function"],
                tuple(tuple(each.split("=")) for each in row["goes_on"].split()),
                row["workload"],
                row["span"],
                row["extractor"],
                row["default"] == "yes",
            )
            for row in csv.DictReader(file)
        )


def preset_names() -> tuple[str, ...]:
    """What can be asked for by name."""
    return tuple(dict.fromkeys(preset.name for preset in presets()))


def wanted_presets(name: str) -> tuple[Preset, ...]:
    """Those of a name; without one those that count by default."""
    return tuple(one for one in presets() if (one.name == name if name else one.default))


# Functions by their names, replaced as soon as they are there.

Replace = Callable[[Any], Any]
"""From a function to what stands in for it."""


class NamedFunctions:
    """Replaces functions of modules, those loaded already and those that will be."""

    def __init__(
        self, wanted: Iterable[tuple[str, Replace]], missing: Callable[[str], None]
    ) -> None:
        """`wanted` are names as `package.module:Class.method`."""
        self._wanted: dict[str, list[tuple[str, Replace]]] = {}
        for name, replace in wanted:
            module, _, path = name.partition(":")
            self._wanted.setdefault(module, []).append((path, replace))
        self._missing = missing
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self._loading: set[str] = set()

    def begin(self) -> None:
        for name in list(self._wanted):
            module = sys.modules.get(name)
            if module is None:
                continue
            if _is_loading(module):
                # The agent came with torch, which this very module asked for.
                self._loading.add(name)
            else:
                self._replace_in(name)
        sys.meta_path.insert(0, self)

    def leave(self) -> None:
        """Put everything back, where nobody else has replaced it since."""
        with suppress(ValueError):
            sys.meta_path.remove(self)
        self._wanted.clear()
        for owner, name, before, mine in self._replaced:
            if vars(owner).get(name) is mine:
                setattr(owner, name, before)
        self._replaced.clear()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Asked for every module that is imported: finds those wanted as they would be found."""
        # Other threads import as well.
        for loaded in tuple(self._loading):
            if _is_loading(sys.modules.get(loaded)):
                continue
            self._loading.discard(loaded)
            self._replace_in(loaded)
        if name not in self._wanted:
            return None
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            found: ModuleSpec | None = find(name, path, target) if find else None
            if found is not None:
                self._hear(found.loader, name)
                return found
        return None

    def _hear(self, loader: Any, name: str) -> None:
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module: Any) -> None:
            execute(module)
            self._replace_in(name)

        with suppress(Exception):
            loader.exec_module = exec_module

    def _replace_in(self, module: str) -> None:
        for path, replace in self._wanted.pop(module, []):
            try:
                owner: Any = sys.modules[module]
                *outer, name = path.split(".")
                for part in outer:
                    owner = getattr(owner, part)
                before = vars(owner)[name]
                mine = replace(before)
                setattr(owner, name, mine)
                self._replaced.append((owner, name, before, mine))
            except Exception as error:  # noqa: BLE001, PERF203 - another version of the program
                self._missing(f"{module}:{path} is not there ({type(error).__name__}: {error})")


def _is_loading(module: Any) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))
