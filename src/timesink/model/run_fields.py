"""From plain data to a recorded run, leniently: what does not fit is not known, and is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from timesink.model.recorded_run import RecordedRun

_LONGEST_SHOWN = 40
Section = TypeVar("Section")


def recorded_run(values: Mapping[str, Any]) -> tuple[RecordedRun, list[str]]:
    """The run that plain data describes, and which of its fields could not be used.

    Fields that nobody knows here are left alone: a later version may have more.
    """
    unused: list[str] = []
    return _section(RecordedRun, values, "", unused), unused


def _section(kind: type[Section], values: Any, where: str, unused: list[str]) -> Section:
    if not isinstance(values, Mapping):
        if values is not None:
            unused.append(_shown(where, values))
        return kind()
    known = {
        name: _value(hint, values[name], f"{where}.{name}".lstrip("."), unused)
        for name, hint in _hints(kind)
        if values.get(name) is not None
    }
    return kind(**{name: value for name, value in known.items() if value is not None})


def _value(hint: Any, value: Any, where: str, unused: list[str]) -> Any:
    if is_dataclass(hint) and isinstance(hint, type):
        return _section(hint, value, where, unused)
    if get_origin(hint) is tuple:
        return tuple(_items(get_args(hint)[0], value, where, unused))
    if get_origin(hint) is Mapping:
        return _texts(value, where, unused)
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError:
        unused.append(_shown(where, value))
        return None


def _items(hint: Any, values: Any, where: str, unused: list[str]) -> Iterator[Any]:
    if not isinstance(values, (list, tuple)):
        unused.append(_shown(where, values))
        return
    for place, one in enumerate(values):
        item = _value(hint, one, f"{where}[{place}]", unused)
        if item is not None:
            yield item


def _texts(values: Any, where: str, unused: list[str]) -> dict[str, str]:
    if not isinstance(values, Mapping):
        unused.append(_shown(where, values))
        return {}
    told = {str(name): value for name, value in values.items() if value is not None}
    unused += [_shown(f"{where}.{name}", v) for name, v in told.items() if _is_nested(v)]
    return {name: str(value) for name, value in told.items() if not _is_nested(value)}


def _is_nested(value: Any) -> bool:
    return isinstance(value, (list, tuple, Mapping))


def _shown(where: str, value: Any) -> str:
    text = repr(value)
    return f"{where}: {text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + '...'}"


def _hints(kind: Any) -> list[tuple[str, Any]]:
    hints = get_type_hints(kind)
    return [(one.name, hints[one.name]) for one in fields(kind)]
