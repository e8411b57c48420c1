"""What makers of accelerators call things: one row each, and the lookups that all else asks.

A new accelerator is a row of `VENDORS` and nothing else; no other module spells a maker's words
(a test looks for them).  What is of no one maker stands beside the rows.  Categories and the names
of processes are compared in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_NEVER = r"(?!)"


@dataclass(frozen=True, slots=True)
class Vendor:
    """One maker: how to recognise its traces, and what its software calls things."""

    name: str
    """As `metadata.vendor` has it."""
    title: str
    """As people read it."""
    device_word: str = "GPU"
    """What users call one of its devices."""
    other_words: tuple[str, ...] = ()
    """What else counters, labels and folders call one, in small letters."""

    # How to recognise it, from the strongest evidence to the weakest: patterns.
    device_names: str = _NEVER
    """On the names of devices (`deviceProperties`, process labels)."""
    metadata_keys: str = _NEVER
    """On top-level keys of a trace."""
    categories: str = _NEVER
    """On categories of events."""
    calls: str = _NEVER
    """On names of runtime calls and kernels."""

    # Events of a Chrome-format trace.
    host_categories: Mapping[str, str] = field(default_factory=dict)
    device_categories: Mapping[str, str] = field(default_factory=dict)
    flow_categories: Mapping[str, str] = field(default_factory=dict)
    host_processes: Mapping[str, str] = field(default_factory=dict)
    """Of lanes without categories: the kind of events, by the name of the process."""
    device_processes: Mapping[str, str] = field(default_factory=dict)
    task_kinds: Mapping[str, str] = field(default_factory=dict)
    """`Task Type` arguments that are not kernels."""
    device_arguments: tuple[str, ...] = ()
    """Under which arguments device work has its device, its stream and its correlation."""
    stream_arguments: tuple[str, ...] = ()
    correlation_arguments: tuple[str, ...] = ()
    rare_arguments: tuple[tuple[str, ...], ...] = ()
    """Families of arguments few events carry; the first is on every event that has any."""
    ignored_arguments: tuple[str, ...] = ()
    """Arguments of device work that mean nothing outside its profiler."""
    version_keys: tuple[str, ...] = ()
    """How top-level keys begin that hold versions of its software."""
    sampler_prefixes: tuple[str, ...] = ()
    """What samplers put before the names of counters of its devices."""
    counter_prefixes: tuple[str, ...] = ()
    """What they put in the place of a word for a device."""
    graphs: str = ""
    """What it calls launches that are captured once and replayed; nothing where it has none."""
    torch_module: str = ""
    """Where PyTorch has the calls of its runtime."""
    torch_types: tuple[int, ...] = ()
    """The numbers PyTorch has for its devices (`c10::DeviceType`) in records of memory."""

    # Calls and kernels.
    call_prefixes: tuple[str, ...] = ()
    """How calls of its runtimes and drivers begin."""
    waiting_calls: str = _NEVER
    """Runtime calls that wait for the device, beside those with `Synchronize` in their names."""
    allocator_calls: str = _NEVER
    """Runtime calls that reserve device or pinned memory or give it back; mostly none in a loop."""
    libraries: tuple[str, ...] = ()
    """How annotations of its libraries begin."""
    collectives: tuple[str, ...] = ()
    """Its libraries of collectives, as they begin calls (`nccl:`) and stand in names of kernels."""
    collective_kernels: tuple[str, ...] = ()
    """What else stands in names of its kernels of collectives, which are of its first library."""
    calls_apart: bool = False
    """Whether its profiler shows the calls of a thread in a process of their own."""
    task_topology: bool = False
    """Whether its kernels have types and task topologies instead of grids and blocks."""

    # Matrix units (tensor cores), by parts of the names of kernels; the lists age and are dated.
    matrix_units: bool = True
    """Whether its devices have any."""
    matrix_kernels_2021: tuple[str, ...] = ()
    """As written, up to 2021-06."""
    matrix_kernels_2026: tuple[str, ...] = ()
    """In lower case, 2026-11."""
    matrix_starts_2026: str = _NEVER
    """How names start, as a pattern."""
    matrix_chips_2026: tuple[str, ...] = ()
    """Chips for which products of libraries written for them use matrix units."""
    plain_starts_2026: str = _NEVER
    """How names of kernels start that use none, whatever else they hold."""
    plain_work_2026: str = _NEVER
    """Names of its libraries without products of matrices."""


NVIDIA = Vendor(
    "nvidia",
    "NVIDIA (CUDA)",
    other_words=("cuda",),
    device_names=(
        r"nvidia|tesla|geforce|quadro|\brtx\b|\bgtx\b|\btitan\b"
        r"|\b(gh|gb|a|h|b|v|p|t|l)\d{1,3}\w*\b"
    ),
    metadata_keys=r"^(cuda_|cupti)",
    categories=r"^(cuda_driver|cuda_sync|cuda_profiler_range)",
    calls=r"^(cuda[A-Z]|cu[A-Z]|nvjet|sm\d\d_|ampere_|volta_|turing_|cutlass)",
    host_categories={"cuda_runtime": "runtime", "cuda_driver": "driver"},
    device_categories={
        "cuda_sync": "sync",
        "cuda_event": "sync",
        "cuda_profiler_range": "profiler_range",
    },
    rare_arguments=(
        (
            "cuda_sync_kind",
            "wait_on_stream",
            "wait_on_cuda_event_id",
            "wait_on_cuda_event_record_corr_id",
        ),
    ),
    version_keys=("cuda", "cupti", "nccl"),
    sampler_prefixes=("nvml_", "nvidia_smi_"),
    counter_prefixes=("dcgm_fi_dev_", "dcgm_fi_prof_"),
    graphs="CUDA graphs",
    torch_module="torch.cuda",
    torch_types=(1,),
    call_prefixes=("cudart", "cuda", "cu"),
    waiting_calls=r"^(?:cuda|cu)Memcpy(?:HtoD|DtoH|DtoD)?(?:_v2)?$",
    allocator_calls=(
        r"cuda(?:Malloc|Free|HostAlloc|HostRegister|HostUnregister)\w*"
        r"|cuMem(?:Alloc|Free|HostAlloc|Create|Map|Unmap|Release|SetAccess|Address)\w*"
    ),
    libraries=("cublas", "cudnn", "cusparse", "cusolver", "cufft", "thrust", "cub::"),
    collectives=("nccl",),
    matrix_kernels_2021=(
        *("h884", "s884", "h1688", "s1688", "c1688", "hmma", "i8816", "16816"),
        *("dgrad_1x1_stride_2x2", "first_layer_wgrad_kernel", "conv1x1", "conv2d_c1_k1"),
        *("direct_group", "xmma_implicit_gemm", "xmma_sparse_conv", "xmma_gemm"),
        *("xmma_warp_specialized_implicit_gemm", "xmma_sparse_gemm"),
    ),
    matrix_kernels_2026=(
        *("xmma_fprop", "xmma_dgrad", "xmma_wgrad", "_tensorop_", "mmatensorop"),
        *("tensoropmultiplicand", "opclasstensorop", "gmma", "tcgen05", "utcmma", "utchmma"),
        *("utcqmma", "umma_", "nvjet_", "cutlass3x", "cutlass_3x", "tinygemm_m16n8k16"),
    ),
    matrix_chips_2026=(
        *("sm90_", "sm90a_", "sm100_", "sm100a_", "sm100f_", "sm103_", "sm120_", "sm120a_"),
    ),
    plain_starts_2026=r"(?:maxwell|pascal|volta|turing|ampere)_(?:fp16_|bf16_)?[a-z]{1,2}gemm_",
    plain_work_2026=r"\bcub::|thrust::",
)
AMD = Vendor(
    "amd",
    "AMD (ROCm)",
    other_words=("hip", "rocm", "amdgpu"),
    device_names=r"\bamd\b|\bradeon\b|instinct|\bmi\d{2,3}[a-z]?\b|\bgfx\d",
    metadata_keys=r"^(hip_|roctracer|rocm|rocprof)",
    categories=r"^hip_",
    calls=r"^(hip[A-Z]|__amd_rocclr|Cijk_|ck::|rccl)",
    host_categories={"hip_runtime": "runtime"},
    version_keys=("hip", "roc", "rccl"),
    graphs="HIP graphs",
    torch_module="torch.cuda",
    torch_types=(6,),
    call_prefixes=("hip",),
    waiting_calls=r"hipMemcpyWithStream|^hipMemcpy(?:HtoD|DtoH|DtoD)?(?:_v2)?$",
    allocator_calls=(
        r"hip(?:Malloc|Free|Host(?:Malloc|Free|Alloc)|ExtMalloc|HostRegister|HostUnregister)\w*"
        r"|hipMem(?:Alloc|Create|Map|Unmap|Release|SetAccess|Address)\w*"
    ),
    libraries=("hipblas", "rocblas", "miopen"),
    collectives=("rccl", "msccl"),
    matrix_kernels_2026=("mfma", "wmma", "xdlops", "_xdl_", "_gtcx"),
    matrix_starts_2026=r"Cijk_.*_MI\d+x\d+",
    plain_starts_2026=r"Cijk_(?:.*(?:PostGSU|BetaOnly)|(?!.*_MI\d).*_MT\d)",
    plain_work_2026=r"rocprim::|hipcub::",
)
VENDORS = (
    # In the order in which evidence is weighed: names of devices may fit several patterns.
    Vendor(
        "cambricon",
        "Cambricon (MLU)",
        "MLU",
        device_names=r"\bmlu\d*",
        metadata_keys=r"^(mlu|cnpapi|cnrt)",
        categories=r"^mlu_|_to_mlu$",
        calls=r"^(cnrt|cnnl|cncl|cnInvoke|cnMemcpy|cnQueue|cnNotifier)",
        host_categories={"mlu_runtime": "runtime", "mlu_driver": "driver"},
        device_categories={
            "mlu_memcpy": "memcpy",
            "mlu_memset": "memset",
            "mlu_user_annotation": "annotation",
            "mlu_sync": "sync",
        },
        flow_categories={"async_cpu_to_mlu": "launch"},
        rare_arguments=(
            ("kernel type", "dim", "dimx", "dimy", "dimz", "tasktopo", "tasktopo_node"),
        ),
        version_keys=("mlu", "cn"),
        call_prefixes=("cnrt", "cn"),
        allocator_calls=r"(?:cnrt|cn)(?:Malloc|Free|HostMalloc|HostFree|Mem(?:Alloc|Free))\w*",
        collectives=("cncl",),
        torch_module="torch.mlu",
        task_topology=True,
        matrix_units=False,
        plain_starts_2026=r"(?:void )?MLU",
    ),
    Vendor(
        "ascend",
        "Huawei Ascend (NPU)",
        "NPU",
        other_words=("ascend",),
        device_names=r"ascend|\b910[a-d]?\b|\b310p?\b|\bnpu\b",
        metadata_keys=r"^(npu|cann|ascend)",
        categories=r"^(async_npu|npu_)",
        calls=r"^(acl[A-Z]|aclnn|hcom_|Hccl)",
        host_categories={"npu_op": "operator"},
        flow_categories={"async_npu": "launch", "async_task_queue": "other"},
        # Device lanes carry no category; the name of the process tells.
        host_processes={"cann": "runtime", "overlap analysis": "other", "ai core freq": "other"},
        device_processes={
            **dict.fromkeys(("ascend hardware", "npu"), "kernel"),
            **dict.fromkeys(("hccl", "communication"), "collective"),
        },
        task_kinds={
            **dict.fromkeys(("MEMCPY_ASYNC", "SDMA", "PCIE_DMA_SQE"), "memcpy"),
            "MEMSET_ASYNC": "memset",
            **dict.fromkeys(("EVENT_RECORD", "EVENT_WAIT"), "sync"),
            **dict.fromkeys(("NOTIFY_WAIT", "NOTIFY_RECORD"), "sync"),
        },
        device_arguments=("Device Id",),
        stream_arguments=("Stream Id",),
        correlation_arguments=("connection_id",),
        rare_arguments=(("Model Id", "Task Id", "Task Type"),),
        ignored_arguments=("Batch Id", "Subtask Id"),
        version_keys=("npu", "cann"),
        call_prefixes=("aclrt", "acl"),
        allocator_calls=r"aclrt(?:Malloc|Free|ReserveMem|ReleaseMem|MapMem|UnmapMem)\w*",
        collectives=("hccl",),
        collective_kernels=("hcom_",),
        torch_module="torch.npu",
        calls_apart=True,
    ),
    Vendor(
        "mtia",
        "Meta MTIA",
        "MTIA",
        device_names=r"\bmtia\b",
        metadata_keys=r"^mtia",
        categories=r"^mtia_",
        calls=r"^runFunction - ",
        host_categories={"mtia_runtime": "runtime", "glow_runtime": "runtime"},
        device_categories={
            "mtia_ccp_events": "kernel",
            "mtia_counters": "profiler_range",
            "mtia_insight": "profiler_range",
        },
        torch_module="torch.mtia",
        torch_types=(19,),
    ),
    Vendor(
        "intel",
        "Intel (XPU)",
        "XPU",
        device_names=r"\bintel\b|data center gpu max|\barc\b|\bponte vecchio\b",
        metadata_keys=r"^(xpu|level_zero|sycl)",
        categories=r"^xpu_",
        calls=r"^(ze[A-Z]|ur[A-Z]|sycl|onecc?l)",
        host_categories={"xpu_runtime": "runtime", "xpu_driver": "driver"},
        device_categories={
            "xpu_memcpy": "memcpy",
            "xpu_memset": "memset",
            "xpu_user_annotation": "annotation",
            "xpu_sync": "sync",
            "xpu_scope_profiler": "profiler_range",
        },
        stream_arguments=("sycl queue", "l0 queue"),
        version_keys=("xpu", "level_zero"),
        torch_module="torch.xpu",
        torch_types=(12,),
        call_prefixes=("ze", "ur"),
        allocator_calls=r"zeMem(?:Alloc|Free)\w*|ur(?:USM|Usm)\w*(?:Alloc|Free)\w*",
        waiting_calls=r"urQueueFinish|urEventWait|zeEventHostSynchronize",
        collectives=("oneccl", "xccl"),
        matrix_kernels_2026=("dpas",),
    ),
    AMD,
    NVIDIA,
)
NO_ACCELERATOR, UNKNOWN = "cpu", "unknown"
"""What `metadata.vendor` says where there is no device work, and where nothing tells its maker."""

# -- what is of no one maker, or of one without a row ----------------------------------------------

_OTHER_DEVICE_WORDS = ("DCU", "HPU", "TPU", "GCU", "PPU", "IPU")
_OTHER_CALL_PREFIXES = ("musa",)
_OTHER_COLLECTIVES = ("gloo", "mpi", "ucc", "eccl", "ccl", "flagcx")
"""Libraries of collectives; their names stand in those of calls, and say nothing in kernels'."""
_OTHER_TORCH_TYPES = {13: "MPS", 15: "HPU"}
PRIVATE_TORCH_TYPE = 20
"""What PyTorch calls devices it does not know itself; what it means is up to their maker."""

