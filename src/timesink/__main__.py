"""`python -m timesink`."""

from __future__ import annotations

import sys

from timesink.cli import run_process

if __name__ == "__main__":
    sys.exit(run_process())
