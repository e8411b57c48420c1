"""timesink as `pip install --no-deps` leaves it: beside the standard library, and nothing else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import timesink
import timesink_lab

COMMAND = (sys.executable, "-S", "-m", "timesink")
"""Without `-S` Python finds what else is installed."""


def bare_environment(folder: Path, *more: Path) -> dict[str, str]:
    """An environment in which Python finds timesink, its test bench and what lies in `more`."""
    folder.mkdir(exist_ok=True)
    for package in (timesink, timesink_lab):
        link = folder / package.__name__
        if not link.exists():
            link.symlink_to(Path(package.__file__).parent)
    places = os.pathsep.join(map(str, (folder, *more)))
    return {**os.environ, "PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "80"}
