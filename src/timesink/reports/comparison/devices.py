"""The tables of one device alone."""

from __future__ import annotations

import re
from dataclasses import replace

import polars as pl

from timesink.analyses.comparison.findings import key_findings
from timesink.analyses.comparison.pair import Pair
from timesink.errors import NotFoundError
from timesink.model.schema import HOST_DEVICE
from timesink.reports.comparison.report import Comparison

_HOST_NAMES = ("host", "cpu")


def device_of(text: str) -> re.Pattern[str]:
    """What a device asked for is called in tables: `7` is `GPU 7` and `NPU 7`.

    >>> bool(device_of("7").fullmatch("GPU 7")), bool(device_of("cpu").fullmatch("Host"))
    (True, True)
    """
    wanted = text.strip()
    if wanted.lower() in _HOST_NAMES:
        return re.compile(re.escape(HOST_DEVICE))
    maker = r"\w+ " if wanted.isdigit() else ""
    return re.compile(rf"{maker}{re.escape(wanted)}(?: \(virtual\))?", re.IGNORECASE)


def only_device(comparison: Comparison, device: re.Pattern[str]) -> Comparison:
    """The comparison with the rows of one device; what cycles and work come to is of the whole."""
    tables = [table for one in comparison.all_pairs for table in (one.pair.rows, one.pair.times)]
    known = sorted({name for table in tables for name in table["device"].drop_nulls().unique()})
    wanted = [name for name in known if device.fullmatch(name)]
    if not wanted:
        raise NotFoundError(f"no such device: {device.pattern}", f"there are {', '.join(known)}")
    pairs = tuple(replace(one, pair=_of_devices(one.pair, wanted)) for one in comparison.pairs)
    exploration = comparison.exploration
    if exploration is not None:
        peers = tuple(_of_devices(pair, wanted) for pair in exploration.pairs)
        exploration = replace(exploration, pairs=peers)
    return replace(comparison, pairs=pairs, exploration=exploration)


def _of_devices(pair: Pair, wanted: list[str]) -> Pair:
    is_wanted = pl.col("device").cast(pl.String).is_in(wanted)
    rows = pair.rows.filter(is_wanted)
    return replace(
        pair,
        rows=rows,
        times=pair.times.filter(is_wanted),
        families=pair.families.filter(is_wanted),
        findings=key_findings(rows),
        equal_work=None if pair.equal_work is None else _of_devices(pair.equal_work, wanted),
    )
