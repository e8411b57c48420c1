"""Profiles of XLA: a real one of a GPU, and those of a TPU built by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from damaged_files import damage, read_or_refused
from thinning import IS_SEARCH
from timesink.errors import UnreadableError
from timesink.formats.source_file import read_trace
from timesink.formats.wire import Message
from timesink.model.trace import Trace
from xplane_files import LENGTHS_PS, START_NS, tpu_profile

SAMPLE = Path(__file__).parent.parent / "data/xplane/h200_jax.xplane.pb.gz"
MUTANTS = 100 if IS_SEARCH else 8
# Kernels of the sample by name: calls, time in us, registers, shared memory, grid and block, as
# xprof 2.24 has them in its table of kernels.
XPROF = {
    "gemm_fusion_dot_2": (4, 16.48, 88, 16384, (256, 1, 1), (128, 1, 1)),
    "gemm_fusion_dot_3": (4, 16.0, 96, 16384, (256, 1, 1), (128, 1, 1)),
    "gemm_fusion_dot_general_8": (4, 14.624, 74, 16384, (512, 1, 1), (128, 1, 1)),
    "input_reduce_fusion": (4, 4.128, 16, 0, (1, 1, 1), (32, 1, 1)),
    "input_reduce_subtract_fusion": (4, 10.976, 32, 0, (32, 1, 1), (256, 1, 1)),
    "loop_multiply_fusion": (4, 9.951, 18, 0, (2048, 1, 1), (128, 1, 1)),
    "loop_multiply_fusion_1": (4, 3.776, 16, 0, (1, 1, 1), (1, 1, 1)),
    "loop_subtract_fusion": (4, 6.272, 24, 0, (512, 1, 1), (128, 1, 1)),
    "wrapped_subtract": (4, 11.008, 22, 0, (2048, 1, 1), (128, 1, 1)),
    "wrapped_tanh": (4, 10.08, 28, 0, (2048, 1, 1), (128, 1, 1)),
}


def read(tmp_path: Path, content: bytes, name: str = "run.xplane.pb") -> Trace:
    path = tmp_path / name
    path.write_bytes(content)
    return read_trace(path)


def codes(trace: Trace) -> dict[str, int]:
    return {entry.code: entry.count for entry in trace.health}


def test_kernels_of_a_gpu_are_those_of_xprof():
    device = read_trace(SAMPLE).device.filter(pl.col("kind") == "kernel")
    for name, (calls, time_us, registers, shared, grid, block) in XPROF.items():
        rows = device.filter(pl.col("name") == name)
        assert rows.height == calls
        assert rows["dur_ns"].sum() / 1000 == pytest.approx(time_us, abs=0.001)
        first = rows.row(0, named=True)
        assert (first["registers_per_thread"], first["shared_memory_bytes"]) == (registers, shared)
        assert tuple(first[f"grid_{axis}"] for axis in "xyz") == grid
        assert tuple(first[f"block_{axis}"] for axis in "xyz") == block


def test_a_gpu_profile():
    trace = read_trace(SAMPLE)
    assert trace.metadata.vendor == "nvidia"
    assert trace.metadata.clock == "unix"
    assert trace.metadata.devices[0].multiprocessors == 132
    assert trace.metadata.versions["jax_version"] == "0.11.2"
    assert trace.steps["step"].to_list() == [0, 1, 2, 3]
    assert trace.device["kind"].cast(pl.String).value_counts().sort("kind").rows() == [
        ("kernel", 48),
        ("memcpy", 4),
    ]
    copies = trace.device.filter(pl.col("kind") == "memcpy")
    assert copies["copy_direction"].cast(pl.String).unique().to_list() == ["DtoH"]
    assert copies["bytes"].to_list() == [4] * 4
    # Every kernel is launched by a call of the driver.
    launches = trace.host.filter(pl.col("correlation").is_not_null())
    assert set(trace.device["correlation"]) <= set(launches["correlation"])
    assert "unlinked_kernels" not in codes(trace)
    modules = trace.event_args.filter(pl.col("key") == "hlo_module")["value"]
    assert "jit_step" in modules[0]
    memory = trace.memory
    assert memory["bytes"].sum() == memory.filter(pl.col("bytes") > 0)["bytes"].sum() + (
        memory.filter(pl.col("bytes") < 0)["bytes"].sum()
    )
    assert memory.height == 48


def test_a_tpu_profile(tmp_path):
    trace = read(tmp_path, tpu_profile(steps=4, devices=2))
    assert trace.metadata.vendor == "google"
    assert [(d.id, d.name, d.memory_bytes) for d in trace.metadata.devices] == [
        (0, "TPU v6 Lite", 32 << 30),
        (1, "TPU v6 Lite", 32 << 30),
    ]
    assert trace.metadata.extra["host_name"] == "host-7"
    operators = trace.device.filter(pl.col("stream") == "XLA Ops", pl.col("device") == 0)
    kinds = operators["kind"].cast(pl.String).to_list()[:4]
    assert kinds == ["kernel", "kernel", "collective", "memcpy"]
    assert operators["name"].cast(pl.String).to_list()[0] == "fusion.1"
    assert operators["dur_ns"].sum() == pytest.approx(4 * sum(LENGTHS_PS) / 1000, abs=16)
    assert operators["ts_ns"].min() == START_NS + 1
    marks = trace.device.filter(pl.col("stream").is_in(["Steps", "XLA Modules"]))
    assert marks["kind"].cast(pl.String).unique().to_list() == ["annotation"]
    # No step is marked on the host: those of the first device stand for them.
    assert trace.steps["step"].to_list() == [0, 1, 2, 3]
    rare = trace.event_args
    flops = rare.filter(pl.col("key") == "flops")["value"].cast(pl.Int64)
    assert flops.sum() == 8 * (4_000_000 + (8 << 30))
    assert rare.filter(pl.col("key") == "program_id")["value"].unique().to_list() == ["123"]


def test_steps_and_python_of_the_host(tmp_path):
    trace = read(tmp_path, tpu_profile(steps=3, with_host=True))
    assert trace.steps["name"].cast(pl.String).unique().to_list() == ["train"]
    python = trace.host.filter(pl.col("kind") == "python_function")
    assert python["name"].cast(pl.String).unique().to_list() == ["model.py(12): forward"]


def test_content_tells_the_format(tmp_path):
    assert read(tmp_path, tpu_profile(), "profile.bin").metadata.format == "xplane"


def test_what_is_cut_is_counted(tmp_path):
    content = tpu_profile(steps=20, devices=2)
    trace = read(tmp_path, content[: len(content) * 3 // 4])
    assert trace.metadata.devices[-1].id == 0
    assert codes(trace)["cut_messages"] == 1


def test_a_copy_as_text_says_so(tmp_path, shared_root):
    content = gzip.decompress(SAMPLE.read_bytes())
    with pytest.raises(UnreadableError, match="copied as text"):
        read(tmp_path, content.decode("utf-8", "replace").encode())
    with pytest.raises(UnreadableError, match="copied as text"):
        read_trace(shared_root / "data/xplane/tpu_inference_2.xplane.pb")


def test_errors_of_the_profiler(tmp_path):
    content = tpu_profile() + Message().text(2, "a device gave no data").encode()
    entry = next(e for e in read(tmp_path, content).health if e.code == "profiler_error")
    assert entry.example == "a device gave no data"


@pytest.mark.parametrize("seed", range(MUTANTS))
def test_damaged_profiles_are_read_or_refused(tmp_path, seed):
    content = tpu_profile(with_host=True)
    path = tmp_path / "run.xplane.pb"
    path.write_bytes(damage(content, f"xplane {seed}"))
    trace = read_or_refused(path)
    clean = read(tmp_path, content, "clean.xplane.pb")
    assert trace is None or trace.metadata.events >= clean.metadata.events or trace.health


def test_calls_of_the_host_without_a_name_have_a_kind(tmp_path):
    content = tpu_profile(with_host=True)
    path = tmp_path / "run.xplane.pb"
    for seed in range(40, 60, 2):
        path.write_bytes(damage(content, f"xplane 0 {seed}", first=4))
        trace = read_or_refused(path)
        assert trace is None or not trace.host["kind"].null_count()
