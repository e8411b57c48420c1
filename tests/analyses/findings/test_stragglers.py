"""Workers that the others wait for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import timesink
from builders import Event, annotation, operator, step
from cases import DATA_LOADER, read
from timesink.analyses.findings.finding import Finding
from timesink.analyses.findings.stragglers import stragglers


def reduced(at: int, us: int) -> Event:
    shape = {"Input Dims": [[256]], "Input type": ["float"]}
    return annotation("gloo:all_reduce", at, us, **shape)


def found(reached_us: Sequence[int], *first_does: Event) -> list[Finding]:
    """Two steps of 1 ms; all ranks leave the collective at 900 us, each reaches it in its time."""
    traces = {}
    for rank, reached in enumerate(reached_us):
        events = [*first_does] if rank == 0 else []
        for number in (0, 1):
            start = 1000 * number
            events += [step(number, start, 1000), operator("aten::mm", start, 50)]
            events.append(reduced(start + reached, 900 - reached))
        info = {"backend": "gloo", "rank": rank, "world_size": len(reached_us)}
        traces[f"rank{rank}"] = read(*events, distributedInfo=info)
    return stragglers(traces)


def test_share_gain_and_evidence():
    (finding,) = found([800, 500, 480, 520])
    assert (finding.rule, finding.severity) == ("stragglers", "high")
    assert finding.title == "rank0 makes the others wait"
    assert (finding.share, finding.gain_ns) == (pytest.approx(0.3), 300_000)
    assert "rank0 makes the others wait: 300.0 us a step (30.0 %)" in finding.sentence
    assert [item.name for item in finding.evidence] == ["rank0", "rank3", "rank1", "rank2"]
    assert finding.evidence[0].numbers["waiting_us_per_step"] == 0


def test_what_the_straggler_does_meanwhile():
    loading = [annotation(DATA_LOADER, 1000 * number + 60, 300) for number in (0, 1)]
    (finding,) = found([800, 500, 500], *loading)
    assert "Its steps have 300.0 us more of data loading." in finding.sentence


@pytest.mark.parametrize(("reached", "count"), [(549, 0), (550, 1)])
def test_five_percent_of_a_step_are_needed(reached: int, count: int):
    assert len(found([reached, 500, 500])) == count


def test_two_workers():
    (finding,) = found([500, 700])
    assert finding.title == "rank1 makes the others wait"


def test_two_of_many():
    (finding,) = found([800, 790, 500, 500, 500, 500])
    assert finding.title == "rank0 and rank1 make the others wait"


def test_where_most_are_late_nobody_is():
    assert found([800, 800, 500]) == []


def test_one_worker_or_none_that_communicates():
    assert found([500]) == stragglers({}) == []
    alone = read(step(0, 0, 100), operator("aten::mm", 0, 50))
    assert stragglers({"a": alone, "b": read(step(0, 0, 100))}) == []


@pytest.mark.parametrize(
    ("run", "titles"),
    [("ddp8_stall_rank3", ["rank3 makes the others wait"]), ("ddp8_normal", [])],
)
def test_recorded_runs(shared: Path, run: str, titles: list[str]):
    workers = timesink.analyze(shared / "data/h200/traces" / run).workers
    assert [finding.title for finding in stragglers(workers)] == titles
