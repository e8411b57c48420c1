"""The fixed-width table of kernels: name, latency in ns, tensor and DRAM utilisation as fractions.

    Kernel                                                 Latency Tensor   DRAM
    vectorized_elementwise_kernel                     |      16576   0.02   0.23

Names are as printed: without namespaces and arguments, and cut with `...` beyond 50 characters.
"""

from __future__ import annotations

import re

import polars as pl

from timesink.formats.finish import finish_trace
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import SourceFile
from timesink.model.health import HealthEntry
from timesink.model.trace import Metadata, Trace
from timesink.model.vendors import NVIDIA
from timesink.patterns import regex

NAME = "kernel-table"

_HEADER = regex(rb"^(?:\xef\xbb\xbf)?\s*Kernel +Latency +Tensor +DRAM *\r?$", re.MULTILINE)
_FRACTION = r"(\d+(?:\.\d*)?|\.\d+|n/a|nan|-)"
_ROW = rf"(?i)^(.*?) *\| *(\d+|n/a|nan|-) +{_FRACTION} +{_FRACTION}\s*$"
_HEADER_LINE = r"^\s*Kernel +Latency +Tensor +DRAM\s*$"
_TO_PERCENT = "e2"


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    return _HEADER.match(head) is not None


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001
    content, lost = source.content()
    lines = pl.Series("line", content.decode("utf-8-sig", "replace").split("\n"))
    wanted = lines.filter((lines.str.strip_chars() != "") & ~lines.str.contains(_HEADER_LINE))
    fields = wanted.str.extract_groups(_ROW).struct.unnest()
    fields.columns = ["name", "dur_ns", "tensor", "dram"]
    is_row = fields["name"].is_not_null()
    calls = fields.filter(is_row).select(
        "name", pl.col("dur_ns").cast(pl.Int64, strict=False), _percent("tensor"), _percent("dram")
    )
    bad_lines = wanted.filter(~is_row)
    bad = HealthEntry("bad_table_row", len(bad_lines), bad_lines[0] if len(bad_lines) else "")
    metadata = Metadata(
        source=str(source.path),
        format=NAME,
        vendor=NVIDIA.name,
        events=calls.height,
        extra={"layout": "table", "profiler_notes": []},
    )
    return finish_trace(metadata, {"kernel_calls": calls.with_row_index("index")}, [bad, *lost])


def _percent(column: str) -> pl.Expr:
    """A printed fraction as percent: the digits are moved, so that 0.33 is exactly 33."""
    moved = pl.concat_str(pl.col(column), pl.lit(_TO_PERCENT))
    value = moved.cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value).alias(f"{column}_pct")
