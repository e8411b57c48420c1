"""What makers of accelerators call things: one row each, and the lookups that all else asks.

A new accelerator is a table of `vendors.toml` and nothing else; no other place spells a maker's
words (a test looks for them).  Categories and the names of processes are compared in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timesink.model.data_files import toml_tables
from timesink.patterns import regex

_NEVER = r"(?!)"


@dataclass(frozen=True, slots=True)
class Vendor:
    """One maker, a table of `vendors.toml`: how to recognise its traces, and its words."""

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
    graph_arguments: tuple[str, ...] = ()
    """Under which values device work has its graph and its node, where XLA recorded it."""
    ignored_arguments: tuple[str, ...] = ()
    """Arguments of device work that mean nothing outside its profiler."""
    version_keys: tuple[str, ...] = ()
    """How top-level keys begin that hold versions of its software."""
    sampler_prefixes: tuple[str, ...] = ()
    """What samplers put before the names of counters of its devices."""
    counter_prefixes: tuple[str, ...] = ()
    """What they put in the place of a word for a device."""
    runtime: str = ""
    """What its runtime is called, before "runtime calls"."""
    graphs: str = ""
    """What it calls launches that are captured once and replayed; nothing where it has none."""
    torch_module: str = ""
    """Where PyTorch has the calls of its runtime."""
    profiler_costs_measured: bool = False
    """Whether what a profiler costs the host was measured beside its devices."""
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
    library_titles: tuple[str, ...] = ()
    """How its libraries for computing are written; names of operators hold them in any case."""
    collectives: tuple[str, ...] = ()
    """Its libraries of collectives, as they begin calls (`nccl:`) and stand in names of kernels."""
    collective_kernels: tuple[str, ...] = ()
    """What else stands in names of its kernels of collectives, which are of its first library."""
    calls_apart: bool = False
    """Whether its profiler shows the calls of a thread in a process of their own."""
    task_topology: bool = False
    """Whether its kernels have types and task topologies instead of grids and blocks."""

    # Folders its profiler writes.
    parsed_folder: str = ""
    """Of what it made of the data: traces and tables."""
    raw_folders: tuple[str, ...] = ()
    """How folders of the data begin."""
    parse_call: str = ""
    """What turns the data into traces."""

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


def _by_word(kinds: Mapping[str, Iterable[Any]]) -> dict[Any, str]:
    """The kind of each word, of words by their kinds."""
    return {word: kind for kind, words in kinds.items() for word in words}


def _entry(value: Any) -> Any:
    """An entry of a table as a field of its row."""
    if isinstance(value, dict):
        return _by_word(value)
    return tuple(map(_entry, value)) if isinstance(value, list) else value


_TABLES = toml_tables(Path(__file__).with_name("vendors.toml"))
_COMMON = _TABLES.pop("common")
_ROWS = {
    name: Vendor(name, **{key: _entry(value) for key, value in table.items()})
    for name, table in _TABLES.items()
}
VENDORS = tuple(_ROWS.values())
NVIDIA, AMD = _ROWS["nvidia"], _ROWS["amd"]
NO_ACCELERATOR, UNKNOWN = "cpu", "unknown"
"""What `metadata.vendor` says where there is no device work, and where nothing tells its maker."""

PARSED_FOLDERS = {row.parsed_folder: row for row in VENDORS if row.parsed_folder}
"""Makers by the folder in which their profilers leave traces."""
PRIVATE_TORCH_TYPE = 20
"""What PyTorch calls devices it does not know itself; what it means is up to their maker."""
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
_MAX_MEMORY = 2**63


def _merge_field(field_name: str) -> dict[str, str]:
    words = _by_word(_COMMON.get(field_name, {}))
    for vendor in VENDORS:
        words |= getattr(vendor, field_name)
    return words


def every(field_name: str) -> tuple[Any, ...]:
    """What a field lists in all rows, each once, in their order."""
    return tuple(dict.fromkeys(word for row in VENDORS for word in getattr(row, field_name)))


def any_of(field_name: str) -> str:
    """One pattern of those of all rows."""
    return "|".join(p for row in VENDORS if (p := getattr(row, field_name)) != _NEVER)


def names_where(field_name: str, *, value: bool) -> frozenset[str]:
    """The makers that have a flag, or have it not."""
    return frozenset(row.name for row in VENDORS if getattr(row, field_name) is value)


HOST_CATEGORIES = _merge_field("host_categories")
DEVICE_CATEGORIES = _merge_field("device_categories")
FLOW_CATEGORIES = _merge_field("flow_categories")
HOST_PROCESSES = _merge_field("host_processes")
DEVICE_PROCESSES = _merge_field("device_processes")
TASK_KINDS = _merge_field("task_kinds")
COPY_DIRECTION_WORDS = _by_word(_COMMON["copy_directions"])

TITLES = {**{row.name: row.title for row in VENDORS}, NO_ACCELERATOR: "CPU only"}
DEVICE_WORD_OF = {row.name: row.device_word for row in VENDORS}
TORCH_DEVICE_WORDS = {
    **_by_word(_COMMON["torch_types"]),
    **{number: row.device_word for row in VENDORS for number in row.torch_types},
}
"""What users call the types of devices PyTorch numbers."""
_LABELS = tuple(dict.fromkeys((*DEVICE_WORD_OF.values(), *_COMMON["device_words"])))
DEVICE_LABEL = regex(rf"^({'|'.join((*_LABELS, *NVIDIA.other_words)).upper()})\s*(\d+)\b")
"""Sort and number of a device in the label of a process, e.g. `GPU 3`."""
DEVICE_WORDS = "|".join((*map(str.lower, _LABELS), *every("other_words")))
"""A pattern: words for a device, in small letters."""
_VERSION_KEYS = "|".join((*every("version_keys"), "torch", "pytorch", "driver", "runtime"))
VERSION_KEY = regex(rf"^(?:{_VERSION_KEYS}).*version$", re.IGNORECASE)
"""Top-level keys of traces that hold versions."""
CALL_PREFIXES = "|".join((*every("call_prefixes"), *_COMMON["call_prefixes"]))
"""A pattern: how calls of runtimes and drivers begin."""
COLLECTIVES = "|".join(every("collectives"))
"""A pattern: libraries of collectives between devices."""
COLLECTIVE_CALLS = "|".join((*every("collectives"), *_COMMON["collectives"]))
"""A pattern: the same and those of no one maker, as calls begin with them."""

_COLLECTIVE_CALL = regex(rf"^(?:(?:{COLLECTIVE_CALLS}):|record_param_comms)")
_COLLECTIVE_KERNEL = regex(
    "|".join((COLLECTIVES, *every("collective_kernels"), _COLLECTIVE_KERNELS)), re.IGNORECASE
)
_LIBRARY_OF = {
    word.strip("_"): row.collectives[0] for row in VENDORS for word in row.collective_kernels
}
_LIBRARY = regex("|".join((COLLECTIVES, *_LIBRARY_OF)), re.IGNORECASE)
_ALLOCATING = regex(f"(?:^|@)(?:{any_of('allocator_calls')})$")
_WAITING = regex(f"{_WAITING_CALLS}|{any_of('waiting_calls')}")
_WAITING_WORK = regex(
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


_MEASURED_COSTS = names_where("profiler_costs_measured", value=True)


def profiler_costs_measured(vendor: str) -> bool:
    """Whether what a profiler costs the host was measured beside such devices, or without any.

    >>> [profiler_costs_measured(name) for name in ("nvidia", "cpu", "amd")]
    [True, True, False]
    """
    return vendor in _MEASURED_COSTS or vendor == NO_ACCELERATOR


def is_gpu(label: str) -> bool:
    """Whether tools for GPUs may know a device; one that nothing is said of may be one."""
    match = DEVICE_LABEL.match(label)
    return match is None or match[1] in {NVIDIA.device_word, *map(str.upper, NVIDIA.other_words)}


_GRAPHS = regex(rf"(?:, | or )?{NVIDIA.graphs}(?: for fixed shapes)?(, (?=larger))?")


LIBRARIES_WITH_WORKSPACES = r"get(?:Current)?CUDABlas|cublas(?:Lt)?|cudnn|miopen|hipblas|nccl"
"""A pattern of frames of makers' libraries that take device memory to work in."""


