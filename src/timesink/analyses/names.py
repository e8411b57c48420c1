"""What the names of host calls and kernels mean, and what to call the device.  Data and tests."""

from __future__ import annotations

import re

from timesink.analyses.columns import device_columns
from timesink.model.trace import Trace

ROOT = "CallTreeRoot"
"""Stands for the thread itself where work was launched outside every call."""

LIGHTNING = "pytorch-lightning"
"""The framework that marks its actions and modules itself, by these prefixes."""
LIGHTNING_ACTION, LIGHTNING_MODULE = "[pl][profile]", "[pl][module]"

_COLLECTIVE_CALL = re.compile(
    r"^(?:(?:nccl|rccl|gloo|mpi|ucc|cncl|hccl|eccl|xccl|ccl|oneccl|flagcx):|record_param_comms)"
)
_COLLECTIVE_KERNEL = re.compile(
    r"nccl|rccl|cncl|hccl|oneccl|xccl|cross_device_reduce"
    r"|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|hcom_",
    re.IGNORECASE,
)
_WAITING = re.compile(
    r"(?:Stream|Device|Event|Queue|Ctx|Notifier)_?Sync(?:hronize)?|SyncDevice|Synchronize(?:Stream"
    r"|Device|Event)|hipMemcpyWithStream|urQueueFinish|urEventWait|zeEventHostSynchronize"
    r"|^(?:cuda|hip|cu)Memcpy(?:HtoD|DtoH|DtoD)?(?:_v2)?$"
)
_DEVICE_WORDS = {
    "nvidia": "GPU",
    "amd": "GPU",
    "cambricon": "MLU",
    "ascend": "NPU",
    "intel": "XPU",
    "mtia": "MTIA",
}


def is_profiler_step(name: str) -> bool:
    return name.startswith("ProfilerStep#")


def is_data_loader(name: str) -> bool:
    """Whether a call fetches the next batch."""
    return name.startswith("enumerate(DataPipe)#") or (
        name.startswith("enumerate(DataLoader)#") and name.endswith(".__next__")
    )


def is_optimizer_step(name: str) -> bool:
    return name.startswith("Optimizer.step")


def is_wrapper(name: str) -> bool:
    """Whether a call only frames others: the forward of a parallel model, an optimizer method."""
    return name in {"DataParallel.forward", "DistributedDataParallel.forward"} or name.startswith(
        "Optimizer."
    )


def is_lightning_mark(name: str) -> bool:
    """Whether PyTorch Lightning marked one of its actions or modules."""
    return name.startswith((LIGHTNING_ACTION, LIGHTNING_MODULE))


def is_collective_call(name: str) -> bool:
    """Whether a host call communicates with other ranks, whatever the library."""
    return _COLLECTIVE_CALL.match(name) is not None


def is_collective_kernel(name: str) -> bool:
    """Whether a kernel communicates with other devices.

    Compiled kernels name every operator they fuse, so theirs tell nothing.
    """
    return _COLLECTIVE_KERNEL.search(name) is not None and not name.startswith("triton_")


def waits_for_device(name: str) -> bool:
    """Whether a runtime call returns only when the device has finished something."""
    return _WAITING.search(name) is not None


def device_word(trace: Trace) -> str:
    """What users call an accelerator of this maker; `CPU` where there is none at all."""
    word = _DEVICE_WORDS.get(trace.metadata.vendor)
    return word or ("CPU" if device_columns(trace).is_empty() else "GPU")
