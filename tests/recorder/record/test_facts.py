"""What a process says about the devices it sees."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from timesink.recorder.agent.profiling import synchronise
from timesink.recorder.agent.shutdown import devices


def torch_with(*uuids: str, used: bool = True, has_uuid: bool = True) -> Any:
    """The part of torch that is asked."""
    seen = [SimpleNamespace(**({"uuid": uuid} if has_uuid else {})) for uuid in uuids]
    cuda = SimpleNamespace(
        is_initialized=lambda: used,
        device_count=lambda: len(seen),
        get_device_properties=seen.__getitem__,
    )
    return SimpleNamespace(cuda=cuda)


def test_devices_are_named_as_the_counters_name_them():
    assert devices(torch_with("bb22", "aa11")) == ["GPU-bb22", "GPU-aa11"]


@pytest.mark.parametrize("state", [{"used": False}, {"has_uuid": False}], ids=["unused", "untold"])
def test_none_is_woken_up_or_made_up(state: dict[str, bool]):
    assert devices(torch_with("aa11", **state)) == []


@pytest.mark.parametrize(("used", "waited_for"), [(True, [None, 0, 2]), (False, [])])
def test_every_gpu_that_is_awake_is_waited_for(waited_for: list[int | None], *, used: bool):
    device_numbers: list[int | None] = []
    torch = torch_with("a", "b", "c", used=used)
    torch.cuda.synchronize = lambda number=None: device_numbers.append(number)
    torch._C = SimpleNamespace(_cuda_hasPrimaryContext=lambda number: number != 1)
    synchronise(torch)
    assert device_numbers == waited_for
