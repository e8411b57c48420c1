"""A function that tells of its calls, whoever holds it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType, FunctionType
from typing import Any

_PLACE = "where the stand-in goes"


def tell_of_calls(
    function: FunctionType,
    call: Callable[[], AbstractContextManager[None]],
    is_compiling: Callable[[], bool] = lambda: False,
) -> Callable[[], None]:
    """Let every call of a function happen within `call()`, until what this returns is called.

    The function stays the same object, so that whoever imported or stored it is served as well;
    what it runs becomes a function of its own.
    """
    code, own = function.__code__, vars(function).get("__signature__")
    signature = inspect.signature(function)
    original = FunctionType(
        code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    original.__kwdefaults__ = function.__kwdefaults__
    original.__qualname__ = function.__qualname__

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        # A compiler that follows this call must find nothing but the function.
        if is_compiling():
            return original(*args, **kwargs)
        with call():
            return original(*args, **kwargs)

    def put_back() -> None:
        if function.__code__ is told:
            function.__code__ = code
            vars(function).update(__signature__=own)
            if own is None:
                del vars(function)["__signature__"]

    told = _calling(stand_in, code)
    function.__code__ = told
    function.__signature__ = signature  # type: ignore[attr-defined]
    return put_back


def _calling(stand_in: Callable[..., Any], code: CodeType) -> CodeType:
    """Code that calls something else, and calls itself as the original."""
    with warnings.catch_warnings():
        # Of a text that is called: it is replaced by what is to be called.
        warnings.simplefilter("ignore")
        module = compile(f"def f(*a, **k): return {_PLACE!r}(*a, **k)", code.co_filename, "exec")
    plain = next(constant for constant in module.co_consts if isinstance(constant, CodeType))
    constants = tuple(stand_in if constant == _PLACE else constant for constant in plain.co_consts)
    return plain.replace(
        co_consts=constants,
        co_name=code.co_name,
        co_firstlineno=code.co_firstlineno,
        co_freevars=code.co_freevars,
    )
