"""What is said of kernels that a compiler generated: a table, and their code on pages."""

from __future__ import annotations

import polars as pl

from timesink.answers.analysis.tables import Analysed, Empty, SectionResult
from timesink.answers.views import NO_COMPILED
from timesink.model import units
from timesink.output import blocks

_MAX_CODE = 20
"""Kernels whose code a page holds; the rest of some hundred take a thousandth of the time each."""
HOW_TO_NAME = "record with  timesink record --with compiled  for modules, lines and code"


def compiled_section(run: Analysed) -> SectionResult:
    """The table of generated kernels, and on pages the code of those that take most."""
    frame = run.frame("compiled")
    if frame.is_empty():
        return Empty("compiled", "Compiled kernels", NO_COMPILED)
    code = run.frame("compiled-code")
    listings = tuple(
        blocks.Code(
            f"{row['kernel']}: {units.brief_ns(row['device_ns'])}",
            row["code"],
            "The end is left out." if row["is_cut"] else "",
        )
        for row in code.head(_MAX_CODE).to_dicts()
    )
    return blocks.Section(
        "compiled", "Compiled kernels", (run.table("compiled"), *listings), _lead(frame)
    )


def _lead(frame: pl.DataFrame) -> str:
    """How much has lines, and what the table does not do."""
    every = int(frame["device_ns"].sum())
    known = int(frame.filter(pl.col("place").is_not_null())["device_ns"].sum())
    if not known:
        return f"Operators are those that names list; {HOW_TO_NAME}."
    share = units.share(known, every)
    return f"Lines are known of {share} of their device time. It is not divided among operators."
