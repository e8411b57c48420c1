"""Names that mean the same on other devices, in other versions and in another run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.kernels.families import load_families, normalised_name

SAME = {
    "tile": (
        "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn",
        "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_tn",
    ),
    "architecture": ("ampere_sgemm_32x32_nn", "volta_sgemm_128x64_nn"),
    "version of nvjet": (
        "nvjet_sm90_tst_256x8_64x6_2x1_v_bz_TNT",
        "nvjet_tst_128x8_64x12_2x1_v_bz_TNT",
    ),
    "cudnn": (
        "sm80_xmma_fprop_gemm_tf32f32_nchw_tilesize128x128x16_stage4_g1_execute_kernel__5x_cudnn",
        "sm90_xmma_fprop_gemm_tf32f32_nchw_tilesize64x64x16_alignc4_execute_kernel_cudnn",
    ),
    "cutlass": (
        "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(A::Params)",
        "void cutlass::Kernel2<cutlass_75_tensorop_s16816gemm_128x256_32x3_nn_align1>(B::Params)",
    ),
    "tensile": (
        "Cijk_Ailk_Bljk_BBS_BH_MT32x32x64_MI16x16x16x1_SN_1LDSB0_APM1",
        "Cijk_Ailk_Bljk_BBS_BH_MT128x64x32_MI32x32x8x1_SN_1LDSB1_APM1",
    ),
    "template arguments": (
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>(float*)",
        "void softmax_warp_forward<c10::Half, float, 9>(float*, int)",
    ),
    "variant of elementwise": (
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<int>>(int)",
        "void at::native::elementwise_kernel<128, 2, gpu_kernel_impl<CUDAFunctor_add<int>>>(int)",
    ),
    "mangled": (
        "_ZN2at6native13reduce_kernelILi512EfNS0_9ArgMaxOpsIfEEEEvT0_",
        "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, ArgMaxOps<int>>>(int)",
    ),
    "triton": ("triton_poi_fused_add_3", "triton_poi_fused_add_7"),
    "triton with a signature": (
        "triton_per_fused_mul_sum_3_0d1d2d3de",
        "triton_per_fused_mul_sum_4",
    ),
    "nccl": (
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
    ),
    "copy": ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)"),
    "python line": ("train.py(120): step", "/home/me/train.py(124): step"),
    "python folder": (
        "/opt/conda/lib/python3.10/site-packages/torch/nn/functional.py(10): linear",
        "/usr/lib/python3.12/site-packages/torch/nn/functional.py(11): linear",
    ),
    "step": ("ProfilerStep#3", "ProfilerStep#41"),
    "graph": (
        "## Call CompiledFxGraph fal4xpiah2v6blbfmwwonu52dvevbsmlh743q5tkclrt4g ##",
        "## Call CompiledFxGraph fud64jsrxcxliekg7lptyw24yz5k3oa65b73wjfbhz6j2f ##",
    ),
    "address": ("<built-in method a of X at 0x7f12>", "<built-in method a of X at 0x55ef>"),
    "backward": ("AddmmBackward0", "AddmmBackward"),
    "runtime": ("cudaLaunchKernel", "hipLaunchKernel"),
    "launch of a module": ("cuLaunchKernel", "hipExtModuleLaunchKernel"),
    "launch with attributes": ("cuLaunchKernelEx", "cudaLaunchKernelExC"),
    "launch of another maker": ("cudaLaunchKernel", "zeCommandListAppendLaunchKernel"),
    "blocking copy": ("cudaMemcpy", "hipMemcpyWithStream"),
    "optimizer of another class": ("Optimizer.step#AdamW.step", "Optimizer.step#SGD.step"),
    "loader of another class": (
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    ),
    "runtime version": ("cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync"),
    "data type of another maker": ("aten::cat.out-dtype_Float-extraKey_15", "aten::cat.out"),
}

DIFFERENT = {
    "what it runs": (
        "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>(int)",
        "void at::native::vectorized_elementwise_kernel<4, FillFunctor<float>>(int)",
    ),
    "data type in a name": ("ampere_bf16_s16816gemm_bf16_64x64_tn", "ampere_sgemm_64x64_tn"),
    "direction": ("Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pageable)"),
    "collective": (
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    ),
    "fusion": ("triton_poi_fused_add_3", "triton_poi_fused_mul_3"),
    "function of a file": ("train.py(120): step", "train.py(120): loss"),
    "dimension": ("aten::conv1d", "aten::conv2d"),
    "optimizer": ("Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad"),
    "launch of a graph": ("cudaLaunchKernel", "cudaGraphLaunch"),
    "runtime call": ("cudaLaunchKernel", "cudaMemcpyAsync"),
    "winograd": (
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(int)",
        "void cudnn::winograd_nonfused::winogradForwardFilter4x4<float, float>(int)",
    ),
}


def test_the_same_function_has_one_name():
    names_by_case = {case: [*map(normalised_name, names)] for case, names in SAME.items()}
    assert {case: names for case, names in names_by_case.items() if names[0] != names[1]} == {}


def test_different_functions_keep_different_names():
    names_by_case = {case: [*map(normalised_name, names)] for case, names in DIFFERENT.items()}
    assert {case: names for case, names in names_by_case.items() if names[0] == names[1]} == {}


def test_libraries_of_other_devices_meet_by_family_only():
    gemms = (
        "ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_execute_kernel__5x_cublas",
        "nvjet_sm90_tst_256x8_64x6_2x1_v_bz_TNT",
        "Cijk_Ailk_Bljk_BBS_BH_MT32x32x64_MI16x16x16x1_SN_1LDSB0_APM1",
    )
    assert len({normalised_name(name) for name in gemms}) == len(gemms)
    assert {load_families().of(name) for name in gemms} == {"gemm"}


@given(st.text(max_size=40) | st.from_regex(r"\A[a-z0-9_<>():#. ]{0,30}\Z"))
def test_any_name_has_a_stable_normalised_one(name):
    short = normalised_name(name)
    assert bool(short) == bool(name.strip())
    assert normalised_name(name) == short


def test_types_in_a_name_are_no_hash():
    assert "bf16bf16" in normalised_name("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_execute")
    assert normalised_name("kernel_3f2a91bc07de_fwd") == "kernel_fwd"
