"""Which call owns which device work, and what it computes and moves.

A kernel belongs to the innermost call around its launch that has a formula and shapes, but for
those that stand for all they call.  Calls that were given the same are asked once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import reduce
from math import gcd
from random import Random
from typing import Any

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import (
    device_columns,
    device_numbers,
    host_names,
    memoize_per_trace,
    memoize_structure,
    numbers,
    start_and_end,
    union_length_by_group,
)
from timesink.analyses.forest import CallForest, call_forest
from timesink.analyses.graphs import captured_rows
from timesink.analyses.kernels.table import SHAPE
from timesink.analyses.links import link_launches, origin_rows
from timesink.analyses.modules import ACCUMULATE
from timesink.analyses.names import is_optimizer_step, keeps_fp32, rounds_to_tf32, uses_tensor_cores
from timesink.analyses.steps import bounds_of, complete_steps, find_steps, step_at, step_of_launch
from timesink.analyses.work.arguments import (
    CallArguments,
    KernelLaunch,
    RunFacts,
    Tensor,
    parse_inputs,
    parse_values,
    type_members,
)
from timesink.analyses.work.formulas import FormulaRegistry, Work, formula_of, work_of
from timesink.model.arrays import wide
from timesink.model.intervals import Flags, Ints
from timesink.model.nested_calls import Nodes, enclosing_calls, levels
from timesink.model.schema import KERNEL_KINDS
from timesink.model.trace import Trace

_INPUTS = ("input_dims", "input_types", "input_strides", "concrete_inputs")
_MAX_RELATIVE_DIFFERENCE = 0.05
_LOOKUP = "embedding_codegen_lookup"
_FLOATING = ("fp64", "fp32", "fp16", "bf16", "fp8", "fp4")
_DRAWN = Random(7)  # noqa: S311 - nobody has to guess them
_ODD = np.array([_DRAWN.getrandbits(62) | 1 for _ in range(61)], dtype=np.uint64)
"""What makes a number of a sequence of numbers."""
MODELLED, LIKE, NO_FORMULA, NO_SHAPES, NO_CALL, UNTOLD = (
    *("modelled", "like another launch", "no formula", "no shapes", "no call"),
    "arguments do not tell",
)
"""What is known of the work of a kernel."""
_CODE = {
    text: code for code, text in enumerate((MODELLED, LIKE, NO_FORMULA, NO_SHAPES, NO_CALL, UNTOLD))
}

SET_SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("operator", "family"), pl.String()),
    **dict.fromkeys(("input_dims", "input_types", "input_strides"), pl.String()),
    **dict.fromkeys(("matrix_flop", "vector_flop", "recomputed_flop"), pl.Float64()),
    "precision": pl.String(),
    **dict.fromkeys(("read_bytes", "written_bytes", "wire_bytes"), pl.Float64()),
    "assumed": pl.String(),
    "matrix_kernels": pl.Boolean(),
    "tf32": pl.Boolean(),
}


class ModelledCalls(msgspec.Struct, frozen=True, eq=False):
    """Device work of a recording by the calls that own it."""

    calls: pl.DataFrame
    """One row per owner and device: `node`, `set`, `step`, `device`, `union_ns`, `recomputed`,
    `recorded_flop`."""
    sets: pl.DataFrame
    """One row per set of arguments: see `SET_SCHEMA`."""
    kernels: pl.DataFrame
    """One row per kernel, copy within a device and memset: `row` in `trace.device`, `call` (row of
    `calls`), the `set` whose work it does and what `share` of it, `dur_ns`, `device`, complete
    `step`, `known` (that its work is, or why not), `is_kernel` and `communicates`."""

    @property
    def modelled_share(self) -> float | None:
        """How much of the kernel time has work; None without kernels."""
        return modelled_share(self.kernels)


def known_times(kernels: pl.DataFrame) -> Mapping[str, int]:
    """Time of kernels by what is known of their work."""
    times = kernels.filter("is_kernel").group_by("known").agg(pl.col("dur_ns").sum())
    return dict(times.sort("dur_ns", descending=True).iter_rows())


def agreement(modelled: ModelledCalls) -> tuple[int, float] | None:
    """Of how many calls the profiler itself counted operations, and how many have as many here.

    Within 5 %: what a bias or an activation adds is counted by one and not by the other.
    """
    sets = modelled.sets.select("matrix_flop").with_row_index("set").cast({"set": pl.Int64})
    both = modelled.calls.join(sets, on="set").filter(
        pl.col("recorded_flop") > 0, pl.col("matrix_flop") > 0
    )
    agrees = (pl.col("matrix_flop") / pl.col("recorded_flop") - 1).abs() <= _MAX_RELATIVE_DIFFERENCE
    return (both.height, float(both.select(agrees.mean()).item())) if both.height else None


def modelled_share(kernels: pl.DataFrame) -> float | None:
    """How much of the time of kernels has work; None without kernels."""
    times = known_times(kernels)
    total = sum(times.values())
    return sum(times.get(kind, 0) for kind in (MODELLED, LIKE)) / total if total else None


class _OwnedWork(msgspec.Struct, frozen=True, eq=False):
    """Kernels, the calls whose work they are, and what these compute: no clock changes it."""

    rows: Ints
    """Rows of `trace.device`."""
    why: Ints
    """What is known of each, where no call has it."""
    device: Ints
    owned: Ints
    """Places of those that belong to a call."""
    place: Ints
    """The call of each of these."""
    first: Ints
    """The first activity of each call."""
    node: Nodes
    codes: Any
    """Which kernel on which grid each row of `trace.device` is."""
    has_grid: Flags
    set_of: Ints
    sets: pl.DataFrame
    recomputed: Flags
    recorded_flop: pl.Series


@memoize_structure
def _owned_work(trace: Trace, user_formulas: FormulaRegistry | None) -> _OwnedWork:
    device, forest = device_columns(trace), call_forest(trace)
    rows = np.flatnonzero(device["kind"].is_in(KERNEL_KINDS).to_numpy() | _copies(trace))
    launched = link_launches(trace).node[rows]
    owner, why = _owners(trace, forest, launched, user_formulas)
    graphs = trace.lazy("device").select(pl.col("graph_id").fill_null(0) > 0).collect()
    why[graphs.to_series().to_numpy()[rows] & (owner < 0)] = _CODE[NO_CALL]
    owned = np.flatnonzero(owner >= 0)
    # A call may work on several devices: each has its own part of it.
    number = device_numbers(trace)[rows]
    places = wide(owner[owned]) * (int(number.max(initial=0)) + 2) + number[owned] + 1
    keys, place = np.unique(places, return_inverse=True)
    first = np.full(len(keys), len(rows))
    np.minimum.at(first, place, owned)
    node = owner[first]
    geometry = trace.lazy("device").select("name", *SHAPE).collect()
    codes = geometry.select(pl.struct(pl.all()).hash(7)).to_series().to_numpy()
    signature = _signatures(codes[rows[owned]], place, len(keys))
    set_of, sets = _argument_sets(trace, node, (rows[owned], place), signature, user_formulas)
    return _OwnedWork(
        rows=rows,
        why=why,
        device=number,
        owned=owned,
        place=place,
        first=first,
        node=node,
        codes=codes,
        has_grid=geometry["grid_x"].is_not_null().to_numpy(),
        set_of=set_of,
        sets=sets,
        recomputed=_is_recomputed(trace, forest, node, _shapes(sets)[set_of]),
        recorded_flop=trace.lazy("host").select("flop").collect()["flop"][forest.row[node]]
        if len(node)
        else pl.Series("flop", [], pl.Int64),
    )


@memoize_per_trace
def modelled_calls(trace: Trace, user_formulas: FormulaRegistry | None = None) -> ModelledCalls:
    """What every call with device work computes and moves; `user_formulas` go first."""
    work, device = _owned_work(trace, user_formulas), device_columns(trace)
    rows, owned, place, first = work.rows, work.owned, work.place, work.first
    number, set_of, sets, why = work.device, work.set_of, work.sets, work.why.copy()
    start, end = start_and_end(device, rows)
    step = _steps_of(trace, rows)
    calls = pl.DataFrame(
        {
            "node": work.node,
            "set": set_of,
            "step": step[first],
            "device": number[first],
            "captured": captured_rows(trace)[rows[first]],
            "union_ns": union_length_by_group(place, start[owned], end[owned], len(first)),
            "recomputed": work.recomputed,
            "recorded_flop": work.recorded_flop,
        },
        schema_overrides={"union_ns": pl.Int64(), "recorded_flop": pl.Int64()},
    )
    call = np.full(len(rows), -1, dtype=np.int64)
    call[owned] = place
    has_work = sets["matrix_flop"].is_not_null().to_numpy()
    why[owned] = np.where(has_work[set_of[place]], _CODE[MODELLED], _CODE[UNTOLD])
    length = end - start
    total = np.bincount(place, length[owned], minlength=len(first))
    share = np.zeros(len(rows))
    share[owned] = length[owned] / np.maximum(total[place], 1)
    of_set = np.full(len(rows), -1, dtype=np.int64)
    of_set[owned] = set_of[place]
    kernels = pl.DataFrame(
        {
            "row": rows,
            "call": call,
            "set": of_set,
            "share": share,
            "dur_ns": length,
            "device": number,
            "step": step,
            "known": why,
            "captured": captured_rows(trace)[rows],
            "is_kernel": device["kind"].is_in(KERNEL_KINDS).to_numpy()[rows],
            "communicates": (device["kind"] == "collective").to_numpy()[rows],
            "code": work.codes[rows],
            "name": device["name"].to_physical().to_numpy()[rows],
            "has_grid": work.has_grid[rows],
        },
    )
    kernels = _with_twins(kernels).with_columns(
        _null_if_absent("call"), _null_if_absent("set"), _null_if_absent("step")
    )
    return ModelledCalls(calls.with_columns(_null_if_absent("step")), sets, kernels)


def _null_if_absent(column: str) -> pl.Expr:
    """Numbers of what there is; null where there is none."""
    return pl.when(pl.col(column) >= 0).then(column).alias(column)


def _with_twins(kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels whose launch is not known have the work of the same kernel launched elsewhere.

    Work queued before a recording began, and what a graph launches, has no call in it.  Of several
    launches of the kernel on its grid the one that took most nearly as long is taken; where no grid
    was recorded, at its rate.
    """
    columns = ("set", "share", "dur_ns", "known", "code", "name")
    of_set, share, length, state, code, name = (
        kernels[column].to_numpy().copy() for column in columns
    )
    has_grid = kernels["has_grid"].to_numpy()
    lost, modelled = (np.flatnonzero(state == _CODE[text]) for text in (NO_CALL, MODELLED))
    for key, which in ((code, lost[has_grid[lost]]), (name, lost[~has_grid[lost]])):
        order = modelled[np.lexsort((length[modelled], key[modelled]))]
        for value in np.unique(key[which]):
            mine = which[key[which] == value]
            first, last = (np.searchsorted(key[order], value, side) for side in ("left", "right"))
            if first == last:
                continue
            twins = order[first:last]
            after = np.searchsorted(length[twins], length[mine])
            shorter = twins[np.maximum(after - 1, 0)]
            longer = twins[np.minimum(after, len(twins) - 1)]
            nearer = length[mine] - length[shorter] <= length[longer] - length[mine]
            twin = np.where(nearer | (after == len(twins)), shorter, longer)
            of_set[mine] = of_set[twin]
            # The same grid is the same work; without one, more time is more work.
            scale = 1.0 if key is code else length[mine] / np.maximum(length[twin], 1)
            share[mine] = share[twin] * scale
            state[mine] = _CODE[LIKE]
    return kernels.drop("code", "name", "has_grid").with_columns(
        pl.Series("set", of_set),
        pl.Series("share", share),
        pl.Series("known", list(_CODE), pl.String).gather(state),
    )


