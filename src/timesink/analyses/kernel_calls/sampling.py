"""Recordings that hold every n-th launch only, and for how many each of these stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.texts import encode
from timesink.errors import UsageError
from timesink.model.arrays import Ints
from timesink.model.trace import Metadata, Trace
from timesink.model.units import ordinal

Per: TypeAlias = Literal["kernel", "launch"]


@dataclass(frozen=True, slots=True)
class Sampling:
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
            return seen * float(self.every)
        return np.maximum(seen - 1, 0) * float(self.every) + 1

    def most(self, seen: Ints) -> NDArray[np.floating]:
        """How many launches a kernel had at most: all that fit before the next one measured."""
        return seen * float(self.every)

    def expected(self, seen: Ints) -> NDArray[np.floating]:
        """How many launches a kernel had, so far as those seen tell.

        Programs launch some kernels once and others ten thousand times: twice as many launches
        are half as likely.  From a few seen on, that is the middle between fewest and most.
        """
        if self.per == "launch":
            return seen * float(self.every)
        high = seen * float(self.every)
        low = np.maximum(high - self.every, 1.0)
        # The mean of L where L is as likely as 1/L: how many there are, over the sum of all 1/L.
        tail = np.log((high + 0.5) / (low + 0.5)) + (high + 0.5) ** -2 / 24 - (low + 0.5) ** -2 / 24
        whole = float((1 / np.arange(1, self.every + 1)).sum())
        return self.every / np.where(seen > 1, tail, whole)


def sampling_of(trace: Trace) -> Sampling | None:
    """How the launches were chosen, as the recording says itself; None when all were measured."""
    return stated_sampling(trace.metadata)


def stated_sampling(metadata: Metadata) -> Sampling | None:
    """The same from what a recording says about itself."""
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
