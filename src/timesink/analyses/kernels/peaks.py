"""What a device can do at most: published peaks by device, found by its name, or given by a user.

Every peak is dense: data sheets that print figures with sparsity enter `peaks.csv` halved.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from timesink.errors import UnreadableError, UsageError
from timesink.model.trace import Device, Trace

PRECISIONS = (
    *("fp64", "fp64_tensor", "fp32", "fp32_tensor", "tf32_tensor"),
    *("fp16", "fp16_tensor", "bf16_tensor", "fp8_tensor"),
    *("int8_tensor", "int4_tensor", "fp4_tensor"),
)
"""Kinds of arithmetic with a peak of their own; `_tensor` is done by tensor or matrix cores."""

MEMORY = "dram"
_OWN_TABLE = Path(__file__).with_name("peaks.csv")
_FACTS = (
    *("device", "match", "compute_capability", "multiprocessors"),
    *("boost_mhz", "tensor_boost_mhz", "dram_gb_per_s"),
)
COLUMNS = (*_FACTS, *PRECISIONS, "source")
_PREFIX = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_QUANTITY = re.compile(
    r"(?P<number>[0-9.]+(?:e[+-]?[0-9]+)?)\s*"
    r"(?P<prefix>[kmgtp]?)(?P<unit>b/s|bytes?/s|flops?(?:/s)?|ops?(?:/s)?)?",
    re.IGNORECASE,
)
_EXAMPLE = "dram=4.0TB/s,fp16_tensor=790TFLOP/s"
_SMALLEST = 1e9
"""No device is this slow: a smaller number was meant in another unit."""


@dataclass(frozen=True, slots=True)
class DevicePeaks:
    """The most one device can do, in FLOP and bytes per second."""

    device: str
    dram_bytes_per_s: float | None = None
    link_bytes_per_s: float | None = None
    flop_per_s: Mapping[str, float] = field(default_factory=dict)
    """By precision; precisions the maker publishes nothing about are absent."""
    source: str = ""
    given: tuple[str, ...] = ()
    """Which of the peaks the user gave: `dram` and precisions."""
    match: str = ""
    """Regular expression for the names by which drivers call the device."""
    compute_capability: str | None = None
    multiprocessors: int | None = None
    boost_hz: float | None = None
    tensor_boost_hz: float | None = None
    """The clock the peaks of the tensor cores assume, where it is another one."""

    def peak(self, precision: str) -> float | None:
        """The peak of a precision; packed fp16 is at least as fast as fp32."""
        known = self.flop_per_s.get(precision)
        return self.flop_per_s.get("fp32") if known is None and precision == "fp16" else known

    def to_dict(self) -> dict[str, Any]:
        return {
            "device": self.device,
            "source": self.source,
            "given": list(self.given),
            "dram_bytes_per_s": self.dram_bytes_per_s,
            "flop_per_s": dict(self.flop_per_s),
            "boost_hz": self.boost_hz,
            "tensor_boost_hz": self.tensor_boost_hz,
        }


@dataclass(frozen=True, slots=True)
class PeaksChoice:
    """The peaks to measure against, or why there are none and what to do about it."""

    peaks: DevicePeaks | None
    reason: str = ""


def load_peaks(path: str | Path | None = None) -> tuple[DevicePeaks, ...]:
    """The published peaks; rows of a file of one's own, with the same columns, come first."""
    return _rows(_OWN_TABLE) if path is None else (*_read(Path(path)), *_rows(_OWN_TABLE))


@lru_cache(maxsize=1)
def _rows(path: Path) -> tuple[DevicePeaks, ...]:
    return tuple(_read(path))


