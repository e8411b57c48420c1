"""What columns and kinds are called in Chrome JSON."""

from __future__ import annotations

from timesink.readers.chrome.argument_sets import COLLECTIVE_KEYS, FLOW_PHASE_NAMES

HOST_ARGUMENTS = {
    "external_id": "External id",
    "correlation": "correlation",
    "sequence_number": "Sequence number",
    "fwd_thread_id": "Fwd thread id",
    "python_id": "Python id",
    "python_parent_id": "Python parent id",
    "python_module_id": "Python module id",
    "call_stack": "Call stack",
    "module_hierarchy": "Module Hierarchy",
}
HOST_JSON_ARGUMENTS = {
    "input_dims": "Input Dims",
    "input_types": "Input type",
    "concrete_inputs": "Concrete Inputs",
}
DEVICE_ARGUMENTS = {
    "device": "device",
    "correlation": "correlation",
    "external_id": "External id",
    "registers_per_thread": "registers per thread",
    "shared_memory_bytes": "shared memory",
    "blocks_per_sm": "blocks per SM",
    "warps_per_sm": "warps per SM",
    "occupancy_pct": "est. achieved occupancy %",
    "bytes": "bytes",
    "graph_id": "graph id",
    "graph_node_id": "graph node id",
}
COLLECTIVE_ARGUMENTS = {column: key for key, column in COLLECTIVE_KEYS.items()}
MEMORY_ARGUMENTS = {
    "device_type": "Device Type",
    "device": "Device Id",
    "address": "Addr",
    "bytes": "Bytes",
    "total_allocated_bytes": "Total Allocated",
    "total_reserved_bytes": "Total Reserved",
}
FLOW_PHASES = {name: phase for phase, name in FLOW_PHASE_NAMES.items()}

HOST_CATEGORIES = {
    "operator": "cpu_op",
    "annotation": "user_annotation",
    "python_function": "python_function",
    "module": "python_function",
    "runtime": "cuda_runtime",
    "driver": "cuda_driver",
    "overhead": "overhead",
    "trace": "Trace",
}
DEVICE_CATEGORIES = {
    "kernel": "kernel",
    "memcpy": "gpu_memcpy",
    "memset": "gpu_memset",
    "collective": "collective_comm",
    "annotation": "gpu_user_annotation",
    "sync": "cuda_sync",
    "profiler_range": "cuda_profiler_range",
}
"""What Kineto calls these kinds, for events whose own category other tools do not know."""
