"""The tables a user can ask for by name, and their columns: `views.csv` and `columns.csv`.

A new analysis is one row of the first, and its columns are rows of the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from timesink.errors import UsageError
from timesink.model.data_files import csv_rows

if TYPE_CHECKING:
    import polars as pl

    from timesink.analyses.ranks.rank_set import RankSet
    from timesink.model.trace import Trace
    from timesink.output.blocks import Table


# Why a table or a section is empty, and what to record to fill it.


class Absent(msgspec.Struct, frozen=True):
    """The reason, and what to try; the hint is empty where nothing is amiss."""

    reason: str
    hint: str = ""


NO_STEPS = Absent("the trace has no events with a duration", "profile a few steps of the program")
NO_PATH = Absent(
    "no complete step was recorded, so the critical path is not known",
    "profile host and device together, for one more step",
)
NO_OPERATORS = Absent("no operators were recorded", "profile with ProfilerActivity.CPU")
NO_DEVICE_WORK = Absent(
    "no device work was recorded", "profile with ProfilerActivity.CUDA, or that of your device"
)
NO_KERNELS = Absent("no kernels were recorded", NO_DEVICE_WORK.hint)
NO_LAUNCHES = Absent("no launches are linked to device work", "profile host and device together")
NO_GAPS = Absent("no device has idle gaps")
NO_MEMORY = Absent(
    "no memory was recorded",
    "record with  timesink record --with memory -- CMD, or profile with profile_memory=True",
)
NO_SNAPSHOT = Absent(
    "there is no memory snapshot",
    "record one with  timesink record --with memory-snapshot -- CMD, or "
    "torch.cuda.memory._dump_snapshot",
)
NO_MEMORY_STEPS = Absent(
    "no steps are known in a memory snapshot",
    "record with  timesink record --with memory-snapshot -- CMD, which marks them",
)
NO_GROWTH = Absent("live memory does not grow between two steps")
NO_UNFREED = Absent("everything that was allocated in the history of a snapshot was given back")
NO_FAILURES = Absent("no allocation of a memory snapshot failed")
NO_LOG = Absent(
    "there is no log of collectives",
    "give flight-recorder dumps of PyTorch, or logs of the NCCL Inspector",
)
NO_MODULES = Absent("no modules were recorded", "profile with with_stack=True")
NO_PYTHON = Absent("no Python functions were recorded", NO_MODULES.hint)
NO_COMMUNICATION = Absent("no communication was recorded", "give the folder of all ranks")
ALL_MATCHED = Absent("all collective calls match between the workers")
NO_SHAPES_RECORDED = Absent(
    "no kernels of operators with shapes were recorded",
    "record the device and shapes: timesink record --with shapes -- CMD, or record_shapes=True",
)
NO_GRAPHS = Absent("no graph was replayed")
NO_COMPILED = Absent("no kernel that a compiler generated was recorded")
NO_COMPILED_CODE = Absent(
    "no code of generated kernels lies beside the recording",
    "record it with  timesink record --with compiled -- CMD",
)
NO_COMPILED_KERNELS = Absent(
    "no kernel that a compiler generated ran on a device",
    "its graph breaks and repeated compilations are findings of  timesink analyze",
)
NO_SHAPES_IN_GRAPHS = Absent(
    "most kernels were launched by graphs, so their operators are not known",
    "name the captures of the graphs with --capture, or an eager run with --names-from",
)
NO_SHAPES_LINKED = Absent(
    "shapes were recorded, but no kernel is linked to an operator with shapes",
    "keep the ids that link launches to device work (correlation, External id)",
)
NO_SHAPES_HERE = Absent(
    "no operator with shapes and kernels has a formula",
    "describe your own operators with --formulas FILE",
)
NO_STRAGGLERS = Absent("no rank is a straggler")


class ColumnSpec(msgspec.Struct, frozen=True):
    """One column of a table: a row of `columns.csv`."""

    meaning: str
    title: str = ""
    main: bool = True
    spare: int = 0


Columns: TypeAlias = Mapping[str, ColumnSpec]
"""The columns of a table by name, in the order in which people see them."""


@cache
def _columns() -> Mapping[str, Columns]:
    """The columns of every table."""
    tables: dict[str, dict[str, ColumnSpec]] = {}
    for row in csv_rows(Path(__file__).with_name("columns.csv"), like="column"):
        column = ColumnSpec(
            row["meaning"], row["title"], row["main"] != "no", int(row["spare"] or 0)
        )
        tables.setdefault(row["table"], {})[row["column"]] = column
    return tables


def columns_of(table: str) -> Columns:
    """The columns of a table."""
    return _columns()[table]


def meanings_of(*tables: str) -> dict[str, str]:
    """What the columns of tables mean; where several have one, that of the last."""
    return {name: column.meaning for table in tables for name, column in columns_of(table).items()}


def load(place: str, package: str) -> Any:
    """What `module:function` names below a package."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"{package}.{module}"), name)


