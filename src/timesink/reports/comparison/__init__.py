"""What changed between runs: which processes are compared, and the answer as plain data."""

from __future__ import annotations

from timesink.reports.comparison.comparing import compare
from timesink.reports.comparison.report import Compared, Comparison

__all__ = ["Compared", "Comparison", "compare"]
