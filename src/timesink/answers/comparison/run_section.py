"""Several runs of either side: what they say together, and each of them in the order they ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from timesink.analyses.comparison.pair import ComparedRuns
from timesink.analyses.statistics.repeats import SIDES, Decision, TimedRun, neighbours
from timesink.answers.comparison.cycle_picture import OTHER, USUAL, WIDTH, scale_of
from timesink.model import units
from timesink.output import drawing as draw
from timesink.output.blocks import Block, Section
from timesink.output.numbers import column, table
from timesink.output.pictures import picture

_HEIGHT = 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 20, 40, 46
_ROUND = 4.0
_SLOW = 0.9
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
    blocks: list[Block] = [_figures(plain.decision)]
    if not brief:
        blocks += [picture(run_picture(ordered)), _runs(ordered)]
    lead = "Each run is one measurement; the 99 % interval holds what runs of one side differ by."
    yield Section("runs", "Runs", tuple(blocks), lead)


def _figures(found: Decision) -> Block:
    changes = (found.typical, found.fast, found.mean)
    bounds = [(None, None) if one.interval_pct is None else one.interval_pct for one in changes]
    lows, highs = zip(*bounds, strict=True)
    return table(
        "run-figures",
        f"Cycle time over {found.runs[0]} and {found.runs[1]} runs",
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
            column("run", "run", "text", [run.name for run in ordered]),
            column("side", "side", "text", [run.side for run in ordered]),
            column("cycles", "cycles", "count", [len(run.cycles_ns) for run in ordered]),
            column("typical_ns", "typical", "time_ns", [run.typical_ns for run in ordered]),
            column("fast_ns", "fast", "time_ns", [run.fast_ns for run in ordered]),
            column("mean_ns", "mean", "time_ns", [run.mean_ns for run in ordered]),
        ],
    )


def run_picture(ordered: Sequence[TimedRun]) -> draw.Drawing:
    """A dot per run at its typical cycle, a line from its fast to its slow cycles.

    The dashed line is the mean of each pair of neighbours: where that moves, the machine drifts.
    """
    spans = [(run.fast_ns, float(np.quantile(run.cycles_ns, _SLOW))) for run in ordered]
    low, high = min(one[0] for one in spans), max(one[1] for one in spans)
    # Few runs that were held up must not press all others together.
    high = min(high, 3 * float(np.median([run.typical_ns for run in ordered])))
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
        shapes.append(draw.Circle(place, height(run.typical_ns), _ROUND, fill=colour))
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
    )
    return draw.Drawing(WIDTH, _TOP + _HEIGHT + _BOTTOM, tuple(shapes), "Every run", about)


def _legend(ordered: Sequence[TimedRun]) -> Iterator[draw.Shape]:
    left = float(_LEFT)
    for side, colour in zip(SIDES, (USUAL, OTHER), strict=True):
        name = f"{side}, {units.counted(sum(run.side == side for run in ordered), 'runs')}"
        yield draw.Circle(left + _ROUND, _TOP - 20, _ROUND, fill=colour)
        yield draw.Label(left + 14, _TOP - 16, name, 13, bold=True)
        left += draw.text_width(name, 13, bold=True) + 40
    yield draw.Label(left, _TOP - 16, "dashed: mean of neighbours (drift)", 12, fill=draw.QUIET)
