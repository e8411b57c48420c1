"""Equal calls of two programs that differ in shapes, types or geometry: what sizes tell of work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from timesink.analyses.names import multiplies_matrices
from timesink.comparison.program.alignment import CallChange, CountedCycles, SiteNames, ranges
from timesink.comparison.program.calls import KERNEL, OPERATOR, Program
from timesink.comparison.thresholds import SizesLimits
from timesink.model.intervals import Flags, Floats, Ints

_SOME_RESIZED, _MIN_RESIZED = 0.1, 3
"""Part of the operators or kernels, and how many at least, of which all differ in size that much:
attention alone is about that part of a model."""


def resized_operators(base: Program, new: Program) -> frozenset[int]:
    """Operators of both programs whose inputs are clearly larger or smaller, as sites."""
    return frozenset(site for site, ratio in _size_ratios(base, new).items() if _is_resized(ratio))


def _is_resized(ratio: float) -> bool:
    return ratio > 0 and max(ratio, 1 / ratio) >= SizesLimits.clearly_resized


def _size_ratios(base: Program, new: Program) -> dict[int, float]:
    """How many times as large the inputs of operators are in their first calls, where known."""
    sides = []
    for program in (base, new):
        rows = program.sites.filter(program.sites["sort"] == OPERATOR)
        sides.append(dict(zip(rows["site"].to_list(), rows["shapes"].to_list(), strict=True)))
    ratios = {}
    for site in sides[0].keys() & sides[1].keys():
        before, after = _elements(sides[0][site]), _elements(sides[1][site])
        if before and after:
            ratios[site] = after / before
    return ratios


@lru_cache(maxsize=4096)
def _elements(shapes: str | None) -> int:
    """How many numbers the tensors of a list of shapes hold together; 0 where none is known."""
    try:
        listed = msgspec.json.decode(shapes or "[]")
    except msgspec.DecodeError:
        return 0
    return _numbers_in(listed) if isinstance(listed, list) else 0


def _numbers_in(shape: list[Any]) -> int:
    if shape and all(isinstance(size, int) for size in shape):
        return prod(shape)
    return sum(_numbers_in(inner) for inner in shape if isinstance(inner, list))


def details(
    base: CountedCycles,
    new: CountedCycles,
    names: SiteNames,
    equal: Flags,
    changes: Sequence[CallChange],
) -> Iterator[CallChange]:
    """Shapes, types and geometry of equal calls: what most of them differ in, as one change.

    Where other calls were `changes` to differ too, only other sizes are told: of most, or such that
    no cycle of the other side comes near.
    """
    is_only_change = not changes
    sort = names.table["sort"].to_numpy()
    work = equal & (sort >= KERNEL)
    if base.program.typed and new.program.typed:
        operators = equal & (sort == OPERATOR)
        columns = _steadily_other(base.shape, new.shape, operators)
        if len(columns) and (
            is_only_change or len(columns) > SizesLimits.max_resized * operators.sum()
        ):
            kind = _typed_kind(base, new, names, columns)
            retyped = _detail_change(base, new, names, columns, kind)
            # Operators that also come more or less often are given other sizes as well.
            ratios = _input_ratios(base, new, names).tolist()
            grown = [place for place, ratio in enumerate(ratios) if _is_resized(ratio)]
            device = _launched_by({*columns.tolist(), *grown}, names)
            yield _with_device_work(retyped, device, (base, new), names, changes)
            return
    same = (base.variant == base.variant[0]).all(axis=0) & (new.variant == base.variant[0]).all(
        axis=0
    )
    resized = np.union1d(_apart(base.blocks, new.blocks, work), _apart(base.bytes, new.bytes, work))
    most = max(1, int((work & (base.blocks[0] > 0)).sum()))
    if len(resized) > SizesLimits.max_resized * most:
        # Not every grid tells of sizes: libraries choose how products and reductions are cut.
        device = np.flatnonzero((sort >= KERNEL) & ~_in_optimizer(names))
        sized = _detail_change(base, new, names, resized, "shapes")
        yield _with_device_work(sized, device, (base, new), names, changes)
        return
    other_sizes = _uneven_or_resized(base, new, names, equal, changes)
    if other_sizes is not None:
        yield other_sizes
        return
    other = np.flatnonzero(work & ~same)
    for columns, kind in ((np.flatnonzero(np.isin(np.arange(len(same)), resized) & same), "shapes"),
                          (other, "variants")):  # fmt: skip
        if is_only_change and len(columns):
            change, error = _device_change(base, new, columns)
            least = SizesLimits.min_variant * float(base.device_ns.sum(axis=1).mean())
            if abs(change) > max(3 * error, least):
                yield _detail_change(base, new, names, columns, kind)
                return


def _uneven_or_resized(
    base: CountedCycles,
    new: CountedCycles,
    names: SiteNames,
    equal: Flags,
    changes: Sequence[CallChange],
) -> CallChange | None:
    """Sizes that vary from cycle to cycle on one side only, or that clearly differ; else None.

    Kernels tell by their grids, but for products of matrices: libraries choose how these are cut.
    The sizes of an optimizer are those of its parameters, however large the work is.  Where other
    kernels below equal operators are all that was `changes`, any size outside of these tells why.
    """
    sort = names.table["sort"].to_numpy()
    equal = equal & ~_in_optimizer(names)
    only_kernels = bool(changes) and all(change.kind == "kernels" for change in changes)
    around = {change.site for change in changes}
    apart_from = ~np.isin(names.table["parent"].to_numpy(), list(around))
    launched = np.asarray((base.blocks > 0).all(axis=0) & (new.blocks > 0).all(axis=0))
    sized = equal & (sort == KERNEL) & launched
    sized[[place for place in np.flatnonzero(sized) if multiplies_matrices(names.names[place])]] = (
        False
    )
    shaped = equal & (sort == OPERATOR) & (base.shape != 0).all(axis=0)
    shaped &= base.program.typed and new.program.typed
    groups: tuple[tuple[Flags, NDArray[Any], NDArray[Any]], ...] = (
        (shaped, base.shape, new.shape),
        (sized, base.blocks, new.blocks),
    )
    for which, ours, theirs in groups:
        columns = _one_uneven(ours, theirs, which)
        if len(columns) >= max(_MIN_RESIZED, SizesLimits.max_uneven * which.sum()):
            change = _detail_change(base, new, names, columns, "uneven")
            is_even = bool((theirs == theirs[0])[:, columns].all())
            return replace(change, added=()) if is_even else replace(change, removed=())
    inputs = _input_ratios(base, new, names)
    grids = np.where(sized, new.blocks.mean(axis=0) / np.maximum(base.blocks.mean(axis=0), 1), 1.0)
    apart = np.isin(np.arange(len(sized)), _apart(base.blocks, new.blocks, sized))
    for which, ratios in (
        (equal & (sort == OPERATOR) & ~np.isnan(inputs), inputs),
        (sized, np.where(apart, grids, 1.0)),
    ):
        columns = np.array(
            [place for place in np.flatnonzero(which) if _is_resized(float(ratios[place]))],
            dtype=np.int64,
        )
        least = max(_MIN_RESIZED, _SOME_RESIZED * which.sum())
        if only_kernels:
            columns, least = columns[apart_from[columns]], 1
        if len(columns) >= least:
            change = _detail_change(base, new, names, columns, "shapes")
            return replace(change, factor=float(np.median(ratios[columns])))
    return None


def _in_optimizer(names: SiteNames) -> Flags:
    """Which sites are an optimizer's, in its step or where it clears gradients."""
    paths = (names.path(site) for site in names.table["site"].to_list())
    return np.array([path[:1] != () and path[0].startswith("Optimizer.") for path in paths])


