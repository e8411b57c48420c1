"""Databases of rocprofv3 in each schema, against SQL on the same tables."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import polars as pl
import pytest

from damaged_files import damage, read_or_refused
from rocpd_files import SCHEMAS, suffix_of, write_rocpd
from thinning import IS_SEARCH, every_nth
from timesink.errors import UnreadableError
from timesink.formats.source_file import read_trace

MUTANTS = 100 if IS_SEARCH else 6


def codes(trace):
    return {entry.code: entry.count for entry in trace.health}


@pytest.mark.parametrize("version", SCHEMAS)
def test_every_schema_gives_the_same_events(tmp_path, version):
    trace = read_trace(write_rocpd(tmp_path / "results.db", version))
    assert trace.metadata.format == "rocpd"
    assert trace.metadata.vendor == "amd"
    assert trace.metadata.versions["rocpd_schema"] == version
    assert [device.name for device in trace.metadata.devices] == [
        "AMD Instinct MI300X 0",
        "AMD Instinct MI300X 1",
    ]
    assert trace.metadata.devices[0].memory_bytes == 192 << 30
    device = trace.device.sort("ts_ns")
    assert device["kind"].cast(pl.String).to_list() == ["memcpy", "kernel"] * 3
    copy, kernel = device.row(0, named=True), device.row(1, named=True)
    assert (kernel["name"], kernel["device"], kernel["stream"]) == ("gemm", 0, "2")
    assert (kernel["grid_x"], kernel["grid_y"], kernel["block_x"]) == (256, 2, 256)
    assert (kernel["registers_per_thread"], kernel["shared_memory_bytes"]) == (64, 4096)
    assert (copy["bytes"], copy["copy_direction"], copy["device"]) == (1 << 20, "HtoD", 0)
    host = trace.host.sort("ts_ns").head(4)
    assert host["kind"].cast(pl.String).to_list() == ["annotation", "runtime", "runtime", "driver"]
    assert host["name"].cast(pl.String).to_list()[:2] == ["step 0", "hipMemcpyAsync"]
    assert host["pid"].cast(pl.String).unique().to_list() == ["4711"]
    assert "unlinked_kernels" not in codes(trace)
    counters = trace.counters
    assert counters["counter"].cast(pl.String).unique().to_list() == ["SQ_WAVES"]
    assert counters["value"].to_list() == [100.0, 101.0, 102.0]
    assert trace.memory["bytes"].to_list() == [1 << 20, -(1 << 20)]
    assert trace.memory["device"].to_list() == [0, 0]


def test_sums_are_those_of_sql(tmp_path):
    path = write_rocpd(tmp_path / "results.db", "3.0.0", steps=50)
    table = f"rocpd_kernel_dispatch{suffix_of(4711)}"
    with closing(sqlite3.connect(path)) as connection:
        query = f'SELECT count(*), sum("end" - "start"), min("start") FROM "{table}"'  # noqa: S608
        expected = connection.execute(query).fetchone()
    kernels = read_trace(path).device.filter(pl.col("kind") == "kernel")
    assert (kernels.height, kernels["dur_ns"].sum(), kernels["ts_ns"].min()) == expected


@pytest.mark.parametrize("version", every_nth(SCHEMAS, 2))
def test_processes_of_one_database(tmp_path, version):
    path = write_rocpd(tmp_path / "results.db", version, processes=(4711, 4799))
    trace = read_trace(path)
    assert trace.device.height == 12
    assert sorted(trace.device["pid"].cast(pl.String).unique()) == ["4711", "4799"]
    assert trace.host["index"].n_unique() == trace.host.height
    assert "duplicate_correlation" not in codes(trace)
    names = trace.tracks.filter(pl.col("tid").is_null())["name"].cast(pl.String).to_list()
    assert names == ["train", "train"]


def test_tables_without_a_number(tmp_path):
    path = write_rocpd(tmp_path / "results.db")
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (name,) in tables.fetchall():
            plain = name.removesuffix(suffix_of(4711))
            if plain != name:
                connection.execute(f'ALTER TABLE "{name}" RENAME TO "{plain}"')
        connection.commit()
    assert read_trace(path).device.height == 6


def test_tables_that_are_not_read_are_counted(tmp_path):
    path = write_rocpd(tmp_path / "results.db")
    table = f"rocpd_graph_launch{suffix_of(4711)}"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f'CREATE TABLE "{table}" (id INTEGER, start BIGINT)')
        connection.execute(f'INSERT INTO "{table}" VALUES (1, 2)')  # noqa: S608
        connection.commit()
    entry = next(e for e in read_trace(path).health if e.code == "unknown_phase")
    assert (entry.count, entry.example) == (1, "rocpd_graph_launch")


def test_the_database_of_the_tool_before(tmp_path):
    path = tmp_path / "old.rpd"
    with closing(sqlite3.connect(path)) as connection:
        for name in ("rocpd_string", "rocpd_op", "rocpd_api"):
            connection.execute(f"CREATE TABLE {name} (id INTEGER)")
        connection.commit()
    with pytest.raises(UnreadableError, match="rocmProfileData"):
        read_trace(path)


@pytest.mark.parametrize("seed", range(MUTANTS))
def test_damaged_databases_are_read_or_refused(tmp_path, seed):
    version = [*SCHEMAS][seed % len(SCHEMAS)]
    path = write_rocpd(tmp_path / "results.db", version)
    path.write_bytes(damage(path.read_bytes(), f"rocpd {seed}", first=100))
    trace = read_or_refused(path)
    assert trace is None or trace.device["device"].drop_nulls().is_in([0, 1]).all() or trace.health
