"""The part of the recorder that lives in the program: it counts cycles and drives the profiler."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from timesink.collect.record.agent.annotations import watch_annotations
from timesink.collect.record.agent.compiling import hide_from_compiler
from timesink.collect.record.agent.engine import Engine
from timesink.collect.record.agent.facts import versions
from timesink.collect.record.agent.functions import watch_functions
from timesink.collect.record.agent.optimizers import watch_optimizers
from timesink.collect.record.notes import Notebook
from timesink.collect.record.plan import read_plan

_running: list[Engine] = []
"""The engine of this process, once it has one."""

_LAUNCHERS = ("torchrun", "accelerate", "deepspeed")


def begin(control: str | Path) -> None:
    """Take part in a recording: torch was just imported."""
    torch = sys.modules["torch"]
    if not hasattr(torch, "profiler"):
        return
    folder = Path(control)
    plan = read_plan(folder)
    Notebook(folder).add("torch", **versions(torch))
    engine = Engine(plan, torch, folder)
    _running[:] = [engine]
    hide_from_compiler(torch)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=engine.forget_in_fork)
    if plan.whole:
        if not _only_launches():
            engine.begin_whole()
    elif plan.marker:
        watch_annotations(torch, engine, plan.marker)
        watch_functions(torch, engine, plan.marker)
    elif not plan.by_hand:
        watch_optimizers(torch, engine)


def running() -> Engine | None:
    """The engine of this process; None where it has none."""
    return _running[0] if _running else None


def _only_launches() -> bool:
    """Whether this process starts the workers that are meant, and does no work itself."""
    program = Path(sys.argv[0]) if sys.argv else Path()
    return program.stem in _LAUNCHERS or program.parts[-3:-1] == ("torch", "distributed")
