"""A score as text, Markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from timesink.lab.faults.fault import NORMAL
from timesink.lab.scoring.expected import Expected
from timesink.lab.scoring.rates import rate_of
from timesink.lab.scoring.said import NOTHING
from timesink.lab.scoring.score import Score
from timesink.model.units import counted
from timesink.render.table import markdown_table, text_table
from timesink.render.terminal import to_plain

_WIDTH = 160

_RATES = {
    "right": "faults that are named right, in every list that is asked for",
    "anomaly_first": "faults around the program whose anomaly stands first",
    "cause_first": "faults whose cause stands first",
    "anomaly_beside_code_fault": "faults in the code beside which an anomaly is named as well",
    "named_without_fault": "pairs without a fault for which something is named",
    "verdict_without_fault": "pairs without a fault with a verdict of regression or improvement",
}


@dataclass(frozen=True)
class Part:
    """A table with a heading."""

    title: str
    above: str
    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]


def parts_of(score: Score) -> tuple[Part, ...]:
    """What is shown, in order."""
    return (_summary(score), _confusion(score), _by_fault(score), _pairs(score))


def _summary(score: Score) -> Part:
    rows = [[_RATES[name], rate.words] for name, rate in score.rates.items()]
    above = "Pairs share recordings, so intervals are a little too narrow."
    return Part("In short", above, ["what", "how often"], rows, [False, False])


def _confusion(score: Score) -> Part:
    table = score.confusion
    names = sorted({name for row in table.values() for name in row} - {NOTHING})
    columns = [*names, NOTHING]
    rows = [
        [fault, *(_cell(row[name], is_sound=name in score.sound[fault]) for name in columns)]
        for fault, row in table.items()
    ]
    above = (
        f"What was put in, down; what is named first, across, in brackets where that is wrong. "
        f"{NORMAL.capitalize()}: pairs without a fault, for which nothing should be named."
    )
    titles = ["put in", *columns]
    return Part("Confusion", above, titles, rows, [False, *(True for _ in columns)])


def _cell(count: int, *, is_sound: bool) -> str:
    if not count:
        return ""
    return str(count) if is_sound else f"({count})"


def _by_fault(score: Score) -> Part:
    rows = []
    for fault in dict.fromkeys(one.fault for one in score.faults):
        own = [one for one in score.faults if one.fault == fault]
        right = rate_of(one.is_right for one in own)
        rows.append([fault, _expected(own[0].expected), right.words])
    titles = ["fault", "expected", "right"]
    return Part("By fault", "Of several names each is sound.", titles, rows, [False] * 3)


def _pairs(score: Score) -> Part:
    rows = [
        [
            one.workload,
            one.name,
            one.said.verdict,
            "" if one.said.change_pct is None else f"{one.said.change_pct:+.1f} %",
            ", ".join(one.said.anomalies) or "-",
            ", ".join(one.said.causes) or "-",
            "yes" if one.is_right else "no",
        ]
        for one in score.cases
    ]
    titles = ["workload", "run", "verdict", "cycle time", "anomalies", "causes", "right"]
    above = "Each beside the last run without a fault before it."
    return Part("Every pair", above, titles, rows, [False, False, False, True, False, False, False])


def _expected(wanted: Expected) -> str:
    asked = {"anomaly": wanted.anomaly, "cause": wanted.cause, "verdict": wanted.verdict}
    return ", ".join(f"{what} {name.replace('|', ' or ')}" for what, name in asked.items() if name)


def _made_how(score: Score) -> str:
    about, pairs = score.about, counted(len(score.cases), "pairs")
    if not about:
        return f"{pairs}."
    where = about.get("gpu") or "no GPU"
    cores, torch, cycles = (about.get(name) for name in ("cores", "torch", "cycles"))
    return f"{pairs}; {where}, {cores} cores, PyTorch {torch}, {cycles} cycles each."


def to_markdown(score: Score) -> str:
    """A page."""
    lines = ["# How often a diagnosis is right: the fault lab", ""]
    lines += ["Written by `timesink lab score`; [lab.md](lab.md) says what was done.", ""]
    lines += [_made_how(score), ""]
    for part in parts_of(score):
        table = markdown_table(part.titles, part.rows, part.numeric)
        lines += [f"## {part.title}", "", part.above, "", table, ""]
    lines += [f"* left out: {one}" for one in score.left_out]
    return "\n".join(lines).rstrip()


def to_text(score: Score) -> str:
    """The same for a terminal."""
    lines = [_made_how(score), ""]
    for part in parts_of(score):
        table = to_plain(text_table(part.titles, part.rows, part.numeric, _WIDTH), _WIDTH)
        lines += [part.title.upper(), part.above, "", table, ""]
    lines += [f"left out: {one}" for one in score.left_out]
    return "\n".join(lines).rstrip()


def to_json(score: Score) -> str:
    """All of it, for a program."""
    return json.dumps(score.to_dict(), indent=1)


RENDERERS: dict[str, Callable[[Score], str]] = {
    "text": to_text,
    "md": to_markdown,
    "json": to_json,
}
