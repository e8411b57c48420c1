"""Profilers the program starts itself: two at a time break each other, and its own go first."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class ForeignProfilers:
    """Notices when profilers of the program begin and end."""

    def __init__(self, torch: Any, before_one: Callable[[], None]) -> None:
        self._before_one = before_one
        self._active: set[int] = set()
        self._was_active = False
        self._is_ours = False
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        module = torch.autograd.profiler
        self._watch(module.profile, "_prepare_trace")
        for name in ("emit_nvtx", "emit_itt"):
            if hasattr(module, name):
                self._watch(getattr(module, name), "__enter__")

    @property
    def is_active(self) -> bool:
        """Whether a profiler of the program is running."""
        return bool(self._active)

    def was_active(self) -> bool:
        """Whether a profiler of the program was running at any time since this was asked."""
        was_active, self._was_active = self._was_active, self.is_active
        return was_active

    @contextmanager
    def ours(self) -> Iterator[None]:
        """A profiler that begins within is not the program's."""
        self._is_ours = True
        try:
            yield
        finally:
            self._is_ours = False

    def _watch(self, kind: Any, beginning: str) -> None:
        self._replace(kind, beginning, self._noticing(getattr(kind, beginning)))
        self._replace(kind, "__exit__", self._forgetting(kind.__exit__))

    def _replace(self, kind: Any, name: str, new: Any) -> None:
        self._replaced.append((kind, name, getattr(kind, name), new))
        setattr(kind, name, new)

    def leave(self) -> None:
        """Stop watching, where nobody else has begun to watch in the same place."""
        for kind, name, before, mine in self._replaced:
            if getattr(kind, name) is mine:
                setattr(kind, name, before)

    def _noticing(self, begin: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(begin)
        def noticed(profiler: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._is_ours:
                self._before_one()
                self._active.add(id(profiler))
                self._was_active = True
            return begin(profiler, *args, **kwargs)

        return noticed

    def _forgetting(self, end: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(end)
        def exited(profiler: Any, *args: Any, **kwargs: Any) -> Any:
            self._active.discard(id(profiler))
            return end(profiler, *args, **kwargs)

        return exited
