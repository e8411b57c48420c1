"""Every command line in README and docs is one that timesink takes; examples in Python run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import timesink
from timesink.cli.command_line import COMMANDS, build_parser

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
CALL = re.compile(rf"(?:\$ )?(timesink (?:{'|'.join(COMMANDS)})\b.*)")
"""A line of a code block that calls timesink."""
ELSEWHERE = ("|", ">", ";", "&&", "2>&1")
"""What follows these is for the shell."""


def command_lines(page: Path) -> list[str]:
    blocks = re.findall(
        r"^```(?:sh|bash|console)?\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL
    )
    lines = (line.strip() for block in blocks for line in block.replace("\\\n", " ").split("\n"))
    return [match[1] for line in lines if (match := CALL.fullmatch(line))]


def words_of(line: str) -> list[str]:
    words = shlex.split(re.sub(r"\s+(#|measured peaks|a file with).*$", "", line))
    ends = [place for place, word in enumerate(words) if word.startswith(ELSEWHERE)]
    return words[1 : min(ends, default=len(words))]


def complaint(parser, line, capsys) -> str:
    """What is said about a line that is not understood; nothing about others."""
    try:
        parser.parse_args(words_of(line))
    except SystemExit as stop:
        return f"{stop} {capsys.readouterr().err}"
    return ""


def test_documented_commands_are_understood(capsys):
    lines = [(page.name, line) for page in PAGES for line in command_lines(page)]
    assert len(lines) > 60
    parser = build_parser()
    complaints = {(page, line): complaint(parser, line, capsys) for page, line in lines}
    assert {place: complaint_ for place, complaint_ in complaints.items() if complaint_} == {}


def test_readme_python_example_runs(tmp_path, monkeypatch):
    """The block of Python in README, on the bundled recordings under the names it uses."""
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    before, after = timesink.sample_runs()
    for name, there in (("trace.json.gz", timesink.sample()), ("before", before), ("after", after)):
        (tmp_path / name).symlink_to(there)
    monkeypatch.chdir(tmp_path)
    run = code.replace("before/", "before").replace("after/", "after")
    values = {}
    exec(compile(run, "README.md", "exec"), values)  # noqa: S102 - our own page
    assert values["analysis"].headline


LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)(?:#([^)\s]*))?\)")
NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


def anchors_of(page: Path) -> set[str]:
    """Names of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {NOT_IN_ANCHORS.sub("", heading.lower()).replace(" ", "-") for heading in headings}


def is_broken(page: Path, target: str, anchor: str) -> bool:
    """Whether a link of a page leads nowhere."""
    file = page.parent / target if target else page
    return not file.exists() or (bool(anchor) and anchor not in anchors_of(file))


def test_links_of_pages_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    code = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    texts = {page: code.sub("", page.read_text(encoding="utf-8")) for page in pages}
    broken = {
        f"{page.relative_to(ROOT)}: {match[0]}"
        for page, text in texts.items()
        for match in LINK.finditer(text)
        if is_broken(page, match[1], match[2])
    }
    assert broken == set()
