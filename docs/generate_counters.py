"""Write the tables of docs/counters.md from the code; `--check` fails when they are out of date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from generated import write_or_check

from timesink.recorder.counter_probes import COUNTERS, GROUPS

PAGE = Path(__file__).parent / "counters.md"
_MARK = "<!-- written by generate_counters.py: do not edit below -->"


def page() -> str:
    """The page with its tables as the code has them."""
    written_by_hand = PAGE.read_text(encoding="utf-8").partition(_MARK)[0]
    return f"{written_by_hand}{_MARK}\n\n" + "\n".join(_tables()) + "\n"


def _tables() -> Iterator[str]:
    yield "## Groups\n"
    yield "| group | what it holds |"
    yield "|---|---|"
    for group, what in GROUPS.items():
        yield f"| `{group}` | {what} |"
    for group in GROUPS:
        yield f"\n## `{group}`\n"
        yield "| counter | unit | source | what it tells | missing |"
        yield "|---|---|---|---|---|"
        for counter in COUNTERS:
            if counter.group == group:
                cells = (counter.unit or "bits", counter.source, counter.tells, counter.missing)
                yield f"| `{counter.name}` | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page(), __doc__))
