"""What a process can say about itself."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from typing import Any


def identity(torch: Any) -> dict[str, int | None]:
    """Which of how many workers this process is; unknown where it is alone."""
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return {"rank": distributed.get_rank(), "world_size": distributed.get_world_size()}
    return {"rank": told_number("RANK"), "world_size": told_number("WORLD_SIZE")}


def told_number(variable: str) -> int | None:
    """What whoever started this process tells it in a variable."""
    text = os.environ.get(variable, "")
    return int(text) if text.isdigit() else None


def versions(torch: Any) -> dict[str, str | None]:
    """What the program runs on."""
    found: dict[str, str | None] = {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
    }
    for name in ("cuda", "hip", "xpu"):
        version = getattr(torch.version, name, None)
        if version:
            found[name] = str(version)
    return found


def devices(torch: Any) -> list[str]:
    """UUIDs of the GPUs this process sees, in the order it numbers them, as NVML spells them.

    Empty where it has used none, for none is woken up, and where torch does not tell.
    """
    cuda = torch.cuda
    # Whatever a driver says to that, the recording matters more.
    with suppress(Exception):
        if cuda.is_initialized():
            seen = [cuda.get_device_properties(number) for number in range(cuda.device_count())]
            return [f"GPU-{str(device.uuid).removeprefix('GPU-')}" for device in seen]
    return []
