"""Why a table or a section is empty, and what to record to fill it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Absent:
    """The reason, and what to try; the hint is empty where nothing is amiss."""

    reason: str
    hint: str = ""

    def to_dict(self) -> dict[str, Any]:
        """In the place of a section."""
        return {"rows": [], "reason": self.reason, "hint": self.hint}


NO_STEPS = Absent("nothing in this trace takes time", "profile a few steps of the program")
NO_OPERATORS = Absent("no operators were recorded", "profile with ProfilerActivity.CPU")
NO_DEVICE_WORK = Absent(
    "no device work was recorded", "profile with ProfilerActivity.CUDA, or that of your device"
)
NO_KERNELS = Absent("no kernels were recorded", NO_DEVICE_WORK.hint)
NO_LAUNCHES = Absent(
    "no device work can be told to a launch", "profile the host and the device together"
)
NO_GAPS = Absent("no device stands still between two activities")
NO_MEMORY = Absent("no memory was recorded", "profile with profile_memory=True")
NO_MODULES = Absent("no modules were recorded", "profile with with_stack=True")
NO_COMMUNICATION = Absent("nothing in this run communicates", "give the folder of all ranks")
ALL_MATCHED = Absent("no collective call lacks a partner among the workers given")
NO_STRAGGLERS = Absent("no rank holds the others up")
