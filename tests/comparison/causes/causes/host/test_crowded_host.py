"""Causes on a host whose threads wait for a core, as a counter tells."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from slowed import MS, USUAL, Call, Program, anomaly, causes, pair
from timesink.comparison.causes.diagnosis import attribution, find_causes
from timesink.comparison.results import Process

CROWDED = anomaly("cpu_contention", "Host", metric="process_runq_wait_pct")
_HOST = ("idle", "host_cpu", "launch_gap")


def with_core_waits(role: Process, share: float) -> Process:
    """The same with a share of all time of the host spent on waiting for a core."""
    anatomy = role.anatomy
    assert anatomy is not None
    on_host = pl.col("part").cast(pl.String).is_in(_HOST)
    waits = (
        anatomy.parts.filter(on_host)
        .with_columns(
            pl.lit("run_queue").cast(anatomy.parts.schema["part"]).alias("part"),
            pl.col("dur_ns") * share,
        )
        .select(anatomy.parts.columns)
    )
    rest = pl.when(on_host).then(pl.col("dur_ns") * (1 - share)).otherwise("dur_ns")
    parts = pl.concat([anatomy.parts.with_columns(rest.alias("dur_ns")), waits])
    return replace(role, anatomy=replace(anatomy, parts=parts))


def causes_when_crowded(new: Program, share: float) -> dict[str, float]:
    both = pair(USUAL, new)
    crowded = with_core_waits(both.new, share)
    before, after = both.base.anatomy, crowded.anatomy
    assert before is not None
    assert after is not None
    parts = attribution(replace(both, new=crowded), before, after)
    cause_list = find_causes(replace(both, new=crowded), before, after, parts, (CROWDED,))
    return {cause.id: cause.cost_ns for cause in cause_list}


def test_a_pause_is_found_among_waits_for_a_core() -> None:
    explained = causes_when_crowded(replace(USUAL.slowed(2.0), gap_ms=20.0), 0.5)
    assert list(explained) == ["cpu_contention", "host_code"]
    assert explained["host_code"] == pytest.approx(20 * MS, rel=0.15)


def test_waits_alone_open_no_pause() -> None:
    assert list(causes_when_crowded(USUAL.slowed(2.0), 0.5)) == ["cpu_contention"]


def test_waits_for_a_core_show_though_the_pace_of_the_host_wanders() -> None:
    new = USUAL.slowed(1.02).but(waiting=Call("runq", 5, 2.0))
    (cause,) = causes(USUAL, new, CROWDED)
    assert cause.id == "cpu_contention"
    assert cause.cost_ns == pytest.approx(2 * MS, rel=0.3)
    assert "run_queue" in dict(cause.claims)


def test_a_loader_that_waits_for_a_core_as_all_do_is_not_to_blame() -> None:
    new = replace(USUAL.but(waiting=Call("runq", 5, 40.0)), loading_ms=6.0)
    assert causes(replace(USUAL, loading_ms=1.0), new) == ()
    assert causes(new, replace(USUAL, loading_ms=1.0)) == ()
