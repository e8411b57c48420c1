"""One piece of the event list to columns: envelope first, then arguments kind by kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import compress

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Raw

from timesink.model.vendors import DEVICE_CATEGORIES, HOST_CATEGORIES
from timesink.readers.chrome import argument_sets
from timesink.readers.chrome.arguments import ArgumentDecoder
from timesink.readers.chrome.chosen_inputs import ChosenInputs
from timesink.readers.chrome.columns import (
    NULL_CODE,
    Group,
    Piece,
    PieceColumn,
    Tally,
    Vocabularies,
)
from timesink.readers.chrome.envelopes import (
    ENVELOPES,
    Fields,
    TextEnvelope,
    exact_times,
    transpose,
)
from timesink.readers.chrome.rare_arguments import collective_rows, other_rows
from timesink.readers.chrome.side_columns import append, flow_ids, samples
from timesink.readers.chrome.timestamps import NULL_INT, Int64Array
from timesink.readers.options import IsChosen

MEMORY_NAME = "[memory]"

_ARGUMENTS = {
    "operator": argument_sets.OPERATOR,
    "python": argument_sets.PYTHON,
    "runtime": argument_sets.RUNTIME,
    "device": argument_sets.DEVICE,
    "ranges": argument_sets.DEVICE,
    "untyped": argument_sets.DEVICE,
    "nested": argument_sets.OPERATOR,
    "instant": argument_sets.OPERATOR,
    "memory": argument_sets.MEMORY,
    "metadata": argument_sets.LANE_METADATA,
}

GROUPS = ("dropped", "flow", "counter", *_ARGUMENTS)
"""Where an event can go; each group has its own columns."""
_DROPPED, _FLOW = GROUPS.index("dropped"), GROUPS.index("flow")
_GROUP_OF_PHASE = {
    "s": "flow",
    "t": "flow",
    "f": "flow",
    "C": "counter",
    "M": "metadata",
    "B": "nested",
    "E": "nested",
    "i": "instant",
    "I": "instant",
    "R": "instant",
    "n": "instant",
}
_UNTIMED_GROUPS = ("dropped", "metadata")
# What a group has no use for is not carried along.
_UNUSED_BY_SLICES = frozenset({"phase"})
_UNUSED_COLUMNS = {
    "flow": frozenset({"name", "dur_ns"}),
    "counter": frozenset({"dur_ns"}),
    "ranges": frozenset[str](),
    "nested": frozenset[str](),
    "memory": frozenset({"phase", "category", "name", "dur_ns"}),
    "metadata": frozenset({"phase", "category", "ts_ns", "dur_ns"}),
}
_ONLY_TIMES = frozenset({"phase", "category", "name", "pid", "tid", "dur_ns"})
_UNUSED_IN_BRIEF = {**_UNUSED_COLUMNS, "flow": _ONLY_TIMES, "memory": _ONLY_TIMES}


@cache
def _argument_decoder(group: str, *, brief: bool) -> ArgumentDecoder:
    return ArgumentDecoder(_ARGUMENTS[group], group, brief=brief)


def group_of_category(category: str | None) -> str:
    """Which group of columns a duration event goes to, by its category."""
    if not category:
        return "untyped"
    lowered = category.lower()
    kind = DEVICE_CATEGORIES.get(lowered)
    if kind is not None:
        return "ranges" if kind == "profiler_range" else "device"
    kind = HOST_CATEGORIES.get(lowered, "other")
    if kind in ("runtime", "driver"):
        return "runtime"
    return "python" if kind == "python_function" else "operator"


class PieceDecoder:
    """Decodes pieces one after another; texts are numbered in vocabularies they share."""

    def __init__(self, brief: IsChosen | None = None) -> None:
        self.vocabularies = Vocabularies()
        self._envelope = 0
        self._brief = brief is not None
        self._unused = _UNUSED_IN_BRIEF if self._brief else _UNUSED_COLUMNS
        self._inputs = None if brief is None else ChosenInputs(brief)

    def decode(self, number: int, text: bytes) -> Piece:
        """Columns of a piece of valid JSON: a list of events in brackets.

        Raises msgspec.DecodeError or UnicodeDecodeError when the piece needs repair.
        """
        if not text.isascii():
            text.decode("utf-8")  # arguments stay raw, and would bring bad bytes to light too late
        for place in range(self._envelope, len(ENVELOPES)):
            try:
                fields = transpose(ENVELOPES[place].decode(text))
            except msgspec.ValidationError:
                continue
            times = exact_times(fields)
            if times is not None:
                # The pieces of one trace are alike: the next one starts where this one ended.
                self._envelope = place
                return self._columns(number, fields, times, Tally())
        msg = "no envelope fits"
        raise msgspec.DecodeError(msg)

    def columns_of(self, number: int, events: Sequence[TextEnvelope], tally: Tally) -> Piece:
        """Columns of events decoded one by one; what is odd about them goes to the tally."""
        fields = transpose(events)
        return self._columns(number, fields, exact_times(fields) or (), tally)

    def _columns(
        self, number: int, fields: Fields, times: Sequence[Int64Array], tally: Tally
    ) -> Piece:
        if not fields:
            return Piece(number, 0, {}, tally)
        phase, category, name, pid, tid, _, _, flow_id, args = fields
        ts_ns, dur_ns = times
        count = len(phase)
        words = self.vocabularies
        base: Group = {
            "index": PieceColumn(np.arange(count, dtype=np.int64)),
            "phase": PieceColumn(words.phases.encode(phase), "phases"),
            "category": PieceColumn(words.categories.encode(category), "categories"),
            "name": PieceColumn(words.names.encode(name), "names"),
            "pid": PieceColumn(words.lanes.encode(pid), "lanes"),
            "tid": PieceColumn(words.lanes.encode(tid), "lanes"),
            "ts_ns": PieceColumn(ts_ns),
            "dur_ns": PieceColumn(dur_ns),
        }
        groups: dict[str, Group] = {}
        for group_name, rows in self._place(base, tally):
            unused = self._unused.get(group_name, _UNUSED_BY_SLICES)
            group = {
                key: PieceColumn(column.values[rows], column.vocabulary)
                for key, column in base.items()
                if key not in unused
            }
            mask = np.zeros(count, bool)
            mask[rows] = True
            if group_name == "flow":
                groups["flow"] = group
                if not self._brief:
                    group["flow_id"] = flow_ids(list(compress(flow_id, mask)))
            elif group_name == "counter":
                append(groups, "samples", samples(group, list(compress(args, mask)), words, tally))
            else:
                raws = list(compress(args, mask))
                self._add_arguments(groups, group_name, group, raws, tally)
        return Piece(number, count, groups, tally, self._phase_counts(base))

    def _place(self, base: Group, tally: Tally) -> list[tuple[str, npt.NDArray[np.intp]]]:
        """Rows of each group, in file order; unusable events are counted and left out."""
        slices = self._are_slices(base)
        places = self._groups_of(base, slices)
        unplaced = places == _DROPPED
        tally.add("unknown_phase", unplaced.sum(), self._describe(base, unplaced))
        timeless = base["ts_ns"].values == NULL_INT
        for untimed in _UNTIMED_GROUPS:
            timeless &= places != GROUPS.index(untimed)
        tally.add("missing_ts", timeless.sum(), self._describe(base, timeless))
        places[timeless] = _DROPPED

        slices &= ~timeless
        self._mend_durations(base, slices, tally)
        nameless = slices & (base["name"].values == NULL_CODE)
        tally.add("missing_name", nameless.sum(), self._describe(base, nameless))
        order = np.argsort(places, kind="stable")
        bounds = np.searchsorted(places[order], np.arange(len(GROUPS) + 1))
        return [
            (name, order[bounds[code] : bounds[code + 1]])
            for code, name in enumerate(GROUPS)
            if code != _DROPPED and bounds[code] < bounds[code + 1]
        ]

    def _are_slices(self, base: Group) -> npt.NDArray[np.bool_]:
        """Events with a duration; one that lost its phase still counts."""
        phases = base["phase"].values
        slices: npt.NDArray[np.bool_] = phases == self.vocabularies.phases.get("X", -2)
        slices |= (phases == NULL_CODE) & (base["dur_ns"].values != NULL_INT)
        return slices

    def _groups_of(self, base: Group, slices: npt.NDArray[np.bool_]) -> npt.NDArray[np.int8]:
        words = self.vocabularies
        by_phase = [
            GROUPS.index(_GROUP_OF_PHASE.get(phase, "dropped")) for phase in words.phases.words()
        ]
        by_category = [
            GROUPS.index(group_of_category(category)) for category in words.categories.words()
        ]
        # The last entry stands for a missing value, whose code is -1.
        of_phase = np.array([*by_phase, _DROPPED], np.int8)
        of_category = np.array([*by_category, GROUPS.index("untyped")], np.int8)
        places: npt.NDArray[np.int8] = np.where(
            slices, of_category[base["category"].values], of_phase[base["phase"].values]
        )
        is_memory = (places == GROUPS.index("instant")) & (
            base["name"].values == words.names.get(MEMORY_NAME, -2)
        )
        places[is_memory] = GROUPS.index("memory")
        return places

    def _mend_durations(self, base: Group, slices: npt.NDArray[np.bool_], tally: Tally) -> None:
        durations: Int64Array = base["dur_ns"].values
        missing = slices & (durations == NULL_INT)
        negative = slices & (durations < 0) & ~missing
        tally.add("missing_duration", missing.sum(), self._describe(base, missing))
        tally.add("negative_duration", negative.sum(), self._describe(base, negative))
        durations[missing | negative] = 0

    def _phase_counts(self, base: Group) -> dict[str, int]:
        counts = np.bincount(base["phase"].values + 1)
        names = ["", *self.vocabularies.phases.words()]
        return {name: int(n) for name, n in zip(names, counts, strict=False) if n}

    def _describe(self, base: Group, rows: npt.NDArray[np.bool_]) -> str:
        """The first of these events, for a health entry."""
        if not rows.any():
            return ""
        row = int(np.flatnonzero(rows)[0])
        names, phases = self.vocabularies.names.words(), self.vocabularies.phases.words()
        name, phase = base["name"].values[row], base["phase"].values[row]
        return (
            f"event {row} of its piece, name {names[name] if name >= 0 else None!r}, "
            f"phase {phases[phase] if phase >= 0 else None!r}"
        )

    def _add_arguments(
        self,
        groups: dict[str, Group],
        name: str,
        group: Group,
        raws: list[Raw],
        tally: Tally,
    ) -> None:
        words = self.vocabularies
        decoder = _argument_decoder(name, brief=self._brief)
        decoded = decoder.decode(raws, words, tally)
        columns, rare = decoded or decoder.decode_forgiving(raws, words, tally)
        if decoded and self._inputs is not None and _ARGUMENTS[name] is argument_sets.OPERATOR:
            columns |= self._inputs.of(group["name"].values, raws, words)
        groups[name] = {**group, **columns}
        index = group["index"].values
        if rare:
            append(groups, "collectives", collective_rows(index, rare, words.texts))
        if rare and not self._brief:
            others = other_rows(index, rare, _ARGUMENTS[name].rare_keys, words.names, words.texts)
            append(groups, "event_args", others)
        if name == "ranges":
            append(groups, "samples", samples(group, raws, words, tally, of_ranges=True))