def _copies(trace: Trace) -> Flags:
    """Copies within a device, which its memory bounds as it does kernels; and memsets."""
    within = (pl.col("kind") == "memcpy") & (pl.col("copy_direction") == "DtoD")
    copies = trace.lazy("device").select(within.fill_null(False) | (pl.col("kind") == "memset"))
    return copies.collect().to_series().to_numpy()


def _owners(
    trace: Trace, forest: CallForest, launched: Nodes, user_formulas: FormulaRegistry | None
) -> tuple[Nodes, Any]:
    """The call whose work each kernel is part of, -1 where there is none, and why not."""
    why = np.full(len(launched), _CODE[NO_CALL], dtype=np.int8)
    if not len(forest):
        return np.full(len(launched), -1, dtype=np.int64), why
    rows = [formula_of(name, user_formulas) for name in forest.names]
    has_formula = np.array([row is not None for row in rows])[forest.name]
    covers_calls = np.array([row is not None and row.covers_calls for row in rows])[forest.name]
    has_formula &= forest.stands_for == np.arange(len(forest))
    leaf = np.array([row is not None and row.is_leaf for row in rows])[forest.name]
    has_formula &= ~leaf | (forest.size == 1)
    dims = trace.lazy("host").select(pl.col("input_dims").is_not_null()).collect()
    unshaped = np.array([row is not None and not row.needs_shapes for row in rows])[forest.name]
    shaped = has_formula & (dims.to_series().to_numpy()[forest.row] | unshaped)
    at = np.where(launched >= 0, forest.stands_for[launched], 0)
    owner = enclosing_calls(at, forest.parent, shaped)
    top = owner.copy()
    stands = covers_calls & shaped
    while stands.any():
        # The outermost of those that stand for all they call.
        above = enclosing_calls(top, forest.parent, stands)
        if not (above >= 0).any():
            break
        owner = np.where(above >= 0, above, owner)
        top = np.where(above >= 0, forest.parent[above], -1)
    owner[launched < 0] = -1
    lost = np.flatnonzero((owner < 0) & (launched >= 0))
    why[lost] = np.where(has_formula[at[lost]], _CODE[NO_SHAPES], _CODE[NO_FORMULA])
    return owner, why


