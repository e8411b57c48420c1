"""The length of cycles as pictures: of every cycle, sides beside each other, and of every run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from math import ceil
from pathlib import PurePath
from statistics import fmean

import msgspec
import numpy as np

from timesink.analyses.statistics.robust import median_deviation
from timesink.answers.views import listed_table, meanings_of
from timesink.comparison.causes.slow_steps import CycleSplit
from timesink.comparison.repeated_runs import Decision, TimedRun, neighbours
from timesink.comparison.results import ComparedRuns, Process
from timesink.model import units
from timesink.model.diagnosis import SIDES
from timesink.output import drawing as draw
from timesink.output.blocks import Block, Section
from timesink.output.pictures import picture

WIDTH = 1008
_HEIGHT = 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 20, 46, 46
_BETWEEN = 28
_MIN_BAR = 3.0
"""Pixels of a bar; of more cycles than fit, some share one."""
USUAL, OTHER = draw.Colour("#5f9fd0", "#5f9fd0"), draw.Colour("#d55e00", "#d55e00")
_WARM_UP = draw.Hatch(draw.Colour("#ffffff", "#ffffff"), gap=4, width=1.4)


class CycleBars(msgspec.Struct, frozen=True):
    """Cycles in order, and how they are painted."""

    name: str
    lengths_ns: tuple[float, ...]
    colours: tuple[draw.Colour, ...]
    """One per cycle."""
    warm_up: int = 0
    """How many of the first ones are hatched."""

    @property
    def mean_ns(self) -> float:
        """Mean length."""
        return fmean(self.lengths_ns)


def side(
    name: str, lengths_ns: Sequence[float], colour: draw.Colour, warm_up: int = 0
) -> CycleBars:
    """Cycles of one colour."""
    return CycleBars(name, tuple(lengths_ns), (colour,) * len(lengths_ns), warm_up)


def cycle_picture(sides: Sequence[CycleBars]) -> draw.Drawing:
    """A bar for every cycle; each side is as wide as it has cycles."""
    longest = max(length for side in sides for length in side.lengths_ns)
    scale, unit = units.time_scale(longest)
    ticks = draw.nice_ticks(0, 1.08 * longest / scale, 5)
    # Sides from left to right; none is too narrow for its name.
    room = WIDTH - _LEFT - _RIGHT - _BETWEEN * (len(sides) - 1)
    least = sum(len(side.lengths_ns) for side in sides) / 3
    shares = [max(len(side.lengths_ns), least) for side in sides]
    wide = [room * share / sum(shares) for share in shares]
    starts = accumulate((w + _BETWEEN for w in wide[:-1]), initial=float(_LEFT))
    frames = [
        draw.Frame(left, _TOP, size, _HEIGHT) for left, size in zip(starts, wide, strict=True)
    ]
    upwards = frames[0].upwards(0, 1.08 * longest / scale)
    shapes: list[draw.Shape] = [
        *draw.y_axis(frames[0], upwards, ticks, f"step time, {unit}", room=44)
    ]
    phrases = []
    for frame, side in zip(frames, sides, strict=True):
        count = len(side.lengths_ns)
        # From numbers of cycles, which begin with 1, to the middles of bars.
        across = frame.across(0.5, count + 0.5)
        shapes += draw.grid(frame, upwards=[upwards(tick) for tick in ticks])
        shapes += _bars(frame, side, scale, upwards, across)
        shapes += _heading(frame, side)
        shapes += draw.x_axis(frame, across, draw.whole_ticks(count, 7), "step")
        mean = units.brief_ns(side.mean_ns)
        phrases.append(f"{side.name} ({units.count_noun(count, 'steps')}, {mean} on average)")
    about = f"Step times: {'; '.join(phrases)}."
    height = _TOP + _HEIGHT + _BOTTOM
    return draw.Drawing(WIDTH, height, tuple(shapes), "Step times", about)


def _bars(
    frame: draw.Frame, bars: CycleBars, scale: float, upwards: draw.Scale, across: draw.Scale
) -> Iterator[draw.Shape]:
    together = ceil(len(bars.lengths_ns) * _MIN_BAR / frame.width)
    for first in range(0, len(bars.lengths_ns), together):
        lengths = bars.lengths_ns[first : first + together]
        left, right = across(first + 0.5), across(first + len(lengths) + 0.5)
        top = upwards(fmean(lengths) / scale)
        gap = min(1.5, (right - left) / 5)
        yield draw.Rect(
            left + gap, top, right - left - 2 * gap, frame.bottom - top,
            fill=bars.colours[first], hatch=_WARM_UP if first < bars.warm_up else None,
        )  # fmt: skip
    mean = upwards(bars.mean_ns / scale)
    yield draw.Line(frame.left, mean, frame.right, mean, draw.INK, dash=(5, 4))
    yield draw.Line(frame.left, frame.bottom, frame.right, frame.bottom, draw.QUIET)


def _heading(frame: draw.Frame, bars: CycleBars) -> Iterator[draw.Shape]:
    """The name of a side, its mean, and what is hatched."""
    warm = (
        f", {units.count_noun(bars.warm_up, 'cycles')} of warm-up hatched" if bars.warm_up else ""
    )
    more = f"mean {units.brief_ns(bars.mean_ns)}{warm}"
    name = draw.cut_text(bars.name, 13, frame.width / 2, bold=True)
    yield draw.Label(frame.left, _TOP - 16, name, 13, bold=True)
    start = draw.text_width(name, 13, bold=True) + 10
    note = draw.cut_text(more, 12, frame.width - start)
    yield draw.Label(frame.left + start, _TOP - 16, note, 12, fill=draw.QUIET)


# -- cycles of one process, split into typical and slow ones ---------------------------------------


def split_blocks(role: Process, split: CycleSplit, id_: str) -> Iterator[Block]:
    """Every cycle as a picture, the slow ones in another colour, and as a table with its side.

    There is no picture where a length is not known.
    """
    cycles = role.behaviour.select("cycle", "cycle_dur_ns").unique().sort("cycle")
    lengths, slow = dict(cycles.iter_rows()), set(split.slow)
    if lengths and all(lengths.values()):
        colours = tuple(OTHER if cycle in slow else USUAL for cycle in lengths)
        name = "all steps, slow ones in orange" if slow else "all steps"
        bars = CycleBars(name, tuple(map(float, lengths.values())), colours, len(split.warm_up))
        yield picture(cycle_picture([bars]))
    sides = {
        **dict.fromkeys(split.typical, "typical"),
        **dict.fromkeys(split.warm_up, "warm-up"),
        **dict.fromkeys(split.fast, "unusually short"),
        **dict.fromkeys(split.slow, "slow"),
    }
    values = {
        "cycle": lengths,
        "dur_ns": [length or None for length in lengths.values()],
        "side": [sides.get(cycle) for cycle in lengths],
    }
    meanings = meanings_of("roles", "cycles")
    yield listed_table("cycle-lengths", id_, "Cycles", (), values, meanings=meanings)


# -- several runs of either side: what they say together, and each in the order they ran -----------

_RUNS_HEIGHT = 220
_RUNS_LEFT, _RUNS_RIGHT, _RUNS_TOP, _RUNS_BOTTOM = 62, 20, 40, 46
_ROUND = 4.0
_SLOW = 0.9
_APART = 8
"""Runs further from the middle than so many usual distances do not fit into the picture."""
_BEYOND = " Arrows are runs that do not fit, with their time."
_LEAD = "Each run is one measurement; the 99 % interval includes how much runs of one side differ."
_FIGURES = {
    "typical": "typical step",
    "fast": "fast step (a tenth is faster)",
    "mean": "mean of all steps",
}


def run_sections(plain: ComparedRuns | None, *, brief: bool) -> Iterator[Section]:
    """What runs say, where there are several of a side; on pages every run as well."""
    if plain is None or plain.decision is None:
        return
    ordered = sorted(plain.runs, key=lambda run: run.started_us)
    counts = plain.decision.runs
    many = units.count_noun(counts[-1], "runs")
    many = many if len(set(counts)) == 1 else f"{counts[0]} and {many}"
    title = f"Step time over {many}{' a side' * (len(set(counts)) == 1)}"
    if brief:
        yield Section("runs", title, (_figures(plain.decision, "", ""),), _LEAD)
        return
    blocks = (
        _figures(plain.decision, "run-figures", title),
        picture(run_picture(ordered)),
        _runs(ordered),
    )
    yield Section("runs", "Runs", blocks, _LEAD)


def _figures(decision: Decision, id_: str, title: str) -> Block:
    changes = (decision.typical, decision.fast, decision.mean)
    bounds = [
        (None, None) if change.interval_pct is None else change.interval_pct for change in changes
    ]
    lows, highs = zip(*bounds, strict=True)
    values = {
        "figure": [_FIGURES[change.statistic] for change in changes],
        "low_pct": lows,
        "high_pct": highs,
    }
    return listed_table("run-figures", id_, title, changes, values)


def _runs(ordered: Sequence[TimedRun]) -> Block:
    values = {"run": _names(ordered), "cycles": [len(run.cycles_ns) for run in ordered]}
    return listed_table("run-list", "run-list", "Runs in the order they ran", ordered, values)


def _names(ordered: Sequence[TimedRun]) -> list[str]:
    """Names of runs without the folders that all of them are in."""
    every = [PurePath(run.name).parts for run in ordered]
    same = 0
    while (
        all(len(parts) > same + 1 for parts in every) and len({parts[same] for parts in every}) == 1
    ):
        same += 1
    return ["/".join(parts[same:]) for parts in every]


def run_picture(ordered: Sequence[TimedRun]) -> draw.Drawing:
    """A dot per run at its typical cycle, a line from its fast to its slow cycles.

    The dashed line is the mean of each pair of neighbours: where that moves, the machine drifts.
    """
    spans = [(run.fast_ns, float(np.quantile(run.cycles_ns, _SLOW))) for run in ordered]
    low, high = _visible_range(ordered, spans)
    scale, unit = units.time_scale(high)
    room = 0.08 * (high - low) or 0.01 * high
    frame = draw.Frame(_RUNS_LEFT, _RUNS_TOP, WIDTH - _RUNS_LEFT - _RUNS_RIGHT, _RUNS_HEIGHT)
    bottom, top = max(0.0, low - room) / scale, (high + room) / scale
    upwards, across = frame.upwards(bottom, top), frame.across(0.5, len(ordered) + 0.5)

    def height(time_ns: float) -> float:
        return upwards(min(max(time_ns / scale, bottom), top))

    ticks = draw.nice_ticks(bottom, top, 6)
    shapes: list[draw.Shape] = [
        *draw.y_axis(frame, upwards, ticks, f"step time, {unit}", room=44),
        *draw.grid(frame, upwards=[upwards(tick) for tick in ticks]),
    ]
    places = {id(run): across(number) for number, run in enumerate(ordered, 1)}
    drift = [
        (sum(places[id(run)] for run in pair) / 2, height(sum(run.typical_ns for run in pair) / 2))
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
    shapes += draw.x_axis(frame, across, draw.whole_ticks(len(ordered), 10), "run")
    shapes += _legend(ordered)
    phrases = [
        f"{side}: {units.count_noun(sum(run.side == side for run in ordered), 'runs')}"
        for side in SIDES
    ]
    about = (
        f"Step time of every run in the order they ran ({', '.join(phrases)}): a dot at the "
        "typical step, a line from fast to slow steps, dashed the mean of neighbours."
        f"{_BEYOND if any(isinstance(shape, draw.Polygon) for shape in shapes) else ''}"
    )
    return draw.Drawing(
        WIDTH, _RUNS_TOP + _RUNS_HEIGHT + _RUNS_BOTTOM, tuple(shapes), "Every run", about
    )


def _visible_range(
    ordered: Sequence[TimedRun], spans: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Which times fit: few runs that were held up must not press all others together."""
    typical = np.array([run.typical_ns for run in ordered])
    middle = float(np.median(typical))
    apart = _APART * median_deviation(typical, middle)
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
    left = float(_RUNS_LEFT)
    for side, colour in zip(SIDES, (USUAL, OTHER), strict=True):
        name = f"{side}, {units.count_noun(sum(run.side == side for run in ordered), 'runs')}"
        yield draw.Circle(left + _ROUND, _RUNS_TOP - 20, _ROUND, fill=colour)
        yield draw.Label(left + 14, _RUNS_TOP - 16, name, 13, bold=True)
        left += draw.text_width(name, 13, bold=True) + 40
    yield draw.Label(
        left, _RUNS_TOP - 16, "dashed: mean of neighbours (drift)", 12, fill=draw.QUIET
    )
