"""Doubts about the recording itself."""

from __future__ import annotations

import numpy as np

from timesink.analyses.findings.finding import MEDIUM, Evidence, Finding
from timesink.analyses.steps import find_steps
from timesink.model import units
from timesink.model.trace import Trace


def cut_steps(trace: Trace) -> list[Finding]:
    """Steps at the end whose device work the recording does not hold.

    >>> import timesink
    >>> cut_steps(timesink.open(timesink.sample()))
    []
    """
    steps = find_steps(trace)
    cut = steps.filter(~steps["complete"])
    if cut.is_empty():
        return []
    whole = steps.filter("complete")
    usual = float(np.median(whole["device_events"].to_numpy())) if whole.height else 0.0
    return [
        Finding(
            rule="cut-steps",
            title="The recording cuts its last steps",
            sentence=f"{units.counted(cut.height, 'steps')} of {steps.height} "
            f"({', '.join(cut['name'].head(4))}) {'lacks' if cut.height == 1 else 'lack'} device "
            "work: at most "
            f"{units.counted(int(cut['device_events'].to_numpy().max()), 'device events')}, "
            f"against {usual:.0f} in a whole step. Averages leave them out.",
            advice="Stop the profiler after a synchronisation, or give its schedule one active "
            "step more than you need.",
            share=0.0,
            evidence=tuple(
                Evidence("step", name, {"device_events": events})
                for name, events in cut.select("name", "device_events").head(4).rows()
            ),
            least_severity=MEDIUM,
        )
    ]
