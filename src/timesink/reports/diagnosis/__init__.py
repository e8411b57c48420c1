"""Why cycles of one run take longer than its others, as plain data."""

from __future__ import annotations

from timesink.reports.diagnosis.diagnosing import diagnose
from timesink.reports.diagnosis.report import Diagnosed, Within

__all__ = ["Diagnosed", "Within", "diagnose"]
