"""`timesink kernels`: how well the kernels of a recording use the hardware."""

from timesink.reports.kernels.report import (
    BY,
    SCHEMA,
    KernelReport,
    KernelReports,
    without_noise,
)
from timesink.reports.kernels.reporting import kernels

__all__ = ["BY", "SCHEMA", "KernelReport", "KernelReports", "kernels", "without_noise"]
