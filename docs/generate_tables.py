"""Write docs/tables.md from the schema; `--check` fails when the page is out of date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from generated import write_or_check

from timesink.model.health import RULES
from timesink.model.schema import TABLES

PAGE = Path(__file__).parent / "tables.md"


def page() -> str:
    return "\n".join([*_tables(), *_health()])


def _tables() -> Iterator[str]:
    yield "# Tables of a trace"
    yield ""
    yield "Generated from `timesink.model.schema` by `make docs`; do not edit."
    yield ""
    yield (
        "Times are integer nanoseconds and units are part of the column name. `pid`, `tid` and "
        "`stream` are text. `index` is the position of the event in the source. Null means that "
        "the source does not say. Rows of `host` and `device` are grouped by kind and keep the "
        "order of the source inside a kind; sort by `ts_ns` where order in time matters."
    )
    for table in TABLES.values():
        yield f"\n## `{table.name}`\n\n{table.meaning}\n"
        yield "| column | type | meaning |"
        yield "|---|---|---|"
        for column in table.columns:
            yield f"| `{column.name}` | {_type_name(column.dtype)} | {column.meaning} |"


def _type_name(dtype: object) -> str:
    members = getattr(dtype, "categories", None)
    if type(dtype).__name__ == "Enum" and members is not None:
        return "Enum: " + ", ".join(f"`{member}`" for member in members)
    return type(dtype).__name__


def _health() -> Iterator[str]:
    yield "\n# Health codes\n"
    yield "| code | severity | what | consequence | what to do |"
    yield "|---|---|---|---|---|"
    for rule in RULES.values():
        cells = (f"`{rule.code}`", rule.severity.value, rule.title, rule.consequence, rule.advice)
        yield "| " + " | ".join(cells) + " |"
    yield ""


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page(), __doc__))
