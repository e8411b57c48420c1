"""Read and write the memory of the device: copies from one place in it to another."""

from __future__ import annotations

import torch

from timesink.lab.loads.steady import keep_on

_BYTES = 2 * 2**30
_AT_ONCE = 8


def main() -> None:
    """Copy."""
    source, target = (torch.zeros(_BYTES, dtype=torch.uint8, device="cuda") for _ in range(2))

    def copy() -> None:
        for _ in range(_AT_ONCE):
            target.copy_(source)
        torch.cuda.synchronize()

    keep_on(copy)


if __name__ == "__main__":
    main()
