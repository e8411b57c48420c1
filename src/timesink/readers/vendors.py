"""What each vendor calls things: categories, calls, devices.  Data only; no reader logic.

A new accelerator is a few rows here, never a copy of a reader.  Names are compared in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

HOST_CATEGORIES: dict[str, str] = {
    # operators
    "cpu_op": "operator",
    "operator": "operator",
    "hpu_op": "operator",
    "npu_op": "operator",
    # annotations
    "user_annotation": "annotation",
    # Python
    "python_function": "python_function",
    "python": "python_function",
    # runtime and driver calls
    "runtime": "runtime",
    "cuda_runtime": "runtime",
    "hip_runtime": "runtime",
    "mlu_runtime": "runtime",
    "mtia_runtime": "runtime",
    "glow_runtime": "runtime",
    "xpu_runtime": "runtime",
    "privateuse1_runtime": "runtime",
    "cuda_driver": "driver",
    "xpu_driver": "driver",
    "mlu_driver": "driver",
    "privateuse1_driver": "driver",
    # the profiler itself
    "overhead": "overhead",
    "trace": "trace",
    # system events of the Chrome dialect with host(pid) process ids
    "cat_app": "other",
    "cat_cpu": "other",
    "cat_disk": "other",
    "cat_memory": "other",
    "cat_net": "other",
    "cat_process": "other",
    "cat_xpu": "other",
}

DEVICE_CATEGORIES: dict[str, str] = {
    "kernel": "kernel",
    "concurrent_kernel": "kernel",
    "mtia_ccp_events": "kernel",
    "memcpy": "memcpy",
    "gpu_memcpy": "memcpy",
    "mlu_memcpy": "memcpy",
    "xpu_memcpy": "memcpy",
    "memset": "memset",
    "gpu_memset": "memset",
    "mlu_memset": "memset",
    "xpu_memset": "memset",
    "gpu_user_annotation": "annotation",
    "mlu_user_annotation": "annotation",
    "xpu_user_annotation": "annotation",
    "privateuse1_user_annotation": "annotation",
    "collective_comm": "collective",
    "cuda_sync": "sync",
    "cuda_event": "sync",
    "xpu_sync": "sync",
    "mlu_sync": "sync",
    "cuda_profiler_range": "profiler_range",
    "hardware_counters": "profiler_range",
    "mtia_counters": "profiler_range",
    "mtia_insight": "profiler_range",
    "xpu_scope_profiler": "profiler_range",
}

FLOW_CATEGORIES: dict[str, str] = {
    "ac2g": "launch",
    "async": "launch",
    "async_cpu_to_gpu": "launch",
    "async_cpu_to_mlu": "launch",
    "async_npu": "launch",
    "async_task_queue": "other",
    "fwdbwd": "forward_backward",
    "forward_backward": "forward_backward",
}

DEVICE_PROCESSES: dict[str, str] = {
    # Ascend traces carry no category on device lanes; the name of the process tells.
    "ascend hardware": "kernel",
    "npu": "kernel",
    "hccl": "collective",
    "communication": "collective",
}
HOST_PROCESSES: dict[str, str] = {
    "cann": "runtime",
    "python": "operator",
    "overlap analysis": "other",
    "ai core freq": "other",
}

ASCEND_TASK_KINDS: dict[str, str] = {
    "MEMCPY_ASYNC": "memcpy",
    "SDMA": "memcpy",
    "PCIE_DMA_SQE": "memcpy",
    "MEMSET_ASYNC": "memset",
    "EVENT_RECORD": "sync",
    "EVENT_WAIT": "sync",
    "NOTIFY_WAIT": "sync",
    "NOTIFY_RECORD": "sync",
}
"""`Task Type` arguments that are not kernels."""

COPY_DIRECTION_WORDS: dict[str, str] = {
    "htod": "HtoD",
    "h2d": "HtoD",
    "m2d": "HtoD",
    "host_to_device": "HtoD",
    "hosttodevice": "HtoD",
    "dtoh": "DtoH",
    "d2h": "DtoH",
    "d2m": "DtoH",
    "device_to_host": "DtoH",
    "devicetohost": "DtoH",
    "dtod": "DtoD",
    "d2d": "DtoD",
    "device_to_device": "DtoD",
    "devicetodevice": "DtoD",
    "htoh": "HtoH",
    "h2h": "HtoH",
    "ptop": "PtoP",
    "p2p": "PtoP",
    "peertopeer": "PtoP",
}


@dataclass(frozen=True, slots=True)
class Vendor:
    """How to recognise one maker's traces, from the strongest evidence to the weakest."""

    name: str
    device_names: str
    """Pattern on device names (`deviceProperties`, process labels)."""
    metadata_keys: str
    """Pattern on top-level keys."""
    categories: str
    """Pattern on event categories."""
    calls: str
    """Pattern on runtime call and kernel names."""


