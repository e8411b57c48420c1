"""Nsight Compute output of every layout, written from plain records.

    calls = [Call("gemm", 26_336, tensor_pct=72.37), Call("copy", 5_984, pid="8")]
    (tmp_path / "calls.csv").write_text(details_csv(calls))
    timesink.open(tmp_path / "calls.csv").kernel_calls.equals(expected_calls(calls))

`details_csv`, `raw_csv`, `text_page` and `kernel_table` are the layouts; `Locale` is how numbers
are printed.  A value that is None has no row (an empty field in `raw_csv`); a word such as `n/a`
is printed as it is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import polars as pl

from timesink.model.schema import KERNEL_CALLS, KERNEL_METRICS

DURATION = "gpu__time_duration.sum"
TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
METRICS = {
    DRAM: "dram_pct",
    DURATION: "dur_ns",
    TENSOR: "tensor_pct",
    SM: "sm_pct",
    OCCUPANCY: "occupancy_pct",
}
"""Metrics with a column of their own, in the order Nsight Compute prints them."""
LABELS = {
    DURATION: "Duration",
    DRAM: "DRAM Throughput",
    SM: "Compute (SM) Throughput",
    OCCUPANCY: "Achieved Occupancy",
}
"""What the details page calls them; it has no label for the tensor pipe."""
DECIMALS = {
    "ns": 0,
    "us": 3,
    "ms": 6,
    "s": 9,
    "nsecond": 0,
    "usecond": 3,
    "msecond": 6,
    "second": 9,
}
"""Units of time, and how many decimals hold whole nanoseconds."""
CLOCKS_WARNING = (
    "==WARNING== Note: Running with unmodified GPU clocks. If not controlled otherwise, "
    "profiling results may be inconsistent."
)
MACHINE = {
    "device__attribute_clock_rate": "1980000",
    "device__attribute_compute_capability_major": "9",
    "device__attribute_compute_capability_minor": "0",
    "device__attribute_display_name": "NVIDIA H200",
    "device__attribute_fb_bus_width": "6016",
    "device__attribute_multiprocessor_count": "132",
    "device__attribute_total_memory": "150109880320",
    "numa__cpu_affinity": "",
    "nvlink__bandwidth": "18",
    "profiler__replayer_passes": "9",
}
"""What the raw page repeats for every launch though it describes the machine; values as text."""

Value = float | int | str | None
"""A number in base units; a word is printed as it is, e.g. `n/a`; None is absent."""


@dataclass(frozen=True)
class Locale:
    """How numbers are printed."""

    decimal: str = "."
    group: str = ","


ENGLISH = Locale()
GERMAN = Locale(",", ".")
FRENCH = Locale(",", "\u202f")
POLISH = Locale(",", "\u00a0")
SPACED = Locale(",", " ")
SWISS = Locale(".", "'")
PLAIN = Locale(".", "")
LOCALES = (ENGLISH, GERMAN, FRENCH, POLISH, SPACED, SWISS, PLAIN)


@dataclass(frozen=True)
class Call:
    """One launch; percents are 0 to 100."""

    name: str = "gemm"
    dur_ns: Value = 1_000
    tensor_pct: Value = 0.0
    dram_pct: Value = 0.0
    sm_pct: Value = 0.0
    occupancy_pct: Value = None
    launch_id: int | None = None
    """None: its place among the launches of its process and device."""
    pid: str = "100"
    process: str = "python3.12"
    host: str = "127.0.0.1"
    device: int = 0
    compute_capability: str = "9.0"
    context: str = "1"
    stream: str = "7"
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (128, 1, 1)
    metrics: Mapping[str, tuple[Value, str]] = field(default_factory=dict)
    """Further metrics: value and base unit, e.g. `{"dram__bytes.sum": (4096, "byte")}`."""

    def values(self) -> dict[str, tuple[Value, str]]:
        """Value and base unit of every metric that is not absent."""
        column_values = {
            metric: (getattr(self, column), "ns" if metric == DURATION else "%")
            for metric, column in METRICS.items()
        }
        return {
            metric: pair
            for metric, pair in (column_values | dict(self.metrics)).items()
            if pair[0] is not None
        }


# -- what should be read ---------------------------------------------------------------------------


def expected_calls(calls: Sequence[Call], *, with_ids: bool = True) -> pl.DataFrame:
    """The `kernel_calls` table of these calls; the text page does not print the ids."""
    rows = [
        {
            "index": index,
            "launch_id": launch_id if with_ids else None,
            **{key: getattr(call, key) for key in ("pid", "process", "host", "device", "name")},
            **{key: getattr(call, key) for key in ("compute_capability", "context", "stream")},
            **{f"{shape}_{axis}": size for shape in ("grid", "block")
               for axis, size in zip("xyz", getattr(call, shape), strict=True)},
            **{column: _number_or_none(getattr(call, column)) for column in METRICS.values()},
        }
        for index, (call, launch_id) in enumerate(zip(calls, launch_ids(calls), strict=True))
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=KERNEL_CALLS.schema)


def expected_metrics(calls: Sequence[Call]) -> pl.DataFrame:
    """The `kernel_metrics` table of these calls, ordered by launch and metric."""
    rows = [
        {"index": index, "metric": metric, "value": float(value), "unit": unit}
        for index, call in enumerate(calls)
        for metric, (value, unit) in sorted(call.metrics.items())
        if _number_or_none(value) is not None
    ]
    return pl.DataFrame(rows, schema=KERNEL_METRICS.schema)


def _number_or_none(value: Value) -> float | int | None:
    return None if isinstance(value, str) else value


def launch_ids(calls: Iterable[Call]) -> list[int]:
    """The number of every launch: its own, or its place inside its process and device."""
    seen: Counter[tuple[str, str, int]] = Counter()
    numbers = []
    for call in calls:
        place = (call.host, call.pid, call.device)
        numbers.append(seen[place] if call.launch_id is None else call.launch_id)
        seen[place] += 1
    return numbers


# -- numbers ---------------------------------------------------------------------------------------


def number(value: Value | Decimal, locale: Locale = ENGLISH, decimals: int | None = None) -> str:
    """A number as printed; without `decimals`, as many as it has."""
    if value is None or isinstance(value, str):
        return value or ""
    exact = Decimal(str(value))
    places = max(-int(exact.as_tuple().exponent), 0) if decimals is None else decimals
    text = f"{exact:,.{places}f}"
    return text.translate({ord("."): locale.decimal, ord(","): locale.group})


def in_unit(value: Value, unit: str, time_unit: str, locale: Locale) -> tuple[str, str]:
    """Unit and value as printed; times in `time_unit`."""
    if unit != "ns" or not isinstance(value, int):
        return unit, number(value, locale)
    decimals = DECIMALS[time_unit]
    return time_unit, number(Decimal(value).scaleb(-decimals), locale, decimals)


# -- layouts ---------------------------------------------------------------------------------------

_PLACE = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
          "Block Size", "Grid Size", "Device", "CC")  # fmt: skip


def details_csv(
    calls: Sequence[Call],
    *,
    time_unit: str = "ns",
    locale: Locale = ENGLISH,
    order: Sequence[str] = (),
    labels: bool = False,
    before: Sequence[str] = (
        CLOCKS_WARNING,
        "==PROF== Connected to process 100 (/usr/bin/python3)",
    ),
    between: Mapping[int, str] | None = None,
    after: Sequence[str] = (),
    quote: str = '"',
) -> str:
    """One row per launch and metric.

    `order` names metrics to print first, `between` holds lines to print before a data row by its
    number, `labels` prints the names of the details page.
    """
    header = (*_PLACE, "Section Name", "Metric Name", "Metric Unit", "Metric Value")
    rows = []
    for call, launch_id in zip(calls, launch_ids(calls), strict=True):
        values = call.values()
        place = _place(call, launch_id)
        for metric in dict.fromkeys((*(m for m in order if m in values), *values)):
            unit, text = in_unit(*values[metric], time_unit, locale)
            name = LABELS.get(metric, metric) if labels else metric
            rows.append(_row((*place, "Command line profiler metrics", name, unit, text), quote))
    noisy = [line for number, row in enumerate(rows) for line in _with_noise(number, row, between)]
    return "\n".join([*before, _row(header, quote), *noisy, *after]) + "\n"


def raw_csv(
    calls: Sequence[Call],
    *,
    time_unit: str = "us",
    locale: Locale = ENGLISH,
    machine: Mapping[str, str] = MACHINE,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> str:
    """One row per launch, one column per metric; the second row holds the units."""
    units: dict[str, str] = {}
    for call in calls:
        units |= {metric: unit for metric, (_, unit) in call.values().items()}
    metrics = sorted(units)
    printed = [time_unit if units[metric] == "ns" else units[metric] for metric in metrics]
    lines = [
        _row((*_PLACE, *machine, *metrics), '"'),
        _row(("",) * (len(_PLACE) + len(machine)) + tuple(printed), '"'),
    ]
    for call, launch_id in zip(calls, launch_ids(calls), strict=True):
        values = call.values()
        texts = (
            in_unit(*values[metric], time_unit, locale)[1] if metric in values else ""
            for metric in metrics
        )
        lines.append(_row((*_place(call, launch_id), *machine.values(), *texts), '"'))
    return "\n".join([*before, *lines, *after]) + "\n"


def text_page(
    calls: Sequence[Call],
    *,
    time_unit: str = "us",
    locale: Locale = ENGLISH,
    labels: bool = False,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> str:
    """One block per launch."""
    lines = list(before)
    process = None
    for call in calls:
        if process != (process := (call.pid, call.process, call.host)):
            lines.append(f"[{call.pid}] {call.process}@{call.host}")
        grid, block = _triple(call.grid), _triple(call.block)
        lines.append(
            f"  {call.name} {grid}x{block}, Context {call.context}, Stream {call.stream}, "
            f"Device {call.device}, CC {call.compute_capability}"
        )
        lines.append("    Section: Command line profiler metrics")
        cells = [
            (LABELS.get(metric, metric) if labels else metric, *in_unit(*pair, time_unit, locale))
            for metric, pair in call.values().items()
        ]
        lines += [*_text_table(cells), ""]
    return "\n".join([*lines, *after]) + "\n"


def kernel_table(calls: Sequence[Call]) -> str:
    """The fixed-width table: latency in ns, utilisations as fractions with two decimals."""
    lines = [f"{'Kernel':<50} {'Latency':>11} {'Tensor':>6} {'DRAM':>6}"]
    for call in calls:
        name = call.name if len(call.name) <= 50 else f"{call.name[:47]}..."
        shares = [f"{Decimal(str(pct)) / 100:6.2f}" for pct in (call.tensor_pct, call.dram_pct)]
        lines.append(f"{name:<50}| {call.dur_ns:>10} {' '.join(shares)}")
    return "\n".join(lines) + "\n"


def collected_line(**facts: object) -> str:
    """The first line of a file that timesink itself recorded."""
    return f"# timesink-ncu {json.dumps({'version': 1, **facts})}"


def _place(call: Call, launch_id: int) -> tuple[str, ...]:
    return (
        str(launch_id), call.pid, call.process, call.host, call.name, call.context, call.stream,
        _triple(call.block), _triple(call.grid), str(call.device), call.compute_capability,
    )  # fmt: skip


def _triple(sizes: Iterable[int]) -> str:
    return f"({', '.join(map(str, sizes))})"


def _row(fields: Iterable[str], quote: str) -> str:
    if quote:
        return ",".join(quote + text.replace(quote, 2 * quote) + quote for text in fields)
    return ",".join(_quoted_if_needed(text) for text in fields)


def _quoted_if_needed(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n') else text


def _with_noise(number: int, row: str, between: Mapping[int, str] | None) -> list[str]:
    return [between[number], row] if between and number in between else [row]


def _text_table(cells: Sequence[tuple[str, str, str]]) -> list[str]:
    header = ("Metric Name", "Metric Unit", "Metric Value")
    widths = [max(len(row[place]) for row in (header, *cells)) for place in range(3)]
    rule = "    " + " ".join("-" * width for width in widths)
    lines = [
        f"    {name:<{widths[0]}} {unit:>{widths[1]}} {value:>{widths[2]}}"
        for name, unit, value in (header, *cells)
    ]
    return [
        rule,
        f"    {header[0]:<{widths[0]}} {header[1]:<{widths[1]}} {header[2]}",
        rule,
        *lines[1:],
        rule,
    ]