def _signatures(code: Any, place: Ints, many: int) -> Any:
    """A number for each call that tells which kernels it launched, on which grids, in order."""
    order = np.argsort(place, kind="stable")
    first = np.searchsorted(place[order], np.arange(many))
    turn = np.arange(len(order)) - first[place[order]]
    signatures = np.zeros(many, dtype=np.uint64)
    with np.errstate(over="ignore"):
        np.add.at(signatures, place[order], code[order] * _ODD[turn % len(_ODD)])
    return signatures


def _argument_sets(
    trace: Trace,
    node: Nodes,
    launches: tuple[Ints, Ints],
    signature: Any,
    user_formulas: FormulaRegistry | None,
) -> tuple[Ints, pl.DataFrame]:
    """The set of arguments of each call, by number, and the work of each set."""
    forest = call_forest(trace)
    inputs = trace.lazy("host").select("index", *_INPUTS).collect()[forest.row[node]]
    extra = _rare_arguments(trace, inputs["index"])
    keyed = inputs.with_columns(
        pl.Series("name", wide(forest.name[node])),
        pl.Series("signature", signature, dtype=pl.UInt64),
        pl.Series("extra", [str(extra.get(at, "")) for at in inputs["index"]], dtype=pl.String)
        if extra
        else pl.lit("").alias("extra"),
    )
    keys = keyed.select(pl.struct("name", *_INPUTS, "signature", "extra").hash(7)).to_series()
    _, first, set_of_call = np.unique(keys.to_numpy(), return_index=True, return_inverse=True)
    facts = run_facts(trace, forest)
    set_rows: list[tuple[Any, ...]] = []
    names = _kernel_names(trace, first, set_of_call, launches)
    for at, launched in zip(first, names, strict=True):
        name = forest.names[int(forest.name[node[at]])]
        dims, types, strides, values = (keyed[column][int(at)] or "" for column in _INPUTS)
        more = extra.get(keyed["index"][int(at)], {})
        call = CallArguments(
            name,
            type_members(parse_inputs(dims, types, strides), facts.types_by_shape),
            parse_values(values),
            extra=more,
            launches=launched,
            facts=facts,
        )
        work = work_of(call, user_formulas)
        row, figures = formula_of(name, user_formulas), work or Work()
        counted = (figures.matrix_flop, figures.vector_flop, figures.recomputed_flop)
        flop = (None, None, None) if work is None else counted
        kernels = [launch.kernel for launch in launched]
        set_rows.append(
            (
                *(name, row.family if row else "", dims, types, strides, *flop, figures.precision),
                *(figures.read_bytes, figures.written_bytes, figures.wire_bytes, figures.assumed),
                any(uses_tensor_cores(kernel) and not keeps_fp32(kernel) for kernel in kernels),
                any(map(rounds_to_tf32, kernels)),
            )
        )
    return set_of_call, pl.DataFrame(set_rows, schema=SET_SCHEMA, orient="row")