class View(msgspec.Struct, frozen=True):
    """One table: a row of `views.csv`."""

    name: str
    title: str
    place: str
    """Of its analysis, which is loaded when asked for."""
    absent: Absent
    share_of: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    largest: str = ""
    """People see rows ordered by this column, the largest first."""
    brief: tuple[str, ...] = ()
    """Columns of the short answer, where these are not the main ones."""
    groups: Mapping[str, Mapping[str, bool]] = msgspec.field(default_factory=dict)
    """Arguments of the analysis for each `--group-by`."""
    table_name: str = ""
    """Its rows of `columns.csv`, where they are not called as the view."""
    in_ns: bool = False
    """Whether programs get lengths of time in nanoseconds, as analyses have them."""
    layout: str = ""
    """Its rows of `layouts.csv`, where people see other columns than programs get."""
    exact: bool = False
    """Whether programs get numbers as they were computed; CSV has six decimals of each."""

    @property
    def columns(self) -> Columns:
        return columns_of(self.table_name or self.name)

    @property
    def per_span(self) -> bool:
        """Whether the analysis takes all ranks of a run instead of one trace."""
        return self.place.startswith("ranks.")

    @property
    def is_played(self) -> bool:
        """Whether the analysis is about a run that is played again, as well as about a trace."""
        return self.place.startswith("replay.")

    @property
    def is_of_roofs(self) -> bool:
        """Whether the analysis is about what a device can do, as well as about a trace."""
        return self.place.startswith("work.")

    @property
    def analysis(self) -> Callable[..., pl.DataFrame]:
        """What makes it."""
        function: Callable[..., pl.DataFrame] = load(self.place, "timesink.analyses")
        return function

    def table(self, trace: Trace, group_by: str = "", ranks: RankSet | None = None) -> pl.DataFrame:
        """The table of a trace, or of all ranks of its run for one that compares them."""
        if self.per_span:
            from timesink.analyses.ranks.rank_set import ranks_of_traces  # noqa: PLC0415 - few need it

            traces = {trace.metadata.worker or "worker0": trace}
            return self.analysis(ranks or ranks_of_traces(traces))
        return self.analysis(trace, **self.groups.get(group_by, {})).drop(self.hidden)


_OPERATOR_GROUPS: Mapping[str, Mapping[str, bool]] = {
    "name": {},
    "shape": {"by_shape": True},
    "stack": {"by_stack": True},
    "shape-stack": {"by_shape": True, "by_stack": True},
}

GROUPS = tuple(_OPERATOR_GROUPS)


_ROWS = {row["name"]: row for row in csv_rows(Path(__file__).with_name("views.csv"))}
VIEWS = tuple(_ROWS)
"""The names of all tables."""


@cache
def find_view(name: str) -> View:
    """The table of this name."""
    if name not in _ROWS:
        raise UsageError(f"there is no table {name!r}", f"choose one of {', '.join(VIEWS)}")
    row = _ROWS[name]
    return View(
        name,
        row["title"],
        row["analysis"],
        globals()[row["absent"]],
        tuple(row["share_of"].split()),
        tuple(row["hidden"].split()),
        row["largest"],
        tuple(row["brief"].split()),
        _OPERATOR_GROUPS if name == "operators" else {},
    )


KERNEL_GROUPS = ("name", "full-name", "family", "operator", "module", "module-class")
"""What `timesink kernels --by` groups launches by."""
KERNELS_BY = {f"kernels-by-{by}": by for by in KERNEL_GROUPS}
"""Tables of kernels by the names that queries have for them."""


