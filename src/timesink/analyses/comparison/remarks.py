"""What to keep in mind about two recordings, though both may hold the same work."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from timesink.analyses.comparison.calls_per_cycle import calls_by_cycle
from timesink.analyses.comparison.meeting import meeting
from timesink.analyses.comparison.recorded import HOST_EVENTS, OPERATORS, PYTHON, Unrecorded
from timesink.analyses.comparison.role import Role
from timesink.model.schema import HOST_DEVICE

_ATTENTION = "attention"
_SIDES = (("in_base", "in_new"), ("in_new", "in_base"))
_UNRECORDED = 0.05


def ran(table: pl.DataFrame) -> pl.DataFrame:
    """What ran at all; a cycle in which nothing was recorded has a row as well."""
    return table.filter((pl.col("calls") > 0) | (pl.col("dur_ns") > 0))


def other_mix(base: Role, new: Role) -> str | None:
    """A sentence where one side runs attention in a way of its own beside the one both have.

    Prompts and tokens are attended to by different kernels, so their steps are in another
    proportion even where calls agree in number.  A kernel that took over from another is missed on
    both sides.
    """
    met = meeting(*(calls_by_cycle(role.behaviour, _on_device()) for role in (base, new)))
    attention = met.filter(pl.col("family") == _ATTENTION)
    shared = attention.filter(pl.col("in_base") & pl.col("in_new"))
    alone = [
        attention.filter(pl.col(own), ~pl.col(other))["function"].sort() for own, other in _SIDES
    ]
    if shared.is_empty() or all(map(len, alone)) or not any(map(len, alone)):
        return None
    more, less, names = (base, new, alone[0]) if len(alone[0]) else (new, base, alone[1])
    # Few runs differ in this, and the others do not wait for the rules of names.
    from timesink.analyses.kernel_names.display import short_kernel_name  # noqa: PLC0415

    return (
        f"Beside attention kernels that both run, {more.label} has "
        f"`{short_kernel_name(names[0])}`: its cycles hold another mix of steps "
        f"than those of {less.label}."
    )


def _on_device() -> pl.Expr:
    return pl.col("device") != HOST_DEVICE


def recorded_in_part(role: Role) -> Iterator[str]:
    """Cycles without device work, where others have some: it was not recorded."""
    cycles = role.behaviour["cycle"].n_unique()
    having = role.behaviour.filter(pl.col("device") != HOST_DEVICE)["cycle"].n_unique()
    if having and cycles - having >= _UNRECORDED * cycles:
        yield (
            f"{cycles - having} of {cycles} cycles of {role.label} hold no device work; "
            "it was probably not recorded there."
        )


def cautions(base: Role, new: Role, lacking: Unrecorded) -> Iterator[str]:
    """What the recordings themselves differ in."""
    on_device = [_is_on_device(role) for role in (base, new)]
    if set(on_device) == {True, False}:
        host, device = (new, base) if on_device[0] else (base, new)
        yield (
            f"Cycles of {host.label} last as the host marks them, those of {device.label} as the "
            "device works: their lengths are of different things."
        )
    for role, other, sorts in ((base, new, lacking.base), (new, base, lacking.new)):
        if sorts:
            yield (
                f"{role.label} recorded no {' and no '.join(sorts)}; such functions of "
                f"{other.label} and their counters are not compared."
            )
        if PYTHON in sorts:
            yield f"{other.label} recorded Python calls, which slow the host."
        if OPERATORS in sorts or (HOST_EVENTS in sorts and _has_operators(other)):
            yield (
                f"{other.label} recorded operators, which costs host time: part of the difference "
                "may be the recording."
            )


def _has_operators(role: Role) -> bool:
    return "cpu_operator" in role.behaviour["function_class"].unique().cast(pl.String)


def _is_on_device(role: Role) -> bool | None:
    """Whether its cycles are times of the device's work; None where that is not known."""
    table = ran(role.behaviour)
    if table.is_empty():
        return None
    host = pl.col("device") == HOST_DEVICE
    named = table.filter(pl.col("function") == (role.anchor or ""))
    by_kernel = not named.is_empty() and named.filter(host).is_empty()
    # Without host events nothing but the device can have marked cycles.
    alone = role.method is not None and table.filter(host).is_empty()
    return role.method == "kernels" or by_kernel or alone
