"""The process of a task: it does one thing, and says what came of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from timesink.errors import TimesinkError
from timesink.watcher.tasks import TaskFiles, be_nice


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
        from timesink.watcher.recorded_cycles import record_cycles  # noqa: PLC0415 - one per process

        return record_cycles(files)
    be_nice()
    if facts["kind"] == "learn":
        from timesink.watcher.learned import learn_rows  # noqa: PLC0415

        return learn_rows(**facts["learn"])
    from timesink.watcher.incident_report import compare_recordings  # noqa: PLC0415

    return compare_recordings(**facts["compare"])
