"""Nsight Compute: what single kernels used of the hardware, in every layout `ncu` writes.

The details page as CSV (one row per launch and metric), the raw page as CSV (one column per
metric), both as text, and binary reports through `ncu --import`.  All of them become the same two
tables, `kernel_calls` and `kernel_metrics`; there is no timeline.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from timesink.errors import UnreadableError
from timesink.formats import ReadOptions
from timesink.formats.finish import conform, finish_trace
from timesink.formats.ncu.launches import (
    COLUMN_RULES,
    DEVICE_ATTRIBUTE,
    SHAPE_METRICS,
    ColumnRule,
    GatheredLaunches,
    merge_pieces,
)
from timesink.formats.ncu.numbers import COMMA, POINT
from timesink.formats.ncu.pages import (
    COLLECTED,
    CsvPages,
    TextPage,
    has_header,
    looks_like_text_page,
)
from timesink.formats.source_file import Damage, SourceFile, packing_health
from timesink.model.health import HealthEntry
from timesink.model.schema import KERNEL_CALLS, KERNEL_METRICS
from timesink.model.trace import Device, Metadata, Trace
from timesink.model.vendors import NVIDIA
from timesink.recorder.ncu import REPORT_SUFFIX, command_line, find_ncu, import_commands
from timesink.recorder.ncu.table import PLAIN_NUMBERS, TABLE_HEAD

_SHAPE = r"(\d+)\D+(\d+)\D+(\d+)"
_MAX_NAMED = 6


def build_tables(gathered: GatheredLaunches) -> tuple[dict[str, pl.DataFrame], list[HealthEntry]]:
    """The tables `kernel_calls` and `kernel_metrics`, and what is odd about them."""
    launches, values, health = merge_pieces(*gathered.tables())
    calls = _with_shapes(launches)
    metrics = [name for name in values["metric"].unique().to_list() if name]
    placed = []
    for rule in COLUMN_RULES:
        filled, best = _column(rule, values, metrics, calls.height)
        calls = calls.with_columns(filled)
        placed.append(best)
    null_counts = {
        rule.column: calls[rule.column].null_count()
        for rule in COLUMN_RULES
        if rule.choices(gathered.metric_names)
    }
    # Shapes from metrics, where the page does not print them beside the name.
    for column, metric in SHAPE_METRICS.items():
        if metric in metrics and calls[column].null_count():
            shape_values = values.filter(_is_any("metric", [metric]))
            sizes = _per_launch(shape_values, calls.height, one_metric=True).cast(
                pl.Int64, strict=False
            )
            calls = calls.with_columns(pl.col(column).fill_null(sizes))
    named = [f"{metric} is {text}" for metric, text in gathered.words.items()]
    health.append(HealthEntry("text_metrics", len(named), named[0] if named else ""))
    health += _missing_metrics(gathered, null_counts, calls.height)
    tables = {
        "kernel_calls": conform(
            calls.with_columns(pl.col("device").cast(pl.String).cast(pl.Int32, strict=False)),
            KERNEL_CALLS,
        ),
        "kernel_metrics": conform(values.filter(~pl.any_horizontal(placed)), KERNEL_METRICS),
    }
    return tables, health


def _column(
    rule: ColumnRule, values: pl.DataFrame, metrics: Iterable[str], launches: int
) -> tuple[pl.Series, pl.Expr]:
    """The column of a rule, and which values are in it now.

    What a less preferred metric says fills in for launches that lack the best one; it stays among
    the values.
    """
    column = pl.Series(rule.column, [None], dtype=pl.Float64).new_from_index(0, launches)
    placed = None
    for names in rule.choices(metrics):
        fits = _is_any("metric", names) & _is_any("unit", rule.units)
        rows = values.lazy().filter(fits).select("index", "value").collect()
        if rows.height:
            column = column.fill_null(_per_launch(rows, launches, one_metric=len(names) == 1))
            placed = fits if placed is None else placed
    if rule.column == "dur_ns":
        # Nothing lasts less than no time: such a value says as little as none.
        column = column.set(column < 0, None).round().cast(pl.Int64, strict=False)
    return column, pl.lit(value=False) if placed is None else placed


def _is_any(column: str, texts: Sequence[str]) -> pl.Expr:
    return pl.any_horizontal(pl.col(column) == text for text in texts)


def _per_launch(rows: pl.DataFrame, launches: int, *, one_metric: bool) -> pl.Series:
    """One value for every launch, null where there is none; the largest where there are several."""
    # Values are in the order of their launches.
    if not one_metric or (rows["index"].diff() == 0).any():
        rows = rows.group_by("index").agg(pl.col("value").max())
    column = pl.Series("value", [None], dtype=pl.Float64).new_from_index(0, launches)
    return column.scatter(rows["index"], rows["value"])


def _with_shapes(launches: pl.DataFrame) -> pl.DataFrame:
    """Grid and block as three numbers each; there are few different texts."""
    for shape in ("grid", "block"):
        texts = launches[shape].drop_nulls().unique()
        printed = texts.cast(pl.String).str.extract_groups(_SHAPE)
        sizes = pl.DataFrame(
            {shape: texts, **{
                f"{shape}_{axis}": printed.struct.field(str(place)).cast(pl.Int64, strict=False)
                for place, axis in enumerate("xyz", 1)
            }}
        )  # fmt: skip
        launches = launches.join(sizes, on=shape, how="left", maintain_order="left").drop(shape)
    return launches


def _device(
    number: int, capability: str | None, properties: Mapping[str, str], name: str
) -> Device:
    facts: dict[str, Any] = {}
    for metric, text in properties.items():
        if metric.startswith(DEVICE_ATTRIBUTE) and text:
            # Whole numbers in any grouping, or names.
            digits = "".join(letter for letter in text if letter not in ",.'\u00a0\u202f")
            fact = int(digits) if digits.isdecimal() else text
            facts[metric.removeprefix(DEVICE_ATTRIBUTE)] = fact
    numbers = {key: fact for key, fact in facts.items() if isinstance(fact, int)}
    major, minor = (facts.get(f"compute_capability_{part}") for part in ("major", "minor"))
    if capability is None and major is not None:
        capability = f"{major}.{minor or 0}"
    return Device(
        id=number,
        name=str(facts.get("display_name") or name),
        memory_bytes=numbers.get("total_memory"),
        compute_capability=capability,
        multiprocessors=numbers.get("multiprocessor_count"),
        properties=facts,
    )


def _missing_metrics(
    gathered: GatheredLaunches, null_counts: Mapping[str, int], launches: int
) -> list[HealthEntry]:
    """Metrics that were asked for and are not there for every launch, or for none."""
    of_columns = {
        name
        for rule in COLUMN_RULES
        for group in rule.choices(gathered.metric_names)
        for name in group
    }
    other_metrics = {
        name: count for name, count in gathered.missing.items() if name not in of_columns
    }
    never = [name for name, count in other_metrics.items() if count >= launches]
    counts = {
        name: count for name, count in (*null_counts.items(), *other_metrics.items()) if count
    }
    some = [f"{name}: {counts[name]} of {launches}" for name in counts if name not in never]
    most = max((count for name, count in counts.items() if name not in never), default=0)

    def listed(names: list[str]) -> str:
        return ", ".join(names[:_MAX_NAMED]) + (", ..." if len(names) > _MAX_NAMED else "")

    return [
        HealthEntry("missing_metric", most, listed(some)),
        HealthEntry("unavailable_metrics", len(never), listed(never)),
    ]


_MAGIC = b"NVR\0"
_LONGEST_HEADER = 1 << 16
_BLOCK = 1024 * 1024
_ERROR = re.compile(rb"==ERROR== ?([^\n]*)")
_HEAD_BYTES = 64 * 1024


def looks_like_report(head: bytes, name: str) -> bool:
    """Whether a file is a binary report: by its first bytes, or its name where it is binary."""
    if head.startswith(_MAGIC) and len(head) >= 8:
        (header,) = struct.unpack_from("<I", head, len(_MAGIC))
        if header < _LONGEST_HEADER:
            return True
    return name.lower().endswith(REPORT_SUFFIX) and b"\0" in head[:1024]


def exported_blocks(source: SourceFile) -> Iterator[bytes]:
    """The raw page of a report as CSV, block by block."""
    program = find_ncu()
    if program is None:
        path = source.path
        is_named = path.name.lower().endswith(REPORT_SUFFIX)
        stem = path.name[: -len(REPORT_SUFFIX)] if is_named else path.name
        command = command_line(import_commands("ncu", path.name)[0])
        raise UnreadableError(
            f"{path}: a binary Nsight Compute report, and ncu is not installed here",
            f"where it is, run  {command} > {command_line([f'{stem}.csv'])}  and give the .csv; "
            "or set TIMESINK_NCU to the program",
        )
    with source.plain_file(f"report{REPORT_SUFFIX}") as report:
        yield from _output_blocks(import_commands(program, report), source.path)


def _output_blocks(commands: Sequence[list[str]], path: Path) -> Iterator[bytes]:
    """What the first of the commands prints that knows its options."""
    environment = {**os.environ, **PLAIN_NUMBERS}
    for command in commands:
        with subprocess.Popen(  # noqa: S603
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
        ) as process:
            assert process.stdout is not None  # noqa: S101
            head = process.stdout.read(_BLOCK)
            # One that refuses its options prints no table, and the next may know better.
            is_passed_on = TABLE_HEAD in head or len(head) == _BLOCK
            if is_passed_on:
                yield head
            while block := process.stdout.read(_BLOCK):
                yield block
        if not process.returncode and not is_passed_on:
            yield head
        if not process.returncode:
            return
        if is_passed_on:
            break
    match = _ERROR.search(head[:_HEAD_BYTES])
    code = f"exit code {process.returncode}"
    reason = match[1].decode("utf-8", "replace").strip() if match else code
    raise UnreadableError(
        f"{path}: ncu cannot read this report ({reason})",
        "use an ncu at least as new as the one that wrote it (TIMESINK_NCU names the program)",
    )


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
