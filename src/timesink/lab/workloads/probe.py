"""Say as JSON which PyTorch and which device the workloads will find here."""

from __future__ import annotations

import json
import sys

import torch


def main() -> None:
    """Print what is there."""
    has_gpu = torch.cuda.is_available()
    found = {
        "torch": torch.__version__,
        "gpu": torch.cuda.get_device_name(0) if has_gpu else None,
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
