"""A score as a document: what was run, what was named, and how often that was right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from timesink.model.units import count_noun
from timesink.output.blocks import Document, Section, Text
from timesink.output.numbers import column, table
from timesink_lab.faults import FAULTS, NORMAL
from timesink_lab.score import NO_VERDICT, NONE, LabScore, ScoredCase, rate_of
from timesink_lab.workloads.switches import WORKLOADS

_ABOUT = (
    "Known faults were put into small programs. Each was recorded with and without them, and "
    "`timesink compare` said what had changed. Written by `timesink lab score`; "
    "`docs/lab.md` says what each fault is and how recordings are made."
)
_RATES = {
    "right": "faults named right, in every list that is asked for",
    "anomaly_first": "faults around the program whose anomaly stands first",
    "cause_first": "faults whose cause stands first",
    "anomaly_beside_code_fault": "faults in the code beside which an anomaly is named as well",
    "named_without_fault": "pairs without a fault for which an anomaly or a cause is named",
    "verdict_without_fault": "pairs without a fault with a verdict of regression or improvement",
}
_CONFUSION = (
    "What was put in, down; what is named first, across; in brackets where that is wrong. "
    f"`{NORMAL}` are pairs without a fault, for which nothing should be named. "
    f"`{NONE}`: both runs were judged and nothing is named; `{NO_VERDICT}`: they could not be."
)
_INTERVALS = (
    "Intervals are of 95 %, by Wilson's formula. Pairs share recordings, so they are a little "
    "too narrow."
)
_NORMALS = (
    "Pairs of runs that follow each other, in both orders. A name is a false alarm. A verdict may "
    "be true: a machine that others use as well is not equally fast all the time."
)
_PAIR = ("workload", "run", "verdict", "step time", "anomalies", "causes")


def score_document(score: LabScore) -> Document:
    """The answer in a sentence or two, then what it rests on."""
    return Document(
        kind="table",
        title="Fault lab",
        subject="How often a diagnosis is right: the fault lab",
        headline=in_short(score),
        sections=tuple(_sections(score)),
    )


def in_short(score: LabScore) -> str:
    """The answer, in a sentence or two."""
    right, named, judged = (
        score.rates[name] for name in ("right", "named_without_fault", "verdict_without_fault")
    )
    how_many, share, interval = right.cells
    faults = f"{how_many} faults are named right ({share}, 95 % interval {interval})."
    normal = (
        f"Of {count_noun(named.trials, 'pairs')} without a fault, in either order, {named.hits} "
        f"{'has' if named.hits == 1 else 'have'} something named and {judged.hits} a verdict of "
        "regression or improvement."
    )
    return " ".join([
        faults if right.trials else "No fault was tried.",
        normal if named.trials else "No pair without a fault was tried.",
    ])  # fmt: skip


def _sections(score: LabScore) -> Iterator[Section]:
    yield Section("about", "", (), lead=_ABOUT)
    facts = [fact for fact in facts_of(score) if fact[1]]
    yield _table_section("What was run, and where", "", ("what", "by its own account"), facts)
    answer_names = {name for row in score.confusion.values() for name in row}
    names = [*sorted(answer_names - {NONE, NO_VERDICT}), NONE, NO_VERDICT]
    rows: list[Sequence[str]] = []
    for fault, row in score.confusion.items():
        counts = [str(row[name] or "") for name in names]
        sound = [name in score.sound[fault] or not row[name] for name in names]
        cells = zip(counts, sound, strict=True)
        rows.append([fault, *(cell if is_sound else f"({cell})" for cell, is_sound in cells)])
    yield _table_section("Confusion", _CONFUSION, ("put in", *names), rows, right=names)
    shares = ("how many", "share", "interval")
    rates = [(_RATES[name], *rate.cells) for name, rate in score.rates.items()]
    yield _table_section("Rates", _INTERVALS, ("what", *shares), rates, right=shares)
    yield _by_fault(score)
    rows = []
    for case in score.normals:
        alarms = {"name": case.answer.names_something, "verdict": case.answer.has_changed}
        alarm = " and ".join(what for what, is_so in alarms.items() if is_so) or "no"
        rows.append([*_pair(case), NO_VERDICT if case.named == NO_VERDICT else alarm])
    titles = (*_PAIR, "false alarm")
    yield _table_section("Runs without a fault", _NORMALS, titles, rows, right=["step time"])
    unsure = sum(case.is_right and not case.answer.has_changed for case in score.faults)
    lead = "Each beside the last run without a fault before it."
    if unsure:
        lead += (
            f" {unsure} are named right although step times may be within noise: a gate on the "
            "step time lets them pass."
        )
    rows = [[*_pair(case), "yes" if case.is_right else "no"] for case in score.faults]
    yield _table_section("Runs with a fault", lead, (*_PAIR, "right"), rows, right=["step time"])
    yield Section("left_out", "Left out", tuple(Text(line) for line in score.left_out))
    yield Section("again", "Do it again", tuple(Text(f"`{command}`") for command in _again(score)))


def _table_section(
    title: str,
    lead: str,
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[str] = (),
) -> Section:
    """A table under a heading; columns in `right` are numbers with words of their own."""
    columns = [
        column(name, name, "text", [row[place] for row in rows], right=name in right)
        for place, name in enumerate(titles)
    ]
    return Section(title.lower().replace(" ", "_"), title, (table("", "", columns),), lead=lead)


def _by_fault(score: LabScore) -> Section:
    workloads = tuple(score.right_by("workload"))
    numbers = (*workloads, "together", "share", "interval")

    def cells(cases: Sequence[ScoredCase]) -> list[str]:
        apart = [
            rate_of(case.is_right for case in cases if case.workload == name) for name in workloads
        ]
        together = rate_of(case.is_right for case in cases)
        return [*(rate.cells[0] if rate.trials else "" for rate in apart), *together.cells]

    rows = []
    for fault in dict.fromkeys(case.fault for case in score.faults):
        fault_cases = [case for case in score.faults if case.fault == fault]
        expectations = fault_cases[0].expected.expectations.items()
        named = ", ".join(
            f"{what} {name.replace('|', ' or ')}" for what, name in expectations if name
        )
        rows.append([fault, named, *cells(fault_cases)])
    rows.append(["all", "", *cells(score.faults)])
    lead = "How often each is named right. Of several names that are expected each is sound."
    titles = ("fault", "expected", *numbers)
    return _table_section("By fault and workload", lead, titles, rows, right=numbers)


def _pair(case: ScoredCase) -> list[str]:
    answer = case.answer
    return [
        case.workload,
        case.name,
        answer.verdict,
        "" if answer.change_pct is None else f"{answer.change_pct:+.1f} %",
        ", ".join(answer.anomalies) or "-",
        ", ".join(answer.causes) or "-",
    ]


def facts_of(score: LabScore) -> Iterator[tuple[str, str]]:
    """What was run and where, in words; empty where nobody said so."""
    facts, about = score.recording_facts, score.about
    devices = "; ".join(facts.devices)
    yield "device", devices or str(about.get("gpu") or "none: the programs ran on the CPU")
    yield "host", "; ".join(facts.host)
    yield "versions", "; ".join(facts.versions)
    yield "workloads", ", ".join(dict.fromkeys(case.workload for case in score.cases))
    faults = dict.fromkeys(case.fault for case in score.faults)
    yield "faults", f"{len(faults)}: {', '.join(faults)}" if faults else ""
    repeats = f", {_span(_repeats(score))} of each fault in each workload" if faults else ""
    partial = f", {facts.partial} of them partial" if facts.partial else ""
    yield "recordings", f"{facts.recordings}{repeats}{partial}" if facts.recordings else ""
    yield "steps", f"{_span(facts.cycles)} in each recording" if facts.cycles else ""
    every = " and ".join(f"{interval:g}" for interval in facts.interval_ms)
    yield "counters", f"every {every} ms" if every else ""
    pct = facts.profiler_pct
    yield "cost of the profiler", "" if pct is None else f"step time {pct:+.1f} % (median)"
    yield "when", " to ".join(dict.fromkeys((*facts.days[:1], *facts.days[-1:])))


def _span(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def _repeats(score: LabScore) -> list[int]:
    """How often each fault was recorded in each workload that had it."""
    combinations = [(case.workload, case.fault) for case in score.faults]
    return [combinations.count(combination) for combination in dict.fromkeys(combinations)]


def _again(score: LabScore) -> Iterator[str]:
    """The commands that make such a score, with the options that are not as usual."""
    words = ["timesink lab run -o lab/"]
    for what, catalogue in (("workload", WORKLOADS), ("fault", FAULTS)):
        used = {str(getattr(case, what)) for case in score.faults}
        if used != {entry.name for entry in catalogue}:
            words.append(f"--{what} {' '.join(sorted(used))}")
    words.append(f"--repeat {max(_repeats(score), default=1)}")
    options = ((name, score.about.get(name)) for name in ("cycles", "skip", "device", "size"))
    words += [f"--{name} {value}" for name, value in options if value not in (None, "auto")]
    if score.about:
        yield " ".join(words)
    yield "timesink lab score lab/ -o docs/accuracy/lab.md"
