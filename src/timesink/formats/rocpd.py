"""Databases of rocprofv3 and rocprof-sys (`rocpd`): SQLite, schema 3.0 to 4.1.

A process writes its tables under names that end in a number of its own; a database of several has
a set for each.  Schemas differ in where the place and the time of an event stand: in its row, or in
rows of tracks and timestamps that it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

import msgspec
import polars as pl

from timesink.errors import UnreadableError
from timesink.formats.finish import close_spans, finish_trace, lane, list_lanes
from timesink.formats.operator_ranges import split_operator_ranges
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import Damage, SourceFile, packing_health
from timesink.formats.sqlite_file import INTEGER, REAL, TEXT, Database, open_database
from timesink.model.health import HealthEntry
from timesink.model.trace import Device, Metadata, Trace
from timesink.model.vendors import AMD
from timesink.patterns import regex

NAME = "rocpd"
_SQLITE_MAGIC = b"SQLite format 3\0"
_TABLE = regex(r"rocpd_(?P<name>[a-z_]+?)(?P<set>_?[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12})?")
"""Name of a table, and the number of the set it is of."""
_OLD_TABLES = frozenset({"rocpd_op", "rocpd_api", "rocpd_string"})
_EVENTS = {
    "region": "host",
    "sample": "host",
    "kernel_dispatch": "device",
    "memory_copy": "device",
    "memory_allocate": "memory",
}
"""Tables of events: the table of the model each is of."""
_DESCRIPTIONS = frozenset(
    {
        *("metadata", "string", "info_node", "info_process", "info_thread", "info_category"),
        *("info_agent", "info_queue", "info_stream", "info_pmc", "info_code_object"),
        *("info_kernel_symbol", "track", "timestamp", "event", "pmc_event"),
        *("info_address_range", "info_source_code", "info_pc"),
    }
)
"""Tables that events refer to."""
_PLACE = ("nid", "pid", "tid", "agent_id", "queue_id", "stream_id")
_TIMES = ("start", "end", "start_id", "end_id", "timestamp", "timestamp_id")
_CPU, _CUDA = 0, 1  # c10::DeviceType, which counts ROCm as CUDA
_KINDS = (
    (r"MARKER", "annotation"),
    ("|".join(AMD.collectives).upper(), "collective"),
    (r"^HIP", "runtime"),
    (r"^HSA", "driver"),
)
"""Kinds of calls, by their category."""
_DIRECTIONS = {
    "HOST_TO_HOST": "HtoH",
    "HOST_TO_DEVICE": "HtoD",
    "DEVICE_TO_HOST": "DtoH",
    "DEVICE_TO_DEVICE": "DtoD",
}
_MAX_FACTS = 1 << 20
"""Bytes of what is said of an agent, as JSON."""


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    r"""An SQLite file in whose first pages tables of rocpd are declared.

    >>> sniff(b"SQLite format 3\0" + b"...CREATE TABLE `rocpd_string`", "results.db")
    True
    """
    return head.startswith(_SQLITE_MAGIC) and b"rocpd_" in head


class _TableSet(msgspec.Struct, frozen=True):
    """The tables of one process, or of all where they have no number."""

    database: Database
    tables: Mapping[str, str]
    """Name in the file, by the name without prefix and number."""

    def rows(self, name: str, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
        return self.database.rows(self.tables.get(name, ""), schema)

    def columns(self, name: str) -> tuple[str, ...]:
        return self.database.columns.get(self.tables.get(name, ""), ())

    def lookup(self, name: str, key: str, /, **columns: pl.DataType) -> pl.DataFrame:
        """Rows by their number, which is called `key` here; of equal ones the last."""
        rows = self.rows(name, {"id": INTEGER, **columns}).rename({"id": key})
        return rows.drop_nulls(key).unique(key, keep="last")


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001
    damage = Damage()
    health: list[HealthEntry] = []
    with open_database(source, damage) as database:
        sets = _table_sets(database)
        if not sets:
            raise _refusal(source, database)
        parts: dict[str, list[pl.DataFrame]] = {}
        devices: dict[int, Device] = {}
        facts: dict[str, str] = {}
        machine: dict[str, Any] = {"commands": []}
        counts: dict[str, int] = {}
        for tables in sets:
            agents = _read_agents(tables, health)
            offset = max(devices, default=-1) + 1 if _repeat(agents, devices) else 0
            agents = agents.with_columns(device=pl.col("device") + offset)
            devices |= _devices(agents)
            facts |= _facts(tables)
            machine = _machine(tables, machine)
            events = sum(counts.values())
            for table, rows, frame in _read_events(tables, agents, events):
                placed, entries = close_spans(frame, rows)
                health += entries
                counts[rows] = counts.get(rows, 0) + frame.height
                parts.setdefault(table, []).append(placed)
            parts.setdefault("tracks", []).append(_track_rows(tables))
            health += _unread(tables)
    frames = {table: pl.concat(rows, how="diagonal") for table, rows in parts.items()}
    if "device" in frames:
        frames["tracks"] = pl.concat(
            [frames["tracks"], list_lanes(frames["device"])], how="diagonal"
        )
    version = facts.get("schema_version", "")
    health += packing_health(damage)
    metadata = Metadata(
        source=str(source.path),
        format=NAME,
        vendor=AMD.name,
        events=sum(counts.values()),
        clock="monotonic",
        devices=tuple(devices[number] for number in sorted(devices)),
        schema_version=int(version.partition(".")[0]) if version[:1].isdigit() else None,
        versions={"rocpd_schema": version} if version else {},
        extra={key: value for key, value in machine.items() if value},
    )
    return finish_trace(metadata, frames, health)


def _table_sets(database: Database) -> list[_TableSet]:
    sets: dict[str, dict[str, str]] = {}
    for table in database.columns:
        match = _TABLE.fullmatch(table)
        if match is not None:
            sets.setdefault(match["set"] or "", {})[match["name"]] = table
    return [
        _TableSet(database, tables)
        for tables in sets.values()
        if "string" in tables and not _EVENTS.keys().isdisjoint(tables)
    ]


def _refusal(source: SourceFile, database: Database) -> UnreadableError:
    if set(database.columns) >= _OLD_TABLES:
        return UnreadableError(
            f"{source.path}: a database of rocmProfileData, older than rocpd schema 3",
            "convert it with its rpd2tracing.py, and give the JSON",
        )
    return UnreadableError.unrecognised(source.path, "an SQLite database without events of rocpd")


def _read_agents(tables: _TableSet, health: list[HealthEntry]) -> pl.DataFrame:
    """Agents by `agent_id`, with the number of each GPU in `device`, from 0; null of others."""
    schema = {
        **dict.fromkeys(("absolute_index", "logical_index", "type_index"), INTEGER),
        **dict.fromkeys(("type", "name", "model_name", "product_name", "extdata"), TEXT),
    }
    agents = tables.lookup("info_agent", "agent_id", **schema)
    order = pl.coalesce("type_index", "logical_index", "absolute_index", "agent_id")
    is_gpu = pl.col("type") == "GPU"
    agents = agents.sort(order, "agent_id").with_columns(
        device=pl.when(is_gpu).then(is_gpu.cum_sum() - 1)
    )
    strange = agents.filter(~pl.col("type").is_in(["CPU", "GPU", "NIC"]))
    if strange.height:
        health.append(HealthEntry("bad_value", strange.height, f"agent {strange['type'][0]}"))
    return agents


def _repeat(agents: pl.DataFrame, devices: Mapping[int, Device]) -> bool:
    """Whether agents of another set are other devices: they differ in name."""
    named = _devices(agents)
    shared = named.keys() & devices.keys()
    return any(named[number].name != devices[number].name for number in shared)


def _devices(agents: pl.DataFrame) -> dict[int, Device]:
    devices = {}
    for row in agents.drop_nulls("device").iter_rows(named=True):
        facts = _json_facts(row["extdata"])
        banks = facts.get("mem_banks")
        listed = banks if isinstance(banks, list) else []
        sizes = [bank.get("size_in_bytes", 0) for bank in listed if isinstance(bank, dict)]
        units = facts.get("cu_count")
        devices[row["device"]] = Device(
            id=row["device"],
            name=row["product_name"] or row["model_name"] or row["name"] or "",
            memory_bytes=sum(size for size in sizes if isinstance(size, int)) or None,
            compute_capability=row["name"] or None,
            multiprocessors=units if isinstance(units, int) and units > 0 else None,
            properties={
                "id": row["device"],
                **{k: v for k, v in facts.items() if isinstance(v, str | int) and v},
            },
        )
    return devices


def _json_facts(text: str | None) -> dict[str, Any]:
    if not text or len(text) > _MAX_FACTS:
        return {}
    try:
        facts = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _facts(tables: _TableSet) -> dict[str, str]:
    rows = tables.rows("metadata", {"tag": TEXT, "value": TEXT}).drop_nulls()
    return dict(rows.iter_rows())


def _machine(tables: _TableSet, machine: dict[str, Any]) -> dict[str, Any]:
    nodes = tables.rows("info_node", {"hostname": TEXT, "release": TEXT})
    commands = tables.rows("info_process", {"command": TEXT})["command"].drop_nulls().to_list()
    merged = {**machine, "commands": [*machine["commands"], *commands]}
    for hostname, release in nodes.head(1).iter_rows():
        merged |= {"host_name": hostname or "", "system": release or ""}
    return merged


def _track_rows(tables: _TableSet) -> pl.DataFrame:
    """Names of processes and threads."""
    processes = tables.rows("info_process", {"pid": INTEGER, "name": TEXT, "command": TEXT})
    program = pl.col("command").map_elements(
        lambda text: PurePath(text.split(" ")[0]).name, return_dtype=pl.String
    )
    threads = tables.rows("info_thread", {"pid": INTEGER, "tid": INTEGER, "name": TEXT})
    numbers = _numbers(tables, "info_process", "pid")
    threads = threads.join(numbers, on="pid", how="left", maintain_order="left").with_columns(
        pl.coalesce("pid_number", "pid").alias("pid")
    )
    return pl.concat(
        [
            processes.select(
                pl.col("pid").cast(pl.String), name=pl.coalesce("name", program)
            ).drop_nulls(),
            threads.select(pl.col("pid", "tid").cast(pl.String), "name").drop_nulls(),
        ],
        how="diagonal",
    )


# Events.


def _read_events(
    tables: _TableSet, agents: pl.DataFrame, offset: int
) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Table of the model, table of the file and its rows; `index` counts from the offset."""
    strings = tables.lookup("string", "name_id", string=TEXT)
    events = _event_facts(tables, strings)
    kernels: pl.DataFrame | None = None
    samples: pl.DataFrame | None = None
    for name, table in _EVENTS.items():
        if name not in tables.tables:
            continue
        placed = _place_rows(tables, name).with_row_index("index", offset=offset)
        offset += placed.height
        placed = placed.join(events, on="event_id", how="left", maintain_order="left")
        if name in ("region", "sample"):
            frame = _host_rows(placed, strings)
            samples = placed if name == "sample" else samples
        elif name == "kernel_dispatch":
            frame = _kernel_rows(placed, tables, agents)
            kernels = frame.with_columns(placed["event_id"])
        elif name == "memory_copy":
            frame = _copy_rows(placed, strings, agents)
        else:
            frame = _memory_rows(placed, agents)
        yield table, name, frame
    counters = _counter_rows(tables, kernels, samples)
    if counters is not None and counters.height:
        yield "counters", "pmc_event", counters


