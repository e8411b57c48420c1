"""Which faults there are: loads beside the program, then switches in its code."""

from __future__ import annotations

from timesink.lab.faults.fault import GPU, LOADER, SCRATCH, Fault

FAULTS = (
    Fault(
        "cpu_hog",
        "processes that count, several for every core",
        "3 processes per core",
        anomaly=("cpu_contention",),
        # Whoever loads batches has to wait for a core as well.
        cause=("cpu_contention", "data_loading"),
        load=("busy_cores", "--per-core", "3"),
    ),
    Fault(
        "gpu_neighbour",
        "another process multiplies large matrices on the device",
        "products of 8192 x 8192, without a pause",
        # Two who compute draw more power than one: a device at its limit lowers its clock.
        anomaly=("gpu_contention", "gpu_power_cap"),
        cause=("gpu_contention", "gpu_power_cap"),
        needs=(GPU,),
        load=("device_products",),
    ),
    Fault(
        "pcie_copies",
        "another process copies between host and device",
        "pinned memory, both ways at once, without a pause",
        # What it costs depends on how much the workload copies, so no cause is asked for.
        anomaly=("pcie_contention",),
        needs=(GPU,),
        load=("link_copies",),
    ),
    Fault(
        "hbm_copies",
        "another process copies within the memory of the device",
        "2 GiB at a time, without a pause",
        # Whoever copies keeps the device busy as well.
        anomaly=("hbm_contention", "gpu_contention"),
        needs=(GPU,),
        load=("device_copies",),
    ),
    Fault(
        "disk_hog",
        "another process writes to the disk",
        "32 MiB at a time, waiting for the disk each time",
        # Workloads read nothing from the disk, so nothing should become slower.
        anomaly=("disk_io",),
        load=("disk_writes", "--folder", SCRATCH),
    ),
    Fault(
        "python_stall",
        "the main thread sleeps once per cycle",
        "12 ms",
        cause=("host_code",),
        switches={"sleep_ms": 12},
    ),
    Fault(
        "extra_sync",
        "`.item()` in every layer",
        "16 per layer",
        cause=("synchronisation",),
        needs=(GPU,),
        switches={"reads_per_layer": 16},
    ),
    Fault(
        "wrong_precision",
        "some linear layers compute in 32 bits",
        "every fourth layer",
        cause=("kernel_change",),
        # A CPU may be faster in 32 bits.
        needs=(GPU,),
        switches={"full_precision": 1},
    ),
    Fault(
        "slow_loader",
        "one process loads all batches, and sleeps over each example",
        "100 ms per batch",
        cause=("data_loading",),
        needs=(LOADER,),
        switches={"loader_ms": 100},
    ),
    Fault(
        "more_work",
        "the model has more layers",
        "a fifth more, one at least",
        # More layers are more launches of the same kernels.
        cause=("workload_change", "kernel_change"),
        switches={"more_depth": 0.2},
    ),
)
