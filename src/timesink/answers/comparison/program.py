"""What the program does otherwise: in sentences, as blocks of a document, and as values of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import polars as pl

from timesink.answers.causes import cause_name
from timesink.model import units
from timesink.model.diagnosis import CycleKinds, Diagnosis, ProgramChange, ProgramEdit
from timesink.model.units import from_to, per_cycle
from timesink.output.blocks import Section, Table
from timesink.output.names import short_names
from timesink.output.numbers import column, table

_NS_PER_US = 1000.0
NO_PROGRAM = "No timeline tells what these programs call."
_SAME = "The program is the same"
_DONE_OTHERWISE = "The same operators are called, and done otherwise"
_KERNELS_ONLY = "The kernels are the same"
_REPEAT = (
    "Same program, same device time ({took}): the host was {pace}. Record both sides again before "
    "looking for code."
)
_MEANINGS = {
    "edit": "What the new program does otherwise.",
    "cause": "What that means.",
    "place": "Where in the program, as far as was recorded.",
    "calls": "Calls per cycle of the call that tells it best, first side → second side.",
    "device_ns": "Time of the device per cycle that it adds.",
    "host_ns": "Time of the host per cycle, in these calls themselves, that it adds.",
    "launches": "Kernels and copies per cycle that it adds.",
    "waits": "Waits for the device per cycle that it adds.",
    "bytes": "Bytes copied per cycle that it adds.",
    "call": "Call of the host, kernel or copy, inside of those above it.",
    "state": "Whether both programs do the same there.",
    "folded": "Sorts of calls below it that are not shown.",
    "base_calls": "Calls per cycle of the first side.",
    "new_calls": "Calls per cycle of the second side.",
    "kind": "Cycles of a kind do the same.",
    "base_cycles": "How many cycles of the first side are of it.",
    "new_cycles": "How many cycles of the second side are of it.",
    "period": "How evenly they come.",
    "operators": "Operators and ranges per cycle.",
}


def program_lines(found: ProgramChange, *, longer: bool | None = None) -> list[str]:
    """What is certain, then what is precise: the program, and the time of its device work.

    `longer` says whether cycles take longer or shorter for sure.
    """
    times = found.device_time
    took = units.times(times.base_ns, times.new_ns)
    if found.same and found.device_verdict == "same" and longer is not None and found.certain:
        return [_REPEAT.format(took=took, pace="slower" if longer else "faster")]
    lines = [_program_line(found)]
    if not times.base_ns and not times.new_ns:
        return lines
    if found.device_verdict == "same":
        return [*lines, f"Device time per cycle is the same ({took})."]
    low, high = times.interval_pct or (0.0, 0.0)
    by = units.change(times.base_ns, times.new_ns)
    bounds = units.interval_pct(low, high)
    return [*lines, f"Device time per cycle: {took} ({by}, 95 % interval {bounds})."]


def _program_line(found: ProgramChange) -> str:
    if found.same:
        return f"{_SAME if found.certain else _KERNELS_ONLY}."
    first, *others = found.edits
    more = f", and {units.counted(len(others), 'more edits')} below" if others else ""
    changed = _DONE_OTHERWISE if first.cause == "kernel_choice" else "The program changed"
    return f"{changed}: {_edit_told(first)}{more}."


def _edit_told(one: ProgramEdit) -> str:
    """An edit with its place and what it adds."""
    adds = []
    if units.brief_ns(abs(one.device_ns)) != "0 ns":
        adds.append(f"{units.signed_ns(one.device_ns)} of device work")
    if one.waits:
        adds.append(f"{one.waits:+.3g} waits")
    cost = f" ({', '.join(adds)} per cycle)" if adds else ""
    return f"{one.sentence}, {one.place}{cost}"


# -- as blocks -------------------------------------------------------------------------------------


def program_section(found: ProgramChange, top: int | None) -> Iterator[Section]:
    """Edits first, then kinds of cycles where there are several, then both programs as a tree."""
    blocks = [edits_block(found)] if found.edits else []
    if len(found.kinds) > 1:
        blocks.append(kinds_block(found))
    if top is None:
        blocks.append(tree_block(found))
    if blocks:
        yield Section("program", "What the program does differently", tuple(blocks))


def edits_block(found: ProgramChange, most: int | None = None) -> Table:
    """Every edit with its place, its calls and what it adds per cycle."""
    rows = found.edits[:most]
    calls = [from_to(per_cycle(one.base_calls), per_cycle(one.new_calls)) for one in rows]
    return table(
        "edits",
        "Edits of the program, per cycle",
        [
            column("edit", "edit", "text", [short_names(one.sentence) for one in rows]),
            column("cause", "cause", "text", [cause_name(one.cause) for one in rows], spare=1),
            column("place", "place", "text", [short_names(one.place) for one in rows], spare=2),
            column("calls", "calls", "text", calls, right=True, spare=1),
            column("device_ns", "device", "time_ns", [one.device_ns for one in rows], signed=True),
            column(
                "host_ns", "host", "time_ns", [one.host_ns for one in rows], signed=True, spare=3
            ),
            column(
                "launches",
                "launches",
                "count",
                [one.launches for one in rows],
                signed=True,
                spare=4,
            ),
            column("waits", "waits", "count", [one.waits for one in rows], signed=True, spare=4),
            column("bytes", "bytes", "bytes", [one.bytes for one in rows], signed=True, spare=5),
        ],
        total_rows=len(found.edits),
        note=_rest(found),
        meanings=_MEANINGS,
    )


def _rest(found: ProgramChange) -> str:
    """What of the change is in calls that both programs make."""
    device, host = (units.signed_ns(ns) for ns in (found.same_device_ns, found.same_host_ns))
    said = f"The same calls with another duration: device {device}, host {host} per cycle."
    varying = units.counted(found.varying, "sorts of calls")
    return f"{said} {varying} vary from cycle to cycle." if found.varying else said


def kinds_block(found: ProgramChange, most: int | None = None) -> Table:
    """Kinds of cycles, and how often each comes."""
    kinds = found.kinds[:most]
    return table(
        "kinds",
        "Kinds of cycles",
        [
            column("kind", "kind", "count", range(1, len(kinds) + 1)),
            column("base_cycles", "cycles base", "count", [len(one.base_cycles) for one in kinds]),
            column("new_cycles", "cycles new", "count", [len(one.new_cycles) for one in kinds]),
            column("operators", "calls", "number", [one.calls for one in kinds]),
            column("period", "comes", "text", [_period(one) for one in kinds]),
        ],
        total_rows=len(found.kinds),
        meanings=_MEANINGS,
    )


def _period(one: CycleKinds) -> str:
    periods = {period for period in (one.base_period, one.new_period) if period}
    return ", ".join(f"one cycle in {period}" for period in sorted(periods)) or "unevenly"


def tree_block(found: ProgramChange, most: int | None = None) -> Table:
    """Both programs as one tree, folded where they are equal."""
    rows = found.calls.head(most or found.calls.height)
    marks = {"added": "+ ", "removed": "- ", "changed": "~ ", "varies": "? ", "same": "  "}
    named = [
        f"{marks[state]}{'  ' * depth}{short_names(name)}"
        for depth, name, state in rows.select("depth", "name", "state").iter_rows()
    ]
    return table(
        "program-calls",
        "Calls of both programs",
        [
            column("call", "call", "text", named, cut="middle"),
            column("state", "state", "text", rows["state"]),
            column("base_calls", "calls base", "number", rows["base_calls"]),
            column("new_calls", "calls new", "number", rows["new_calls"]),
            column("base_device_ns", "device base", "time_ns", rows["base_device_ns"]),
            column("new_device_ns", "device new", "time_ns", rows["new_device_ns"]),
            column("base_host_ns", "host base", "time_ns", rows["base_host_ns"], main=False),
            column("new_host_ns", "host new", "time_ns", rows["new_host_ns"], main=False),
            column("folded", "below", "count", rows["folded"], main=False),
        ],
        total_rows=found.calls.height,
        meanings=_MEANINGS,
    )


VIEWS = {
    "program": tree_block,
    "edits": edits_block,
    "kinds": kinds_block,
}
"""Tables of the program that can be asked for alone."""


# -- as values -------------------------------------------------------------------------------------


def program_values(one: Diagnosis | None) -> dict[str, Any]:
    """The key `program` of the JSON; null where no timeline tells."""
    found = None if one is None else one.program
    if found is None:
        return {"program": None}
    times = found.device_time
    return {
        "program": {
            "same": found.same,
            "certain": found.certain,
            "device_time": {
                "verdict": found.device_verdict,
                "base_us": _us(times.base_ns),
                "new_us": _us(times.new_ns),
                "change_pct": times.change_pct,
                "ci95_pct": times.interval_pct,
            },
            "change": {
                "device_us": _us(found.device_ns),
                "host_us": _us(found.host_ns),
                "same_calls_device_us": _us(found.same_device_ns),
                "same_calls_host_us": _us(found.same_host_ns),
            },
            "varying": found.varying,
            "kinds": [asdict(kind) for kind in found.kinds],
            "edits": [
                _edit_values(edit) | {"evidence": [proof.text for proof in edit.evidence]}
                for edit in found.edits
            ],
        }
    }


def _edit_values(edit: ProgramEdit) -> dict[str, Any]:
    return {
        "edit": edit.sentence,
        **{
            name: getattr(edit, name)
            for name in ("cause", "place", "call", "base_calls", "new_calls")
        },
        "device_us": _us(edit.device_ns),
        "host_us": _us(edit.host_ns),
        **{name: getattr(edit, name) for name in ("launches", "waits", "bytes")},
    }


def _us(time_ns: float) -> float:
    return round(time_ns / _NS_PER_US, 3)


def program_frame(found: ProgramChange, view: str) -> pl.DataFrame:
    """One of `VIEWS` with every row and column, for CSV."""
    if view == "program":
        return found.calls
    if view == "edits":
        return pl.DataFrame([_edit_values(edit) for edit in found.edits])
    return pl.DataFrame(
        {
            "kind": range(1, len(found.kinds) + 1),
            "base_cycles": [len(one.base_cycles) for one in found.kinds],
            "new_cycles": [len(one.new_cycles) for one in found.kinds],
            "base_period": [one.base_period for one in found.kinds],
            "new_period": [one.new_period for one in found.kinds],
            "calls": [one.calls for one in found.kinds],
        }
    )