def _place_rows(tables: _TableSet, name: str) -> pl.DataFrame:
    """Rows of a table of events with `start`, `end` and the place of each."""
    schema = dict.fromkeys(
        (
            *(*_PLACE, *_TIMES, "track_id", "name_id", "event_id", "kernel_id", "dispatch_id"),
            *("size", "address", "src_agent_id", "dst_agent_id", "group_segment_size"),
            *(f"{part}_size_{axis}" for part in ("workgroup", "grid") for axis in "xyz"),
            *("graph_exec_id", "graph_node_id"),
        ),
        INTEGER,
    )
    rows = tables.rows(name, {**schema, "type": TEXT, "level": TEXT})
    if "track_id" in tables.columns(name):
        tracks = tables.lookup("track", "track_id", **dict.fromkeys(_PLACE, INTEGER))
        rows = rows.join(
            tracks, on="track_id", how="left", suffix="_of_track", maintain_order="left"
        ).with_columns(pl.coalesce(part, f"{part}_of_track").alias(part) for part in _PLACE)
    for time, by in (("start", "start_id"), ("end", "end_id"), ("timestamp", "timestamp_id")):
        if by in tables.columns(name):
            values = tables.lookup("timestamp", by, value=INTEGER).rename({"value": f"{time}_at"})
            rows = rows.join(values, on=by, how="left", maintain_order="left").with_columns(
                pl.coalesce(time, f"{time}_at").alias(time)
            )
    for column, described in (("pid", "info_process"), ("tid", "info_thread")):
        numbers = _numbers(tables, described, column)
        rows = rows.join(numbers, on=column, how="left", maintain_order="left").with_columns(
            pl.coalesce(f"{column}_number", column).alias(column)
        )
    # Samples have one time.
    return rows.with_columns(
        start=pl.coalesce("start", "timestamp"), end=pl.coalesce("end", "timestamp")
    )


