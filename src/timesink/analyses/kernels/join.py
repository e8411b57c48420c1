"""Counters of single kernels joined with a timeline of the same program, launch by launch.

A kernel profiler knows how well a kernel used the hardware, a timeline knows why it ran.  Both list
launches in order, but they spell names differently, hold more or fewer steps, kernels are replaced
from run to run, and only some of the launches may have been measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import encode
from timesink.analyses.kernels.calls import Sampling
from timesink.analyses.kernels.families import OTHER
from timesink.analyses.kernels.join_alignment import (
    Launches,
    TimelineWindow,
    fill_by_name,
    fill_by_order,
    windows_of,
)
from timesink.analyses.kernels.join_search import Placed, place_by_count, place_launches
from timesink.analyses.kernels.table import SHAPE
from timesink.analyses.names import cut_name, kernel_name, short_name, template_arguments
from timesink.model.alignment import common_subsequence
from timesink.model.arrays import prefix_sums, true_runs
from timesink.model.intervals import Flags, Ints
from timesink.model.units import count, count_noun, share

_MAX_ROUNDS = 4
_WINDOWS_TRIED, _LONG = 3, 8192
"""So many windows are tried, but for long recordings only the one that knows most of it."""
_SHORTEST_STRETCH = 16
"""Launches in a row without a place that are worth a look at other windows."""
_WORTHWHILE = 0.02
"""Share of them that must find places there."""
_NEIGHBOURS = 8
_SURE = 0.5
"""Share of the launches around one that must have places, for its own place to count."""
_COUNTED = 0.8
"""Share of the launches known to the window that must be where counting puts them."""
_BACK_AND_FORTH = 0.1
"""Share of the launches that may stand before the one they follow, when places are counted."""
_GLANCE = 512
"""Launches at which a glance is taken first, at three places of a long recording."""
_HOPELESS = 0.2
"""Share of them that must find places, for it to be worth looking at the rest."""
_BEYOND_DOUBT = 0.9
"""Share of the launches with places, and of what these are worth, from which on it is no chance."""
_BETTER_THAN_CHANCE = 1.15
"""How much better it must run through the window than backwards, when in doubt."""
_MAX_PAIRS = 100_000_000
"""Pairs of equal launches beyond which a path takes too long; a common subsequence does not."""


def find_launches(
    counters: Launches,
    timed: Launches,
    windows: Sequence[TimelineWindow],
    rest: TimelineWindow,
    sampling: Sampling | None,
) -> tuple[Placed, list[TimelineWindow]]:
    """Look for launches in the window that fits best, and for what is left in others.

    What lies outside of all windows (`rest`) is looked at last.  Places are rows of the timeline;
    also the windows that were used.
    """
    placed, used = Placed.nowhere(len(counters)), list[TimelineWindow]()
    for turn in range(_MAX_ROUNDS):
        rows = np.arange(len(counters))
        if turn:
            # Stretches that are long enough for a look at other windows.
            starts, ends = true_runs(placed.place < 0)
            lengths = ends - starts
            long = np.repeat(lengths >= min(_SHORTEST_STRETCH, len(counters)), lengths)
            rows = np.flatnonzero(placed.place < 0)[long]
        if not len(rows):
            break
        offered = [*windows, rest] if turn and len(rest.rows) else windows
        window, part = _in_best_window(counters[rows], timed, offered, sampling)
        gained = part.place >= 0
        if gained.mean() < _WORTHWHILE:
            break
        placed.place[rows[gained]] = window.rows[part.place[gained]]
        placed.exact[rows[gained]] = part.exact[gained]
        used.append(window)
    return placed, used


def _in_best_window(
    counters: Launches,
    timed: Launches,
    windows: Sequence[TimelineWindow],
    sampling: Sampling | None,
) -> tuple[TimelineWindow, Placed]:
    """Of the windows that know most of the launches the one through which they run best."""
    distinct: dict[bytes, TimelineWindow] = {}
    for window in windows:
        distinct.setdefault(timed.kind[window.rows].tobytes(), window)

    def shared_launches(window: TimelineWindow) -> int:
        return int(np.isin(counters.kind, timed.kind[window.rows]).sum())

    most = _WINDOWS_TRIED if len(counters) <= _LONG else 1
    tried: list[tuple[TimelineWindow, Placed]] = []
    for window in sorted(distinct.values(), key=shared_launches, reverse=True)[:most]:
        tried.append((window, _in_window(counters, timed[window.rows], sampling)))
        if tried[-1][1].exact.all():
            break
    return max(tried, key=lambda attempt: (attempt[1].exact.sum(), attempt[1].score))


def _in_window(counters: Launches, window: Launches, sampling: Sampling | None) -> Placed:
    stride = _stride(counters, window, sampling)
    placed = _by_count(counters, window, sampling)
    if placed is None:
        placed = _path(counters.kind, window.kind, stride)
    sure = _sure(placed.exact)
    place, exact = np.where(sure, placed.place, -1), placed.exact & sure
    if exact.mean() >= _SURE:
        if stride <= 1:
            place = fill_by_order(place, counters, window)
            exact = place >= 0
        place = fill_by_name(place, counters, window, stride)
    return Placed(place, exact, placed.score)


def _stride(counters: Launches, window: Launches, sampling: Sampling | None) -> float:
    """How many launches one stands for; by how few follow one another where nobody says."""
    if sampling is not None:
        return float(sampling.every)
    if 2 * len(counters) > len(window) or len(counters) < 2:
        return 1.0
    most = int(max(counters.kind.max(), window.kind.max())) + 1
    ours, theirs = (
        launches.kind[:-1] * most + launches.kind[1:] for launches in (counters, window)
    )
    neighbours = float(np.isin(ours, theirs).mean())
    return 1.0 if neighbours >= _SURE else float(round(len(window) / len(counters)))


def _by_count(counters: Launches, window: Launches, sampling: Sampling | None) -> Placed | None:
    """Places by count; None where they are few or go back and forth."""
    if sampling is None or sampling.per != "kernel":
        return None
    placed = place_by_count(counters, window, sampling.every)
    shared = int(np.isin(counters.kind, window.kind).sum())
    rounds = int((np.diff(placed.place[placed.exact]) <= 0).sum())
    likely = len(counters) * sampling.every / len(window)
    few = placed.exact.sum() < _COUNTED * shared
    if few or rounds > 2 * likely + _BACK_AND_FORTH * len(counters):
        return None
    return placed


def _sure(exact: Flags) -> Flags:
    """Launches most of whose neighbours have places as well; single ones are chance."""
    before = prefix_sums(exact)
    at = np.arange(len(exact))
    first = np.maximum(at - _NEIGHBOURS, 0)
    beyond = np.minimum(at + _NEIGHBOURS + 1, len(exact))
    return np.asarray(before[beyond] - before[first] >= _SURE * (beyond - first))


def _path(launches: Ints, window: Ints, stride: float) -> Placed:
    """The best path; an empty one for launches that have too little to do with the window."""
    ordered = np.sort(window)
    first, beyond = (np.searchsorted(ordered, launches, side) for side in ("left", "right"))
    if int((beyond - first).sum()) > _MAX_PAIRS:
        rows, places = common_subsequence(launches, window)
        place = np.full(len(launches), -1)
        place[rows] = places
        return Placed(place, place >= 0, len(rows))
    if len(launches) > 6 * _GLANCE:
        for start in (np.array([1, 3, 5]) * len(launches) // 6 - _GLANCE // 2).tolist():
            glance = launches[start : start + _GLANCE]
            seen = place_launches(glance, window, stride)
            likely = _sure_share(seen) >= _HOPELESS
            if likely and not _is_chance(seen, glance, window, stride):
                return place_launches(launches, window, stride)
        return Placed.nowhere(len(launches))
    path = place_launches(launches, window, stride)
    hopeless = _is_chance(path, launches, window, stride)
    return Placed.nowhere(len(launches)) if hopeless else path


def _is_chance(path: Placed, launches: Ints, window: Ints, stride: float) -> bool:
    """Whether a path with gaps is hardly better than one for the launches backwards.

    A window with few kinds of kernels, or places far apart, fits many a sequence by chance.
    """
    if min(path.straightness, _sure_share(path)) > _BEYOND_DOUBT:
        return False
    backwards = place_launches(launches[::-1], window, stride)
    return path.score < _BETTER_THAN_CHANCE * backwards.score


def _sure_share(path: Placed) -> float:
    return float((path.exact & _sure(path.exact)).mean())


_CUT = "..."


def numbered_launches(counters: pl.DataFrame, timeline: pl.DataFrame) -> tuple[Launches, Launches]:
    """The launches of two tables of calls, with numbers that are equal where they mean the same.

    A kind is name, template arguments, grid and block.  What only one of the tables tells (the
    arguments of a mangled name, a grid) does not count.
    """
    sides = (counters, timeline)
    encoded = [encode(side["name"]) for side in sides]
    texts = [[text or "" for text in names] for _, names in encoded]
    spell, number = _spelling_rule(texts[0]), dict[str, int]()
    function = [
        np.array([number.setdefault(spell(text), len(number)) for text in side], dtype=np.int64)
        for side in texts
    ]
    told_by_both = [
        name
        for name in SHAPE
        if all(name in side.columns and side[name].null_count() < side.height for side in sides)
    ]
    keys = [
        pl.DataFrame({"function": functions[codes], "arguments": arguments[codes]}).hstack(
            side.select(pl.col(told_by_both).cast(pl.Int64).fill_null(-1))
        )
        for side, (codes, _), functions, arguments in zip(
            sides, encoded, function, _shared_arguments(texts, function), strict=True
        )
    ]
    kind = pl.concat(keys).select(pl.struct(pl.all()).rank("dense")).to_series()
    kinds, families = kind.cast(pl.Int64).to_numpy(), _families(sides)
    cut = counters.height
    return (
        Launches(kinds[:cut], keys[0]["function"].to_numpy(), families[:cut]),
        Launches(kinds[cut:], keys[1]["function"].to_numpy(), families[cut:]),
    )


def _families(sides: tuple[pl.DataFrame, pl.DataFrame]) -> Ints:
    if not all("family" in side.columns for side in sides):
        return np.full(sum(side.height for side in sides), -1)
    codes, names = encode(pl.concat([side["family"].cast(pl.String) for side in sides]))
    family_codes = [-1 if name in {None, OTHER} else code for code, name in enumerate(names)]
    return np.array([*family_codes, -1], dtype=np.int64)[codes]


def _spelling_rule(texts: list[str]) -> Callable[[str], str]:
    """How to spell names: as tables do that cut them, where there are cut ones."""
    if not any(text.endswith(_CUT) for text in texts):
        return kernel_name
    return lambda text: kernel_name(
        (text if text.endswith(_CUT) else cut_name(short_name(text))).removesuffix(_CUT)
    )


def _shared_arguments(texts: list[list[str]], functions: list[Ints]) -> list[Ints]:
    """Numbers of template arguments that both sides have for a function; 0 for any others.

    Where profilers spell arguments in ways that cannot be compared they do not tell kernels apart.
    """
    arguments = [
        [(function, template_arguments(text)) for function, text in zip(codes, side, strict=True)]
        for codes, side in zip(functions, texts, strict=True)
    ]
    shared = [pair for pair in dict.fromkeys(arguments[0]) if pair[1] and pair in set(arguments[1])]
    number = {pair: place for place, pair in enumerate(shared, 1)}
    return [np.array([number.get(pair, 0) for pair in side], dtype=np.int64) for side in arguments]


MIN_ALIGNED = 0.8
"""Share of the measured launches that must be found in the timeline."""
HOW = pl.Enum(["exact", "name"])
_WARM_UP = 16
"""Launches before the first that was found, from which on they are a reason of their own."""


class Join(msgspec.Struct, frozen=True, eq=False):
    """Which launch of the timeline each measured launch is."""

    rows: pl.Series
    """For each measured launch its row among the timeline's calls; null where none was found."""
    how: pl.Series
    """`exact` by name, grid and block, `name` without these or by family; null where not found."""
    calls: int
    aligned: int
    aligned_share: float
    exact_share: float
    aligned_time_share: float | None
    """The same by measured time; None where no time was measured."""
    min_aligned: float
    timeline_calls: int
    timeline_covered_share: float
    """Launches of the steps used that were found, of all launches of these steps."""
    steps: tuple[str, ...]
    """Steps of the timeline that were used; empty where none are marked."""
    reason: str
    """Why the recordings are taken for different programs; empty where they are not."""

    @property
    def refused(self) -> bool:
        """Whether too little was found for the recordings to be of one program."""
        return bool(self.reason)


