"""Code that a compiler generated: graph breaks, and compiling the same once more."""

from __future__ import annotations

from collections import defaultdict

from msgspec import structs

from timesink.analyses.graph_breaks import graph_breaks
from timesink.model import units
from timesink.model.compiled_code import RESUMED, Compilation, CompiledCode, plain_function
from timesink.model.findings import HIGH, LOW, MEDIUM, Evidence, RunFinding
from timesink.model.trace import Trace
from timesink.rules.register import make_finding
from timesink.rules.steps import complete_steps
from timesink.rules.thresholds import CompiledLimits

_MAX_SHOWN = 4


def broken_graphs(trace: Trace) -> list[RunFinding]:
    """Places at which a compiled graph breaks, with what the host does there; one finding.

    >>> import timesink
    >>> broken_graphs(timesink.open(timesink.sample()))
    []
    """
    costs = graph_breaks(trace)
    if not costs:
        return []
    steps, first = complete_steps(trace), costs[0].graph_break
    others = len({cost.graph_break.place for cost in costs} - {first.place})
    also = f" and {units.count_noun(others, 'further places')}" if others else ""
    reason = f": {first.reason}" if first.reason else ""
    sentence = f"The compiled graph breaks at {first.place}{also}{_ended(reason)}"
    uncompiled = [
        compilation
        for compilation in (trace.metadata.compiled or CompiledCode("")).compilations
        if compilation.failure == first.reason
    ]
    if uncompiled and first.reason:
        function = _function(uncompiled[0].function, uncompiled[0].place)
        sentence += f" So {function} runs without being compiled."
    # Breaks at one place for several reasons have the same time.
    of_place = {cost.graph_break.place: cost.between_ns for cost in costs}
    between_ns = sum(of_place.values()) / max(steps.count, 1)
    if between_ns and steps.length_ns:
        sentence += f" Between its graphs the host takes {steps.part(between_ns)}."
    share = min(between_ns / steps.length_ns, 1.0) if steps.length_ns else 0.0
    finding = make_finding(
        "graph-breaks",
        sentence,
        advice="advice" if first.reason else "unexplained",
        share=share,
        least_severity=MEDIUM if share >= CompiledLimits.min_between else LOW,
        evidence=tuple(
            Evidence(
                "place",
                " ".join(filter(None, (cost.graph_break.place, cost.graph_break.line))),
                function=plain_function(cost.graph_break.function) or None,
                numbers={
                    **({"compilations": cost.graph_break.times} if first.reason else {}),
                    **(
                        {"times": cost.times, "host_us": cost.between_ns / 1000}
                        if cost.times
                        else {}
                    ),
                },
            )
            for cost in costs[:_MAX_SHOWN]
        ),
    )
    if not first.hint:
        return [finding]
    hint = _ended(f" The compiler suggests: {first.hint}")
    return [structs.replace(finding, advice=f"{finding.advice}{hint}")]


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def repeated_compilations(trace: Trace) -> list[RunFinding]:
    """Functions that were compiled more than once, for other shapes or values; one finding.

    >>> import timesink
    >>> repeated_compilations(timesink.open(timesink.sample()))
    []
    """
    code = trace.metadata.compiled or CompiledCode("")
    functions: dict[tuple[str, str], list[Compilation]] = defaultdict(list)
    for compilation in code.compilations:
        if compilation.reason:
            functions[compilation.function, compilation.place].append(compilation)
    groups = sorted(functions.items(), key=lambda item: -_seconds(item[1]))
    spent_s = sum(_seconds(group) for _, group in groups)
    given_up = [group for _, group in groups if any(entry.is_given_up for entry in group)]
    if not groups or (spent_s < CompiledLimits.min_again_s and not given_up):
        return []
    (name, place), first = groups[0]
    reason = next((entry.reason for entry in first if entry.reason), "")
    because = f": {reason}" if reason else ""
    many = sum(len(group) for _, group in groups)
    took = units.brief_ns(1e9 * spent_s)
    most = "most of it " if len(groups) > 1 else ""
    sentence = (
        f"Functions were compiled {units.count_noun(many, 'times')} more, for {took} in all, "
        f"{most}{_function(name, place)}{_ended(because)}"
    )
    if given_up:
        sentence += " The compiler gave up, and what is left runs without being compiled."
    slow = MEDIUM if spent_s >= CompiledLimits.long_again_s else LOW
    return [
        make_finding(
            "recompilations",
            sentence,
            least_severity=HIGH if given_up else slow,
            evidence=tuple(
                Evidence(
                    "place",
                    f"{_function(*key)}: {_main_reason(group)}",
                    numbers={"compilations": len(group), "compiling_us": 1e6 * _seconds(group)},
                )
                for key, group in groups[:_MAX_SHOWN]
            ),
        )
    ]


def _seconds(group: list[Compilation]) -> float:
    return sum(entry.seconds for entry in group)


def _main_reason(group: list[Compilation]) -> str:
    """Why the compiler gave up, or else what it compiled again for first, as the sentence says."""
    reasons = [entry.failure for entry in group] + [entry.reason for entry in group]
    return next((reason for reason in reasons if reason), "")


def _function(name: str, place: str) -> str:
    """What was compiled, in words: the rest of a function after a break is of that function."""
    rest = "the rest of " if name.startswith(RESUMED) else ""
    return f"{rest}{plain_function(name)}" + (f" ({place})" if place else "")
