"""Which arguments of which kind of event are kept, under which column, as what.

They are rows of `argument_sets.csv`, but for those few events carry.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from timesink.model import vendors
from timesink.model.data_files import csv_rows

ValueType = Literal["int", "float", "lane", "text"]


@dataclass(frozen=True, slots=True)
class Argument:
    """A column, the argument names it may come from (first wins), and how to keep it."""

    column: str
    keys: tuple[str, ...]
    type: ValueType


@dataclass(frozen=True, slots=True)
class ArgumentSet:
    """The arguments of one kind of event."""

    kept: tuple[Argument, ...]
    rare: tuple[tuple[str, ...], ...] = ()
    """Families of keys few events carry; they become rows of `event_args` or `collectives`.
    The first key of a family is on every event that has any of them, and is no column."""
    ignored: tuple[str, ...] = ()
    """Keys that repeat other fields or mean nothing outside the profiler."""
    in_brief: tuple[str, ...] = ()
    """Columns that a brief reading keeps."""

    @property
    def known(self) -> frozenset[str]:
        kept = (key for argument in self.kept for key in argument.keys)
        return frozenset((*kept, *self.rare_keys, *self.ignored))

    @property
    def rare_keys(self) -> frozenset[str]:
        return frozenset(key for family in self.rare for key in family)


FLOW_PHASE_NAMES = {"s": "start", "t": "step", "f": "end"}
_ROWS = csv_rows(Path(__file__).with_name("argument_sets.csv"))
COLLECTIVE_KEYS = {row["keys"]: row["column"] for row in _ROWS if row["event"] == "collective"}
_COLLECTIVE = (*COLLECTIVE_KEYS, "Global rank start", "Global rank stride", "Process Group ID")
_TRITON_KEYS = (
    *("kernel_backend", "kernel_file", "kernel_hash", "kernel_kwargs", "kernel_name"),
    *("kernel_num_gb", "kernel_flop", "num_warps", "num_stages"),
)
_INPUT_COLUMNS = ("input_dims", "input_types")


def _set_of(event: str, *rare: tuple[str, ...]) -> ArgumentSet:
    """The arguments of one kind of event: its rows of the table."""
    kept: list[Argument] = []
    ignored: tuple[str, ...] = ()
    in_brief: list[str] = []
    for row in _ROWS:
        if row["event"] != event:
            continue
        keys = tuple(
            key
            for one in row["keys"].split("|")
            for key in (vendors.every(one.strip("{}")) if one.startswith("{") else (one,))
        )
        if row["type"] == "ignored":
            ignored = keys
        else:
            kept.append(Argument(row["column"], keys, cast("ValueType", row["type"])))
            in_brief += [row["column"]] * (row["brief"] == "yes")
    return ArgumentSet(tuple(kept), rare, ignored, tuple(in_brief))


OPERATOR = _set_of("operator", _COLLECTIVE, (*_TRITON_KEYS, "stream", "grid"))
INPUTS = ArgumentSet(tuple(one for one in OPERATOR.kept if one.column in _INPUT_COLUMNS))
"""What a brief reading keeps of chosen operators only."""
PYTHON = _set_of("python")
RUNTIME = _set_of("runtime")
DEVICE = _set_of("device", _COLLECTIVE, *vendors.every("rare_arguments"))
MEMORY = _set_of("memory")
LANE_METADATA = _set_of("lane")
