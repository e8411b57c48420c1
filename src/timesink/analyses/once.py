"""Work that several analyses share is done once per trace."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from timesink.model.trace import Trace

Options = ParamSpec("Options")
Result = TypeVar("Result")


class _Note:
    """One answer about one trace, and the lock under which it is found."""

    __slots__ = ("answers", "lock")

    def __init__(self) -> None:
        self.lock = Lock()
        self.answers: list[Any] = []


_notebooks: WeakKeyDictionary[Trace, dict[Any, _Note]] = WeakKeyDictionary()
_opening = Lock()


def remember(trace: Trace, analysis: Callable[[Trace], Result], answer: Result) -> None:
    """Set what an analysis found for a trace that was made from another."""
    _note_of(trace, (inspect.unwrap(analysis), (), ())).answers[:] = [answer]


def _note_of(trace: Trace, question: Any) -> _Note:
    with _opening:
        return _notebooks.setdefault(trace, {}).setdefault(question, _Note())


def once_per_trace(
    analysis: Callable[Concatenate[Trace, Options], Result],
) -> Callable[Concatenate[Trace, Options], Result]:
    """Remember what an analysis found for as long as its trace is alive.

    Traces are frozen, so an answer never goes stale; it goes away with its trace.  Threads that
    ask for the same answer wait for the first of them.
    """

    @wraps(analysis)
    def remembered(trace: Trace, /, *args: Options.args, **options: Options.kwargs) -> Result:
        note = _note_of(trace, (analysis, args, tuple(sorted(options.items()))))
        with note.lock:
            if not note.answers:
                note.answers.append(analysis(trace, *args, **options))
        answer: Result = note.answers[0]
        return answer

    return remembered
