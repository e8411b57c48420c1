"""What a device can do at most: published peaks by device, measured ones, or given by a user.

Every peak is dense: data sheets that print figures with sparsity enter `peaks.csv` halved.  Works
without the analysis stack: peaks are measured where PyTorch and timesink alone are installed.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.errors import TimesinkError, UnreadableError, UsageError
from timesink.formats.small_files import small_text
from timesink.patterns import regex
from timesink.sources.cache import data_folder

if TYPE_CHECKING:
    from timesink.model.trace import Trace
    from timesink.recorder.peak_rates import MeasuredDevice

PRECISIONS = (
    *("fp64", "fp64_tensor", "fp32", "fp32_tensor", "tf32_tensor"),
    *("fp16", "fp16_tensor", "bf16_tensor", "fp8_tensor"),
    *("int8_tensor", "int4_tensor", "fp4_tensor"),
)
"""Kinds of arithmetic with a peak of their own; `_tensor` is done by tensor or matrix cores."""

MEMORY, LINK = "dram", "link"
"""Memory of the device; what it sends to its peers, in one direction."""
PUBLISHED = "published"
"""What `--peaks` says where measured peaks are not to be taken."""
USER_PEAKS = "given peaks"
"""What stands for a device that nobody named, but whose peaks were given."""
MEASURED_FILE = "measured_peaks.csv"
_OWN_TABLE = Path(__file__).with_name("peaks.csv")
_FACTS = (
    *("device", "match", "compute_capability", "multiprocessors", "memory_gb"),
    *("boost_mhz", "tensor_boost_mhz", "dram_gb_per_s", "link_gb_per_s"),
)
COLUMNS = (*_FACTS, *PRECISIONS, "unsure", "source")
_NAMES = {
    "dram_gb_per_s": MEMORY,
    "link_gb_per_s": LINK,
    **{precision: precision for precision in PRECISIONS},
}
"""What the peak of a column is called."""
_NUMBERS = COLUMNS[3:-2]
_MEMORY_SHARE = (0.9, 1.02)
"""Drivers report GiB and keep some: how much of the printed size they may tell."""
_ON_CORES = frozenset({"tf32", "fp16", "bf16", "fp8", "int8"})
"""Types that only tensor or matrix cores multiply."""
_PREFIX = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_QUANTITY = regex(
    r"(?P<number>[0-9.]+(?:e[+-]?[0-9]+)?)\s*"
    r"(?P<prefix>[kmgtp]?)(?P<unit>b/s|bytes?/s|flops?(?:/s)?|ops?(?:/s)?)?",
    re.IGNORECASE,
)
_EXAMPLE = "dram=4.0TB/s,fp16_tensor=790TFLOP/s"
_CELLS = "peaks are numbers in TFLOP/s (memory, link: GB/s), match is a regular expression"
_SMALLEST = 1e9
"""No device is this slow: a smaller number was meant in another unit."""


@dataclass(frozen=True, slots=True)
class DevicePeaks:
    """The most one device can do, in FLOP and bytes per second."""

    device: str
    dram_bytes_per_s: float | None = None
    link_bytes_per_s: float | None = None
    """What it can send to its peers, in one direction, over all its links."""
    flop_per_s: Mapping[str, float] = field(default_factory=dict)
    """By precision; precisions the maker publishes nothing about are absent."""
    source: str = ""
    stated: tuple[str, ...] = ()
    """Which of the peaks the user gave: `dram`, `link` and precisions."""
    measured: tuple[str, ...] = ()
    """Which were measured on such a device; the others are published."""
    unsure: tuple[str, ...] = ()
    """Which are not from the maker's own sheet, or contradicted; `source` says more."""
    match: str = ""
    """Regular expression for the names by which drivers call the device."""
    compute_capability: str | None = None
    multiprocessors: int | None = None
    memory_gb: float | None = None
    """Size of its memory as printed on the sheet."""
    boost_hz: float | None = None
    tensor_boost_hz: float | None = None
    """The clock the peaks of the tensor cores assume, where it is another one."""

    def peak(self, precision: str) -> float | None:
        """The peak of a precision; packed fp16 is at least as fast as fp32."""
        rate = self.flop_per_s.get(precision)
        return self.flop_per_s.get("fp32") if rate is None and precision == "fp16" else rate

    def doubts(self, names: Iterable[str]) -> list[str]:
        """What to say of those of the named peaks that are not beyond doubt.

        >>> find_peaks("NVIDIA A10").peaks.doubts(["dram", "bf16_tensor"])[0].partition(":")[0]
        'peak of bf16_tensor is unsure'
        """
        certain = {*self.stated, *self.measured}
        doubted = [
            name for name in dict.fromkeys(names) if name in self.unsure and name not in certain
        ]
        return [f"peak of {name} is unsure: {self.source}" for name in doubted]

    def cells(self) -> dict[str, str]:
        """A row of a file of peaks."""
        rates = {MEMORY: self.dram_bytes_per_s, LINK: self.link_bytes_per_s}
        numbers = {
            "multiprocessors": self.multiprocessors,
            "memory_gb": self.memory_gb,
            "boost_mhz": self.boost_hz and self.boost_hz / 1e6,
            "tensor_boost_mhz": self.tensor_boost_hz and self.tensor_boost_hz / 1e6,
            **{f"{kind}_gb_per_s": rate and rate / 1e9 for kind, rate in rates.items()},
            **{precision: peak / 1e12 for precision, peak in self.flop_per_s.items()},
        }
        words = {
            "device": self.device,
            "match": self.match,
            "compute_capability": self.compute_capability or "",
            "unsure": " ".join(
                name for name, peak_name in _NAMES.items() if peak_name in self.unsure
            ),
            "source": self.source,
        }
        figures = {name: f"{number:.6g}" for name, number in numbers.items() if number is not None}
        return {name: words.get(name, figures.get(name, "")) for name in COLUMNS}


