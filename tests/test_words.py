"""The words of the field: names that are bound, and phrases that nobody reads."""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterator
from functools import cache
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


def bound_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Store) else None
    if isinstance(node, ast.arg):
        return node.arg
    return node.name if isinstance(node, ast.FunctionDef | ast.ClassDef) else None


def all_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """As `ast.walk`, in a third of its time: nodes without a place bind and hold nothing."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        yield node
        for value in node.__dict__.values():
            if value.__class__ is list:
                nodes += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST) and value.__dict__:
                nodes.append(value)


def is_participle(name: str) -> bool:
    word = name.strip("_")
    if "_" in word or word in NOUNS:
        return False
    return bool(re.search(r"(ed|ing)$", word)) or word in IRREGULAR_PARTICIPLES


class Source:
    """What is read in a file of Python, which is parsed once for all questions."""

    def __init__(self, path: Path) -> None:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        self.names: list[str] = []
        self.functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        texts: dict[int, str] = {}
        docstrings = set()
        for node in all_nodes(tree):
            name = bound_name(node)
            if name is not None:
                self.names.append(name)
            elif isinstance(node, ast.Constant):
                if isinstance(node.value, str):
                    texts[id(node)] = node.value
            elif isinstance(node, ast.Expr):
                docstrings.add(id(node.value))  # of a command they are its help
        is_help = path.parent.name == "cli"
        self.texts = [text for key, text in texts.items() if is_help or key not in docstrings]


source_of = cache(Source)


@pytest.mark.parametrize(
    ("folder", "most_private", "most_participles"),
    [("src", 0.005, 0.03), ("tests", 0.01, 0.03), ("benchmarks", 0.01, 0.03)],
)
def test_names_are_nouns_and_verbs_of_the_field(
    folder: str, most_private: float, most_participles: float
) -> None:
    names, private, functions, participles = 0, [], 0, []
    for path in sorted((ROOT / folder).rglob("*.py")):
        source = source_of(path)
        bound = [name.strip("_").lower() for name in source.names]
        names += len(bound)
        private += [(path.name, name) for name in bound if name in PRIVATE_WORDS]
        functions += len(source.functions)
        participles += [(path.name, name) for name in source.functions if is_participle(name)]
    assert names > 1000
    assert len(private) <= most_private * names, private
    assert len(participles) <= most_participles * functions, participles


def phrases() -> list[str]:
    lines = (ROOT / "tests" / "data" / "phrases.txt").read_text(encoding="utf-8").splitlines()
    return [line.lower() for line in lines if line and not line.startswith("#")]


def texts() -> Iterator[tuple[str, str]]:
    """What people read: strings of the package, its tables of texts, pages, and labels in web/."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for text in source_of(path).texts:
            if text not in JSON_VALUES:
                yield path.name, text
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
    wanted = phrases()
    pattern = re.compile(
        rf"(?<![\w-])(?:{'|'.join(map(re.escape, wanted))})(?![\w-])", re.IGNORECASE
    )
    # Hardly a text has any of them, whatever stands around it: that is seen faster.
    joined = ((place, " ".join(text.split())) for place, text in texts())
    suspects = [
        (place, text) for place, text in joined if any(map(text.lower().__contains__, wanted))
    ]
    matches = {
        (place, match[0].lower()) for place, text in suspects for match in pattern.finditer(text)
    }
    assert sorted(matches) == []
