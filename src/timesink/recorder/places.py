"""What lies where in the folder of a recording, and how its files are written."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

COUNTERS_FILE = "counters.csv"
CONTROL_FOLDER = ".timesink-recording"
"""Nobody else's: it goes with all that is in it, and `.timesink` may hold baselines."""


def write_whole(path: Path, content: bytes) -> None:
    """A file that is there as a whole or not at all, whoever is killed; `OSError` where not."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise
