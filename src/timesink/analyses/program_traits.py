"""What a program has and does already, as its recording shows: advice must not tell it to do so.

`compiled`            a compiler of the framework made some of its calls or kernels
`graphs`              it replays captured graphs
`backward`            it computes gradients
`optimizer`           it makes optimizer steps
`unfused-optimizer`   it makes optimizer steps, none of them with a fused kernel
`loader`              it fetches batches from a data loader
`pinned`              its copies from the host are from pinned memory, all of them
`copy-stream`         its copies from and to the host are on streams without kernels, all of them
`host`                calls of the host were recorded
`stacks`              Python functions were recorded
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from timesink.analyses import names
from timesink.analyses.columns import (
    device_columns,
    device_kinds,
    device_names,
    device_numbers,
    encode,
    host_columns,
    host_copies,
    host_kinds,
    host_names,
    memoize_structure,
)
from timesink.model.arrays import combine_codes, densify
from timesink.model.schema import KERNEL_KINDS
from timesink.model.trace import Trace
from timesink.patterns import regex

_COMPILED_CALL = regex(r"Torch-Compiled Region|CompiledFxGraph|CompiledFunction|^triton_\w+_fused")
_COMPILED_KERNEL = regex(r"^triton_(?:poi|red|per|tem|for)_")
_GRAPH = regex(r"GraphLaunch")
_BACKWARD = regex(r"Backward\d*$|autograd::engine")
_FUSED_OPTIMIZER = regex(
    r"fused_?(?:adam|adagrad|sgd|lamb|lion|optimizer|multi_tensor)", re.IGNORECASE
)
_PINNED, _PAGEABLE = "Pinned -> Device", "Pageable -> Device"


@memoize_structure
def program_traits(trace: Trace) -> frozenset[str]:
    """The traits of a program, of those that this module lists."""
    calls, kernels = host_names(trace).texts, device_names(trace).texts
    both = [*calls, *kernels]
    optimizer = _any(calls, names.is_optimizer_step)
    pinned = _any(kernels, lambda name: _PINNED in name)
    has = {
        "compiled": _any(calls, _COMPILED_CALL.search) or _any(kernels, _COMPILED_KERNEL.search),
        "graphs": _any(calls, _GRAPH.search),
        "backward": _any(calls, _BACKWARD.search),
        "optimizer": optimizer,
        "unfused-optimizer": optimizer and not _any(both, _FUSED_OPTIMIZER.search),
        "loader": _any(calls, names.is_data_loader),
        "pinned": pinned and not _any(kernels, lambda name: _PAGEABLE in name),
        "copy-stream": _copies_beside_kernels(trace),
        "host": not host_columns(trace).is_empty(),
        "stacks": bool(host_kinds(trace).among("python_function").any()),
    }
    return frozenset(trait for trait, holds in has.items() if holds)


def _copies_beside_kernels(trace: Trace) -> bool:
    """Whether copies from and to the host are made on streams that have no kernels."""
    kinds, copies = device_kinds(trace), host_copies(trace)
    if not copies.any():
        return False
    stream, _ = encode(device_columns(trace)["stream"])
    device = device_numbers(trace)
    place = combine_codes(densify(device - device.min()), stream)
    is_busy = np.zeros(int(place.max()) + 1, dtype=np.bool_)
    is_busy[place[kinds.among(*KERNEL_KINDS)]] = True
    return not is_busy[place[copies]].any()


def _any(texts: Sequence[str], test: Callable[[str], object]) -> bool:
    return any(map(test, filter(None, texts)))


@memoize_structure
def has_shapes(trace: Trace) -> bool:
    """Whether the inputs of any call were recorded."""
    dims = trace.lazy("host").select(pl.col("input_dims").drop_nulls().cast(pl.String).unique())
    return bool(dims.collect(engine="in-memory")["input_dims"].str.contains(r"\d").any())
