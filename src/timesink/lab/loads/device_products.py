"""Keep the device busy: large products of matrices."""

from __future__ import annotations

import torch

from timesink.lab.loads.steady import keep_on

_SIDE = 8192
_AT_ONCE = 4
"""Products that wait on the device, so that it never runs dry."""


def main() -> None:
    """Multiply."""
    left, right = (torch.randn(_SIDE, _SIDE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product = torch.empty_like(left)

    def multiply() -> None:
        for _ in range(_AT_ONCE):
            torch.mm(left, right, out=product)
        torch.cuda.synchronize()

    keep_on(multiply)


if __name__ == "__main__":
    main()
