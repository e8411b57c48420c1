"""Doubts about the recording itself."""

from __future__ import annotations

from cases import STEP, K, R, read
from timesink.answers.analysis.finding_values import evidence_json
from timesink.model.trace import Trace
from timesink.rules.device_work import cut_steps


def steps_with(*counts: int, launched: int = 0) -> Trace:
    """Steps that launch this many kernels each; `launched` are all that the third launches."""
    events = []
    for number, count in enumerate(counts, start=1):
        start = 1000 * number
        events.append(STEP(number, start, 900))
        for place in range(count):
            launch, kernel = start + 10 * place, start + 10 * place + 5
            events += [R(launch, 2, c=launch), K("gemm", kernel, 2, c=launch)]
    events += [
        R(3000 + 10 * place, 2, c=9000 + place)
        for place in range(counts[2] if launched else 0, launched)
    ]
    return read(*events)


def test_numbers_and_evidence():
    (finding,) = cut_steps(steps_with(10, 12, 3, 0, launched=11))
    assert (finding.rule, finding.severity) == ("cut-steps", "medium")
    assert [evidence_json(item) for item in finding.evidence] == [
        {"kind": "step", "name": "3", "device_events": 3},
        {"kind": "step", "name": "4", "device_events": 0},
    ]


def test_whole_steps_are_fine():
    for trace in (
        steps_with(10, 10, 3),
        steps_with(10, 12, 8, launched=10),
        steps_with(0, 0),
        read(),
    ):
        assert cut_steps(trace) == []
