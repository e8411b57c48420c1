"""Which management library tells about the devices of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from timesink.collect.counters.gpu import amd, nvidia
from timesink.collect.counters.gpu.counters import NAMES
from timesink.collect.counters.missing import UnavailableError
from timesink.collect.counters.probing import Probe, Setting

Environment = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Maker:
    describe: Callable[[Environment], list[dict[str, Any]]]
    probes: Callable[[Setting], Iterator[Probe]]


_MAKERS = (
    _Maker(nvidia.describe, nvidia.probes),
    _Maker(amd.describe, amd.probes),
)


def probes(setting: Setting) -> Iterator[Probe]:
    """Counters of all devices the program can see, of the first maker that has some."""
    if not setting.wants(*NAMES):
        return
    reasons = []
    for maker in _MAKERS:
        try:
            yield from maker.probes(setting)
        except UnavailableError as error:  # noqa: PERF203
            reasons.append(str(error))
        else:
            return
    setting.miss(NAMES, "; ".join(reasons))


def describe(environment: Environment) -> list[dict[str, Any]]:
    """What is known about the devices the program can see."""
    for maker in _MAKERS:
        try:
            return maker.describe(environment)
        except UnavailableError:  # noqa: PERF203
            continue
    return []
