"""Real recordings of every kind: exact figures, and what each file is.

Needs the folder of real recordings; see `shared` in conftest.py.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

import polars as pl
import pytest

import timesink
from shared_folder import find_shared
from thinning import IS_SEARCH
from timesink.analyses.columns import event_ranges
from timesink.analyses.summary import Summary, summarise
from timesink.errors import TimesinkError
from timesink.model import intervals
from timesink.model.trace import Metadata

Look = Callable[[str], tuple[Metadata, Summary]]


@pytest.fixture(autouse=True)
def own_cache(common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache for the whole file, so that each recording is read once."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))


@pytest.fixture
def look(shared_root: Path) -> Look:
    def look_at(path: str) -> tuple[Metadata, Summary]:
        trace = timesink.open(shared_root / "data" / path)
        return trace.metadata, summarise(trace)

    return look_at


# -- every file is a trace of a known device, or is declined with a reason ------------------------

DEVICES = {
    "memory/*": ("unknown", None),
    "graphs/sglang_decode/*": ("amd", "AMD Instinct MI300X"),
    "graphs/vllm_decode_full/*": ("amd", ""),
    "h200/faults/*/counters.csv": ("cpu", None),
    "h200/faults/*/trace.json.gz": ("nvidia", "NVIDIA H200"),
    "h200/ncu/*": ("nvidia", ""),
    "h200/traces/*": ("nvidia", "NVIDIA H200"),
    "hta/amd_trace/*": ("amd", "AMD Radeon Graphics"),
    "hta/call_stack/*": ("nvidia", ""),
    "hta/cpu_only/*": ("cpu", None),
    "hta/critical_path/*": ("nvidia", "NVIDIA A100-PG509-200"),
    "hta/cupti_profiler/*": ("nvidia", "NVIDIA A100-PG509-200"),
    "hta/distributed_info_unavailable/*": ("nvidia", "NVIDIA A100-PG509-200"),
    "hta/mtia_trace_single_rank/*": ("mtia", "MTIA 9"),
    "hta/nccl_parser_config/*": ("nvidia", "NVIDIA A100-PG509-200"),
    "hta/ns_resolution_trace/*": ("nvidia", "Tesla V100-SXM2-32GB"),
    "hta/rank_*": ("cpu", None),
    "hta/trace_compare/*": ("nvidia", ""),
    "hta/trace_diff/control/*": ("nvidia", "NVIDIA A100-PG509-200"),
    "hta/trace_diff/test/*": ("nvidia", "Tesla V100-SXM2-16GB"),
    "hta/triton_example/*": ("nvidia", "NVIDIA A100-PG509-200"),
    "kineto/*.json": ("nvidia", "Tesla V100-DGXS-32GB"),
    "kineto/*.json.gz": ("nvidia", "Tesla V100-DGXS-32GB"),
    "latencyprism/*_counters_data.csv.gz": ("cpu", None),
    "latencyprism/*_perf_data.csv.gz": ("nvidia", None),
    "mlu/*": ("cambricon", "MLU370"),
    "ncu-text/*": ("nvidia", ""),
    "nsys/mfu_2gpu_*": ("nvidia", None),
    "nsys/output-file*": ("nvidia", "NVIDIA A100-PCIE-40GB"),
    "rocprof/*": ("amd", "AMD Instinct MI350X"),
    "tracelens/b200/*": ("nvidia", "NVIDIA B200"),
    "tracelens/evals/conv_*": ("nvidia", "GPU 0"),
    "tracelens/evals/gemm_*": ("amd", "GPU 2"),
    "tracelens/evals/moe_*": ("nvidia", "GPU 0"),
    "tracelens/evals/sdpa_*": ("amd", "AMD Instinct MI300X"),
    "tracelens/evals/test0[13]*_1.json.gz": ("amd", "AMD Instinct MI300X VF"),
    "tracelens/evals/test0[13]*_unfused_2.json.gz": ("nvidia", "NVIDIA H100 80GB HBM3"),
    "tracelens/h100/*": ("nvidia", "NVIDIA H100 80GB HBM3"),
    "tracelens/inference/sglang_decode.*": ("amd", "AMD Instinct MI300X"),
    "tracelens/inference/vllm_*": ("amd", ""),
    "tracelens/mi210/*": ("amd", "AMD Instinct MI210"),
    "tracelens/mi300/resnet_*": ("amd", "AMD Instinct MI300X"),
    "tracelens/mi300/bert*": ("amd", "AMD Instinct MI300X VF"),
    "tracelens/mi300/timesformer*": ("amd", "AMD Instinct MI300X VF"),
    "tracelens/torch_compile_triton*": ("amd", "AMD Instinct MI300X"),
}
"""Vendor and device as recorded; no device at all is None."""

DECLINED = (
    "graphs/*/capture_traces/execution_details.json",
    "graphs/*/expected/*",
    "xplane/*",
    "h200/faults/*/fault.json",
    "hta/memory_analysis/*",
    "kineto/tb_golden.jsonl",
    "latencyprism/golden/*",
    "latencyprism/sentinel/*",
)


def files() -> list[str]:
    folder = find_shared()
    if folder is None:
        return ["without the folder"]
    data = folder / "data"
    return sorted(str(file.relative_to(data)) for file in data.rglob("*") if file.is_file())


def is_declined(path: str) -> bool:
    return any(fnmatch(path, pattern) for pattern in DECLINED)


def files_of_devices() -> list[str]:
    """The first file of each sort; all of them to search for faults.

    Those of one machine and program are looked at where they are compared.
    """
    paths = [path for path in files() if not is_declined(path)]
    if IS_SEARCH or len(paths) == 1:
        return paths
    return [next(path for path in paths if fnmatch(path, pattern)) for pattern in DEVICES]


@pytest.mark.parametrize("path", files_of_devices())
def test_vendor_and_device(look: Look, path: str):
    (expected,) = (device for pattern, device in DEVICES.items() if fnmatch(path, pattern))
    metadata, summary = look(path)
    names = {device.name for device in metadata.devices} or {None}
    assert (metadata.vendor, names) == (expected[0], {expected[1]})
    assert 0 <= summary.device_busy_ns <= summary.device_span.length_ns


@pytest.mark.parametrize("path", [path for path in files() if is_declined(path)])
def test_declined_with_a_reason(shared_root: Path, path: str):
    file = shared_root / "data" / path
    with pytest.raises(TimesinkError) as caught:
        timesink.open(file)
    assert caught.value.message.startswith(f"{file}: ")
    assert "\n" not in caught.value.message
    assert caught.value.hint


# -- times ---------------------------------------------------------------------------------------

TIMES_US = {
    "hta/ns_resolution_trace": (480029.179, 472454.441, 468739.037, 0, 0, 3715.404, 3715.404),
    "hta/nccl_parser_config": (
        660551.005, 157500.014, 116046.564, 46876.493, 39529.327, 2262.781, 1924.123,
    ),
    "hta/trace_diff/control": (464594, 388587, 282582, 163535, 87267, 53454, 18738),
    "hta/trace_diff/test": (745239, 717943, 550307, 251341, 72359, 155110, 95277),
    "hta/amd_trace": (8911.887, 149.042, 110.881, 0, 0, 38.161, 38.161),
    "tracelens/b200": (84487.178, 11596.482, 10771.685, 21.953, 21.953, 802.844, 802.844),
}  # fmt: skip
"""Device span, busy, compute, communication, exposed communication, copies, exposed copies."""


@pytest.mark.parametrize("path", TIMES_US)
def test_device_times(shared_root: Path, look: Look, path: str):
    _, summary = look(path)
    device = timesink.open(shared_root / "data" / path).device
    is_communication = pl.col("name").cast(pl.String).str.contains("(?i)nccl|rccl")
    computing = pl.col("kind").is_in(["kernel", "memset"]) & ~is_communication
    compute = event_ranges(device.filter(computing))
    communication = event_ranges(device.filter((pl.col("kind") == "kernel") & is_communication))
    copies = event_ranges(device.filter(pl.col("kind") == "memcpy"))
    exposed_copies = intervals.subtract(intervals.subtract(copies, compute), communication)
    times_ns = (
        summary.device_span.length_ns,
        summary.device_busy_ns,
        intervals.coverage(compute),
        intervals.coverage(communication),
        intervals.coverage(intervals.subtract(communication, compute)),
        intervals.coverage(copies),
        intervals.coverage(exposed_copies),
    )
    assert tuple(time_ns / 1000 for time_ns in times_ns) == TIMES_US[path]


def test_nsys_sums(shared_root: Path):
    device = timesink.open(shared_root / "data/nsys/output-file.sqlite").device
    kernels = device.filter(pl.col("kind") == "kernel")
    assert (kernels.height, kernels["dur_ns"].sum()) == (1106, 67_790_352)


# -- counts --------------------------------------------------------------------------------------

COUNTS = {
    "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz": {
        "events": 75718,
        "operators": 23646,
        "kernels": 8772,
        "memory_events": 12840,
        "runtime_calls": 11923,
    },
    "nsys/output-file.sqlite": {
        "kernels": 1106,
        "memcpys": 102,
        "memsets": 44,
        "runtime_calls": 4255,
    },
    "rocprof/908_results.json.gz": {"kernels": 43915},
    "tracelens/b200": {"kernels": 768, "memcpys": 161},
    "hta/ns_resolution_trace": {"kernels": 4350, "memcpys": 1600, "memsets": 145},
    "hta/critical_path/end_to_end/simple_add/output": {"events": 1732},
    "hta/call_stack/backward_thread.json": {"events": 7},
}


@pytest.mark.parametrize("path", COUNTS)
def test_counts(look: Look, path: str):
    _, summary = look(path)
    assert {name: getattr(summary, name) for name in COUNTS[path]} == COUNTS[path]


def test_every_listed_device_is_told(look: Look):
    metadata, summary = look("kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz")
    assert [device.id for device in metadata.devices] == [0, 1, 2, 3]
    assert summary.devices_used == (0,)
    assert metadata.devices[0].compute_capability == "7.0"


def test_counters_of_profiled_ranges(shared_root: Path):
    counters = timesink.open(shared_root / "data/hta/cupti_profiler").counters
    assert counters["index"].n_unique() == 77
    name = pl.col("counter").cast(pl.String).str.contains("fadd")
    sixth = counters.filter(name).sort("ts_ns", "index").row(5, named=True)
    assert sixth["value"] == 86_114_304


# -- runs ----------------------------------------------------------------------------------------


def test_spans_are_in_the_order_of_time(shared_root: Path):
    recordings = timesink.find_recordings(shared_root / "data/kineto/resnet50_num_workers_0")
    assert [(recording.worker, recording.span) for recording in recordings] == [
        ("worker0", 1),
        ("worker0", 2),
    ]
    assert [recording.path.name.split(".")[1] for recording in recordings] == [
        "1623143089861",
        "1623143566756",
    ]


def test_trace_without_devices(look: Look):
    metadata, summary = look("hta/cpu_only")
    distributed = metadata.distributed
    assert (distributed.rank, distributed.world_size, distributed.backend) == (34, 300, "gloo")
    assert (metadata.devices, summary.kernels, summary.device_busy_ns) == ((), 0, 0)


@pytest.mark.parametrize("path", ["hta/rank_unavailable", "hta/distributed_info_unavailable"])
def test_rank_that_is_not_named_is_told(shared_root: Path, path: str):
    trace = timesink.open(shared_root / "data" / path)
    assert trace.metadata.distributed.rank is None
    assert "rank_assumed" in {entry.code for entry in trace.health}


def test_counters_beside_a_trace(shared_root: Path):
    counters = timesink.open(shared_root / "data/h200/faults/normal").counters
    assert counters.filter(pl.col("source") == "counters.csv").height == 390
