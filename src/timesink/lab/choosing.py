"""Things that a user names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from timesink.errors import UsageError


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Thing = TypeVar("_Thing", bound=_Named)


def chosen(what: str, names: Sequence[str], known: Sequence[_Thing]) -> tuple[_Thing, ...]:
    """Those of the known things that are named, each once and in the order of the known ones."""
    unknown = [name for name in names if name not in [one.name for one in known]]
    if unknown:
        raise UsageError(
            f"no {what} is called {unknown[0]!r}", f"known: {', '.join(one.name for one in known)}"
        )
    return tuple(one for one in known if one.name in names)
