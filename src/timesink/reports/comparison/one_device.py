"""The tables of one device alone."""

from __future__ import annotations

import re
from dataclasses import replace
from string import ascii_lowercase

import polars as pl

from timesink.analyses.comparison.findings import key_findings
from timesink.analyses.comparison.pair import Pair
from timesink.errors import NotFoundError
from timesink.model.schema import HOST_DEVICE
from timesink.reports.comparison.report import Comparison

_HOST_NAMES = ("host", "cpu")
_VIRTUAL = re.compile(r" \(virtual\)$", re.IGNORECASE)
_LETTERS = ascii_lowercase


def is_device(name: str, asked: str) -> bool:
    """Whether a device of a table is the one asked for: `0`, `gpu0` and `GPU 0` are `GPU 0`.

    >>> is_device("GPU 7", "7"), is_device("NPU 7", "npu7"), is_device("Host", "cpu")
    (True, True, True)
    >>> is_device("GPU 17", "7"), is_device("GPU 0 (virtual)", "gpu 0")
    (False, True)
    """
    wanted = _plain(asked)
    if name == HOST_DEVICE:
        return wanted in _HOST_NAMES
    known = _plain(_VIRTUAL.sub("", name))
    return wanted in {known, _plain(name)} or (
        wanted.isdigit() and known.lstrip(_LETTERS) == wanted
    )


def _plain(name: str) -> str:
    return "".join(name.lower().split())


def only_device(comparison: Comparison, asked: str) -> Comparison:
    """The comparison with the rows of one device; what cycles and work come to is of the whole."""
    tables = [table for one in comparison.all_pairs for table in (one.pair.rows, one.pair.times)]
    known = {str(name) for table in tables for name in table["device"].drop_nulls().unique()}
    wanted = [name for name in sorted(known) if is_device(name, asked)]
    if not wanted:
        raise NotFoundError(
            f"--device {asked}: no such device", f"there are {', '.join(sorted(known))}"
        )
    pairs = tuple(
        replace(one, pair=_of_devices(one.pair, wanted), whole=one.whole or one.pair)
        for one in comparison.pairs
    )
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
        known_rows=None if pair.known_rows is None else pair.known_rows.filter(is_wanted),
        times=pair.times.filter(is_wanted),
        families=pair.families.filter(is_wanted),
        findings=key_findings(rows),
        equal_work=None if pair.equal_work is None else _of_devices(pair.equal_work, wanted),
    )
