"""Stages of a pipeline that have more to do than the others: all of their ranks are late."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from timesink.analyses.ranks.causes import Work, kernel_reason, late, some
from timesink.analyses.ranks.matching import PAIRS
from timesink.analyses.ranks.numbers import ranges_of
from timesink.analyses.ranks.panel import Panel
from timesink.analyses.ranks.replay import WhatIf
from timesink.model.arrays import Ints
from timesink.model.findings import Finding
from timesink.model.units import brief_ns

_LEAST_MORE = 0.1
"""A stage may do so much more than the others before it is worth a word."""

_NEARLY_ALL = 0.2
"""The rank of a stage, by what its kernels take, that stands for it."""


def slow_stages(panel: Panel, work: Work, what_if: WhatIf) -> Iterator[Finding]:
    """The stage whose kernels take longest, where that is far longer than in the others."""
    stages = [panel.alike == number for number in np.unique(panel.alike)]
    if len(stages) < 2 or not _is_pipeline(panel, work):
        return
    usual_of_rank = np.nanmedian(panel.own["kernels"], axis=1)
    # Some slow ranks do not make a slow stage: it is one if nearly all of it are.
    busy = np.array([float(np.nanquantile(usual_of_rank[each], _NEARLY_ALL)) for each in stages])
    worst = int(np.argmax(busy))
    usual = float(np.median(np.delete(busy, worst)))
    more = busy[worst] - usual
    if usual <= 0 or more < _LEAST_MORE * usual:
        return
    members = np.flatnonzero(stages[worst])
    first = members[int(np.argmax(panel.held[members].sum(axis=1)))]
    text = (
        f"Kernels of the pipeline stage with ranks {ranges_of(panel.ranks[members])} take "
        f"{brief_ns(busy[worst])} per step, those of other stages {brief_ns(usual)}."
    )
    cost = min(more, panel.step_ns) * len(panel.steps)
    if what_if.score is not None:
        cost = what_if.score.cost_of_share(panel.ranks[members], _share(panel, members, more))
    # A whole stage may also be on slow devices.
    others = panel.ranks[some(np.flatnonzero(~stages[worst]))].tolist()
    cause = kernel_reason(int(panel.ranks[first]), more, others, work).cause
    yield late(int(panel.ranks[first]), cause, text, cost_ns=cost)


def _share(panel: Panel, members: Ints, more_ns: float) -> float:
    """What ranks do more, as a part of all that they do by themselves."""
    own = sum(np.nan_to_num(values[members]) for values in panel.own.values())
    return min(more_ns / max(float(np.median(own)), more_ns, 1.0), 1.0)


def _is_pipeline(panel: Panel, work: Work) -> bool:
    some = work.ranks[int(panel.ranks[0])].collectives["collective"]
    return not set(PAIRS).isdisjoint(some.drop_nulls().unique().to_list())
