"""The environment of a recorded program: as it was, and every Python in it lets the agent in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from timesink.collect.record.plan import CONTROL_VARIABLE

SITE = Path(__file__).resolve().parent / "site"
"""Holds the module Python loads when it starts."""


def recorded_environment(environment: Mapping[str, str], control: Path) -> dict[str, str]:
    """The variables a recorded program is started with."""
    places = [str(SITE), *filter(None, [environment.get("PYTHONPATH", "")])]
    return {
        **environment,
        "PYTHONPATH": os.pathsep.join(places),
        CONTROL_VARIABLE: str(control),
    }
