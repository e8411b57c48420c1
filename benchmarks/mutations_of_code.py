"""Small faults for code: what can be changed in a function, and the changed text."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_PAIRS = [
    ("min", "max"),
    ("any", "all"),
    ("any_horizontal", "all_horizontal"),
    ("min_horizontal", "max_horizontal"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("arg_min", "arg_max"),
    ("ceil", "floor"),
    ("first", "last"),
    ("head", "tail"),
    ("is_null", "is_not_null"),
    ("bisect_left", "bisect_right"),
    ("startswith", "endswith"),
    ("starts_with", "ends_with"),
    ("mean", "median"),
]
_OTHER_NAME = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
_OTHER_WORD = {"left": "right", "right": "left", "inner": "left", "semi": "anti", "anti": "semi"}
_OTHER_WORD |= {"both": "none", "forward": "backward", "backward": "forward"}
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_WITHOUT = {ast.Expr, ast.AugAssign, ast.Continue, ast.Break, ast.Delete}
"""Statements that may be left out; without others, a name would be missing."""


@dataclass(frozen=True)
class Mutant:
    file: str
    function: str
    statement: str
    kind: str
    nth: int
    """Which of the equal statements of the function."""
    place: int
    """Which of the changes of this kind in the statement."""
    lines: range
    span: tuple[int, int]
    """The bytes of the source that are replaced."""
    before: str
    after: str
    within: str
    """The text of the function."""

    @property
    def identity(self) -> tuple[str, str, str, int, int]:
        return (self.function, self.statement, self.kind, self.nth, self.place)

    def applied(self, source: bytes) -> bytes:
        start, end = self.span
        return source[:start] + self.after.encode() + source[end:]


def mutants_of(file: str, text: str) -> Iterator[Mutant]:
    """All mutants of the functions in a file."""
    source = text.encode()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None  # noqa: S101
        assert node.end_col_offset is not None  # noqa: S101
        start = starts[node.lineno - 1] + node.col_offset
        return start, starts[node.end_lineno - 1] + node.end_col_offset

    for name, function in _functions(ast.parse(text), ""):
        within = ast.unparse(_without_docstring(function))
        seen: Counter[str] = Counter()
        for statement in _statements(function):
            header = _header(statement)
            nth = seen[header]
            seen[header] += 1
            lines = range(statement.lineno, _last_line(statement) + 1)
            places: Counter[str] = Counter()
            for kind, node, after in _changes(statement):
                start, end = span(node)
                place = places[kind]
                places[kind] += 1
                before = source[start:end].decode()
                yield Mutant(
                    file, name, header, kind, nth, place, lines, (start, end), before, after, within
                )


def _functions(
    node: ast.AST, prefix: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if not any("overload" in ast.unparse(mark) for mark in child.decorator_list):
                yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _without_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
    if ast.get_docstring(function) is None:
        return function
    bare = copy.copy(function)
    bare.body = function.body[1:] or [ast.Pass()]
    return bare


def _statements(block: ast.AST) -> Iterator[ast.stmt]:
    """Statements of a function, not those of functions and classes inside."""
    for field in _BLOCKS:
        for child in getattr(block, field, ()):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            if isinstance(child, ast.stmt):
                yield child
            yield from _statements(child)


def _header(statement: ast.stmt) -> str:
    """Its text; of a statement with a block the first line, without what is in the block."""
    if not hasattr(statement, "body"):
        return ast.unparse(statement)
    bare = copy.copy(statement)
    for field in _BLOCKS:
        if getattr(bare, field, None):
            setattr(bare, field, [ast.Pass()] if field == "body" else [])
    if isinstance(statement, ast.Match | ast.Try):
        return type(statement).__name__
    return ast.unparse(bare).splitlines()[0]


def _last_line(statement: ast.stmt) -> int:
    body = getattr(statement, "body", None)
    if body:
        return max(statement.lineno, body[0].lineno - 1)
    return statement.end_lineno or statement.lineno


def _changes(statement: ast.stmt) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    """What can be changed: a kind, the node that is replaced, and the text instead of it."""
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    if is_text or isinstance(statement, ast.Assert | ast.Import | ast.ImportFrom | ast.Raise):
        return
    if isinstance(statement, ast.If | ast.While):
        yield "branch removed", statement.test, "False"
        if isinstance(statement, ast.If):
            yield "condition dropped", statement.test, "True"
    keeps_names = isinstance(statement, ast.Assign) and all(
        isinstance(target, ast.Attribute | ast.Subscript) for target in statement.targets
    )
    if type(statement) in _WITHOUT or keeps_names:
        yield "statement removed", statement, "pass"
    for field, value in ast.iter_fields(statement):
        if field not in _BLOCKS and field != "annotation":
            for node in value if isinstance(value, list) else [value]:
                if isinstance(node, ast.AST):
                    yield from _changes_inside(node)


def _changes_inside(node: ast.AST) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    # Places inside of f-strings are not known exactly before Python 3.12.
    if isinstance(node, ast.JoinedStr):
        return
    for kind, changed, other in _changes_of(node):
        text = other if isinstance(other, str) else f"({ast.unparse(other)})"
        yield kind, changed, text
    for child in ast.iter_child_nodes(node):
        yield from _changes_inside(child)


def _changes_of(  # noqa: C901, PLR0912 - one case for each kind
    node: ast.AST,
) -> Iterator[tuple[str, ast.expr, ast.expr | str]]:
    match node:
        case ast.Compare():
            for number, operator in enumerate(node.ops):
                other = copy.copy(node)
                other.ops = [*node.ops]
                other.ops[number] = _COMPARISONS[type(operator)]()
                yield "comparison", node, other
        case ast.BoolOp():
            swapped = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "and/or", node, ast.BoolOp(swapped, node.values)
        case ast.UnaryOp(ast.Not() | ast.Invert() | ast.USub()):
            if not isinstance(node.operand, ast.Constant):
                yield "not dropped", node, node.operand
        case ast.BinOp() if type(node.op) in _ARITHMETIC and not _is_of_text(node):
            other_operator = _ARITHMETIC[type(node.op)]()
            yield "arithmetic", node, ast.BinOp(node.left, other_operator, node.right)
        case ast.Constant(bool()):
            yield "true/false", node, str(not node.value)
        case ast.Constant(int() | float()):
            yield "constant", node, f"({node.value + 1!r})"
        case ast.Call(ast.Name(name)) if name in _OTHER_NAME:
            yield "other function", node.func, _OTHER_NAME[name]
        case ast.Call(ast.Attribute(owner, name)) if name in _OTHER_NAME:
            # Only the name after the dot.
            yield "other function", node.func, f"{_short(owner)}.{_OTHER_NAME[name]}"
        case ast.keyword(value=ast.Constant(str(word))) if word in _OTHER_WORD:
            yield "other word", node.value, repr(_OTHER_WORD[word])
        case ast.Slice():
            for bound, operator in ((node.lower, ast.Add()), (node.upper, ast.Sub())):
                if bound is not None and not isinstance(bound, ast.Constant):
                    yield "slice", bound, ast.BinOp(bound, operator, ast.Constant(1))
        case ast.IfExp():
            yield "other branch", node, node.orelse
        case ast.comprehension():
            for condition in node.ifs:
                yield "filter dropped", condition, "True"


def _short(owner: ast.expr) -> str:
    text = ast.unparse(owner)
    is_plain = isinstance(owner, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return text if is_plain else f"({text})"


def _is_of_text(node: ast.BinOp) -> bool:
    """Whether texts or lists are joined or types are listed: other operators mean nothing there."""
    parts = (node.left, node.right)
    is_text = any(
        isinstance(part, ast.JoinedStr | ast.List | ast.Tuple | ast.Dict | ast.Set)
        or (isinstance(part, ast.Constant) and not isinstance(part.value, int | float))
        for part in parts
    )
    return is_text or any(isinstance(part, ast.BinOp) and _is_of_text(part) for part in parts)