VENDORS = (
    Vendor(
        "cambricon",
        device_names=r"\bmlu\d*",
        metadata_keys=r"^(mlu|cnpapi|cnrt)",
        categories=r"^mlu_|_to_mlu$",
        calls=r"^(cnrt|cnnl|cncl|cnInvoke|cnMemcpy|cnQueue|cnNotifier)",
    ),
    Vendor(
        "ascend",
        device_names=r"ascend|\b910[a-d]?\b|\b310p?\b|\bnpu\b",
        metadata_keys=r"^(npu|cann|ascend)",
        categories=r"^(async_npu|npu_)",
        calls=r"^(acl[A-Z]|aclnn|hcom_|Hccl)",
    ),
    Vendor(
        "mtia",
        device_names=r"\bmtia\b",
        metadata_keys=r"^mtia",
        categories=r"^mtia_",
        calls=r"^runFunction - ",
    ),
    Vendor(
        "intel",
        device_names=r"\bintel\b|data center gpu max|\barc\b|\bponte vecchio\b",
        metadata_keys=r"^(xpu|level_zero|sycl)",
        categories=r"^xpu_",
        calls=r"^(ze[A-Z]|ur[A-Z]|sycl|onecc?l)",
    ),
    Vendor(
        "amd",
        device_names=r"\bamd\b|\bradeon\b|instinct|\bmi\d{2,3}[a-z]?\b|\bgfx\d",
        metadata_keys=r"^(hip_|roctracer|rocm|rocprof)",
        categories=r"^hip_",
        calls=r"^(hip[A-Z]|__amd_rocclr|Cijk_|ck::|rccl)",
    ),
    Vendor(
        "nvidia",
        device_names=(
            r"nvidia|tesla|geforce|quadro|\brtx\b|\bgtx\b|\btitan\b"
            r"|\b(gh|gb|a|h|b|v|p|t|l)\d{1,3}\w*\b"
        ),
        metadata_keys=r"^(cuda_|cupti)",
        categories=r"^(cuda_driver|cuda_sync|cuda_profiler_range)",
        calls=r"^(cuda[A-Z]|cu[A-Z]|nvjet|sm\d\d_|ampere_|volta_|turing_|cutlass)",
    ),
)
NO_ACCELERATOR = "cpu"

DEVICE_LABEL = re.compile(r"^(GPU|MLU|NPU|XPU|MTIA|HPU|CUDA)\s*(\d+)\b")
"""Sort and number of a device in the label of a process, e.g. `GPU 3`."""


def recognise_vendor(
    *,
    device_names: Iterable[str] = (),
    metadata_keys: Iterable[str] = (),
    categories: Iterable[str] = (),
    calls: Iterable[str] = (),
    has_device_work: bool = True,
) -> str:
    """Name the maker of the accelerator from the evidence in a trace.

    Evidence is weighed in the order of the arguments: a trace that lists an NVIDIA device is an
    NVIDIA trace whatever its calls are named.

    >>> recognise_vendor(device_names=["AMD Instinct MI300X"], categories=["cuda_runtime"])
    'amd'
    >>> recognise_vendor(categories=["kernel"], calls=["hipLaunchKernel"])
    'amd'
    >>> recognise_vendor(has_device_work=False)
    'cpu'
    """
    for field, values in (
        ("device_names", device_names),
        ("metadata_keys", metadata_keys),
        ("categories", categories),
        ("calls", calls),
    ):
        flags = 0 if field == "calls" else re.IGNORECASE
        texts = [value for value in values if value]
        for vendor in VENDORS:
            pattern = re.compile(getattr(vendor, field), flags)
            if any(pattern.search(text) for text in texts):
                return vendor.name
    return "unknown" if has_device_work else NO_ACCELERATOR


_MOST_MEMORY = 2**63


def device_memory_bytes(properties: Mapping[str, Any]) -> int | None:
    """Device memory in bytes, under any of the names vendors use."""
    scales = {"totalGlobalMem": 1, "totalMem(MiB)": 1024**2, "totalMem": 1, "memory": 1}
    for key, scale in scales.items():
        value = properties.get(key)
        if isinstance(value, (int, float)) and value is not True and 0 <= value < _MOST_MEMORY:
            return int(value * scale)
    return None


def multiprocessors(properties: Mapping[str, Any]) -> int | None:
    """Number of SMs, CUs or clusters."""
    for key in ("numSms", "multiProcessorCount", "clusterCount", "numComputeUnits"):
        value = properties.get(key)
        if isinstance(value, int):
            return value
    return None
