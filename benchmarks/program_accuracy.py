"""Whether comparisons name the change that was made to a program, on the corpus of edited programs.

    python benchmarks/program_accuracy.py shaping=FOLDER ... fresh=FOLDER [--write]

Each folder holds recordings and `pairs.csv`, as `edited_corpus.py` leaves them: what was changed,
which causes are right, and words of which the answer must hold one to have named the place.
`--write` writes docs/accuracy/program.md; sets that are not given keep what it says of them.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import timesink

PAGE = Path(__file__).resolve().parent.parent / "docs" / "accuracy" / "program.md"
MARK = "<!-- figures -->"
NONE = "none"


@dataclass(frozen=True, slots=True)
class Judged:
    """One pair, and what the comparison named first."""

    model: str
    change: str
    right: tuple[str, ...]
    first_cause: str
    place: bool
    edits: int
    device: str

    @property
    def equal(self) -> bool:
        """Whether nothing was changed."""
        return self.right == (NONE,)

    @property
    def good(self) -> bool:
        """Whether the first cause is right and its place is named; of equal pairs, no edit."""
        return not self.edits if self.equal else self.first_cause in self.right and self.place


def judge_pairs(folder: Path) -> Iterator[Judged]:
    """Every pair of a folder compared."""
    with (folder / "pairs.csv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            sides = [folder / row["model"] / row[side] for side in ("base", "new")]
            yield _judge_pair(row, timesink.compare(*sides).to_dict())


def _judge_pair(row: dict[str, str], answer: dict[str, Any]) -> Judged:
    first = answer["causes"][0] if answer["causes"] else None
    program = answer["program"] or {"edits": [], "device_time": {"verdict": "unknown"}}
    text = ""
    if first is not None:
        text = " ".join([first["sentence"], *(item.get("text", "") for item in first["evidence"])])
    return Judged(
        row["model"],
        row["change"],
        tuple(row["expected_cause"].split("|")),
        NONE if first is None else first["cause"],
        bool(re.search(row["place"], text, re.IGNORECASE)),
        len(program["edits"]),
        program["device_time"]["verdict"],
    )


def summary(name: str, pairs: Sequence[Judged]) -> str:
    """A row of the table of all sets."""
    changed, equal = (
        [pair for pair in pairs if not pair.equal],
        [pair for pair in pairs if pair.equal],
    )
    cause = sum(pair.first_cause in pair.right for pair in changed)
    both = sum(pair.good for pair in changed)
    models, kinds = len({pair.model for pair in pairs}), len({pair.right[0] for pair in changed})
    quiet = sum(pair.good for pair in equal)
    same = sum(pair.device == "same" for pair in equal)
    return (
        f"| {name} | {models} | {len(changed)} ({kinds} kinds) | {cause} | {both} "
        f"({both / max(1, len(changed)):.0%}) | {quiet} of {len(equal)} | {same} of {len(equal)} |"
    )


def confusion(pairs: Sequence[Judged]) -> Iterator[str]:
    """What was done against what was named first, a row for each cause."""
    yield "| what was changed | pairs | named first |"
    yield "|---|---|---|"
    for right in sorted({pair.right[0] for pair in pairs if not pair.equal}):
        cause_pairs = [pair for pair in pairs if pair.right[0] == right]
        counts = Counter(pair.first_cause for pair in cause_pairs).most_common()
        yield (
            f"| {right} | {len(cause_pairs)} | "
            f"{', '.join(f'{cause} {often}' for cause, often in counts)} |"
        )


def section(name: str, pairs: Sequence[Judged]) -> Iterator[str]:
    """What was said of the pairs of a set, and of which of them it was wrong."""
    yield from ["", f"## {name.capitalize()}", "", *confusion(pairs)]
    missed = [pair for pair in pairs if not pair.good]
    if missed:
        yield ""
        yield from (f"* {pair.model}, {pair.change}: said {pair.first_cause}" for pair in missed)


def written_sets(figures: str) -> tuple[dict[str, str], dict[str, str]]:
    """Rows and sections of the sets that a page has, by name."""
    head, *parts = re.split(r"^## ", figures, flags=re.MULTILINE)
    sections = {part.split()[0].lower(): f"\n## {part.rstrip()}" for part in parts}
    rows = {line.split()[1]: line for line in head.splitlines() if line.startswith("| ")}
    return {name: row for name, row in rows.items() if name in sections}, sections


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+", help="NAME=FOLDER")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    pair_sets = {}
    for argument in args.sets:
        name, _, folder = argument.partition("=")
        pair_sets[name] = list(judge_pairs(Path(folder)))
    titles = (
        *("recordings", "models", "changes", "right first cause", "and its place"),
        *("equal pairs without a program change", "their device time the same"),
    )
    before = PAGE.read_text(encoding="utf-8").partition(MARK)
    rows, sections = written_sets(before[2])
    rows |= {name: summary(name, pairs) for name, pairs in pair_sets.items()}
    sections |= {name: "\n".join(section(name, pairs)) for name, pairs in pair_sets.items()}
    shown = rows if args.write else pair_sets
    table = [f"| {' | '.join(titles)} |", "|---|---|---|---|---|---|---|"]
    text = "\n".join([*table, *(rows[name] for name in shown), *(sections[name] for name in shown)])
    print(text)
    if args.write:
        PAGE.write_text(f"{before[0]}{MARK}\n\n{text.rstrip()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
