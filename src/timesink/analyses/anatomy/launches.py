"""How much work device calls are given: blocks of kernels, bytes of copies."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.anatomy.anatomy import LAUNCHES
from timesink.analyses.behaviour.functions import functions_of
from timesink.analyses.behaviour.windows import OUTSIDE, Windows
from timesink.analyses.columns import device_columns, device_names
from timesink.analyses.kernels.table import launched_blocks
from timesink.model.arrays import Ints
from timesink.model.trace import Trace


def launch_rows(
    trace: Trace, rows: NDArray[np.intp], windows: Windows, cycle: Ints
) -> pl.DataFrame:
    """Rows of `LAUNCHES` for device events of a process, given by their rows in the table.

    `cycle` is the number of each row of the table of cycles.
    """
    if not len(rows) or not len(windows.row):
        return pl.DataFrame(schema=LAUNCHES)
    place = windows.holding(device_columns(trace)["ts_ns"].to_numpy()[rows])
    rows, place = rows[place != OUTSIDE], place[place != OUTSIDE]
    functions = functions_of(device_names(trace))
    given = trace.lazy("device").select("grid_x", "grid_y", "grid_z", "bytes").collect()[rows]
    table = given.select(
        pl.Series("cycle", cycle[place]),
        pl.Series("code", functions.codes[rows]),
        launched_blocks().alias("blocks"),
        pl.col("bytes").cast(pl.Float64),
    )
    summed = table.group_by("cycle", "code").agg(
        pl.len().cast(pl.Int64).alias("calls"), pl.col("blocks", "bytes").sum()
    )
    names = pl.Series(functions.texts, dtype=pl.String).gather(summed["code"])
    return summed.with_columns(names.alias("function")).select(*LAUNCHES).sort("cycle", "function")
