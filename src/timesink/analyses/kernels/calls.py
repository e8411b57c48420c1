"""Every launch of a kernel, in launch order, from a kernel profiler's file or from a timeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, cast

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import (
    UNKNOWN_DEVICE,
    device_columns,
    device_numbers,
    encode,
    host_columns,
    memoize_per_trace,
    start_and_end,
    values_at,
)
from timesink.analyses.forest import DATA_LOADER, OPERATOR, OPTIMIZER, CallForest, call_forest
from timesink.analyses.kernels.families import Families, load_families
from timesink.analyses.kernels.table import SHAPE, kernel_rows, known_occupancy
from timesink.analyses.links import link_launches
from timesink.analyses.modules import find_modules, is_module_call, link_backward
from timesink.analyses.names import short_name
from timesink.analyses.steps import find_steps, step_at
from timesink.errors import UsageError
from timesink.model.intervals import Flags, Ints
from timesink.model.nested_calls import Nodes, enclosing_calls
from timesink.model.schema import KERNEL_CALLS
from timesink.model.trace import Metadata, Trace
from timesink.model.units import ordinal
from timesink.patterns import regex

UTILISATIONS = ("tensor_pct", "dram_pct", "sm_pct")
"""Columns that say how much of the hardware a launch used."""


@memoize_per_trace
def kernel_calls(trace: Trace, families: Families | None = None) -> pl.DataFrame:
    """One row per launch, in launch order: the columns of `kernel_calls` and a few more.

    `short_name` and `family` come from the name.  A timeline says when a kernel ran, in `ts_ns`,
    and `device_row` is its row in `trace.device`; a kernel profiler says how well it used the
    hardware.  What the source does not say is null.
    """
    calls, rules = _launches(trace), families or load_families()
    # What a name tells, found once per distinct name.
    codes, texts = encode(calls["name"])
    short = [None if text is None else short_name(text) for text in texts]
    family = [
        None if text is None else rules.of(text, short_text)
        for text, short_text in zip(texts, short, strict=True)
    ]
    return calls.with_columns(
        pl.Series(column, values, dtype=pl.String()).cast(pl.Categorical()).gather(codes)
        for column, values in (("short_name", short), ("family", family))
    )


def has_counters(trace: Trace) -> bool:
    """Whether the launches were measured by a kernel profiler."""
    calls = trace.lazy("kernel_calls").head(1).collect(engine="in-memory")
    return not calls.is_empty()


@memoize_per_trace
def _launches(trace: Trace) -> pl.DataFrame:
    if not has_counters(trace):
        return _launch_rows(trace)
    calls = trace.kernel_calls
    floats = [name for name, dtype in calls.schema.items() if dtype == pl.Float64()]
    return calls.with_columns(
        # What is no number, or beyond all, was not measured.
        *(pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in floats),
        ts_ns=pl.lit(None, pl.Int64()),
        device_row=pl.lit(None, pl.Int64()),
    )


def _launch_rows(trace: Trace) -> pl.DataFrame:
    """Kernels by the time of the call that launched them, else by their start."""
    rows = kernel_rows(trace)
    start = device_columns(trace)["ts_ns"].to_numpy()[rows]
    call = link_launches(trace).call_row[rows]
    launched = start.copy()
    launched[call >= 0] = host_columns(trace)["ts_ns"].to_numpy()[call[call >= 0]]
    rows = np.asarray(rows[np.lexsort((rows, start, launched))])
    recorded_names = ("index", "pid", "stream", "name", "ts_ns", "dur_ns", *SHAPE)
    recorded = trace.lazy("device").select(*recorded_names, "occupancy_pct").collect()[rows]
    number = pl.Series(device_numbers(trace)[rows])
    device = number.replace(UNKNOWN_DEVICE, None).cast(pl.Int32()).alias("device")
    capability = {info.id: info.compute_capability for info in trace.metadata.devices}
    calls = recorded.with_columns(
        known_occupancy(),
        device,
        device.replace_strict(
            list(capability), list(capability.values()), default=None, return_dtype=pl.String()
        )
        .cast(pl.Categorical())
        .alias("compute_capability"),
        device_row=pl.Series(rows, dtype=pl.Int64()),
    )
    schema = KERNEL_CALLS.schema
    unknown = [pl.lit(None, schema[name]).alias(name) for name in schema if name not in calls]
    return calls.with_columns(unknown).select(*schema, "ts_ns", "device_row")


_ENGINE = "autograd::engine::evaluate_function: "
_AUTOGRAD = "torch::autograd::"
_OWN_WORK = (OPERATOR, OPTIMIZER, DATA_LOADER)
"""Roles of calls that users know by name; modules, steps and wrappers frame them."""
_COMPILED = regex(r"Torch-Compiled Region|CompiledFxGraph|CompiledFunction")
"""Calls of compiled graphs frame what they call: a whole network may be one of them."""

ORIGINS = ("operator", "innermost_operator", "module", "step")


@memoize_per_trace
def launch_origins(trace: Trace) -> pl.DataFrame:
    """For each row of `kernel_calls(trace)`: operator, innermost operator, module and step.

    `operator` is the outermost call inside the module, step or thread around it: what the user
    wrote, with everything it called.  Calls of the backward pass belong to the module whose
    forward pass made them.  Null where the recording does not say.
    """
    rows = kernel_calls(trace)["device_row"]
    if rows.null_count():
        return pl.DataFrame(schema=dict.fromkeys(ORIGINS, pl.Categorical())).clear(len(rows))
    places = rows.to_numpy()
    forest, node = call_forest(trace), link_launches(trace).node[places]
    own_work = np.isin(forest.role, _OWN_WORK)
    compiled = forest.named(lambda name: _COMPILED.search(name) is not None)
    inside = _outermost(forest, node, own_work & ~compiled)
    outermost = np.where(inside < 0, _outermost(forest, node, own_work), inside)
    innermost = enclosing_calls(node, forest.parent, forest.role == OPERATOR)
    columns = (
        _plain_names(forest, outermost),
        _plain_names(forest, innermost),
        module_paths(trace, forest, node),
        _steps(trace, places),
    )
    return pl.DataFrame(dict(zip(ORIGINS, columns, strict=True))).cast(pl.Categorical())


def _outermost(forest: CallForest, node: Nodes, wanted: Flags) -> Nodes:
    """The nearest caller, or the call itself, that is wanted and has a caller that is not."""
    called_by_such = np.append(wanted, False)[forest.parent]
    return enclosing_calls(node, forest.parent, wanted & ~called_by_such)


def _plain_names(forest: CallForest, node: Nodes) -> pl.Series:
    """Names as users know them: functions of the backward pass without the engine's call."""
    names = [name.removeprefix(_ENGINE).removeprefix(_AUTOGRAD) for name in forest.names]
    code = np.append(forest.name, -1)[node]
    return values_at(pl.Series(names, dtype=pl.String), np.where(node >= 0, code, -1))


