"""What counters are of: the host, a process or an accelerator, whatever the label says."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from timesink.analyses.behaviour.samples import Series
from timesink.model.counter_units import unit_of
from timesink.model.processes import host_and_pid
from timesink.model.trace import Trace
from timesink.model.vendors import DEVICE_WORDS

HOST = "host"
_ACCELERATOR = re.compile(
    rf"(?:cat_)?(?:{DEVICE_WORDS}|device)(?![a-z])"
    r"(?:[ :_#-]*(\d+)(?![\w-]))?.*",
    re.IGNORECASE | re.DOTALL,
)
_PROCESS = re.compile(r"pid\s+(\S+)", re.IGNORECASE)
_ON_MACHINE = re.compile(r"(?P<what>.+) on (?P<machine>\S+)")
"""Labels of recordings of several machines, each with a device 0 of its own."""


def process_place(pid: str) -> str:
    """Where counters of a process are."""
    return f"pid {host_and_pid(pid)[1]}"


def device_place(number: int | str) -> str:
    """Where counters of an accelerator are."""
    return f"device {number}"


def on_machine(place: str, machine: str | None) -> str:
    """The same of one of several machines."""
    return place if machine is None else f"{place} on {machine}"


def place_of(label: str | None, processes: Collection[str], devices: Collection[int]) -> str:
    """What a counter's label means in a recording of these processes and devices."""
    text = (label or "").strip()
    elsewhere = _ON_MACHINE.fullmatch(text)
    if elsewhere is not None:
        return on_machine(place_of(elsewhere["what"], processes, devices), elsewhere["machine"])
    process = _PROCESS.fullmatch(text)
    if process is not None:
        return process_place(process[1])
    if text in processes:
        return process_place(text)
    if text.isdigit():
        return device_place(int(text)) if int(text) in devices else HOST
    accelerator = _ACCELERATOR.fullmatch(text)
    if accelerator is None:
        return HOST
    return device_place(int(accelerator[1]) if accelerator[1] else text)


@dataclass(frozen=True, slots=True, eq=False)
class CounterBook:
    """All counters of a recording by what they are of."""

    series: Mapping[tuple[str, str], Series]
    """By counter and place."""
    units: Mapping[str, str | None]
    """Of each counter."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of each place: as recorded."""

    @property
    def counters(self) -> tuple[str, ...]:
        return tuple(sorted(self.units))

    def places(self, kind: str) -> list[str]:
        """Places of the kind `device` or `pid`."""
        return sorted({place for _, place in self.series if place.startswith(f"{kind} ")})

    def find(self, counter: str, places: Collection[str]) -> Series | None:
        """The counter at the first of the places that has it."""
        found = (self.series.get((counter, place)) for place in places)
        return next((series for series in found if series is not None), None)


def counter_book(trace: Trace, processes: Collection[str], devices: Collection[int]) -> CounterBook:
    """The counters of a trace, sorted by time; samples taken at the same time are one."""
    samples = (
        trace.lazy("counters")
        .select("ts_ns", "counter", "device", "value")
        .filter(pl.col("value").is_finite())
        .collect()
        .with_columns(pl.col("counter", "device").cast(pl.String))
    )
    labels = samples["device"].unique().to_list()
    place = {label: place_of(label, processes, devices) for label in labels}
    samples = samples.with_columns(
        place=pl.col("device").replace_strict(
            list(place), list(place.values()), return_dtype=pl.String
        )
    )
    largest = samples.group_by("counter").agg(pl.col("value").abs().max()).sort("counter")
    return CounterBook(
        series=_series(samples),
        units={counter: unit_of(counter, value) for counter, value in largest.iter_rows()},
        labels={place[label]: label for label in labels if label},
    )


def _series(samples: pl.DataFrame) -> dict[tuple[str, str], Series]:
    # The mean of equal values may differ from them in the last digit.
    value = pl.col("value")
    mean = pl.when(value.min() == value.max()).then(value.min()).otherwise(value.mean())
    at_once = samples.group_by("counter", "place", "ts_ns").agg(mean.alias("value"))
    parts = at_once.sort("counter", "place", "ts_ns").partition_by(
        "counter", "place", as_dict=True, maintain_order=True
    )
    return {
        (counter, place): Series(
            counter,
            part["ts_ns"].to_numpy().astype(np.int64),
            part["value"].to_numpy().astype(np.float64),
        )
        for (counter, place), part in parts.items()
    }
