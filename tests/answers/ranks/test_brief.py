"""A rank is summarised from a brief reading: to the byte what the whole trace gives."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import DIALECTS, to_bytes, training_trace, write
from mutations import corpus
from thinning import every_nth
from timesink.analyses.ranks.reading import summarise_recording, summary_of
from timesink.analyses.ranks.summary import to_parquet
from timesink.errors import TimesinkError
from timesink.formats.read_options import IsChosen
from timesink.model.trace import Trace
from timesink.model.vendors import is_collective_call
from timesink.sources.opening import open_recording

EVERY_MUTANT = 61
"""Reading all of them twice takes too long; these still are of every kind."""


def open_trace(path: Path, brief: IsChosen | None = None) -> Trace:
    (recording,) = timesink.find_recordings(path)
    return open_recording(recording, None, jobs=1, brief=brief)


def of_whole(path: Path, steps: str | None) -> Any:
    """What the trace says of itself and the bytes of its summary, or why there is none."""
    try:
        trace = open_trace(path)
        return trace.metadata, trace.health, to_parquet(summary_of(trace, steps=steps))
    except TimesinkError as error:
        return error.message


def of_brief(path: Path, steps: str | None) -> Any:
    """The same as it is made for a set of ranks."""
    try:
        (recording,) = timesink.find_recordings(path)
        trace = open_trace(path, is_collective_call)
        job = summarise_recording(recording, steps=steps, cache=False)
    except TimesinkError as error:
        return error.message
    return trace.metadata, trace.health, job


def both_ways(path: Path, steps: str | None = None) -> tuple[Any, Any]:
    return of_whole(path, steps), of_brief(path, steps)


@pytest.mark.parametrize("name", every_nth(DIALECTS, 3))
def test_recordings_of_every_maker(name, tmp_path):
    full, brief = both_ways(write(tmp_path / "trace.json", to_bytes(DIALECTS[name]())))
    assert full == brief


def test_damaged_recordings(tmp_path):
    for mutant in islice(corpus(), 0, None, EVERY_MUTANT):
        path = tmp_path / f"trace{mutant.ending}"
        path.write_bytes(mutant.content)
        full, brief = both_ways(path)
        assert full == brief, mutant.label


ODD_ARGUMENTS = {
    "no number": {"Sequence number": "many", "External id": 7},
    "no such number": {"Sequence number": 2**64, "External id": 7},
    "packed": {"args": '{"Collective name": "allreduce", "In msg nelems": 3, "dtype": "Half"}'},
}


@pytest.mark.parametrize("odd", ODD_ARGUMENTS)
def test_arguments_that_are_left_out_are_checked_all_the_same(odd, tmp_path):
    document = training_trace(steps=3)
    operators = [e for e in document["traceEvents"] if e.get("cat") == "cpu_op"]
    operators[1]["args"] = ODD_ARGUMENTS[odd]
    full, brief = both_ways(write(tmp_path / "trace.json", to_bytes(document)))
    assert full == brief
    counted = {entry.code for entry in full[1]}
    assert ("bad_value" in counted) == (odd != "packed")
