"""What the processors did: rows of the `host` table."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.model import vendors
from timesink.model.schema import HOST, HOST_KINDS
from timesink.readers.chrome.assemble import Joined
from timesink.readers.chrome.kinds import enum_series, kind_numbers
from timesink.readers.chrome.timestamps import NULL_INT

HOST_COLUMNS = tuple(HOST.schema)


def host_frame(joined: Joined) -> pl.DataFrame:
    kinds = kind_numbers(joined, vendors.HOST_CATEGORIES, HOST_KINDS, "other")
    return joined.frame(HOST_COLUMNS).hstack([enum_series(kinds, HOST_KINDS)])


def python_frame(joined: Joined) -> pl.DataFrame:
    modules = joined.arrays.get("python_module_id", np.full(len(joined), NULL_INT)) != NULL_INT
    kinds = np.where(modules, HOST_KINDS.index("module"), HOST_KINDS.index("python_function"))
    return joined.frame(HOST_COLUMNS).hstack([enum_series(kinds, HOST_KINDS)])


def instant_frame(joined: Joined) -> pl.DataFrame:
    kinds = np.full(len(joined), HOST_KINDS.index("instant"))
    frame = joined.frame(HOST_COLUMNS).with_columns(enum_series(kinds, HOST_KINDS))
    return frame.with_columns(dur_ns=pl.lit(0, pl.Int64))
