"""A device that another process shares, seen from equal launches that all take longer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.analyses.behaviour.summary import once_per_cycle, plain_texts
from timesink.analyses.columns import among
from timesink.comparison.causes.machine import counter_evidence
from timesink.comparison.causes.resources import Context, CounterReading, readings
from timesink.comparison.results import Pair
from timesink.comparison.thresholds import SharedDeviceLimits
from timesink.model import units
from timesink.model.diagnosis import ProgramChange
from timesink.model.findings import Anomaly, Evidence
from timesink.model.intervals import Floats
from timesink.model.schema import HOST_DEVICE
from timesink.model.vendors import is_gpu
from timesink.rules.register import catalogue

_CAUSE = "gpu_contention"
TURN = "turn of another process"
"""What is measured of a device that takes turns, as a counter would be called."""
_MIN_KERNELS, _MAX_KERNEL_RATIO = 3, 2.0
"""Kernels that are held up by the same time, and how much longer one of them is than another."""
_MEMORY = ("others_device_memory", "own_device_memory", "device_memory")
"""Counters of memory in use, those first that say whose it is."""
_WHOSE = {
    "others_device_memory": "Another program uses {device}",
    "own_device_memory": "A second process of the program uses {device}",
    "device_memory": "Another process uses {device}",
}


def shared_devices(
    pair: Pair,
    anatomies: tuple[Anatomy, Anatomy],
    anomalies: Sequence[Anomaly],
    program: ProgramChange | None,
) -> Iterator[Anomaly]:
    """Devices that a further process shares, of equal programs, where no other anomaly is known.

    Counters of use do not show it: the program itself kept the device busy before, and a process of
    its own counts as the program.  What a process takes of the memory does, and so does a device
    that takes turns: launches are held up by whole turns of one length, whichever kernel it is.
    """
    if program is None or not program.same:
        return
    base, new = anatomies
    context = Context(pair, base, new, readings(pair, base, new))
    odd = {anomaly.device for anomaly in anomalies}
    devices = set(pair.times["device"].cast(pl.String).drop_nulls())
    for device in sorted(devices - odd - {HOST_DEVICE}):
        ratio = context.interrupted(device)
        memory = next(filter(None, (_more_memory(device, name, context) for name in _MEMORY)), None)
        turn_ns = turns_of_others(pair, device)
        if ratio >= SharedDeviceLimits.min_longer and memory is not None:
            yield _shared_finding(device, ratio, memory, context)
        elif turn_ns:
            yield _taking_turns(device, turn_ns, context.kernel_ratio(device))


def turns_of_others(pair: Pair, device: str) -> float:
    """For how long another process has the device at a time, in ns; 0 where launches tell of none.

    Kernels that are given more work take longer each by its own measure.  Where a device takes
    turns, kernels of any length take longer by the same time, or by a few times that.
    """
    base, new = (_times_in_cycles(role.behaviour, device) for role in (pair.base, pair.new))
    usual = base.group_by("function").agg(
        pl.col("dur_ns").median().alias("usual_ns"), pl.col("calls").median().alias("usual_calls")
    )
    held_up = (
        new.join(usual, "function")
        .filter(pl.col("calls") == pl.col("usual_calls"))
        .with_columns(
            excess_ns=pl.col("dur_ns") - pl.col("usual_ns"),
            length_ns=pl.col("usual_ns") / pl.col("usual_calls"),
        )
        .filter(pl.col("excess_ns") > SharedDeviceLimits.held_up * pl.col("usual_ns"))
        .sort("excess_ns")
    )
    excess = held_up["excess_ns"].to_numpy().astype(np.float64)
    tried = 0.0
    for candidate in excess.tolist():
        if candidate > (1 + SharedDeviceLimits.equal_turns) * tried:
            tried = candidate
            near = (
                np.abs(excess / candidate - 1 - SharedDeviceLimits.equal_turns / 2)
                <= SharedDeviceLimits.equal_turns / 2
            )
            turn = float(np.median(excess[near]))
            if _is_turn(turn, held_up.filter(pl.Series(near)), excess):
                return turn
    return 0.0


def _is_turn(turn_ns: float, held_up: pl.DataFrame, excess: Floats) -> bool:
    """Whether unlike kernels are held up by this time, and what others are by multiples of it."""
    lengths = held_up.group_by("function").agg(pl.col("length_ns").first())["length_ns"].to_numpy()
    if len(lengths) < _MIN_KERNELS or lengths.max() < _MAX_KERNEL_RATIO * lengths.min():
        return False
    few = excess[excess <= (SharedDeviceLimits.few_turns + 0.5) * turn_ns] / turn_ns
    turns = np.maximum(1.0, np.round(few))
    return (
        float((np.abs(few - turns) <= SharedDeviceLimits.equal_turns * turns).mean())
        >= SharedDeviceLimits.nearly_all
    )


def _times_in_cycles(behaviour: pl.DataFrame, device: str) -> pl.DataFrame:
    """Time and calls of each kernel of a device in each cycle."""
    every = once_per_cycle(behaviour)
    computing = among(every["device"], {device}) & among(every["function_class"], {"gpu_compute"})
    rows = plain_texts(every.filter(computing))
    return rows.group_by("cycle", "function").agg(pl.col("dur_ns", "calls").sum())


def _taking_turns(device: str, turn_ns: float, ratio: float | None) -> Anomaly:
    texts = catalogue()["causes"][_CAUSE]
    longer = "" if ratio is None else f" Equal launches take {ratio:.2f} times as long in all."
    sentence = (
        f"{device} takes turns with another process: launches of unlike kernels are held up by "
        f"{units.brief_ns(turn_ns)}, or a few times that.{longer}"
    )
    levels: dict[str, Any] = {"device": device, "metric": TURN, "unit": "ns"}
    levels |= {"base": 0.0, "new": turn_ns}
    return Anomaly(
        _CAUSE,
        sentence,
        texts["advice" if is_gpu(device) else "plain"],
        share=1 - 1 / max(ratio or 1.0, 1.0),
        evidence=(
            Evidence(
                "counter", f"{TURN} of {device}: {units.amounts(0.0, turn_ns, 'ns')}", **levels
            ),
        ),
        q_value=0.0,
        **levels,
    )


def _more_memory(device: str, resource: str, context: Context) -> CounterReading | None:
    """A counter of memory in use that rose by what a further process takes, at least."""
    reading = context.reading(resource, device)
    return (
        reading
        if reading is not None and reading.rise >= SharedDeviceLimits.context_bytes
        else None
    )


def _shared_finding(device: str, ratio: float, memory: CounterReading, context: Context) -> Anomaly:
    texts = catalogue()["causes"][_CAUSE]
    clock = context.reading("device_clock", device)
    longer = f"nearly all kernels take {ratio:.2f} times as long for equal launches"
    amounts = units.amounts(memory.base_mean, memory.new_mean, memory.unit)
    return Anomaly(
        _CAUSE,
        f"{_WHOSE[memory.resource.resource].format(device=device)}: {memory.metric} {amounts}, and "
        f"{longer} at an unchanged clock.",
        texts["advice" if is_gpu(device) else "plain"],
        share=1 - 1 / ratio,
        evidence=(
            counter_evidence(memory, context),
            Evidence("kernel", f"{longer} on {device}", device=device, base=1.0, new=ratio),
            *([counter_evidence(clock, context)] if clock is not None else []),
        ),
        q_value=0.0,
        **memory.levels,
    )
