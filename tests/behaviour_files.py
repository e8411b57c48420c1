"""Behaviour tables as files: rows as others write them, and tables of any content."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from behaviour_rows import table_of
from timesink.model.schema import CYCLE_TYPES, INTERPOLATED

COLUMNS = (
    *("cycle", "pid", "hostname", "beta_pct", "function_name", "metric_name", "device"),
    *("func_type", "mu_pct", "sigma_pct", "duration", "interpolation_status", "anchor_name"),
    *("anchor_dur_us", "cycle_start_ts", "instances_count", "simple_name"),
)
ROW = (
    *("1", "944615", "", "156.8058", "oncpu", "cpu_frequency", "Host", "oncpu", "87.5001"),
    *("0.0340", "1156340.7210", "*", "Scheduler.run_batch", "737434.7500"),
    *("1762935807026558.7500", "125820", "oncpu"),
)
SYNC = (
    *("2", "944615", "", "0.0500", '"gemm<1, 2>(int)"', "N/A", "GPU 7", "gpu_compute", "", ""),
    *("5.3440", " ", "Scheduler.run_batch", "753556.2500", "1762935807764034.0000", "1", "gemm"),
)


def csv_file(
    *rows: Iterable[str], columns: Iterable[str] = COLUMNS, end: str = "\n", start: str = ""
) -> bytes:
    """Text of a table, each cell as it stands."""
    lines = [",".join(columns), *(",".join(row) for row in rows), ""]
    return (start + end.join(lines)).encode()


def change_cells(row: Iterable[str] = ROW, **cells: str) -> tuple[str, ...]:
    """The row with other cells."""
    return tuple({**dict(zip(COLUMNS, row, strict=True)), **cells}.values())


_names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8
).filter(
    # Names that would be formulas are written so that they are none.
    lambda text: text == text.strip(" \t\r") and text[0] not in "=+-@"
)
_words = st.sampled_from(["a", "GPU 7", "void f<1, 2>(int)", 'say "x"', "Ω"]) | _names
_numbers = st.integers(-(10**12), 10**12).map(lambda number: number / 10_000)
_rows = st.fixed_dictionaries(
    {
        "cycle": st.integers(0, 10**6),
        "cycle_type": st.sampled_from(CYCLE_TYPES),
        "pid": st.integers(1, 10**7).map(str),
        "host": st.none() | st.just("node1"),
        "function": _words,
        "metric": st.none() | st.sampled_from(["gpu_usage", "gpu_sm_frequency", "own"]),
        "device": st.sampled_from(["Host", "GPU 0", "NPU 3"]),
        "function_class": st.sampled_from(["gpu_compute", "oncpu"]),
        "beta_pct": _numbers,
        "mu": st.none() | _numbers,
        "sigma": st.none() | _numbers,
        "unit": st.none() | st.sampled_from(["%", "0.01 MHz"]),
        "dur_ns": st.integers(0, 2**53),
        "calls": st.none() | st.integers(0, 10**9),
        "interpolated": st.sampled_from(INTERPOLATED),
        "anchor": st.none() | _words,
        "cycle_ts_ns": st.none() | st.integers(-(2**62), 2**62),
        "cycle_dur_ns": st.none() | st.integers(0, 2**53),
        "short_name": st.none() | _words,
    }
)


tables = st.lists(_rows, min_size=1, max_size=8).map(table_of)
"""Tables whose numbers have four decimals, as CSV keeps them."""
