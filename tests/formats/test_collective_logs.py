"""Logs of collectives: small ones built here, mutants of them, and one that PyTorch writes."""

from __future__ import annotations

import json
import os
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

import timesink
from collective_logs import dump, entry, inspected, write_dumps, write_inspected
from forked_programs import host_of_programs
from memory_snapshots import train, write_snapshot
from recorded import environment, needs_torch
from recorded import write as write_program
from timesink.errors import UnreadableError
from timesink.formats.collective_logs.signatures import is_log_folder, log_format
from timesink.formats.source_file import read_trace
from timesink.model.schema import TABLES


def _columns(trace: timesink.Trace, *names: str) -> list[tuple[Any, ...]]:
    return trace.collective_calls.select(*names).rows()


def test_a_dump_has_a_row_per_call(tmp_path: Path):
    folder = write_dumps(tmp_path, {3: [entry(3, 1), entry(3, 2, "started")]})
    trace = read_trace(folder / "nccl_trace_rank_3")
    names = ("rank", "member", "sequence", "collective", "state", "bytes", "dur_ns")
    assert _columns(trace, *names) == [
        (3, 3, 1, "all_reduce", "completed", 1 << 20, 1_500_000),
        (3, 3, 2, "all_reduce", "started", 1 << 20, None),
    ]
    assert trace.collective_calls["call_stack"][0].endswith("train.py(77): train")
    assert trace.metadata.distributed.rank == 3
    assert (
        dict(trace.lazy("collective_calls").collect_schema()) == TABLES["collective_calls"].schema
    )
    assert not trace.health


def test_files_beyond_the_limit_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = write_dumps(tmp_path, {rank: [entry(rank, 1)] for rank in range(4)})
    monkeypatch.setattr("timesink.formats.collective_logs.folder.MAX_FILES", 3)
    left = [(item.count, item.example) for item in timesink.open(folder).health]
    assert left == [(1, "nccl_trace_rank_3")]


def test_json_says_the_same_as_a_pickle(tmp_path: Path):
    entries = [entry(0, 1), entry(0, 2, "scheduled")]
    write_dumps(tmp_path, {0: entries})
    (tmp_path / "dump_0.json").write_text(json.dumps(dump(entries)))
    one, other = (
        read_trace(tmp_path / name).collective_calls
        for name in ("nccl_trace_rank_0", "dump_0.json")
    )
    assert one.equals(other)


def test_status_of_groups_says_what_is_complete(tmp_path: Path):
    value = dump([entry(0, number, "started") for number in (1, 2, 3)])
    value["pg_status"] = {"0": {"last_completed_collective": "2"}}
    (tmp_path / "dump_0").write_bytes(pickle.dumps(value))
    states = read_trace(tmp_path / "dump_0").collective_calls["state"].to_list()
    assert states == ["completed", "completed", "started"]


def test_point_to_point_calls_have_numbers_of_their_own(tmp_path: Path):
    call = entry(0, 4, is_p2p=True, p2p_seq_id=9, profiling_name="nccl:send 0->1")
    trace = read_trace(write_dumps(tmp_path, {0: [call]}) / "nccl_trace_rank_0")
    assert _columns(trace, "sequence", "collective", "is_p2p") == [(9, "send", True)]


def test_a_line_of_the_inspector_is_a_call(tmp_path: Path):
    write_inspected(tmp_path, {2: [inspected(2, 7)]})
    trace = read_trace(tmp_path / "node1-pid102.log")
    names = ("rank", "member", "process", "sequence", "bus_bytes_per_s", "dur_ns", "group_size")
    assert _columns(trace, *names) == [(None, 2, "node1(102)", 7, 3e11, 1_000_000, 4)]


def test_broken_lines_are_counted(tmp_path: Path):
    write_inspected(tmp_path, {0: [inspected(0, 1), inspected(0, 2)]})
    file = tmp_path / "node1-pid100.log"
    file.write_text(f'{file.read_text()}[1]\n{{"header": {{}}}}\n{{"header": {{"id"')
    trace = read_trace(file)
    assert trace.collective_calls.height == 2
    counts = {health.code: health.count for health in trace.health}
    assert counts == {"not_an_event": 2, "lost_events": 1}


