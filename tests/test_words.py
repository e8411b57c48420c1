"""The words of the field: names that are bound, and phrases that nobody reads."""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "timesink"

PRIVATE_WORDS = frozenset({
    "one", "found", "told", "each", "known", "said", "own", "whole", "alone", "alike", "meant",
    "lacking", "heard", "asked", "begun", "held", "given", "others", "kept", "made", "shown",
})  # fmt: skip
"""Words that say of a value only that it is there; readers of other packages never meet them."""
IRREGULAR_PARTICIPLES = frozenset({
    "told", "kept", "held", "cut", "known", "shown", "drawn", "found", "made", "spent", "sent",
    "written", "taken", "given", "bound", "built", "left", "lost", "meant", "said",
})  # fmt: skip
NOUNS = frozenset(
    {"string", "padding", "setting", "heading", "ring", "encoding", "timing", "recording"}
)


JSON_VALUES = frozenset({"plain cycles", "time plain cycles", "### Names that do not meet"})
"""Values of JSON keys, and the heading of a published report, which stay as they are."""


def bound_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def is_participle(name: str) -> bool:
    word = name.strip("_")
    if "_" in word or word in NOUNS:
        return False
    return bool(re.search(r"(ed|ing)$", word)) or word in IRREGULAR_PARTICIPLES


@pytest.mark.parametrize(
    ("folder", "most_private", "most_participles"),
    [("src", 0.005, 0.03), ("tests", 0.01, 0.03), ("benchmarks", 0.01, 0.03)],
)
def test_names_are_nouns_and_verbs_of_the_field(
    folder: str, most_private: float, most_participles: float
) -> None:
    names, private, functions, participles = 0, [], 0, []
    for path in sorted((ROOT / folder).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        bound = [name.strip("_").lower() for name in bound_names(tree)]
        names += len(bound)
        private += [(path.name, name) for name in bound if name in PRIVATE_WORDS]
        top = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        functions += len(top)
        participles += [(path.name, name) for name in top if is_participle(name)]
    assert names > 1000
    assert len(private) <= most_private * names, private
    assert len(participles) <= most_participles * functions, participles


def phrases() -> list[str]:
    lines = (ROOT / "tests" / "data" / "phrases.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def texts() -> Iterator[tuple[str, str]]:
    """What people read: strings of the package, its tables of texts, pages, and labels in web/."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {
            id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
        }  # of a command they are its help
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                is_read = path.parent.name == "cli" or id(node) not in docstrings
                if is_read and node.value not in JSON_VALUES:
                    yield path.name, node.value
    for path in sorted(PACKAGE.rglob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                yield path.name, " ".join(row)
    for folder, pattern in (("docs", "*.md"), ("web/src", "*.tsx")):
        for path in sorted((ROOT / folder).rglob(pattern)):
            # What stands in backticks or is no comment of TypeScript may be a key or a value.
            yield path.name, re.sub(r"`[^`\n]*`", "", path.read_text(encoding="utf-8"))
    for path in sorted(PACKAGE.rglob("*.toml")):
        lines = path.read_text(encoding="utf-8").splitlines()
        yield path.name, "\n".join(line for line in lines if not line.startswith("#"))
    yield "README.md", (ROOT / "README.md").read_text(encoding="utf-8")


def test_nobody_reads_private_phrases() -> None:
    pattern = re.compile(
        rf"(?<![\w-])(?:{'|'.join(map(re.escape, phrases()))})(?![\w-])", re.IGNORECASE
    )
    joined = ((place, " ".join(text.split())) for place, text in texts())
    matches = {
        (place, match[0].lower()) for place, text in joined for match in pattern.finditer(text)
    }
    assert sorted(matches) == []
