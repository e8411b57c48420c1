"""`python -m timesink`."""

from __future__ import annotations

import sys

from timesink.cli import main

if __name__ == "__main__":
    sys.exit(main())
