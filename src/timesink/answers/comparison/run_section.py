"""Several runs of either side: what they say together, and each of them in the order they ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePath

import numpy as np

from timesink.analyses.comparison.pair import ComparedRuns
from timesink.analyses.statistics.repeats import Decision, TimedRun, neighbours
from timesink.answers.comparison.cycle_picture import OTHER, USUAL, WIDTH, scale_of
from timesink.model import units
from timesink.model.diagnosis import SIDES
from timesink.output import drawing as draw
from timesink.output.blocks import Block, Section
from timesink.output.numbers import column, table
from timesink.output.pictures import picture

_HEIGHT = 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 20, 40, 46
_ROUND = 4.0
_SLOW = 0.9
_APART = 8
"""Runs further from the middle than so many usual distances do not fit into the picture."""
_BEYOND = " Arrows are runs that do not fit, with their time."
_LEAD = "Each run is one measurement; the 99 % interval holds what runs of one side differ by."
_FIGURES = {
    "typical": "typical cycle",
    "fast": "fast cycle (a tenth is faster)",
    "mean": "mean of all cycles",
}


def run_sections(plain: ComparedRuns | None, *, brief: bool) -> Iterator[Section]:
    """What runs say, where there are several of a side; on pages every run as well."""
    if plain is None or plain.decision is None:
        return
    ordered = sorted(plain.runs, key=lambda run: run.started_us)
    counts = plain.decision.runs
    many = " and ".join(map(str, dict.fromkeys(counts)))
    title = f"Cycle time over {many} runs{' a side' * (len(set(counts)) == 1)}"
    if brief:
        yield Section("runs", title, (_figures(plain.decision, "", ""),), _LEAD)
        return
    blocks = (
        _figures(plain.decision, "run-figures", title),
        picture(run_picture(ordered)),
        _runs(ordered),
    )
    yield Section("runs", "Runs", blocks, _LEAD)


def _figures(found: Decision, id_: str, title: str) -> Block:
    changes = (found.typical, found.fast, found.mean)
    bounds = [(None, None) if one.interval_pct is None else one.interval_pct for one in changes]
    lows, highs = zip(*bounds, strict=True)
    return table(
        id_,
        title,
        [
            column("figure", "cycle time", "text", [_FIGURES[one.statistic] for one in changes]),
            column("base_ns", "base", "time_ns", [one.base_ns for one in changes]),
            column("new_ns", "new", "time_ns", [one.new_ns for one in changes]),
            column(
                "change_pct",
                "change %",
                "percent",
                [one.change_pct for one in changes],
                signed=True,
            ),
            column("low_pct", "at least %", "percent", lows, signed=True),
            column("high_pct", "at most %", "percent", highs, signed=True),
        ],
    )


def _runs(ordered: Sequence[TimedRun]) -> Block:
    return table(
        "run-list",
        "Runs in the order they ran",
        [
            column("run", "run", "text", _names(ordered)),
            column("side", "side", "text", [run.side for run in ordered]),
            column("cycles", "cycles", "count", [len(run.cycles_ns) for run in ordered]),
            column("typical_ns", "typical", "time_ns", [run.typical_ns for run in ordered]),
            column("fast_ns", "fast", "time_ns", [run.fast_ns for run in ordered]),
            column("mean_ns", "mean", "time_ns", [run.mean_ns for run in ordered]),
        ],
    )


def _names(ordered: Sequence[TimedRun]) -> list[str]:
    """Names of runs without the folders that all of them are in."""
    every = [PurePath(run.name).parts for run in ordered]
    same = 0
    while all(len(one) > same + 1 for one in every) and len({one[same] for one in every}) == 1:
        same += 1
    return ["/".join(one[same:]) for one in every]


def run_picture(ordered: Sequence[TimedRun]) -> draw.Drawing:
    """A dot per run at its typical cycle, a line from its fast to its slow cycles.

    The dashed line is the mean of each pair of neighbours: where that moves, the machine drifts.
    """
    spans = [(run.fast_ns, float(np.quantile(run.cycles_ns, _SLOW))) for run in ordered]
    low, high = _shown(ordered, spans)
    scale, unit = scale_of(high)
    room = 0.08 * (high - low) or 0.01 * high
    frame = draw.Frame(_LEFT, _TOP, WIDTH - _LEFT - _RIGHT, _HEIGHT)
    bottom, top = max(0.0, low - room) / scale, (high + room) / scale
    upwards, across = frame.upwards(bottom, top), frame.across(0.5, len(ordered) + 0.5)

    def height(time_ns: float) -> float:
        return upwards(min(max(time_ns / scale, bottom), top))

    ticks = draw.nice_ticks(bottom, top, 6)
    shapes: list[draw.Shape] = [
        *draw.y_axis(frame, upwards, ticks, f"cycle time, {unit}", room=44),
        *draw.grid(frame, upwards=[upwards(tick) for tick in ticks]),
    ]
    places = {id(run): across(number) for number, run in enumerate(ordered, 1)}
    drift = [
        (
            sum(places[id(run)] for run in pair) / 2,
            height(sum(run.typical_ns for run in pair) / 2),
        )
        for pair in neighbours(ordered)
    ]
    for start, end in pairwise(drift):
        shapes.append(draw.Line(*start, *end, draw.QUIET, dash=(5, 4)))
    for run, (fast, slow) in zip(ordered, spans, strict=True):
        colour = USUAL if run.side == SIDES[0] else OTHER
        place = places[id(run)]
        shapes.append(draw.Line(place, height(fast), place, height(slow), colour, width=1.6))
        if bottom <= run.typical_ns / scale <= top:
            shapes.append(draw.Circle(place, height(run.typical_ns), _ROUND, fill=colour))
        else:
            shapes += _beyond(frame, place, run.typical_ns, colour, is_up=run.typical_ns > high)
    numbers = [one for one in draw.nice_ticks(1, len(ordered), 10) if one == round(one) and one]
    shapes += draw.x_axis(frame, across, numbers or [1], "run")
    shapes += _legend(ordered)
    said = [
        f"{side}: {units.counted(sum(run.side == side for run in ordered), 'runs')}"
        for side in SIDES
    ]
    about = (
        f"Cycle time of every run in the order they ran ({', '.join(said)}): a dot at the typical "
        "cycle, a line from fast to slow cycles, dashed the mean of neighbours."
        f"{_BEYOND if any(isinstance(one, draw.Polygon) for one in shapes) else ''}"
    )
    return draw.Drawing(WIDTH, _TOP + _HEIGHT + _BOTTOM, tuple(shapes), "Every run", about)


def _shown(
    ordered: Sequence[TimedRun], spans: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Which times fit: few runs that were held up must not press all others together."""
    typical = np.array([run.typical_ns for run in ordered])
    middle = float(np.median(typical))
    apart = _APART * float(np.median(np.abs(typical - middle)))
    half = max(apart, 2 * float(np.median([slow - fast for fast, slow in spans])), 0.01 * middle)
    lows, highs = zip(*spans, strict=True)
    return max(min(lows), middle - half), min(max(highs), middle + half)


