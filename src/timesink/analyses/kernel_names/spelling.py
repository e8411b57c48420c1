"""Names of kernels so that two profilers that spell them differently agree.

One profiler writes `void at::native::f<at::native::Add<float>, 3ul>(int, ...)`, another trims the
namespaces, numbers its template parameters and writes `void at::f<at::Add<float>, 3>(int, T2)`, a
third leaves the symbol of the compiler, `_ZN2at6native1fI...`.
"""

from __future__ import annotations

import re

from timesink.analyses.kernel_names.mangling import is_mangled
from timesink.analyses.kernel_names.short import short_name

_UNNAMED = re.compile(r"(?:\(anonymous namespace\)|\{anonymous\}|<?unnamed>)::")
_BRACKETS = re.compile(r"([<>()])")
_INSTANCE = re.compile(r"\s*\(instance (\d+)\)")
_CAST = re.compile(r"\(\w[\w:]*\)(?=-?\d)")
_CALL_OPERATOR = re.compile(r"\boperator\s*\(\)")
_WORD = re.compile(r"[A-Za-z_]\w*|\d+")
_TRUTH = {"false": "0", "true": "1"}
_SILENT = frozenset({"void", "const", "unsigned", "native", "operator"})


def kernel_name(name: str) -> str:
    """The function's own name: no return type, namespace, template argument or parameter."""
    return short_name(name).rsplit("::", 1)[-1]


def template_arguments(name: str) -> str | None:
    """The words of the template arguments, as far as profilers agree on them; None without any."""
    if is_mangled(name):
        return None
    # A cast and the number of a lambda look like parameters, which are spelled in too many ways.
    text = _CAST.sub("", _INSTANCE.sub(r"#\1", _UNNAMED.sub("", name)))
    arguments = _in_angle_brackets(_CALL_OPERATOR.sub("operator", text))
    words = (_TRUTH.get(word, word) for word in _WORD.findall(_last_components(arguments)))
    return " ".join(word for word in words if word not in _SILENT) or None


def _last_components(text: str) -> str:
    """Qualified names without their namespaces, numbers without their types."""
    return re.sub(r"\b(\d+)[uUlL]+\b", r"\1", re.sub(r"(?:\w+::)+(?=\w)", "", text))


def _in_angle_brackets(name: str) -> str:
    """What stands in angle brackets but in no others, up to the parameters of the function."""
    kept: list[str] = []
    angles = rounds = 0
    named = False
    for piece in _BRACKETS.split(name):
        if piece == "(" and named and not angles and not rounds:
            break
        rounds = max(0, rounds + (piece == "(") - (piece == ")"))
        angles = max(0, angles + (piece == "<" and not rounds) - (piece == ">" and not rounds))
        if angles and not rounds:
            kept.append(" " if piece in "<>)" else piece)
        named = named or bool(piece.strip(" <>()"))
    return "".join(kept)
