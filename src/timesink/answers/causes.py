"""Why something differs, as blocks: the verdict, the parts of the change, and what explains it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import fsum

from timesink.analyses.statistics.ranks import ALPHA
from timesink.answers import cause_words as words
from timesink.model import units
from timesink.model.diagnosis import Component, Diagnosis
from timesink.model.findings import Finding
from timesink.model.units import interval_ns
from timesink.output.blocks import (
    AttributedPart,
    Attribution,
    Block,
    CauseCard,
    Causes,
    Link,
    Measured,
    Section,
    Text,
    Tone,
    Verdict,
)
from timesink.output.names import short_names
from timesink.output.numbers import known

_TONES: dict[str, Tone] = {"regression": "bad", "improvement": "good", "incomparable": "warning"}
_NOT_ATTRIBUTED = "not attributed"
_LEAST_NS = 1.0
"""Less of the change than this is rounding."""
_MOST_EVIDENCE, _MOST_EVIDENCE_BRIEFLY = 5, 2
_MOST_LINKS = 3


def tone(one: Diagnosis) -> Tone:
    """What a verdict means for the reader."""
    return "notice" if words.is_open(one) else _TONES.get(one.verdict, "plain")


def paragraphs(lines: Sequence[str], tone: Tone = "plain") -> Iterator[Text]:
    """Sentences, each a block; none of those that are empty."""
    return (Text(short_names(line), tone) for line in lines if line)


def why_blocks(
    one: Diagnosis,
    sides: tuple[str, str],
    notes: Sequence[str] = (),
    link: Callable[[str], Link] | None = None,
    *,
    word: str = "",
    brief: bool = False,
) -> Iterator[Block]:
    """The verdict, where the change sits, what explains it, and what stays unexplained.

    `sides` are what both are called, `link` makes links to functions, and `word`
    is the verdict where it is no usual one.  `brief` leaves the verdict to the headline.
    """
    if not brief:
        yield verdict_block(one, sides, notes, word=word)
    if words.has_changed(one) and one.attribution:
        yield attribution_block(one)
    causes = causes_block(one, link, brief=brief)
    if causes.items or causes.empty:
        yield causes
    yield from paragraphs([words.unexplained(one), words.symptoms(one)])


def next_sections(found: Diagnosis) -> Iterator[Section]:
    """What to check next, where cards do not say all of it."""
    told = {each.advice for each in found.causes} | {each.advice for each in found.anomalies}
    more = [line for line in words.checks(found) if line not in told]
    if more:
        yield Section("next", words.NEXT, tuple(paragraphs(more)))


# -- the verdict -----------------------------------------------------------------------------------


def verdict_block(
    one: Diagnosis, sides: tuple[str, str], notes: Sequence[str] = (), *, word: str = ""
) -> Verdict:
    """Cycle time of both sides and its change, with how sure that is."""
    lengths = one.cycle_time
    low, high = lengths.interval_pct or (None, None)
    return Verdict(
        one.verdict,
        word or words.verdict(one),
        short_names(one.reason),
        Measured(sides[0], known(lengths.base_ns) or None),
        Measured(sides[1], known(lengths.new_ns) or None),
        "time_ns",
        _ratio(lengths.change_pct),
        _ratio(low),
        _ratio(high),
        tuple(map(short_names, notes)),
    )


def _ratio(percent: float | None) -> float | None:
    shown = known(percent)
    return None if shown is None else shown / 100


# -- where the change is ---------------------------------------------------------------------------


def attribution_block(one: Diagnosis, *, attributed: bool = False) -> Attribution:
    """The parts of a cycle and what each adds to the change; small ones together.

    Where only what is `attributed` is meant, small ones that cancel out have no row.
    """
    shown, rest = words.large_parts(one)
    rows = [_part(each) for each in shown]
    together = _together(rest, attributed=attributed)
    if rest and not (attributed and units.brief_ns(abs(together.change)) == "0 ns"):
        rows.append(together)
    lengths = one.cycle_time
    change = lengths.new_ns - lengths.base_ns
    rows += [] if attributed else _left(lengths.base_ns, lengths.new_ns, rows)
    return Attribution(f"Where the change is ({words.total(one)})", "time_ns", change, tuple(rows))


def _part(one: Component) -> AttributedPart:
    low, high = one.interval_ns or (None, None)
    return AttributedPart(
        one.name,
        words.part_name(one.name),
        words.launches(one),
        one.base_ns,
        one.new_ns,
        one.delta_ns,
        known(low),
        known(high),
        one.p_value is not None and one.p_value < ALPHA,
    )


def _together(parts: Sequence[Component], *, attributed: bool) -> AttributedPart:
    base, new = fsum(each.base_ns for each in parts), fsum(each.new_ns for each in parts)
    names = dict.fromkeys(words.part_name(each.name) for each in parts if not attributed)
    return AttributedPart(
        "other", words.other_parts(parts), ", ".join(names), base, new, new - base, None, None,
        sure=False,
    )  # fmt: skip


def _left(base_ns: float, new_ns: float, rows: Sequence[AttributedPart]) -> list[AttributedPart]:
    """What no part holds, so that rows add up."""
    base, new = base_ns - fsum(row.base for row in rows), new_ns - fsum(row.new for row in rows)
    if abs(new - base) < _LEAST_NS:
        return []
    return [
        AttributedPart(
            "unattributed", _NOT_ATTRIBUTED, "", base, new, new - base, None, None, sure=False
        )
    ]


# -- what explains it ------------------------------------------------------------------------------


def causes_block(
    one: Diagnosis, link: Callable[[str], Link] | None = None, *, brief: bool = False
) -> Causes:
    """Causes, most time first, then what else is different around it."""
    change = one.cycle_time.new_ns - one.cycle_time.base_ns
    most = _MOST_EVIDENCE_BRIEFLY if brief else _MOST_EVIDENCE
    others = [each for each in one.anomalies if not any(_tells(c, each) for c in one.causes)]
    cards = [_card(each, link, most, change, one.anomalies if brief else ()) for each in one.causes]
    cards += [_card(each, link, most) for each in others]
    return Causes(tuple(cards), "" if one.causes else words.no_cause(one))


def _tells(cause: Finding, anomaly: Finding) -> bool:
    """Whether a cause says the same of the same device."""
    return (cause.cause, cause.process) == (anomaly.cause, anomaly.process) and (
        anomaly.sentence in cause.sentence or anomaly.device in cause.sentence
    )


def _card(
    one: Finding,
    link: Callable[[str], Link] | None,
    most: int,
    change_ns: float | None = None,
    around: Sequence[Finding] = (),
) -> CauseCard:
    """A cause of a change of so much, or without one an anomaly.

    What anomalies `around` it rest on that have no card of their own, is said here.
    """
    is_cause = change_ns is not None
    rests_on = [one, *(each for each in around if _tells(one, each))]
    evidence = [line for each in rests_on for line in words.evidence_lines(each, most)]
    share: float | None = one.share
    if is_cause:
        part = one.explained_ns / change_ns if change_ns else 0.0
        share = part if part > 0 else None
    bounds = one.interval_ns if is_cause else None
    return CauseCard(
        one.cause,
        "cause" if is_cause else "anomaly",
        words.cause_title(one),
        short_names(words.cause_sentence(one) if is_cause else one.sentence),
        one.explained_ns if is_cause else one.explained_ns or None,
        "time_ns",
        share,
        "of the change" if is_cause else "severity",
        one.advice,
        tuple(short_names(line) for line in dict.fromkeys(evidence)),
        _links(one, link),
        "" if bounds is None else interval_ns(*bounds),
    )


def _links(one: Finding, link: Callable[[str], Link] | None) -> tuple[Link, ...]:
    """The functions of the evidence, in the tables that have them."""
    if link is None:
        return ()
    named = dict.fromkeys(each.function for each in one.evidence if each.function)
    return tuple(dict.fromkeys(map(link, named)))[:_MOST_LINKS]


def links_to(section: str, label: Callable[[str], str]) -> Callable[[str], Link]:
    """What makes links to functions in the tables of a section, which call them by a label."""

    def link(function: str) -> Link:
        return Link(short_names(label(function)), section, label(function))

    return link
