"""What counters say about resources, and what these carry; both are tables beside this file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import msgspec
import polars as pl
from msgspec.structs import replace

from timesink.analyses.kernels.peaks import find_peaks
from timesink.model.data_files import csv_rows
from timesink.model.units import quantity, unit_of
from timesink.model.vendors import DEVICE_WORDS, every
from timesink.patterns import regex
from timesink.rules.thresholds import CounterNamesLimits

_DATA = Path(__file__).with_name("resources.csv")
_MAKERS = rf"(?:{DEVICE_WORDS}|device|accelerator)"
_DEVICE = regex(
    rf"^(?:{'|'.join(every('sampler_prefixes'))})?"
    rf"(?:{'|'.join(every('counter_prefixes'))}|{_MAKERS}_)"
)
_OF_A_PROCESS = regex(rf"^(process|container)_{_MAKERS}_")
_PID = regex(r"^((?:process|container)_.*?)_(\d+)$")
_UNIT = regex(r"\s*[\[(][^\])]*[\])]$")
_BETWEEN_WORDS = regex(r"[\s.:/-]+")
_WORDS = {
    "traffic": (
        *("rx", "tx", "recv", "receive", "sent", "send", "transmit", "xmit", "read", "writ"),
        *("bytes", "bandw", "throughput", "traffic", "rate", "bps"),
    ),
    "share": ("usage", "util", "percent", "pct", "share"),
}
"""What patterns of the table write in braces."""
_RATES = dict.fromkeys(("pcie", "link", "memory_bandwidth", "network", "disk"), ("B/s",))
_UNITS = {
    "percent": ("%",),
    "flag": ("%",),
    "ratio": ("MHz", "%", "B", "W"),
    "cycle_share": ("ns",),
    "process_memory": ("B",),
    "fixed": ("per s",),
    **_RATES,
}
"""Units a scale can make something of; a counter whose unit nobody knows is taken by its name."""


class Resource(msgspec.Struct, frozen=True):
    """One line of the table."""

    pattern: str
    resource: str
    """What is measured; several counters may measure the same: `device_clock`, `pcie`, ..."""
    cause: str
    """A cause of the catalogue, for exogenous ones."""
    role: str
    harm: str = ""
    """`up` or `down`: the direction that hurts."""
    scale: str = ""
    """How a change becomes a share of the capacity: a key of `resources.SCALES`."""
    deduction: str = ""
    """How the load of the process itself is taken off: a key of `resources.TAKEN_OFF`."""
    floor: float = CounterNamesLimits.floor
    """Least share of the capacity that is worth an entry."""
    hurts_from: float | None = None
    """Level below which there is enough left for all, in the unit of the counter."""
    capacity: float | None = None


UNKNOWN = Resource("*", "", "", "symptom")
"""What is said about counters no line fits."""


def resource_of(counter: str, unit: str | None = None) -> Resource:
    """What a counter says; the first line that fits decides, if its scale knows the unit.

    `unit` is a base unit as of `units.quantity`; without, the name tells.
    """
    resource = _line_for(plain_name(counter))
    base_unit = quantity(1.0, unit_of(counter))[1] if unit is None else unit
    fits = not base_unit or resource.role != "exogenous" or base_unit in _UNITS[resource.scale]
    return resource if fits else UNKNOWN


@lru_cache(maxsize=1024)
def _line_for(name: str) -> Resource:
    return next((line for line in load_resources() if fits(name, line.pattern)), UNKNOWN)


def fits(name: str, pattern: str) -> bool:
    """Whether a name is as the pattern says, in which * is anything.

    `fnmatch` compiles a regular expression for each of hundreds of patterns, which takes longer
    than all tests of the counters.
    """
    first, *rest = pattern.split("*")
    if not rest:
        return name == pattern
    *between, last = rest
    at = len(first)
    end = len(name) - len(last)
    if end < at or not (name.startswith(first) and name.endswith(last)):
        return False
    for piece in between:
        position = name.find(piece, at, end)
        if position < 0:
            return False
        at = position + len(piece)
    return True


def plain_name(counter: str) -> str:
    """A counter's name as the table writes it."""
    name = _BETWEEN_WORDS.sub("_", _UNIT.sub("", counter.strip()).lower()).strip("_")
    name = without_pid(name)
    return _OF_A_PROCESS.sub(r"\1_device_", _DEVICE.sub("device_", name))


def without_pid(counter: str) -> str:
    """The name of a counter of a process without the number of the process."""
    return _PID.sub(r"\1", counter)


