"""Others write to the disk."""

from __future__ import annotations

from timesink.lab.faults.fault import LOAD, SCRATCH, Fault

FAULT = Fault(
    name="disk_hog",
    kind=LOAD,
    summary="another process writes to the disk",
    strength="32 MiB at a time, waiting for the disk each time",
    # Workloads read nothing from the disk, so nothing should become slower.
    anomaly=("disk_io",),
    load=("disk_writes", "--folder", SCRATCH),
)
