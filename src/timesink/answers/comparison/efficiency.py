"""What both sides compute and move, and how near that is to the roofs: in words, and as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from timesink.analyses.kernels.peaks import DevicePeaks
from timesink.analyses.work.cycle_work import CycleEfficiency
from timesink.answers.tables import Listing, ViewTable
from timesink.answers.views import compared_view
from timesink.comparison.steps.efficiency import (
    FASTER,
    PRECISION,
    SLOWER,
    TOO_LITTLE,
    EfficiencyChange,
)
from timesink.model import units
from timesink.model.diagnosis import SIDES
from timesink.model.units import from_to
from timesink.output.blocks import Block, Section, Table, Text

_TITLE = "How near to the limit"
_NS_PER_US = 1000.0
_MAX_ROWS = 5
"""Rows of the table in text."""
_OTHER_SHARE = 0.1
"""Modelled parts of the kernel time that are further apart are told."""
_LIKE = 0.05
"""Parts of it that are told by other launches, and said to be."""
_FIGURES = {name: name.upper() for name in ("mfu", "hfu", "mbu")}


def efficiency_lines(change: EfficiencyChange, names: tuple[str, str] = SIDES) -> list[str]:
    """What is exact first: the work.  Then how near both sides come to their limits."""
    base, new = change.base, change.new
    if base is None or new is None:
        return [_without_shapes(change, names)]
    shares = [efficiency.modelled_share for efficiency in (base, new)]
    share_text = _once(units.share(share, 1) for share in shares)
    if change.reason == TOO_LITTLE:
        return [f"Only {share_text} of the kernel time is modelled: work is not compared."]
    lines = [_work_line(change, base, new), _share_line(change, base, new)]
    if abs(shares[0] - shares[1]) > _OTHER_SHARE:
        lines.append(f"Of the kernel time {share_text} is modelled, which these figures are of.")
    if max(base.like_share, new.like_share) > _LIKE:
        like = _once(units.share(efficiency.like_share, 1) for efficiency in (base, new))
        lines.append(f"Of {like} of the kernel time the launch is not known: estimated.")
    return [line for line in lines if line]


def _without_shapes(change: EfficiencyChange, names: tuple[str, str]) -> str:
    """Which side lacks shapes, and what the other one does."""
    efficiency, shapeless_side = (
        (change.base, names[1]) if change.new is None else (change.new, names[0])
    )
    other = names[0] if change.new is None else names[1]
    text = f"{shapeless_side} has no shapes (record_shapes=True): its work is not known"
    if efficiency is None or efficiency.mfu is None or efficiency.peaks is None:
        return f"{text}."
    figures = ", ".join(_of_side(efficiency))
    return f"{text}. {other}: {figures} of {efficiency.peaks.device}."


def _of_side(efficiency: CycleEfficiency) -> Iterator[str]:
    for name, word in _FIGURES.items():
        value = getattr(efficiency, name)
        if value is not None and (name != "hfu" or _recomputes(efficiency)):
            yield f"{word} {units.share(value, 1)}"


def _recomputes(efficiency: CycleEfficiency | None) -> bool:
    return efficiency is not None and efficiency.amount("matrix_flop", "recomputed") > 0


def _work_line(change: EfficiencyChange, base: CycleEfficiency, new: CycleEfficiency) -> str:
    flop, moved = (
        [efficiency.amount(name) for efficiency in (base, new)] for name in ("matrix_flop", "bytes")
    )
    products = [f"{units.digits(value / 1e9)} GFLOP" for value in flop]
    sizes = [units.brief_bytes(value) for value in moved]
    changes = Counter(change.operators["change"])
    timed = (changes[SLOWER], changes[FASTER])
    rounded, other = changes[PRECISION], changes.total() - sum(timed) - changes[PRECISION]
    before, now = (", ".join(efficiency.matrix_flop_by_precision) for efficiency in (base, new))
    precision = f" ({before} → {now})" if before != now else ""
    # Work whose launch is not known is estimated, and no change by itself.
    if change.same_work or (products[0] == products[1] and sizes[0] == sizes[1]):
        lead = "About the same work" if other else "The same work"
        lead += " in another precision" if rounded and not other else ""
        amounts = f"{products[1]} of matrix products{precision} and {sizes[1]} per step"
    else:
        lead = "The work changed"
        amounts = f"{_both(products, flop)} of matrix products{precision}, {_both(sizes, moved)}"
        amounts += " per step"
    counts = [
        f"{units.count_noun(rounded, 'operators')} in another precision" if rounded else "",
        f"{units.count_noun(other, 'operators')} with other work" if other else "",
        _timing_words(*timed) if any(timed) else "",
    ]
    return f"{lead}: {'; '.join([amounts, *filter(None, counts)])}."


def _timing_words(slower: int, faster: int) -> str:
    """How many operators take another time for the same work."""
    counts = {"slower": slower, "faster": faster}
    phrases = [
        f"{word}: {units.count_noun(many, 'operators')}" for word, many in counts.items() if many
    ]
    return f"same work but {', '.join(phrases)}"


def _both(texts: list[str], values: list[float]) -> str:
    if texts[0] == texts[1]:
        return texts[1]
    return f"{from_to(*texts)} ({units.change(*values)})"


def _share_line(change: EfficiencyChange, base: CycleEfficiency, new: CycleEfficiency) -> str:
    """Shares of peaks; of different devices both are named."""
    devices = [_device(efficiency.peaks) for efficiency in (base, new)]
    if base.peaks is None and new.peaks is None:
        return ""
    phrases = []
    for name, word in {**_FIGURES, "roof_share": "operators at"}.items():
        values = [getattr(efficiency, name) for efficiency in (base, new)]
        if name == "hfu" and not (_recomputes(base) or _recomputes(new)):
            continue
        if all(value is not None for value in values):
            shares = _once(units.share(value, 1) for value in values)
            phrases.append(f"{word} {shares}" + (" of their roofs" if name == "roof_share" else ""))
    if change.same_device:
        ideal = _once(units.brief_ns(efficiency.ideal_ns or 0.0) for efficiency in (base, new))
        cycle = _once(units.brief_ns(efficiency.cycle_ns) for efficiency in (base, new))
        phrases.append(f"at the roofs of {devices[0]} a step would take {ideal} of {cycle}")
        return f"{', '.join(phrases)}."
    apart = f"Different devices, {devices[0]} → {devices[1]}: shares are of their own peaks"
    return f"{apart}: {', '.join(phrases)}." if phrases else f"{apart}."


def _device(peaks: DevicePeaks | None) -> str:
    """A device, and which of its peaks are not the published ones."""
    if peaks is None:
        return "a device without peaks"
    sources = {"measured": peaks.measured, "given": peaks.stated}
    phrases = [f"{how}: {' '.join(names)}" for how, names in sources.items() if names]
    return f"{peaks.device} ({'; '.join(phrases)})" if phrases else peaks.device


def _once(texts: Iterable[str]) -> str:
    """What both sides say, once where it is the same."""
    before, now = texts
    return now if before == now else from_to(before, now)


# -- as blocks and values --------------------------------------------------------------------------


def efficiency_blocks(
    change: EfficiencyChange | None,
    top: int | None = None,
    *,
    names: tuple[str, str] = SIDES,
    id_: str = "efficiency",
) -> Iterator[Block]:
    """A few sentences, and a table where operators changed; nothing without shapes."""
    if change is None:
        return
    yield from (Text(f"{line[0].upper()}{line[1:]}") for line in efficiency_lines(change, names))
    if change.operators.height:
        yield operators_block(change, None if top is None else min(top, _MAX_ROWS), id_)


def efficiency_section(
    change: EfficiencyChange | None, top: int | None, names: tuple[str, str] = SIDES
) -> Iterator[Section]:
    """The same under a heading."""
    blocks = tuple(efficiency_blocks(change, top, names=names, id_="efficiency-operators"))
    if blocks:
        yield Section("efficiency", _TITLE, blocks)


def operators_block(change: EfficiencyChange, most: int | None, id_: str) -> Table:
    """Operators whose work, precision or time changed."""
    return operators_table(change).block(rows=most or None, id_=id_)


def operators_table(change: EfficiencyChange) -> ViewTable:
    """The same with every row and column."""

    def values(rows: pl.DataFrame) -> dict[str, list[str]]:
        return {
            name: [_of_both(row, name) for row in rows.iter_rows(named=True)]
            for name in ("precision", "gflop", "mib", "tflops")
        }

    return ViewTable(
        compared_view("operators"),
        change.operators,
        listing=lambda: Listing(change.operators, values),
    )


def _of_both(row: dict[str, Any], name: str) -> str:
    """A figure of both sides, once where it is the same."""
    texts = []
    for value in (row[f"base_{name}"], row[f"new_{name}"]):
        text = value if isinstance(value, str) else "-" if value is None else units.digits(value)
        texts.append(text or "-")
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} → {texts[1]}"
