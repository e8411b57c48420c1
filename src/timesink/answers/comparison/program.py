"""What the program does otherwise: in sentences, as blocks of a document, and as values of JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from timesink.answers.comparison.causes import cause_name, lower_first
from timesink.answers.comparison.diagnosis_json import EditJson
from timesink.answers.tables import Listing, ViewTable
from timesink.answers.views import compared_view
from timesink.comparison.results import Pair
from timesink.comparison.signals import Signals, signals_of
from timesink.model import units
from timesink.model.diagnosis import CycleKinds, Diagnosis, ProgramChange, ProgramEdit
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import from_to, per_cycle, size_bytes
from timesink.model.vendors import library_title
from timesink.output.blocks import Block, Detail, Kind, Section, Table, Tree, TreeSide
from timesink.output.names import short_names
from timesink.output.numbers import first_nodes, numbers, words
from timesink.patterns import regex

_NS_PER_US = 1000.0
NO_PROGRAM = "The program is not known: no timeline with calls was recorded."
_SAME = "The recorded calls are the same"
_DONE_OTHERWISE = "The same operators run with different kernels"
_KERNELS_ONLY = "The kernels are the same"
_REPEAT = "The host was {pace}: record both runs again before you look at the code."
_NEARLY_ALL = 0.8
"""Part of the change from which on stretches of host code are all of it."""
_OPERATORS = {"conv": "convolution", "mm": "matrix product", "linear": "matrix product"}
"""What operators are called that libraries choose kernels for, by a part of their name."""
_MAX_NAMED = 2
"""Stretches of host code that a sentence names."""


def program_lines(
    change: ProgramChange, *, longer: bool | None = None, why: Diagnosis | None = None
) -> list[str]:
    """What is certain, then what is precise: the program, and the time of its device work.

    `longer` says whether cycles take longer or shorter for sure; `why` what explains that.
    """
    times = change.device_time
    took = units.times(times.base_ns, times.new_ns)
    if change.same and change.device_verdict == "same" and longer is not None and change.certain:
        is_timed = times.base_ns or times.new_ns
        and_time = f", and so is their device time ({took})" if is_timed else ""
        chosen = f" {_choices_told(change)}." if change.choices else ""
        return [f"{_SAME}{and_time}{_host_change(longer=longer, why=why)}{chosen}"]
    lines = [_program_line(change)]
    if not times.base_ns and not times.new_ns:
        return lines
    if change.device_verdict == "same":
        return [*lines, f"Device time per step is unchanged ({took})."]
    low, high = times.interval_pct or (0.0, 0.0)
    if change.device_verdict == "uneven":
        between = units.interval_pct(low, high)
        varies = f"Device time varies from step to step: {took} (95 % interval {between})."
        return [*lines, varies]
    by = units.change_with_interval(times.base_ns, times.new_ns, (low, high))
    return [*lines, f"Device time per step: {took} ({by})."]


def _host_change(*, longer: bool, why: Diagnosis | None) -> str:
    """What the host did in equal calls, as the end of a sentence: stretches of code or its pace."""
    causes = () if why is None else why.causes
    placed = [
        cause
        for cause in causes
        if cause.id == "host_code" and cause.place and (cause.cost_ns > 0) == longer
    ]
    if placed and why is not None:
        before, after = why.cycle_time.parted_ns
        total_ns = abs(after - before)
        lead = "the extra" if longer else "the saved"
        of_it = f" of {lead} {units.brief_ns(total_ns)}"
        costs = [abs(cause.cost_ns) for cause in placed]
        if sum(costs) >= _NEARLY_ALL * total_ns:
            of_it = ""
        named = [
            f"{units.brief_ns(cost)}{of_it if place == 0 else ''} "
            f"{'is host code ' if place == 0 else ''}{cause.place}"
            for place, (cost, cause) in enumerate(zip(costs, placed[:_MAX_NAMED], strict=False))
        ]
        return f"; {'' if of_it else f'{lead} '}{', and '.join(named)}."
    pace = [] if why is None else [pace for pace in why.paces if pace.device == HOST_DEVICE]
    if pace:
        # What a pace explains comes after what edits of the program do.
        lead = "Beyond that, " if causes else "Cause: "
        return f". {lead}{lower_first(pace[0].sentence)}"
    if causes:
        return "."
    return f". {_REPEAT.format(pace='slower' if longer else 'faster')}"


def only_edited(diagnosis: Diagnosis) -> bool:
    """Whether the program changed for sure, and cycle time did not."""
    edits = () if diagnosis.program is None else diagnosis.program.edits
    return bool(edits) and diagnosis.verdict == "no_change"


def opening_lines(diagnosis: Diagnosis) -> list[str]:
    """`program_lines` where there is something to say of the program, and cycles tell of it."""
    if diagnosis.program is None or diagnosis.verdict == "incomparable":
        return []
    longer = {"regression": True, "improvement": False}.get(diagnosis.verdict)
    return program_lines(diagnosis.program, longer=longer, why=diagnosis)


def without_edits(diagnosis: Diagnosis, most: int | None = None) -> Diagnosis:
    """The same with causes that do not say again what the first edits are."""
    edits = () if diagnosis.program is None else diagnosis.program.edits[:most]
    edit_sentences = {f"{edit.sentence} ({edit.place})." for edit in edits}
    causes = (
        replace(cause, sentence="") if cause.sentence in edit_sentences else cause
        for cause in diagnosis.causes
    )
    return replace(diagnosis, causes=tuple(causes))


def _program_line(change: ProgramChange) -> str:
    if change.same:
        chosen = f" {_choices_told(change)}." if change.choices else ""
        return f"{_SAME if change.certain else _KERNELS_ONLY}.{chosen}"
    first, *other_edits = change.edits
    more = f"; {units.count_noun(len(other_edits), 'more changes')} below" if other_edits else ""
    changed = _DONE_OTHERWISE if first.cause == "kernel_choice" else "The program changed"
    return f"{changed}: {lower_first(edit_told(first))}{more}."


def _choices_told(change: ProgramChange) -> str:
    """Kernels that a library chose anew, of no effect: `cuDNN chose another kernel for one ...`."""
    first, places = change.choices[0], sum(edit.places for edit in change.choices)
    library = library_title(f"{first.inside} {first.sentence}") or "The library"
    noun = next((noun for word, noun in _OPERATORS.items() if word in first.inside), "operator")
    device_ns = sum(edit.device_ns for edit in change.choices)
    is_timed = units.brief_ns(abs(device_ns)) != "0 ns"
    amount = f" ({units.signed_ns(device_ns)} of device work per step)" if is_timed else ""
    kernels = "another kernel" if places == 1 else "other kernels"
    number = "one" if places == 1 else str(places)
    plural = "s" if places > 1 else ""
    return f"{library} chose {kernels} for {number} {noun}{plural}, with no effect on time{amount}"


def edit_told(edit: ProgramEdit) -> str:
    """An edit with its place and what it adds; of layers only how many there are."""
    layers = _LAYERS.match(edit.sentence)
    parts = [edit.sentence if layers is None else layers[0]]
    if layers is None or not edit.place.startswith("in the step"):
        parts.append(edit.place)
    adds = []
    if units.brief_ns(abs(edit.device_ns)) != "0 ns":
        adds.append(f"{units.signed_ns(edit.device_ns)} of device work")
    if edit.waits:
        waits = "wait" if abs(edit.waits) == 1 else "waits"
        adds.append(f"{edit.waits:+.3g} {waits} for the device")
    if adds:
        parts.append(f"{' and '.join(adds)} per step")
    return ", ".join(parts)


_LAYERS = regex(r"\S+ (?:more|fewer) layers? \(\d+ → \d+\)")


# -- as blocks -------------------------------------------------------------------------------------


def edits_blocks(diagnosis: Diagnosis, id_: str = "edits") -> Iterator[Table]:
    """What opens an answer: the edits, where there are any.

    Where runs are not comparable there is nothing that these could be causes of.
    """
    change, has_causes = diagnosis.program, diagnosis.verdict != "incomparable"
    if change is not None and change.edits:
        yield replace(edits_block(change, has_causes=has_causes), id=id_)


def program_section(
    change: ProgramChange | None, top: int | None, sides: tuple[str, str], *, placed: bool = True
) -> Iterator[Section]:
    """Both programs as a tree, for pages, and step types where there are several.

    `placed` says whether moments are those of one recording on either side.
    """
    if change is None:
        return
    blocks: list[Block] = [kinds_block(change)] if len(change.kinds) > 1 else []
    if top is None and change.calls.height:
        blocks.insert(0, tree_block(change, sides=sides, placed=placed))
    if blocks:
        yield Section("program", "Both programs", tuple(blocks))


def edits_block(
    change: ProgramChange, most: int | None = None, *, has_causes: bool = True
) -> Table:
    """Every edit with its place, its calls and what it adds per step."""
    listing = partial(_edits_listing, change, has_causes=has_causes)
    return replace(program_table(change, "edits"), listing=listing).block(rows=most)


def _edits_listing(change: ProgramChange, *, has_causes: bool = True) -> Listing:
    def values(frame: pl.DataFrame) -> dict[str, Any]:
        rows = change.edits[: frame.height]
        columns: dict[str, list[Any] | None] = {
            name: [getattr(edit, name) for edit in rows]
            for name in ("device_ns", "host_ns", "launches", "waits", "bytes")
        }
        for name in ("launches", "waits", "bytes"):
            columns[name] = columns[name] if any(columns[name] or ()) else None
        calls = [(per_cycle(edit.base_calls), per_cycle(edit.new_calls)) for edit in rows]
        return {
            "edit": [short_names(edit.sentence) for edit in rows],
            "cause": [cause_name(edit.cause) for edit in rows] if has_causes else None,
            "place": [short_names(edit.place) for edit in rows],
            "calls": [from_to(*both) for both in calls],
            **columns,
        }

    frame = program_frame(change, "edits")
    return Listing(frame, values, looks={"note": _rest(change), "whole": True})


def _rest(change: ProgramChange) -> str:
    """What of the change is in calls that both programs make."""
    device, host = (units.signed_ns(ns) for ns in (change.same_device_ns, change.same_host_ns))
    text = f"Unchanged calls: device time {device}, host time {host} per step."
    varying = units.count_noun(change.varying, "call sites")
    return f"{text} {varying} vary from step to step." if change.varying else text


def kinds_block(change: ProgramChange, most: int | None = None) -> Table:
    """Step types, and how often each comes."""
    return program_table(change, "kinds").block(rows=most)


def _kinds_listing(change: ProgramChange) -> Listing:
    def values(rows: pl.DataFrame) -> dict[str, Any]:
        periods = [_period(kind) for kind in change.kinds[: rows.height]]
        return {"operators": rows["calls"], "period": periods}

    return Listing(program_frame(change, "kinds"), values)


def _period(kind: CycleKinds) -> str:
    periods = {period for period in (kind.base_period, kind.new_period) if period}
    return ", ".join(f"one step in {period}" for period in sorted(periods)) or "unevenly"


def tree_block(
    change: ProgramChange,
    most: int | None = None,
    *,
    sides: tuple[str, str] = ("base", "new"),
    placed: bool = True,
) -> Tree:
    """Both programs as one tree, folded where they are equal."""
    rows = change.calls
    base, new = (
        _tree_side(rows, *side, placed=placed) for side in zip(("base", "new"), sides, strict=True)
    )
    tree = Tree(
        "program-calls",
        "Calls of both programs, per step",
        tuple(rows["depth"]),
        words(map(short_names, rows["name"])),
        words(rows["state"]),
        tuple(rows["folded"]),
        base,
        new,
        0,
    )
    tree = replace(tree, total=len(tree.seen))
    return tree if most is None else first_nodes(tree, most)


def _tree_side(rows: pl.DataFrame, side: str, label: str, *, placed: bool) -> TreeSide:
    calls = rows.select(pl.col("base_calls", "new_calls").round(2) % 1 == 0)
    often: Kind = "count" if all(calls.select(pl.all().all()).row(0)) else "number"
    kinds: dict[str, Kind] = {"calls": often, "device_ns": "time_ns", "host_ns": "time_ns"}
    return TreeSide(
        label,
        tuple(
            Detail(name.removesuffix("_ns"), kind, numbers(rows[f"{side}_{name}"], kind).values)
            for name, kind in kinds.items()
        ),
        tuple(rows[f"{side}_first_ns"]) if placed else (),
    )


VIEWS: dict[str, Callable[[ProgramChange, int | None], Block]] = {
    "program": tree_block,
    "edits": edits_block,
    "kinds": kinds_block,
}
"""Tables of the program that can be asked for alone."""


_EDIT_COLUMNS = {
    field.name: pl.String if field.type is str else pl.Float64
    for field in msgspec.structs.fields(EditJson)
    if field.required
}
"""Columns of the table of edits, where there is none."""


# -- as values -------------------------------------------------------------------------------------


def program_table(change: ProgramChange, view: str) -> ViewTable:
    """One of `VIEWS` as a table; people see the calls of both programs as a tree instead."""
    listings = {"edits": _edits_listing, "kinds": _kinds_listing}
    listing = partial(listings[view], change) if view in listings else None
    return ViewTable(compared_view(view), program_frame(change, view), listing=listing)


def program_frame(change: ProgramChange, view: str) -> pl.DataFrame:
    """One of `VIEWS` with every row and column, for CSV."""
    if view == "program":
        return change.calls
    if view == "edits":
        fields = [msgspec.to_builtins(EditJson.of(edit)) for edit in change.edits]
        return pl.DataFrame(fields, schema=None if fields else _EDIT_COLUMNS)
    return pl.DataFrame(
        {
            "kind": range(1, len(change.kinds) + 1),
            "base_cycles": [len(kind.base_cycles) for kind in change.kinds],
            "new_cycles": [len(kind.new_cycles) for kind in change.kinds],
            "base_period": [kind.base_period for kind in change.kinds],
            "new_period": [kind.new_period for kind in change.kinds],
            "calls": [kind.calls for kind in change.kinds],
        }
    )


# -- what single runs tell for sure, or nearly: program, counts, memory, device time ---------------

PROGRAM, COUNTS, DEVICE_TIME = "program", "counts", "device_time"
_NO_DEVICE = (
    "no device work was recorded: record where there is a device, or leave this limit out where "
    "the program uses none"
)


class ExactAmount(msgspec.Struct, frozen=True):
    """An exact signal, as sentences speak of it."""

    signal: str
    """Field of `Signals`."""
    things: str
    """What is counted; nothing of sizes."""
    rest: str
    """What it is of, or what became of the bytes."""
    is_size: bool = False
    per: str = " per step"
    missing: str = _NO_DEVICE
    """What to record where it is not known."""

    def text(self, value: float) -> str:
        """One side of it."""
        return size_bytes(value) if self.is_size else per_cycle(value)

    def of(self, base: float, new: float) -> str:
        """Both sides of it."""
        if base == new:
            return f"{self.phrase(new)}{self.per}, unchanged"
        what = " ".join(filter(None, (self.things, self.rest)))
        by = f"{'+' if new > base else '-'}{self.text(abs(new - base))}"
        return f"{from_to(self.text(base), self.text(new))} {what}{self.per} ({by})"

    def phrase(self, value: float) -> str:
        """One side and what it is."""
        things = self.things[:-1] if value == 1 else self.things
        return " ".join(filter(None, (self.text(value), things, self.rest)))


AMOUNTS: Mapping[str, ExactAmount] = {
    "launches": ExactAmount("launches", "launches", ""),
    "syncs": ExactAmount("syncs", "waits", "for the device"),
    "bytes_copied": ExactAmount("copied_bytes", "", "copied", is_size=True),
    "peak_memory": ExactAmount(
        "peak_memory_bytes",
        "",
        "of memory at its peak",
        is_size=True,
        per="",
        missing="allocations were not recorded: record with --with memory",
    ),
}
"""Exact signals by the keys of their limits."""


def signals_of_pair(pair: Pair) -> tuple[Signals, Signals]:
    """The signals of both sides, of all devices."""
    full_pair = pair.whole
    return signals_of(full_pair.base), signals_of(full_pair.new)


def certain_lines(pair: Pair, why: Diagnosis, signal_names: frozenset[str]) -> dict[str, str]:
    """What is certain and precise of two runs, but for limits that are `signal_names` about."""
    if why.program is None or why.verdict == "incomparable":
        return {}
    first, *rest = program_lines(why.program)
    lines = {} if PROGRAM in signal_names else {PROGRAM: first}
    if amounts_text := "; ".join(_amounts_told(signals_of_pair(pair), signal_names)):
        lines[COUNTS] = f"{amounts_text}."
    if rest and DEVICE_TIME not in signal_names:
        lines[DEVICE_TIME] = " ".join(rest)
    return lines


def _amounts_told(sides: tuple[Signals, Signals], signal_names: frozenset[str]) -> Iterator[str]:
    """What changed one by one, then what is as before together."""
    same: dict[str, list[str]] = {}
    for key, what in AMOUNTS.items():
        base, new = (getattr(side, what.signal) for side in sides)
        if key in signal_names or base is None or new is None:
            continue
        if base == new:
            same.setdefault(what.per, []).append(what.phrase(new))
        else:
            yield what.of(base, new)
    for per, texts in same.items():
        yield f"{', '.join(texts)}{per}, unchanged"