def module_paths(trace: Trace, forest: CallForest, node: Nodes) -> pl.Series:
    """Paths of the modules around; of the forward pass for what the backward pass launched."""
    is_module = is_module_call(trace)
    if not is_module.any():
        # The hierarchy that operators carry themselves, where no call of a module was recorded.
        texts = trace.lazy("host").select("module_hierarchy").collect()["module_hierarchy"]
        texts = texts.cast(pl.String)[forest.row]
        stated = (texts != "").fill_null(value=False).to_numpy()
        return values_at(texts, enclosing_calls(node, forest.parent, stated))
    links, modules = link_backward(trace), find_modules(trace)
    forward = np.full(len(forest) + 1, -1, dtype=np.int64)
    forward[links.node] = links.forward
    is_backward = np.zeros(len(forest), dtype=np.bool_)
    is_backward[links.node] = True
    # A module inside a backward call computes its forward pass once more: it comes first.
    around = enclosing_calls(node, forest.parent, is_backward | is_module)
    origin = np.where(np.append(is_backward, False)[around], forward[around], around)
    call = enclosing_calls(origin, forest.parent, is_module)
    row = np.append(modules.row, -1)[np.searchsorted(modules.node, call)]
    return values_at(pl.Series(modules.paths, dtype=pl.String), np.where(call >= 0, row, -1))


def _steps(trace: Trace, places: Ints) -> pl.Series:
    """Names of the steps in which the kernels were launched, or ran where that is not known."""
    steps = find_steps(trace)
    if steps.is_empty() or not steps["marked"][0]:
        return pl.Series([None] * len(places), dtype=pl.String)
    call = link_launches(trace).call_row[places]
    launched = _step_at(host_columns(trace), call, steps, ("host_start_ns", "host_end_ns"))
    ran = _step_at(device_columns(trace), places, steps, ("start_ns", "end_ns"))
    return values_at(steps["name"], np.where(call >= 0, launched, ran))


