"""What is asked of one change between two programs before its meaning is named: `edits.toml`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from timesink.comparison.causes.device import FULL_PRECISION, precision
from timesink.comparison.program.alignment import CallChange
from timesink.comparison.program.calls import COPY, KERNEL, OPERATOR, SORTS, WAIT
from timesink.comparison.program.edits import ProgramDifference
from timesink.comparison.thresholds import EditFactsLimits
from timesink.patterns import regex

OF_KINDS = frozenset({"cycles", "frequency"})
"""Changes that are cycles of a kind."""
EVERYWHERE = frozenset({"shapes", "uneven", "types", "variants", "repeated", *OF_KINDS})
"""Changes that are not at single places."""
_BACKWARD = regex(r"^autograd::engine|Backward\d*$")
_NO_WORK = regex(
    r"^autograd::engine|Backward\d*$|::(?:_?(?:unsafe_)?view\w*|_?reshape\w*|clone|contiguous|copy_"
    r"|_?to(?:_copy)?|empty\w*|new_\w+|zeros\w*|ones\w*|fill_|resize_|expand\w*|transpose|permute|t"
    r"|as_strided|slice|select|narrow|(?:un)?squeeze|detach_?|alias)$"
)
"""Calls that both passes make all over: views, copies, fresh memory."""
_MATRIX = regex(
    r"::(?:_?scaled_)?(?:linear|addmm|mm|bmm|baddbmm|matmul|_?conv|cudnn_conv|einsum)"
    r"|GraphLaunch|Torch-Compiled Region|CompiledFxGraph"
)
_COMPILED = regex(
    r"Torch-Compiled Region|CompiledFxGraph|CompiledFunction|TorchDynamo"
    r"|^triton_(?:poi|red|per|for|tem|spl)_"
)
"""Regions that a compiler made, and kernels that it generated."""
_READS = regex(r"^aten::(?:item|_local_scalar_dense|is_nonzero|nonzero)$")
"""Operators that give a value, or a size, to the host."""
MULTIPLIES = regex(r"gemm|nvjet|cutlass|conv|xmma|wgrad|dgrad|Cijk|matmul|mma", re.IGNORECASE)
_MANY, _FEW_SORTS = 8, 4
"""Calls of one operator in one place, and of how many others at most, that are a loop."""


class ChangeFacts(msgspec.Struct, frozen=True, eq=False):
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
    compiled: bool
    layers: bool
    resized: bool
    reads: bool
    host_only: bool
    more_of_same: bool
    """Whether all of it are calls that both programs make, more or fewer of them."""
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


class ProgramPasses(msgspec.Struct, frozen=True, eq=False):
    """Which operators the passes of both programs are made of."""

    names: Sequence[str]
    sorts: Sequence[int]
    forward_only: tuple[frozenset[str], frozenset[str]]
    """Of each side: operators of the forward pass that the backward pass does not have."""
    optimizer: tuple[float, float]
    compiled: bool
    """Whether one of the programs alone has compiled code."""

    @classmethod
    def of(cls, program_difference: ProgramDifference) -> ProgramPasses:
        names, sorts = (
            program_difference.sites["name"].to_list(),
            program_difference.sites["sort"].to_list(),
        )
        tops = list(_outermost(program_difference))
        sides = []
        for mean in program_difference.means:
            passes: tuple[set[str], set[str]] = (set(), set())
            for at, (name, sort, top) in enumerate(zip(names, sorts, tops, strict=True)):
                if sort == OPERATOR and mean[0, at] > 0 and not _NO_WORK.search(name):
                    passes[bool(_BACKWARD.search(top))].add(name)
            sides.append(frozenset(passes[0] - passes[1]))
        steps = [at for at, name in enumerate(names) if name.startswith("Optimizer.step")]
        often = [float(mean[0, steps].sum()) for mean in program_difference.means]
        regions = [at for at, name in enumerate(names) if _COMPILED.search(name)]
        compiled = [bool(mean[0, regions].any()) for mean in program_difference.means]
        return cls(
            names, sorts, (sides[0], sides[1]), (often[0], often[1]), compiled[0] != compiled[1]
        )


def change_facts(
    program_difference: ProgramDifference, change: CallChange, passes: ProgramPasses
) -> ChangeFacts:
    row, names, sorts = program_difference.row, passes.names, passes.sorts
    came, gone = Counter[str](), Counter[str]()
    for target, counts in ((came, change.came), (gone, change.gone)):
        for site, often in counts.items():
            target[names[row[site]]] += often
    sort_of = {names[row[site]]: sorts[row[site]] for site in (*change.came, *change.gone)}
    more, fewer = came - gone, gone - came
    around = change.inside[-1] if change.inside else ""
    named = (*change.inside, *change.added, *change.removed)
    backward = change.kind not in EVERYWHERE and any(map(_BACKWARD.search, named))
    operators = [
        {name for name in side if sort_of[name] == OPERATOR and not _BACKWARD.search(name)}
        for side in (more, fewer)
    ]
    # What a side does anew in its backward pass is what the other does in its forward pass alone.
    again = [len(operators[0] & passes.forward_only[0]), len(operators[1] & passes.forward_only[1])]
    return ChangeFacts(
        change,
        more,
        fewer,
        frozenset(SORTS[sort_of[name]] for name in (*more, *fewer)),
        backward=backward,
        inner="::" in around and not _BACKWARD.search(around),
        again=backward and max(again) >= EditFactsLimits.min_again,
        precision=(
            any(map(_MATRIX.search, change.inside)) and _other_precision(gone, came, sort_of)
        )
        or _is_full_precision_alone(change, program_difference, passes),
        replaced=all(operators),
        many=_is_loop(change, program_difference, passes),
        compiled=passes.compiled and any(map(_COMPILED.search, (*more, *fewer))),
        layers=change.repeats != (0, 0)
        and not any(name.startswith("Optimizer.") for name in change.inside),
        resized=change.site in program_difference.resized,
        reads=_reads_device(change, program_difference, passes),
        host_only=program_difference.has_device
        and not {WAIT, COPY, KERNEL} & {sort_of[name] for name in (*more, *fewer)},
        more_of_same=_is_more_of_same(change, program_difference),
        optimizer_once=passes.optimizer[0] == passes.optimizer[1] > 0,
        kernels=Counter({name: n for name, n in (more + fewer).items() if sort_of[name] == KERNEL}),
    )


def _other_precision(gone: Counter[str], came: Counter[str], sort_of: Mapping[str, int]) -> bool:
    """Whether kernels that multiply matrices compute in another precision."""
    sides = [
        {precision(name) for name in side if sort_of[name] == KERNEL and MULTIPLIES.search(name)}
        - {None}
        for side in (gone, came)
    ]
    return bool(sides[0] and sides[1] and not sides[0] & sides[1])


def _is_full_precision_alone(
    change: CallChange, difference: ProgramDifference, passes: ProgramPasses
) -> bool:
    """Whether products of matrices came or went, in full precision all, and few others are.

    Of a change that brings products and takes none, or takes some and brings none.
    """
    columns = {
        place
        for place, (name, sort) in enumerate(zip(passes.names, passes.sorts, strict=True))
        if sort == KERNEL and MULTIPLIES.search(name) and precision(name) is not None
    }
    sides = [
        {difference.row[site] for site in side} & columns for side in (change.gone, change.came)
    ]
    moved = sides[0] | sides[1]
    if change.kind in EVERYWHERE or all(sides) or not moved:
        return False
    if not all(precision(passes.names[column]) in FULL_PRECISION for column in moved):
        return False
    narrow, full = 0.0, 0.0
    for column in columns - moved:
        time = float(difference.means[0][2, column] + difference.means[1][2, column])
        if precision(passes.names[column]) in FULL_PRECISION:
            full += time
        else:
            narrow += time
    return narrow > full


def _is_loop(
    change: CallChange, program_difference: ProgramDifference, passes: ProgramPasses
) -> bool:
    """Whether one operator comes or went many times in one place, and comes anyway."""
    most = Counter(change.added or change.removed).most_common(1)
    if not most or most[0][1] < _MANY:
        return False
    columns = [at for at, name in enumerate(passes.names) if name == most[0][0]]
    fewest = min(float(mean[0, columns].sum()) for mean in program_difference.means)
    return fewest > 0 and len(set(change.added or change.removed)) <= _FEW_SORTS


def _reads_device(
    change: CallChange, program_difference: ProgramDifference, passes: ProgramPasses
) -> bool:
    """Whether calls that read a value wait for the device or copy from it: on a CPU they do not."""
    row, parents = program_difference.row, program_difference.sites["parent"].to_list()
    for site in {*change.came, *change.gone}:
        if passes.sorts[row[site]] in {WAIT, COPY}:
            above = row.get(parents[row[site]])
            while above is not None:
                if _READS.search(passes.names[above]):
                    return True
                above = row.get(parents[above])
    return False


def _is_more_of_same(change: CallChange, program_difference: ProgramDifference) -> bool:
    """Whether calls only came or only went, all of which the other program makes as well."""
    if bool(change.came) == bool(change.gone):
        return False
    other = program_difference.means[0 if change.came else 1]
    return all(other[0, program_difference.row[site]] > 0 for site in change.came or change.gone)


def _outermost(program_difference: ProgramDifference) -> Iterator[str]:
    """The name of the outermost call above each site."""
    place, parents = program_difference.row, program_difference.sites["parent"].to_list()
    names = program_difference.sites["name"].to_list()
    for row in range(len(names)):
        at = row
        while parents[at] in place:
            at = place[parents[at]]
        yield names[at]