def _numbers(tables: _TableSet, described: str, column: str) -> pl.DataFrame:
    """What the system calls the processes or threads that rows name by their number here."""
    numbers = tables.rows(described, {"id": INTEGER, column: INTEGER}).drop_nulls()
    return numbers.select(
        pl.col("id").alias(column), pl.col(column).alias(f"{column}_number")
    ).unique(column, keep="last")


def _event_facts(tables: _TableSet, strings: pl.DataFrame) -> pl.DataFrame:
    """Category, correlation and text of each event, by `event_id`."""
    schema = {
        **dict.fromkeys(("category_id", "stack_id", "correlation_id"), INTEGER),
        "extdata": TEXT,
    }
    events = tables.lookup("event", "event_id", **schema)
    categories = strings.rename({"name_id": "category_id", "string": "category"})
    if "info_category" in tables.tables:
        categories = tables.lookup("info_category", "category_id", name=TEXT).rename(
            {"name": "category"}
        )
    message = pl.col("extdata").str.json_path_match("$.message")
    has_message = pl.col("extdata").str.contains('"message"', literal=True)
    number = pl.col("stack_id")
    return events.join(categories, on="category_id", how="left").select(
        "event_id",
        "category",
        message=pl.when(has_message).then(message),
        correlation=pl.when(number > 0).then(number).otherwise("correlation_id"),
    )


