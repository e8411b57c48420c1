"""The process of a task: it does one thing, importing only what that needs, and says what came."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from timesink.errors import TimesinkError
from timesink.watcher.tasks import NICEST, TaskFiles, be_nice


def main() -> None:
    """Do the task whose file is the only argument."""
    files = TaskFiles(Path(sys.argv[1]))
    try:
        files.give(_done(files))
    except TimesinkError as error:
        files.give({"error": error.message})


def _done(files: TaskFiles) -> dict[str, Any]:
    facts = files.facts
    if facts["kind"] == "record":
        from timesink.watcher.recorded_cycles import record_cycles  # noqa: PLC0415

        return record_cycles(files)
    if facts["kind"] == "learn":
        be_nice()
        return _learn_rows(**facts["learn"])
    be_nice(NICEST)
    from timesink.watcher.incident_report import compare_recordings  # noqa: PLC0415

    return compare_recordings(**facts["compare"])


def _learn_rows(
    rows: Sequence[str], *, last: int, to: str, alarms_per_hour: float, at_least: float, source: str
) -> dict[str, Any]:
    """Learn from the last rows of some tables; the model goes to a file."""
    import polars as pl  # noqa: PLC0415

    from timesink.analyses.expected.live import learn_live  # noqa: PLC0415
    from timesink.formats.cycle_rows import read_cycle_rows  # noqa: PLC0415

    tables = [read_cycle_rows(path) for path in rows if Path(path).exists()]
    table = pl.concat(tables, how="diagonal").tail(last)
    model = learn_live(table, alarms_per_hour=alarms_per_hour, at_least=at_least, source=source)
    Path(to).write_bytes(model.to_json())
    return {"cycles": model.cycles}
