"""What is shown of a score: headings, sentences and tables, for text and Markdown alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from timesink.lab.cases import facts_of, repeats
from timesink.lab.faults import FAULTS, NORMAL
from timesink.lab.score import NO_VERDICT, NONE, Expected, LabScore, ScoredCase, rate_of
from timesink.lab.workloads.registry import WORKLOADS
from timesink.model.units import counted
from timesink.output.tables import markdown_table, text_table
from timesink.output.terminal import to_plain

_RATES = {
    "right": "faults named right, in every list that is asked for",
    "anomaly_first": "faults around the program whose anomaly stands first",
    "cause_first": "faults whose cause stands first",
    "anomaly_beside_code_fault": "faults in the code beside which an anomaly is named as well",
    "named_without_fault": "pairs without a fault for which an anomaly or a cause is named",
    "verdict_without_fault": "pairs without a fault with a verdict of regression or improvement",
}


_PAIR = ("workload", "run", "verdict", "cycle time", "anomalies", "causes")
_NUMERIC = (False, False, False, True, False, False, False)


@dataclass(frozen=True)
class ScorePart:
    """A heading, what to know before reading, and a table."""

    title: str
    above: str
    titles: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    numeric: Sequence[bool] = ()


def parts_of(score: LabScore) -> tuple[ScorePart, ...]:
    """What is shown, in order."""
    return (
        ScorePart(
            "What was run, and where",
            "",
            ["what", "by its own account"],
            [[what, told] for what, told in facts_of(score) if told],
            [False, False],
        ),
        _confusion(score),
        _rates(score),
        _by_fault(score),
        _normal_pairs(score),
        _fault_pairs(score),
    )


def in_short(score: LabScore) -> str:
    """The answer, in a sentence or two."""
    right, named, judged = (
        score.rates[name] for name in ("right", "named_without_fault", "verdict_without_fault")
    )
    how_many, share, interval = right.cells
    faults = f"{how_many} faults are named right ({share}, 95 % interval {interval})."
    normal = (
        f"Of {counted(named.trials, 'pairs')} without a fault, in either order, {named.hits} "
        f"{'has' if named.hits == 1 else 'have'} something named and {judged.hits} a verdict of "
        "regression or improvement."
    )
    return " ".join([
        faults if right.trials else "No fault was tried.",
        normal if named.trials else "No pair without a fault was tried.",
    ])  # fmt: skip


def _confusion(score: LabScore) -> ScorePart:
    table = score.confusion
    given = {name for row in table.values() for name in row}
    names = [*sorted(given - {NONE, NO_VERDICT}), NONE, NO_VERDICT]
    rows = [
        [
            fault,
            *(
                ""
                if not row[name]
                else f"{row[name]}"
                if name in score.sound[fault]
                else f"({row[name]})"
                for name in names
            ),
        ]
        for fault, row in table.items()
    ]
    above = (
        "What was put in, down; what is named first, across; in brackets where that is wrong. "
        f"`{NORMAL}` are pairs without a fault, for which nothing should be named. "
        f"`{NONE}`: both runs were judged and nothing is named; `{NO_VERDICT}`: they could not be."
    )
    return ScorePart("Confusion", above, ["put in", *names], rows, [False, *(True for _ in names)])


def _rates(score: LabScore) -> ScorePart:
    rows = [[_RATES[name], *rate.cells] for name, rate in score.rates.items()]
    above = (
        "Intervals are of 95 %, by Wilson's formula. Pairs share recordings, so they are a little "
        "too narrow."
    )
    titles = ["what", "how many", "share", "interval"]
    return ScorePart("Rates", above, titles, rows, [False, True, True, True])


def _by_fault(score: LabScore) -> ScorePart:
    workloads = list(score.right_by("workload"))
    rows = [
        [fault, _expected(own[0].expected), *_cells(own, workloads)]
        for fault in dict.fromkeys(one.fault for one in score.faults)
        if (own := [one for one in score.faults if one.fault == fault])
    ]
    rows.append(["all", "", *_cells(score.faults, workloads)])
    titles = ["fault", "expected", *workloads, "together", "share", "interval"]
    above = "How often each is named right. Of several names that are expected each is sound."
    numeric = [False, False, *(True for _ in workloads), True, True, True]
    return ScorePart("By fault and workload", above, titles, rows, numeric)


def _cells(cases: Sequence[ScoredCase], workloads: Sequence[str]) -> list[str]:
    apart = [rate_of(one.is_right for one in cases if one.workload == name) for name in workloads]
    together = rate_of(one.is_right for one in cases)
    return [*(one.cells[0] if one.trials else "" for one in apart), *together.cells]


def _normal_pairs(score: LabScore) -> ScorePart:
    above = (
        "Pairs of runs that follow each other, in both orders. "
        "A name is a false alarm. A verdict may be true: a machine that others use as well is not "
        "equally fast all the time."
    )
    rows = []
    for one in score.normals:
        alarms = {"name": one.said.names_something, "verdict": one.said.has_changed}
        told = " and ".join(what for what, is_so in alarms.items() if is_so) or "no"
        rows.append([*_row(one), NO_VERDICT if one.named == NO_VERDICT else told])
    return ScorePart("Runs without a fault", above, [*_PAIR, "false alarm"], rows, _NUMERIC)


def _fault_pairs(score: LabScore) -> ScorePart:
    unsure = sum(one.is_right and not one.said.has_changed for one in score.faults)
    above = "Each beside the last run without a fault before it."
    if unsure:
        above += (
            f" {unsure} are named right although cycle times may be within noise: a gate on the "
            "cycle time lets them pass."
        )
    rows = [[*_row(one), "yes" if one.is_right else "no"] for one in score.faults]
    return ScorePart("Runs with a fault", above, [*_PAIR, "right"], rows, _NUMERIC)


def _row(one: ScoredCase) -> list[str]:
    said = one.said
    return [
        one.workload,
        one.name,
        said.verdict,
        "" if said.change_pct is None else f"{said.change_pct:+.1f} %",
        ", ".join(said.anomalies) or "-",
        ", ".join(said.causes) or "-",
    ]


def _expected(wanted: Expected) -> str:
    asked = {"anomaly": wanted.anomaly, "cause": wanted.cause, "verdict": wanted.verdict}
    return ", ".join(f"{what} {name.replace('|', ' or ')}" for what, name in asked.items() if name)


# A score as text, Markdown or JSON.

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
