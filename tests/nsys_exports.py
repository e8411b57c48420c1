"""Small exports of Nsight Systems, built here."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

Tables = Mapping[str, Sequence[Mapping[str, Any]]]

PID, TID = 4242, 4243
GLOBAL_PID = (1 << 48) | (PID << 24)
GLOBAL_TID = GLOBAL_PID | TID
START = {"TARGET_INFO_SESSION_START_TIME": [{"utcEpochNs": 1_700_000_000_000_000_000}]}
STRINGS = {
    "StringIds": [
        {"id": 1, "value": "void gemm<float>(float*)"},
        {"id": 2, "value": "gemm"},
        {"id": 3, "value": "cudaLaunchKernel_v7000"},
        {"id": 4, "value": "worker"},
        {"id": 5, "value": "registered range"},
        {"id": 6, "value": "cuMemcpyHtoDAsync_v2"},
    ]
}
PLACE = {"globalPid": GLOBAL_PID, "deviceId": 0, "streamId": 7, "correlationId": 11}
KERNEL = {
    "start": 1000,
    "end": 1500,
    **PLACE,
    "demangledName": 1,
    "shortName": 2,
    "gridX": 8,
    "gridY": 2,
    "gridZ": 1,
    "blockX": 128,
    "blockY": 1,
    "blockZ": 1,
    "registersPerThread": 32,
    "staticSharedMemory": 100,
    "dynamicSharedMemory": 28,
    "graphNodeId": 5,
    "graphId": 3,
}
CALL = {"start": 900, "end": 950, "globalTid": GLOBAL_TID, "correlationId": 11, "nameId": 3}
RANGE = {"start": 100, "end": 300, "eventType": 59, "text": "step", "globalTid": GLOBAL_TID}


def write_export(path: Path, tables: Tables) -> Path:
    """An export with these tables; every table has the columns its rows name."""
    with closing(sqlite3.connect(path)) as connection:
        for table, rows in tables.items():
            columns = list(dict.fromkeys(name for row in rows for name in row))
            listed = ", ".join(f'"{name}"' for name in columns)
            places = ", ".join("?" * len(columns))
            connection.execute(f"CREATE TABLE {table} ({listed})")
            connection.executemany(
                f"INSERT INTO {table} VALUES ({places})",  # noqa: S608
                [[row.get(name) for name in columns] for row in rows],
            )
        connection.commit()
    return path
