"""What costs time and what to try, as cards that lead to where it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from timesink.analyses.communication_calls import communication_records
from timesink.analyses.device.activities import has_device_work
from timesink.analyses.names import short_kernel_name
from timesink.analyses.steps import average_step, find_steps
from timesink.answers.analysis.tables import Analysed
from timesink.answers.info import grave_entries
from timesink.answers.tables import sentence
from timesink.answers.views import NO_DEVICE_WORK, NO_STEPS
from timesink.model import units
from timesink.model.findings import Evidence, Finding
from timesink.output.blocks import Block, FindingCard, Findings, Link, Section, Text
from timesink.output.names import told_apart

_EMPTY = "No rule found anything to gain."
_MOST_LINKS, _MOST_EVIDENCE = 4, 3
_FIRST = "stragglers"
_MORE = 1.01
"""By how much more findings save together than one alone, to be told."""
_SAME = ("rule", "severity", "title", "sentence", "advice")
"""What a card says of a finding as it is."""


def findings_section(run: Analysed) -> Section:
    """Every finding, the gravest first; that a trace without steps has none is not good news."""
    # One rank that holds up all the others comes before what each of them could do better.
    ordered = sorted(run.analysis.findings, key=lambda finding: finding.rule != _FIRST)
    cards = tuple(_card(finding, run) for finding in ordered)
    found: Block = Findings(cards, _EMPTY)
    damage = grave_entries(run.analysis.health)
    if not cards and not average_step(run.trace).get("total_ns"):
        found = Text(sentence(NO_STEPS), "notice")
    elif not cards and not damage and not has_device_work(run.trace):
        # What was not recorded cannot stand still.
        found = Text(f"{_EMPTY} {sentence(NO_DEVICE_WORK)}", "notice")
    if not damage:
        return Section("findings", "Findings", (found,))
    told = Text(f"The recording is not whole: {'; '.join(damage)}.", "warning")
    # That nothing was found in what is left is no good news.
    says = bool(cards) or isinstance(found, Text)
    return Section("findings", "Findings", (told, found) if says else (told,))


def _card(finding: Finding, run: Analysed) -> FindingCard:
    links = dict.fromkeys(link for item in finding.evidence for link in _places(item, run))
    gain = _saving(finding)
    return FindingCard(
        **{name: getattr(finding, name) for name in _SAME},
        gain=gain,
        evidence=tuple(_evidence_lines(finding)),
        links=tuple(links)[:_MOST_LINKS],
    )


def _saving(finding: Finding) -> str:
    """What mending it saves, as a replay says; nothing where that cannot be said."""
    step, gains = " a step" if finding.marked else "", []
    if finding.gain_ns:
        gains.append(units.duration_ns(finding.gain_ns) + step)
    if finding.between_ns:
        gains.append(f"{units.duration_ns(finding.between_ns)} between two steps")
    if not gains:
        return f"saves nothing by itself: {finding.why}" if finding.why else ""
    both = ""
    if finding.together_ns > _MORE * finding.gain_ns:
        both = f"; {units.duration_ns(finding.together_ns)}{step} with all above"
    return f"may save {' and '.join(gains)} if {finding.gain_basis}{both}"


# -- where evidence shows --------------------------------------------------------------------------


def _places(item: Evidence, run: Analysed) -> Iterator[Link]:
    """Where a piece of evidence can be looked at, if anywhere."""
    name, kind, numbers = item.name, item.kind, item.numbers
    if kind == "operator" and "roof_reached_pct" in numbers:
        operator = name.partition(" ")[0]
        yield Link(operator, "efficiency", operator)
    elif kind == "operator":
        yield Link(name, "operators", name)
    elif kind == "kernel":
        yield Link(short_kernel_name(name), "kernels", short_kernel_name(name))
    elif kind == "call" and name in communication_records(run.trace)["name"]:
        # Of all calls, those that communicate have a table.
        yield Link(name, "collectives", name)
    elif kind == "worker":
        is_one = "rank" in numbers and run.analysis.is_set
        rank = ("ranks", f"rank={numbers['rank']:.0f}") if is_one else ("workers", name)
        yield Link(name, *rank)
    elif kind == "device":
        of_memory = any(key.endswith("_bytes") for key in numbers)
        yield Link("memory over time", "memory-curve") if of_memory else Link("devices", "devices")
    elif kind == "gap" and "start_ns" in numbers:
        from_ns = int(numbers["start_ns"]) - run.start_ns
        to_ns = from_ns + round(1000 * numbers.get("gap_us", 0))
        yield Link("this gap", "gaps", from_ns=from_ns, to_ns=to_ns)
    elif kind == "step":
        # A recording without marks is one step, which no table has.
        steps = find_steps(run.trace).filter("marked")
        found = steps.filter(steps["name"] == name).select("start_ns", "end_ns") - run.start_ns
        for start, end in found.rows()[:1]:
            yield Link(f"step {name}", "steps", from_ns=start, to_ns=end)


# -- in words --------------------------------------------------------------------------------------


def _evidence_lines(finding: Finding) -> list[str]:
    """The first pieces of evidence, a line each."""
    shown = finding.evidence[:_MOST_EVIDENCE]
    names = told_apart(
        [
            f"{item.kind} {short_kernel_name(item.name) if item.kind == 'kernel' else item.name}"
            for item in shown
        ]
    )
    lines = []
    for name, item in zip(names, shown, strict=True):
        numbers = ", ".join(
            _numbered(key, value, marked=finding.marked)
            for key, value in item.numbers.items()
            if key != "start_ns"
        )
        lines.append(f"{name}: {numbers}" if numbers else name)
    return lines


_UNITS: Mapping[str, Callable[[float], str]] = {
    "_us": lambda value: units.duration_ns(1000 * value),
    "_ns": lambda value: f"{units.count(int(value))} ns",
    "_bytes": units.size_bytes,
    "_pct": lambda value: f"{value:.1f} %",
    "_tflops": lambda value: f"{value:.1f} TFLOP/s",
    "_tb_per_s": lambda value: f"{value:.2f} TB/s",
}


def _numbered(key: str, value: float, *, marked: bool) -> str:
    """A number with its unit in words; those of a step are all there is where none is marked."""
    name = key.removesuffix("_per_step")
    each = " a step" if marked and name != key else ""
    unit = next((ending for ending in _UNITS if f"_{name}".endswith(ending)), "")
    shown = _UNITS[unit](value) if unit else units.count(round(value))
    spoken = name.removesuffix(unit).replace("_", " ")
    return f"{spoken} {shown}{each}"