def kernel_view(by: str) -> View:
    """The table of `timesink kernels --by`."""
    name, title = f"kernels-by-{by}", f"Kernels by {by.replace('-', ' ')}"
    share_of = ("total_ns",)
    return View(name, title, "", NO_KERNELS, share_of, table_name="kernel-use", in_ns=True)


_COMPARED: Mapping[str, tuple[str, str]] = {
    "rows": (
        "function-scores",
        "Functions whose share and counter changed most (score: in spreads of the base)",
    ),
    "times": ("function-times", "Time per step, largest changes"),
    "families": ("name-families", "Names only in one run, by family"),
    "counters": ("counter-changes", "Counters that changed beyond noise"),
    "operators": ("operator-changes", "Operators that changed, per step"),
    "edits": ("program-edits", "Program changes, per step"),
    "kinds": ("cycle-kinds", "Step types"),
    "program": ("", "Calls of both programs, per step"),
}
COMPARED_VIEWS = tuple(_COMPARED)
"""Tables of two runs by name."""


def compared_view(name: str) -> View:
    """A table of two runs beside each other."""
    layout, title = _COMPARED[name]
    alike = Absent("both runs are alike in it")
    return View(name, title, "", alike, table_name="compared", layout=layout, exact=True)


def check_group(group_by: str, view: str | None = None) -> None:
    """Refuse a grouping that is not known, or that this table does not know."""
    if not group_by:
        return
    if group_by not in GROUPS:
        raise UsageError(
            f"nothing can be grouped by {group_by!r}", f"choose one of {', '.join(GROUPS)}"
        )
    if view is not None and group_by not in find_view(view).groups:
        names = ", ".join(name for name in VIEWS if find_view(name).groups)
        raise UsageError(f"the table {view!r} cannot be grouped", f"this can be: {names}")


# Parts of a whole, such as the kinds of work in a step, as people see them.


class NamedPart(NamedTuple):
    """A row of `parts.csv`."""

    colour: str
    words: str
    meaning: str


NamedParts: TypeAlias = Mapping[str, NamedPart]


@cache
def parts_of(parent: str) -> NamedParts:
    """The parts of a whole by name: kinds, or columns that add up."""
    rows = csv_rows(Path(__file__).with_name("parts.csv"))
    names = NamedPart._fields
    return {
        row["part"]: NamedPart(*(row[name] for name in names))
        for row in rows
        if row["of"] == parent
    }


# The tables of documents that no analysis makes: `layouts.csv` lists their columns.


@cache
def _layouts() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """What `output.numbers.column` is given for each column, beside its values."""
    layouts: dict[str, list[Mapping[str, Any]]] = {}
    for row in csv_rows(Path(__file__).with_name("layouts.csv")):
        looks: dict[str, Any] = {"spare": int(row["spare"] or 0), "help": row["meaning"]}
        for look in row["looks"].split():
            name, _, value = look.partition("=")
            looks[name] = {"": True, "no": False}.get(value, value)
        column_layout = {"key": row["column"], "title": row["title"], "kind": row["kind"], **looks}
        layouts.setdefault(row["layout"], []).append(column_layout)
    return layouts


def listed_table(
    layout: str,
    id_: str,
    title: str,
    rows: pl.DataFrame | Sequence[Any],
    values: Mapping[str, Any] | None = None,
    *,
    titles: Mapping[str, str] | None = None,
    **more: Any,
) -> Table:
    """Rows as a table with the columns of a layout; `more` are those of `output.numbers.table`.

    A column has the `values` given by its key, else those of its name in the rows: a frame, or
    dictionaries or objects.  One whose values are None is left out; `titles` are other headings.
    """
    from timesink.output.numbers import column, table  # noqa: PLC0415 - the help needs none

    def row_values(key: str) -> Iterable[Any]:
        if isinstance(rows, Sequence):
            return [row[key] if isinstance(row, Mapping) else getattr(row, key) for row in rows]
        return rows[key]

    column_values, named = values or {}, titles or {}
    columns = []
    for column_layout in _layouts()[layout]:
        key = column_layout["key"]
        cells = column_values[key] if key in column_values else row_values(key)
        if cells is not None:
            columns.append(
                column(
                    **{**column_layout, "title": named.get(key, column_layout["title"])},
                    values=cells,
                )
            )
    return table(id_, title, columns, **more)
