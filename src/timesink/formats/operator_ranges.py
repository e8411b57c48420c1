"""Ranges that PyTorch marks for other profilers (`emit_nvtx`, and the same for roctx).

Their texts hold what its own profiler has as arguments: `aten::mm, seq = 7, op_id = 12, sizes =
[[2, 3], [3, 4]]`.  A name of its own for each call would make one function of each.
"""

from __future__ import annotations

import polars as pl

from timesink.patterns import regex

_TEXT = (
    r"^(?P<name>.+?)"
    r"(?:, seq = (?P<sequence>\d+))?"
    r"(?:, op_id = (?P<operator>\d+))?"
    r"(?:, sizes = (?P<sizes>\[[\d\[\], -]*\]))?"
    r"(?:, input_op_ids = \[.*\])?$"
)
_HAS_NUMBERS = r", (?:seq|op_id|sizes) = "
_OPERATOR = r"^[\w.]+:[\w.:]+$"
"""What dispatchers and libraries call: `aten::mm`, `nccl:all_to_all`; functions of autograd have a
sequence number.  The rest is what a program marks itself."""


def split_operator_ranges(host: pl.DataFrame) -> pl.DataFrame:
    """Rows of the host with plain names; those of operators are of that kind.

    Numbers go where other readers have them: `sequence_number`, `external_id`, `input_dims`.

    >>> frame = pl.DataFrame({"name": ["aten::mm, seq = 7, op_id = 12"], "kind": ["annotation"]})
    >>> split_operator_ranges(frame).row(0)
    ('aten::mm', 'operator', 7, 12, None)
    """
    text = pl.col("name")
    has_numbers = text.str.contains(_HAS_NUMBERS).fill_null(value=False)
    parts = pl.when(has_numbers).then(text.str.extract_groups(_TEXT))
    host = host.with_columns(parts.alias("parts"))
    part = {name: pl.col("parts").struct.field(name) for name in regex(_TEXT).groupindex}
    name = pl.coalesce(part["name"], "name")
    is_operator = has_numbers & (part["sequence"].is_not_null() | name.str.contains(_OPERATOR))
    is_operator &= pl.col("kind") == "annotation"
    return host.with_columns(
        name=name,
        kind=pl.when(is_operator).then(pl.lit("operator")).otherwise("kind"),
        sequence_number=part["sequence"].cast(pl.Int64, strict=False),
        external_id=part["operator"].cast(pl.Int64, strict=False),
        input_dims=part["sizes"],
    ).drop("parts")
