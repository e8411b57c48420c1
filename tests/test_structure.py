"""How the package is built: names, and what is named as text, hold together."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from inspect import ismodule
from itertools import groupby
from pathlib import Path

import timesink
import timesink_lab
from timesink.answers.views import VIEWS, find_view, load
from timesink.rules.register import catalogue, rules_for
from timesink.server import former

PACKAGE = Path(timesink.__file__).parent
BENCH = Path(timesink_lab.__file__).parent
MODULES = [*sorted(PACKAGE.rglob("*.py")), *sorted(BENCH.rglob("*.py"))]
TEXTS = {file: file.read_text(encoding="utf-8") for file in MODULES}

DEFINING = {"__init__.py"}
"""The first file of the package has its public names, some of them loaded when asked for."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)

INNER_IMPORT = re.compile(r"^ +(?:from|import) ", re.MULTILINE)

NOUNS = {
    "binding", "drawing", "matching", "naming", "opening", "packing", "pairing", "profiling",
    "reading", "recording", "serving", "setting",
}  # fmt: skip
"""Words that end like an activity but name a thing, or are what everybody calls it."""


def test_a_class_name_is_used_once():
    homes = defaultdict(list)
    for file, text in TEXTS.items():
        for name in re.findall(r"^ *class (\w+)[(:]", text, re.MULTILINE):
            homes[name].append(file.as_posix())
    assert len(homes) > 100
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_modules_are_named_after_things():
    last = {file: file.stem.rsplit("_", 1)[-1] for file in MODULES}
    doing = [str(file) for file, word in last.items() if word.endswith("ing") and word not in NOUNS]
    assert doing == []
    vague = {"utils", "util", "common", "helpers", "misc", "base", "tools"}
    assert [str(file) for file, word in last.items() if word in vague] == []


def test_no_package_binds_the_name_of_a_file_in_it():
    bound = []
    for file in PACKAGE.rglob("__init__.py"):
        inside = {path.stem for path in file.parent.glob("*.py")}
        names = vars(import_module(module_of(file))).items()
        bound += [
            f"{file}: {name}" for name, value in names if name in inside and not ismodule(value)
        ]
    assert bound == []


def test_first_files_of_folders_hold_names_and_a_docstring():
    defining = set()
    for file, text in TEXTS.items():
        if file.name != "__init__.py":
            continue
        home = PACKAGE if file.is_relative_to(PACKAGE) else BENCH
        first, *rest = ast.parse(text).body
        assert isinstance(first, ast.Expr), f"{file} has no docstring"
        if not all(isinstance(node, ast.Import | ast.ImportFrom) or _is_all(node) for node in rest):
            defining.add(file.relative_to(home).as_posix())
    assert defining <= DEFINING


def _is_all(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def test_imports_inside_functions_say_why():
    """Start-up time, mostly; one comment is enough for imports that follow each other."""
    silent = []
    for file, text in TEXTS.items():
        # What every Python that a program starts loads imports nothing at once, and says so.
        if file.parent.name != "site" and INNER_IMPORT.search(text):
            lines = text.splitlines()
            silent += [f"{file}:{block[0].lineno}" for block in _inner_imports(text)
                       if not _says_why(lines, block)]  # fmt: skip
    assert silent == []


def _inner_imports(text: str) -> Iterator[list[ast.stmt]]:
    """Imports inside of functions, those that follow each other together."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    inside = {inner for function in functions for inner in ast.walk(function)}
    for node in inside:
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                for is_import, block in groupby(statements, lambda each: isinstance(each, IMPORTS)):
                    if is_import:
                        yield list(block)


def _says_why(lines: list[str], block: list[ast.stmt]) -> bool:
    first, last = block[0].lineno, block[-1].end_lineno
    text = "\n".join(lines[first - 1 : last])
    is_said_above = lines[first - 2].lstrip().startswith("#")
    return is_said_above or re.search(r"# (?!noqa)\w|PLC0415(?:, \w+)* - ", text) is not None


def module_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_expressions_of_modules_are_compiled_when_first_used():
    """What is in no function is run at start; programs that are recorded load the agent alone."""
    at_once = [
        f"{file}:{node.lineno}"
        for file, text in TEXTS.items()
        if "re.compile(" in text and not file.is_relative_to(PACKAGE / "recorder" / "agent")
        for node in _outside_functions(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"
    ]
    assert at_once == []


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, FUNCTIONS):
            yield child
            yield from _outside_functions(child)


def test_no_module_is_too_long():
    lengths = {str(file): len(text.splitlines()) for file, text in TEXTS.items()}
    assert {file: lines for file, lines in lengths.items() if lines > 900} == {}


def test_what_is_named_as_text_is_there():
    for view in map(find_view, VIEWS):
        assert callable(load(view.place, "timesink.analyses")), view.place
    for question in catalogue()["rules"]:
        assert all(callable(rule) for rule in rules_for(question))
    text = Path(former.__file__).read_text(encoding="utf-8")
    for target in re.findall(r'"([a-z_]+:[a-z_]+)"', text):
        assert callable(load(target, "timesink.answers.plugin")), target


def test_modules_named_as_text_are_there():
    named = {
        (file, name)
        for file, text in TEXTS.items()
        for name in re.findall(r'"(timesink(?:\.[a-z_]+)+)"', text)
    }
    assert len(named) > 10
    assert [(file, name) for file, name in named if not is_there(name)] == []


def test_limits_are_documented_and_consulted():
    for room in ("rules", "comparison", "analyses", "watcher"):
        text = (PACKAGE / room / "thresholds.py").read_text(encoding="utf-8")
        names = set(re.findall(r"^    (\w+) = ", text, re.MULTILINE))
        assert names == set(re.findall(r'^    (\w+) = .*\n    """\S', text, re.MULTILINE))
        unused = {name for name in names if not any(f".{name}" in text for text in TEXTS.values())}
        assert not unused


def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or a thing in one."""
    home, _, attribute = name.rpartition(".")
    module = import_module(home)
    return hasattr(module, attribute) or find_spec(name) is not None


READERS = {
    "formats": "large files and what they hold; `small_files` reads the others",
    "recorder": "the standard library alone",
    "runtime": "what the system says of processes",
    "model/data_files.py": "tables of this package",
    "output/html.py": "pages of this package",
    "server/pages.py": "pages of this package",
    "sources/kept_answers.py": "sealed answers",
    "watcher/incident_desk.py": "counters, copied",
    "watcher/notices.py": "what the system says of processes",
}
"""Who reads files, or JSON in them, without `formats.small_files`, and what."""


def test_small_files_are_read_by_one_module():
    direct = re.compile(r"json\.loads?\(|tomllib\.loads?\(|\.read_text\(|\.read_bytes\(\)")
    reading = (file for file, text in TEXTS.items() if direct.search(text))
    paths = [file.relative_to(PACKAGE) for file in reading if file.is_relative_to(PACKAGE)]
    others = [path for path in paths if not {path.as_posix(), path.parts[0]} & set(READERS)]
    assert others == []
