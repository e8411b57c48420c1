"""Fill the link between host and device: copies of pinned memory, both ways at once."""

from __future__ import annotations

import torch

from timesink.lab.loads.steady import keep_on

_BYTES = 256 * 2**20
_AT_ONCE = 4


def main() -> None:
    """Copy."""
    there, back = (torch.empty(_BYTES, dtype=torch.uint8, pin_memory=True) for _ in range(2))
    received, sent = (torch.empty(_BYTES, dtype=torch.uint8, device="cuda") for _ in range(2))
    downwards, upwards = torch.cuda.Stream(), torch.cuda.Stream()

    def copy() -> None:
        for _ in range(_AT_ONCE):
            with torch.cuda.stream(downwards):
                received.copy_(there, non_blocking=True)
            with torch.cuda.stream(upwards):
                back.copy_(sent, non_blocking=True)
        torch.cuda.synchronize()

    keep_on(copy)


if __name__ == "__main__":
    main()
