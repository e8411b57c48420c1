"""What collectives send."""

from __future__ import annotations

import pytest

from timesink.analyses.work.arguments import CallArguments, KernelLaunch, RunFacts, Tensor
from timesink.analyses.work.formulas import Work, work_of

EIGHT = RunFacts(world_size=8)
SMALL, LARGE = Tensor((1000,), "float"), Tensor((8000,), "float")


def _work(call: CallArguments) -> Work:
    call_work = work_of(call)
    assert call_work is not None
    return call_work


@pytest.mark.parametrize(
    ("name", "inputs", "sent", "read", "written"),
    [
        ("nccl:all_reduce", (LARGE,), 2 * 7 / 8 * 32000, 32000, 32000),
        ("nccl:_all_gather_base", (SMALL,), 7 / 8 * 32000, 4000, 32000),
        ("c10d::_allgather_base_", (LARGE, SMALL), 7 / 8 * 32000, 4000, 32000),
        ("c10d::_reduce_scatter_base_", (SMALL, LARGE), 7 / 8 * 32000, 32000, 4000),
        ("nccl:all_to_all", (LARGE,), 7 / 8 * 32000, 32000, 32000),
        ("c10d::broadcast_", ((LARGE,),), 32000, 32000, 32000),
        ("nccl:send 0->1", (LARGE,), 32000, 32000, 32000),
        ("symm_mem::multimem_all_reduce_", (LARGE,), 2 * 7 / 8 * 32000, 32000, 32000),
        ("_C_custom_ar::all_reduce", (None, LARGE, LARGE), 2 * 7 / 8 * 32000, 32000, 32000),
    ],
)
def test_eight_devices(
    name: str, inputs: tuple[Tensor | None, ...], sent: float, read: float, written: float
) -> None:
    work = _work(CallArguments(name, inputs, facts=EIGHT))
    assert (work.wire_bytes, work.read_bytes, work.written_bytes) == (sent, read, written)
    assert (work.flop, work.assumed) == (0, "")


def test_recorded_arguments_go_first() -> None:
    extra = {"collective": "allreduce", "dtype": "BFloat16", "group_size": "4"}
    extra |= {"in_elements": "1000", "out_elements": "1000"}
    work = _work(CallArguments("record_param_comms", (LARGE,), extra=extra, facts=EIGHT))
    assert work.wire_bytes == 2 * 3 / 4 * 2000


def test_many_devices_where_none_are_told() -> None:
    work = _work(CallArguments("nccl:all_reduce", (LARGE,)))
    assert work.wire_bytes == pytest.approx(2 * 32000)
    assert "devices" in work.assumed


@pytest.mark.parametrize(
    ("kernel", "width"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", 4),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)", 2),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", 4),
        ("ncclKernel_AllReduce_RING_LL_Sum_int8_t(ncclWorkElem)", 1),
    ],
)
def test_kernels_tell_the_type_of_a_list(kernel: str, width: int) -> None:
    buckets = (Tensor((1000,), ""),)
    launches = (KernelLaunch(kernel),)
    work = _work(CallArguments("c10d::allreduce_", (buckets,), launches=launches, facts=EIGHT))
    assert (work.read_bytes, work.assumed) == (1000 * width, "")


def test_barriers_send_nothing() -> None:
    assert work_of(CallArguments("c10d::barrier", (SMALL,), facts=EIGHT)) is None
