"""Small examples of what analyses.cycles.annotations computes."""

from __future__ import annotations

from timesink.analyses.cycles.annotations import closes, is_own


def test_is_own() -> None:
    assert [is_own(name) for name in ("decode_step", "nccl:all_reduce", "cublasSgemmEx")] == [
        True,
        False,
        False,
    ]


def test_closes() -> None:
    assert (closes("Optimizer.step#SGD.step"), closes("forward")) == (True, False)