def _input_ratios(base: CountedCycles, new: CountedCycles, names: SiteNames) -> Floats:
    """How many times as large the inputs of every site are; NaN where that is not known."""
    ratios = _size_ratios(base.program, new.program)
    return np.array([ratios.get(site, np.nan) for site in names.table["site"].to_list()])


def _one_uneven(ours: NDArray[Any], theirs: NDArray[Any], which: Flags) -> Ints:
    """Columns in which the cycles of one side are all equal, and those of the other are not."""
    even = [(side == side[0]).all(axis=0) for side in (ours, theirs)]
    return np.flatnonzero(which & (even[0] != even[1]))


def _apart(ours: NDArray[Any], theirs: NDArray[Any], which: Flags) -> Ints:
    """Columns in which amounts per cycle of both sides lie in ranges that do not meet."""
    (low, high), (least, most) = ranges(ours), ranges(theirs)
    return np.flatnonzero(which & ((high < least) | (most < low)))


def _typed_kind(base: CountedCycles, new: CountedCycles, names: SiteNames, columns: Ints) -> str:
    """Whether operators have other types, or only other shapes or scalars."""
    types = [
        dict(zip(side.program.sites["site"], side.program.sites["types"], strict=True))
        for side in (base, new)
    ]
    sites = names.table["site"].gather(columns).to_list()
    retyped = sum(types[0].get(site) != types[1].get(site) for site in sites)
    return "types" if retyped * 2 > len(sites) else "shapes"


