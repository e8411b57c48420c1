"""Which Nsight Compute metrics a question needs, as plain names.

Standard library only: collecting must work where nothing else is installed.  Names a device does
not have are answered with ``n/a``, so one list serves every generation.
"""

from __future__ import annotations

DURATION = "gpu__time_duration.sum"

UTILISATION = (
    DURATION,
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
)
"""How long each kernel ran and how busy the tensor pipe, memory and multiprocessors were."""

TRAFFIC = ("dram__bytes.sum",)

CLOCK = ("sm__cycles_elapsed.avg.per_second",)
"""The clock the multiprocessors ran at; published peaks assume the boost clock."""

THREAD_INSTRUCTIONS = tuple(
    f"sm__sass_thread_inst_executed_op_{op}_pred_on.sum"
    for op in (
        *("fadd", "fmul", "ffma"),
        *("hadd", "hmul", "hfma"),
        *("dadd", "dmul", "dfma"),
        *("fadd2", "fmul2", "ffma2"),  # pairs of fp32 values, from 10.0 on
    )
)

TENSOR_OPERATIONS = tuple(
    f"sm__ops_path_tensor_src_{operands}.sum"
    for operands in (
        *("fp16", "fp16_dst_fp16", "fp16_dst_fp32"),  # 9.x counts both accumulators together
        "bf16_dst_fp32",
        "tf32_dst_fp32",
        "fp64",
        *("fp8", "fp4_fp6_fp8_dst_fp16", "fp4_fp6_fp8_dst_fp32"),  # the last two from 10.0 on
        "fp4_dst_fp32",
        *("int8", "int4"),
    )
)

TENSOR_INSTRUCTIONS = ("sm__inst_executed_pipe_tensor.sum",)
"""For 7.x, which does not count tensor operations."""

ROOFLINE = (
    *UTILISATION,
    *TRAFFIC,
    *CLOCK,
    *THREAD_INSTRUCTIONS,
    *TENSOR_OPERATIONS,
    *TENSOR_INSTRUCTIONS,
)
"""`UTILISATION` plus what arithmetic intensity needs: bytes moved and operations by precision."""
