"""Write the TypeScript types of documents from `blocks.py`; `--check` fails when they are stale."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from generated import write_or_check

from timesink.output import blocks
from timesink.output.json import OF_TEXT

TYPES = Path(__file__).resolve().parents[1] / "web" / "src" / "document" / "types.ts"
HEADER = """\
// What the pages show: a document of sections, each a list of blocks; a block says what is to be
// seen, never how.  Generated from `src/timesink/output/blocks.py` by `make docs`; do not edit.
"""
WIDTH = 100
NAMES = {"FindingCard": "Finding", "CauseCard": "Cause", "Words": "Texts"}
"""What pages call some of them."""
PLAIN = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "None": "null"}
OPTIONAL = {
    "Document.clock",
    "Section.clock",
    "Tile.section",
    "Table.whole",
    "Column.signed",
    "Curves.of_day",
}
"""Fields that documents of earlier versions lack, which pages still show."""
NARROW = {
    "FindingCard.severity": '"high" | "medium" | "low"',
    "HealthItem.severity": '"error" | "warning" | "info"',
    "Verdict.verdict": '"regression" | "improvement" | "no_change" | "undecided" | "incomparable"',
    "Document.schema": f'"{blocks.SCHEMA}"',
    "Facts.rows": "[label: string, value: string][]",
}
"""Fields that hold one of a few words only."""


def types() -> Iterator[str]:
    """The lines of the file."""
    yield HEADER
    tree = ast.parse(inspect.getsource(blocks))
    for place, node in enumerate(tree.body):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
            yield from _alias(node, _doc(tree.body, place))
        elif isinstance(node, ast.ClassDef):
            yield from _interface(node)


def _alias(node: ast.AnnAssign, doc: str) -> Iterator[str]:
    yield from _comment(doc, "")
    value = ast.Constant(None) if node.value is None else node.value
    line = f"export type {ast.unparse(node.target)} = {_type(value)};"
    yield from [line] if len(line) <= WIDTH else _per_member(line, "")
    yield ""


def _interface(node: ast.ClassDef) -> Iterator[str]:
    yield from _comment(ast.get_docstring(node) or "", "")
    yield f"export interface {NAMES.get(node.name, node.name)} {{"
    tag = next((keyword.value for keyword in node.keywords if keyword.arg == "tag"), None)
    if tag is not None:
        yield f"  type: {_literal(tag)};"
    for place, field in enumerate(node.body):
        if not isinstance(field, ast.AnnAssign):
            continue
        name = ast.unparse(field.target)
        path = f"{node.name}.{name}"
        if name in OF_TEXT or path == "Document.notes":
            continue
        yield from _comment(_doc(node.body, place), "  ")
        mark = "?" if path in OPTIONAL else ""
        line = f"  {name}{mark}: {NARROW.get(path) or _type(field.annotation)};"
        yield from [line] if len(line) <= WIDTH else _per_member(line, "  ")
    yield "}"
    yield ""


def _per_member(line: str, indent: str) -> Iterator[str]:
    """A union that is too long for a line, as the formatter of the pages has it."""
    head, *members = (
        line.removesuffix(";").replace(": ", " | ", 1).replace(" = ", " | ").split(" | ")
    )
    yield f"{head}{' =' if 'export type' in head else ':'}"
    for place, member in enumerate(members, 1):
        yield f"{indent}  | {member}{';' if place == len(members) else ''}"


def _type(node: ast.expr) -> str:
    """A type of Python as TypeScript spells it."""
    if isinstance(node, ast.BinOp):
        return f"{_type(node.left)} | {_type(node.right)}"
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
        members = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return " | ".join(map(_literal, members))
    if isinstance(node, ast.Subscript):
        members = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        inner = _type(members[0])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    name = ast.unparse(node)
    return PLAIN.get(name) or NAMES.get(name, name)


def _literal(node: ast.expr) -> str:
    return f'"{ast.literal_eval(node)}"'


def _doc(body: list[ast.stmt], place: int) -> str:
    """The text below a field or a type."""
    after = body[place + 1] if place + 1 < len(body) else None
    if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
        return inspect.cleandoc(str(after.value.value))
    return ""


def _comment(text: str, indent: str) -> Iterator[str]:
    lines = textwrap.wrap(" ".join(text.split()), WIDTH - len(indent) - len("/**  */"))
    if len(lines) == 1:
        yield f"{indent}/** {lines[0]} */"
    elif lines:
        yield f"{indent}/**"
        yield from (f"{indent} * {line}" for line in lines)
        yield f"{indent} */"


if __name__ == "__main__":
    content = "\n".join(types()).rstrip("\n") + "\n"
    sys.exit(write_or_check(TYPES, content, __doc__))
