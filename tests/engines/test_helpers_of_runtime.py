"""Small cases of what the helpers of runtime give."""

from __future__ import annotations

from pathlib import Path

from timesink.runtime.engine import out_of_sight
from timesink.runtime.ray_driver import other_versions


def test_out_of_sight() -> None:
    told = out_of_sight(Path("rank0.json")).message
    assert told.startswith("rank0.json: not to be seen from the Ray worker on ")


def test_other_versions() -> None:
    told = other_versions("node7", ("", "3.12")).message
    start = "the Ray worker on node7 has no timesink and Python 3.12; here are timesink "
    assert told.startswith(start)