_HOST_CATEGORIES = {
    **dict.fromkeys(("cpu_op", "operator", "hpu_op"), "operator"),
    "user_annotation": "annotation",
    **dict.fromkeys(("python_function", "python"), "python_function"),
    **dict.fromkeys(("runtime", "privateuse1_runtime"), "runtime"),
    "privateuse1_driver": "driver",
    # the profiler itself
    "overhead": "overhead",
    "trace": "trace",
    # system events of the Chrome dialect with host(pid) process ids
    **dict.fromkeys(("cat_app", "cat_cpu", "cat_disk", "cat_memory", "cat_net"), "other"),
    **dict.fromkeys(("cat_process", "cat_xpu"), "other"),
}
_DEVICE_CATEGORIES = {
    **dict.fromkeys(("kernel", "concurrent_kernel"), "kernel"),
    **dict.fromkeys(("memcpy", "gpu_memcpy"), "memcpy"),
    **dict.fromkeys(("memset", "gpu_memset"), "memset"),
    **dict.fromkeys(("gpu_user_annotation", "privateuse1_user_annotation"), "annotation"),
    "collective_comm": "collective",
    "hardware_counters": "profiler_range",
}
_FLOW_CATEGORIES = {
    **dict.fromkeys(("ac2g", "async", "async_cpu_to_gpu"), "launch"),
    **dict.fromkeys(("fwdbwd", "forward_backward"), "forward_backward"),
}
COPY_DIRECTION_WORDS: dict[str, str] = {
    **dict.fromkeys(("htod", "h2d", "m2d", "host_to_device", "hosttodevice"), "HtoD"),
    **dict.fromkeys(("dtoh", "d2h", "d2m", "device_to_host", "devicetohost"), "DtoH"),
    **dict.fromkeys(("dtod", "d2d", "device_to_device", "devicetodevice"), "DtoD"),
    **dict.fromkeys(("htoh", "h2h"), "HtoH"),
    **dict.fromkeys(("ptop", "p2p", "peertopeer"), "PtoP"),
}
_WAITING_CALLS = (
    r"(?:Stream|Device|Event|Queue|Ctx|Notifier)_?Sync(?:hronize)?|SyncDevice"
    r"|Synchronize(?:Stream|Device|Event)"
)
_WAITING_WORDS = (
    r"events?|wait(?:s|ing)?|records?|stream|queue|notif(?:y|ier)|semaphore|fence|signal|barrier"
    r"|sync(?:hroni[sz](?:e|ation))?|on|for|async|host|device|task"
)
"""What names of device work consist of that only waits, or marks the end of a wait."""
_COLLECTIVE_KERNELS = r"cross_device_reduce|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all"
_MEMORY_PROPERTIES = {"totalGlobalMem": 1, "totalMem(MiB)": 1024**2, "totalMem": 1, "memory": 1}
_MULTIPROCESSOR_PROPERTIES = ("numSms", "multiProcessorCount", "clusterCount", "numComputeUnits")
_MOST_MEMORY = 2**63


