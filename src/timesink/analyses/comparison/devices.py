"""Accelerators of two roles under the same names."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from timesink.analyses.comparison.role import Role
from timesink.model.behaviour_csv import NO_DEVICE
from timesink.model.ordering import natural
from timesink.model.schema import HOST_DEVICE


@dataclass(frozen=True, slots=True, eq=False)
class MatchedDevices:
    """Both roles, and what was renamed to make their devices meet."""

    base: Role
    new: Role
    renamed: tuple[tuple[str, str], ...] = ()
    """Names in BASE and in NEW of the same place; BASE's is used for both."""
    note: str | None = None


def with_matching_devices(base: Role, new: Role) -> MatchedDevices:
    """Both roles, with those devices of NEW that BASE has not renamed to those of BASE NEW has not.

    A run on `GPU 0` and one on `GPU 7`, or on an `MLU 0`, did the same on their first device.
    Devices both have keep their names; the others meet in order.
    """
    before, after = (_devices(role.behaviour) for role in (base, new))
    common = set(before) & set(after)
    rest = [[name for name in side if name not in common] for side in (before, after)]
    renamed = tuple(zip(*rest, strict=False))
    if not renamed:
        return MatchedDevices(base, new)
    names = {theirs: ours for ours, theirs in renamed}
    kind = new.behaviour.schema["device"]
    device = pl.col("device").cast(pl.String).replace(names).cast(kind)
    anatomy = None if new.anatomy is None else new.anatomy.with_devices(names)
    matched = replace(new, behaviour=new.behaviour.with_columns(device), anatomy=anatomy)
    return MatchedDevices(base, matched, renamed, _note(base, new, renamed, bool(common)))


def _devices(table: pl.DataFrame) -> list[str]:
    """Accelerators in the order of their numbers."""
    names = table["device"].drop_nulls().unique().cast(pl.String).to_list()
    return sorted((name for name in names if name != HOST_DEVICE), key=natural)


def _note(base: Role, new: Role, renamed: tuple[tuple[str, str], ...], some_meet: bool) -> str:  # noqa: FBT001
    unnamed = next((place for place in enumerate(renamed[0]) if place[1] == NO_DEVICE), None)
    if len(renamed) == 1 and unnamed is not None:
        role, other, name = (new, base, renamed[0][0]) if unnamed[0] else (base, new, renamed[0][1])
        return f"{role.label} does not name its device: it is taken as {name} of {other.label}."
    pairs = ", ".join(
        f"{theirs} of {new.label} is compared with {ours}" for ours, theirs in renamed
    )
    why = "the others have the same name" if some_meet else "no device has the same name"
    return f"{pairs} of {base.label}: {why} on both sides."
