"""Run the commands of the pages and write their output below them.

A block is run when a comment stands above it: `<!-- output -->`, or `<!-- output 12 -->` for the
first 12 lines of each command, or `<!-- output 12 from Findings -->` for those from the first line
that begins with a text.  Blocks begin with ```console, commands with `$ timesink`.  All run
in one temporary folder with the recordings of `_place_recordings`, 100 columns wide.  `--check`
only says which pages are out of date.  Names of pages restrict either to these.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import timesink

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(
    r"^<!-- output(?: (?P<lines>\d+))?(?: from (?P<start>[^\n]+?))? -->\n"
    r"```console\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
CUT_MARK = "..."
"""Stands for lines of an output that are not shown."""
SECONDS_MAX = 120
"""A command of a page takes seconds; one that takes longer than this hangs."""


def commands_in(block: str) -> list[str]:
    """The commands of a block, with continuation lines joined as the shell does."""
    lines = iter(block.splitlines())
    commands: list[str] = []
    for line in lines:
        if line.startswith("$ timesink "):
            command = line
            while command.endswith("\\"):
                command += "\n" + next(lines)
            commands.append(command.removeprefix("$ "))
    return commands


class Runner:
    """Runs commands in a folder and remembers what they printed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "work"
        self._folder.mkdir()
        _place_recordings(self._folder)
        self._environment = os.environ | {
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "TZ": "UTC",
            "PYTHONIOENCODING": "utf-8",
            "TIMESINK_CACHE_DIR": str(folder / "cache"),
        }
        self.output = cache(self._output)

    def _output(self, command: str) -> str:
        """What a command prints, messages included; its exit code is not looked at."""
        _, *arguments = shlex.split(command.replace("\\\n", " "), comments=True)
        process = subprocess.run(  # noqa: S603 - a command of our own page
            [sys.executable, "-m", "timesink", *arguments],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS_MAX,
            check=False,
        )
        text = process.stdout.decode("utf-8")
        if "internal error" in text:
            msg = f"$ {command}\n{text}"
            raise RuntimeError(msg)
        return text.rstrip("\n")


def _place_recordings(folder: Path) -> None:
    """The bundled recordings under the names that pages use.

    `damaged.json.gz` is the first half of `trace.json.gz`, as a full disk would leave it.
    """
    trace, counters = timesink.sample(), timesink.sample(counters=True)
    shutil.copyfile(trace, folder / "trace.json.gz")
    shutil.copyfile(counters, folder / "kernels.csv.gz")
    (folder / "damaged.json.gz").write_bytes(trace.read_bytes()[: trace.stat().st_size // 2])
    for name, table in zip(("before", "after"), timesink.sample_runs(), strict=True):
        (folder / name).mkdir()
        shutil.copyfile(table, folder / name / f"{name}.behaviour.parquet")


def refresh(page: str, runner: Runner) -> str:
    """The page with the present output of its commands."""

    def block(match: re.Match[str]) -> str:
        head = match[0][: match.start("text") - match.start()]
        commands = commands_in(match["text"])
        shown = "".join(
            _shown(command, runner.output(command), match["lines"], match["start"])
            for command in commands
        )
        return f"{head}{shown}```"

    return BLOCK.sub(block, page)


def _shown(command: str, output: str, lines: str | None, start: str | None) -> str:
    """A command and the lines of its output that the page asks for."""
    shown = [line.rstrip() for line in output.splitlines()]
    if start is not None:
        first = next((i for i, line in enumerate(shown) if line.startswith(start)), None)
        if first is None:
            msg = f"no line of the output begins with {start!r}:\n$ {command}\n{output}"
            raise RuntimeError(msg)
        shown = [CUT_MARK, *shown[first:]] if first else shown
    limit = int(lines) + (shown[:1] == [CUT_MARK]) if lines is not None else len(shown)
    if len(shown) > limit:
        shown = [*shown[:limit], CUT_MARK]
    return "\n".join([f"$ {command}", *shown, ""])


def _prepare(texts: list[str], runner: Runner) -> None:
    """Run all commands, two at a time, so that pages find their output.

    The first of a recording fills the cache for the others, so it runs alone.
    """
    commands = [
        command
        for text in texts
        for block in BLOCK.finditer(text)
        for command in commands_in(block["text"])
    ]
    unique = list(dict.fromkeys(commands))
    for command in unique[:1]:
        runner.output(command)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(runner.output, unique[1:]))


def stale_pages(pages: list[Path]) -> Iterator[tuple[Path, str]]:
    """Pages whose output changed, with their new text."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    texts = {page: text for page, text in texts.items() if BLOCK.search(text)}
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Path(folder))
        _prepare(list(texts.values()), runner)
        for page, text in texts.items():
            new = refresh(text, runner)
            if new != text:
                yield page, new


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("pages", nargs="*", type=Path, help="pages (default: all)")
    options = parser.parse_args()
    stale = list(stale_pages([page.resolve() for page in options.pages] or PAGES))
    for page, text in stale:
        if options.check:
            sys.stderr.write(f"{page.relative_to(ROOT)} shows old output: run `make docs`\n")
        else:
            page.write_text(text, encoding="utf-8")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
