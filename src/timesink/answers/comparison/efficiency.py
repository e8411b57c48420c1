"""What both sides compute and move, and how near that is to the roofs: in words, and as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from timesink.analyses.comparison.efficiency import (
    FASTER,
    PRECISION,
    SLOWER,
    TOO_LITTLE,
    EfficiencyChange,
)
from timesink.analyses.kernels.peaks import DevicePeaks
from timesink.analyses.work.cycle_work import CycleEfficiency
from timesink.answers.views import listed_table
from timesink.model import units
from timesink.model.diagnosis import SIDES
from timesink.model.units import from_to
from timesink.output.blocks import Block, Section, Table, Text

_TITLE = "How near to the limit"
_NS_PER_US = 1000.0
_MOST = 5
"""Rows of the table in text."""
_OTHER_SHARE = 0.1
"""Modelled parts of the kernel time that are further apart are told."""
_LIKE = 0.05
"""Parts of it that are told by other launches, and said to be."""
_FIGURES = {name: name.upper() for name in ("mfu", "hfu", "mbu")}


def efficiency_lines(found: EfficiencyChange, names: tuple[str, str] = SIDES) -> list[str]:
    """What is exact first: the work.  Then how near both sides come to their limits."""
    base, new = found.base, found.new
    if base is None or new is None:
        return [_without_shapes(found, names)]
    shares = [one.modelled_share for one in (base, new)]
    told = _once(units.share(one, 1) for one in shares)
    if found.reason == TOO_LITTLE:
        return [f"Only {told} of the kernel time is modelled: work is not compared."]
    lines = [_work_line(found, base, new), _share_line(found, base, new)]
    if abs(shares[0] - shares[1]) > _OTHER_SHARE:
        lines.append(f"Of the kernel time {told} is modelled, which these figures are of.")
    if max(base.like_share, new.like_share) > _LIKE:
        like = _once(units.share(one.like_share, 1) for one in (base, new))
        lines.append(f"Of {like} of the kernel time the launch is not known: estimated.")
    return [line for line in lines if line]


def _without_shapes(found: EfficiencyChange, names: tuple[str, str]) -> str:
    """Which side lacks shapes, and what the other one does."""
    one, lacking = (found.base, names[1]) if found.new is None else (found.new, names[0])
    other = names[0] if found.new is None else names[1]
    said = f"{lacking} has no shapes (record_shapes=True): its work is not known"
    if one is None or one.mfu is None or one.peaks is None:
        return f"{said}."
    figures = ", ".join(_of_side(one))
    return f"{said}. {other}: {figures} of {one.peaks.device}."


def _of_side(one: CycleEfficiency) -> Iterator[str]:
    for name, word in _FIGURES.items():
        value = getattr(one, name)
        if value is not None and (name != "hfu" or _recomputes(one)):
            yield f"{word} {units.share(value, 1)}"


def _recomputes(one: CycleEfficiency | None) -> bool:
    return one is not None and one.amount("matrix_flop", "recomputed") > 0


def _work_line(found: EfficiencyChange, base: CycleEfficiency, new: CycleEfficiency) -> str:
    flop, moved = ([one.amount(name) for one in (base, new)] for name in ("matrix_flop", "bytes"))
    products = [f"{units.digits(value / 1e9)} GFLOP" for value in flop]
    sizes = [units.size_bytes(value) for value in moved]
    changes = Counter(found.operators["change"])
    timed = (changes[SLOWER], changes[FASTER])
    rounded, other = changes[PRECISION], changes.total() - sum(timed) - changes[PRECISION]
    before, now = (", ".join(one.matrix_flop_by_precision) for one in (base, new))
    precision = f" ({before} → {now})" if before != now else ""
    # Work whose launch is not known is estimated, and no change by itself.
    if found.same_work or (products[0] == products[1] and sizes[0] == sizes[1]):
        lead = "About the same work" if other else "The same work"
        lead += " in another precision" if rounded and not other else ""
        amounts = f"{products[1]} of matrix products{precision} and {sizes[1]} per cycle"
    else:
        lead = "The work changed"
        amounts = f"{_both(products, flop)} of matrix products{precision}, {_both(sizes, moved)}"
        amounts += " per cycle"
    counts = [
        f"{units.counted(rounded, 'operators')} in another precision" if rounded else "",
        f"{units.counted(other, 'operators')} with other work" if other else "",
        _timed(*timed) if any(timed) else "",
    ]
    return f"{lead}: {'; '.join([amounts, *filter(None, counts)])}."


def _timed(slower: int, faster: int) -> str:
    """How many operators take another time for the same work."""
    told = {"slower": slower, "faster": faster}
    said = [f"{word}: {units.counted(many, 'operators')}" for word, many in told.items() if many]
    return f"same work but {', '.join(said)}"


def _both(said: list[str], values: list[float]) -> str:
    if said[0] == said[1]:
        return said[1]
    return f"{from_to(*said)} ({units.change(*values)})"


def _share_line(found: EfficiencyChange, base: CycleEfficiency, new: CycleEfficiency) -> str:
    """Shares of peaks; of different devices both are named."""
    devices = [_device(one.peaks) for one in (base, new)]
    if base.peaks is None and new.peaks is None:
        return ""
    told = []
    for name, word in {**_FIGURES, "roof_share": "operators at"}.items():
        values = [getattr(one, name) for one in (base, new)]
        if name == "hfu" and not (_recomputes(base) or _recomputes(new)):
            continue
        if all(value is not None for value in values):
            said = _once(units.share(value, 1) for value in values)
            told.append(f"{word} {said}" + (" of their roofs" if name == "roof_share" else ""))
    if found.same_device:
        ideal = _once(units.brief_ns(one.ideal_ns or 0.0) for one in (base, new))
        cycle = _once(units.brief_ns(one.cycle_ns) for one in (base, new))
        told.append(f"at the roofs of {devices[0]} a cycle would take {ideal} of {cycle}")
        return f"{', '.join(told)}."
    apart = f"Different devices, {devices[0]} → {devices[1]}: shares are of their own peaks"
    return f"{apart}: {', '.join(told)}." if told else f"{apart}."


def _device(peaks: DevicePeaks | None) -> str:
    """A device, and which of its peaks are not the published ones."""
    if peaks is None:
        return "a device without peaks"
    others = {"measured": peaks.measured, "given": peaks.given}
    told = [f"{how}: {' '.join(names)}" for how, names in others.items() if names]
    return f"{peaks.device} ({'; '.join(told)})" if told else peaks.device


def _once(said: Iterable[str]) -> str:
    """What both sides say, once where it is the same."""
    before, now = said
    return now if before == now else from_to(before, now)


# -- as blocks and values --------------------------------------------------------------------------


def efficiency_blocks(
    found: EfficiencyChange | None,
    top: int | None = None,
    *,
    names: tuple[str, str] = SIDES,
    id_: str = "efficiency",
) -> Iterator[Block]:
    """A few sentences, and a table where operators changed; nothing without shapes."""
    if found is None:
        return
    yield from (Text(f"{line[0].upper()}{line[1:]}") for line in efficiency_lines(found, names))
    if found.operators.height:
        yield operators_block(found, None if top is None else min(top, _MOST), id_)


def efficiency_section(
    found: EfficiencyChange | None, top: int | None, names: tuple[str, str] = SIDES
) -> Iterator[Section]:
    """The same under a heading."""
    blocks = tuple(efficiency_blocks(found, top, names=names, id_="efficiency-operators"))
    if blocks:
        yield Section("efficiency", _TITLE, blocks)


def operators_block(found: EfficiencyChange, most: int | None, id_: str) -> Table:
    """Operators whose work, precision or time changed."""
    every = found.operators
    rows = every.head(most or every.height)
    values = {
        name: [_of_both(row, name) for row in rows.iter_rows(named=True)]
        for name in ("precision", "gflop", "mib", "tflops")
    }
    title = "Operators that changed, per cycle"
    return listed_table("operator-changes", id_, title, rows, values, total_rows=every.height)


def _of_both(row: dict[str, Any], name: str) -> str:
    """A figure of both sides, once where it is the same."""
    said = []
    for value in (row[f"base_{name}"], row[f"new_{name}"]):
        known = value if isinstance(value, str) else "-" if value is None else units.digits(value)
        said.append(known or "-")
    return said[0] if said[0] == said[1] else f"{said[0]} → {said[1]}"


def efficiency_values(found: EfficiencyChange | None) -> dict[str, Any]:
    """The key `efficiency` of the JSON; null where neither side recorded shapes."""
    if found is None:
        return {"efficiency": None}
    operators = found.operators.with_columns(
        (pl.col(f"{side}_time_ns") / _NS_PER_US).alias(f"{side}_time_us") for side in SIDES
    ).drop(f"{side}_time_ns" for side in SIDES)
    return {
        "efficiency": {
            "same_work": found.same_work,
            "reason": found.reason or None,
            "same_device": found.same_device,
            "sentences": efficiency_lines(found),
            "base": _side_values(found.base),
            "new": _side_values(found.new),
            "operators": operators.to_dicts(),
        }
    }


def _side_values(one: CycleEfficiency | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "device": one.peaks.device if one.peaks else None,
        "cycle_us": one.cycle_ns / _NS_PER_US,
        "ideal_us": None if one.ideal_ns is None else one.ideal_ns / _NS_PER_US,
        **{
            f"{name}_pct": None if value is None else 100 * value
            for name in ("mfu", "hfu", "mbu", "roof_share", "modelled_share")
            for value in [getattr(one, name)]
        },
        **{
            name: one.amount(name) for name in ("matrix_flop", "vector_flop", "bytes", "wire_bytes")
        },
        "recomputed_flop": one.amount("matrix_flop", "recomputed"),
        "matrix_flop_by_precision": dict(one.matrix_flop_by_precision),
    }
