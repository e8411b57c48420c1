"""Why something differs: the verdict, the parts of the change, and what explains it.

In words, and as blocks of a document; where these appear is up to others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import fsum

from timesink.analyses.thresholds import SignificanceLimits
from timesink.comparison.thresholds import StepsVerdictLimits
from timesink.model import units
from timesink.model.diagnosis import PLAIN, UNDECIDED, Component, CycleTime, Diagnosis, SteadyTimes
from timesink.model.findings import Anomaly, Cause, Finding
from timesink.model.units import amounts, interval_ns, signed_ns, times
from timesink.output import blocks
from timesink.output.names import short_names
from timesink.output.numbers import finite_or_none
from timesink.rules.register import catalogue

AROUND = "Anomalies: other differences between the runs"
NEXT = "What to check next"
"""Headings."""
_WHY = "Causes of the change"
_DID_CHANGE = "Differences"
VERDICTS = {
    "regression": "Regression",
    "improvement": "Improvement",
    "no_change": "No change",
    "incomparable": "Not comparable",
}
_CHANGED = frozenset({"regression", "improvement"})
_MAX_PARTS = 8
_MIN_PART_SHARE = 0.01
"""Parts that changed by less, as a part of the largest change, are told together."""
_SAME = "No change in step time: there is nothing to explain."
_OPEN = "No cause found; whether step time changed is not decided."
_DIFFER = (
    "Nothing that was recorded explains this; machines differ from run to run: record both runs a "
    "second time to see whether it stays."
)
_HOST = frozenset({"host_cpu", "launch_gap", "idle", "run_queue"})
_WORTH_SAYING = 0.05
"""Places of unexplained time are named that hold this part of it."""
_MAX_PLACES = 3
_MIN_REST = 0.01
"""Of unexplained time: less is rounding of the places that are named."""
_MAX_SYMPTOMS = 4
_MAX_CHECKS = 5
_MAX_EVIDENCE, _MAX_EVIDENCE_BRIEFLY = 5, 2
_MAX_LINKS = 3
TONES: dict[str, blocks.Tone] = {
    "regression": "bad",
    "improvement": "good",
    "incomparable": "warning",
}
"""What verdicts mean for the reader."""
_NOT_ATTRIBUTED = "not attributed"
_MIN_NS = 1.0
"""Less of the change than this is rounding."""


# -- in words --------------------------------------------------------------------------------------


def _texts(table: str, name: str) -> Mapping[str, str]:
    """What the catalogue says of a cause, or of a part of the cycle."""
    texts: Mapping[str, str] = catalogue()[table].get(name, {})
    return texts


def part_name(component: str) -> str:
    """A component in words."""
    part, _, family = component.partition("/")
    word = _texts("parts", part).get("name", part)
    return f"{family} {word}" if family else word


def verdict_sentence(diagnosis: Diagnosis) -> str:
    """The verdict in words."""
    if diagnosis.expected is not None:
        return "Slower than expected"
    return "Not decided" if is_open(diagnosis) else VERDICTS[diagnosis.verdict]


def is_open(diagnosis: Diagnosis) -> bool:
    """Whether cycles are too uneven to say that their length is the same."""
    lengths = diagnosis.judged_time
    if lengths.outcome:
        return lengths.outcome == UNDECIDED
    if diagnosis.verdict != "no_change" or lengths.interval_pct is None or not lengths.change_pct:
        return False
    low, high = lengths.interval_pct
    longest = max(lengths.base_ns, lengths.new_ns)
    return max(-low, high) / 100 * lengths.base_ns > StepsVerdictLimits.narrow * longest


def has_changed(diagnosis: Diagnosis) -> bool:
    """Whether there is something to explain, or may be."""
    return (
        diagnosis.verdict in _CHANGED
        or is_open(diagnosis)
        or bool(diagnosis.causes or diagnosis.anomalies)
    )


def launches(component: Component) -> str:
    """Whether kernels became longer, or are more or others; empty where it is neither alone."""
    if component.same_launches_ns is None or not component.delta_ns:
        return ""
    if not component.base_ns or not component.new_ns:
        return f"only in {'new' if component.new_ns else 'base'}"
    share = component.same_launches_ns / component.delta_ns
    if share >= 0.9:
        return "as many launches"
    return "more or different kernels" if share <= 0.1 and component.delta_ns > 0 else ""


def why_title(diagnosis: Diagnosis) -> str:
    """Heading of the causes: without a change there is none to explain."""
    return _WHY if diagnosis.verdict in _CHANGED else _DID_CHANGE


def cause_title(finding: Cause | Anomaly) -> str:
    """A cause or anomaly as a title, with the process where there are several."""
    return f"{cause_name(finding.id)}{_of(finding.process)}"


def cause_name(cause: str) -> str:
    """What a cause is called."""
    return _texts("causes", cause).get("name", cause)


def cause_line(finding: Cause) -> str:
    """A cause with the time it explains."""
    bounds = "" if finding.interval_ns is None else f" ({interval_ns(*finding.interval_ns)})"
    explains = f"{signed_ns(finding.cost_ns)} per step{bounds}"
    sentence = f"{finding.id}{_of(finding.process)}, {explains}: {cause_sentence(finding)}"
    return sentence.removesuffix(": ")


def cause_sentence(finding: Cause | Anomaly) -> str:
    """What a cause says under a title that names the process."""
    return finding.sentence.removeprefix(f"{(finding.process or '').capitalize()}: ")


def anomaly_line(finding: Anomaly) -> str:
    """An anomaly; its sentence names the device."""
    return f"{finding.id}{_of(finding.process)}: {finding.sentence}"


def _of(process: str | None) -> str:
    return f" in {process}" if process else ""


def evidence_lines(finding: Finding, most: int = _MAX_EVIDENCE_BRIEFLY) -> list[str]:
    """The first things to look at, where the sentence does not say them."""
    sentence = finding.sentence
    texts = [
        item.text
        for item in finding.evidence
        # The sentence holds the whole of it, or names the counter it is of.
        if not (
            item.text in sentence or (item.kind == "counter" and (item.metric or "-") in sentence)
        )
    ]
    return [*dict.fromkeys(texts)][:most]


def no_cause(diagnosis: Diagnosis) -> str:
    """That nothing explains the change; empty where something does."""
    if diagnosis.causes or not has_changed(diagnosis) or diagnosis.verdict == "incomparable":
        return ""
    if diagnosis.paces:
        return " ".join(pace.sentence for pace in diagnosis.paces)
    if _is_timed_alone(diagnosis):
        return "Only step times were recorded: record a timeline of both runs to find the cause."
    if diagnosis.verdict in _CHANGED:
        return "No cause found."
    return _OPEN if is_open(diagnosis) else _SAME


def _is_timed_alone(diagnosis: Diagnosis) -> bool:
    """Whether nothing but the length of cycles is known."""
    return diagnosis.cycle_time.by == PLAIN and diagnosis.cycle_time.recorded_ns is None


def unexplained_line(diagnosis: Diagnosis) -> str:
    """What of the change no cause explains, and where it sits; empty where that is nothing."""
    if not (
        diagnosis.causes or diagnosis.verdict in _CHANGED or is_open(diagnosis)
    ) or _is_timed_alone(diagnosis):
        return ""
    if abs(diagnosis.unexplained_ns) < _MIN_PART_SHARE * max(
        diagnosis.cycle_time.parted_ns[0], 1.0
    ):
        return ""
    least = _WORTH_SAYING * abs(diagnosis.unexplained_ns)
    parts = [part for part in diagnosis.unexplained if abs(part[1]) >= least]
    if _causes_exceed(diagnosis):
        parts = [part for part in parts if part[1] * diagnosis.unexplained_ns > 0]
    named = parts[:_MAX_PLACES]
    where = ", ".join(f"{part_name(name)} ({signed_ns(time)})" for name, time in named)
    # What the parts that are not named come to, so that all add up.
    rest_ns = diagnosis.unexplained_ns - fsum(time for _, time in named)
    if where and abs(rest_ns) >= _MIN_REST * abs(diagnosis.unexplained_ns):
        where += f", other parts ({signed_ns(rest_ns)})"
    lead = f"Unexplained: {signed_ns(diagnosis.unexplained_ns)} per step"
    if not where:
        return f"{lead}."
    other = "shorter" if diagnosis.unexplained_ns < 0 else "longer"
    return (
        f"{lead}, as other parts got {other}: {where}."
        if _causes_exceed(diagnosis)
        else f"{lead}, in {where}."
    )


def _causes_exceed(diagnosis: Diagnosis) -> bool:
    """Whether causes explain more than the whole change, or what went the other way."""
    return sum(cause.cost_ns for cause in diagnosis.causes) * diagnosis.unexplained_ns < 0


def symptoms(diagnosis: Diagnosis) -> str:
    """Counters that tell of the change, in a line; empty without any."""
    texts = [
        f"{symptom.metric} of {symptom.device} {amounts(symptom.base, symptom.new, symptom.unit)}"
        + (f" ({symptom.why})" if symptom.why else "")
        for symptom in diagnosis.symptoms
    ]
    if not texts:
        return ""
    return f"Symptoms (not causes): {units.join_names([*dict.fromkeys(texts)], _MAX_SYMPTOMS)}."


def below_anomalies(diagnosis: Diagnosis) -> str:
    """Symptoms as they stand under the heading of anomalies, of which there may be none."""
    symptom_line = symptoms(diagnosis)
    return f"None. {symptom_line}" if symptom_line and not diagnosis.anomalies else symptom_line


def checks(diagnosis: Diagnosis) -> list[str]:
    """What to check next: advice of causes, then of anomalies, then on what is unexplained."""
    advice_lines = [cause.advice for cause in diagnosis.causes]
    named = {cause.id for cause in diagnosis.causes}
    advice_lines += [anomaly.advice for anomaly in diagnosis.anomalies if anomaly.id not in named]
    advice_lines += [pace.advice for pace in diagnosis.paces]
    if unexplained_line(diagnosis) and not _causes_exceed(diagnosis):
        for name, _ in diagnosis.unexplained[:1]:
            on_host = name in _HOST
            # Cycles of one run were chosen, not tested, and are of one machine.
            tested = diagnosis.cycle_time.interval_pct is not None
            has_no_cause = not (diagnosis.causes or diagnosis.anomalies or diagnosis.paces)
            if diagnosis.verdict == "regression" and tested and on_host and has_no_cause:
                advice_lines.append(_DIFFER)
            advice = _texts("parts", name.partition("/")[0]).get("advice")
            # What is advised on host code is not said twice.
            if advice and not (on_host and "host_code" in named):
                advice_lines.append(f"{part_name(name)}: {advice}.")
    # Advice that begins alike is told once: one look at the device answers both.
    unlike: dict[str, str] = {}
    for advice in filter(None, advice_lines):
        unlike.setdefault(advice.partition(" (`")[0], advice)
    return [*unlike.values()][:_MAX_CHECKS]


def lower_first(text: str) -> str:
    """A sentence as it goes on after a colon; abbreviations and names in capitals stay."""
    word = text.partition(" ")[0]
    return text if word[1:] != word[1:].lower() else f"{text[:1].lower()}{text[1:]}"


def first_clause(advice: str) -> str:
    """What to do first: advice up to its first semicolon or full stop outside of brackets."""
    depth, is_code = 0, False
    for place, letter in enumerate(advice):
        is_code ^= letter == "`"
        depth += (letter in "([") - (letter in ")]")
        ends = letter == ";" or (letter == "." and advice[place + 1 : place + 2] in {"", " "})
        if ends and depth <= 0 and not is_code:
            return f"{advice[:place]}."
    return advice


def told_counters(diagnosis: Diagnosis | None) -> set[tuple[str, str]]:
    """Counters and devices that anomalies and symptoms name."""
    if diagnosis is None:
        return set()
    named = [(anomaly.metric, anomaly.device) for anomaly in diagnosis.anomalies]
    named += [(symptom.metric, symptom.device) for symptom in diagnosis.symptoms[:_MAX_SYMPTOMS]]
    counters = {(metric, device) for metrics, device in named for metric in metrics.split("/")}
    evidence = (item for anomaly in diagnosis.anomalies for item in anomaly.evidence)
    return counters | {
        (item.metric, item.device) for item in evidence if item.metric and item.device
    }


# -- as blocks ------------------------------------------------------------------------------------


def tone(diagnosis: Diagnosis) -> blocks.Tone:
    """What a verdict means for the reader."""
    return "notice" if is_open(diagnosis) else TONES.get(diagnosis.verdict, "plain")


def paragraphs(lines: Sequence[str], tone: blocks.Tone = "plain") -> Iterator[blocks.Text]:
    """Sentences, each a block; none of those that are empty."""
    return (blocks.Text(short_names(line), tone) for line in lines if line)


def why_blocks(
    diagnosis: Diagnosis,
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
        lengths = diagnosis.judged_time
        means: CycleTime | SteadyTimes = lengths
        if lengths.outcome:
            # Of several runs a side: what decides, and is said.
            means = lengths.steady or lengths
            before, after = (units.count_noun(many, "runs") for many in lengths.runs)
            sides = f"{sides[0]}, {before}", f"{sides[1]}, {after}"
        percents = map(finite_or_none, (means.change_pct, *(means.interval_pct or (None, None))))
        changed, low, high = (None if percent is None else percent / 100 for percent in percents)
        yield blocks.Verdict(
            UNDECIDED if lengths.outcome == UNDECIDED else diagnosis.verdict,
            word or verdict_sentence(diagnosis),
            short_names(diagnosis.reason),
            blocks.Measured(sides[0], finite_or_none(means.base_ns) or None),
            blocks.Measured(sides[1], finite_or_none(means.new_ns) or None),
            "time_ns",
            changed,
            low,
            high,
            tuple(map(short_names, notes)),
        )
    # Runs that are not comparable have differences, no change in a place and no causes of it.
    is_comparable = diagnosis.verdict != "incomparable"
    if is_comparable and has_changed(diagnosis) and diagnosis.attribution:
        yield attribution_block(diagnosis)
    causes = causes_block(diagnosis, link, brief=brief)
    if (causes.items or causes.empty) and is_comparable:
        yield causes
    # Without causes these are what is said instead of them.
    paces = [pace.sentence for pace in diagnosis.paces] if diagnosis.causes else []
    unexplained = unexplained_line(diagnosis) if is_comparable else ""
    yield from paragraphs([*paces, unexplained, symptoms(diagnosis)])


def note_sections(notes: Iterable[str]) -> Iterator[blocks.Section]:
    """Notes, each once, where there are any."""
    every = tuple(paragraphs(list(dict.fromkeys(notes))))
    if every:
        yield blocks.Section("notes", "Notes", every)


def next_sections(diagnosis: Diagnosis) -> Iterator[blocks.Section]:
    """What to check next, where cards do not say all of it."""
    card_advice = {cause.advice for cause in diagnosis.causes} | {
        anomaly.advice for anomaly in diagnosis.anomalies
    }
    more = [line for line in checks(diagnosis) if line not in card_advice]
    if more:
        yield blocks.Section("next", NEXT, tuple(paragraphs(more)))


# -- where the change is ---------------------------------------------------------------------------


def attribution_block(diagnosis: Diagnosis, *, attributed: bool = False) -> blocks.Attribution:
    """The parts of a cycle and what each adds to the change; small ones together.

    Where only what is `attributed` is meant, small ones that cancel out have no row.
    """
    order = sorted(diagnosis.attribution, key=lambda component: -abs(component.delta_ns))
    largest = abs(order[0].delta_ns) if order else 0.0
    # The parts worth a row of their own, largest change first.
    components = [
        component
        for component in order
        if largest and abs(component.delta_ns) >= _MIN_PART_SHARE * largest
    ]
    components = components[:_MAX_PARTS]
    rest = order[len(components) :]
    rows = [
        attributed_part(component, component.name, part_name(component.name), launches(component))
        for component in components
    ]
    base, new = (
        fsum(component.base_ns for component in rest),
        fsum(component.new_ns for component in rest),
    )
    if rest and not (attributed and units.brief_ns(abs(new - base)) == "0 ns"):
        names = dict.fromkeys(part_name(component.name) for component in rest if not attributed)
        other = units.count_noun(len(rest), "other parts")
        rows.append(_together("other", other, ", ".join(names), base, new))
    before, after = diagnosis.cycle_time.parted_ns
    # What no part holds, so that rows add up.
    base = before - fsum(row.base for row in rows)
    new = after - fsum(row.new for row in rows)
    if not attributed and abs(new - base) >= _MIN_NS:
        rows.append(_together("unattributed", _NOT_ATTRIBUTED, "", base, new))
    change = after - before
    doubt = ", which may be noise" if is_open(diagnosis) else ""
    doubt = ", as recorded" if diagnosis.judged_time.recorded_ns else doubt
    total = f"{signed_ns(change)} per step, {times(before, after)}{doubt}"
    return blocks.Attribution(f"Where the change is ({total})", "time_ns", change, tuple(rows))


def attributed_part(
    component: Component, id_: str, name: str, note: str = ""
) -> blocks.AttributedPart:
    """What a part adds to a change, and how sure that is."""
    low, high = component.interval_ns or (None, None)
    return blocks.AttributedPart(
        id_,
        name,
        note,
        component.base_ns,
        component.new_ns,
        component.delta_ns,
        finite_or_none(low),
        finite_or_none(high),
        component.p_value is not None and component.p_value < SignificanceLimits.alpha,
    )


def _together(id_: str, name: str, note: str, base: float, new: float) -> blocks.AttributedPart:
    return blocks.AttributedPart(id_, name, note, base, new, new - base, None, None, sure=False)


# -- what explains it ------------------------------------------------------------------------------


def causes_block(
    diagnosis: Diagnosis, link: Callable[[str], blocks.Link] | None = None, *, brief: bool = False
) -> blocks.Causes:
    """Causes, most time first, then what else is different around it."""
    before, after = diagnosis.cycle_time.parted_ns
    change = after - before
    most = _MAX_EVIDENCE_BRIEFLY if brief else _MAX_EVIDENCE
    anomalies = [
        anomaly
        for anomaly in diagnosis.anomalies
        if not any(_tells(c, anomaly) for c in diagnosis.causes)
    ]
    cards = [
        _card(cause, link, most, change, diagnosis.anomalies if brief else ())
        for cause in diagnosis.causes
    ]
    cards += [_card(anomaly, link, most) for anomaly in anomalies]
    return blocks.Causes(tuple(cards), "" if diagnosis.causes else no_cause(diagnosis))


def _tells(cause: Cause | Anomaly, anomaly: Anomaly) -> bool:
    """Whether a cause says the same of the same device."""
    return (cause.id, cause.process) == (anomaly.id, anomaly.process) and (
        anomaly.sentence in cause.sentence or anomaly.device in cause.sentence
    )


def _card(
    finding: Cause | Anomaly,
    link: Callable[[str], blocks.Link] | None,
    most: int,
    change_ns: float | None = None,
    around: Sequence[Anomaly] = (),
) -> blocks.CauseCard:
    """A cause of a change of so much, or without one an anomaly.

    What anomalies `around` it rest on that have no card of their own, is said here.
    """
    is_cause = isinstance(finding, Cause)
    rests_on = [finding, *(anomaly for anomaly in around if _tells(finding, anomaly))]
    evidence = [line for basis in rests_on for line in evidence_lines(basis, most)]
    share: float | None
    if isinstance(finding, Anomaly):
        share, bounds = finding.share, None
    else:
        part = finding.cost_ns / change_ns if change_ns else 0.0
        share, bounds = part if part > 0 else None, finding.interval_ns
    # The functions of the evidence, in the tables that have them.
    named = dict.fromkeys(item.function for item in finding.evidence if item.function)
    return blocks.CauseCard(
        finding.id,
        "cause" if is_cause else "anomaly",
        cause_title(finding),
        short_names(cause_sentence(finding) if is_cause else finding.sentence),
        finding.cost_ns if is_cause else finding.cost_ns or None,
        "time_ns",
        share,
        "of the change" if is_cause else "severity",
        finding.advice,
        tuple(short_names(line) for line in dict.fromkeys(evidence)),
        tuple(dict.fromkeys(map(link, named)))[:_MAX_LINKS] if link is not None else (),
        "" if bounds is None else interval_ns(*bounds),
    )


def links_to(section: str, label: Callable[[str], str]) -> Callable[[str], blocks.Link]:
    """What makes links to functions in the tables of a section, which call them by a label."""

    def link(function: str) -> blocks.Link:
        return blocks.Link(short_names(label(function)), section, label(function))

    return link