def join_calls(
    calls: pl.DataFrame,
    timeline: pl.DataFrame,
    *,
    steps: pl.Series | None = None,
    sampling: Sampling | None = None,
    min_aligned: float = MIN_ALIGNED,
) -> Join:
    """Find the launches of a kernel profiler in a timeline of the same program.

    Both are tables of `kernel_calls`; `steps` is the step of each row of the timeline, as
    `launch_origins` says.  Where it has steps, launches are looked for in one of them, so that
    equal layers are distinguished; several measured steps find their places in the same one.
    """
    counters, timed = numbered_launches(calls, timeline)
    sampling = sampling if sampling is not None and sampling.every > 1 else None
    lanes = _lanes(timeline, ("pid", "device"))
    devices = _devices(timeline, lanes)
    placed, used = Placed.nowhere(calls.height), list[TimelineWindow]()
    for rows in _lanes(calls, ("host", "pid", "device")):
        # The lane that knows most of the launches; of equal ones that of the same device.
        (device,) = _devices(calls, [rows])
        matches = [int(np.isin(counters.kind[rows], timed.kind[lane]).sum()) for lane in lanes]
        best = max(
            range(len(lanes)), key=lambda number: (matches[number], devices[number] == device)
        )
        windows = windows_of(timed.function, lanes[best], steps)
        inside = np.concatenate([window.rows for window in windows])
        rest = TimelineWindow(np.setdiff1d(lanes[best], inside))
        part, seen = find_launches(counters[rows], timed, windows, rest, sampling)
        placed.place[rows], placed.exact[rows] = part.place, part.exact
        used += seen
    return _summed_up(calls, timeline, placed, used, min_aligned)


