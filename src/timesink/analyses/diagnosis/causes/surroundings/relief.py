"""Resources that are there again, in a sentence."""

from __future__ import annotations

from timesink.analyses.diagnosis.diagnosis import Anomaly
from timesink.model import amounts

_TOLD = {
    "gpu_clock": "The clock of {device} rose",
    "gpu_power_cap": "{device} no longer runs into its power limit",
    "gpu_thermal": "{device} is no longer too hot to keep its clock",
    "gpu_contention": "Others keep {device} less busy",
    "hbm_contention": "Others read and write the memory of {device} less",
    "pcie_contention": "Others fill the PCIe link of {device} less",
    "nvlink_contention": "Others fill the links between {device} and its peers less",
    "network": "The network is less loaded",
    "cpu_contention": "Others take the processor less",
    "cpu_clock": "The processor runs at a higher clock",
    "host_memory": "More memory of the host is left",
    "disk_io": "The disks are less loaded",
}
ADVICE = "The first run was held up: to judge what was changed, compare with one that was not."


def relief_sentence(anomaly: Anomaly) -> str:
    """What became of an anomaly of the first run, which is told as seen from the second.

    >>> slow = Anomaly("gpu_clock", "GPU 0", "clock", "MHz", 1980.0, 345.0, 0.8, 0.0, "", "")
    >>> relief_sentence(slow)
    'The clock of GPU 0 rose: clock 345 → 1 980 MHz.'
    """
    told = _TOLD[anomaly.cause].format(device=anomaly.device)
    amount = amounts.amounts(anomaly.new, anomaly.base, anomaly.unit)
    return f"{told}: {anomaly.metric} {amount}."
