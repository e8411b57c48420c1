"""What devices did, and why they were idle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import polars as pl

from timesink.analyses.names import device_word
from timesink.output.blocks import Block, Part, Parts, Section, StackPart, Stacks
from timesink.render import analysis_words
from timesink.render.document.analysed import Analysed, Empty, Made
from timesink.reports.absent import NO_DEVICE_WORK
from timesink.reports.columns import Columns
from timesink.reports.columns.device import DEVICE_TIME, IDLE_CAUSES

_Named: TypeAlias = Mapping[str, tuple[str, str]]
"""Columns that add up: the colour and the words of each."""
_DID, _IDLE = "What {} did, from its first activity to its last", "Why {} was idle during the steps"

_WORK: _Named = {
    "compute_ns": ("kernel", "computation"),
    "exposed_communication_ns": ("communication", "communication alone"),
    "exposed_memory_ns": ("memcpy", "copies alone"),
    "idle_ns": ("idle", "idle"),
}
_CAUSES: _Named = {
    "data_loading_ns": ("data_loader", "data loading"),
    "communication_ns": ("communication", "communication on the host"),
    "sync_ns": ("1", "host waited for the device"),
    "runtime_call_ns": ("runtime", "another runtime call"),
    "stalled_ns": ("7", "host stalled"),
    "host_ns": ("cpu_exec", "not launched yet"),
    "queued_ns": ("5", "launched, and waiting"),
    "unknown_ns": ("other", "launch not recorded"),
}


def devices_section(run: Analysed) -> Made:
    """What each device did and why it was idle; of several, tables too.

    >>> import timesink
    >>> devices_section(Analysed(timesink.analyze(timesink.sample()))).lead
    'GPU 0: kernels 76.8 %, ...'
    """
    times, causes = run.frame("device-time"), run.frame("idle-causes")
    if times.is_empty():
        return Empty("devices", "Devices", NO_DEVICE_WORK)
    word = device_word(run.trace)
    idle = causes.filter(causes["idle_ns"] > 0)
    blocks = [_picture(_DID, word, times, _WORK, DEVICE_TIME)]
    if idle.height:
        blocks.append(_picture(_IDLE, word, idle, _CAUSES, IDLE_CAUSES))
    tables: tuple[Block, ...] = ()
    if times.height > 1:
        tables = tuple(run.table(view) for view in ("devices", "device-time", "idle-causes"))
    lead = "; ".join(analysis_words.device_lines(run.trace))
    return Section("devices", "Devices", (*blocks, *tables), lead)


def _picture(title: str, word: str, frame: pl.DataFrame, named: _Named, about: Columns) -> Block:
    """One device as a whole and its parts, several as bars side by side."""
    shown = {column: said for column, said in named.items() if frame[column].sum()}
    names = [_device(word, number) for number in frame["device"].to_list()]
    if len(names) > 1:
        parts = tuple(
            StackPart(colour, words, tuple(frame[column].fill_null(0).to_list()))
            for column, (colour, words) in shown.items()
        )
        return Stacks(title.format("each device"), "time_ns", tuple(names), parts)
    whole = tuple(
        Part(colour, words, frame[column][0], about[column].meaning)
        for column, (colour, words) in shown.items()
    )
    return Parts(title.format(names[0]), "time_ns", sum(part.value for part in whole), whole)


def _device(word: str, number: int | None) -> str:
    known = number is not None and number >= 0
    return f"{word} {number}" if known else f"{word} without number"
