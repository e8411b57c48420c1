"""Begin and end events (`ph` B and E) as slices with a duration."""

from __future__ import annotations

import numpy as np

from timesink.readers.chrome.assemble import Joined
from timesink.readers.chrome.columns import Tally


def pair_begins_and_ends(joined: Joined, tally: Tally) -> Joined:
    """Begins with the duration up to their end; the innermost open begin of a lane closes first."""
    begins = joined.map_words("phase", lambda phase: phase == "B", missing=False)
    ts_ns = joined.arrays["ts_ns"]
    durations = np.zeros(len(joined), np.int64)
    open_rows: dict[tuple[int, int], list[int]] = {}
    stray_ends = 0
    for row in np.argsort(ts_ns, kind="stable").tolist():
        lane = (int(joined.arrays["pid"][row]), int(joined.arrays["tid"][row]))
        stack = open_rows.setdefault(lane, [])
        if begins[row]:
            stack.append(row)
        elif stack:
            begin = stack.pop()
            durations[begin] = ts_ns[row] - ts_ns[begin]
        else:
            stray_ends += 1
    unclosed = sum(map(len, open_rows.values()))
    tally.add("unpaired_begin_end", stray_ends + unclosed, f"{unclosed} begins, {stray_ends} ends")
    arrays = {**joined.arrays, "dur_ns": durations}
    return Joined(arrays, joined.vocabularies, joined.words).take(begins)
