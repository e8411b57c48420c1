"""A file of budgets, refused at once where it is not one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from timesink.errors import UnreadableError, UsageError
from timesink.model.own_files import own_text
from timesink.reports.budgets.amounts import AmountError, increase, time_ns
from timesink.reports.budgets.budgets import KINDS, TIMES, Budget, Budgets

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FORM = 'an entry is  "aten::mm" = { max = "1.5 ms", max_increase = "10%" }  below [operators]'
_HELP = "see docs/budgets.md"


def load_budgets(path: str | Path) -> Budgets:
    r"""The budgets of a TOML file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "budgets.toml"
    >>> _ = file.write_text('[operators]\n"aten::mm" = { max = "1.5 ms" }')
    >>> [(one.kind, one.name, one.max_ns) for one in load_budgets(file).entries]
    [('operators', 'aten::mm', 1500000.0)]
    """
    hint = f"give a TOML file; {_FORM}"
    try:
        tables = tomllib.loads(own_text(Path(path), "--budget", hint))
    except UnreadableError as error:
        # The option is wrong, whether it names no file or one that holds no budgets.
        raise UsageError(f"--budget: {error.message}", hint) from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML ({error})", _FORM) from None
    entries = tuple(_File(str(path)).entries(tables))
    if not entries:
        raise UsageError(f"{path}: holds no budget", _FORM)
    return Budgets(str(path), entries)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise AmountError("write true or false")
    return value


def _measured_by(value: object) -> str:
    if value not in TIMES:
        raise AmountError(f"write {' or '.join(TIMES)}")
    return str(value)


_READERS: dict[str, tuple[str, Callable[[object], Any]]] = {
    "max": ("max_ns", time_ns),
    "max_increase": ("max_increase", increase),
    "ignore_below": ("ignore_below_ns", time_ns),
    "of": ("of", _measured_by),
    "optional": ("optional", _flag),
}
_LIMITS = ("max", "max_increase")
_KNOWN = {
    "cycle": _LIMITS,
    "operators": (*_LIMITS, "of", "ignore_below", "optional"),
    "modules": (*_LIMITS, "of", "ignore_below", "optional"),
    "kernels": (*_LIMITS, "ignore_below", "optional"),
}
"""Keys of an entry."""


@dataclass(frozen=True, slots=True)
class _File:
    path: str

    def entries(self, tables: Mapping[str, Any]) -> Iterator[Budget]:
        for kind, content in tables.items():
            if kind not in KINDS:
                known = ", ".join(f"[{name}]" for name in KINDS)
                raise self._wrong(kind, None, f"unknown table [{kind}]", _meant(kind, KINDS, known))
            if not isinstance(content, dict):
                raise self._wrong(kind, None, f"[{kind}] is no table", _FORM)
            if kind == "cycle":
                yield self._budget(kind, kind, content)
                continue
            for name, entry in content.items():
                yield self._budget(kind, name, entry)

    def _budget(self, kind: str, name: str, entry: object) -> Budget:
        if not isinstance(entry, dict):
            raise self._wrong(kind, name, "is no table", _FORM)
        found: dict[str, Any] = {}
        for key, value in entry.items():
            if key not in _KNOWN[kind]:
                known = ", ".join(_KNOWN[kind])
                hint = _meant(key, _KNOWN[kind], known)
                raise self._wrong(kind, name, f"unknown key {key!r}", hint)
            field, read = _READERS[key]
            try:
                found[field] = read(value)
            except AmountError as error:
                raise self._wrong(kind, name, f"{key} = {_shown(value)}: {error}", _HELP) from None
        if not any(key in entry for key in _LIMITS):
            raise self._wrong(kind, name, "has no limit", f"add {' or '.join(_LIMITS)}")
        if not name.strip():
            raise self._wrong(kind, name, "has no name", _FORM)
        return Budget(kind, name, **found)

    def _wrong(self, kind: str, name: str | None, what: str, hint: str) -> UsageError:
        """What is wrong, and in which entry."""
        entry = "" if name is None else f"[{kind}]: " if kind == "cycle" else f'[{kind}] "{name}": '
        return UsageError(f"{self.path}: {entry}{what}", hint)


def _meant(word: str, known: tuple[str, ...], listed: str) -> str:
    close = get_close_matches(word, known, 1)
    return f"did you mean {close[0]}? there are {listed}" if close else f"there are {listed}"


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