def _merged(field_name: str, common: Mapping[str, str]) -> dict[str, str]:
    rows = (getattr(vendor, field_name) for vendor in VENDORS)
    return {**common, **{key: kind for row in rows for key, kind in row.items()}}


def every(field_name: str) -> tuple[Any, ...]:
    """What a field lists in all rows, each once, in their order."""
    return tuple(dict.fromkeys(one for row in VENDORS for one in getattr(row, field_name)))


def any_of(field_name: str) -> str:
    """One pattern of those of all rows."""
    return "|".join(p for row in VENDORS if (p := getattr(row, field_name)) != _NEVER)


def names_where(field_name: str, *, value: bool) -> frozenset[str]:
    """The makers that have a flag, or have it not."""
    return frozenset(row.name for row in VENDORS if getattr(row, field_name) is value)


HOST_CATEGORIES = _merged("host_categories", _HOST_CATEGORIES)
DEVICE_CATEGORIES = _merged("device_categories", _DEVICE_CATEGORIES)
FLOW_CATEGORIES = _merged("flow_categories", _FLOW_CATEGORIES)
HOST_PROCESSES = _merged("host_processes", {"python": "operator"})
DEVICE_PROCESSES = _merged("device_processes", {})
TASK_KINDS = _merged("task_kinds", {})