def _read(path: Path) -> Iterator[DevicePeaks]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise UnreadableError.missing(path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError.denied(path, str(error)) from error
    table = csv.DictReader(lines)
    names = set(table.fieldnames or ())
    unknown = sorted(names - set(COLUMNS))
    if unknown or "device" not in names:
        raise UsageError(
            f"{path}: {f'unknown column {unknown[0]!r}' if unknown else 'no column device'}",
            f"the columns of a file of peaks are {', '.join(COLUMNS)}",
        )
    for number, row in enumerate(table, 2):
        yield _row(path, number, row)


def _row(path: Path, number: int, row: Mapping[str, str | None]) -> DevicePeaks:
    cell = {name: (row.get(name) or "").strip() for name in COLUMNS}
    match = cell["match"] or re.escape(cell["device"])
    try:
        values = {name: float(cell[name]) for name in COLUMNS[3:-1] if cell[name]}
        re.compile(match)
        _refuse_cells_beyond(row)
    except (ValueError, re.error) as error:
        raise UsageError(
            f"{path}: line {number}: {error}",
            "peaks are numbers in TFLOP/s (memory: GB/s), match is a regular expression",
        ) from error
    hertz = {n: values[n] * 1e6 for n in ("boost_mhz", "tensor_boost_mhz") if n in values}
    bandwidth = values.get("dram_gb_per_s")
    return DevicePeaks(
        device=cell["device"],
        dram_bytes_per_s=None if bandwidth is None else float(round(bandwidth * 1e9)),
        flop_per_s={n: float(round(values[n] * 1e12)) for n in PRECISIONS if n in values},
        source=cell["source"] or str(path),
        match=match,
        compute_capability=cell["compute_capability"] or None,
        multiprocessors=int(values["multiprocessors"]) if "multiprocessors" in values else None,
        boost_hz=hertz.get("boost_mhz"),
        tensor_boost_hz=hertz.get("tensor_boost_mhz"),
    )


def _refuse_cells_beyond(row: Mapping[str, str | None]) -> None:
    """A comma too many shifts nothing, but it hides what stands behind it."""
    if len(row) > len({*row} & {*COLUMNS}):
        raise ValueError("more cells than columns")


def find_peaks(
    name: str,
    compute_capability: str | None = None,
    multiprocessors: int | None = None,
    table: Sequence[DevicePeaks] | None = None,
) -> PeaksChoice:
    """The peaks of a device, by its name, else by what identifies it beyond doubt.

    A compute capability alone never does: 9.0 is H100, H200 and GH200.  With the number of
    multiprocessors it may.
    """
    table = load_peaks() if table is None else table
    if name:
        return _by_name(name, table)
    if compute_capability is None:
        return PeaksChoice(None, f"the recording does not name the device; {_say(table[:0])}")
    alike = [row for row in table if row.compute_capability == compute_capability]
    fitting = [row for row in alike if row.multiprocessors in {multiprocessors, None}]
    if multiprocessors is not None and len(fitting) == 1 and fitting[0].multiprocessors:
        return PeaksChoice(fitting[0])
    several = fitting if multiprocessors is not None else alike
    reason = f"compute capability {compute_capability} does not tell which device it is"
    return PeaksChoice(None, f"{reason}; {_say(several)}")


def _by_name(name: str, table: Sequence[DevicePeaks]) -> PeaksChoice:
    called, *devices = (re.sub(r"[^a-z0-9]", "", one.lower()) for one in (name, *_names(table)))
    if called in devices:
        return PeaksChoice(table[devices.index(called)])
    for row in table:
        # The pattern is found as whole words: L4 is not in L40, B200 not in GB200.
        if re.search(rf"(?<!\w)(?:{row.match})(?![^\W_])", name):
            return PeaksChoice(row)
    alike = _alike(name, table)
    reason = "does not tell which of several devices it is" if alike else "is not in the table"
    return PeaksChoice(None, f"{name!r} {reason}; {_say(alike)}")


def _names(table: Sequence[DevicePeaks]) -> list[str]:
    return [row.device for row in table]


def _alike(name: str, table: Sequence[DevicePeaks]) -> list[DevicePeaks]:
    """Devices that share a word such as `h100` with a name."""
    words = set(re.findall(r"[a-z]+[0-9]+[a-z]*", name.lower()))
    return [row for row in table if words & set(re.findall(r"\w+", row.device.lower()))]


def _say(alike: Sequence[DevicePeaks]) -> str:
    names = [f'"{name}"' if " " in name else name for name in _names(alike)]
    if names:
        return f"name it with --device {' or '.join(names)}"
    return "name it with --device, e.g. --device H200, or give its peaks with --peaks"


def choose_peaks(
    trace: Trace,
    *,
    timeline: Trace | None = None,
    device: str | None = None,
    peaks: str | Path | None = None,
) -> PeaksChoice:
    """The peaks of the device a recording was made on.

    Where the recording does not name it, a timeline of the same program may; `device` comes before
    both.  `peaks` is a file like `peaks.csv`, or measured values such as
    ``dram=4.0TB/s,fp16_tensor=790TFLOP/s``, which replace the published ones.
    """
    is_file = peaks is not None and (isinstance(peaks, Path) or "=" not in peaks)
    if is_file and not Path(peaks or "").exists():
        raise UnreadableError(
            f"--peaks: {peaks}: no such file", f"name a CSV of peaks, or write e.g. {_EXAMPLE}"
        )
    table = load_peaks(peaks if is_file else None)
    choice = _by_name(device, table) if device else _recorded(trace, table)
    if device and choice.peaks is None:
        alike = _alike(device, table)
        raise UsageError(
            f"--device: {choice.reason.partition(';')[0]}",
            _say(alike) if alike else f"known are {', '.join(_names(table))}",
        )
    if choice.peaks is None and timeline is not None:
        named = _recorded(timeline, table)
        choice = named if named.peaks else choice
    if peaks is None or is_file:
        return choice
    base, given = choice.peaks or DevicePeaks("given peaks"), parse_peaks(str(peaks))
    both = {**base.flop_per_s, **given}
    replaced = replace(
        base,
        dram_bytes_per_s=given.get(MEMORY, base.dram_bytes_per_s),
        flop_per_s={name: both[name] for name in PRECISIONS if name in both},
        given=tuple(given),
    )
    return PeaksChoice(replaced)


def parse_peaks(text: str) -> dict[str, float]:
    """Measured peaks as a user writes them, in FLOP/s and bytes/s."""
    found = {}
    for part in filter(str.strip, text.split(",")):
        name, _, quantity = (half.strip() for half in part.partition("="))
        if name not in {MEMORY, *PRECISIONS}:
            raise UsageError(
                f"--peaks: {name!r} is no peak",
                f"write e.g. {_EXAMPLE}; there are {', '.join((MEMORY, *PRECISIONS))}",
            )
        match = _QUANTITY.fullmatch(quantity)
        value = math.nan
        if match and (not match["unit"] or ("b" in match["unit"].lower()) == (name == MEMORY)):
            with suppress(ValueError):
                value = float(match["number"]) * _PREFIX[match["prefix"].lower()]
        if not _SMALLEST <= value < math.inf:
            example = f"{name}=4.0TB/s" if name == MEMORY else f"{name}=790TFLOP/s"
            raise UsageError(
                f"--peaks: {quantity!r} is no peak for {name}", f"write e.g. {example}"
            )
        found[name] = float(round(value))
    return found


def _recorded(trace: Trace, table: Sequence[DevicePeaks]) -> PeaksChoice:
    collected = trace.metadata.extra.get("collected") or {}
    devices = trace.metadata.devices or (Device(0, ""),)
    choices = [
        find_peaks(
            one.name or collected.get("device") or "",
            one.compute_capability,
            one.multiprocessors,
            table,
        )
        for one in devices
    ]
    names = {choice.peaks.device if choice.peaks else "" for choice in choices}
    if len(names) == 1:
        return choices[0]
    unknown = next((choice for choice in choices if choice.peaks is None), None)
    return unknown or PeaksChoice(
        None,
        f"the recording holds different devices ({', '.join(sorted(names))}); "
        "name the one to measure against with --device",
    )
