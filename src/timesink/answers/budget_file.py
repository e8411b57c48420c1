"""A file of budgets, refused at once where it is not one, and one to begin with."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from timesink.errors import UnreadableError, UsageError
from timesink.model.amounts import signed_ns
from timesink.model.own_files import own_text
from timesink.model.units import brief_ns

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_NS_OF = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}
_AMOUNT = re.compile(r"\+?\s*((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,2})?)\s*(\S+)", re.IGNORECASE)
_TIME = 'a time is a number and its unit, as in "1.5 ms" (ns, us, ms, s)'
_INCREASE = 'an increase is a percentage or a time, as in "10%" or "0.2 ms"'
_FORM = 'an entry is  "aten::mm" = { max = "1.5 ms", max_increase = "10%" }  below [operators]'
_HELP = "see docs/budgets.md"
KINDS = ("cycle", "operators", "modules", "kernels")
"""Tables of a file of budgets."""
TIMES = ("device", "host")
"""What an operator or a module is measured by."""


@dataclass(frozen=True, slots=True)
class Increase:
    """How much longer something may take: a part of what it took, or a time."""

    pct: float | None = None
    ns: float | None = None

    @property
    def said(self) -> str:
        """As people read it: `+10 %`, `+200.0 us`."""
        return f"+{self.pct:g} %" if self.pct is not None else signed_ns(self.ns or 0) or "+0 ns"

    def is_below(self, delta_ns: float, base_ns: float) -> bool:
        """Whether a change is more than this."""
        if self.pct is not None:
            return 100 * delta_ns > self.pct * base_ns
        return delta_ns > (self.ns or 0)


@dataclass(frozen=True, slots=True)
class Budget:
    """One entry of a file of budgets."""

    kind: str
    """One of `KINDS`."""
    name: str
    """A name, a pattern with * and ?, or a family of kernels; `cycle` for the cycle itself."""
    max_ns: float | None = None
    """Mean time per cycle."""
    max_increase: Increase | None = None
    of: str | None = None
    """One of `TIMES`; None for that of the device, where anything ran on one."""
    ignore_below_ns: float = 0.0
    """Increases by less than this are none."""
    optional: bool = False
    """Whether it may match nothing."""

    @property
    def rules(self) -> list[str]:
        """Which limits it has: `max`, `max_increase`."""
        limits = {"max": self.max_ns, "max_increase": self.max_increase}
        return [rule for rule, limit in limits.items() if limit is not None]

    def limit(self, rule: str) -> str:
        """A limit as people read it; empty where there is none."""
        if rule == "max":
            return "" if self.max_ns is None else brief_ns(self.max_ns)
        return "" if self.max_increase is None else self.max_increase.said


@dataclass(frozen=True, slots=True)
class Budgets:
    """What a file of budgets asks for, in its order."""

    path: str
    entries: tuple[Budget, ...]


# -- times and percentages as people write them ----------------------------------------------------


class AmountError(ValueError):
    """What was written is no amount; the message says what one is."""


def increase(value: object, form: str = _INCREASE) -> Increase:
    """A percentage or a time."""
    found = _AMOUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found[2] not in (*_NS_OF, "%"):
        raise AmountError(form)
    # Exact: 1.13 us are 1130 ns, and no part of one less.
    number, unit = Decimal(found[1]), found[2]
    return Increase(float(number)) if unit == "%" else Increase(ns=float(number * _NS_OF[unit]))


def time_ns(value: object) -> float:
    """A time in ns."""
    found = increase(value, _TIME).ns
    if found is None:
        raise AmountError(_TIME)
    return found


# -- reading --------------------------------------------------------------------------------------


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
            for name, entry in ({kind: content} if kind == "cycle" else content).items():
                yield self._budget(kind, name, entry)

    def _budget(self, kind: str, name: str, entry: object) -> Budget:
        if not isinstance(entry, dict):
            raise self._wrong(kind, name, "is no table", _FORM)
        found: dict[str, Any] = {}
        for key, value in entry.items():
            if key not in _KNOWN[kind]:
                hint = _meant(key, _KNOWN[kind], ", ".join(_KNOWN[kind]))
                raise self._wrong(kind, name, f"unknown key {key!r}", hint)
            field, read = _READERS[key]
            shown = f'"{value}"' if isinstance(value, str) else str(value)
            try:
                found[field] = read(value)
            except AmountError as error:
                raise self._wrong(kind, name, f"{key} = {shown}: {error}", _HELP) from None
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
