"""Runs kept small under a name, to compare others with: `timesink compare @NAME RUN`.

`timesink.reports.comparison.compare` takes `"@NAME"` (with `store=`) or a `Baseline` wherever it
takes a path:

    is_reference(text: str) -> bool                      # whether "@NAME" is meant, and no path
    save_baseline(name, run, store=None, *, force=False, marker=None, by=None, rank=None,
                  cache=True, jobs=None, progress=None) -> Baseline
    load_baseline(name, store=None) -> Baseline          # name with or without its @
    list_baselines(store=None) -> tuple[Listed, ...]
    remove_baseline(name, store=None) -> None
    unsaved_baseline(run, *, marker=None, ...) -> Baseline

A `store` is a folder, a URL (fsspec), or None: $TIMESINK_BASELINES, else `.timesink/baselines`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timesink.reports.baselines.baseline import Baseline
    from timesink.reports.baselines.keeping import (
        list_baselines,
        load_baseline,
        remove_baseline,
        save_baseline,
        unsaved_baseline,
    )
    from timesink.reports.baselines.names import is_reference

__all__ = [
    "Baseline",
    "is_reference",
    "list_baselines",
    "load_baseline",
    "remove_baseline",
    "save_baseline",
    "unsaved_baseline",
]

_PLACES = {"Baseline": "baseline", "is_reference": "names"}


def __getattr__(name: str) -> Any:
    # Whether a path is meant is asked before anything heavy is loaded.
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    place = _PLACES.get(name, "keeping")
    return getattr(importlib.import_module(f"{__name__}.{place}"), name)
