"""What changes of a program mean: edits a person would name, each with its cause and place."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from timesink.comparison.causes.case import told_name
from timesink.comparison.causes.device import precision
from timesink.comparison.causes.edit_facts import (
    EVERYWHERE,
    MULTIPLIES,
    OF_KINDS,
    ChangeFacts,
    ProgramPasses,
    change_facts,
)
from timesink.comparison.program.alignment import CallChange
from timesink.comparison.program.calls import ALLOCATOR, ANNOTATION, COPY, KERNEL, OPERATOR, WAIT
from timesink.comparison.program.edits import ProgramDifference
from timesink.comparison.thresholds import ProgramEditsLimits
from timesink.model.data_files import toml_tables
from timesink.model.diagnosis import ProgramEdit
from timesink.model.findings import Evidence
from timesink.model.units import from_to, join_names, per_cycle
from timesink.patterns import regex

_ENGINE = "autograd::engine::evaluate_function: "
_CONV = regex(r"::\w*conv", re.IGNORECASE)
_CHOICE, _WORKLOAD, _PRECISION = "kernel_choice", "workload_change", "precision_change"
_MORE_LAYERS, _GRADIENTS, _OPTIMIZER = "added_layer", "gradient_handling", "optimizer"
_OF_SIZES = frozenset(
    {_WORKLOAD, "kernel_change", "added_layer", "synchronisation", "extra_copies", "host_code"}
    | {"layout_conversion", _CHOICE}
)
"""Causes that may follow from other sizes, and these themselves."""
_OF_BACKWARD = frozenset({"recomputation", "debug_mode", _GRADIENTS})
_MAX_EVIDENCE = 6


@lru_cache(maxsize=1)
def _rows() -> Sequence[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = toml_tables(Path(__file__).with_name("edits.toml"))["edit"]
    return [
        {key: re.compile(value) if key in _PATTERNS else value for key, value in row.items()}
        for row in rows
    ]


_PATTERNS = frozenset(
    {"came", "gone", "either", "both", "inside", "only", "mostly", "outermost", "some"}
)


def edits(program_difference: ProgramDifference) -> tuple[ProgramEdit, ...]:
    """The edits of a difference, what explains most of the time first."""
    passes = ProgramPasses.of(program_difference)
    facts = [
        change_facts(program_difference, change, passes) for change in program_difference.changes
    ]
    weights = [
        _weight(*program_difference.amounts(change)[1:3]) for change in program_difference.changes
    ]
    causes = [_cause(fact) for fact in facts]
    if "layout_conversion" in causes:
        # Kernels of another layout may compute in another precision.
        facts = [
            replace(
                fact, precision=fact.precision and not any(map(_CONV.search, fact.change.inside))
            )
            for fact in facts
        ]
        causes = [_cause(fact) for fact in facts]
    for at, fact in enumerate(facts):
        if fact.change.kind in OF_KINDS:
            # What some cycles did and all do now, or none, is told once.
            call_names = {*fact.came, *fact.gone}
            causes[at] = next(
                (
                    cause
                    for cause, other in zip(causes, facts, strict=True)
                    if other.change.kind not in OF_KINDS
                    and call_names <= {*other.came, *other.gone}
                ),
                causes[at],
            )
    causes, facts = _without_layers_of_gradients(causes, facts, weights)
    groups: dict[str, list[ChangeFacts]] = {}
    for cause, fact in zip(_absorb_causes(causes, facts, weights), facts, strict=True):
        groups.setdefault(cause, []).append(fact)
    if _WORKLOAD in groups and all(fact.more_of_same for fact in groups.get(_OPTIMIZER, ())):
        # Of larger weights an optimizer launches more of the same kernels.
        groups[_WORKLOAD] += groups.pop(_OPTIMIZER, [])
    edit_list = [_edit(program_difference, cause, group, passes) for cause, group in groups.items()]
    weighed = {edit.cause: _weight(edit.host_ns, edit.device_ns) for edit in edit_list}
    # Other sizes come before what follows from them, and what libraries choose is a consequence
    # where anything else changed.
    if _WORKLOAD in weighed:
        weighed[_WORKLOAD] = max(weighed[cause] for cause in weighed if cause in _OF_SIZES)
    return tuple(
        sorted(
            edit_list,
            key=lambda edit: (edit.cause == _CHOICE, -weighed[edit.cause], edit.cause != _WORKLOAD),
        )
    )


def _weight(host_ns: float, device_ns: float) -> float:
    """How much a change matters: times of the host are far less certain than those of a device."""
    return abs(device_ns) + ProgramEditsLimits.host_weight * abs(host_ns)


def _cause(facts: ChangeFacts) -> str:
    return str(next(row["cause"] for row in _rows() if _fits(row, facts)))


def _fits(row: Mapping[str, Any], facts: ChangeFacts) -> bool:
    change, outermost = facts.change, facts.outermost
    both = (*facts.came, *facts.gone)
    tests: Mapping[str, Callable[[Any], bool]] = {
        "kind": lambda value: change.kind == value,
        "came": lambda value: any(map(value.search, facts.came)),
        "gone": lambda value: any(map(value.search, facts.gone)),
        "either": lambda value: any(map(value.search, both)),
        "both": lambda value: all(
            any(map(value.search, side)) for side in (facts.came, facts.gone)
        ),
        "mostly": lambda value: facts.share_of_kernels(value) > 0.5,
        "only": lambda value: bool(both) and all(map(value.search, both)),
        "inside": lambda value: any(map(value.search, change.inside)),
        "outermost": lambda value: bool(outermost) and all(map(value.search, outermost)),
        "some": lambda value: any(map(value.search, outermost)),
        "sorts": lambda value: bool(facts.sorts & set(value)),
        "no_sorts": lambda value: not facts.sorts & set(value),
        **{name: partial(_equals, getattr(facts, name)) for name in _YES_OR_NO},
    }
    return all(test(row[key]) for key, test in tests.items() if key in row)


_YES_OR_NO = (
    *("backward", "inner", "again", "precision", "replaced", "many"),
    *("compiled", "layers", "resized", "reads", "host_only", "optimizer_once"),
)


def _equals(fact: bool, value: bool) -> bool:  # noqa: FBT001 - it is what is compared
    return fact == value


def _without_layers_of_gradients(
    causes: Sequence[str], facts: Sequence[ChangeFacts], weights: Sequence[float]
) -> tuple[list[str], list[ChangeFacts]]:
    """Causes and facts, but no layers that the backward pass alone has.

    It follows the forward pass: what differs there follows from the edit of the forward pass that
    matters most, and without one the same layers are given other gradients.
    """
    forward = [
        (weight, cause)
        for cause, fact, weight in zip(causes, facts, weights, strict=True)
        if not fact.backward
        and fact.kernels
        and cause not in {_CHOICE, *_OF_BACKWARD}
        and not any(name.startswith("Optimizer.") for name in fact.change.inside + fact.outermost)
    ]
    has_layer = any(cause == _MORE_LAYERS for _, cause in forward)
    followers = {
        at
        for at, fact in enumerate(facts)
        if fact.backward and causes[at] == _MORE_LAYERS and not has_layer
    }
    leading = max(forward, default=(0.0, _GRADIENTS))[1]
    return (
        [leading if at in followers else cause for at, cause in enumerate(causes)],
        [
            replace(fact, layers=False, change=replace(fact.change, repeats=(0, 0)))
            if at in followers
            else fact
            for at, fact in enumerate(facts)
        ],
    )


def _absorb_causes(
    causes: Sequence[str], facts: Sequence[ChangeFacts], weights: Sequence[float]
) -> list[str]:
    """Causes of which others are consequences stand for those as well, unless they are slight."""
    final_causes = list(causes)
    has_layers = any(fact.layers for fact in facts)
    for row in _rows():
        cause, below, anywhere = row["cause"], row.get("absorbs", ()), row.get("with", ())
        more = row.get("with_more", ())
        other_places = [
            at
            for at, (place_cause, fact) in enumerate(zip(final_causes, facts, strict=True))
            for over in [below if fact.inner or fact.backward else anywhere]
            if place_cause in over or "*" in over or (place_cause in more and fact.more_of_same)
            # Other sizes make no calls: more of the same are those of a layer, where there is one.
            if not (cause == _WORKLOAD and has_layers and fact.more_of_same)
        ]
        weight = sum(
            weights[at] for at, place_cause in enumerate(final_causes) if place_cause == cause
        )
        rest = sum(weights[at] for at in other_places if final_causes[at] != _CHOICE)
        if cause in final_causes and weight >= ProgramEditsLimits.min_self_share * rest:
            for at in other_places:
                final_causes[at] = cause
    return final_causes


def _edit(
    program_difference: ProgramDifference,
    cause: str,
    facts: Sequence[ChangeFacts],
    passes: ProgramPasses,
) -> ProgramEdit:
    names, sorts = passes.names, passes.sorts
    amounts = [program_difference.amounts(fact.change) for fact in facts]
    has_cause = [_cause(fact) == cause for fact in facts]
    ordered = sorted(
        range(len(facts)),
        # The backward pass of what was done, or a consequence of it, tells less.
        key=lambda at: (
            facts[at].backward and cause not in _OF_BACKWARD,
            not has_cause[at],
            cause == _WORKLOAD and facts[at].change.kind not in EVERYWHERE,
            -_weight(*amounts[at][1:3]),
        ),
    )
    lead = facts[ordered[0]]
    patterns = [
        row[key]
        for row in _rows()
        for key in ("either", "both")
        if row["cause"] == cause and key in row
    ]
    call = _lead_name(lead, patterns)
    means = [
        float(sum(mean[0, at] for at, name in enumerate(names) if name == call))
        for mean in program_difference.means
    ]
    total = np.sum(amounts, axis=0)
    return ProgramEdit(
        cause,
        (_of_precision(program_difference, facts, lead) if cause == _PRECISION else "")
        or _sentence(program_difference, lead),
        place_of(lead.change, backward=lead.backward),
        call,
        means[0],
        means[1],
        float(total[2]),
        float(total[1]),
        _net(program_difference, facts, sorts, (KERNEL, COPY)),
        _net(program_difference, facts, sorts, (WAIT,)),
        float(total[3]),
        (
            *_counted_calls(program_difference, [facts[at] for at in ordered], names, sorts),
            *(
                Evidence("program", _told_change(facts[at].change))
                for at in ordered[:_MAX_EVIDENCE]
            ),
        ),
        lead.change.inside[-1] if lead.change.inside else "",
        sum(fact.change.places for fact in facts),
    )


def _net(
    program_difference: ProgramDifference,
    facts: Sequence[ChangeFacts],
    sorts: Sequence[int],
    which: Sequence[int],
) -> float:
    total = 0.0
    for fact in facts:
        for sign, counts in ((1, fact.change.came), (-1, fact.change.gone)):
            total += (
                fact.change.frequency
                * sign
                * sum(
                    often
                    for site, often in counts.items()
                    if sorts[program_difference.row[site]] in which
                )
            )
    return total


def _lead_name(lead: ChangeFacts, patterns: Sequence[re.Pattern[str]]) -> str:
    """The name that tells an edit: one its cause looks for, else that of an outermost call."""
    moved = lead.came + lead.gone
    for pattern in patterns:
        named = [name for name, _ in moved.most_common() if pattern.search(name)]
        if named:
            return named[0]
    change = lead.change
    outermost = Counter(change.added or change.removed)
    return outermost.most_common(1)[0][0] if outermost else ""


def _sentence(difference: ProgramDifference, lead: ChangeFacts, *, how: str = "") -> str:
    """What came, went or was replaced, and at how many places; `how` says in which way."""
    change = lead.change
    added = _calls_told(difference, change.added, change.came, 1)
    removed = _calls_told(difference, change.removed, change.gone, 0)
    told_kind = _KINDS.get(change.kind)
    if told_kind is not None:
        less = "no longer " if removed else ""
        return told_kind.format(
            one=change, these=added or removed, less=less, often=change.factor or 1
        )
    if change.repeats != (0, 0):
        base, new = change.repeats
        many = abs(new - base)
        number = "One" if many == 1 else str(many)
        layers = f"{number} {'more' if new > base else 'fewer'} layer{'s' * (many > 1)}"
        return f"{layers} ({base} → {new}): {added or removed}"
    where = f" at {change.places} of {change.of_places} places" if change.places > 1 else ""
    if added and added == removed:
        return f"Different variants of {added}{where}"
    if added and removed:
        return f"{added} instead of {removed}{where}"
    return f"{added or removed}{how} {'added' if added else 'removed'}{where}"


def _of_precision(
    difference: ProgramDifference, facts: Sequence[ChangeFacts], lead: ChangeFacts
) -> str:
    """In which precision products of matrices computed, and compute now; empty where not known."""
    gone, came = (
        Counter[str](
            {
                name: often
                for name, often in sum(sides, Counter[str]()).items()
                if MULTIPLIES.search(name) and precision(name) is not None
            }
        )
        for sides in zip(*((facts_.gone, facts_.came) for facts_ in facts), strict=True)
    )
    gone, came = gone - came, came - gone
    base, new = map(_usual_precision, (gone, came))
    if base == new or not gone or not came:
        one_way = base or new if not (gone and came) else ""
        return _sentence(difference, lead, how=f" in {one_way}") if one_way else ""
    many = came.total()
    products = "One matrix product computes" if many == 1 else f"{many} matrix products compute"
    return f"{products} in {new} instead of {base}"


_KINDS = {
    "shapes": "The same calls with different shapes, {often:.3g} times the work",
    "uneven": "Sizes of equal calls {less}vary from step to step, {often:.3g} times the work",
    "types": "The same calls with different types",
    "variants": "Different variants of {these}",
    "repeated": "A step does its work {often:.3g} times as often",
    "cycles": "One step in {often:.0f} {less}runs {these} as well",
    "frequency": "One step in {one.of_places} instead of one in {one.places} runs {these}",
}
"""What is said of changes that are not at single places."""


_MAX_CALLS_NAMED = 2
"""Names of calls in a sentence; of more, those whose calls take most."""


def _usual_precision(kernels: Counter[str]) -> str:
    """The precision that most of some kernels compute in; empty without any."""
    often = Counter[str]()
    for name, many in kernels.items():
        often[precision(name) or ""] += many
    return often.most_common(1)[0][0] if often else ""


def _calls_told(
    difference: ProgramDifference, calls: Sequence[str], sites: Mapping[int, int], side: int
) -> str:
    """Calls as people say them, each once with how often it comes."""
    often = Counter(calls)
    names = list(often)
    if len(names) > _MAX_CALLS_NAMED:
        # What the outermost calls take, with all that is below them.
        parents = difference.sites["parent"].to_list()
        takes: dict[str, float] = defaultdict(float)
        for site in sites:
            top = site
            while parents[difference.row[top]] in sites:
                top = parents[difference.row[top]]
            _, host, device, _ = difference.means[side][:, difference.row[site]].tolist()
            takes[difference.sites["name"][difference.row[top]]] += _weight(host, device)
        names.sort(key=lambda name: -takes[name])
    words = [
        call_label(name) if often[name] == 1 else f"{often[name]} x {call_label(name)}"
        for name in names
    ]
    return join_names(words, _MAX_CALLS_NAMED)


_TELLING = (WAIT, ALLOCATOR, OPERATOR, ANNOTATION, COPY, KERNEL)
"""Call sites whose numbers tell an edit, those that tell most first."""


def _counted_calls(
    program_difference: ProgramDifference,
    facts: Sequence[ChangeFacts],
    names: Sequence[str],
    sorts: Sequence[int],
) -> Iterator[Evidence]:
    """Names that come more or less often, and how often on both sides."""
    moved = sum((fact.came + fact.gone for fact in facts), Counter[str]())
    sort_of = {name: sort for name, sort in zip(names, sorts, strict=True) if name in moved}
    ranked = sorted(
        (name for name in moved if sort_of[name] in _TELLING),
        key=lambda name: (_TELLING.index(sort_of[name]), -moved[name]),
    )
    columns: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        if name in moved:
            columns.setdefault(name, []).append(at)
    for name in ranked[:_MAX_EVIDENCE]:
        base, new = (float(mean[0, columns[name]].sum()) for mean in program_difference.means)
        text = f"{call_label(name)}: {from_to(per_cycle(base), per_cycle(new))} calls per step"
        recorded = program_difference.sites["recorded"][columns[name][0]]
        yield Evidence("calls", text, function=recorded, unit="calls per cycle", base=base, new=new)


def _told_change(change: CallChange) -> str:
    """One change of calls as evidence."""
    base, new = (sum(side.values()) for side in (change.gone, change.came))
    where = place_of(change, backward=False)
    names = [
        f"{sign}{call_label(name)}" + (f" x {often}" if often > 1 else "")
        for sign, side in (("-", change.removed), ("+", change.added))
        for name, often in Counter(side).items()
    ]
    return f"{where}: {join_names(names, 8)} ({change.places} places, calls {base} -> {new})"


def call_label(name: str) -> str:
    """A call or kernel as people say it; of a copy, which memory it is from and to."""
    return name if name.startswith("Memcpy ") else told_name(name.removeprefix(_ENGINE))


def place_of(change: CallChange, *, backward: bool) -> str:
    """Where in the program a change is, as far as was recorded."""
    if change.kind in OF_KINDS:
        return "in steps of their own type"
    if change.kind in EVERYWHERE:
        some = change.of_places > 1
        return f"{change.places} of {change.of_places} calls" if some else "everywhere"
    # Lines of calls that wait come last, and say most.
    line = f" ({join_names(list(change.lines[::-1]), 2)})" if change.lines else ""
    return f"{_path_of(change, backward=backward)}{line}"


def _path_of(change: CallChange, *, backward: bool) -> str:
    """Calls around a change, modules first; else those before and after it."""
    where = "in the backward pass" if backward else "in the step"
    inside = [call_label(name) for name in change.inside if not name.startswith(_ENGINE)]
    if change.modules:
        # Layers that do the same are one place, each by its number where it is the only one.
        several = len(change.modules) > 1
        layers = [_LAYER.sub(".*", module) if several else module for module in change.modules]
        inside = [join_names(list(dict.fromkeys(layers)), 2), *inside]
    if inside:
        first = inside[:1] if change.modules else []
        left = len(inside) - len(first) > ProgramEditsLimits.deepest
        path = " > ".join(
            [*first, *["…"] * left, *inside[len(first) :][-ProgramEditsLimits.deepest :]]
        )
        return f"{where}, in {path}" if backward else f"in {path}"
    ends = [call_label(name) for name in (change.before, change.after) if name]
    if len(ends) == 2:
        return f"{where}, between {ends[0]} and {ends[1]}"
    if ends:
        return f"{where}, {'after' if change.before else 'before'} {ends[0]}"
    return where


_LAYER = regex(r"\.\d+(?=\.|$)")