def _steadily_other(ours: NDArray[Any], theirs: NDArray[Any], which: Flags) -> Ints:
    """Columns in which every cycle of a side is equal, and the sides are not."""
    steady = (ours == ours[0]).all(axis=0) & (theirs == theirs[0]).all(axis=0)
    return np.flatnonzero(which & steady & (ours[0] != theirs[0]))


def _device_change(base: CountedCycles, new: CountedCycles, columns: Ints) -> tuple[float, float]:
    """What some sites take more per cycle, and how sure that is."""
    sums = [side.device_ns[:, columns].sum(axis=1).astype(np.float64) for side in (base, new)]
    error = sum(float(cycle_sums.var()) / max(1, len(cycle_sums) - 1) for cycle_sums in sums) ** 0.5
    return float(np.median(sums[1]) - np.median(sums[0])), error


def _launched_by(chosen: Collection[int], names: SiteNames) -> Ints:
    """Columns of the device work whose innermost operator is one of some."""
    sorts, columns = names.sorts, []
    for column in np.flatnonzero(names.table["sort"].to_numpy() >= KERNEL).tolist():
        above = names.place.get(names.parents[column])
        while above is not None and sorts[above] != OPERATOR:
            above = names.place.get(names.parents[above])
        if above in chosen:
            columns.append(column)
    return np.array(columns, dtype=np.int64)


def _with_device_work(
    change: CallChange,
    device: Ints,
    sides: tuple[CountedCycles, CountedCycles],
    names: SiteNames,
    changes: Sequence[CallChange],
) -> CallChange:
    """A change of equal calls with device work as its own, as far as no other change has it."""
    sites = names.table["site"].to_numpy()
    claimed: list[Counter[int]] = [Counter(), Counter()]
    for call_change in changes:
        claimed[0].update(call_change.gone)
        claimed[1].update(call_change.came)
    gone, came = change.gone.copy(), change.came.copy()
    for column in device.tolist():
        site = int(sites[column])
        left, right = (
            int(np.median(side.calls[:, column])) - taken[site]
            for side, taken in zip(sides, claimed, strict=True)
        )
        if left == right > 0:
            gone[site], came[site] = left, right
    return replace(change, gone=gone, came=came)


def _detail_change(
    base: CountedCycles, new: CountedCycles, names: SiteNames, columns: Ints, kind: str
) -> CallChange:
    """Equal calls that differ in the same sort of detail, as one change."""
    sort = names.table["sort"].to_numpy()
    often = base.calls[0, columns]
    amounts = [side.blocks[:, columns].sum(axis=1).mean() for side in (base, new)]
    if not all(amounts):
        amounts = [side.blocks.sum(axis=1).mean() for side in (base, new)]
    if not all(amounts):
        amounts = [side.bytes.sum(axis=1).mean() for side in (base, new)]
    inputs = _input_ratios(base, new, names)[columns] if kind == "shapes" else np.empty(0)
    inputs = inputs[[_is_resized(ratio) for ratio in inputs.tolist()]] if len(inputs) else inputs
    if len(inputs):
        amounts = [1.0, np.median(inputs)]
    sites = names.table["site"].to_numpy()
    counted = Counter(dict(zip(sites[columns].tolist(), often.tolist(), strict=True)))
    delta = np.abs(new.device_ns.mean(axis=0) - base.device_ns.mean(axis=0))
    largest = columns[np.argsort(-delta[columns], kind="stable")][:8]
    largest_names = tuple(dict.fromkeys(names.names[column] for column in largest.tolist()))
    return CallChange(
        names.path(int(sites[largest[0]]))[:-1],
        largest_names,
        largest_names,
        "",
        "",
        int(often.sum()),
        int(base.calls[0, sort == sort[columns[0]]].sum()),
        counted,
        counted,
        kind=kind,
        factor=float(amounts[1] / amounts[0]) if all(amounts) else None,
    )
