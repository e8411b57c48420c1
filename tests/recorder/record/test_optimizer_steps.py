"""Which of several optimizers tells cycles apart."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from timesink.recorder.agent.hooks import OptimizerSteps


class FakeEngine:
    """What an engine is told; it has begun to record after some cycles."""

    is_over = False
    program_goes_on = nullcontext

    def __init__(self, records_after: int = 1000) -> None:
        self._records_after = records_after
        self.marks: list[str] = []
        self.remarks: list[str] = []

    @property
    def has_begun(self) -> bool:
        return len(self.marks) >= self._records_after

    def boundary(self, _by: str, name: str, *, begins: bool) -> None:
        assert not begins
        self.marks.append(name)

    def remark(self, text: str) -> None:
        self.remarks.append(text)

    def restart(self, by: str) -> None:
        assert by == "optimizer step"
        self.marks.clear()


class A:
    pass


class B:
    pass


@pytest.mark.parametrize(
    ("turn", "marks"),
    [
        pytest.param("AB", "A" * 30, id="in turn: the first"),
        pytest.param("AAB", "B" * 30, id="a critic and its generator: the generator"),
        pytest.param("AAABBB", "B" * 90, id="in turns of several: for good"),
    ],
)
def test_two_that_step(turn: str, marks: str):
    engine = FakeEngine()
    steps, optimizers = OptimizerSteps(engine), {"A": A(), "B": B()}  # type: ignore[arg-type]
    for name in turn * 30:
        steps.stepped(optimizers[name])
    assert "".join(engine.marks) == marks


def test_once_recorded_it_stays_and_a_slower_one_is_told_of():
    engine = FakeEngine(records_after=5)
    steps, critic, generator = OptimizerSteps(engine), A(), B()  # type: ignore[arg-type]
    for optimizer in ([critic] * 5 + [generator]) * 2:
        steps.stepped(optimizer)
    assert engine.marks == ["A"] * 10
    [remark] = engine.remarks
    assert "B stepped once in 5 of these steps" in remark


def test_another_takes_over_from_one_that_stopped():
    engine = FakeEngine()
    steps, first, second = OptimizerSteps(engine), A(), B()  # type: ignore[arg-type]
    for optimizer in [first] + [second] * 30:
        steps.stepped(optimizer)
    assert engine.marks == ["B"] * 10
