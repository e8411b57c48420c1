"""Small examples of what analyses.modules computes."""

from __future__ import annotations

import timesink
from timesink.analyses.modules import link_backward


def test_link_backward() -> None:
    links = link_backward(timesink.open(timesink.sample()))
    assert bool((links.forward >= 0).mean() > 0.9)
