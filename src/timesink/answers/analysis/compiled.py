"""What is said of kernels that a compiler generated: a table, and their code on pages."""

from __future__ import annotations

from collections.abc import Iterator

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
        if run.analysis.trace.metadata.compiled is None:
            return None
        return Empty("compiled", "Compiled kernels", NO_COMPILED)
    listings = tuple(_listings(run.frame("compiled-code")))
    modules = run.table("compiled-modules")
    tables = (run.table("compiled"), *[modules] * bool(modules.rows))
    return blocks.Section("compiled", "Compiled kernels", (*tables, *listings), _lead(frame))


def _listings(code: pl.DataFrame) -> Iterator[blocks.Code]:
    """The code of the kernels that take most, each as a block."""
    kernels = code.partition_by("kernel", "file", maintain_order=True)
    for kernel in kernels[:_MAX_CODE]:
        note = "The end is left out." if kernel["is_cut"][0] else ""
        lines = tuple(kernel["code"].fill_null("").to_list())
        yield blocks.Code(kernel["kernel"][0], lines, note)


def _lead(frame: pl.DataFrame) -> str:
    """How much has lines, and what the table does not do."""
    total_ns = int(frame["device_ns"].sum())
    located_ns = int(frame.filter(pl.col("place").is_not_null())["device_ns"].sum())
    if not located_ns:
        return f"Operators are those that names list; {HOW_TO_NAME}."
    share = units.share(located_ns, total_ns)
    return f"Lines are known of {share} of their device time. It is not divided among operators."
