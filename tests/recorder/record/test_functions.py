"""Functions that tell of their calls."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from timesink.recorder.agent.functions import FunctionName, functions_with, tell_of_calls


class Calls:
    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def call(self) -> Iterator[None]:
        self.count += 1
        yield


class Base:
    def forward(self, x: int) -> int:
        return x


class Model(Base):
    def forward(self, x: int, *, times: int = 2) -> int:
        return super().forward(x) * times


def make_adder(amount: int) -> Callable[[int], int]:
    def add(x: int) -> int:
        return x + amount

    return add


def test_method_with_super():
    calls, original = Calls(), Model.forward.__code__
    tell_of_calls(Model.forward, calls.call)
    try:
        assert (Model().forward(3), Model().forward(3, times=5), calls.count) == (6, 15, 2)
        assert list(inspect.signature(Model.forward).parameters) == ["self", "x", "times"]
        assert Model.forward.__code__.co_name == "forward"
    finally:
        Model.forward.__code__ = original


def test_closures_share_code_and_not_calls():
    calls, adder, two = Calls(), make_adder(1), make_adder(2)
    assert set(map(id, functions_with(adder.__code__))) >= {id(adder), id(two)}
    tell_of_calls(adder, calls.call)
    assert (adder(10), two(10), calls.count) == (11, 12, 1)


def test_exceptions_and_generators_pass_through():
    def fail() -> None:
        raise KeyError("gone")

    def count() -> Iterator[int]:
        yield from range(3)

    calls = Calls()
    tell_of_calls(fail, calls.call)
    tell_of_calls(count, calls.call)
    with pytest.raises(KeyError, match="gone"):
        fail()
    assert list(count()) == [0, 1, 2]
    assert calls.count == 2


@pytest.mark.parametrize("pattern", ["train:step", "train.step", "__main__:step", "step"])
def test_module_that_was_started_goes_by_its_file(pattern: str, monkeypatch: pytest.MonkeyPatch):
    started = ModuleType("__main__")
    started.__file__ = "/home/me/train.py"
    monkeypatch.setitem(sys.modules, "__main__", started)
    assert FunctionName(pattern).is_it("__main__", "step")
    assert not FunctionName("other:step").is_it("__main__", "step")


@pytest.mark.parametrize(
    ("pattern", "module", "name", "fits"),
    [
        ("step", "train", "step", True),
        ("step", "train", "main.<locals>.step", True),
        ("step", "train", "Trainer.step", True),
        ("Trainer.step", "train", "Trainer.step", True),
        ("Trainer.step", "train", "Optimizer.step", False),
        ("train.step", "train", "step", True),
        ("package.train:Trainer.step", "package.train", "Trainer.step", True),
        ("package.train:step", "package.test", "step", False),
        ("*_step", "train", "decode_step", True),
        ("Trainer.*_step", "train", "Trainer.decode_step", True),
        ("*_step", "train", "stepping", False),
    ],
)
def test_names(pattern: str, module: str, name: str, *, fits: bool):
    wanted = FunctionName(pattern)
    short = name.rpartition(".")[2]
    assert (wanted.may_be(short) and wanted.is_it(module, name)) is fits


class Base:
    def generate(self) -> None:
        pass


class Heir(Base):
    pass


class Other(Heir):
    def generate(self) -> None:
        pass


def test_a_method_goes_by_the_classes_that_inherit_it():
    by_heir, by_other = FunctionName("Heir.generate"), FunctionName("Other.generate")
    assert by_heir.is_it(__name__, "Base.generate")
    assert not by_other.is_it(__name__, "Base.generate")
    assert by_other.is_it(__name__, "Other.generate")