def _step_at(
    events: pl.DataFrame, rows: Ints, steps: pl.DataFrame, bounds: tuple[str, str]
) -> Ints:
    if events.is_empty():
        return np.full(len(rows), -1, dtype=np.int64)
    start, end = start_and_end(events, rows)
    return step_at(start, end, steps.select(bounds).to_numpy())


Per: TypeAlias = Literal["kernel", "launch"]


class Sampling(msgspec.Struct, frozen=True):
    """Which launches were measured: 1, n + 1, 2 n + 1, ... of each kernel function, or of all."""

    every: int
    per: Per = "launch"

    def __post_init__(self) -> None:
        if self.every < 1:
            raise UsageError(
                f"every {ordinal(self.every)} launch cannot have been measured",
                "give --every the distance of two measured launches, e.g. --every 10",
            )

    def __str__(self) -> str:
        """Which launches were measured, in words."""
        of_what = " of each kernel" if self.per == "kernel" else ""
        return f"every {ordinal(self.every)} launch{of_what}"

    def fewest(self, seen: Ints) -> NDArray[np.floating]:
        """How many launches a kernel had at least: none after the last one seen."""
        if self.per == "launch":
            return self.most(seen)
        return np.maximum(seen - 1, 0) * float(self.every) + 1

    def most(self, seen: Ints) -> NDArray[np.floating]:
        """How many launches a kernel had at most: all that fit before the next one measured."""
        return seen * float(self.every)

    def expected(self, seen: Ints) -> NDArray[np.floating]:
        """How many launches a kernel had, so far as those seen tell.

        Programs launch some kernels once and others ten thousand times: twice as many launches
        are half as likely.  From a few seen on, that is the middle between fewest and most.
        """
        high = self.most(seen)
        if self.per == "launch":
            return high
        low = np.maximum(high - self.every, 1.0)
        # The mean of L where L is as likely as 1/L: how many there are, over the sum of all 1/L.
        tail = np.log((high + 0.5) / (low + 0.5)) + (high + 0.5) ** -2 / 24 - (low + 0.5) ** -2 / 24
        harmonic_number = float((1 / np.arange(1, self.every + 1)).sum())
        return self.every / np.where(seen > 1, tail, harmonic_number)


def sampling_of(metadata: Metadata) -> Sampling | None:
    """How the launches were chosen, as the recording says itself; None when all were measured."""
    collected = metadata.extra.get("collected")
    if not isinstance(collected, Mapping):
        return None
    every = collected.get("every")
    if not isinstance(every, int) or every < 2:
        return None
    return Sampling(every, "launch" if collected.get("per") == "launch" else "kernel")


def with_weights(calls: pl.DataFrame, sampling: Sampling | None) -> pl.DataFrame:
    """The calls with `weight`: for how many launches each stands; 1 where all were measured."""
    if sampling is None or sampling.every == 1:
        return calls.with_columns(weight=pl.lit(1.0))
    function = sampled_functions(calls)
    seen = np.bincount(function, minlength=1)
    weight = sampling.expected(seen) / np.maximum(seen, 1)
    return calls.with_columns(weight=pl.Series(weight[function], dtype=pl.Float64()))


def sampled_functions(calls: pl.DataFrame) -> Ints:
    """A number per launch for its process and function, whose launches the profiler counts.

    It knows a function by its bare name, so that all templates of one name count together.
    """
    codes, texts = encode(calls["short_name"])
    bare = [(text or "").rsplit("::", 1)[-1] for text in texts]
    number = {name: place for place, name in enumerate(dict.fromkeys(bare))}
    function = np.array([number[name] for name in bare], dtype=np.int64)[codes]
    numbers = (
        calls.select(pl.Series(function).alias("function"), "host", "pid")
        .select(pl.struct(pl.all()).rank("dense").cast(pl.Int64()) - 1)
        .to_series()
    )
    return cast("Ints", numbers.to_numpy())


def call_weight() -> pl.Expr:
    """For how many launches a call stands; 1 in a table without weights."""
    return pl.coalesce(pl.col("^weight$"), pl.lit(1.0))


def call_time() -> pl.Expr:
    """The time a call stands for; null where it was not measured."""
    return pl.col("dur_ns") * call_weight()
