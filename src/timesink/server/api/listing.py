"""Which runs there are, for a page that asks every other second."""

from __future__ import annotations

import time
from hashlib import blake2b
from typing import Any

from timesink import __version__
from timesink.readers.discover import sayable
from timesink.reports.plugin.query import Query
from timesink.server.desk import Desk
from timesink.server.runs import ServedRun

_JUST_NOW_SECONDS = 5.0
"""A file that changed so shortly ago may still be written."""


def runs(desk: Desk, _query: Query) -> dict[str, Any]:
    """Every run with its workers and spans; `generation` changes when anything does."""
    found = desk.library.all_runs()
    now = time.time()
    listed = [_listed(run, now) for run in found]
    state = repr([(run.state, one["growing"]) for run, one in zip(found, listed, strict=True)])
    return {
        "logdir": sayable(str(desk.library.logdir)),
        "version": __version__,
        "generation": blake2b(state.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest(),
        "runs": listed,
    }


def _listed(run: ServedRun, now: float) -> dict[str, Any]:
    changed_s = max((time_ns for _, _, time_ns in run.files), default=0) / 1e9
    return {
        "name": run.name,
        "workers": [{"name": worker, "spans": run.spans(worker)} for worker in run.workers],
        "bytes": sum(size for _, size, _ in run.files),
        "changed_s": round(changed_s, 3),
        "growing": run.recorded_now or 0 <= now - changed_s < _JUST_NOW_SECONDS,
        "timeline": bool(run.recordings),
        "behaviour": bool(run.tables),
        "counters": [sayable(path.name) for path in run.counters],
    }
