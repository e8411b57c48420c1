"""What the names of host calls and kernels mean, and what to call the device.  Data and tests."""

from __future__ import annotations

from timesink.analyses.columns import device_columns
from timesink.model.trace import Trace
from timesink.model.vendors import (
    DEVICE_WORD_OF,
)

ROOT = "CallTreeRoot"
"""Stands for the thread itself where work was launched outside every call."""

LIGHTNING = "pytorch-lightning"
"""The framework that marks its actions and modules itself, by these prefixes."""
LIGHTNING_ACTION, LIGHTNING_MODULE = "[pl][profile]", "[pl][module]"


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


def device_word(trace: Trace) -> str:
    """What users call an accelerator of this maker; `CPU` where there is none at all."""
    word = DEVICE_WORD_OF.get(trace.metadata.vendor)
    return word or ("CPU" if device_columns(trace).is_empty() else "GPU")
