"""Logs of collectives as PyTorch's flight recorder and NCCL's Inspector write them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

TORCH = "/env/lib/python3.12/site-packages/torch"
CREATED_NS = 1_760_000_000_000_000_000


def entry(rank: int, sequence: int, state: str = "completed", **fields: Any) -> dict[str, Any]:
    """One call in the dump of a rank."""
    return {
        "frames": [
            {"name": "all_reduce", "filename": f"{TORCH}/distributed/x.py", "line": 1},
            {"name": "train", "filename": "/code/train.py", "line": 77},
        ],
        "record_id": sequence,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": sequence,
        "p2p_seq_id": 0,
        "op_id": sequence,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": CREATED_NS + sequence * 10**7 + rank,
        "duration_ms": 1.5 if state == "completed" else None,
        "input_sizes": ((1024, 512),),
        "input_dtypes": ["BFloat16"],
        "output_sizes": ((1024, 512),),
        "output_dtypes": ["BFloat16"],
        "state": state,
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": state == "completed",
        "timeout_ms": 600_000,
        "is_p2p": False,
        **fields,
    }


def dump(entries: list[dict[str, Any]], ranks: int = 4) -> dict[str, Any]:
    """The dump of one rank."""
    members = str(list(range(ranks)))
    return {
        "version": "2.5",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": members}},
        "pg_status": {},
        "entries": entries,
    }


def write_dumps(folder: Path, of_rank: dict[int, list[dict[str, Any]]], ranks: int = 4) -> Path:
    """A pickle for each rank."""
    folder.mkdir(exist_ok=True, parents=True)
    for rank, entries in of_rank.items():
        content = pickle.dumps(dump(entries, ranks), 2)
        (folder / f"nccl_trace_rank_{rank}").write_bytes(content)
    return folder


def inspected(rank: int, sequence: int, us: int = 1000, **fields: Any) -> dict[str, Any]:
    """One line of the Inspector."""
    return {
        "header": {"id": "0x7f8c49", "rank": rank, "n_ranks": 4, "nnodes": 1},
        "metadata": {
            "inspector_output_format_version": "v4.0",
            "git_rev": "",
            "rec_mechanism": "profiler_plugin",
            "dump_timestamp_us": CREATED_NS // 1000 + sequence,
            "hostname": "node1",
            "pid": 100 + rank,
        },
        "coll_perf": {
            "coll": "AllReduce",
            "coll_sn": sequence,
            "coll_msg_size_bytes": 1 << 20,
            "coll_exec_time_us": us,
            "coll_algobw_gbs": 200.0,
            "coll_busbw_gbs": 300.0,
            **fields,
        },
    }


def write_inspected(folder: Path, lines: dict[int, list[dict[str, Any]]]) -> Path:
    """A log for each process."""
    folder.mkdir(exist_ok=True, parents=True)
    for rank, values in lines.items():
        text = "".join(f"{json.dumps(value)}\n" for value in values)
        (folder / f"node1-pid{100 + rank}.log").write_text(text)
    return folder
