"""timesink tells where the time goes.

>>> import timesink
>>> trace = timesink.open(timesink.sample())
>>> trace.device.filter(trace.device["kind"] == "kernel").height > 0
True
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timesink.version import __version__

if TYPE_CHECKING:
    from timesink.analyses.work.formulas import Work
    from timesink.analyses.work.own_formulas import formula
    from timesink.answers.analysis.report import analyze
    from timesink.answers.behaviour import behaviour
    from timesink.answers.comparison.history import history
    from timesink.answers.comparison.report import compare
    from timesink.answers.comparison.slow_steps import diagnose
    from timesink.answers.cycles import cycles
    from timesink.answers.kernels.reading import kernels
    from timesink.answers.what_if import whatif
    from timesink.errors import TimesinkError
    from timesink.model.trace import Trace
    from timesink.recorder.in_program import record, watch
    from timesink.sources.discovery import find_recordings
    from timesink.sources.opening import open_trace as open  # noqa: A004, F401 - `timesink.open`

_PUBLIC = {
    "Trace": ("timesink.model.trace", "Trace"),
    "Work": ("timesink.analyses.work.formulas", "Work"),
    "TimesinkError": ("timesink.errors", "TimesinkError"),
    "formula": ("timesink.analyses.work.own_formulas", "formula"),
    "find_recordings": ("timesink.sources.discovery", "find_recordings"),
    "analyze": ("timesink.answers.analysis.report", "analyze"),
    "behaviour": ("timesink.answers.behaviour", "behaviour"),
    "compare": ("timesink.answers.comparison.report", "compare"),
    "cycles": ("timesink.answers.cycles", "cycles"),
    "diagnose": ("timesink.answers.comparison.slow_steps", "diagnose"),
    "history": ("timesink.answers.comparison.history", "history"),
    "kernels": ("timesink.answers.kernels.reading", "kernels"),
    "whatif": ("timesink.answers.what_if", "whatif"),
    "record": ("timesink.recorder.in_program", "record"),
    "watch": ("timesink.recorder.in_program", "watch"),
    "open": ("timesink.sources.opening", "open_trace"),
}

# `open` is left out: a star import must not hide the builtin.
__all__ = [
    "TimesinkError",
    "Trace",
    "Work",
    "__version__",
    "analyze",
    "behaviour",
    "compare",
    "cycles",
    "diagnose",
    "find_recordings",
    "formula",
    "history",
    "kernels",
    "record",
    "sample",
    "sample_runs",
    "watch",
    "whatif",
]

_SAMPLES = Path(__file__).parent / "samples"


def sample(*, counters: bool = False) -> Path:
    """Path of a bundled recording: two training steps of a small U-Net on one GPU.

    With `counters` it is one step of the same program, measured kernel by kernel.

    >>> import timesink
    >>> timesink.kernels(sample(counters=True), trace=sample()).join.aligned_share
    1.0
    """
    return _SAMPLES / ("unet_train.ncu.csv.gz" if counters else "unet_train.pt.trace.json.gz")


def sample_runs() -> tuple[Path, Path]:
    """Paths of two bundled behaviour tables: a decode loop on one GPU, and with its clock lowered.

    >>> import timesink
    >>> timesink.compare(*sample_runs()).headline.startswith("Regression: steps take 21.8 % longer")
    True
    """
    return _SAMPLES / "decode.behaviour.parquet", _SAMPLES / "decode_slow_clock.behaviour.parquet"


def __dir__() -> list[str]:
    return sorted([*__all__, "open"])


def __getattr__(name: str) -> Any:
    # Worker processes import parts of the package; they must not pay for all of it.
    if name not in _PUBLIC:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    module, attribute = _PUBLIC[name]
    return getattr(importlib.import_module(module), attribute)
