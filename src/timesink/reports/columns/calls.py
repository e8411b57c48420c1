"""Columns of the tables about steps and calls: steps, operators, launch sites, modules."""

from __future__ import annotations

from timesink.reports.columns import Columns, ColumnSpec

STEPS: Columns = {
    "name": ColumnSpec("number of the step, as recorded; 0 where no steps are marked", "step"),
    "complete": ColumnSpec("false where the recording ends before the step does", "whole"),
    "total_ns": ColumnSpec("length of the step, until its device work is done", "total"),
    "kernel_ns": ColumnSpec("time with a kernel running", "kernels"),
    "memcpy_ns": ColumnSpec("time with a copy running and no kernel", "copies"),
    "memset_ns": ColumnSpec("time with a memset running and none of the above", "memsets"),
    "communication_ns": ColumnSpec("communication, and none of the above", "communication"),
    "runtime_ns": ColumnSpec("calls of the device's runtime, and none of the above", "runtime"),
    "data_loader_ns": ColumnSpec("fetching data, and none of the above", "loading"),
    "cpu_exec_ns": ColumnSpec("operators on the host, and none of the above", "host"),
    "other_ns": ColumnSpec("nothing recorded was active", "other"),
}

OPERATORS: Columns = {
    "name": ColumnSpec("name of the operator", "operator"),
    "input_dims": ColumnSpec("shapes of its inputs; only when grouped by shape", "shapes"),
    "call_stack": ColumnSpec("the Python calls around it; only when grouped by stack", "stack"),
    "calls": ColumnSpec("number of calls", "calls"),
    "calls_with_device_work": ColumnSpec("calls that launched device work, themselves or below"),
    "device_self_ns": ColumnSpec(
        "length of the device work it launched itself, added up: parallel streams count each",
        "device self",
    ),
    "device_total_ns": ColumnSpec("the same with all it called", "device total"),
    "host_self_ns": ColumnSpec("time on the host without the operators it called", "host self"),
    "host_total_ns": ColumnSpec("time on the host from its start to its end", "host total"),
    "tensor_core_eligible": ColumnSpec("whether it can use tensor cores on this device"),
    "tensor_core_self_ns": ColumnSpec("part of `device_self_us` in kernels that use tensor cores"),
    "tensor_core_total_ns": ColumnSpec(
        "part of `device_total_us` in kernels that use tensor cores"
    ),
    "tensor_core_self_ratio": ColumnSpec("that part of `device_self_us`, 0 to 1", "tensor"),
    "tensor_core_total_ratio": ColumnSpec("that part of `device_total_us`, 0 to 1"),
    "has_call_stack": ColumnSpec("whether a call stack was recorded for one of the calls"),
}

LAUNCH_SITES: Columns = {
    "site": ColumnSpec(
        "what the launching call stood in: an operator, a step, a module, ...; "
        "`outside of every call`; `launch not in trace`",
        "launched from",
    ),
    "events": ColumnSpec("number of kernels, copies and memsets", "events"),
    "device_ns": ColumnSpec("their lengths, added up", "device time"),
}

MODULES: Columns = {
    "id": ColumnSpec("number of the row"),
    "parent_id": ColumnSpec("row of the module that calls it; null on top"),
    "name": ColumnSpec("name of the module", "module"),
    "module_id": ColumnSpec("the profiler's number of the module"),
    "occurrences": ColumnSpec("number of calls", "calls"),
    "operators": ColumnSpec("number of operators it called itself"),
    "host_total_ns": ColumnSpec("time on the host, from start to end", "host total"),
    "host_self_ns": ColumnSpec("the same without what it called"),
    "device_total_ns": ColumnSpec(
        "device work launched by it and by all it called", "device total"
    ),
    "device_self_ns": ColumnSpec("device work launched by it alone, outside of its operators"),
    "device_with_operators_ns": ColumnSpec(
        "`device_self_us` and the device work of the operators it called itself; modules below are "
        "left out",
        "own device",
    ),
    "backward_host_ns": ColumnSpec("time on the host of its backward pass"),
    "backward_device_ns": ColumnSpec("device work of its backward pass", "backward"),
    "avg_duration_ns": ColumnSpec(
        "device time per call; host time where there is none", "per call"
    ),
}
