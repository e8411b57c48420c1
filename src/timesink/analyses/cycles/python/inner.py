"""The call that repeats inside of each marking call: a loop in the loop's body."""

from __future__ import annotations

import numpy as np

from timesink.analyses.cycles.cycles import Candidate
from timesink.analyses.cycles.python.calls import PythonCalls
from timesink.analyses.cycles.python.main_call import main_call
from timesink.analyses.cycles.python.top import peeled
from timesink.analyses.cycles.reading import period_ns, spans_of
from timesink.analyses.cycles.types import is_pass_call
from timesink.analyses.nesting import Nodes, within


def inner_call(calls: PythonCalls, main: Nodes) -> Candidate | None:
    """What the marking call of typical length calls again and again for most of its time.

    None where that is one pass of the work: what repeats inside of it are its layers.
    """
    typical = int(main[np.argsort(calls.length[main], kind="stable")[len(main) // 2]])
    if is_pass_call(calls.names[int(calls.name[typical])]):
        return None
    code = main_call(calls, peeled(calls, calls.children(typical)))
    if code is None:
        return None
    nodes = calls.outermost((calls.name == code) & within(main, calls.size))
    name = calls.names[code]
    spans = spans_of(
        calls.processes(nodes),
        [name] * len(nodes),
        calls.start[nodes],
        calls.end[nodes],
        ["generic"] * len(nodes),
    )
    reason = f"{name!r} is called again and again inside of the cycles"
    return Candidate("python", name, len(nodes), period_ns(spans), reason, name)
