"""Run the commands of the pages and write their output below them.

A block is run when a comment stands above it: `<!-- output -->`, or `<!-- output 12 -->` for the
first 12 lines of each command, or `<!-- output 12 from Findings -->` for those from the first line
that begins with a text.  Blocks begin with ```console, commands with `$ timesink`.  The commands of
a page run one after the other in a temporary folder with the recordings of `_place_recordings`,
100 columns wide.  `--check` only says which pages are out of date.  Names of pages restrict either
to these.
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
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

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
MAX_SECONDS = 300
"""A command of a page takes seconds; one that takes longer than this hangs."""

Runner: TypeAlias = Callable[[str], str]
"""Gives the output of a command line."""


def commands_in(block: str) -> list[str]:
    r"""The commands of a block, as they stand there.

    >>> commands_in("$ timesink info \\\n  a.json\na.json: 2 events\n$ timesink steps a.json\n")
    ['timesink info \\\n  a.json', 'timesink steps a.json']
    """
    return re.findall(r"^\$ (timesink (?:.*\\\n)*.*)$", block, re.MULTILINE)


def page_with_outputs(text: str, run: Runner) -> str:
    r"""The page with the present output of its commands.

    >>> page_with_outputs("<!-- output 1 -->\n```console\n$ timesink x\n```\n", lambda _: "a\nb")
    '<!-- output 1 -->\n```console\n$ timesink x\na\n...\n```\n'
    """

    def block(match: re.Match[str]) -> str:
        head = match[0][: match.start("text") - match.start()]
        commands = commands_in(match["text"])
        shown = "".join(
            _shown(command, run(command), match["lines"], match["start"]) for command in commands
        )
        return f"{head}{shown}```"

    return BLOCK.sub(block, text)


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


def _run(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """What a command prints, messages included; its exit code may be any."""
    _, *arguments = shlex.split(command.replace("\\\n", " "), comments=True)
    process = subprocess.run(  # noqa: S603 - a command of our own page
        [sys.executable, "-m", "timesink", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=MAX_SECONDS,
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


def refreshed_pages(pages: Sequence[Path]) -> dict[Path, str]:
    """Pages whose outputs changed, with their new text; two pages run at a time."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    texts = {page: text for page, text in texts.items() if BLOCK.search(text)}
    with tempfile.TemporaryDirectory() as common:
        environment = os.environ | {
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "TZ": "UTC",
            "PYTHONIOENCODING": "utf-8",
            "TIMESINK_CACHE_DIR": f"{common}/cache",
        }

        def refresh(text: str) -> str:
            with tempfile.TemporaryDirectory(dir=common) as name:
                folder = Path(name)
                _place_recordings(folder)
                return page_with_outputs(text, lambda line: _run(line, folder, environment))

        with ThreadPoolExecutor(2) as pool:
            new_texts = list(pool.map(refresh, texts.values()))
    return {
        page: new for (page, text), new in zip(texts.items(), new_texts, strict=True) if new != text
    }


def main() -> int:
    """Write pages that changed, or with `--check` name them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("pages", nargs="*", type=Path, help="pages (default: all)")
    options = parser.parse_args()
    changed = refreshed_pages([page.resolve() for page in options.pages] or PAGES)
    for page, text in changed.items():
        if options.check:
            sys.stderr.write(f"{page.relative_to(ROOT)} shows old output: run `make docs`\n")
        else:
            page.write_text(text, encoding="utf-8")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
