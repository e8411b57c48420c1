"""Why something differs, as blocks: the verdict, the parts of the change, and what explains it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum

from timesink.analyses.statistics.discovery import ALPHA
from timesink.model.diagnosis import Component, Diagnosis
from timesink.render.comparison.words import short_names
from timesink.render.diagnosis import words
from timesink.render.document.blocks import (
    AttributedPart,
    Attribution,
    Block,
    Measured,
    Section,
    Text,
    Tone,
    Verdict,
)
from timesink.render.document.diagnosis_causes import Functions, causes_block
from timesink.render.document.packing import known

_TONES: dict[str, Tone] = {"regression": "bad", "improvement": "good", "incomparable": "warning"}
_NOT_ATTRIBUTED = "not attributed"
_LEAST_NS = 1.0
"""Less of the change than this is rounding."""


def tone(one: Diagnosis) -> Tone:
    """What a verdict means for the reader.

    >>> from timesink.model.diagnosis import CycleTime
    >>> tone(Diagnosis("regression", "", CycleTime(1, 2, 100.0, None, None), (), (), (), 1.0, ()))
    'bad'
    """
    return "notice" if words.is_open(one) else _TONES.get(one.verdict, "plain")


def paragraphs(lines: Sequence[str], tone: Tone = "plain") -> Iterator[Text]:
    """Sentences, each a block; none of those that are empty."""
    return (Text(short_names(line), tone) for line in lines if line)


def why_blocks(
    one: Diagnosis,
    sides: tuple[str, str],
    notes: Sequence[str] = (),
    functions: Functions | None = None,
    *,
    word: str = "",
) -> Iterator[Block]:
    """The verdict, where the change sits, what explains it, and what stays unexplained.

    `sides` are what both are called, and `word` the verdict where it is no usual one.
    """
    yield verdict_block(one, sides, notes, word=word)
    if words.has_changed(one) and one.attribution:
        yield attribution_block(one)
    causes = causes_block(one, functions)
    if causes.items or causes.empty:
        yield causes
    rest = words.unexplained(one)
    yield from paragraphs([rest, words.symptoms(one)])


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


def attribution_block(one: Diagnosis) -> Attribution:
    """The parts of a cycle and what each adds to the change; small ones together."""
    shown, rest = words.large_parts(one)
    rows = [_part(each) for each in shown]
    if rest:
        rows.append(_together(rest))
    lengths = one.cycle_time
    change = lengths.new_ns - lengths.base_ns
    rows += _left(lengths.base_ns, lengths.new_ns, rows)
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


def _together(parts: Sequence[Component]) -> AttributedPart:
    base, new = fsum(each.base_ns for each in parts), fsum(each.new_ns for each in parts)
    names = ", ".join(dict.fromkeys(words.part_name(each.name) for each in parts))
    return AttributedPart(
        "other", words.other_parts(parts), names, base, new, new - base, None, None,
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
