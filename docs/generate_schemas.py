"""Write docs/schemas: the JSON schema of each answer, from its records; `--check` finds stale ones.

Fields that an answer may leave out are those whose type holds `UnsetType`.  What stands below a
field in the code is its description.  Rows of tables have the columns of `answers/columns.csv`.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import sys
import typing
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from timesink.analyses.cycles.search import SCHEMA as CYCLE_SUMMARY
from timesink.analyses.cycles.spans import SCHEMA as CYCLES
from timesink.analyses.ranks.rank_set import RankLayout, RankSet
from timesink.answers.analysis.report import RunListJson
from timesink.answers.analysis.sections import AnalysisJson
from timesink.answers.behaviour import BehaviourJson
from timesink.answers.comparison import baselines, comparison_json, history, slow_steps
from timesink.answers.comparison.collective_logs import LogComparisonJson
from timesink.answers.comparison.snapshots import SnapshotComparisonJson
from timesink.answers.cycles import CyclesJson
from timesink.answers.info_report import FolderInfoJson, TraceJson
from timesink.answers.kernels.kernels_json import KernelRunsJson, KernelsJson
from timesink.answers.peaks import PeaksJson
from timesink.answers.tables import user_name
from timesink.answers.views import columns_of
from timesink.answers.what_if import WhatIfJson
from timesink.comparison.results import FAMILIES, ROWS, TIMES
from timesink.output.blocks import Document
from timesink.output.json import OF_TEXT
from timesink.watcher import watch_json
from timesink.watcher.durations import JudgedJson

FOLDER = Path(__file__).resolve().parent / "schemas"
ANSWERS: dict[str, tuple[type[msgspec.Struct], ...]] = {
    "analysis": (AnalysisJson,),
    "analyses": (RunListJson,),
    "baseline": (baselines.BaselineJson,),
    "baselines": (baselines.BaselinesJson,),
    "behaviour": (BehaviourJson,),
    "comparison": (comparison_json.ComparisonJson, comparison_json.ComparisonErrorJson),
    "cycles": (CyclesJson,),
    "diagnosis": (slow_steps.SlowStepsJson,),
    "document": (Document,),
    "history": (history.HistoryJson,),
    "incident": (watch_json.IncidentJson,),
    "info": (TraceJson, FolderInfoJson),
    "kernels": (KernelsJson, KernelRunsJson),
    "memory-comparison": (SnapshotComparisonJson,),
    "collective-log-comparison": (LogComparisonJson,),
    "peaks": (PeaksJson,),
    "watch": (watch_json.WatchJson,),
    "watch-judged": (JudgedJson,),
    "watch-series": (watch_json.SeriesJson,),
    "watch-status": (watch_json.StatusJson,),
    "whatif": (WhatIfJson,),
}
"""Records by the name that `schema` has in an answer."""
JSON_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
NAMED = (AnalysisJson,)
"""What fields name as their `record` and no other field has as its type."""
REFERENCE = "#/$defs/{name}"
SCHEMAS: dict[str, dict[str, pl.DataType]] = {
    "ROWS": ROWS,
    "TIMES": TIMES,
    "FAMILIES": FAMILIES,
    "CYCLES": CYCLES,
    "CYCLE_SUMMARY": CYCLE_SUMMARY,
}
"""Tables that only JSON and CSV have."""
LOADED_LATER = {"RankLayout": RankLayout, "RankSet": RankSet}
"""Types that modules name for type checkers alone."""


def schema_of(name: str) -> dict[str, Any]:
    """The schema of an answer, with all that it refers to."""
    records = ANSWERS[name]
    types = {record.__name__: record for record in all_records(records)}
    if name == "document":
        # msgspec has no schema for the two kinds of values that a column may have.
        schemas: Sequence[dict[str, Any]] = [{"$ref": REFERENCE.format(name=Document.__name__)}]
        definitions = {
            key: block_schema(record)
            for key, record in types.items()
            if record.__module__ == Document.__module__
        }
    else:
        schemas, definitions = msgspec.json.schema_components((*records, *NAMED))
    complete = {
        key: described(types[key], value) if key in types else value
        for key, value in definitions.items()
    }
    choices = list(schemas[: len(records)])
    top = choices[0] if len(choices) == 1 else {"anyOf": choices}
    used = closure(top, complete)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"timesink {name}",
        **top,
        "$defs": {key: complete[key] for key in sorted(used)},
    }


def block_schema(record: type) -> dict[str, Any]:
    """The schema of a block of a document, or of a part of one, as pages get it."""
    left_out = OF_TEXT | ({"notes"} if record is Document else set())
    properties = {
        name: value_schema(hint) for name, hint in hints(record).items() if name not in left_out
    }
    config = getattr(record, "__struct_config__", None)
    if config is not None and config.tag is not None:
        properties = {str(config.tag_field): {"const": config.tag}, **properties}
    return {"type": "object", "properties": properties, "required": list(properties)}


def value_schema(hint: Any) -> dict[str, Any]:
    """The schema of a field of a block."""
    arguments = typing.get_args(hint)
    if is_record(hint):
        return {"$ref": REFERENCE.format(name=hint.__name__)}
    if typing.get_origin(hint) is typing.Literal:
        return {"enum": list(arguments)}
    if typing.get_origin(hint) is tuple:
        if arguments[-1] is Ellipsis:
            return {"type": "array", "items": value_schema(arguments[0])}
        members = [value_schema(argument) for argument in arguments]
        return {"type": "array", "prefixItems": members, "items": False}
    if arguments:
        return {"anyOf": [value_schema(argument) for argument in arguments]}
    return {"type": JSON_TYPES[hint]}


def closure(top: Any, definitions: dict[str, Any]) -> set[str]:
    """Names of all definitions that a schema needs."""
    needed, waiting = set[str](), [top]
    while waiting:
        for name in references(waiting.pop()):
            if name not in needed:
                needed.add(name)
                waiting.append(definitions[name])
    return needed


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"].rpartition("/")[2]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from references(inner)


def all_records(roots: tuple[type, ...]) -> Iterator[type]:
    """Records that fields of records have as types."""
    waiting, seen = [*roots, *NAMED], set[type]()
    while waiting:
        record = waiting.pop()
        if record in seen:
            continue
        seen.add(record)
        yield record
        for hint in hints(record).values():
            waiting += [inner for inner in parts(hint) if is_record(inner)]


def parts(hint: Any) -> Iterator[Any]:
    yield hint
    for inner in typing.get_args(hint):
        yield from parts(inner)


def is_record(value: Any) -> bool:
    return isinstance(value, type) and (issubclass(value, msgspec.Struct) or is_dataclass(value))


@cache
def hints(record: type) -> dict[str, Any]:
    return typing.get_type_hints(record, localns=LOADED_LATER, include_extras=True)


def described(record: type, schema: dict[str, Any]) -> dict[str, Any]:
    """A definition with descriptions, without what an answer may leave out among the required."""
    texts, types = field_texts(record), hints(record)
    optional = {name for name, hint in types.items() if msgspec.UnsetType in parts(hint)}
    properties = {}
    for name, value in schema.get("properties", {}).items():
        inner = {key: part for key, part in with_tables(value).items() if key != "default"}
        text = {"description": texts[name]} if name in texts else {}
        properties[name] = {**inner, **text}
    required = [name for name in schema.get("required", ()) if name not in optional]
    omits = isinstance(record, type(msgspec.Struct)) and record.__struct_config__.omit_defaults
    if not omits:
        # Every field is written that has a value, whether or not it has a default.
        required = [name for name in properties if name not in optional]
    return {
        **{key: value for key, value in schema.items() if key not in ("properties", "required")},
        "properties": properties,
        **({"required": required} if required else {}),
    }


def with_tables(value: Any) -> Any:
    """Rows with the columns of their table, and references to records that fields name."""
    if isinstance(value, list):
        return [with_tables(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    inner = {
        name: with_tables(part) for name, part in value.items() if name not in ("table", "in_ns")
    }
    if "record" in inner:
        return {"$ref": REFERENCE.format(name=inner["record"])}
    if "table" not in value:
        return inner
    row = {"type": "object", "properties": row_properties(value["table"], value["in_ns"])}
    return {**inner, "items": row} if inner.get("type") == "array" else {**inner, **row}


def row_properties(table: str, in_ns: bool) -> dict[str, Any]:  # noqa: FBT001
    """The columns of a table with their meanings, or of a schema with their types."""
    if table in SCHEMAS:
        return {
            name: {"type": [json_type(dtype), "null"]} for name, dtype in SCHEMAS[table].items()
        }
    return {
        name if in_ns else user_name(name): {"description": spec.meaning} if spec.meaning else {}
        for name, spec in columns_of(table).items()
    }


def json_type(dtype: pl.DataType) -> str:
    """What JSON calls values of a column."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_nested():
        return "array"
    return "number" if dtype.is_float() else "boolean" if dtype == pl.Boolean else "string"


