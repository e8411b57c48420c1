"""The answer in sentences where there is no timeline: memory, and logs of collectives."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.analyses.collective_log import collective_log, logged_calls
from timesink.analyses.memory_curve import memory_peaks
from timesink.analyses.snapshot.blocks import CATEGORIES
from timesink.analyses.snapshot.tables import live_by_category, live_by_stack, peak_of_all
from timesink.model import units
from timesink.model.findings import RunFinding
from timesink.model.trace import Trace

_WORDS = {name: name.replace("_", " ") for name in CATEGORIES} | {
    "before_history": "from before the history"
}
_MAX_PARTS, _MIN_SHARE = 3, 0.01
_LARGE = 0.05


def memory_headline(trace: Trace, findings: Sequence[RunFinding]) -> str:
    """The peak, what it is made of, the call that holds most, and what to do about it."""
    peak = peak_of_all(trace)
    if peak is None:
        reserved = int(trace.lazy("memory_segments").collect()["bytes"].sum() or 0)
        return f"No blocks in this memory snapshot; {units.brief_bytes(reserved)} are reserved."
    device, size = peak
    rows = live_by_category(trace).filter(device=device)
    parts = [
        f"{_WORDS[row['category']]} {units.brief_bytes(row['bytes'])} "
        f"({units.brief_share(row['bytes'], size)})"
        for row in rows.head(_MAX_PARTS).to_dicts()
        if row["bytes"] >= _MIN_SHARE * size
    ]
    line = f"Peak memory on {device}: {units.brief_bytes(size)}"
    line += f", of it {', '.join(parts)}." if parts else "."
    calls = live_by_stack(trace).filter(device=device).drop_nulls("place").head(1).to_dicts()
    for row in calls:
        if row["bytes"] >= _LARGE * size:
            line += f" Most is held by {row['place']}: {units.brief_bytes(row['bytes'])}."
    unused = memory_peaks(trace).filter(device=device)["fragmentation_bytes"].to_list()
    if unused and unused[0] and unused[0] >= _LARGE * size:
        line += f" The allocator holds {units.brief_bytes(unused[0])} more."
    first = findings[0] if findings else None
    return f"{line} {first.sentence}" if first else line


def log_headline(trace: Trace, findings: Sequence[RunFinding]) -> str:
    """What stands still and who is missing; else how many collectives and ranks there are."""
    log, calls = collective_log(trace), logged_calls(trace)
    ranks = units.count_noun(calls["who"].drop_nulls().n_unique(), "ranks")
    groups = units.count_noun(calls["group"].n_unique(), "groups")
    many = units.count_noun(log.height, "collectives")
    text = f"{many} of {groups}, logged by {ranks}"
    if findings:
        return f"{findings[0].sentence} ({text}.)"
    is_open = log.filter(log["completed"] < log["entered"]).height
    return f"{text}; {units.count(is_open) if is_open else 'none'} did not complete."
