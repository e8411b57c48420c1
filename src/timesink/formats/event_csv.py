"""Events of a Chrome trace as rows of a CSV: `name,cat,ph,pid,tid,ts,dur,args`.

`args` is a JSON object as text.  The rows are spelled as the JSON they stand for, so that one
reader knows what events mean; the counters recorded with them are in `macro_counter.csv` beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import polars as pl

from timesink.formats.chrome import reader as chrome
from timesink.formats.csv_text import header_of, texts_of
from timesink.formats.read_options import Progress, ReadOptions
from timesink.formats.source_file import Damage, SourceFile
from timesink.model.trace import Trace

NAME = "event-csv"

COLUMNS = ("name", "cat", "ph", "pid", "tid", "ts", "dur", "args")
_NEEDED = frozenset({"name", "ph", "pid", "ts", "dur"})
_NUMBER = r"^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$"
_ROWS_AT_ONCE = 50_000


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    return set(header_of(head)) >= _NEEDED


def read(source: SourceFile, options: ReadOptions) -> Trace:
    """The events as a trace; see `chrome.reader`."""
    events = EventRows(**{part.name: getattr(source, part.name) for part in fields(SourceFile)})
    # Rows are spelled anew by every process that reads them, so there is only this one.
    trace = chrome.read(events, replace(options, jobs=1, crew=None))
    return replace(trace, metadata=replace(trace.metadata, format=NAME))


@dataclass(frozen=True, slots=True)
class EventRows(SourceFile):
    """A CSV of events that reads as their JSON."""

    def blocks(
        self, damage: Damage | None = None, progress: Progress | None = None
    ) -> Iterator[bytes]:
        damage = Damage() if damage is None else damage
        # `super()` without arguments does not work in a class with slots.
        content = b"".join(SourceFile.blocks(self, damage, progress))
        texts = texts_of(content, numbers="ts")
        missing = [name for name in COLUMNS if name not in texts.columns]
        rows = texts.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in missing)
        yield b'{"traceEvents": ['
        for place, part in enumerate(rows.iter_slices(_ROWS_AT_ONCE)):
            # The rows as JSON objects with commas between them.
            # The arguments as they are; what is no object goes on as text, to be counted as such.
            text = pl.col("args").str.strip_chars()
            is_object = text.str.starts_with("{") & text.str.json_path_match("$").is_not_null()
            fields_of_event = (
                *(_text(name) for name in ("name", "cat", "ph", "pid", "tid")),
                *(_number(name) for name in ("ts", "dur")),
                pl.when(is_object).then(pl.format('"args": {}', text)).otherwise(_text("args")),
            )
            joined = pl.concat_str(fields_of_event, separator=", ", ignore_nulls=True)
            lines = part.select(pl.concat_str(pl.lit("{"), joined, pl.lit("}"))).to_series()
            yield (b",\n" if place else b"\n") + ",\n".join(lines).encode()
        yield b"\n]}"


def _text(name: str) -> pl.Expr:
    """A field as JSON text; null where it is empty."""
    # As one column of JSON, which knows every character that needs an escape.
    text = pl.col(name).str.strip_chars()
    escaped = pl.struct(text.alias(name)).struct.json_encode().str.strip_prefix("{")
    return pl.when(text != "").then(escaped.str.strip_suffix("}"))


def _number(name: str) -> pl.Expr:
    text = pl.col(name).str.strip_chars()
    return pl.when(text.str.contains(_NUMBER)).then(pl.format(f'"{name}": {{}}', text))
