"""timesink as `pip install --no-deps` leaves it: beside the standard library, and nothing else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import timesink

COMMAND = (sys.executable, "-S", "-m", "timesink")
"""Without `-S` Python finds what else is installed."""


def bare_environment(folder: Path, *more: Path) -> dict[str, str]:
    """An environment in which Python finds timesink and what lies in `more`."""
    folder.mkdir(exist_ok=True)
    package = folder / "timesink"
    if not package.exists():
        package.symlink_to(Path(timesink.__file__).parent)
    places = os.pathsep.join(map(str, (folder, *more)))
    return {**os.environ, "PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "80"}