@dataclass(frozen=True, slots=True)
class PeaksChoice:
    """The peaks to measure against, or why there are none and what to do about it."""

    peaks: DevicePeaks | None
    reason: str = ""


def load_peaks(path: str | Path | None = None) -> tuple[DevicePeaks, ...]:
    """The published peaks; rows of a file of one's own, with the same columns, come first."""
    return _rows(_OWN_TABLE) if path is None else (*_read(Path(path)), *_rows(_OWN_TABLE))


def measured_file() -> Path:
    """Where `timesink peaks measure` keeps what it finds."""
    return data_folder() / MEASURED_FILE


def measured_peaks() -> tuple[DevicePeaks, ...]:
    """The peaks measured by this user, a row per device; none where none were."""
    path = measured_file()
    try:
        rows = tuple(_read(path)) if path.is_file() else ()
    except TimesinkError as error:
        hint = "remove the file, or measure again with  timesink peaks measure --force"
        raise UnreadableError(error.message, hint) from error
    return tuple(replace(row, measured=tuple(_peak_names(row))) for row in rows)


def _peak_names(row: DevicePeaks) -> Iterator[str]:
    if row.dram_bytes_per_s:
        yield MEMORY
    if row.link_bytes_per_s:
        yield LINK
    yield from row.flop_per_s


def over(base: DevicePeaks, row: DevicePeaks) -> DevicePeaks:
    """Published peaks with measured ones in their place."""
    both = {**base.flop_per_s, **row.flop_per_s}
    return replace(
        base,
        dram_bytes_per_s=row.dram_bytes_per_s or base.dram_bytes_per_s,
        link_bytes_per_s=row.link_bytes_per_s or base.link_bytes_per_s,
        flop_per_s={precision: both[precision] for precision in PRECISIONS if precision in both},
        measured=row.measured,
        source=f"{row.source}; what was not measured: {base.source}",
    )


def peaks_at_clock(peaks: DevicePeaks, hz: float) -> DevicePeaks:
    """The peaks of a device whose units run at a clock; memory and links keep their own.

    What was measured or given stays: it was reached at whatever clock there was.  Without a
    published clock nothing is scaled.

    >>> h200 = find_peaks("NVIDIA H200").peaks
    >>> slow = peaks_at_clock(h200, 1.5e9)
    >>> round(slow.peak("bf16_tensor") / h200.peak("bf16_tensor"), 3), slow.dram_bytes_per_s
    (0.82, 4800000000000.0)
    """
    if not (peaks.boost_hz and 0 < hz < math.inf):
        return peaks
    fixed = {*peaks.stated, *peaks.measured}
    # Tensor cores of some devices have a clock of their own, which that of fp64 does not follow.
    tensor = peaks.tensor_boost_hz or peaks.boost_hz

    def scaled(precision: str, peak: float) -> float:
        if precision in fixed:
            return peak
        is_tensor = precision.endswith("_tensor") and precision != "fp64_tensor"
        return peak * hz / (tensor if is_tensor else peaks.boost_hz or hz)

    flop = {precision: scaled(precision, peak) for precision, peak in peaks.flop_per_s.items()}
    return replace(peaks, flop_per_s=flop, boost_hz=hz, tensor_boost_hz=None)


@lru_cache(maxsize=1)
def _rows(path: Path) -> tuple[DevicePeaks, ...]:
    return tuple(_read(path))


def _read(path: Path) -> Iterator[DevicePeaks]:
    try:
        lines = small_text(path).splitlines()
    except FileNotFoundError:
        raise UnreadableError.missing(path) from None
    except OSError as error:
        raise UnreadableError.denied(path, str(error)) from error
    table = csv.DictReader(lines)
    names = set(table.fieldnames or ())
    unknown = sorted(names - set(COLUMNS))
    if unknown or "device" not in names:
        raise UsageError(
            f"{path}: {f'unknown column {unknown[0]!r}' if unknown else 'no column device'}",
            f"the columns of a file of peaks are {', '.join(COLUMNS)}",
        )
    try:
        for number, row in enumerate(table, 2):
            yield _row(path, number, row)
    except csv.Error as error:
        raise UsageError(f"{path}: no table of peaks ({error})", _CELLS) from error


def _row(path: Path, number: int, row: Mapping[str, str | None]) -> DevicePeaks:
    cell = {name: (row.get(name) or "").strip() for name in COLUMNS}
    match = cell["match"] or re.escape(cell["device"])
    try:
        values = {name: _number(name, cell[name]) for name in _NUMBERS if cell[name]}
        if path != _OWN_TABLE:  # tests read that one: each pattern would be compiled for nothing
            re.compile(match)
        doubted = {_NAMES[name] for name in cell["unsure"].split()}
        _refuse_cells_beyond(row)
    except KeyError as error:
        hint = f"unsure names columns of the row, such as {', '.join(_NAMES)}"
        raise UsageError(f"{path}: line {number}: no peak is called {error}", hint) from error
    except (ValueError, re.error) as error:
        raise UsageError(f"{path}: line {number}: {error}", _CELLS) from error
    if not cell["device"]:
        raise UsageError(f"{path}: line {number}: the device has no name", _CELLS)
    rates = {
        kind: float(round(values[f"{kind}_gb_per_s"] * 1e9))
        for kind in (MEMORY, LINK)
        if f"{kind}_gb_per_s" in values
    }
    hertz = {n: values[n] * 1e6 for n in ("boost_mhz", "tensor_boost_mhz") if n in values}
    return DevicePeaks(
        device=cell["device"],
        dram_bytes_per_s=rates.get(MEMORY),
        link_bytes_per_s=rates.get(LINK),
        flop_per_s={n: float(round(values[n] * 1e12)) for n in PRECISIONS if n in values},
        source=cell["source"] or str(path),
        unsure=tuple(peak_name for peak_name in _NAMES.values() if peak_name in doubted),
        match=match,
        compute_capability=cell["compute_capability"] or None,
        multiprocessors=int(values["multiprocessors"]) if "multiprocessors" in values else None,
        memory_gb=values.get("memory_gb"),
        boost_hz=hertz.get("boost_mhz"),
        tensor_boost_hz=hertz.get("tensor_boost_mhz"),
    )


