"""Steps of optimizers: the end of a training cycle in a program nobody edited.

Hooks that torch offers run inside the optimizer's own range of the timeline, and older versions
drop them when a model is compiled.  So `step` itself is wrapped, once per class.
"""

from __future__ import annotations

import fnmatch
import functools
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from timesink.recorder.agent.engine import MarkedCycles
from timesink.recorder.agent.profiling import compiling_test

_BY = "optimizer step"
_GONE_AFTER = 20
"""After so many steps of others, the optimizer that counted has stopped."""
_SEVERAL = 2

Step = Callable[..., Any]


class OptimizerSteps:
    """The first optimizer that steps marks cycles.

    Another one takes over where that stops, or where it makes several steps for one of the other,
    as the critic of a GAN does: then the other's steps are the cycles.
    """

    def __init__(self, engine: MarkedCycles) -> None:
        self._engine = engine
        self._marking: weakref.ref[Any] | None = None
        self._steps = 0
        self._steps_of_others = 0
        self._steps_when_seen: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._outpaced: weakref.WeakSet[Any] = weakref.WeakSet()
        self._told_of_slower = False

    def stepped(self, optimizer: Any) -> None:
        """An optimizer has made a step."""
        if self._engine.is_over:
            return
        with self._engine.program_goes_on():
            marking = self._marking() if self._marking is not None else None
            if marking is optimizer or self._takes_over(marking, optimizer):
                self._steps_of_others = 0
                self._steps += 1
                self._engine.boundary(_BY, type(optimizer).__name__, begins=False)

    def _takes_over(self, marking: Any, optimizer: Any) -> bool:
        self._steps_of_others += 1
        is_gone = marking is None or self._steps_of_others > _GONE_AFTER
        if not is_gone and not self._is_slower(marking, optimizer):
            return False
        if self._marking is not None:
            self._engine.restart(_BY)
        self._marking = weakref.ref(optimizer)
        return True

    def _is_slower(self, marking: Any, optimizer: Any) -> bool:
        """Whether an optimizer steps less often than the one that marks; known in time or never."""
        steps_since = self._steps - self._steps_when_seen.get(optimizer, 0)
        self._steps_when_seen[optimizer] = self._steps
        # Two that step in turns of several must not replace each other for ever.
        if steps_since < _SEVERAL or optimizer in self._outpaced:
            return False
        if not self._engine.has_begun:
            self._outpaced.add(marking)
            return True
        if not self._told_of_slower:
            self._told_of_slower = True
            self._engine.remark(
                f"{type(optimizer).__name__} stepped once in {steps_since} of these steps: "
                "if they are parts of one step, name its function with --marker"
            )
        return False


def watch_optimizers(
    torch: Any, engine: MarkedCycles, stepped: Callable[[Any], None] | None = None
) -> None:
    """Count the steps of every optimizer made from now on."""
    stepped = OptimizerSteps(engine).stepped if stepped is None else stepped
    base = sys.modules["torch.optim.optimizer"].Optimizer
    is_compiling = compiling_test(torch)
    # Older versions of torch call it differently.
    name = "_patch_step_function" if hasattr(base, "_patch_step_function") else "_hook_for_profile"
    patch = getattr(base, name)
    # Shared by all classes: the step of one may call that of another.
    stepping: set[int] = set()

    @functools.wraps(patch)
    def patched(optimizer: Any) -> None:
        patch(optimizer)
        kind = type(optimizer)
        if not getattr(kind.step, "timesink_counts", False):
            # It stays: where a compiler has followed it, a change would have it compile again.
            kind.step = _count_steps(kind.step, stepped, stepping, is_compiling)

    def leave() -> None:
        if getattr(base, name) is patched:
            setattr(base, name, patch)

    setattr(base, name, patched)
    engine.when_over(leave)


def watch_steps(torch: Any, engine: MarkedCycles, stepped: Callable[[Any], None]) -> None:
    """Count steps of optimizers in a program that runs already, and may have made some."""
    base = sys.modules["torch.optim.optimizer"]
    waiting, is_late = [base.Optimizer], False
    while waiting and not is_late:
        kind = waiting.pop()
        is_late = bool(getattr(kind.step, "hooked", False))
        waiting += type.__subclasses__(kind)
    # What is made has its step wrapped already, by its schedule also: only a hook is heard.
    register = getattr(base, "register_optimizer_step_post_hook", None)
    if is_late and register is not None:
        is_compiling = compiling_test(torch)
        hook = register(
            lambda optimizer, _args, _kwargs: None if is_compiling() else stepped(optimizer)
        )
        engine.when_over(hook.remove)
    else:
        watch_optimizers(torch, engine, stepped)


def _count_steps(
    step: Step, stepped: Callable[[Any], None], stepping: set[int], is_compiling: Callable[[], bool]
) -> Step:
    @functools.wraps(step)
    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        # A compiler that follows this call must find nothing but the step.
        if is_compiling() or id(self) in stepping:
            return step(self, *args, **kwargs)
        stepping.add(id(self))
        try:
            outcome = step(self, *args, **kwargs)
        finally:
            stepping.discard(id(self))
        stepped(self)
        return outcome

    counted.timesink_counts = True  # type: ignore[attr-defined]
    inner = getattr(step, "__wrapped__", None)
    if getattr(step, "hooked", False) and inner is not None:
        # Compilers of older versions take off the outermost wrapper, which must not be this one.
        counted.__wrapped__ = _count_steps(inner, stepped, stepping, is_compiling)
    return counted


# Ranges that the program marks itself with `record_function`.

_BY_ANNOTATION = "annotation"


def watch_annotations(  # noqa: C901 - small functions around one state
    torch: Any, engine: MarkedCycles, pattern: str, ended: Callable[[], None] = lambda: None
) -> None:
    """Begin a cycle with every range whose name fits; a range within such a range begins none.

    `ended` hears of the ends of those that begin one.
    """
    kind = torch.autograd.profiler.record_function
    enter, leave_range = kind.__enter__, kind.__exit__
    open_ranges = threading.local()
    fits = functools.lru_cache(maxsize=4096)(lambda name: name_fits(name, pattern))

    @functools.wraps(enter)
    def entered(self: Any) -> Any:
        if not engine.is_over:
            with engine.program_goes_on():
                begin(self.name)
        return enter(self)

    def begin(name: str) -> None:
        if fits(name):
            depth = getattr(open_ranges, "depth", 0)
            open_ranges.depth = depth + 1
            if depth == 0:
                engine.boundary(_BY_ANNOTATION, pattern, begins=True)

    def end() -> None:
        open_ranges.depth -= 1
        if not open_ranges.depth:
            ended()

    @functools.wraps(leave_range)
    def left(self: Any, *reason: Any) -> Any:
        if getattr(open_ranges, "depth", 0) and fits(self.name):
            end()
        return leave_range(self, *reason)

    def leave() -> None:
        # Whoever has put something around this needs it to stay.
        if kind.__enter__ is entered and kind.__exit__ is left:
            kind.__enter__, kind.__exit__ = enter, leave_range

    kind.__enter__, kind.__exit__ = entered, left
    engine.when_over(leave)


def name_fits(name: str, pattern: str) -> bool:
    """Whether a name is the one asked for, as it is, with its number, or as a shell pattern."""
    return (
        name == pattern
        or fnmatch.fnmatchcase(name, pattern)
        or name.rstrip("0123456789").rstrip("#_ .:") == pattern
    )
