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
    rows: Sequence[str], *, last: int, until_s: float, to: str, earlier: str, source: str,
    alarms_per_hour: float, at_least: float,
) -> dict[str, Any]:  # fmt: skip
    """Learn from the last rows of some tables until then; the model goes to a file.

    Later ones are beside this process, which may begin late and takes processors.  Rows that are
    slower than an earlier model expects are refused: nobody has said that they may.
    """
    import polars as pl  # noqa: PLC0415

    from timesink.analyses.expected.live import LiveJudge  # noqa: PLC0415
    from timesink.analyses.expected.model import learn_live, live_model_from  # noqa: PLC0415
    from timesink.formats.cycle_rows import START, read_cycle_rows  # noqa: PLC0415

    tables = [read_cycle_rows(path) for path in rows if Path(path).exists()]
    table = pl.concat(tables, how="diagonal").filter(pl.col(START) < until_s).tail(last)
    if earlier:
        known = LiveJudge(live_model_from(Path(earlier).read_bytes(), earlier)).judge(table).table
        slower = known.select((pl.col("duration_us") / pl.col("expected_us")).median()).item()
        if slower is None:
            raise TimesinkError("none has a workload that was learned")
        if slower > 1 + at_least / 2:
            longer = f"{100 * (slower - 1):.0f} %"
            raise TimesinkError(f"they take {longer} longer (timesink watch accept)")
    model = learn_live(table, alarms_per_hour=alarms_per_hour, at_least=at_least, source=source)
    Path(to).write_bytes(model.to_json())
    return {"cycles": model.cycles}
