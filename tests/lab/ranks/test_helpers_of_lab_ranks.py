"""Small cases of what the helpers of lab.ranks give."""

from __future__ import annotations

from pathlib import Path

from timesink_lab.ranks.generated import generate_ranks, rank_tables, ranks_and_truth
from timesink_lab.ranks.layout import PlannedLayout
from timesink_lab.ranks.plan import Plan


def test_rank_tables() -> None:
    traces = rank_tables(Plan(ranks=4, steps=2))
    assert (traces[3].metadata.distributed.rank, traces[3].steps.height) == (3, 2)


def test_ranks_and_truth() -> None:
    traces, truth = ranks_and_truth(Plan(ranks=2, steps=1))
    assert (len(traces), len(truth.clock_offset_ns)) == (2, 2)


def test_generate_ranks(tmp_path: Path) -> None:
    folder = str(tmp_path)
    truth = generate_ranks(Plan(ranks=2, steps=1), folder)
    assert (truth.answers, sorted(path.name for path in Path(folder).iterdir())) == (
        (),
        ["rank0.pt.trace.json.gz", "rank1.pt.trace.json.gz"],
    )


def test_plan() -> None:
    plan = Plan(ranks=64, tensor=4, pipeline=2)
    assert (plan.data, plan.nodes) == (8, 8)


def test_groups_of_a_layout() -> None:
    layout = PlannedLayout(Plan(ranks=8, tensor=2, pipeline=2))
    assert [group.ranks for group in layout.groups if group.role == "data"] == [
        (0, 2),
        (1, 3),
        (4, 6),
        (5, 7),
    ]
    assert {group.role: group.ranks for group in layout.groups_of(5)}["tensor"] == (4, 5)