TITLES = {**{row.name: row.title for row in VENDORS}, NO_ACCELERATOR: "CPU only"}
DEVICE_WORD_OF = {row.name: row.device_word for row in VENDORS}
TORCH_DEVICE_WORDS = {
    **_OTHER_TORCH_TYPES,
    **{number: row.device_word for row in VENDORS for number in row.torch_types},
}
"""What users call the types of devices PyTorch numbers."""
_LABELS = tuple(dict.fromkeys((*DEVICE_WORD_OF.values(), *_OTHER_DEVICE_WORDS)))
DEVICE_LABEL = re.compile(rf"^({'|'.join((*_LABELS, *NVIDIA.other_words)).upper()})\s*(\d+)\b")
"""Sort and number of a device in the label of a process, e.g. `GPU 3`."""
DEVICE_WORDS = "|".join((*map(str.lower, _LABELS), *every("other_words")))
"""A pattern: words for a device, in small letters."""
_VERSION_KEYS = "|".join((*every("version_keys"), "torch", "pytorch", "driver", "runtime"))
VERSION_KEY = re.compile(rf"^(?:{_VERSION_KEYS}).*version$", re.IGNORECASE)
"""Top-level keys of traces that hold versions."""
CALL_PREFIXES = "|".join((*every("call_prefixes"), *_OTHER_CALL_PREFIXES))
"""A pattern: how calls of runtimes and drivers begin."""
COLLECTIVES = "|".join(every("collectives"))
"""A pattern: libraries of collectives between devices."""
COLLECTIVE_CALLS = "|".join((*every("collectives"), *_OTHER_COLLECTIVES))
"""A pattern: the same and those of no one maker, as calls begin with them."""

