"""Counters of accelerators, as their management libraries tell them."""

from timesink.collect.counters.gpu.counters import COUNTERS
from timesink.collect.counters.gpu.opening import describe, probes

__all__ = ["COUNTERS", "describe", "probes"]