def test_a_folder_is_one_trace(tmp_path: Path):
    folder = write_dumps(tmp_path / "logs", {rank: [entry(rank, 1)] for rank in range(4)})
    (folder / "readme.txt").write_text("not a log")
    (folder / "nccl_trace_rank_9").write_bytes(b"\x80\x02}(X\x09\x00\x00\x00pg_configX\x07entries")
    assert is_log_folder(folder)
    trace = timesink.open(folder)
    assert trace.collective_calls["rank"].sort().to_list() == [0, 1, 2, 3]
    assert trace.collective_calls["index"].to_list() == [0, 1, 2, 3]
    assert trace.metadata.extra["files"] == 4


def test_other_folders_are_none(tmp_path: Path):
    assert not is_log_folder(tmp_path)
    write_snapshot(tmp_path / "memory.pickle", train(1).snapshot())
    assert log_format(tmp_path / "memory.pickle") is None
    assert not is_log_folder(tmp_path)


def test_sizes_without_bounds_are_no_numbers(tmp_path: Path):
    nested: Any = ()
    for _ in range(60):
        nested = (nested, nested)
    calls = [entry(0, 0, input_sizes=((2**62,) * 100,)), entry(0, 1, input_sizes=((nested,),))]
    write_dumps(tmp_path, {0: calls})
    table = read_trace(tmp_path / "nccl_trace_rank_0").collective_calls
    assert table["bytes"].to_list() == [None, None]
    assert table["sizes"][1] == "tuple"


def test_dumps_without_entries_are_refused(tmp_path: Path):
    value = dump([])
    del value["entries"]
    (tmp_path / "dump_0").write_bytes(pickle.dumps(value))
    with pytest.raises(UnreadableError):
        read_trace(tmp_path / "dump_0")


@pytest.mark.parametrize("form", ["pickle", "json", "inspector"])
def test_mutants_are_read_or_refused(tmp_path: Path, form: str):
    entries = [entry(1, number) for number in range(20)]
    content = {
        "pickle": pickle.dumps(dump(entries), 2),
        "json": json.dumps(dump(entries)).encode(),
        "inspector": "\n".join(json.dumps(inspected(1, n)) for n in range(20)).encode(),
    }[form]
    for seed in range(int(os.environ.get("TIMESINK_MUTANTS", "6"))):
        rng = random.Random(seed)  # noqa: S311 - the same in every run
        changed = bytearray(content)
        for _ in range(rng.choice((1, 2, 10))):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        cut = rng.randrange(len(changed)) if seed % 5 == 0 else len(changed)
        file = tmp_path / f"mutant_{seed}"
        file.write_bytes(changed[:cut])
        try:
            trace = read_trace(file)
        except UnreadableError as error:
            assert error.hint  # noqa: PT017 - others are read
            continue
        said = sum(health.count for health in trace.health) + 20 * (cut < len(changed))
        assert trace.collective_calls.height + said >= 20
        timesink.analyze(trace).to_dict()


_PROGRAM = """
import torch, torch.distributed as dist
dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
for _ in range(3):
    dist.all_reduce(torch.ones(1000))
dist.broadcast(torch.ones(10), 0)
module = torch._C._distributed_c10d
open("rank_0", "wb").write(module._dump_fr_trace())
open("rank_0.json", "wb").write(module._dump_fr_trace_json())
"""


@needs_torch
def test_dumps_of_pytorch_itself(tmp_path: Path):
    text = Path(write_program(tmp_path, _PROGRAM))
    program = host_of_programs().start(tmp_path, text, environment(TORCH_FR_BUFFER_SIZE="100"))
    _, errors = program.communicate()
    if "_dump_fr_trace" in errors:
        pytest.skip("this PyTorch records no flights without NCCL")
    assert program.returncode == 0, errors
    for file in (tmp_path / "rank_0", tmp_path / "rank_0.json"):
        trace = read_trace(file)
        assert trace.collective_calls["state"][0] == "completed"
        assert _columns(trace, "collective", "sequence", "bytes") == [
            *(("all_reduce", number, 4000) for number in (1, 2, 3)),
            ("broadcast", 4, 40),
        ]
