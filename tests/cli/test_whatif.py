"""`timesink whatif`."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from compared_runs import write_timeline

SAMPLE = timesink.sample()


def test_changes_combine_in_the_order_given(run):
    changes = ("--remove", "sync:aten::item", "--scale", "kernel:*=0.5", "--fuse", "Optimizer.step")
    answer = run("whatif", SAMPLE, *changes, "--scale", "copy:*=2", "--format", "json").json
    assert [change["asked"] for change in answer["changes"]] == [
        "--remove sync:aten::item",
        "--scale 'kernel:*=0.5'",
        "--fuse op:Optimizer.step",
        "--scale 'copy:*=2'",
    ]
    assert 0 < answer["saving_us"] < answer["today_us"]


def test_text(run):
    outcome = run("whatif", SAMPLE, "--graph", "--device", "H200:B200")
    assert outcome.code == 0
    assert outcome.out.startswith(
        "With the step launched as a graph, B200 instead of H200: predicted step time about "
    )
    assert "--graph cycle" in outcome.out
    assert "a limit from peaks" in " ".join(outcome.out.split())


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_timeline(tmp_path / "small.json", steps=True)


def test_best_alone_and_beside_changes(run, small: Path):
    assert "Biggest saving: " in " ".join(run("whatif", small).out.split())
    outcome = run("whatif", small, "--graph", "op:aten::gemm", "--batch", "2", "--best")
    assert "per sample" in " ".join(outcome.out.split())


def test_files(run, small: Path, tmp_path: Path):
    for ending, holds in (
        ("html", "timesink"),
        ("md", "**With waits in aten::item removed: predicted step time"),
        ("csv", "kind,today_ns,new_ns"),
    ):
        out = tmp_path / f"answer.{ending}"
        assert run("whatif", SAMPLE, "--remove", "sync:aten::item", "-o", out).code == 0
        assert holds in out.read_text()
    ranked = run("whatif", small, "--format", "csv").out
    assert ranked.splitlines()[0] == "change,saving_ns,cycle_ns,limit_kind,limit_name"


@pytest.mark.parametrize(
    ("changes", "why", "hint"),
    [
        (("--scale", "kernel:flash*"), "no factor", "--scale 'kernel:flash*=0.5'"),
        (("--remove", "aten::item"), "nothing that can be chosen", "--remove 'sync:aten::item'"),
        (("--fuse", "kernel:x"), "cannot be done to kernel", "--fuse takes op:PATTERN"),
        (("--device", "H100:PDP11"), "no peaks of 'PDP11'", "B200"),
        (("--loader-workers", "many"), "not a number from 1", "--loader-workers '4'"),
        (("--loader-workers", "4"), "nothing in the recording matches", "--view operators"),
        (("--overlap", "kernel:none"), "nothing in the recording matches", "--view kernels"),
    ],
)
def test_what_cannot_be_meant(decline, changes, why, hint):
    message, advice = decline("whatif", SAMPLE, *changes, code=2)
    assert why in message
    assert hint in advice