def _kernel_names(
    trace: Trace, first: Ints, sets: Ints, launches: tuple[Ints, Ints]
) -> Iterator[tuple[KernelLaunch, ...]]:
    """The kernels of the first call of each set, in order."""
    rows, place = launches
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(sets) + 1))
    chosen = [rows[order[starts[at] : starts[at + 1]]] for at in first]
    about = (
        trace.lazy("device")
        .select(pl.col("name").cast(pl.String), *SHAPE)
        .collect()[np.concatenate(chosen) if chosen else []]
    )
    flat_launches = [
        KernelLaunch(name or "", _sizes(shape[:3]), _sizes(shape[3:]))
        for name, *shape in about.iter_rows()
    ]
    at = 0
    for part in chosen:
        yield tuple(flat_launches[at : at + len(part)])
        at += len(part)


def _sizes(shape: list[int | None]) -> tuple[int, ...]:
    return () if shape[0] is None else tuple(size or 1 for size in shape)


def _rare_arguments(trace: Trace, indices: pl.Series) -> dict[int, dict[str, str]]:
    """Arguments of Triton kernels and of collectives, by the index of their events."""
    arguments: dict[int, dict[str, str]] = {}
    wanted = pl.col("index").is_in(indices.implode())
    for at, key, value in trace.lazy("event_args").filter(wanted).collect().iter_rows():
        arguments.setdefault(at, {})[key] = value.strip('"')
    collectives = trace.lazy("collectives").filter(wanted).collect()
    for row in collectives.iter_rows(named=True):
        at = row.pop("index")
        arguments.setdefault(at, {}).update({k: str(v) for k, v in row.items() if v is not None})
    return arguments


