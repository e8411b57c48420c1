"""What a change of a program is, and ways to write one.

A change names the cause that a comparison should name first, and the place: words of which a
right answer has one, apart by `|`.  `a|b` as a cause is one that can be seen either way.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from edited_models import Settings


@dataclass(frozen=True)
class Program:
    """A model and what is done with it: `train`, `decode` or `infer`."""

    build: Callable[[Settings], nn.Module]
    kind: str
    does: str = "train"
    settings: Settings = field(default_factory=Settings)
    detail: str = ""  # `--with` of the recording
    ranks: int = 1

    @property
    def marker(self) -> str:
        """`--marker` of the recording."""
        return {"decode": "next_token", "infer": "answer"}.get(self.does, "")


@dataclass(frozen=True)
class Script:
    """A program with a loop of its own, which yields after every step, and its flags."""

    run: Callable[[dict[str, Any], int], Iterator[None]]
    flags: dict[str, Any]
    detail: str = ""
    marker: str = ""
    ranks: int = 1


def wait_for_turn() -> None:
    """Take the lock that the environment names; it is given back when the process ends."""
    path = os.environ.get("EDITED_PROGRAMS_LOCK")
    if path and os.environ.get("RANK", "0") == "0":
        fcntl.flock(os.open(path, os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)
    if dist.is_initialized():
        dist.barrier()


def _do_nothing(*_: Any) -> None:
    pass


def _same(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    return batch


@dataclass(frozen=True)
class Change:
    """One edit of a program; functions stand where a user's lines would."""

    cause: str
    place: str
    settings: dict[str, Any] = field(default_factory=dict)
    start: Callable[[], Any] = _do_nothing
    model: Callable[[Any], Any] = _do_nothing
    batch: Callable[[dict[str, Tensor]], dict[str, Tensor]] = _same  # on the host
    outputs: Callable[[Any], Any] = _do_nothing  # of the model, before the backward pass
    step: Callable[[int, Tensor], Any] = _do_nothing  # at the end of a cycle, with the loss
    before_step: Callable[[Any], Any] = _do_nothing  # with the model, after the backward pass
    base: str = "base"
    back: bool = False  # the same pair the other way round is a case too


class Apply(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def followed_by(kind: type[nn.Module], make: Callable[[nn.Module], nn.Module]) -> Any:
    """An edit of a model: another module after each of a kind."""

    def edit(model: nn.Module) -> None:
        children = [
            (parent, name, child)
            for parent in model.modules()
            for name, child in parent.named_children()
            if isinstance(child, kind)
        ]
        for parent, name, child in children:
            setattr(parent, name, nn.Sequential(child, make(child)))

    return edit


def applied_after(kind: type[nn.Module], function: Callable[[Tensor], Tensor]) -> Any:
    return followed_by(kind, lambda _: Apply(function))


def instead_of(kind: type[nn.Module], make: Callable[[nn.Module], nn.Module]) -> Any:
    """An edit of a model: another module in the place of each of a kind."""

    def edit(model: nn.Module) -> None:
        for parent in list(model.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, kind):
                    setattr(parent, name, make(child))

    return edit


def in_forward(find: Callable[[Any], nn.Module], wrap: Callable[[Any], Any]) -> Any:
    """An edit of a model: the forward of one of its modules written otherwise."""

    def edit(model: nn.Module) -> None:
        module = find(model)
        module.forward = wrap(module.forward)  # type: ignore[method-assign]

    return edit


def recompute_in_backward(forward: Any) -> Any:
    def again(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(forward, *args, use_reentrant=False, **kwargs)

    return again


def busy(milliseconds: float) -> Any:
    def count(*_: Any) -> None:
        end = time.perf_counter() + milliseconds / 1e3
        while time.perf_counter() < end:
            sum(range(100))

    return count


def deterministic() -> None:
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    torch.use_deterministic_algorithms(mode=True, warn_only=True)


def empty_cache(*_: Any) -> None:
    torch.cuda.empty_cache()