def _host_rows(rows: pl.DataFrame, strings: pl.DataFrame) -> pl.DataFrame:
    named = rows.join(strings, on="name_id", how="left", maintain_order="left")
    kind = pl.lit("other")
    for pattern, word in reversed(_KINDS):
        kind = pl.when(pl.col("category").str.contains(pattern)).then(pl.lit(word)).otherwise(kind)
    is_mark = (pl.col("start") == pl.col("end")) & pl.col("timestamp").is_not_null()
    calls = named.select(
        "index",
        "start",
        "end",
        "category",
        "correlation",
        kind=pl.when(is_mark).then(pl.lit("instant")).otherwise(kind),
        name=pl.when(pl.col("category").str.contains("MARKER"))
        .then(pl.coalesce("message", "string"))
        .otherwise(pl.coalesce("string", "message")),
        pid=pl.col("pid").cast(pl.String),
        tid=pl.col("tid").cast(pl.String),
    )
    return split_operator_ranges(calls)


def _on_device(rows: pl.DataFrame) -> dict[str, pl.Expr]:
    """Stream and lane of device work: of its queue, where no stream was recorded."""
    by_stream = bool((rows["stream_id"].fill_null(0) > 0).any())
    column = pl.col("stream_id" if by_stream else "queue_id").cast(pl.String)
    stream = column if by_stream else pl.format("queue {}", column)
    return {"stream": stream, "tid": lane(pl.col("device"), stream)}


def _device_of(column: str, agents: pl.DataFrame) -> pl.DataFrame:
    return agents.select(pl.col("agent_id").alias(column), pl.col("device").alias(f"{column}_gpu"))


def _kernel_rows(rows: pl.DataFrame, tables: _TableSet, agents: pl.DataFrame) -> pl.DataFrame:
    symbols = tables.lookup(
        "info_kernel_symbol",
        "kernel_id",
        display_name=TEXT,
        kernel_name=TEXT,
        arch_vgpr_count=INTEGER,
    )
    rows = rows.join(symbols, on="kernel_id", how="left", maintain_order="left").join(
        _device_of("agent_id", agents), on="agent_id", how="left", maintain_order="left"
    )
    rows = rows.with_columns(device=pl.col("agent_id_gpu"))
    # The grid is recorded in work-items, the model counts work-groups.
    grid = {
        f"grid_{axis}": pl.when(pl.col(f"workgroup_size_{axis}") > 0).then(
            (pl.col(f"grid_size_{axis}") + pl.col(f"workgroup_size_{axis}") - 1)
            // pl.col(f"workgroup_size_{axis}")
        )
        for axis in "xyz"
    }
    empty = pl.col("display_name") == ""
    return rows.with_columns(**_on_device(rows)).select(
        "index",
        "start",
        "end",
        "category",
        "correlation",
        "device",
        "stream",
        "tid",
        kind=pl.lit("kernel"),
        name=pl.coalesce(pl.when(~empty).then("display_name"), "kernel_name"),
        pid=pl.col("pid").cast(pl.String),
        registers_per_thread="arch_vgpr_count",
        shared_memory_bytes="group_segment_size",
        graph_id="graph_exec_id",
        graph_node_id="graph_node_id",
        **grid,
        **{f"block_{axis}": pl.col(f"workgroup_size_{axis}") for axis in "xyz"},
    )