def in_words_of(vendor: str, advice: str) -> str:
    """Advice in the words of a maker, without what it does not have."""
    row = next((vendor_row for vendor_row in VENDORS if vendor_row.name == vendor), None)
    if row is None or not row.graphs:
        # Where nothing else is named, something has to be.
        advice = advice.replace(f"with {NVIDIA.graphs}", "with captured graphs")
        advice = _GRAPHS.sub(r"\1", advice)
    else:
        advice = advice.replace(NVIDIA.graphs, row.graphs)
    if row is None or not row.torch_module:
        waits = f"{NVIDIA.torch_module}.synchronize()"
        return advice.replace(f", {waits}", "").replace(f" and {waits}", "")
    return advice.replace(NVIDIA.torch_module, row.torch_module)


def runtime_title(vendor: str) -> str:
    """What the runtime of a maker is called; empty where the table has no name for it.

    >>> [runtime_title(name) for name in ("nvidia", "amd", "cpu")]
    ['CUDA', 'HIP', '']
    """
    row = _ROWS.get(vendor)
    return "" if row is None else row.runtime


def device_memory_bytes(properties: Mapping[str, Any]) -> int | None:
    """Device memory in bytes, under any of the names vendors use."""
    for key, scale in _COMMON["memory_properties"].items():
        value = properties.get(key)
        if isinstance(value, (int, float)) and value is not True and 0 <= value < _MAX_MEMORY:
            return int(value * scale)
    return None