@cache
def field_texts(record: type) -> dict[str, str]:
    """What stands below the fields of a record, and of those it extends."""
    texts: dict[str, str] = {}
    for base in reversed(record.__mro__):
        if is_record(base) and base is not msgspec.Struct:
            (node,) = ast.parse(inspect.cleandoc(f"\n{inspect.getsource(base)}")).body
            texts |= dict(_texts_in(node))
    return texts


def _texts_in(node: ast.stmt) -> Iterator[tuple[str, str]]:
    body = node.body if isinstance(node, ast.ClassDef) else []
    for field, after in pairwise(body):
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and is_text:
            yield ast.unparse(field.target), " ".join(str(after.value.value).split())


def text_of(name: str) -> str:
    """The file of an answer; records are called as they are without what they end in."""
    text = json.dumps(schema_of(name), indent=1, ensure_ascii=False)
    return re.sub(r"(\w)Json\b", r"\1", text) + "\n"


def main() -> int:
    """Write all of them, or check that they are up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    contents = {FOLDER / f"{name}.json": text_of(name) for name in ANSWERS}
    stale = [
        path
        for path, content in contents.items()
        if not path.exists() or path.read_text(encoding="utf-8") != content
    ]
    stale += sorted(set(FOLDER.glob("*.json")) - contents.keys())
    if is_check:
        names = ", ".join(path.name for path in stale)
        sys.stderr.write(f"docs/schemas is out of date ({names}): run `make docs`\n" * bool(stale))
        return bool(stale)
    FOLDER.mkdir(exist_ok=True)
    for path in stale:
        path.unlink() if path not in contents else path.write_text(contents[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
