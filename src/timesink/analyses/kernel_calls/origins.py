"""Why each kernel of a timeline ran: the operator and the module that launched it, and its step."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from timesink.analyses.columns import device_columns, host_columns, start_and_end
from timesink.analyses.enclosing import enclosing
from timesink.analyses.forest import (
    DATA_LOADER,
    OPERATOR,
    OPTIMIZER,
    CallForest,
    call_forest,
)
from timesink.analyses.gathering import values_at
from timesink.analyses.kernel_calls.calls import kernel_calls
from timesink.analyses.links import link_launches
from timesink.analyses.modules.backward import link_backward
from timesink.analyses.modules.table import find_modules, is_module_call
from timesink.analyses.nesting import Nodes
from timesink.analyses.once import once_per_trace
from timesink.analyses.steps import find_steps, step_at
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace

_ENGINE = "autograd::engine::evaluate_function: "
_AUTOGRAD = "torch::autograd::"
_OWN_WORK = (OPERATOR, OPTIMIZER, DATA_LOADER)
"""Roles of calls that users know by name; modules, steps and wrappers frame them."""
_COMPILED = re.compile(r"Torch-Compiled Region|CompiledFxGraph|CompiledFunction")
"""Calls of compiled graphs frame what they call: a whole network may be one of them."""

SCHEMA = {
    "operator": pl.Categorical(),
    "innermost_operator": pl.Categorical(),
    "module": pl.Categorical(),
    "step": pl.Categorical(),
}


@once_per_trace
def launch_origins(trace: Trace) -> pl.DataFrame:
    """For each row of `kernel_calls(trace)`: operator, innermost operator, module and step.

    `operator` is the outermost call inside the module, step or thread around it: what the user
    wrote, with everything it called.  Calls of the backward pass belong to the module whose
    forward pass made them.  Null where the recording does not say.
    """
    rows = kernel_calls(trace)["device_row"]
    if rows.null_count():
        return pl.DataFrame(schema=SCHEMA).clear(len(rows))
    places = rows.to_numpy()
    forest, node = call_forest(trace), link_launches(trace).node[places]
    columns = {
        "operator": _operators(forest, node),
        "innermost_operator": _innermost_operators(forest, node),
        "module": _modules(trace, forest, node),
        "step": _steps(trace, places),
    }
    return pl.DataFrame([columns[name].cast(SCHEMA[name]).alias(name) for name in SCHEMA])


# -- operators -------------------------------------------------------------------------------------


def _operators(forest: CallForest, node: Nodes) -> pl.Series:
    own_work = np.isin(forest.role, _OWN_WORK)
    compiled = forest.named(lambda name: _COMPILED.search(name) is not None)
    inside = _outermost(forest, node, own_work & ~compiled)
    return _named(forest, np.where(inside < 0, _outermost(forest, node, own_work), inside))


def _outermost(forest: CallForest, node: Nodes, wanted: Flags) -> Nodes:
    """The nearest caller, or the call itself, that is wanted and has a caller that is not."""
    called_by_such = np.append(wanted, False)[forest.parent]
    return enclosing(node, forest.parent, wanted & ~called_by_such)


def _innermost_operators(forest: CallForest, node: Nodes) -> pl.Series:
    return _named(forest, enclosing(node, forest.parent, forest.role == OPERATOR))


def _named(forest: CallForest, node: Nodes) -> pl.Series:
    """Names as users know them: functions of the backward pass without the engine's call."""
    names = [name.removeprefix(_ENGINE).removeprefix(_AUTOGRAD) for name in forest.names]
    code = np.append(forest.name, -1)[node]
    return values_at(pl.Series(names, dtype=pl.String), np.where(node >= 0, code, -1))


# -- modules ---------------------------------------------------------------------------------------


def _modules(trace: Trace, forest: CallForest, node: Nodes) -> pl.Series:
    """Paths of the modules around; of the forward pass for what the backward pass launched."""
    is_module = is_module_call(trace)
    if not is_module.any():
        # The hierarchy that operators carry themselves, where no call of a module was recorded.
        texts = trace.lazy("host").select("module_hierarchy").collect()["module_hierarchy"]
        texts = texts.cast(pl.String)[forest.row]
        stated = (texts != "").fill_null(value=False).to_numpy()
        return values_at(texts, enclosing(node, forest.parent, stated))
    modules = find_modules(trace)
    call = enclosing(_forward_of(trace, forest, node, is_module), forest.parent, is_module)
    row = np.append(modules.row, -1)[np.searchsorted(modules.node, call)]
    paths = pl.Series(modules.paths, dtype=pl.String)
    return values_at(paths, np.where(call >= 0, row, -1))


def _forward_of(trace: Trace, forest: CallForest, node: Nodes, is_module: Flags) -> Nodes:
    """The call itself, or the forward call of the backward call that it is part of."""
    links = link_backward(trace)
    forward = np.full(len(forest) + 1, -1, dtype=np.int64)
    forward[links.node] = links.forward
    is_backward = np.zeros(len(forest), dtype=np.bool_)
    is_backward[links.node] = True
    # A module inside a backward call computes its forward pass once more: it comes first.
    around = enclosing(node, forest.parent, is_backward | is_module)
    return np.where(np.append(is_backward, False)[around], forward[around], around)


# -- steps -----------------------------------------------------------------------------------------


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
