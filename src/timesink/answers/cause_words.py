"""What a diagnosis says, in words; where it appears is up to others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from timesink.analyses.comparison.verdict import NARROW
from timesink.model import units
from timesink.model.diagnosis import Component, Diagnosis
from timesink.model.findings import Evidence, Finding
from timesink.model.units import amounts, interval_ns, signed_ns, times
from timesink.rules.registry import catalogue

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
_MOST_EVIDENCE = 2


def _texts(table: str, name: str) -> Mapping[str, str]:
    """What the catalogue says of a cause, or of a part of the cycle."""
    return catalogue()[table].get(name, {})


# -- where the change is ---------------------------------------------------------------------------


def part_name(component: str) -> str:
    """A component in words."""
    part, _, family = component.partition("/")
    word = _texts("parts", part).get("name", part)
    return f"{family} {word}" if family else word


def verdict(one: Diagnosis) -> str:
    """The verdict in words."""
    return "No certain change" if is_open(one) else VERDICTS[one.verdict]


def is_open(one: Diagnosis) -> bool:
    """Whether cycles are too uneven to say that their length is the same."""
    lengths = one.cycle_time
    if one.verdict != "no_change" or lengths.interval_pct is None or not lengths.change_pct:
        return False
    low, high = lengths.interval_pct
    longest = max(lengths.base_ns, lengths.new_ns)
    return max(-low, high) / 100 * lengths.base_ns > NARROW * longest


def has_changed(one: Diagnosis) -> bool:
    """Whether there is something to explain, or may be."""
    return one.verdict in _CHANGED or is_open(one) or bool(one.causes or one.anomalies)


def total(one: Diagnosis) -> str:
    """What the parts add up to."""
    cycles = one.cycle_time
    lengths = times(cycles.base_ns, cycles.new_ns)
    doubt = ", which may be noise" if is_open(one) else ""
    return f"{signed_ns(cycles.new_ns - cycles.base_ns)} per cycle, {lengths}{doubt}"


def large_parts(one: Diagnosis) -> tuple[list[Component], list[Component]]:
    """The parts worth a row of their own, largest change first, and the others."""
    order = sorted(one.attribution, key=lambda each: -abs(each.delta_ns))
    largest = abs(order[0].delta_ns) if order else 0.0
    if not largest:
        return [], order
    large = [each for each in order if abs(each.delta_ns) >= _LEAST * largest]
    shown = large[:_MOST_PARTS]
    return shown, order[len(shown) :]


def other_parts(rest: Sequence[Component]) -> str:
    """What parts without a row of their own are called together."""
    return units.counted(len(rest), "other parts")


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


# -- why -------------------------------------------------------------------------------------------


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
    return f"{one.cause}{_of(one.process)}, {explains}: {cause_sentence(one)}"


def cause_sentence(one: Finding) -> str:
    """What a cause says under a title that names the process."""
    return one.sentence.removeprefix(f"{(one.process or '').capitalize()}: ")


def anomaly_line(one: Finding) -> str:
    """An anomaly; its sentence names the device."""
    return f"{one.cause}{_of(one.process)}: {one.sentence}"


def _of(process: str | None) -> str:
    return f" in {process}" if process else ""


def evidence_lines(one: Finding, most: int = _MOST_EVIDENCE) -> list[str]:
    """The first things to look at, where the sentence does not say them."""
    told = [each.text for each in one.evidence if not _is_said(each, one.sentence)]
    return [*dict.fromkeys(told)][:most]


def _is_said(one: Evidence, sentence: str) -> bool:
    """Whether a sentence holds the whole of it, or names the counter it is of."""
    return one.text in sentence or (one.kind == "counter" and (one.metric or "-") in sentence)


def no_cause(one: Diagnosis) -> str:
    """That nothing explains the change; empty where something does."""
    if one.causes or not has_changed(one) or one.verdict == "incomparable":
        return ""
    if one.verdict in _CHANGED:
        return "No cause has evidence."
    return _OPEN if is_open(one) else _SAME


def unexplained(one: Diagnosis) -> str:
    """What of the change no cause explains, and where it sits; empty where that is nothing."""
    if not (one.causes or one.verdict in _CHANGED or is_open(one)):
        return ""
    if abs(one.unexplained_ns) < _LEAST * max(one.cycle_time.base_ns, 1.0):
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
    if unexplained(one) and not _exceed(one):
        told += _on_unexplained(one, named)
    # Advice that begins alike is told once: one look at the device answers both.
    unlike: dict[str, str] = {}
    for advice in filter(None, told):
        unlike.setdefault(advice.partition(" (`")[0], advice)
    return [*unlike.values()][:_MOST_CHECKS]


def _on_unexplained(one: Diagnosis, named: set[str]) -> Iterator[str]:
    """What helps where most of it sits; what is advised on host code is not said twice."""
    for name, _ in one.unexplained[:1]:
        on_host = name in _HOST
        # Cycles of one run were chosen, not tested, and are of one machine.
        tested = one.cycle_time.interval_pct is not None
        if one.verdict == "regression" and tested and on_host and not (one.causes or one.anomalies):
            yield _DIFFER
        if on_host and "host_code" in named:
            return
        advice = _texts("parts", name.partition("/")[0]).get("advice")
        if advice:
            yield f"{part_name(name)}: {advice}."


def told_counters(one: Diagnosis | None) -> set[tuple[str, str]]:
    """Counters and devices that anomalies and symptoms name."""
    if one is None:
        return set()
    named = [(each.metric, each.device) for each in one.anomalies]
    named += [(each.metric, each.device) for each in one.symptoms[:_MOST_SYMPTOMS]]
    found = {(metric, device) for metrics, device in named for metric in metrics.split("/")}
    evidence = (each for anomaly in one.anomalies for each in anomaly.evidence)
    return found | {(each.metric, each.device) for each in evidence if each.metric and each.device}
