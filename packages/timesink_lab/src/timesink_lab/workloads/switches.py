"""The programs by name, and the faults in them: switched on by an environment variable.

So nothing in a recording but its effect tells of a fault.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from timesink.recorder.processes import is_alive


@dataclass(frozen=True)
class LabWorkload:
    """A program that can be recorded, and how."""

    name: str
    """Its module beside this one."""
    summary: str
    marker: str = ""
    """The function that is one cycle; empty: a step of the optimizer is."""
    has_loader: bool = False
    """Whether other processes load its batches."""

    @property
    def module(self) -> str:
        """What `python -m` runs."""
        return f"{__package__}.{self.name}"


WORKLOADS = (
    LabWorkload("vit_train", "vision transformer in training, AdamW, bfloat16", has_loader=True),
    LabWorkload("denoise", "diffusion transformer that draws pictures, bfloat16", "denoise_step"),
)


# Faults in the code of a workload, switched on from outside.

VARIABLE = "TIMESINK_LAB_SWITCHES"


@dataclass(frozen=True)
class Switches:
    """What is wrong with the code; as shipped, nothing is."""

    sleep_ms: float = 0.0
    """The main thread sleeps so long in every cycle."""
    reads_per_layer: float = 0.0
    """How often the host reads a number back from the device in every layer."""
    full_precision: float = 0.0
    """1: some layers compute in 32 instead of 16 bits."""
    loader_ms: float = 0.0
    """Batches come from one process, which takes so long for each."""
    more_depth: float = 0.0
    """The model is deeper by this part of its layers, by one layer at least."""

    def stall(self) -> None:
        """Let the host do nothing, once per cycle."""
        if self.sleep_ms:
            time.sleep(self.sleep_ms / 1e3)

    def depth(self, layers: int) -> int:
        """How many layers the model gets."""
        return layers + (max(1, int(layers * self.more_depth)) if self.more_depth else 0)

    @property
    def reads(self) -> range:
        """Once for every read of a layer."""
        return range(int(self.reads_per_layer))


def switched_on() -> Switches:
    """The switches that the environment names, such as `sleep_ms=12,full_precision=1`."""
    text = os.environ.get(VARIABLE, "")
    settings = dict(item.split("=", 1) for item in text.split(",") if item)
    unknown = settings.keys() - {field_info.name for field_info in fields(Switches)}
    if unknown:
        raise SystemExit(f"{VARIABLE}: no switch is called {', '.join(sorted(unknown))}")
    return Switches(**{name: float(value) for name, value in settings.items()})


def as_text(switches: Mapping[str, float]) -> str:
    """The same for the environment."""
    return ",".join(f"{name}={value:g}" for name, value in switches.items())


# Programs that start at a word: a load must run before the program beside it is recorded.
#
# The words are empty files in a folder that an environment variable names.  A program started by
# hand finds no such variable and does not wait.

FOLDER = "TIMESINK_LAB_WORDS"
STARTER = "TIMESINK_LAB_STARTER"
_POLL_S = 0.005
_MAX_S = 600.0
"""Whoever should say the word is gone by then."""


def starter() -> int | None:
    """Number of the process that started all this; None for a program started by hand."""
    text = os.environ.get(STARTER, "")
    return int(text) if text.isdigit() else None


def print_word(word: str) -> None:
    """Say a word to those who wait for it."""
    folder = os.environ.get(FOLDER)
    if folder:
        (Path(folder) / word).touch()


def wait_for(word: str) -> None:
    """Wait until the word is said, or until whoever should say it is gone."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    until, number = time.monotonic() + _MAX_S, starter()
    while not (Path(folder) / word).exists():
        is_gone = number is not None and not is_alive(number)
        if is_gone or time.monotonic() > until:
            raise SystemExit(f"nobody said {word!r}")
        time.sleep(_POLL_S)
