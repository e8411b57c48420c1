"""Nsight Compute: what single kernels used of the hardware, in every layout `ncu` writes.

The details page as CSV (one row per launch and metric), the raw page as CSV (one column per
metric), both as text, and binary reports through `ncu --import`.  All of them become the same two
tables, `kernel_calls` and `kernel_metrics`; there is no timeline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from timesink.errors import UnreadableError
from timesink.model.health import HealthEntry
from timesink.model.trace import Metadata, Trace
from timesink.model.vendors import NVIDIA
from timesink.readers.finish import finish_trace
from timesink.readers.ncu.assemble import build_tables, list_devices
from timesink.readers.ncu.csv_pages import CsvPages, has_header
from timesink.readers.ncu.launches import GatheredLaunches
from timesink.readers.ncu.log import COLLECTED
from timesink.readers.ncu.numbers import COMMA, POINT
from timesink.readers.ncu.report_file import exported_blocks, looks_like_report
from timesink.readers.ncu.text_page import TextPage, looks_like_text_page
from timesink.readers.options import ReadOptions
from timesink.readers.source import Damage, SourceFile, packing_health

NAME = "ncu"

_PROFILER_LINE = re.compile(rb"(?m)^==(?:PROF|WARNING|ERROR)== ")
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
        form = _form_of(head)
        pages = _read_pages(lambda: source.blocks(damage, options.progress), form)
        layout = pages.layout
    if not pages.launches.pieces:
        raise _without_launches(source, pages)
    tables, health = build_tables(pages.launches)
    mixed = HealthEntry("mixed_decimals", int(pages.launches.evidence.is_mixed))
    metadata = _describe(source, pages, layout, tables["kernel_calls"])
    return finish_trace(
        metadata,
        tables,
        [*health, mixed, *packing_health(damage), *pages.log.health(), *pages.health()],
    )


def _form_of(head: bytes) -> Callable[[GatheredLaunches], Pages]:
    """A file that begins with neither page may still have a CSV table behind much output."""
    text = head.removeprefix(_BOM)
    return TextPage if not has_header(text) and looks_like_text_page(text) else CsvPages


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


def _without_launches(source: SourceFile, pages: Pages) -> UnreadableError:
    """Why a file of Nsight Compute holds no launch, as far as it says."""
    if pages.log.says_nothing_profiled:
        reason = "no kernels were profiled"
    else:
        reason = next(iter(pages.log.errors), "only its log")
    hint = "let the program reach its kernels; check --kernel-name, --launch-skip and permissions"
    if pages.log.report:
        hint = f"its counters are in the report: give {pages.log.report}"
    return UnreadableError(
        f"{source.path}: Nsight Compute output without a kernel ({reason})", hint
    )


def _describe(source: SourceFile, pages: Pages, layout: str, calls: pl.DataFrame) -> Metadata:
    collected = pages.log.collected
    extra: dict[str, Any] = {"layout": layout, "profiler_notes": pages.log.notes}
    if collected:
        extra["collected"] = collected
    name = collected.get("device")
    version = collected.get("ncu")
    return Metadata(
        source=str(source.path),
        format=NAME,
        vendor=NVIDIA.name,
        events=calls.height,
        devices=list_devices(pages.launches, calls, name if isinstance(name, str) else ""),
        versions={"ncu": str(version)} if version else {},
        extra=extra,
    )
