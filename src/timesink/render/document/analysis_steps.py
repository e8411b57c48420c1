"""Where steps go: the average one, and each of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.breakdown import PARTS, average_step
from timesink.analyses.steps import find_steps
from timesink.model import units
from timesink.output.blocks import Block, Part, Parts, Section, StackPart, Stacks
from timesink.render import analysis_words
from timesink.render.document.analysed import Analysed, Empty, Made
from timesink.reports.absent import NO_STEPS, Absent
from timesink.reports.columns.calls import STEPS

_UNMARKED = Absent("no steps are marked", "call step() of the profiler after each one")
MOST_BARS = 200
"""More than this cannot be told apart side by side."""


def breakdown_section(run: Analysed) -> Made:
    """The average step and its parts, which add up to it.

    >>> import timesink
    >>> parts = breakdown_section(Analysed(timesink.analyze(timesink.sample()))).blocks[0]
    >>> abs(sum(part.value for part in parts.parts) - parts.total) < 1
    True
    """
    average, title = average_step(run.trace), analysis_words.breakdown_title(run.trace)
    if not average.get("total_ns"):
        return Empty("breakdown", title, NO_STEPS)
    parts = tuple(
        Part(part, analysis_words.PART_NAMES[part], average[f"{part}_ns"], _meaning(part))
        for part in PARTS
        if average[f"{part}_ns"]
    )
    bar = Parts("The average step", "time_ns", average["total_ns"], parts)
    return Section("breakdown", title, (bar,), f"{analysis_words.steps_sentence(run.trace)}.")


def steps_section(run: Analysed) -> Made:
    """Each step as a bar of its parts; many steps in groups of neighbours.

    >>> import timesink
    >>> steps_section(Analysed(timesink.analyze(timesink.sample()))).blocks[0].labels
    ('3', '4')
    """
    frame = run.frame("steps")
    if frame.is_empty() or not find_steps(run.trace)["marked"][0]:
        return Empty("steps", "Steps", _UNMARKED)
    if frame.height == 1:
        # Its parts are those of the average step.
        return Section("steps", "Steps", (run.table("steps"),))
    names = {
        f"{part}_ns": analysis_words.PART_NAMES[part] for part in PARTS if frame[f"{part}_ns"].sum()
    }
    bars = stacks("Steps and their parts", frame, "name", names)
    blocks: tuple[Block, ...] = (bars, run.table("steps"))
    return Section("steps", "Steps", blocks, grouped_lead(frame.height))


def grouped_lead(steps: int) -> str:
    """What to say where a bar stands for several steps.

    >>> grouped_lead(150), grouped_lead(1000)
    ('', 'Each bar is the mean of 5 neighbouring steps of 1 000.')
    """
    size = -(-steps // MOST_BARS)
    if size < 2:
        return ""
    return f"Each bar is the mean of {size} neighbouring steps of {units.count(steps)}."


def stacks(title: str, frame: pl.DataFrame, label: str, parts: dict[str, str]) -> Stacks:
    """One bar per row, or per group of neighbours where there are too many; parts by column.

    >>> frame = pl.DataFrame({"name": ["1", "2"], "kernel_ns": [5, 7]})
    >>> stacks("Steps", frame, "name", {"kernel_ns": "kernels"}).parts[0].id
    'kernel'
    """
    starts = np.arange(0, frame.height, max(1, -(-frame.height // MOST_BARS)))
    ends = np.append(starts[1:], frame.height)
    names = frame[label].cast(pl.String).to_list()
    return Stacks(
        title,
        "time_ns",
        tuple(
            names[start] if end - start == 1 else f"{names[start]} to {names[end - 1]}"
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ),
        tuple(
            StackPart(column.removesuffix("_ns"), name, _means(frame[column], starts, ends))
            for column, name in parts.items()
        ),
    )


def _means(column: pl.Series, starts: np.ndarray, ends: np.ndarray) -> tuple[float, ...]:
    values = column.cast(pl.Float64).fill_null(0).to_numpy()
    sums = np.add.reduceat(values, starts)
    return tuple((sums / (ends - starts)).round(1).tolist())


def _meaning(part: str) -> str:
    return STEPS[f"{part}_ns"].meaning