def run_facts(trace: Trace, forest: CallForest) -> RunFacts:
    """What the whole recording tells that single calls do not."""
    texts = trace.lazy("host").select("input_dims", "input_types").drop_nulls()
    shape_counts = texts.group_by("input_dims", "input_types").len().collect()
    often: Counter[str] = Counter()
    by_shape: dict[tuple[int, ...], set[str]] = {}
    for dims, types, many in shape_counts.iter_rows():
        for tensor in parse_inputs(dims, types):
            if isinstance(tensor, Tensor) and tensor.precision in _FLOATING:
                often[tensor.type] += tensor.elements * many
                by_shape.setdefault(tensor.shape, set()).add(tensor.type)
    usual = often.most_common(1)
    return RunFacts(
        parameters=_parameters(trace, forest),
        lookups=_lookups(trace),
        usual_type=usual[0][0] if usual else "",
        types_by_shape={shape: min(types) for shape, types in by_shape.items() if len(types) == 1},
        world_size=trace.metadata.distributed.world_size,
    )


def _lookups(trace: Trace) -> tuple[CallArguments, ...]:
    """Distinct lookups in embedding tables."""
    # Names are looked at once each: they are numbers, and texts only where they are wanted.
    rows = host_names(trace).rows(lambda name: _LOOKUP in name)
    if not len(rows):
        return ()
    lookups = trace.lazy("host").select(pl.col("name"), *_INPUTS).collect()[rows]
    return tuple(
        CallArguments(
            name, parse_inputs(dims, types or "", strides or ""), parse_values(values or "")
        )
        for name, dims, types, strides, values in lookups.unique(maintain_order=True).rows()
        if dims
    )


