"""What names mean."""

from __future__ import annotations

import pytest

from builders import DIALECTS, kineto
from cases import K, O, read, read_document
from timesink.analyses import names
from timesink.model import vendors


@pytest.mark.parametrize(
    "name",
    [
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        "enumerate(DataPipe)#MapperIterDataPipe",
    ],
)
def test_data_loaders(name: str):
    assert names.is_data_loader(name)


@pytest.mark.parametrize(
    "name",
    ["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__iter__", "DataLoader.__next__"],
)
def test_no_data_loaders(name: str):
    assert not names.is_data_loader(name)


@pytest.mark.parametrize(
    "name",
    [
        "nccl:all_reduce",
        "nccl:_all_gather_base",
        "nccl:send",
        "gloo:broadcast",
        "mpi:barrier",
        "ucc:all_to_all",
        "cncl:all_reduce",
        "hccl:allgather",
        "xccl:all_reduce",
        "record_param_comms",
    ],
)
def test_collective_calls(name: str):
    assert vendors.is_collective_call(name)


@pytest.mark.parametrize("name", ["aten::all", "ncclDevKernel", "my nccl:all_reduce", "nccl"])
def test_other_calls(name: str):
    assert not vendors.is_collective_call(name)


@pytest.mark.parametrize(
    "name",
    [
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)",
        "rcclGenericKernel",
        "cnclKernel",
        "hcom_allReduce_",
    ],
)
def test_collective_kernels(name: str):
    assert vendors.is_collective_kernel(name)


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::reduce_kernel<512, 1>",
        "triton_red_fused_all_reduce_0",
        "void cub::DeviceReduceKernel",
        "gather_kernel",
    ],
)
def test_other_kernels(name: str):
    assert not vendors.is_collective_kernel(name)


@pytest.mark.parametrize(
    "name",
    [
        "cudaStreamSynchronize",
        "cudaDeviceSynchronize",
        "cudaEventSynchronize",
        "hipDeviceSynchronize",
        "cuStreamSynchronize",
        "cudaMemcpy",
        "hipMemcpyWithStream",
        "cnrtQueueSync",
        "aclrtSynchronizeStream",
        "urQueueFinish",
    ],
)
def test_calls_that_wait_for_the_device(name: str):
    assert vendors.waits_for_device(name)


@pytest.mark.parametrize("name", ["cudaMemcpyAsync", "cudaLaunchKernel", "cudaStreamWaitEvent"])
def test_calls_that_return_at_once(name: str):
    assert not vendors.waits_for_device(name)


@pytest.mark.parametrize(
    ("dialect", "word"),
    [
        ("nvidia", "GPU"),
        ("amd", "GPU"),
        ("cambricon", "MLU"),
        ("ascend", "NPU"),
        ("intel", "XPU"),
        ("mtia", "MTIA"),
    ],
)
def test_what_users_call_the_device(dialect: str, word: str):
    assert names.device_word(read_document(DIALECTS[dialect]())) == word


def test_a_trace_without_a_device():
    assert names.device_word(read(O("mm", 0, 10))) == "CPU"
    assert names.device_word(read_document(kineto([]))) == "CPU"


def test_a_device_of_an_unknown_maker():
    assert names.device_word(read(K("gemm", 0, 10))) == "GPU"
