"""What changes of a program mean: edits a person would name, each with its cause and place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from timesink.analyses.diff import (
    ALLOCATOR,
    ANNOTATION,
    COPY,
    KERNEL,
    OPERATOR,
    SORTS,
    WAIT,
)
from timesink.analyses.diff.alignment import CallChange
from timesink.analyses.diff.edits import ProgramDifference
from timesink.model import toml_tables
from timesink.model.diagnosis import ProgramEdit
from timesink.model.findings import Evidence
from timesink.model.units import from_to, listed, per_cycle
from timesink.rules.case import told_name
from timesink.rules.causes_device import precision

_ENGINE = "autograd::engine::evaluate_function: "
_BACKWARD = re.compile(r"^autograd::engine|Backward\d*$")
_NO_WORK = re.compile(
    r"^autograd::engine|Backward\d*$|::(?:_?(?:unsafe_)?view\w*|_?reshape\w*|clone|contiguous|copy_"
    r"|_?to(?:_copy)?|empty\w*|new_\w+|zeros\w*|ones\w*|fill_|resize_|expand\w*|transpose|permute|t"
    r"|as_strided|slice|select|narrow|(?:un)?squeeze|detach_?|alias)$"
)
"""Calls that both passes make all over: views, copies, fresh memory."""
_MATRIX = re.compile(
    r"::(?:_?scaled_)?(?:linear|addmm|mm|bmm|baddbmm|matmul|_?conv|cudnn_conv|einsum)"
    r"|GraphLaunch|Torch-Compiled Region|CompiledFxGraph"
)
_CONV = re.compile(r"::\w*conv", re.IGNORECASE)
_GEMM = re.compile(r"gemm|nvjet|cutlass|conv|xmma|wgrad|dgrad|Cijk|matmul|mma", re.IGNORECASE)
_CHOICE = "kernel_choice"
_DEEPEST = 4
"""Calls around a change that are named, from the innermost on."""
_HOST_WEIGHT = 0.1
_LEAST_OWN = 0.1
"""Part of what its consequences take that a cause must take itself."""
_LEAST_AGAIN = 2
"""Operators of the forward pass alone that tell, found in the backward pass, that it is done
again."""
_MANY, _FEW_SORTS = 8, 4
"""Calls of one operator in one place, and of how many others at most, that are a loop."""
_MOST_EVIDENCE = 6


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


@dataclass(frozen=True, eq=False)
class _Facts:
    """What rows ask about one change."""

    change: CallChange
    came: Counter[str]
    """Names that more calls have, on balance, at any depth."""
    gone: Counter[str]
    sorts: frozenset[str]
    backward: bool
    inner: bool
    again: bool
    precision: bool
    replaced: bool
    many: bool
    optimizer_once: bool
    kernels: Counter[str]
    """Kernels that came or went on balance."""

    def share_of_kernels(self, pattern: re.Pattern[str]) -> float:
        """Part of the kernels that came or went whose name fits."""
        fitting = sum(often for name, often in self.kernels.items() if pattern.search(name))
        return fitting / max(1, sum(self.kernels.values()))

    @property
    def outermost(self) -> tuple[str, ...]:
        """Calls that came or went themselves."""
        return (*self.change.added, *self.change.removed)


@dataclass(frozen=True, eq=False)
class _Passes:
    """Which operators the passes of both programs are made of."""

    names: Sequence[str]
    sorts: Sequence[int]
    forward_only: tuple[frozenset[str], frozenset[str]]
    """Of each side: operators of the forward pass that the backward pass does not have."""
    optimizer: tuple[float, float]

    @classmethod
    def of(cls, found: ProgramDifference) -> _Passes:
        names, sorts = found.sites["name"].to_list(), found.sites["sort"].to_list()
        tops = list(_outermost(found))
        sides = []
        for mean in found.means:
            passes: tuple[set[str], set[str]] = (set(), set())
            for at, (name, sort, top) in enumerate(zip(names, sorts, tops, strict=True)):
                if sort == OPERATOR and mean[0, at] > 0 and not _NO_WORK.search(name):
                    passes[bool(_BACKWARD.search(top))].add(name)
            sides.append(frozenset(passes[0] - passes[1]))
        steps = [at for at, name in enumerate(names) if name.startswith("Optimizer.step")]
        often = [float(mean[0, steps].sum()) for mean in found.means]
        return cls(names, sorts, (sides[0], sides[1]), (often[0], often[1]))


def edits(found: ProgramDifference) -> tuple[ProgramEdit, ...]:
    """The edits of a difference, what explains most of the time first."""
    passes = _Passes.of(found)
    facts = [_facts(found, change, passes) for change in found.changes]
    weights = [_weight(*found.amounts(change)[1:3]) for change in found.changes]
    causes = [_cause(one) for one in facts]
    if "layout_conversion" in causes:
        # Kernels of another layout may compute in another precision.
        facts = [
            replace(one, precision=one.precision and not any(map(_CONV.search, one.change.inside)))
            for one in facts
        ]
        causes = [_cause(one) for one in facts]
    for at, one in enumerate(facts):
        if one.change.kind in _OF_KINDS:
            # What some cycles did and all do now, or none, is told once.
            own = {*one.came, *one.gone}
            causes[at] = next(
                (
                    cause
                    for cause, other in zip(causes, facts, strict=True)
                    if other.change.kind not in _OF_KINDS and own <= {*other.came, *other.gone}
                ),
                causes[at],
            )
    groups: dict[str, list[_Facts]] = {}
    for cause, one in zip(_absorbed(causes, facts, weights), facts, strict=True):
        groups.setdefault(cause, []).append(one)
    told = [_edit(found, cause, own, passes) for cause, own in groups.items()]
    # What libraries choose is a consequence where anything else changed.
    return tuple(
        sorted(told, key=lambda one: (one.cause == _CHOICE, -_weight(one.host_ns, one.device_ns)))
    )


def _weight(host_ns: float, device_ns: float) -> float:
    """How much a change matters: times of the host are far less certain than those of a device."""
    return abs(device_ns) + _HOST_WEIGHT * abs(host_ns)


def _outermost(found: ProgramDifference) -> Iterator[str]:
    """The name of the outermost call above each site."""
    place, parents = found.row, found.sites["parent"].to_list()
    names = found.sites["name"].to_list()
    for row in range(len(names)):
        at = row
        while parents[at] in place:
            at = place[parents[at]]
        yield names[at]


def _facts(found: ProgramDifference, change: CallChange, passes: _Passes) -> _Facts:
    row, names, sorts = found.row, passes.names, passes.sorts
    came, gone = Counter[str](), Counter[str]()
    for target, counts in ((came, change.came), (gone, change.gone)):
        for site, often in counts.items():
            target[names[row[site]]] += often
    sort_of = {names[row[site]]: sorts[row[site]] for site in (*change.came, *change.gone)}
    more, fewer = came - gone, gone - came
    around = change.inside[-1] if change.inside else ""
    named = (*change.inside, *change.added, *change.removed)
    backward = change.kind not in _EVERYWHERE and any(map(_BACKWARD.search, named))
    operators = [
        {name for name in side if sort_of[name] == OPERATOR and not _BACKWARD.search(name)}
        for side in (more, fewer)
    ]
    # What a side does anew in its backward pass is what the other does in its forward pass alone.
    again = [len(operators[0] & passes.forward_only[0]), len(operators[1] & passes.forward_only[1])]
    return _Facts(
        change,
        more,
        fewer,
        frozenset(SORTS[sort_of[name]] for name in (*more, *fewer)),
        backward=backward,
        inner="::" in around and not _BACKWARD.search(around),
        again=backward and max(again) >= _LEAST_AGAIN,
        precision=any(map(_MATRIX.search, change.inside)) and _other_precision(gone, came, sort_of),
        replaced=all(operators),
        many=_is_loop(change, found, passes),
        optimizer_once=passes.optimizer[0] == passes.optimizer[1] > 0,
        kernels=Counter({name: n for name, n in (more + fewer).items() if sort_of[name] == KERNEL}),
    )


def _other_precision(gone: Counter[str], came: Counter[str], sort_of: Mapping[str, int]) -> bool:
    """Whether kernels that multiply matrices compute in another precision."""
    sides = [
        {precision(name) for name in side if sort_of[name] == KERNEL and _GEMM.search(name)}
        - {None}
        for side in (gone, came)
    ]
    return bool(sides[0] and sides[1] and not sides[0] & sides[1])


def _is_loop(change: CallChange, found: ProgramDifference, passes: _Passes) -> bool:
    """Whether one operator comes or went many times in one place, and comes anyway."""
    most = Counter(change.added or change.removed).most_common(1)
    if not most or most[0][1] < _MANY:
        return False
    columns = [at for at, name in enumerate(passes.names) if name == most[0][0]]
    fewest = min(float(mean[0, columns].sum()) for mean in found.means)
    return fewest > 0 and len(set(change.added or change.removed)) <= _FEW_SORTS


def _cause(facts: _Facts) -> str:
    return str(next(row["cause"] for row in _rows() if _fits(row, facts)))


def _fits(row: Mapping[str, Any], facts: _Facts) -> bool:
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
        **{
            name: partial(_equals, getattr(facts, name))
            for name in ("backward", "inner", "again", "precision", "replaced", "many")
        },
        "optimizer_once": partial(_equals, facts.optimizer_once),
    }
    return all(test(row[key]) for key, test in tests.items() if key in row)


def _equals(fact: bool, value: bool) -> bool:  # noqa: FBT001 - it is what is compared
    return fact == value


def _absorbed(
    causes: Sequence[str], facts: Sequence[_Facts], weights: Sequence[float]
) -> list[str]:
    """Causes of which others are consequences stand for those as well, unless they are slight."""
    found = list(causes)
    for row in _rows():
        cause, below, anywhere = row["cause"], row.get("absorbs", ()), row.get("with", ())
        others = [
            at
            for at, (one, fact) in enumerate(zip(found, facts, strict=True))
            for over in [below if fact.inner or fact.backward else anywhere]
            if one in over or "*" in over
        ]
        own = sum(weights[at] for at, one in enumerate(found) if one == cause)
        rest = sum(weights[at] for at in others if found[at] != _CHOICE)
        if cause in found and own >= _LEAST_OWN * rest:
            for at in others:
                found[at] = cause
    return found


def _edit(
    found: ProgramDifference, cause: str, facts: Sequence[_Facts], passes: _Passes
) -> ProgramEdit:
    names, sorts = passes.names, passes.sorts
    amounts = [found.amounts(one.change) for one in facts]
    own = [_cause(one) == cause for one in facts]
    ordered = sorted(
        range(len(facts)),
        # The backward pass of what was done, or a consequence of it, tells less.
        key=lambda at: (
            facts[at].backward and cause not in _OF_BACKWARD,
            not own[at],
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
    call = _telling(lead, patterns)
    means = [
        float(sum(mean[0, at] for at, name in enumerate(names) if name == call))
        for mean in found.means
    ]
    total = np.sum(amounts, axis=0)
    return ProgramEdit(
        cause,
        _sentence(lead),
        place_of(lead.change, backward=lead.backward),
        call,
        means[0],
        means[1],
        float(total[2]),
        float(total[1]),
        _net(found, facts, sorts, (KERNEL, COPY)),
        _net(found, facts, sorts, (WAIT,)),
        float(total[3]),
        (
            *_counted_calls(found, [facts[at] for at in ordered], names, sorts),
            *(
                Evidence("program", _told_change(facts[at].change))
                for at in ordered[:_MOST_EVIDENCE]
            ),
        ),
    )


_OF_BACKWARD = frozenset({"recomputation", "debug_mode", "gradient_handling"})


def _net(
    found: ProgramDifference, facts: Sequence[_Facts], sorts: Sequence[int], which: Sequence[int]
) -> float:
    total = 0.0
    for one in facts:
        for sign, counts in ((1, one.change.came), (-1, one.change.gone)):
            total += (
                one.change.frequency
                * sign
                * sum(often for site, often in counts.items() if sorts[found.row[site]] in which)
            )
    return total


def _telling(lead: _Facts, patterns: Sequence[re.Pattern[str]]) -> str:
    """The name that tells an edit: one its cause looks for, else that of an outermost call."""
    moved = lead.came + lead.gone
    for pattern in patterns:
        named = [name for name, _ in moved.most_common() if pattern.search(name)]
        if named:
            return named[0]
    change = lead.change
    outermost = Counter(change.added or change.removed)
    return outermost.most_common(1)[0][0] if outermost else ""


def _sentence(lead: _Facts) -> str:
    """What came, went or was replaced, and at how many places."""
    change = lead.change
    added, removed = (_calls_told(side, 4) for side in (change.added, change.removed))
    told_kind = _KINDS.get(change.kind)
    if told_kind is not None:
        less = "no longer " if removed else ""
        return told_kind.format(
            one=change, these=added or removed, less=less, often=change.factor or 1
        )
    if change.repeats != (0, 0):
        base, new = change.repeats
        layers = "One more layer" if new == base + 1 else "Other number of layers"
        layers = "One layer less" if new == base - 1 else layers
        return f"{layers}: {added or removed} come {base} → {new} times"
    where = f" at {change.places} of {change.of_places} places" if change.places > 1 else ""
    if added and removed:
        return f"{added} instead of {removed}{where}"
    return f"{added or removed} {'added' if added else 'removed'}{where}"


_KINDS = {
    "shapes": "The same calls with other shapes, {often:.3g} times as much work",
    "types": "The same calls with other types",
    "variants": "Other variants of {these}",
    "repeated": "A cycle does its work {often:.3g} times as often",
    "cycles": "One cycle in {often:.0f} {less}runs {these} as well",
    "frequency": "One cycle in {one.of_places} instead of one in {one.places} runs {these}",
}
"""What is said of changes that are not at single places."""


def _calls_told(calls: Sequence[str], most: int) -> str:
    """Calls as people say them, each once with how often it comes."""
    often = Counter(map(told, calls))
    return listed([name if many == 1 else f"{many} x {name}" for name, many in often.items()], most)


_TELLING = (WAIT, ALLOCATOR, OPERATOR, ANNOTATION, COPY, KERNEL)
"""Sorts of calls whose numbers tell an edit, those that tell most first."""


def _counted_calls(
    found: ProgramDifference, facts: Sequence[_Facts], names: Sequence[str], sorts: Sequence[int]
) -> Iterator[Evidence]:
    """Names that come more or less often, and how often on both sides."""
    moved = sum((one.came + one.gone for one in facts), Counter[str]())
    sort_of = {name: sort for name, sort in zip(names, sorts, strict=True) if name in moved}
    ranked = sorted(
        (name for name in moved if sort_of[name] in _TELLING),
        key=lambda name: (_TELLING.index(sort_of[name]), -moved[name]),
    )
    columns: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        if name in moved:
            columns.setdefault(name, []).append(at)
    for name in ranked[:_MOST_EVIDENCE]:
        base, new = (float(mean[0, columns[name]].sum()) for mean in found.means)
        text = f"{told(name)}: {from_to(per_cycle(base), per_cycle(new))} calls per cycle"
        recorded = found.sites["recorded"][columns[name][0]]
        yield Evidence("calls", text, function=recorded, unit="calls per cycle", base=base, new=new)


def _told_change(change: CallChange) -> str:
    """One change of calls as evidence."""
    base, new = (sum(side.values()) for side in (change.gone, change.came))
    where = place_of(change, backward=False)
    names = [
        f"{sign}{told(name)}" + (f" x {often}" if often > 1 else "")
        for sign, side in (("-", change.removed), ("+", change.added))
        for name, often in Counter(side).items()
    ]
    return f"{where}: {listed(names, 8)} ({change.places} places, calls {base} -> {new})"


def told(name: str) -> str:
    """A call or kernel as people say it."""
    return told_name(name.removeprefix(_ENGINE))


def place_of(change: CallChange, *, backward: bool) -> str:
    """Where in the program a change is, as far as was recorded."""
    if change.kind in _OF_KINDS:
        return "in a kind of cycle of its own"
    if change.kind in _EVERYWHERE:
        some = change.of_places > 1
        return f"{change.places} of {change.of_places} calls" if some else "all of it"
    # Lines of calls that wait come last, and say most.
    line = f" ({listed(list(change.lines[::-1]), 2)})" if change.lines else ""
    return f"{_path_of(change, backward=backward)}{line}"


def _path_of(change: CallChange, *, backward: bool) -> str:
    """Calls around a change, modules first; else those before and after it."""
    where = "in the backward pass" if backward else "in the cycle"
    inside = [told(name) for name in change.inside if not name.startswith(_ENGINE)]
    if change.modules:
        # Layers that do the same are one place, each by its number where it is the only one.
        several = len(change.modules) > 1
        layers = [_LAYER.sub(".*", one) if several else one for one in change.modules]
        inside = [listed(list(dict.fromkeys(layers)), 2), *inside]
    if inside:
        first = inside[:1] if change.modules else []
        left = len(inside) - len(first) > _DEEPEST
        path = " > ".join([*first, *["…"] * left, *inside[len(first) :][-_DEEPEST:]])
        return f"{where}, in {path}" if backward else f"in {path}"
    ends = [told(name) for name in (change.before, change.after) if name]
    if len(ends) == 2:
        return f"{where}, between {ends[0]} and {ends[1]}"
    if ends:
        return f"{where}, {'after' if change.before else 'before'} {ends[0]}"
    return where


_LAYER = re.compile(r"\.\d+(?=\.|$)")
_OF_KINDS = frozenset({"cycles", "frequency"})
_EVERYWHERE = frozenset({"shapes", "types", "variants", "repeated", *_OF_KINDS})
