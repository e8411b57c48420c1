"""Why something differs: the verdict, the parts of the change, and what explains it.

In words, and as blocks of a document; where these appear is up to others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import fsum

from timesink.analyses.comparison.verdict import NARROW
from timesink.analyses.statistics import ALPHA
from timesink.model import units
from timesink.model.diagnosis import PLAIN, UNDECIDED, Component, CycleTime, Diagnosis, SteadyTimes
from timesink.model.findings import Finding
from timesink.model.units import amounts, interval_ns, signed_ns, times
from timesink.output import blocks
from timesink.output.names import short_names
from timesink.output.numbers import known
from timesink.rules import catalogue

AROUND = "Anomalies: what is different around it"
NEXT = "What to check next"
"""Headings."""
_WHY = "Causes: what explains the change"
_DID_CHANGE = "Causes: what did change"
VERDICTS = {
    "regression": "Regression",
    "improvement": "Improvement",
    "no_change": "No change",
    "incomparable": "Not comparable",
}
_CHANGED = frozenset({"regression", "improvement"})
_MOST_PARTS = 8
_LEAST = 0.01
"""Parts that changed by less, as a part of the largest change, are told together."""
_SAME = "Cycle time is the same within noise: there is nothing to explain."
_OPEN = "No cause has evidence; whether there is a change to explain is not certain."
_DIFFER = (
    "Nothing that was recorded explains this, and machines differ from run to run: a second "
    "recording of each side tells whether it stays."
)
_HOST = frozenset({"host_cpu", "launch_gap", "idle", "run_queue"})
_WORTH_SAYING = 0.05
"""Places of unexplained time are named that hold this part of it."""
_MOST_PLACES = 3
_MOST_SYMPTOMS = 4
_MOST_CHECKS = 5
_MOST_EVIDENCE, _MOST_EVIDENCE_BRIEFLY = 5, 2
_MOST_LINKS = 3
TONES: dict[str, blocks.Tone] = {
    "regression": "bad",
    "improvement": "good",
    "incomparable": "warning",
}
"""What verdicts mean for the reader."""
_NOT_ATTRIBUTED = "not attributed"
_LEAST_NS = 1.0
"""Less of the change than this is rounding."""


# -- in words --------------------------------------------------------------------------------------


def _texts(table: str, name: str) -> Mapping[str, str]:
    """What the catalogue says of a cause, or of a part of the cycle."""
    said: Mapping[str, str] = catalogue()[table].get(name, {})
    return said


def part_name(component: str) -> str:
    """A component in words."""
    part, _, family = component.partition("/")
    word = _texts("parts", part).get("name", part)
    return f"{family} {word}" if family else word


def verdict(one: Diagnosis) -> str:
    """The verdict in words."""
    if one.expected is not None:
        return "Slower than expected"
    if one.cycle_time.outcome == UNDECIDED:
        return "Not decided"
    return "No certain change" if is_open(one) else VERDICTS[one.verdict]


def is_open(one: Diagnosis) -> bool:
    """Whether cycles are too uneven to say that their length is the same."""
    lengths = one.judged_time
    if lengths.outcome:
        return lengths.outcome == UNDECIDED
    if one.verdict != "no_change" or lengths.interval_pct is None or not lengths.change_pct:
        return False
    low, high = lengths.interval_pct
    longest = max(lengths.base_ns, lengths.new_ns)
    return max(-low, high) / 100 * lengths.base_ns > NARROW * longest


def has_changed(one: Diagnosis) -> bool:
    """Whether there is something to explain, or may be."""
    return one.verdict in _CHANGED or is_open(one) or bool(one.causes or one.anomalies)


def launches(one: Component) -> str:
    """Whether kernels became longer, or are more or others; empty where it is neither alone."""
    if one.same_launches_ns is None or not one.delta_ns:
        return ""
    if not one.base_ns or not one.new_ns:
        return f"only in {'new' if one.new_ns else 'base'}"
    share = one.same_launches_ns / one.delta_ns
    if share >= 0.9:
        return "as many launches"
    return "more or other kernels" if share <= 0.1 and one.delta_ns > 0 else ""


def why_title(one: Diagnosis) -> str:
    """Heading of the causes: without a change there is none to explain."""
    return _WHY if one.verdict in _CHANGED else _DID_CHANGE


def cause_title(one: Finding) -> str:
    """A cause or anomaly as a title, with the process where there are several."""
    return f"{cause_name(one.cause)}{_of(one.process)}"


def cause_name(cause: str) -> str:
    """What a cause is called."""
    return _texts("causes", cause).get("name", cause)


def cause_line(one: Finding) -> str:
    """A cause with the time it explains."""
    bounds = "" if one.interval_ns is None else f" ({interval_ns(*one.interval_ns)})"
    explains = f"{signed_ns(one.explained_ns)} per cycle{bounds}"
    return f"{one.cause}{_of(one.process)}, {explains}: {cause_sentence(one)}".removesuffix(": ")


def cause_sentence(one: Finding) -> str:
    """What a cause says under a title that names the process."""
    return one.sentence.removeprefix(f"{(one.process or '').capitalize()}: ")


def anomaly_line(one: Finding) -> str:
    """An anomaly; its sentence names the device."""
    return f"{one.cause}{_of(one.process)}: {one.sentence}"


def _of(process: str | None) -> str:
    return f" in {process}" if process else ""


def evidence_lines(one: Finding, most: int = _MOST_EVIDENCE_BRIEFLY) -> list[str]:
    """The first things to look at, where the sentence does not say them."""
    said = one.sentence
    told = [
        each.text
        for each in one.evidence
        # The sentence holds the whole of it, or names the counter it is of.
        if not (each.text in said or (each.kind == "counter" and (each.metric or "-") in said))
    ]
    return [*dict.fromkeys(told)][:most]


def no_cause(one: Diagnosis) -> str:
    """That nothing explains the change; empty where something does."""
    if one.causes or not has_changed(one) or one.verdict == "incomparable":
        return ""
    if one.paces:
        return " ".join(pace.sentence for pace in one.paces)
    if _is_timed_alone(one):
        return "Without a timeline of both sides nothing says why."
    if one.verdict in _CHANGED:
        return "No cause has evidence."
    return _OPEN if is_open(one) else _SAME


def _is_timed_alone(one: Diagnosis) -> bool:
    """Whether nothing but the length of cycles is known."""
    return one.cycle_time.by == PLAIN and one.cycle_time.recorded_ns is None


def unexplained(one: Diagnosis) -> str:
    """What of the change no cause explains, and where it sits; empty where that is nothing."""
    if not (one.causes or one.verdict in _CHANGED or is_open(one)) or _is_timed_alone(one):
        return ""
    if abs(one.unexplained_ns) < _LEAST * max(one.cycle_time.parted_ns[0], 1.0):
        return ""
    least = _WORTH_SAYING * abs(one.unexplained_ns)
    parts = [each for each in one.unexplained if abs(each[1]) >= least]
    if _exceed(one):
        parts = [each for each in parts if each[1] * one.unexplained_ns > 0]
    where = ", ".join(
        f"{part_name(name)} ({signed_ns(time)})" for name, time in parts[:_MOST_PLACES]
    )
    said = f"Unexplained: {signed_ns(one.unexplained_ns)} per cycle"
    if not where:
        return f"{said}."
    other = "shorter" if one.unexplained_ns < 0 else "longer"
    return (
        f"{said}, as other parts got {other}: {where}." if _exceed(one) else f"{said}, in {where}."
    )


def _exceed(one: Diagnosis) -> bool:
    """Whether causes explain more than the whole change, or what went the other way."""
    return sum(each.explained_ns for each in one.causes) * one.unexplained_ns < 0


def symptoms(one: Diagnosis) -> str:
    """Counters that tell of the change, in a line; empty without any."""
    told = [
        f"{each.metric} of {each.device} {amounts(each.base, each.new, each.unit)}"
        + (f" ({each.why})" if each.why else "")
        for each in one.symptoms
    ]
    if not told:
        return ""
    return f"Symptoms, not causes: {units.listed([*dict.fromkeys(told)], _MOST_SYMPTOMS)}."


def below_anomalies(one: Diagnosis) -> str:
    """Symptoms as they stand under the heading of anomalies, of which there may be none."""
    told = symptoms(one)
    return f"None. {told}" if told and not one.anomalies else told


def checks(one: Diagnosis) -> list[str]:
    """What to check next: advice of causes, then of anomalies, then on what is unexplained."""
    told = [each.advice for each in one.causes]
    named = {each.cause for each in one.causes}
    told += [each.advice for each in one.anomalies if each.cause not in named]
    told += [pace.advice for pace in one.paces]
    if unexplained(one) and not _exceed(one):
        for name, _ in one.unexplained[:1]:
            on_host = name in _HOST
            # Cycles of one run were chosen, not tested, and are of one machine.
            tested = one.cycle_time.interval_pct is not None
            alone = not (one.causes or one.anomalies or one.paces)
            if one.verdict == "regression" and tested and on_host and alone:
                told.append(_DIFFER)
            advice = _texts("parts", name.partition("/")[0]).get("advice")
            # What is advised on host code is not said twice.
            if advice and not (on_host and "host_code" in named):
                told.append(f"{part_name(name)}: {advice}.")
    # Advice that begins alike is told once: one look at the device answers both.
    unlike: dict[str, str] = {}
    for advice in filter(None, told):
        unlike.setdefault(advice.partition(" (`")[0], advice)
    return [*unlike.values()][:_MOST_CHECKS]


def told_counters(one: Diagnosis | None) -> set[tuple[str, str]]:
    """Counters and devices that anomalies and symptoms name."""
    if one is None:
        return set()
    named = [(each.metric, each.device) for each in one.anomalies]
    named += [(each.metric, each.device) for each in one.symptoms[:_MOST_SYMPTOMS]]
    found = {(metric, device) for metrics, device in named for metric in metrics.split("/")}
    evidence = (each for anomaly in one.anomalies for each in anomaly.evidence)
    return found | {(each.metric, each.device) for each in evidence if each.metric and each.device}


# -- as blocks ------------------------------------------------------------------------------------


def tone(one: Diagnosis) -> blocks.Tone:
    """What a verdict means for the reader."""
    return "notice" if is_open(one) else TONES.get(one.verdict, "plain")


def paragraphs(lines: Sequence[str], tone: blocks.Tone = "plain") -> Iterator[blocks.Text]:
    """Sentences, each a block; none of those that are empty."""
    return (blocks.Text(short_names(line), tone) for line in lines if line)


def why_blocks(
    one: Diagnosis,
    sides: tuple[str, str],
    notes: Sequence[str] = (),
    link: Callable[[str], blocks.Link] | None = None,
    *,
    word: str = "",
    brief: bool = False,
) -> Iterator[blocks.Block]:
    """The verdict, where the change sits, what explains it, and what stays unexplained.

    `sides` are what both are called, `link` makes links to functions, and `word`
    is the verdict where it is no usual one.  `brief` leaves the verdict to the headline.
    """
    if not brief:
        # Cycle time of both sides and its change, with how sure that is.
        lengths = one.judged_time
        means: CycleTime | SteadyTimes = lengths
        if lengths.outcome:
            # Of several runs a side: what decides, and is said.
            means = lengths.steady or lengths
            before, after = (units.counted(many, "runs") for many in lengths.runs)
            sides = f"{sides[0]}, {before}", f"{sides[1]}, {after}"
        percents = map(known, (means.change_pct, *(means.interval_pct or (None, None))))
        changed, low, high = (None if percent is None else percent / 100 for percent in percents)
        yield blocks.Verdict(
            UNDECIDED if lengths.outcome == UNDECIDED else one.verdict,
            word or verdict(one),
            short_names(one.reason),
            blocks.Measured(sides[0], known(means.base_ns) or None),
            blocks.Measured(sides[1], known(means.new_ns) or None),
            "time_ns",
            changed,
            low,
            high,
            tuple(map(short_names, notes)),
        )
    if has_changed(one) and one.attribution:
        yield attribution_block(one)
    causes = causes_block(one, link, brief=brief)
    if causes.items or causes.empty:
        yield causes
    # Without causes these are what is said instead of them.
    paces = [pace.sentence for pace in one.paces] if one.causes else []
    yield from paragraphs([*paces, unexplained(one), symptoms(one)])


def note_sections(notes: Iterable[str]) -> Iterator[blocks.Section]:
    """Notes, each once, where there are any."""
    every = tuple(paragraphs(list(dict.fromkeys(notes))))
    if every:
        yield blocks.Section("notes", "Notes", every)


def next_sections(found: Diagnosis) -> Iterator[blocks.Section]:
    """What to check next, where cards do not say all of it."""
    told = {each.advice for each in found.causes} | {each.advice for each in found.anomalies}
    more = [line for line in checks(found) if line not in told]
    if more:
        yield blocks.Section("next", NEXT, tuple(paragraphs(more)))


# -- where the change is ---------------------------------------------------------------------------


def attribution_block(one: Diagnosis, *, attributed: bool = False) -> blocks.Attribution:
    """The parts of a cycle and what each adds to the change; small ones together.

    Where only what is `attributed` is meant, small ones that cancel out have no row.
    """
    order = sorted(one.attribution, key=lambda each: -abs(each.delta_ns))
    largest = abs(order[0].delta_ns) if order else 0.0
    # The parts worth a row of their own, largest change first.
    shown = [each for each in order if largest and abs(each.delta_ns) >= _LEAST * largest]
    shown = shown[:_MOST_PARTS]
    rest = order[len(shown) :]
    rows = [
        attributed_part(each, each.name, part_name(each.name), launches(each)) for each in shown
    ]
    base, new = fsum(each.base_ns for each in rest), fsum(each.new_ns for each in rest)
    if rest and not (attributed and units.brief_ns(abs(new - base)) == "0 ns"):
        names = dict.fromkeys(part_name(each.name) for each in rest if not attributed)
        other = units.counted(len(rest), "other parts")
        rows.append(_together("other", other, ", ".join(names), base, new))
    before, after = one.cycle_time.parted_ns
    # What no part holds, so that rows add up.
    base = before - fsum(row.base for row in rows)
    new = after - fsum(row.new for row in rows)
    if not attributed and abs(new - base) >= _LEAST_NS:
        rows.append(_together("unattributed", _NOT_ATTRIBUTED, "", base, new))
    change = after - before
    doubt = ", which may be noise" if is_open(one) else ""
    doubt = ", as recorded with the profiler" if one.judged_time.recorded_ns else doubt
    total = f"{signed_ns(change)} per cycle, {times(before, after)}{doubt}"
    return blocks.Attribution(f"Where the change is ({total})", "time_ns", change, tuple(rows))


def attributed_part(one: Component, id_: str, name: str, note: str = "") -> blocks.AttributedPart:
    """What a part adds to a change, and how sure that is."""
    low, high = one.interval_ns or (None, None)
    return blocks.AttributedPart(
        id_,
        name,
        note,
        one.base_ns,
        one.new_ns,
        one.delta_ns,
        known(low),
        known(high),
        one.p_value is not None and one.p_value < ALPHA,
    )


def _together(id_: str, name: str, note: str, base: float, new: float) -> blocks.AttributedPart:
    return blocks.AttributedPart(id_, name, note, base, new, new - base, None, None, sure=False)


# -- what explains it ------------------------------------------------------------------------------


def causes_block(
    one: Diagnosis, link: Callable[[str], blocks.Link] | None = None, *, brief: bool = False
) -> blocks.Causes:
    """Causes, most time first, then what else is different around it."""
    before, after = one.cycle_time.parted_ns
    change = after - before
    most = _MOST_EVIDENCE_BRIEFLY if brief else _MOST_EVIDENCE
    others = [each for each in one.anomalies if not any(_tells(c, each) for c in one.causes)]
    cards = [_card(each, link, most, change, one.anomalies if brief else ()) for each in one.causes]
    cards += [_card(each, link, most) for each in others]
    return blocks.Causes(tuple(cards), "" if one.causes else no_cause(one))


def _tells(cause: Finding, anomaly: Finding) -> bool:
    """Whether a cause says the same of the same device."""
    return (cause.cause, cause.process) == (anomaly.cause, anomaly.process) and (
        anomaly.sentence in cause.sentence or anomaly.device in cause.sentence
    )


def _card(
    one: Finding,
    link: Callable[[str], blocks.Link] | None,
    most: int,
    change_ns: float | None = None,
    around: Sequence[Finding] = (),
) -> blocks.CauseCard:
    """A cause of a change of so much, or without one an anomaly.

    What anomalies `around` it rest on that have no card of their own, is said here.
    """
    is_cause = change_ns is not None
    rests_on = [one, *(each for each in around if _tells(one, each))]
    evidence = [line for each in rests_on for line in evidence_lines(each, most)]
    share: float | None = one.share
    if is_cause:
        part = one.explained_ns / change_ns if change_ns else 0.0
        share = part if part > 0 else None
    bounds = one.interval_ns if is_cause else None
    # The functions of the evidence, in the tables that have them.
    named = dict.fromkeys(each.function for each in one.evidence if each.function)
    return blocks.CauseCard(
        one.cause,
        "cause" if is_cause else "anomaly",
        cause_title(one),
        short_names(cause_sentence(one) if is_cause else one.sentence),
        one.explained_ns if is_cause else one.explained_ns or None,
        "time_ns",
        share,
        "of the change" if is_cause else "severity",
        one.advice,
        tuple(short_names(line) for line in dict.fromkeys(evidence)),
        tuple(dict.fromkeys(map(link, named)))[:_MOST_LINKS] if link is not None else (),
        "" if bounds is None else interval_ns(*bounds),
    )


def links_to(section: str, label: Callable[[str], str]) -> Callable[[str], blocks.Link]:
    """What makes links to functions in the tables of a section, which call them by a label."""

    def link(function: str) -> blocks.Link:
        return blocks.Link(short_names(label(function)), section, label(function))

    return link