def multiprocessors(properties: Mapping[str, Any]) -> int | None:
    """Number of SMs, CUs or clusters."""
    values = (properties.get(key) for key in _COMMON["multiprocessor_properties"])
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
    match = _LIBRARY.search(name)
    if match is None:
        return None
    word = match[0].lower()
    return _LIBRARY_OF.get(word, word)


def library_title(name: str) -> str | None:
    """How the library is written that the name of an operator holds.

    >>> library_title("aten::cudnn_convolution")
    'cuDNN'
    """
    lower = name.lower()
    return next((title for title in every("library_titles") if title.lower() in lower), None)


def waits_for_device(name: str) -> bool:
    """Whether a runtime call returns only when the device has finished something."""
    return _WAITING.search(name) is not None


_WAITING_FOR_ALL = regex(r"(?:Device|Ctx)_?Sync(?:hronize)?|SyncDevice|SynchronizeDevice")


def waits_for_all_streams(name: str) -> bool:
    """Whether a runtime call returns only when all that was launched before is done.

    >>> [waits_for_all_streams(f"hip{name}Synchronize") for name in ("Device", "Stream")]
    [True, False]
    """
    return _WAITING_FOR_ALL.search(name) is not None


_ORDERING = regex("StreamWait(?:Event|Value)|QueueWaitNotifier|WaitOnEvents")


def orders_streams(name: str) -> bool:
    """Whether a runtime call makes one stream wait for what another has recorded.

    >>> [orders_streams(name) for name in ("hipStreamWaitEvent", "hipStreamSynchronize")]
    [True, False]
    """
    return _ORDERING.search(name) is not None


_RECORDING_EVENT = regex("EventRecord|RecordEvent")


def is_stream_order(name: str) -> bool:
    """Whether a runtime call records an event on a stream, or makes one wait for an event.

    >>> [is_stream_order(name) for name in ("cudaEventRecordWithFlags", "cudaEventQuery")]
    [True, False]
    """
    return orders_streams(name) or _RECORDING_EVENT.search(name) is not None


_LAUNCHING = regex("launch|memcpy|memset|enqueue|submit|copy", re.IGNORECASE)


def launches_work(name: str) -> bool:
    """Whether a runtime call, by its name, gives a device work, whoever made the runtime.

    >>> [launches_work(name) for name in ("hipExtModuleLaunchKernel", "hipStreamGetDevice")]
    [True, False]
    """
    return _LAUNCHING.search(name) is not None


def is_waiting_work(name: str) -> bool:
    """Whether work on a device, by its name, only waits for other work or marks its end."""
    return _WAITING_WORK.fullmatch(name) is not None


def is_allocator_call(name: str) -> bool:
    """Whether a runtime call reserves device or pinned memory, or gives it back."""
    return _ALLOCATING.search(name) is not None


_KERNEL_LAUNCH = regex(r"(?:Launch|Invoke)(?:Cooperative)?Kernel|GraphLaunch|KernelLaunch")


def launches_kernels(name: str) -> bool:
    """Whether a runtime or driver call makes a device run kernels: one, or those of a graph.

    >>> [launches_kernels(name) for name in ("cuLaunchKernelEx", "hipGraphLaunch", "cudaMemcpy")]
    [True, True, False]
    >>> launches_kernels("cudaLaunchHostFunc")
    False
    """
    return _KERNEL_LAUNCH.search(name) is not None


_WAITING_FOR_ALL = regex(r"(?:Device|Ctx)_?Synchronize|SyncDevice|SynchronizeDevice")


def waits_for_all(name: str) -> bool:
    """Whether a runtime call returns only when a device has finished all that was launched.

    >>> [waits_for_all(name) for name in ("hipDeviceSynchronize", "cudaStreamSynchronize")]
    [True, False]
    """
    return _WAITING_FOR_ALL.search(name) is not None


def launches_graphs(name: str) -> bool:
    """Whether a runtime call replays a graph."""
    return "GraphLaunch" in name


COPYING_KERNELS = {"memcpy": r"^memcpy\d+_\w+$", "memset": r"^memset\d+_\w+$"}
"""Kernels that the driver of CUDA runs for copies and fills of a graph, as patterns: they are nodes
of that kind."""


def begins_capture(name: str) -> bool:
    """Whether a runtime call begins the capture of a graph: what is launched then does not run."""
    return "BeginCapture" in name


def ends_capture(name: str) -> bool:
    """Whether a runtime call ends the capture of a graph."""
    return "EndCapture" in name
