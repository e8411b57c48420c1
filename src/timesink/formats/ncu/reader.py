"""Pages of Nsight Compute become two tables, whichever layout they have.

The details page as CSV (one row per launch and metric), the raw page as CSV (one column per
metric), both as text, and binary reports through `ncu --import`.  All of them become the same two
tables, `kernel_calls` and `kernel_metrics`; there is no timeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from timesink.errors import UnreadableError
from timesink.formats.finish import finish_trace
from timesink.formats.ncu.binary_report import exported_blocks, looks_like_report
from timesink.formats.ncu.launch_tables import _device, build_tables
from timesink.formats.ncu.launches import (
    GatheredLaunches,
)
from timesink.formats.ncu.numbers import COMMA, POINT
from timesink.formats.ncu.pages import (
    COLLECTED,
    CsvPages,
    TextPage,
    has_header,
    looks_like_text_page,
)
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import Damage, SourceFile, packing_health
from timesink.model.health import HealthEntry
from timesink.model.trace import Metadata, Trace
from timesink.model.vendors import NVIDIA
from timesink.patterns import regex

NAME = "ncu"

_PROFILER_LINE = regex(rb"(?m)^==(?:PROF|WARNING|ERROR)== ")
_BOM = b"\xef\xbb\xbf"


Pages = CsvPages | TextPage
"""A layout while it is read."""


def sniff(head: bytes, name: str) -> bool:
    """Whether a file is Nsight Compute's: a table, its text page, a report, or at least its log."""
    text = head.removeprefix(_BOM)
    if looks_like_report(head, name):
        return True
    if b"\0" in head[:1024]:
        return False
    return (
        text.startswith(COLLECTED)
        or has_header(text)
        or _PROFILER_LINE.search(text) is not None
        or looks_like_text_page(text)
    )


def read(source: SourceFile, options: ReadOptions) -> Trace:
    """The launches of a file, whatever its layout."""
    damage = Damage()
    head = source.head()
    if looks_like_report(head, source.name):
        pages = _read_pages(lambda: exported_blocks(source), CsvPages)
        layout = "report"
    else:
        # A file that begins with neither page may still have a CSV table behind much output.
        text = head.removeprefix(_BOM)
        form = TextPage if not has_header(text) and looks_like_text_page(text) else CsvPages
        pages = _read_pages(lambda: source.blocks(damage, options.progress), form)
        layout = pages.layout
    if not pages.launches.pieces:
        # Why a file of Nsight Compute holds no launch, as far as it says.
        reason = next(iter(pages.log.errors), "only its log")
        if pages.log.says_nothing_profiled:
            reason = "no kernels were profiled"
        hint = (
            "let the program reach its kernels; check --kernel-name, --launch-skip and permissions"
        )
        if pages.log.report:
            hint = f"its counters are in the report: give {pages.log.report}"
        raise UnreadableError(
            f"{source.path}: Nsight Compute output without a kernel ({reason})", hint
        )
    tables, health = build_tables(pages.launches)
    mixed = HealthEntry("mixed_decimals", int(all(pages.launches.evidence.certain.values())))
    metadata = _describe(source, pages, layout, tables["kernel_calls"])
    return finish_trace(
        metadata,
        tables,
        [*health, mixed, *packing_health(damage), *pages.log.health(), *pages.health()],
    )


def _read_pages(
    blocks: Callable[[], Iterator[bytes]], form: Callable[[GatheredLaunches], Pages]
) -> Pages:
    """Everything read with the decimal mark that the file itself turns out to use."""
    pages = form(GatheredLaunches(POINT))
    for place, _ in enumerate(pages.read(blocks())):
        if place == 0 and pages.launches.evidence.decimal == COMMA:
            break
    if pages.launches.evidence.decimal == POINT:
        return pages
    pages = form(GatheredLaunches(COMMA))
    for _ in pages.read(blocks()):
        pass
    return pages


def _describe(source: SourceFile, pages: Pages, layout: str, calls: pl.DataFrame) -> Metadata:
    collected = pages.log.collected
    extra: dict[str, Any] = {"layout": layout, "profiler_notes": pages.log.notes}
    if collected:
        extra["collected"] = collected
    name = collected.get("device")
    version = collected.get("ncu")
    # The devices of the launches, by number; `name` is that of an only one if no page says it.
    capabilities = calls.group_by("device").agg(pl.col("compute_capability").drop_nulls().first())
    device_rows = capabilities.drop_nulls("device").sort("device").rows()
    only_name = (name if isinstance(name, str) else "") if len(device_rows) == 1 else ""
    return Metadata(
        source=str(source.path),
        format=NAME,
        vendor=NVIDIA.name,
        events=calls.height,
        devices=tuple(
            _device(number, capability, pages.launches.properties.get(str(number), {}), only_name)
            for number, capability in device_rows
        ),
        versions={"ncu": str(version)} if version else {},
        extra=extra,
    )
