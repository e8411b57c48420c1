"""Where functions ran whose table does not name a device, told by what they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from timesink.analyses.behaviour.classes import FUNCTION_CLASSES
from timesink.analyses.comparison.role import Role
from timesink.model.behaviour_csv import NO_DEVICE
from timesink.model.schema import HOST_DEVICE

_ON_HOST = tuple(name for name in FUNCTION_CLASSES if not name.startswith("gpu_"))


def with_places(base: Role, new: Role) -> tuple[Role, Role]:
    """Both roles with their host functions on the host, where no device is named.

    The class of a function tells, or else where the other side runs the function of its name.
    Device work keeps its device without a name.
    """
    sides = base, new
    if not any(map(_is_unplaced, sides)):
        return sides
    return _placed(base, _host_functions(new)), _placed(new, _host_functions(base))


def is_unplaced() -> pl.Expr:
    """Whether neither a device nor a class tells where a function ran."""
    known = pl.col("function_class").cast(pl.String).is_in(FUNCTION_CLASSES)
    return _without_device() & ~known.fill_null(value=False)


def _without_device() -> pl.Expr:
    return (pl.col("device").cast(pl.String) == NO_DEVICE).fill_null(value=False)


def _is_unplaced(role: Role) -> bool:
    return not role.behaviour.filter(_without_device()).is_empty()


def _host_functions(role: Role) -> Mapping[str, bool]:
    """Whether functions run on the host, of those of which that is known."""
    known = role.behaviour.filter(~is_unplaced())
    host = (known.select(_is_host(), pl.col("function").cast(pl.String))).unique()
    return dict(host.select("function", "host").rows())


def _is_host() -> pl.Expr:
    by_class = pl.col("function_class").cast(pl.String).is_in(_ON_HOST)
    by_device = pl.col("device").cast(pl.String) == HOST_DEVICE
    return pl.when(_without_device()).then(by_class).otherwise(by_device).alias("host")


def _placed(role: Role, elsewhere: Mapping[str, bool]) -> Role:
    kind = role.behaviour.schema["device"]
    there = pl.col("function").cast(pl.String).is_in([name for name, at in elsewhere.items() if at])
    host = pl.when(is_unplaced()).then(there).otherwise(_is_host()).fill_null(value=False)
    device = (
        pl.when(_without_device() & host)
        .then(pl.lit(HOST_DEVICE))
        .otherwise(pl.col("device").cast(pl.String))
    )
    return replace(role, behaviour=role.behaviour.with_columns(device.cast(kind).alias("device")))
