"""Counters of devices and the host, sampled while a program runs.

Only the standard library is needed: `pynvml` and `amdsmi` are used where they can be imported.
What cannot be had is named once, with the reason; it never stops the program or other counters.
"""

from timesink.collect.counters.counter import Wanted
from timesink.collect.counters.describing import describe_devices, describe_host
from timesink.collect.counters.sampled import Missing, Sampled, missing_in_words
from timesink.collect.counters.sampler import Sampler
from timesink.collect.counters.wanting import wanted

__all__ = [
    "Missing",
    "Sampled",
    "Sampler",
    "Wanted",
    "describe_devices",
    "describe_host",
    "missing_in_words",
    "wanted",
]