def _copy_rows(rows: pl.DataFrame, strings: pl.DataFrame, agents: pl.DataFrame) -> pl.DataFrame:
    rows = rows.join(strings, on="name_id", how="left", maintain_order="left")
    for end in ("src_agent_id", "dst_agent_id"):
        rows = rows.join(_device_of(end, agents), on=end, how="left", maintain_order="left")
    source, target = pl.col("src_agent_id_gpu"), pl.col("dst_agent_id_gpu")
    recorded = pl.col("string").str.extract("((?:HOST|DEVICE)_TO_(?:HOST|DEVICE))$")
    direction = (
        pl.when((source != target) & source.is_not_null() & target.is_not_null())
        .then(pl.lit("PtoP"))
        .otherwise(recorded.replace_strict(_DIRECTIONS, default="other", return_dtype=pl.String))
    ).fill_null("other")
    rows = rows.with_columns(device=pl.coalesce(target, source), copy_direction=direction)
    return rows.with_columns(**_on_device(rows)).select(
        "index",
        "start",
        "end",
        "category",
        "correlation",
        "device",
        "stream",
        "tid",
        "copy_direction",
        kind=pl.lit("memcpy"),
        name=pl.format("Memcpy {}", "copy_direction"),
        pid=pl.col("pid").cast(pl.String),
        bytes="size",
        graph_id="graph_exec_id",
        graph_node_id="graph_node_id",
    )


def _memory_rows(rows: pl.DataFrame, agents: pl.DataFrame) -> pl.DataFrame:
    """Allocations and frees; a free that does not repeat its size has that of the allocation."""
    rows = rows.join(
        _device_of("agent_id", agents), on="agent_id", how="left", maintain_order="left"
    ).sort("start", maintain_order=True)
    is_free = pl.col("type") == "FREE"
    recorded = pl.when(~is_free & (pl.col("size") > 0)).then("size")
    allocated = recorded.forward_fill().over("pid", "address")
    size = pl.when(is_free).then(pl.when(pl.col("size") > 0).then("size").otherwise(allocated))
    device = pl.col("agent_id_gpu")
    frees_device = device.forward_fill().over("pid", "address")
    device = pl.when(is_free).then(pl.coalesce(device, frees_device)).otherwise(device)
    return rows.select(
        "index",
        "start",
        pid=pl.col("pid").cast(pl.String),
        tid=pl.col("tid").cast(pl.String),
        device=device.fill_null(-1),
        device_type=pl.when(device.is_null()).then(_CPU).otherwise(_CUDA),
        address=pl.col("address").reinterpret(signed=False),
        bytes=pl.when(is_free).then(-size).otherwise("size"),
    )


def _counter_rows(
    tables: _TableSet, kernels: pl.DataFrame | None, samples: pl.DataFrame | None
) -> pl.DataFrame | None:
    """Values of counters: of kernels, at their start, and of samples."""
    if "pmc_event" not in tables.tables:
        return None
    values = tables.rows("pmc_event", {"event_id": INTEGER, "pmc_id": INTEGER, "value": REAL})
    names = tables.lookup("info_pmc", "pmc_id", name=TEXT, symbol=TEXT, agent_id=INTEGER)
    named = values.join(
        names.select("pmc_id", "agent_id", counter=pl.coalesce("symbol", "name")),
        on="pmc_id",
        how="left",
        maintain_order="left",
    )
    parts = []
    for rows, device, source in (
        (kernels, "device", "profiler_range"),
        (samples, "agent_id", "trace"),
    ):
        if rows is None or rows.is_empty():
            continue
        places = rows.select(
            "event_id", "index", "start", *(("device",) if rows is kernels else ())
        )
        placed = named.join(places, on="event_id", how="inner", maintain_order="left")
        parts.append(
            placed.select(
                *("index", "start", "value", "counter"),
                device=pl.format("GPU {}", device),
                source=pl.lit(source),
            )
        )
    return pl.concat(parts) if parts else None


def _unread(tables: _TableSet) -> Iterator[HealthEntry]:
    """Tables that hold rows, and that nothing is made of."""
    for name, table in tables.tables.items():
        if name in _EVENTS or name in _DESCRIPTIONS:
            continue
        count = tables.database.count(table)
        if count and name == "arg":
            yield HealthEntry("unmodelled_args", count, "arguments of calls")
        elif count:
            yield HealthEntry("unknown_phase", count, f"rocpd_{name}")
