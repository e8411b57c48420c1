"""Code of the agent, and a compiler that follows the program into it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType, FunctionType, ModuleType
from typing import Any

CALLING_THE_PROGRAM = ("counted", "stand_in", "noticed", "exited")
"""Wrappers around functions of the program and of torch; no other code of ours is called so."""

_OURS = "timesink.collect.record."


def hide_from_compiler(torch: Any) -> None:
    """Let torch.compile pass over the agent: compiling it takes long and gains nothing.

    What the agent calls, such as a step of an optimizer, is compiled all the same.
    """
    # Names and signatures in there change from version to version.
    with suppress(Exception):
        skip = _skipping(torch._C._dynamo.eval_frame)  # noqa: SLF001 - its public name imports it all
        ours = [module for name, module in sys.modules.items() if name.startswith(_OURS)]
        for module in ours:
            for code in _codes_of(module):
                skip(code)


def compiling_test(torch: Any) -> Callable[[], bool]:
    """What says whether a compiler follows the program just now."""
    compiler = getattr(torch, "compiler", None)
    test: Callable[[], bool] | None = getattr(compiler, "is_compiling", None)
    return test if test is not None else lambda: False


def _skipping(compiler: Any) -> Callable[[CodeType], None]:
    if hasattr(compiler, "skip_code"):
        # Versions before 2.6.
        older: Callable[[CodeType], None] = compiler.skip_code
        return older
    action, strategy = compiler._FrameAction, compiler._FrameExecStrategy  # noqa: SLF001
    # The second is for what is called from there.
    all_of_it = strategy(action.SKIP, action.SKIP)
    only_itself = strategy(action.SKIP, action.DEFAULT)

    def skip(code: CodeType) -> None:
        calls_program = code.co_name in CALLING_THE_PROGRAM
        compiler.set_code_exec_strategy(code, only_itself if calls_program else all_of_it)

    return skip


def _codes_of(module: ModuleType) -> Iterator[CodeType]:
    for held in list(vars(module).values()):
        members = vars(held).values() if isinstance(held, type) else [held]
        for member in members:
            # What decorators put around it is code of theirs, which the program uses as well.
            decorated: Any = member.fget if isinstance(member, property) else member
            function = inspect.unwrap(decorated)
            if isinstance(function, FunctionType) and function.__module__.startswith(_OURS):
                yield from _with_inner(function.__code__)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)