def _lanes(calls: pl.DataFrame, names: Sequence[str]) -> list[Ints]:
    """Rows by process and device, in order; these launch independently of one another."""
    lane_columns = [name for name in names if name in calls.columns]
    if not lane_columns or calls.is_empty():
        return [np.arange(calls.height)]
    numbered = calls.select(lane_columns).with_row_index("row")
    parts = numbered.group_by(lane_columns, maintain_order=True).agg(pl.col("row").cast(pl.Int64))
    return [part.to_numpy() for part in parts["row"]]


def _devices(calls: pl.DataFrame, lanes: Sequence[Ints]) -> list[int | None]:
    if "device" not in calls.columns or calls.is_empty():
        return [None] * len(lanes)
    return [calls["device"][int(lane[0])] for lane in lanes]


def _summed_up(
    calls: pl.DataFrame,
    timeline: pl.DataFrame,
    placed: Placed,
    used: Sequence[TimelineWindow],
    min_aligned: float,
) -> Join:
    aligned = placed.place >= 0
    total = max(calls.height, 1)
    aligned_share = float(aligned.sum() / total)
    offered = np.unique(np.concatenate([placed.place[:0], *(window.rows for window in used)]))
    is_aligned = pl.Series(aligned)
    how = pl.Series(np.where(placed.exact, "exact", "name"), dtype=pl.String).cast(HOW)
    spent = calls["dur_ns"].fill_null(0).to_numpy() if "dur_ns" in calls.columns else np.zeros(1)
    all_time = int(spent.sum())
    return Join(
        rows=pl.select(pl.when(is_aligned).then(pl.Series(placed.place)).alias("row")).to_series(),
        how=pl.select(pl.when(is_aligned).then(how).alias("how")).to_series(),
        calls=calls.height,
        aligned=int(aligned.sum()),
        aligned_share=aligned_share,
        exact_share=float((aligned & placed.exact).sum() / total),
        aligned_time_share=float(spent[aligned].sum() / all_time) if all_time else None,
        min_aligned=min_aligned,
        timeline_calls=timeline.height,
        timeline_covered_share=float(np.isin(offered, placed.place).sum() / max(len(offered), 1)),
        steps=tuple(dict.fromkeys(window.step for window in used if window.step is not None)),
        reason="" if aligned_share >= min_aligned else _reason(aligned, timeline.height),
    )


def _reason(aligned: Flags, timeline: int) -> str:
    if not len(aligned) or not timeline:
        return "one of the recordings holds no kernel"
    reason = (
        f"only {share(int(aligned.sum()), len(aligned))} of the "
        f"{count_noun(len(aligned), 'kernels')}"
        " were found in the timeline"
    )
    first = int(aligned.argmax()) if aligned.any() else 0
    if first >= _WARM_UP and 2 * first > (~aligned).sum():
        return f"{reason}: the first {count(first)} are not in it; initialisation and warm-up?"
    return f"{reason}: another program, batch size or software version?"
