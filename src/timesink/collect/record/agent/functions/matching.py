"""Whether a function is the one that was asked for by name."""

from __future__ import annotations

import fnmatch
import gc
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

_GLOB = frozenset("*?[")

PASSES_ON = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Set for functions that hand over and come back; a range would cross those of others."""


class FunctionName:
    """A function by its name: `step`, `Model.forward`, `package.module:function`, `*_step`."""

    def __init__(self, pattern: str) -> None:
        module, colon, name = pattern.rpartition(":")
        self._module = module if colon else ""
        self._name = name
        self._last = name.rpartition(".")[2]
        self._is_glob = not _GLOB.isdisjoint(pattern)

    def may_be(self, name: str) -> bool:
        """Whether a function of this short name may be meant; asked of every call."""
        return fnmatch.fnmatchcase(name, self._last) if self._is_glob else name == self._last

    def is_it(self, module: str, qualified_name: str) -> bool:
        """Whether the function is meant: functions within functions go by their own name."""
        modules = _names_of(module)
        if self._module and not any(fnmatch.fnmatchcase(one, self._module) for one in modules):
            return False
        own = qualified_name.rpartition("<locals>.")[2]
        names = {own, own.rpartition(".")[2], qualified_name, *(f"{one}.{own}" for one in modules)}
        names |= set(_inherited_as(module, qualified_name))
        if self._is_glob:
            return any(fnmatch.fnmatchcase(name, self._name) for name in names)
        return self._name in names


def _inherited_as(module: str, qualified_name: str) -> Iterator[str]:
    """What a method is called by those who see it in a class that inherits it."""
    owner_name, _, method = qualified_name.rpartition(".")
    owner: Any = sys.modules.get(module)
    for part in owner_name.split("."):
        owner = getattr(owner, part, None)
    waiting: list[type] = [owner] if isinstance(owner, type) else []
    while waiting:
        below: list[type] = type.__subclasses__(waiting.pop())
        heirs = [heir for heir in below if method not in vars(heir)]
        yield from (f"{heir.__qualname__}.{method}" for heir in heirs)
        waiting += heirs


def _names_of(module: str) -> set[str]:
    """What a module is called: the one that was started goes by the name of its file, too."""
    main = sys.modules.get(module)
    if module != "__main__" or main is None:
        return {module}
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    return {module, spec.name if spec else Path(file or module).stem}


def functions_with(code: CodeType) -> list[FunctionType]:
    """The functions that run some code."""
    holders = gc.get_referrers(code)
    return [held for held in holders if isinstance(held, FunctionType) and held.__code__ is code]
