"""Where the real recordings are.

Not in conftest.py: who imports that runs it once more, and all that it puts in place.
"""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def find_shared() -> Path | None:
    folder = Path(os.environ.get("TIMESINK_SHARED", REPOSITORY.parent / "shared"))
    return folder if (folder / "data").is_dir() else None