_COLLECTIVE_CALL = re.compile(rf"^(?:(?:{COLLECTIVE_CALLS}):|record_param_comms)")
_COLLECTIVE_KERNEL = re.compile(
    "|".join((COLLECTIVES, *every("collective_kernels"), _COLLECTIVE_KERNELS)), re.IGNORECASE
)
_LIBRARY_OF = {
    word.strip("_"): row.collectives[0] for row in VENDORS for word in row.collective_kernels
}
_LIBRARY = re.compile("|".join((COLLECTIVES, *_LIBRARY_OF)), re.IGNORECASE)
_ALLOCATING = re.compile(f"(?:^|@)(?:{any_of('allocator_calls')})$")
_WAITING = re.compile(f"{_WAITING_CALLS}|{any_of('waiting_calls')}")
_WAITING_WORK = re.compile(
    rf"(?=.*(?:event|wait|notif|fence|barrier|sync))(?:{CALL_PREFIXES}|{DEVICE_WORDS})?[\W_]*"
    rf"(?:(?:{_WAITING_WORDS})[\W_]*)+(?:dtype_\w+)?\d*",
    re.IGNORECASE,
)


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
    """
    fields = ("device_names", "metadata_keys", "categories", "calls")
    evidence = (device_names, metadata_keys, categories, calls)
    for field_name, values in zip(fields, evidence, strict=True):
        flags = 0 if field_name == "calls" else re.IGNORECASE
        texts = [value for value in values if value]
        for vendor in VENDORS:
            pattern = re.compile(getattr(vendor, field_name), flags)
            if any(pattern.search(text) for text in texts):
                return vendor.name
    return UNKNOWN if has_device_work else NO_ACCELERATOR


def is_gpu(label: str) -> bool:
    """Whether tools for GPUs may know a device; one that nothing is said of may be one."""
    found = DEVICE_LABEL.match(label)
    return found is None or found[1] in {NVIDIA.device_word, *map(str.upper, NVIDIA.other_words)}


_GRAPHS = re.compile(rf"(?:, )?{NVIDIA.graphs}(?: for fixed shapes)?(, (?=larger))?")


def in_words_of(vendor: str, advice: str) -> str:
    """Advice in the words of a maker, without what it does not have."""
    row = next((one for one in VENDORS if one.name == vendor), None)
    if row is None or not row.graphs:
        advice = _GRAPHS.sub(r"\1", advice)
    else:
        advice = advice.replace(NVIDIA.graphs, row.graphs)
    if row is None or not row.torch_module:
        return advice.replace(f", {NVIDIA.torch_module}.synchronize()", "")
    return advice.replace(NVIDIA.torch_module, row.torch_module)


def device_memory_bytes(properties: Mapping[str, Any]) -> int | None:
    """Device memory in bytes, under any of the names vendors use."""
    for key, scale in _MEMORY_PROPERTIES.items():
        value = properties.get(key)
        if isinstance(value, (int, float)) and value is not True and 0 <= value < _MOST_MEMORY:
            return int(value * scale)
    return None


def multiprocessors(properties: Mapping[str, Any]) -> int | None:
    """Number of SMs, CUs or clusters."""
    values = (properties.get(key) for key in _MULTIPROCESSOR_PROPERTIES)
    return next((value for value in values if isinstance(value, int)), None)


def is_collective_call(name: str) -> bool:
    """Whether a host call communicates with other ranks, whatever the library."""
    return _COLLECTIVE_CALL.match(name) is not None


def is_collective_kernel(name: str) -> bool:
    """Whether a kernel communicates with other devices.

    Compiled kernels name every operator they fuse, so theirs tell nothing.
    """
    return _COLLECTIVE_KERNEL.search(name) is not None and not name.startswith("triton_")


def library_in(name: str) -> str | None:
    """The library of collectives between devices that a name holds."""
    found = _LIBRARY.search(name)
    if found is None:
        return None
    word = found[0].lower()
    return _LIBRARY_OF.get(word, word)


def waits_for_device(name: str) -> bool:
    """Whether a runtime call returns only when the device has finished something."""
    return _WAITING.search(name) is not None


def is_waiting_work(name: str) -> bool:
    """Whether work on a device, by its name, only waits for other work or marks its end."""
    return _WAITING_WORK.fullmatch(name) is not None


def is_allocator_call(name: str) -> bool:
    """Whether a runtime call reserves device or pinned memory, or gives it back."""
    return _ALLOCATING.search(name) is not None
