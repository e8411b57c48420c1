"""Columns of the tables about steps and calls: steps, operators, launch sites, modules."""

from __future__ import annotations

from timesink.reports.columns import Column, Columns

STEPS: Columns = {
    "name": Column("number of the step, as recorded; 0 where no steps are marked", "step"),
    "complete": Column("false where the recording ends before the step does", "whole"),
    "total_ns": Column("length of the step, until its device work is done", "total"),
    "kernel_ns": Column("time with a kernel running", "kernels"),
    "memcpy_ns": Column("time with a copy running and no kernel", "copies"),
    "memset_ns": Column("time with a memset running and none of the above", "memsets"),
    "communication_ns": Column("communication, and none of the above", "communication"),
    "runtime_ns": Column("calls of the device's runtime, and none of the above", "runtime"),
    "data_loader_ns": Column("fetching data, and none of the above", "loading"),
    "cpu_exec_ns": Column("operators on the host, and none of the above", "host"),
    "other_ns": Column("nothing recorded was active", "other"),
}

OPERATORS: Columns = {
    "name": Column("name of the operator", "operator"),
    "input_dims": Column("shapes of its inputs; only when grouped by shape", "shapes"),
    "call_stack": Column("the Python calls around it; only when grouped by stack", "stack"),
    "calls": Column("number of calls", "calls"),
    "calls_with_device_work": Column("calls that launched device work, themselves or below"),
    "device_self_ns": Column(
        "length of the device work it launched itself, added up: parallel streams count each",
        "device self",
    ),
    "device_total_ns": Column("the same with all it called", "device total"),
    "host_self_ns": Column("time on the host without the operators it called", "host self"),
    "host_total_ns": Column("time on the host from its start to its end", "host total"),
    "tensor_core_eligible": Column("whether it can use tensor cores on this device"),
    "tensor_core_self_ns": Column("part of `device_self_us` in kernels that use tensor cores"),
    "tensor_core_total_ns": Column("part of `device_total_us` in kernels that use tensor cores"),
    "tensor_core_self_ratio": Column("that part of `device_self_us`, 0 to 1", "tensor"),
    "tensor_core_total_ratio": Column("that part of `device_total_us`, 0 to 1"),
    "has_call_stack": Column("whether a call stack was recorded for one of the calls"),
}

LAUNCH_SITES: Columns = {
    "site": Column(
        "what the launching call stood in: an operator, a step, a module, ...; "
        "`outside of every call`; `launch not in trace`",
        "launched from",
    ),
    "events": Column("number of kernels, copies and memsets", "events"),
    "device_ns": Column("their lengths, added up", "device time"),
}

MODULES: Columns = {
    "id": Column("number of the row"),
    "parent_id": Column("row of the module that calls it; null on top"),
    "name": Column("name of the module", "module"),
    "module_id": Column("the profiler's number of the module"),
    "occurrences": Column("number of calls", "calls"),
    "operators": Column("number of operators it called itself"),
    "host_total_ns": Column("time on the host, from start to end", "host total"),
    "host_self_ns": Column("the same without what it called"),
    "device_total_ns": Column("device work launched by it and by all it called", "device total"),
    "device_self_ns": Column("device work launched by it alone, outside of its operators"),
    "device_with_operators_ns": Column(
        "`device_self_us` and the device work of the operators it called itself; modules below are "
        "left out",
        "own device",
    ),
    "backward_host_ns": Column("time on the host of its backward pass"),
    "backward_device_ns": Column("device work of its backward pass", "backward"),
    "avg_duration_ns": Column("device time per call; host time where there is none", "per call"),
}
