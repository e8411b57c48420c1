"""The behaviour of a run by its definitions, one call and one sample at a time: slow and plain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum, sqrt
from statistics import median
from typing import Any

Row = dict[str, Any]
Sample = tuple[int, float]


@dataclass
class Function:
    """What a function did in a cycle."""

    time: int = 0
    calls: int = 0
    spans: list[tuple[int, int, int]] = field(default_factory=list)
    """Start, end and time that counts."""


Key = tuple[int, str]
"""Number of the cycle, and function."""


def functions_by_cycle(
    host: Sequence[Row], device: Sequence[Row], cycles: Sequence[tuple[int, int]]
) -> dict[Key, Function]:
    """Every function of every cycle of the one process there is."""
    functions: dict[Key, Function] = defaultdict(Function)
    _add_host_calls(functions, [row for row in host if row["name"] != "oncpu"], cycles)
    _add_on_cpu(functions, [row for row in host if row["name"] == "oncpu"], cycles)
    launches = {row["correlation"]: row for row in host if row.get("correlation")}
    for row in device:
        moment = launches.get(row["correlation"], row)["ts_ns"]
        for number, (start, end) in enumerate(cycles, 1):
            if start <= moment < end:
                function = functions[number, row["name"]]
                function.time += row["dur_ns"]
                function.calls += 1
                function.spans.append((row["ts_ns"], row["ts_ns"] + row["dur_ns"], row["dur_ns"]))
    return functions


def _add_host_calls(
    functions: dict[Key, Function], host: Sequence[Row], cycles: Sequence[tuple[int, int]]
) -> None:
    for row in host:
        is_counted = False
        for number, (start, end) in enumerate(cycles, 1):
            piece = _piece(row, start, end)
            if piece is None:
                continue
            self_time = sum(_innermost(host, row["tid"], moment) is row for moment in range(*piece))
            if self_time or not is_counted:
                function = functions[number, row["name"]]
                function.time += self_time
                function.calls += not is_counted
                function.spans.append((*piece, self_time))
            is_counted = True


def _add_on_cpu(
    functions: dict[Key, Function], host: Sequence[Row], cycles: Sequence[tuple[int, int]]
) -> None:
    counted_places: set[int] = set()
    for number, (start, end) in enumerate(cycles, 1):
        pieces = [(place, _piece(row, start, end)) for place, row in enumerate(host)]
        placed_pieces = [(place, piece) for place, piece in pieces if piece is not None]
        merged: list[list[int]] = []
        for place, piece in sorted(placed_pieces, key=lambda entry: entry[1]):
            if piece[0] == piece[1] and place in counted_places:
                continue
            function = functions[number, "oncpu"]
            function.time += piece[1] - piece[0]
            function.calls += place not in counted_places
            counted_places.add(place)
            if merged and piece[0] < merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], piece[1])
            else:
                merged.append(list(piece))
        if merged:
            functions[number, "oncpu"].spans = [(low, high, high - low) for low, high in merged]


def _piece(row: Row, start: int, end: int) -> tuple[int, int] | None:
    first, last = row["ts_ns"], row["ts_ns"] + row["dur_ns"]
    inside = start <= first < end if first == last else max(first, start) < min(last, end)
    return (max(first, start), min(last, end)) if inside else None


def _innermost(host: Sequence[Row], tid: str, moment: int) -> Row | None:
    around = [
        (row["ts_ns"], -row["dur_ns"], place)
        for place, row in enumerate(host)
        if row["tid"] == tid and row["ts_ns"] <= moment < row["ts_ns"] + row["dur_ns"]
    ]
    return host[max(around)[2]] if around else None


# -- counters --------------------------------------------------------------------------------------


def level(
    spans: Sequence[tuple[int, int, int]], samples: Sequence[Sample]
) -> tuple[float, float, str] | None:
    """Mean, spread and mark of a counter while a function ran; None where it is not known."""
    read = [(_span_level(start, end, samples), weight) for start, end, weight in spans]
    readings = [(reading, weight) for reading, weight in read if reading is not None]
    if not readings:
        return None
    total = sum(weight for _, weight in readings)
    shares = [weight / total if total else 1 / len(readings) for _, weight in readings]
    mean = fsum(reading[0] * share for (reading, _), share in zip(readings, shares, strict=True))
    spread = fsum(
        reading[1] ** 2 * share for (reading, _), share in zip(readings, shares, strict=True)
    )
    interpolated = {reading[2] for reading, _ in readings}
    mark = "some" if len(interpolated) == 2 else "all" if True in interpolated else "none"
    return mean, sqrt(spread), mark


def _span_level(
    start: int, end: int, samples: Sequence[Sample]
) -> tuple[float, float, bool] | None:
    inside = [value for ts, value in samples if start <= ts <= end]
    if len(inside) >= 3:
        mean = fsum(inside) / len(inside)
        return mean, sqrt(fsum((value - mean) ** 2 for value in inside) / len(inside)), False
    ends = [value for value in (_at(start, samples), _at(end, samples)) if value is not None]
    if not ends:
        return None
    return sum(ends) / len(ends), abs(ends[-1] - ends[0]) / 2, True


def _at(moment: int, samples: Sequence[Sample]) -> float | None:
    reach = _reach([ts for ts, _ in samples])
    before = max(((ts, value) for ts, value in samples if ts < moment), default=None)
    after = min(((ts, value) for ts, value in samples if ts >= moment), default=None)
    near = [
        sample
        for sample in (before, after)
        if sample is not None and abs(sample[0] - moment) <= reach
    ]
    if len(near) < 2:
        return near[0][1] if near else None
    (first, low), (last, high) = near
    return low + (high - low) * (moment - first) / (last - first)


def _reach(times: Sequence[int]) -> int:
    steps = [late - early for early, late in pairwise(times)]
    return int(2 * median(steps)) if steps else 2_000_000_000