def _number(name: str, text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError(f"{name} is {text}")
    return value


def _refuse_cells_beyond(row: Mapping[str, str | None]) -> None:
    """A comma too many shifts nothing, but it hides what stands behind it."""
    if len(row) > len({*row} & {*COLUMNS}):
        raise ValueError("more cells than columns")


def peaks_csv(rows: Sequence[DevicePeaks]) -> str:
    """Rows as a file that `--peaks` takes.

    >>> peaks_csv([find_peaks("H200").peaks]).splitlines()[0][:24]
    'device,match,compute_cap'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.cells() for row in rows)
    return text.getvalue().removesuffix("\n")


def measured_row(measurement: MeasuredDevice, day: str) -> DevicePeaks:
    """What was measured as a row of a file of peaks, under the name the published row has.

    >>> from timesink.recorder.peak_rates import MeasuredDevice, BestRate
    >>> rate = BestRate(7.9e14, "8192 x 8192 x 8192", 9)
    >>> found = MeasuredDevice("NVIDIA H200", "2.11", {"bf16": rate})
    >>> row = measured_row(found, "2026-01-31")
    >>> row.device, row.flop_per_s
    ('H200', {'bf16_tensor': 790000000000000.0})
    """
    published = find_peaks(measurement.name).peaks
    published_flop: Mapping[str, float] = published.flop_per_s if published else {}
    flop = {}
    for name, rate in measurement.products.items():
        # Libraries take matrix cores for products of these types where there are such.
        cores = f"{name}_tensor"
        flop[cores if name in _ON_CORES or cores in published_flop else name] = rate.per_s
    sizes = ", ".join(f"{name} {rate.size}" for name, rate in measurement.rates.items())
    clock_note = f"; clock {measurement.told_clocks}" if measurement.told_clocks else ""
    return DevicePeaks(
        device=published.device if published else measurement.name,
        dram_bytes_per_s=measurement.copy.per_s if measurement.copy else None,
        flop_per_s={precision: flop[precision] for precision in PRECISIONS if precision in flop},
        source=f"measured on {day} with torch {measurement.torch}: {sizes}{clock_note}",
        measured=tuple(
            [MEMORY] * bool(measurement.copy)
            + [precision for precision in PRECISIONS if precision in flop]
        ),
        match=published.match if published else rf"^{re.escape(measurement.name)}$",
        compute_capability=measurement.compute_capability,
        multiprocessors=measurement.multiprocessors,
        memory_gb=None
        if not measurement.memory_bytes
        else round(measurement.memory_bytes / 2**30, 2),
    )


def find_peaks(
    name: str,
    compute_capability: str | None = None,
    multiprocessors: int | None = None,
    table: Sequence[DevicePeaks] | None = None,
    memory_bytes: int | None = None,
) -> PeaksChoice:
    """The peaks of a device, by its name, else by what identifies it beyond doubt.

    A compute capability alone never does: 9.0 is H100, H200 and GH200.  With the number of
    multiprocessors it may, and with the size of the memory: 9.4 and 304 of them is MI300X with 192
    GiB, MI325X with 256.

    >>> find_peaks("", "9.4", 304, memory_bytes=206141652992).peaks.device
    'MI300X'
    """
    table = load_peaks() if table is None else table
    if name:
        return _by_name(name, table)
    if compute_capability is None:
        return PeaksChoice(None, f"the recording does not name the device; {_say(table[:0])}")
    same_capability = [row for row in table if row.compute_capability == compute_capability]
    fitting = [
        row
        for row in same_capability
        if row.multiprocessors in {multiprocessors, None} and _may_have(row, memory_bytes)
    ]
    is_unique = multiprocessors is not None and len(set(_names(fitting))) == 1
    if is_unique and fitting[0].multiprocessors:
        return PeaksChoice(fitting[0])
    several = fitting if multiprocessors is not None else same_capability
    reason = f"compute capability {compute_capability} does not tell which device it is"
    return PeaksChoice(None, f"{reason}; {_say(several)}")


def _may_have(row: DevicePeaks, memory_bytes: int | None) -> bool:
    if not (memory_bytes and row.memory_gb):
        return True
    least, most = _MEMORY_SHARE
    return least <= memory_bytes / (row.memory_gb * 2**30) <= most


def _by_name(name: str, table: Sequence[DevicePeaks]) -> PeaksChoice:
    called, *devices = (re.sub(r"[^a-z0-9]", "", text.lower()) for text in (name, *_names(table)))
    if called in devices:
        return PeaksChoice(table[devices.index(called)])
    for row in table:
        # The pattern is found as whole words: L4 is not in L40, B200 not in GB200.
        if re.search(rf"(?<!\w)(?:{row.match})(?![^\W_])", name):
            return PeaksChoice(row)
    similar = _similar_devices(name, table)
    reason = "does not tell which of several devices it is" if similar else "is not in the table"
    return PeaksChoice(None, f"{name!r} {reason}; {_say(similar)}")


def _names(table: Sequence[DevicePeaks]) -> list[str]:
    return [row.device for row in table]


def _similar_devices(name: str, table: Sequence[DevicePeaks]) -> list[DevicePeaks]:
    """Devices that share a word such as `h100` with a name."""
    words = set(re.findall(r"[a-z]+[0-9]+[a-z]*", name.lower()))
    return [row for row in table if words & set(re.findall(r"\w+", row.device.lower()))]


def _say(similar: Sequence[DevicePeaks]) -> str:
    names = [f'"{name}"' if " " in name else name for name in dict.fromkeys(_names(similar))]
    if names:
        return f"name it with --device {' or '.join(names)}"
    return "name it with --device, e.g. --device H200, or give its peaks with --peaks"


def _closest(device: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - most devices are found

    close = get_close_matches(device.upper(), names, 4, 0.0)
    return f"close are {', '.join(close)};  timesink peaks  lists all {len(names)}"


def choose_peaks(
    trace: Trace,
    *,
    timeline: Trace | None = None,
    device: str | None = None,
    peaks: str | Path | None = None,
) -> PeaksChoice:
    """The peaks of the device a recording was made on.

    Where the recording does not name it, a timeline of the same program may; `device` comes before
    both.  Peaks that `timesink peaks measure` found on such a device come before published ones.
    `peaks` is a file like `peaks.csv`, or values such as ``dram=4.0TB/s,fp16_tensor=790TFLOP/s``,
    which replace the known ones, or ``published``, which leaves measured ones aside.
    """
    published, table = _tables(peaks)
    choice = _by_name(device, table) if device else _recorded_choice(trace, table)
    if device and choice.peaks is None:
        similar = _similar_devices(device, table)
        raise UsageError(
            f"--device: {choice.reason.partition(';')[0]}",
            _say(similar) if similar else _closest(device, [*dict.fromkeys(_names(table))]),
        )
    if choice.peaks is None and timeline is not None:
        named = _recorded_choice(timeline, table)
        choice = named if named.peaks else choice
    combined = _with_given(choice.peaks, peaks, published)
    return choice if combined is None else PeaksChoice(combined)


def peaks_named(device: str, peaks: str | Path | None = None) -> DevicePeaks | None:
    """The peaks of a device by its name, with `peaks` as for `choose_peaks`."""
    published, table = _tables(peaks)
    row = find_peaks(device, table=table).peaks if device else None
    return _with_given(row, peaks, published)


def _is_file(peaks: str | Path | None) -> bool:
    return peaks not in {None, PUBLISHED} and (isinstance(peaks, Path) or "=" not in str(peaks))


def _tables(peaks: str | Path | None) -> tuple[Sequence[DevicePeaks], Sequence[DevicePeaks]]:
    """Published peaks with those of a file, and all in which a device is looked for, in turn."""
    is_file = _is_file(peaks)
    place = Path(peaks or "")
    if is_file and (place.is_dir() or not place.exists()):
        why = "a folder" if place.exists() else "no such file"
        hint = f"name a CSV of peaks, or write e.g. {_EXAMPLE}"
        raise UnreadableError(f"--peaks: {peaks}: {why}", hint)
    published = load_peaks(peaks if is_file else None)
    if is_file or peaks == PUBLISHED:
        return published, published
    return published, (*measured_peaks(), *published)


def _with_given(
    device_peaks: DevicePeaks | None, peaks: str | Path | None, published: Sequence[DevicePeaks]
) -> DevicePeaks | None:
    """Peaks with the published ones of what was not measured, and those that the user wrote."""
    if device_peaks is not None:
        device_peaks = _complete_peaks(device_peaks, published)
    if peaks in {None, PUBLISHED} or _is_file(peaks):
        return device_peaks
    base, stated = device_peaks or DevicePeaks(USER_PEAKS), parse_peaks(str(peaks))
    both = {**base.flop_per_s, **stated}
    return replace(
        base,
        dram_bytes_per_s=stated.get(MEMORY, base.dram_bytes_per_s),
        link_bytes_per_s=stated.get(LINK, base.link_bytes_per_s),
        flop_per_s={name: both[name] for name in PRECISIONS if name in both},
        stated=tuple(stated),
    )


def _complete_peaks(device_peaks: DevicePeaks, published: Sequence[DevicePeaks]) -> DevicePeaks:
    """Measured peaks with the published ones of what was not measured."""
    base = next((row for row in published if row.device == device_peaks.device), None)
    return over(base, device_peaks) if device_peaks.measured and base is not None else device_peaks


def parse_peaks(text: str) -> dict[str, float]:
    """Measured peaks as a user writes them, in FLOP/s and bytes/s.

    >>> parse_peaks("dram=4.0TB/s,link=450GB/s")
    {'dram': 4000000000000.0, 'link': 450000000000.0}
    """
    values = {}
    for part in filter(str.strip, text.split(",")):
        name, _, quantity = (half.strip() for half in part.partition("="))
        if name not in _NAMES.values():
            raise UsageError(
                f"--peaks: {name!r} is no peak",
                f"write e.g. {_EXAMPLE}; there are {', '.join(_NAMES.values())}",
            )
        match, moves = _QUANTITY.fullmatch(quantity), name in {MEMORY, LINK}
        value = math.nan
        if match and (not match["unit"] or ("b" in match["unit"].lower()) == moves):
            with suppress(ValueError):
                value = float(match["number"]) * _PREFIX[match["prefix"].lower()]
        if not _SMALLEST <= value < math.inf:
            example = f"{name}=4.0TB/s" if moves else f"{name}=790TFLOP/s"
            raise UsageError(
                f"--peaks: {quantity!r} is no peak for {name}", f"write e.g. {example}"
            )
        values[name] = float(round(value))
    return values


def _recorded_choice(trace: Trace, table: Sequence[DevicePeaks]) -> PeaksChoice:
    collected = trace.metadata.extra.get("collected") or {}
    device_name = collected.get("device") or ""
    choices = [
        find_peaks(
            device.name or device_name,
            device.compute_capability,
            device.multiprocessors,
            table,
            device.memory_bytes,
        )
        for device in trace.metadata.devices
    ] or [find_peaks(device_name, table=table)]
    names = {choice.peaks.device if choice.peaks else "" for choice in choices}
    if len(names) == 1:
        return choices[0]
    unknown = next((choice for choice in choices if choice.peaks is None), None)
    return unknown or PeaksChoice(
        None,
        f"the recording holds different devices ({', '.join(sorted(names))}); "
        "name the one to measure against with --device",
    )
