"""Where a program that is recorded or watched takes part: once torch is imported."""

from __future__ import annotations

import functools
import os
import re
import sys
from pathlib import Path
from typing import Any

from timesink.recorder.agent.engine import CycleEngine
from timesink.recorder.agent.functions import watch_functions
from timesink.recorder.agent.hooks import watch_annotations, watch_optimizers
from timesink.recorder.agent.profiling import hide_from_compiler
from timesink.recorder.agent.shutdown import versions
from timesink.recorder.agent.watched import WatchEngine
from timesink.recorder.agent.watched_marks import watch_cycles
from timesink.recorder.cycle_channel import channel_in
from timesink.recorder.folder import Notebook, RecordPlan, read_plan

_running: list[CycleEngine] = []
"""The engine of this process, once it has one."""
_watched: list[WatchEngine] = []
"""The same, where it is watched."""

_LAUNCHERS = ("torchrun", "accelerate", "deepspeed")
"""Commands that start workers."""
_LAUNCHING = re.compile(
    r"(.*\.)?(torch\.distributed\.(run|launch)|accelerate\.commands\.\w+|deepspeed\.launcher\.\w+)"
)
"""Modules behind these commands."""


def begin(control: str | Path) -> None:
    """Take part in a recording: torch was just imported."""
    torch = sys.modules["torch"]
    if not hasattr(torch, "profiler"):
        return
    folder = Path(control)
    plan = read_plan(folder)
    Notebook(folder).add("torch", **versions(torch))
    if plan.watch:
        _begin_to_watch(plan, torch, folder)
        return
    engine = CycleEngine(plan, torch, folder)
    _running[:] = [engine]
    with engine.program_goes_on():
        _watch_forks()
        hide_from_compiler(torch)
        if plan.whole:
            if not _only_launches(sys.argv, sys.orig_argv):
                engine.begin_whole()
        elif plan.marker:
            watch_annotations(torch, engine, plan.marker)
            watch_functions(torch, engine, plan.marker)
        elif not plan.by_hand:
            watch_optimizers(torch, engine)


def _begin_to_watch(plan: RecordPlan, torch: Any, control: Path) -> None:
    for earlier in _watched:
        if not earlier.is_over and earlier.channel == channel_in(control):
            # Its cycles are told already.
            return
        earlier.end("another watcher has come")
    engine = WatchEngine(plan, torch, control)
    _watched[:] = [engine]
    with engine.program_goes_on():
        _watch_forks()
        hide_from_compiler(torch)
        watch_cycles(engine, torch)


def current_engine() -> CycleEngine | None:
    """The engine of this process that records; None where it has none."""
    return _running[0] if _running else None


def current_watch_engine() -> WatchEngine | None:
    """The engine of this process that tells its cycles; None where it has none."""
    return _watched[0] if _watched else None


@functools.cache
def _watch_forks() -> None:
    """Once for all engines: it cannot be taken back."""

    def forget() -> None:
        for engine in _running:
            engine.forget_in_fork()
        for watched in _watched:
            watched.forget_in_fork()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


def _only_launches(arguments: list[str], typed: list[str]) -> bool:
    """Whether this process starts the workers that are meant, and does no work itself.

    A module goes by the name `-m` until it is found; what was typed says more.
    """
    first = len(typed) - max(1, len(arguments))
    program = typed[first].removeprefix("-m") if first >= 0 else ""
    module = program.removesuffix(".py").replace("/", ".")
    return Path(program).name in _LAUNCHERS or bool(_LAUNCHING.fullmatch(module))
