"""Recordings are ranks of one run where something in them speaks for it, else runs of their own."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from cases import STEP, K, O, R, read
from timesink.analyses.ranks.runs import RankIdentity, is_one_run, recorded_runs
from timesink.analyses.ranks.summary import RankSummary, summarise_rank

DATE_NS, SECOND = 1_790_000_000_000_000_000, 1_000_000_000


def summary(
    kernel: str = "gemm_kernel",
    *,
    rank: int | None = None,
    world: int | None = None,
    at_ns: int | None = None,
    collective: str = "",
) -> RankSummary:
    """A rank that runs one kernel, and one collective where asked; at a date, if given."""
    events = [STEP(1, 0, 1000), O("aten::mm", 10, 50, x=1), R(20, 10, c=1, x=1)]
    events.append(K(kernel, 40, 500, c=1))
    if collective:
        events.append(O(f"nccl:{collective}", 600, 100, x=2, **{"Input dims": [[2049000]]}))
    rank_summary = summarise_rank(read(*events))
    about = replace(rank_summary.about, rank=rank, world_size=world)
    start = pl.col("start_ns").min()
    moved = rank_summary.steps.with_columns(pl.col("start_ns", "end_ns") - start + (at_ns or 0))
    return replace(rank_summary, about=about, steps=moved)


def identity(worker: str = "a", **options: Any) -> RankIdentity:
    identity_fields = {"named_rank", "job", "pattern", "is_named_by_profiler", "written_ms"}
    identity_options = {name: value for name, value in options.items() if name in identity_fields}
    rest = {name: value for name, value in options.items() if name not in identity_fields}
    return RankIdentity(summary(**rest), worker, **identity_options)


def are_one(first: dict[str, Any], second: dict[str, Any]) -> bool:
    pair = identity(**first), identity(**second)
    assert is_one_run(*pair) == is_one_run(*pair[::-1])
    return is_one_run(*pair)


class TestWhatSpeaksForOneRun:
    def test_ranks_that_recordings_state(self):
        first = {"rank": 0, "world": 8}
        assert are_one(first, {"rank": 3, "world": 8, "kernel": "another_kernel"})
        assert not are_one(first, {"rank": 3, "world": 16})
        assert not are_one(first, {"rank": 0, "world": 8})
        assert not are_one({"rank": 0, "world": 1}, {"rank": 1, "world": 1})

    def test_ranks_that_names_state_where_contents_agree(self):
        first = {"named_rank": 0, "at_ns": DATE_NS}
        assert are_one(first, {"named_rank": 1, "at_ns": DATE_NS + SECOND})
        assert not are_one(first, {"named_rank": 1, "at_ns": DATE_NS + 900 * SECOND})
        other = {"named_rank": 1, "kernel": "another_kernel"}
        assert are_one(first, {**other, "at_ns": DATE_NS})
        assert not are_one(first, {**other, "at_ns": DATE_NS + SECOND})

    def test_one_recorder(self):
        assert are_one({"job": "run/run.json"}, {"job": "run/run.json", "kernel": "another_kernel"})
        first = {"job": "run/run.json", "rank": 0, "world": 2}
        assert not are_one(first, {"job": "other/run.json", "rank": 1, "world": 2})

    def test_collectives_that_match(self):
        reduces = {"collective": "all_reduce", "kernel": "gemm_kernel"}
        assert are_one(reduces, {**reduces, "kernel": "another_kernel"})
        assert not are_one(
            reduces, {**reduces, "kernel": "another_kernel", "collective": "barrier"}
        )
        late = {**reduces, "at_ns": DATE_NS + 900 * SECOND}
        assert not are_one({**reduces, "at_ns": DATE_NS}, late)

    def test_recordings_without_ranks_that_were_made_at_once(self):
        first = {"at_ns": DATE_NS, "pattern": "trace_.json"}
        assert are_one(first, first)
        assert not are_one(first, {**first, "pattern": "other.json"})
        assert not are_one(first, {**first, "at_ns": DATE_NS + SECOND})
        assert not are_one(first, {**first, "kernel": "another_kernel"})

    def test_names_that_a_profiler_gives_workers(self):
        first = {"pattern": "host_..pt.trace.json", "is_named_by_profiler": True}
        assert are_one({**first, "written_ms": 5_000}, {**first, "written_ms": 9_000})
        assert not are_one({**first, "written_ms": 5_000}, {**first, "written_ms": 900_000})
        assert not are_one({"pattern": "run_.json"}, {"pattern": "run_.json"})


@pytest.mark.parametrize("many", [2, 5])
def test_a_stranger_beside_ranks_is_a_run_of_its_own(many: int):
    ranks = [identity(f"rank{rank}", rank=rank, world=many) for rank in range(many)]
    stranger = identity("other", kernel="another_kernel")
    runs = recorded_runs([*ranks[:1], stranger, *ranks[1:]])
    assert runs == (tuple(f"rank{rank}" for rank in range(many)), ("other",))