def _parameters(trace: Trace, forest: CallForest) -> tuple[Tensor, ...]:
    """The tensors that one backward pass made gradients for.

    Every pass makes one for each parameter, so how often shapes come has the number of passes as
    a common divisor; with several passes in a step that is a multiple of its steps.
    """
    gradients = np.flatnonzero(forest.named(lambda name: name == ACCUMULATE))
    steps = complete_steps(trace)
    within = step_at(forest.start[gradients], forest.end[gradients], bounds_of(steps))
    rows = forest.row[gradients[within >= 0]]
    inputs = trace.lazy("host").select("input_dims", "input_types").collect()[rows].drop_nulls()
    often = inputs.group_by("input_dims", "input_types").len().rows()
    passes = reduce(gcd, (many for _, _, many in often), 0)
    marked = steps.height if not steps.is_empty() and steps["marked"].any() else 0
    optimized = int(forest.named(is_optimizer_step).sum()) if not marked else 0
    passes = passes if not marked or passes % marked == 0 else marked or optimized or 1
    parameters: list[Tensor] = []
    for dims, types, many in often:
        tensor = next(iter(parse_inputs(dims, types)), None)
        if isinstance(tensor, Tensor):
            parameters += [tensor] * max(1, many // max(passes, 1))
    return tuple(parameters)


def _steps_of(trace: Trace, rows: Ints) -> Ints:
    """The complete step that launched each activity, else in which it ran; -1 for none."""
    steps = find_steps(trace)
    complete = steps["complete"].to_numpy()
    host_bounds = np.stack([steps["host_start_ns"], steps["host_end_ns"]], axis=1)
    if not steps.height:
        return np.full(len(rows), -1, dtype=np.int64)
    step = step_of_launch(trace, rows, host_bounds)
    lost = np.flatnonzero((origin_rows(trace)[rows] < 0) & ~leftovers(trace, rows))
    step[lost] = step_at(*start_and_end(device_columns(trace), rows[lost]), bounds_of(steps))
    return np.where((step >= 0) & complete[step], step, -1)


def _shapes(sets: pl.DataFrame) -> Ints:
    """A number for each set that sets of one operator with the same shapes share."""
    about = sets.select(pl.struct("operator", "input_dims").rank("dense")).to_series()
    return about.cast(pl.Int64).to_numpy()


def leftovers(trace: Trace, rows: Ints) -> Flags:
    """Which activities were queued before the recording began: no step of it has launched them."""
    call, start = origin_rows(trace)[rows], device_columns(trace)["ts_ns"].to_numpy()[rows]
    first = start[call >= 0].min(initial=np.iinfo(np.int64).max)
    return np.asarray((call < 0) & (start < first) & (call >= 0).any())


def _is_recomputed(trace: Trace, forest: CallForest, node: Nodes, shapes: Ints) -> Flags:
    """Which calls do again in the backward pass what the forward pass did already.

    Backward calls say which thread went forward; what records a graph of its own among what
    they call, and was called outside of them too, is done again.
    """
    if not len(node):
        return np.zeros(0, dtype=np.bool_)
    about = trace.lazy("host").select("sequence_number", "fwd_thread_id").collect()
    forward = numbers(about["sequence_number"])[forest.row] > 0
    backward = about["fwd_thread_id"].is_not_null().to_numpy()[forest.row]
    backward &= numbers(about["fwd_thread_id"])[forest.row] > 0
    forward &= ~backward
    inside = backward.copy()
    again = np.zeros(len(forest), dtype=np.bool_)
    for nodes in list(levels(forest.depth))[1:]:
        above = forest.parent[nodes]
        inside[nodes] |= inside[above]
        again[nodes] = again[above] | (forward[nodes] & inside[above])
    before = np.bincount(shapes[~inside[node]], minlength=int(shapes.max()) + 1)
    return again[node] & (before[shapes] > 0)
