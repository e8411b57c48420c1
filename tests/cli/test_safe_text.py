"""Names from recordings and of files steer no terminal, no page and no spreadsheet."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import builders
import timesink
import timesink_lab

pytestmark = pytest.mark.usefixtures("reads_here")

EVIL = "\x1b[31mred\x1b]0;title\x07<img src=x>[a](javascript:x)"
CONTROLS = {chr(code) for code in (*range(32), *range(127, 160))} - {"\n"}


def evil_trace(folder: Path, name: str = "trace.json") -> Path:
    document = builders.cuda_trace()
    for event in document["traceEvents"]:
        if event.get("cat") in {"kernel", "cpu_op"}:
            event["name"] = f"=cmd|{EVIL}{event['name']}"
    return builders.write(folder / name, document)


@pytest.fixture(scope="module")
def folder(place: Path) -> Path:
    """Three recordings, whose folder and files have names that steer terminals as well."""
    folder = place / "run\x1b[31m"
    (folder / "two").mkdir(parents=True)
    evil_trace(folder, "one.json")
    for name in ("a\x1b[31m.json", "b\x1b[31m.json"):
        evil_trace(folder / "two", name)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["analyze", "{}/none.json"],
        ["analyze", "{}/two"],
        ["analyze", "{}/one.json", "-o", "{}/no-such-folder/\x1b[31m/x.zzz"],
        ["analyze", "{}/one.json", "{}/more\x1b[31m"],
        ["info", "{}/one.json", "--rank", "\x1b[31m"],
        ["query", "{}/one.json", "select \x1b[31m from host"],
        ["compare", "{}/one.json", "{}/none.json"],
        ["compare", "{}/one.json", "{}/one.json", "-o", "OUT/\x1b[31m.md"],
        ["analyze", "{}/one.json", "-o", "OUT/\x1b[31m.html"],
        ["analyze", "{}/one.json"],
        ["analyze", "{}/one.json", "--format", "md"],
        ["info", "{}/one.json"],
    ],
)
def test_nothing_steers_the_terminal(run, folder: Path, tmp_path: Path, words: list[str]):
    outcome = run(*(word.format(folder).replace("OUT", str(tmp_path)) for word in words))
    assert not CONTROLS.intersection(outcome.out + outcome.err)


def test_markdown_has_no_tags_and_no_links_of_a_name(run, place: Path):
    file = evil_trace(place, "[a](javascript:x)<img src=x>.json")
    for words in (["analyze", file], ["compare", file, file], ["info", file]):
        # What stands in backticks is shown as it is.
        text = re.sub(r"`[^`]+`", "", run(*words, "--format", "md").out)
        assert "<img" not in text
        assert "[a](javascript" not in text


def test_text_cells_of_csv_are_no_formulas(run, folder: Path):
    file = folder / "one.json"
    table = run("analyze", file, "--view", "kernels", "--format", "csv").out
    assert "'=cmd" in table
    assert not any(line.startswith(("=", '"=')) for line in table.splitlines())
    assert not CONTROLS.intersection(table)
    plain = run("query", file, "select -1 as below, name, '+1' as t from device", "--format", "csv")
    cells = plain.out.splitlines()[1]
    assert cells.startswith("-1,")
    assert cells.endswith(",'+1")


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "{0}", "{0}", "--format", "csv"],
        ["compare", "{0}", "{0}", "--table", "times", "--format", "csv"],
        ["compare", "{0}", "{0}", "--table", "rows", "--format", "csv"],
        ["compare", "{0}", "{0}", "--table", "families", "--format", "csv"],
        ["behaviour", "{0}", "--format", "csv"],
        ["compare", "{0}", "{0}", "-o", "{1}/out/"],
        ["behaviour", "{0}", "-o", "{1}/out/b.csv"],
    ],
)
def test_tables_of_cycles_are_no_formulas_and_steer_nothing(
    run, folder: Path, tmp_path: Path, words: list[str]
):
    file = folder / "one.json"
    outcome = run(*(word.format(file, tmp_path) for word in words))
    assert outcome.code == 0
    written = [path.read_text(encoding="utf-8") for path in tmp_path.glob("out/*.csv")]
    assert written or "-o" not in words
    for text in written or [outcome.out]:
        assert not CONTROLS.intersection(text)
        assert not re.search(r'(?m)(?:^|,)"?[=+@]', text)


def test_lines_beside_an_answer_are_written_by_one_function():
    """Whoever prints to the screen directly prints names as they are."""
    bench = Path(timesink_lab.__file__).with_name("command.py")
    modules = [*sorted((Path(timesink.__file__).parent / "cli").glob("*.py")), bench]
    stream_uses = [
        f"{path.name}: {ast.unparse(node.value)}"
        for path in modules
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "file"
    ]
    # A count of files on a terminal, and the function itself.
    assert stream_uses == ["command_line.py: sys.stderr", "command.py: sys.stderr"]
