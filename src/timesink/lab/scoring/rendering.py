"""A score as text, Markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from timesink.lab.faults.catalogue import FAULTS
from timesink.lab.scoring.facts import repeats
from timesink.lab.scoring.score import LabScore
from timesink.lab.scoring.tables import in_short, parts_of
from timesink.lab.workloads.registry import WORKLOADS
from timesink.output.tables import markdown_table, text_table
from timesink.output.terminal import to_plain

_WIDTH = 160


def to_markdown(score: LabScore) -> str:
    """A page."""
    return "\n".join(_page(score)).rstrip()


def _page(score: LabScore) -> Iterator[str]:
    yield "# How often a diagnosis is right: the fault lab\n"
    yield "Known faults were put into small programs. Each was recorded with and without them, and"
    yield "`timesink compare` said what had changed. Written by `timesink lab score`;"
    yield "[lab.md](lab.md) says what each fault is and how recordings are made.\n"
    yield f"**{in_short(score)}**\n"
    for part in parts_of(score):
        yield f"## {part.title}\n"
        if part.above:
            yield f"{part.above}\n"
        if part.rows:
            yield markdown_table(part.titles, part.rows, part.numeric) + "\n"
    if score.left_out:
        yield "## Left out\n"
        yield from (f"* {one}" for one in score.left_out)
        yield ""
    yield "## Do it again\n"
    yield "```"
    yield from again(score)
    yield "```"


def again(score: LabScore) -> Iterator[str]:
    """The commands that make such a score."""
    if score.about:
        yield " ".join(["timesink lab run -o lab/", *_options(score)])
    yield "timesink lab score lab/ -o docs/lab_accuracy.md"


def _options(score: LabScore) -> Iterator[str]:
    """Those that are not as usual."""
    for what, known in (("workload", WORKLOADS), ("fault", FAULTS)):
        used = {str(getattr(one, what)) for one in score.faults}
        if used != {one.name for one in known}:
            yield f"--{what} {' '.join(sorted(used))}"
    yield f"--repeat {max(repeats(score), default=1)}"
    for name in ("cycles", "skip", "device", "size"):
        if score.about.get(name) not in (None, "auto"):
            yield f"--{name} {score.about[name]}"


def to_text(score: LabScore) -> str:
    """The same for a terminal."""
    lines = [in_short(score), ""]
    for part in parts_of(score):
        table = to_plain(text_table(part.titles, part.rows, part.numeric, _WIDTH), _WIDTH)
        lines += [part.title.upper(), *([part.above] if part.above else []), "", table, ""]
    lines += [f"left out: {one}" for one in score.left_out]
    return "\n".join(lines).rstrip()


def to_json(score: LabScore) -> str:
    """All of it, for a program."""
    return json.dumps(score.to_dict(), indent=1)


RENDERERS: dict[str, Callable[[LabScore], str]] = {
    "text": to_text,
    "md": to_markdown,
    "json": to_json,
}
