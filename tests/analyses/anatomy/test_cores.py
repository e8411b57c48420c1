"""How many cores the host of a recording has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from timesink.analyses.behaviour.recorded_anatomy import cores_of
from timesink.model.recorded_run import RecordedRun, RunHost
from timesink.model.trace import Metadata, Trace

METADATA = Metadata("trace.json", "kineto", "cpu", 0)


@pytest.mark.parametrize(
    ("host", "cores"),
    [
        ({"cores": 16}, 16),
        ({"cores": 2.5}, 2),
        ({"cores": 4, "machine_cores": 64}, 64),
        ({"cores": 0.5}, None),
        ({}, None),
    ],
)
def test_a_recorder_says_it(host: dict[str, Any], cores: int | None):
    run = RecordedRun(host=RunHost(**host))
    assert cores_of(Trace(replace(METADATA, run=run))) == cores


def test_the_trace_says_it_where_the_recorder_does_not():
    extra = {"host": {"cpu_count": 8}}
    assert cores_of(Trace(replace(METADATA, extra=extra))) == 8
    assert cores_of(Trace(replace(METADATA, extra=extra, run=RecordedRun()))) == 8
