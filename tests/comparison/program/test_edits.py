"""The difference of two programs: a planted edit is found, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from call_trees import Call, kernel, op, program, program_range, runtime
from timesink.comparison.causes.diagnosis import program_change
from timesink.comparison.program.alignment import CallChange, even_period
from timesink.comparison.program.edits import call_tree, difference
from timesink.model.diagnosis import ProgramChange, ProgramEdit

CYCLES = 3
US = 1_000

# -- random programs, and one edit of each ---------------------------------------------------------

_NAMES = st.sampled_from("abcdef")
_FRESH = op("aten::fresh", op("aten::inner", kernel("fresh_kernel", 17)), us=5)


@st.composite
def calls(draw: st.DrawFn, depth: int = 2) -> Call:
    """An operator with what it calls and launches."""
    name = f"aten::{draw(_NAMES)}{depth}"
    inner = draw(st.lists(calls(depth - 1), max_size=2)) if depth else []
    # Calls of one name take as long: which of them came or went cannot be told apart.
    work = [kernel(f"kernel_{name[6:]}", ord(name[6]) - 90)] if draw(st.booleans()) else []
    return op(name, *inner, *work, us=ord(name[6]) - 97, shapes="[[4, 4]]")


@dataclass(frozen=True)
class Model:
    """A cycle: calls, a layer so many times, calls."""

    first: tuple[Call, ...]
    layer: tuple[Call, ...]
    layers: int
    last: tuple[Call, ...]
    named: bool
    """Whether a range of the program holds each layer."""

    @property
    def cycle(self) -> list[Call]:
        layers = [[program_range(f"layer {at}", *self.layer)] for at in range(self.layers)]
        flat = [call for layer in layers for call in (layer if self.named else self.layer)]
        return [*self.first, *flat, *self.last]


_few = st.lists(calls(), min_size=1, max_size=3).map(tuple)
models = st.builds(
    Model,
    first=_few.map(lambda few_calls: (op("aten::begin"), *few_calls)),
    layer=_few,
    layers=st.integers(2, 4),
    last=_few.map(lambda few_calls: (*few_calls, op("aten::end"))),
    named=st.booleans(),
)


@dataclass(frozen=True)
class Edited:
    """Two programs of which one edit is known."""

    base: Sequence[Call]
    new: Sequence[Call]
    gone: Counter[str]
    """Calls of a cycle that went, and all below, by name."""
    came: Counter[str]


def names(call: Call) -> Counter[str]:
    return sum(map(names, call.calls), Counter({call.name: 1}))


def times(often: int, calls: Counter[str]) -> Counter[str]:
    return Counter({name: often * many for name, many in calls.items()})


def at_a_node(call: Call, place: int, edit: Callable[[Call], Call]) -> Call:
    """A tree with one of its calls, in pre-order, replaced."""
    if place == 0:
        return edit(call)
    place -= 1
    inner = list(call.calls)
    for at, child in enumerate(inner):
        if place < len(child):
            inner[at] = at_a_node(child, place, edit)
            break
        place -= len(child)
    return replace(call, calls=tuple(inner))


def _is_operator(call: Call, place: int) -> bool:
    seen: list[Call] = []
    at_a_node(call, place, lambda node: (seen.append(node), node)[1])
    return seen[0].kind == "operator"


@st.composite
def inserted_calls(draw: st.DrawFn) -> Edited:
    """A call that was nowhere, in every layer, at any depth."""
    model = draw(models)
    at = draw(st.integers(0, len(model.layer) - 1))
    places = [
        candidate
        for candidate in range(len(model.layer[at]))
        if _is_operator(model.layer[at], candidate)
    ]
    place = draw(st.sampled_from([-1, *places]))
    if place < 0:
        layer = (*model.layer[:at], _FRESH, *model.layer[at:])
    else:
        first = draw(st.booleans())
        edited = at_a_node(
            model.layer[at],
            place,
            lambda call: replace(
                call, calls=(_FRESH, *call.calls) if first else (*call.calls, _FRESH)
            ),
        )
        layer = (*model.layer[:at], edited, *model.layer[at + 1 :])
    new = replace(model, layer=layer)
    return Edited(model.cycle, new.cycle, Counter(), times(model.layers, names(_FRESH)))


@st.composite
def added_once(draw: st.DrawFn) -> Edited:
    """A call at one place of the cycle, with a wait below it."""
    model = draw(models)
    at = draw(st.integers(0, len(model.last)))
    fresh = op("aten::fresh", runtime("cudaStreamSynchronize"))
    new = replace(model, last=(*model.last[:at], fresh, *model.last[at:]))
    return Edited(model.cycle, new.cycle, Counter(), names(fresh))


@st.composite
def replaced_calls(draw: st.DrawFn) -> Edited:
    """Another call instead of one, in every layer."""
    model, old = draw(models), replace(draw(calls()), name="aten::old")
    at = draw(st.integers(0, len(model.layer)))
    base, new = (
        replace(model, layer=(*model.layer[:at], call, *model.layer[at:])) for call in (old, _FRESH)
    )
    return Edited(
        base.cycle, new.cycle, times(model.layers, names(old)), times(model.layers, names(_FRESH))
    )


@st.composite
def another_kernel(draw: st.DrawFn) -> Edited:
    """Another kernel below an equal operator."""
    model = draw(models)
    layers = [
        (*model.layer, op("aten::mm", op("aten::_mm", kernel(name, us))))
        for name, us in (("old_gemm", 20), ("new_gemm", 13))
    ]
    base, new = (replace(model, layer=layer) for layer in layers)
    return Edited(
        base.cycle,
        new.cycle,
        Counter({"old_gemm": model.layers}),
        Counter({"new_gemm": model.layers}),
    )


@st.composite
def another_layer(draw: st.DrawFn) -> Edited:
    """A layer more: of five calls of three sorts at least, as people would call one."""
    model = draw(models)
    parts = [op(f"aten::part{at}", kernel(f"k{at}")) for at in range(5)]
    layer = (*parts[:3], *model.layer, *parts[3:])
    base = replace(model, layer=layer, named=False)
    new = replace(base, layers=model.layers + 1)
    return Edited(base.cycle, new.cycle, Counter(), sum(map(names, layer), Counter[str]()))


planted = st.one_of(
    inserted_calls(), added_once(), replaced_calls(), another_kernel(), another_layer()
)


def change(base: Sequence[Call], new: Sequence[Call]) -> ProgramChange:
    return program_change(program([base] * CYCLES), program([new] * CYCLES))


def moved_names(
    call_change: CallChange, sites: dict[int, str]
) -> tuple[Counter[str], Counter[str]]:
    """Names of the calls that went and came, with how many."""
    gone, came = Counter[str](), Counter[str]()
    for counter, counts in ((gone, call_change.gone), (came, call_change.came)):
        for site, often in counts.items():
            counter[sites[site]] += often
    return gone, came


# -- properties ------------------------------------------------------------------------------------


@given(planted)
def test_an_edit_is_found_alone_and_whole_all_adds_up_and_either_way_round(edited: Edited):
    base, new = (program([side] * CYCLES) for side in (edited.base, edited.new))
    program_difference = difference(base, new)
    sites = dict(
        zip(program_difference.sites["site"], program_difference.sites["name"], strict=True)
    )
    assert [moved_names(call_change, sites) for call_change in program_difference.changes] == [
        (edited.gone, edited.came)
    ]
    forward = program_change(base, new)
    assert len(forward.edits) == 1
    took = [sum(_times(side, "kernel")) for side in (edited.base, edited.new)]
    assert forward.device_ns == (took[1] - took[0]) * US
    assert sum(edit.device_ns for edit in forward.edits) == pytest.approx(
        forward.device_ns, abs=1e-6
    )
    assert forward.same_device_ns == pytest.approx(0, abs=1e-6)
    host_ns = sum(edit.host_ns for edit in forward.edits)
    assert host_ns + forward.same_host_ns == pytest.approx(forward.host_ns, abs=1e-6)
    back = program_change(new, base)
    assert [plain(edit, -1) for edit in back.edits] == list(map(plain, forward.edits))
    assert back.device_ns == -forward.device_ns
    assert back.host_ns == -forward.host_ns
    assert back.same_host_ns == pytest.approx(-forward.same_host_ns, abs=1e-6)


def _times(calls: Sequence[Call], kind: str) -> list[int]:
    return [
        us
        for call in calls
        for us in ([call.us] if call.kind == kind else []) + _times(call.calls, kind)
    ]


def plain(edit: ProgramEdit, sign: int = 1) -> tuple[object, ...]:
    amounts = (edit.device_ns, edit.host_ns, edit.launches, edit.waits, edit.bytes)
    return edit.cause, edit.place, [round(sign * amount, 6) + 0.0 for amount in amounts]


@given(models, st.integers(1, 9))
def test_equal_programs_have_no_edit_however_long_calls_take(model: Model, slower: int):
    def longer(call: Call) -> Call:
        return replace(call, us=call.us + slower, calls=tuple(map(longer, call.calls)))

    result = change(model.cycle, list(map(longer, model.cycle)))
    assert result.same
    assert result.same_device_ns == result.device_ns
    assert set(result.calls["state"]) == {"same"}


@given(models, st.data())
def test_what_varies_from_cycle_to_cycle_is_no_edit(model: Model, data: st.DataObject):
    often = st.lists(st.integers(1, 3), min_size=6, max_size=6)
    drawn = [1, 3, *data.draw(often)]
    sides = [drawn, data.draw(st.permutations(drawn))]
    assume(not any(map(_is_even, sides)))
    expert = op("aten::expert", kernel("expert_gemm", 5))
    base, new = (program([[*model.cycle * 3, *[expert] * many] for many in side]) for side in sides)
    result = program_change(base, new)
    assert result.same


def _is_even(side: Sequence[int]) -> bool:
    """Whether cycles with so many calls come at one distance: those are a kind."""
    places = [[at for at, many in enumerate(side) if many == count] for count in set(side)]
    return any(
        len({b - a for a, b in pairwise(positions)}) == 1
        for positions in places
        if len(positions) > 1
    )


# -- literal ones ----------------------------------------------------------------------------------

MM = op("aten::mm", kernel("gemm"), shapes="[[8, 8]]", types='["float"]')
RELU = op("aten::relu", kernel("clamp", 3), shapes="[[8, 8]]", types='["float"]')
NORM = op("aten::norm", kernel("reduce", 4))


def only(base: Sequence[Call], new: Sequence[Call]) -> CallChange:
    program_difference = difference(program([base] * CYCLES), program([new] * CYCLES))
    (call_change,) = program_difference.changes
    return call_change


def test_an_edit_says_between_which_calls_it_is():
    call_change = only([MM, RELU], [MM, NORM, RELU])
    assert (call_change.removed, call_change.added, call_change.before, call_change.after) == (
        (), ("aten::norm",), "aten::mm", "aten::relu",
    )  # fmt: skip


def test_an_edit_of_every_layer_is_one_with_its_places():
    layers = [program_range(f"layer {at}", MM, RELU) for at in range(5)]
    edited = [program_range(f"layer {at}", MM, NORM, RELU) for at in range(5)]
    call_change = only(layers, edited)
    assert (call_change.inside, call_change.added, call_change.places) == (
        ("layer #",),
        ("aten::norm",),
        5,
    )


def test_a_kernel_below_an_equal_operator():
    call_change = only([MM, RELU], [replace(MM, calls=(kernel("other"),)), RELU])
    assert (call_change.kind, call_change.inside, call_change.removed, call_change.added) == (
        "kernels", ("aten::mm",), ("gemm",), ("other",),
    )  # fmt: skip


@pytest.mark.parametrize(("base", "new"), [(3, 4), (4, 3), (6, 7), (4, 6), (5, 2)])
def test_layers_are_counted(base: int, new: int):
    layer = [MM, RELU, NORM, op("aten::add"), op("aten::mul")]
    call_change = only([op("aten::begin"), *layer * base], [op("aten::begin"), *layer * new])
    assert call_change.repeats == (base, new)
    assert len(call_change.added or call_change.removed) == 5 * abs(new - base)


def test_calls_that_only_moved_are_no_edit():
    call_change = difference(program([[MM, RELU, NORM]] * 3), program([[NORM, MM, RELU]] * 3))
    assert call_change.same


@pytest.mark.parametrize(
    ("kind", "more"), [("shapes", {"shapes": "[[16, 8]]"}), ("types", {"types": '["half"]'})]
)
def test_other_shapes_and_types_of_equal_calls(kind: str, more: dict[str, str]):
    call_change = only([MM, RELU], [replace(MM, **more), replace(RELU, **more)])
    assert call_change.kind == kind
    assert call_change.gone == call_change.came


def test_a_cycle_that_does_its_work_twice():
    cycle = [MM, RELU, NORM, op("aten::add"), op("aten::mul")]
    call_change = only([*cycle, op("Optimizer.step")], [*cycle * 2, op("Optimizer.step")])
    assert (call_change.kind, call_change.factor) == ("repeated", 2.0)


def test_a_kind_of_cycles_that_only_one_side_has():
    cycles = [[MM, RELU] * 3] * 12
    logs = [[*cycle, NORM, NORM, NORM] if at % 4 == 3 else cycle for at, cycle in enumerate(cycles)]
    program_difference = difference(program(cycles), program(logs))
    (call_change,) = program_difference.changes
    assert (call_change.kind, call_change.factor, call_change.frequency, call_change.added) == (
        "cycles", 4.0, 0.25, ("aten::norm",),
    )  # fmt: skip
    back = difference(program(logs), program(cycles)).changes
    assert [(two.kind, two.removed) for two in back] == [("cycles", ("aten::norm",))]


def test_a_kind_of_cycles_that_comes_more_often():
    def logging(every: int) -> list[list[Call]]:
        return [[*[MM, RELU] * 3, *[NORM] * (3 if at % every == 0 else 0)] for at in range(12)]

    (call_change,) = difference(program(logging(6)), program(logging(3))).changes
    assert (call_change.kind, call_change.places, call_change.of_places, call_change.added) == (
        "frequency", 6, 3, ("aten::norm",),
    )  # fmt: skip


def test_both_programs_are_one_tree_folded_where_they_are_equal():
    base = program([[program_range("block", MM, RELU), RELU]] * 3)
    new = program([[program_range("block", MM, NORM), RELU]] * 3)
    tree = call_tree(difference(base, new), base, new)
    tree_rows = tree.select("depth", "name", "state", "folded").rows()
    # Below what is equal, came or went as a whole, rows are there to be unfolded.
    assert [row for row in tree_rows if row[1].startswith(("aten::", "block"))] == [
        (0, "block", "changed", 0),
        (1, "aten::mm", "same", 1),
        (1, "aten::relu", "removed", 1),
        (1, "aten::norm", "added", 1),
        (0, "aten::relu", "same", 1),
    ]
    block = tree.row(0, named=True)
    assert (block["base_device_ns"], block["new_device_ns"]) == (13_000, 14_000)


@pytest.mark.parametrize(
    ("rows", "period"),
    [([3, 7, 11], 4), ([0, 6], 6), ([11, 13], None), ([0, 2], None), ([4, 5], None), ([5], None)],
)
def test_a_period_is_kept_from_the_first_cycle_to_the_last(rows: list[int], period: int | None):
    assert even_period(np.array(rows), 12) == period


def test_a_kind_that_only_one_side_has_is_no_edit_where_the_other_calls_as_much():
    often = [[1, 3] * 7, [1, 3, 2, 3] * 3 + [1, 3]]
    base, new = (program([[MM, RELU] * 2 + [NORM] * many for many in side]) for side in often)
    program_difference = difference(base, new)
    assert [len(kinds) for kinds in program_difference.kinds] == [2, 3]
    assert program_difference.same
