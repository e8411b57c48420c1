"""How a behaviour table is spelled as CSV: one column of the file per column of the model."""

from __future__ import annotations

CSV_COLUMNS = {
    "cycle": "cycle",
    "pid": "pid",
    "hostname": "host",
    "beta_pct": "beta_pct",
    "function_name": "function",
    "metric_name": "metric",
    "device": "device",
    "func_type": "function_class",
    "mu_pct": "mu",
    "sigma_pct": "sigma",
    "duration": "dur_ns",
    "interpolation_status": "interpolated",
    "anchor_name": "anchor",
    "anchor_dur_us": "cycle_dur_ns",
    "cycle_start_ts": "cycle_ts_ns",
    "instances_count": "calls",
    "simple_name": "short_name",
    "unit": "unit",
}
"""Columns of the file, in order, and what they are in the model.

Files of others have no `unit` and perhaps no `simple_name`.  Times are microseconds in the file.
"""
TYPE_COLUMN = "cycle_type"
"""A last column, where a file holds other cycles than its name says."""

NO_METRIC = "N/A"
NO_DEVICE = "N/A"
"""What stands for a device that a table does not name."""
INTERPOLATION_MARKS = {" ": "none", "*": "some", "**": "all"}
