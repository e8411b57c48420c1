"""What costs time and what to try, as cards that lead to where it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from timesink.analyses.breakdown import average_step
from timesink.analyses.communication.records import communication_records
from timesink.analyses.kernel_names.display import short_kernel_name
from timesink.analyses.steps import find_steps
from timesink.model.findings import Evidence, Finding
from timesink.render.document.analysed import Analysed
from timesink.render.document.blocks import Block, FindingCard, Findings, Link, Section, Text
from timesink.render.document.health import grave_entries
from timesink.render.document.tables import sentence
from timesink.render.finding_words import evidence_lines, gain_text
from timesink.reports.absent import NO_STEPS

_EMPTY = "No rule found anything to gain."
_MOST_LINKS = 4
_FIRST = "stragglers"


def findings_section(run: Analysed) -> Section:
    """Every finding, the gravest first; that a trace without steps has none is not good news.

    >>> import timesink
    >>> section = findings_section(Analysed(timesink.analyze(timesink.sample())))
    >>> section.blocks[0].items[0].links[0].section != ""
    True
    """
    # One rank that holds up all the others comes before what each of them could do better.
    ordered = sorted(run.analysis.findings, key=lambda finding: finding.rule != _FIRST)
    cards = tuple(_card(finding, run) for finding in ordered)
    found: Block = Findings(cards, _EMPTY)
    if not cards and not average_step(run.trace).get("total_ns"):
        found = Text(sentence(NO_STEPS), "notice")
    damage = grave_entries(run.analysis.health)
    if not damage:
        return Section("findings", "Findings", (found,))
    told = Text(f"The recording is not whole: {'; '.join(damage)}.", "warning")
    # That nothing was found in what is left is no good news.
    says = bool(cards) or isinstance(found, Text)
    return Section("findings", "Findings", (told, found) if says else (told,))


def _card(finding: Finding, run: Analysed) -> FindingCard:
    links = dict.fromkeys(link for item in finding.evidence for link in _links(item, run))
    return FindingCard(
        rule=finding.rule,
        severity=finding.severity,
        title=finding.title,
        sentence=finding.sentence,
        advice=finding.advice,
        gain=gain_text(finding),
        evidence=tuple(evidence_lines(finding)),
        links=tuple(links)[:_MOST_LINKS],
    )


# -- where evidence shows --------------------------------------------------------------------------


def _links(item: Evidence, run: Analysed) -> Iterator[Link]:
    place = _PLACES.get(item.kind)
    if place is not None:
        yield from place(item, run)


def _operator(item: Evidence, _: Analysed) -> Iterator[Link]:
    yield Link(item.name, "operators", item.name)


def _kernel(item: Evidence, _: Analysed) -> Iterator[Link]:
    short = short_kernel_name(item.name)
    yield Link(short, "kernels", short)


def _call(item: Evidence, run: Analysed) -> Iterator[Link]:
    """Of all calls, those that communicate have a table."""
    if item.name in communication_records(run.trace)["name"]:
        yield Link(item.name, "collectives", item.name)


def _worker(item: Evidence, run: Analysed) -> Iterator[Link]:
    rank = item.numbers.get("rank")
    if rank is not None and run.analysis.is_set:
        yield Link(item.name, "ranks", f"rank={rank:.0f}")
    else:
        yield Link(item.name, "workers", item.name)


def _device(item: Evidence, _: Analysed) -> Iterator[Link]:
    of_memory = any(key.endswith("_bytes") for key in item.numbers)
    yield Link("memory over time", "memory-curve") if of_memory else Link("devices", "devices")


def _gap(item: Evidence, run: Analysed) -> Iterator[Link]:
    start = item.numbers.get("start_ns")
    if start is None:
        return
    from_ns = int(start) - run.start_ns
    to_ns = from_ns + round(1000 * item.numbers.get("gap_us", 0))
    yield Link("this gap", "gaps", from_ns=from_ns, to_ns=to_ns)


def _step(item: Evidence, run: Analysed) -> Iterator[Link]:
    """A recording without marks is one step, which no table has."""
    steps = find_steps(run.trace).filter("marked")
    found = steps.filter(steps["name"] == item.name).select("start_ns", "end_ns").rows()
    for start, end in found[:1]:
        yield Link(
            f"step {item.name}",
            "steps",
            from_ns=start - run.start_ns,
            to_ns=end - run.start_ns,
        )


_PLACES: Mapping[str, Callable[[Evidence, Analysed], Iterator[Link]]] = {
    "operator": _operator,
    "kernel": _kernel,
    "call": _call,
    "worker": _worker,
    "device": _device,
    "gap": _gap,
    "step": _step,
}
"""Kinds of evidence that can be looked at somewhere."""
