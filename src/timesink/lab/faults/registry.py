"""Which faults there are."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.lab.choosing import chosen
from timesink.lab.faults import (
    cpu_hog,
    disk_hog,
    extra_sync,
    gpu_neighbour,
    hbm_copies,
    memory_hog,
    more_work,
    pcie_copies,
    python_busy,
    python_stall,
    slow_loader,
    wrong_precision,
)
from timesink.lab.faults.fault import Fault

FAULTS = (
    cpu_hog.FAULT,
    gpu_neighbour.FAULT,
    pcie_copies.FAULT,
    hbm_copies.FAULT,
    disk_hog.FAULT,
    memory_hog.FAULT,
    python_stall.FAULT,
    python_busy.FAULT,
    extra_sync.FAULT,
    wrong_precision.FAULT,
    slow_loader.FAULT,
    more_work.FAULT,
)


def faults_named(names: Sequence[str] | None) -> tuple[Fault, ...]:
    """The faults of these names; all where none is named.

    >>> [one.name for one in faults_named(["python_stall"])]
    ['python_stall']
    """
    return FAULTS if names is None else chosen("fault", names, FAULTS)