def _beyond(
    frame: draw.Frame, place: float, time_ns: float, colour: draw.Colour, *, is_up: bool
) -> Iterator[draw.Shape]:
    """A run that does not fit: an arrow at the border, and its time."""
    tip, foot = (frame.top, frame.top + 9) if is_up else (frame.bottom, frame.bottom - 9)
    yield draw.Polygon(((place, tip), (place - 5, foot), (place + 5, foot)), colour)
    is_right = place > frame.left + 0.9 * frame.width
    beside = place - 9 if is_right else place + 9
    anchor: draw.Anchor = "end" if is_right else "start"
    height = (tip + foot) / 2 + 4
    yield draw.Label(beside, height, units.brief_ns(time_ns), 11, anchor, halo=draw.PAPER)


def _legend(ordered: Sequence[TimedRun]) -> Iterator[draw.Shape]:
    left = float(_LEFT)
    for side, colour in zip(SIDES, (USUAL, OTHER), strict=True):
        name = f"{side}, {units.counted(sum(run.side == side for run in ordered), 'runs')}"
        yield draw.Circle(left + _ROUND, _TOP - 20, _ROUND, fill=colour)
        yield draw.Label(left + 14, _TOP - 16, name, 13, bold=True)
        left += draw.text_width(name, 13, bold=True) + 40
    yield draw.Label(left, _TOP - 16, "dashed: mean of neighbours (drift)", 12, fill=draw.QUIET)
