"""What a recording cannot answer, as the first section of every answer, and in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import structs

from timesink.model import units
from timesink.model.fitness import (
    COMMUNICATION,
    COMPARISON,
    CRITICAL_PATH,
    IDLE,
    OVERHEAD,
    QUESTIONS,
    RANKS,
    STEP_TIME,
    Fitness,
    Reason,
)
from timesink.output.blocks import Block, Section, Text, Tone

SECTION = "fitness"
_WORDS = {
    IDLE: "how idle the device is",
    STEP_TIME: "how long a step takes",
    CRITICAL_PATH: "what the bottleneck is",
    OVERHEAD: "how large profiler overhead is",
    COMMUNICATION: "what communication costs",
    RANKS: "which rank others wait for",
    COMPARISON: "whether the program changed",
}
_ALL_UNFIT = "anything that depends on time"
MAX_REASONS = 8
"""Of many recordings, so many reasons are written out."""


def denied_questions(fitness: Fitness) -> str:
    """What the recording cannot answer, in words; empty where it answers everything.

    >>> from timesink.model.fitness import Reason
    >>> denied_questions(Fitness((Reason("cut", "", "", (STEP_TIME, COMPARISON)),)))
    'how long a step takes, whether the program changed'
    """
    if fitness.fit == "no":
        return _ALL_UNFIT
    return ", ".join(_WORDS[name] for name in QUESTIONS if not fitness.answers(name))


def fitness_sections(fitness: Fitness) -> Iterator[Section]:
    """Limits of a recording and what to record instead; none where it answers everything."""
    if not fitness.reasons:
        return
    denied = denied_questions(fitness)
    of_others = [reason for reason in fitness.reasons if reason.is_of_others and reason.denies]
    title = "Limits of this recording"
    if any(reason.ranks for reason in fitness.reasons):
        title = title.replace("this recording", "these recordings")
    tone: Tone = "warning" if denied or of_others else "notice"
    blocks: list[Block] = [
        Text(
            f"{reason.sentence} {reason.record}{_withheld(reason) if reason.is_of_others else ''}",
            tone,
        )
        for reason in fitness.reasons
    ]
    if denied:
        blocks.insert(0, Text(f"It cannot show {denied}.", tone))
    yield Section(SECTION, title, tuple(blocks))


def _withheld(reason: Reason) -> str:
    """What ranks that are not shown in detail cannot tell."""
    denied = denied_questions(Fitness((structs.replace(reason, is_of_others=False),)))
    subject = "It" if len(reason.ranks) == 1 else "They"
    return f" {subject} cannot show {denied}." * bool(denied)


def fitness_of_sides(sides: Mapping[str, Fitness]) -> Iterator[Section]:
    """The same of several recordings, each by its name."""
    lines = [
        f"{name}: {reason.sentence} {reason.record}"
        for name, fitness in sides.items()
        for reason in fitness.reasons
    ]
    more = len(lines) - MAX_REASONS
    if more > 0:
        lines = [*lines[:MAX_REASONS], f"And {units.count_noun(more, 'more reasons')}."]
    if lines:
        blocks = tuple(Text(line, "warning") for line in lines)
        yield Section(SECTION, "Limits of these recordings", blocks)


def fit_words(fitness: Fitness) -> str:
    """The verdict, and the codes of its reasons.

    >>> fit_words(Fitness())
    'yes'
    """
    codes = ", ".join(dict.fromkeys(reason.code for reason in fitness.reasons))
    return f"{fitness.fit}: {codes}" if codes else fitness.fit