@lru_cache(maxsize=1)
def load_resources() -> tuple[Resource, ...]:
    """All lines of the table."""
    names = ("pattern", "resource", "cause", "role", "harm", "scale")
    return tuple(
        Resource(
            **{name: row[name] for name in names},
            deduction=row["own"],
            floor=float(row["floor"] or CounterNamesLimits.floor),
            hurts_from=float(row["from"]) if row["from"] else None,
            capacity=float(row["capacity"]) if row["capacity"] else None,
        )
        for line in csv_rows(_DATA)
        for row in _with_words(line)
    )


def _with_words(row: dict[str, str]) -> Iterator[dict[str, str]]:
    """A row for each of the words that a name in braces stands for."""
    for name, words in _WORDS.items():
        if f"{{{name}}}" in row["pattern"]:
            for word in words:
                yield row | {"pattern": row["pattern"].replace(f"{{{name}}}", word)}
            return
    yield row


# -- counters of a process -------------------------------------------------------------------------


def only_own(levels: pl.DataFrame, pid: str) -> pl.DataFrame:
    """Levels without counters of other processes, and without the numbers of processes in names.

    A counter that names the process comes before one that names none.  Where only one process was
    sampled, that is the one: it may have another number inside a container.
    """
    if levels.is_empty():
        return levels
    named = levels[["metric", "device"]].unique(maintain_order=True)
    chosen: dict[tuple[str, str], list[str]] = {}
    for metric, device in named.iter_rows():
        chosen.setdefault((without_pid(metric), device), []).append(metric)
    rows = [
        (process_metric, device, name)
        for (name, device), metrics in chosen.items()
        if (process_metric := _process_counter(metrics, pid)) is not None
    ]
    names = pl.DataFrame(rows, schema=["metric", "device", "name"], orient="row").cast(pl.String)
    chosen_levels = levels.join(names, ["metric", "device"], "inner", maintain_order="left")
    return chosen_levels.with_columns(metric="name").drop("name")


def _process_counter(metrics: list[str], pid: str) -> str | None:
    """Which of several counters of one sort is the process's own."""
    number = re.search(r"\d+$", pid)
    by_pid = {match[2] if (match := _PID.match(metric)) else None: metric for metric in metrics}
    named = None if number is None else by_pid.get(number[0])
    if named is not None or len(metrics) == 1:
        return named or metrics[0]
    return by_pid.get(None)


# -- what links carry and what power devices draw --------------------------------------------------


_HARDWARE = Path(__file__).with_name("hardware.csv")
_LINK_RATES = Path(__file__).with_name("rates.csv")
_GIGA = 1e9


class Hardware(msgspec.Struct, frozen=True):
    """One sort of device; rates per direction in bytes per second, None where not published."""

    device: str
    match: str = ""
    pcie: float | None = None
    link: float | None = None
    memory_bandwidth: float | None = None
    power_w: float | None = None


@lru_cache(maxsize=64)
def hardware_of(name: str | None) -> Hardware | None:
    """What is known about a device of that name."""
    if not name:
        return None
    hardware = next(
        (candidate for candidate in _devices() if re.search(candidate.match, name)), None
    )
    peaks = find_peaks(name).peaks
    if peaks is None:
        return hardware
    return replace(hardware or Hardware(peaks.device), memory_bandwidth=peaks.dram_bytes_per_s)


def capacity_of(
    kind: str, hardware: Hardware | None, seen: float, steady: float | None = None
) -> float:
    """What a link of a kind carries: known from the device, else the slowest that carries `seen`.

    `steady` is traffic that stays where it is, as that of a full link does: it tells of links that
    are slower than usual.
    """
    capacity = getattr(hardware, kind, None)
    if capacity is not None and seen <= capacity:
        return float(capacity)
    full = -1.0 if steady is None else steady
    fitting = [
        most
        for most, usual in _rates().get(kind, ())
        if most >= seen and (usual or CounterNamesLimits.filled * most <= full <= most)
    ]
    return min(fitting, default=seen)


@lru_cache(maxsize=1)
def _devices() -> tuple[Hardware, ...]:
    entries = []
    for row in csv_rows(_HARDWARE):
        names = ("pcie_gb_per_s", "link_gb_per_s", "power_w")
        pcie, link, power = (float(row[name]) if row[name] else None for name in names)
        rates = [None if rate is None else rate * _GIGA for rate in (pcie, link)]
        entries.append(Hardware(row["device"], row["match"], rates[0], rates[1], power_w=power))
    return tuple(entries)


@lru_cache(maxsize=1)
def _rates() -> Mapping[str, list[tuple[float, bool]]]:
    """What links of a kind carry, in bytes per second, and whether that is usual."""
    rates: dict[str, list[tuple[float, bool]]] = {}
    for row in csv_rows(_LINK_RATES):
        rate = float(row["gb_per_s"]) * _GIGA, row["usual"] == "yes"
        rates.setdefault(row["kind"], []).append(rate)
    return rates
