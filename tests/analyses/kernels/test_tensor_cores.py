"""Names of kernels and operators: who uses tensor cores, who could."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from pathlib import Path

import pytest

from builders import mlu_trace
from cases import K, O, R, read, read_document
from timesink.analyses.kernels.table import (
    operator_tensor_core_share,
    tensor_core_shares,
)
from timesink.analyses.names import (
    is_eligible,
    short_kernel_name,
    tensor_core_use,
    uses_tensor_cores,
)

USING = [
    "volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc2nchw_tn_v1",
    "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn",
    "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn",
    "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>(Params)",
    "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tensor16x8x8",
    "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_execute_segment_k_off_kernel",
    "nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_TNT",
    "nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN",
    "void cutlass::device_kernel<cutlass3x_sm90_bf16_s64x128x16gemm>(Params)",
    "void deep_gemm::fp8_gemm_kernel<128u, 7168u>(__nv_bfloat16*, float*)",
    "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_sm100f",
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128> >(Params)",
    "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausal",
    "triton_tem_fused_addmm_relu_3",
    "triton_mm",
    "fused_moe_kernel",
    "Cijk_Ailk_Bljk_BBS_BH_MT64x64x64_MI16x16x16x1_SN_1LDSB0",
    "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16>(int)",
    "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8",
]
NOT_USING = [
    "void at::native::vectorized_elementwise_kernel<4, Add<c10::BFloat16> >(int)",
    "void at::native::reduce_kernel<512, 1, ReduceOp<float> >(ReduceOp<float>)",
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<Adam>(int)",
    "void (anonymous namespace)::softmax_warp_forward<c10::Half, float, 9>(float*)",
    "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)",
    "void cunn_ClassNLLCriterion_updateOutput_kernel<float, float>(float*)",
    "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5>(int)",
    "volta_sgemm_64x64_nt",
    "volta_sgemm_fp16_128x32_nn",
    "ampere_fp16_sgemm_fp16_128x64_tn",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "__amd_rocclr_copyBuffer",
    "Cijk_Ailk_Bljk_BBS_BH_UserArgs_MT1x4x256_SN_LDSB0_ISA950",
    "triton_poi_fused_addmm_relu_3",
    "triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1",
    "void MLUUnion1KernelGemmRb<float, float>(void*)",
]
AROUND_A_PRODUCT = [
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma_execute_kernel__5x_cublas",
    "sm90_xmma_wgrad_indexed_implicit_gemm_f16f16_f16f32_f32_execute_split_k_kernel__5x_cudnn",
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(Params)",
    "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>(cublasSplitKParams)",
    "std::enable_if<true, void>::type internal::gemvx::kernel<int, __nv_bfloat16>(cublasGemv)",
    "void flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<64, 64> >(Params)",
    "_finalize_matmul_scatter_bf16",
]


def test_names_that_show_tensor_cores():
    assert [name for name in USING if uses_tensor_cores(name) is not True] == []


def test_names_that_surely_use_none():
    assert [name for name in NOT_USING if uses_tensor_cores(name) is not False] == []


def test_names_that_only_look_like_it():
    assert [name for name in AROUND_A_PRODUCT if uses_tensor_cores(name) is not False] == []


def test_other_names_are_unknown():
    names = ["my_kernel", "Cijk_Ailk", "kernel_no_tc", "MatMulV2", ""]
    assert {uses_tensor_cores(name) for name in names} == {None}


def test_measured_kernels_agree(shared_root: Path):
    measured = measured_tensor_use(shared_root)
    busy = [name for name, percent in measured.items() if percent > 10]
    idle = [name for name, percent in measured.items() if percent < 0.1]
    assert busy
    assert idle
    assert [name for name in busy if uses_tensor_cores(name) is not True] == []
    assert [name for name in idle if uses_tensor_cores(name) is True] == []


def measured_tensor_use(shared: Path) -> dict[str, float]:
    """The most any launch of a kernel kept the tensor cores busy, in percent."""
    most: dict[str, float] = defaultdict(float)
    for file in sorted((shared / "data/h200/ncu").glob("*.csv*")):
        packed = file.suffix == ".gz"
        text = gzip.decompress(file.read_bytes()) if packed else file.read_bytes()
        lines = [line for line in text.decode().splitlines() if line.startswith('"')]
        for row in csv.DictReader(lines):
            if "pipe_tensor" in row["Metric Name"]:
                value = float(row["Metric Value"].replace(",", ""))
                most[row["Kernel Name"]] = max(most[row["Kernel Name"]], value)
    return most


# -- operators -------------------------------------------------------------------------------------

SINCE_2021 = """
_convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
convolution cudnn_convolution cudnn_convolution_transpose prelu addmm addmv addr matmul mm mv linear
addbmm baddbmm bmm chain_matmul linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell
lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell cudnn_convolution_transpose_backward
cudnn_convolution_backward_weight addmm_ cudnn_convolution_transpose_backward_weight
cudnn_convolution_transpose_backward_input cudnn_convolution_backward_input
cudnn_convolution_backward
"""
BACKWARD_SINCE_2021 = """
CudnnConvolutionBackward BmmBackward0 CudnnConvolutionTransposeBackward MmBackward AddmvBackward
MvBackward AddmmBackward AddbmmBackward
"""
LATER = """
aten::convolution_backward ConvolutionBackward0 MmBackward0 AddmmBackward0 aten::_scaled_mm
aten::scaled_dot_product_attention aten::_scaled_dot_product_flash_attention_backward
aten::_flash_attention_forward aten::_efficient_attention_backward triton_tem_fused_mm_2
ScaledDotProductFlashAttentionBackward0
"""


def test_operators_of_the_first_list():
    names = [f"aten::{name}" for name in SINCE_2021.split()] + BACKWARD_SINCE_2021.split()
    assert [name for name in names if not is_eligible(name)] == []


def test_later_operators():
    assert [name for name in LATER.split() if not is_eligible(name)] == []


@pytest.mark.parametrize(
    "name",
    ["aten::add", "mm", "aten::mm_out", "aten::conv2dd", "AddBackward0", "aten::softmax", ""],
)
def test_operators_that_cannot(name: str):
    assert not is_eligible(name)


# -- shares of the time ----------------------------------------------------------------------------

WITH, WITHOUT, UNKNOWN = "nvjet_sm90_hsh", "volta_sgemm_64x64_nt", "my_kernel"


def test_share_of_all_kernel_time():
    trace = read(K(WITH, 10, 30), K(WITHOUT, 50, 50), K(UNKNOWN, 100, 20))
    assert tensor_core_shares(trace) == (0.3, 0.5, 0.2)


def test_share_of_nothing():
    assert tensor_core_shares(read(O("aten::mm", 0, 10))) == (0.0, 1.0, 0.0)


def test_share_of_operators_counts_their_own_kernels_only():
    trace = read(
        O("aten::mm", 100, 50, x=1),
        R(110, 5, c=1, x=1),
        R(120, 5, c=2, x=1),
        K(WITH, 130, 30, c=1, x=1, device=1),
        K(WITHOUT, 170, 10, c=2, x=1, device=1),
        R(200, 5, c=3),
        K(WITHOUT, 210, 500, c=3, device=1),
        K(WITHOUT, 210, 500, c=99),
    )
    shares = operator_tensor_core_share(trace).select("device", "kernel_ns", "ratio")
    assert shares.rows() == [(1, 40_000, 0.75)]


def test_mlu_devices_have_none():
    assert tensor_core_use(read_document(mlu_trace())).to_list() == [False, False]


# -- short names -----------------------------------------------------------------------------------


SHORT = [
    (
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<int>(int*)",
        "CatArrayBatchedCopy",
    ),
    (
        "void (anonymous namespace)::softmax_warp_forward<float, 9>(float*)",
        "softmax_warp_forward",
    ),
    ("void at::<unnamed>::softmax<float>(float)", "softmax"),
    ("at::native::amp_update_scale_cuda_kernel(float*, int*)", "amp_update_scale_cuda_kernel"),
    (
        "void at::native::f<std::less<(Kind)1> >::g<(bool)0>(int (*)(int), std::less<int>)",
        "f::g",
    ),
    (
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int>(int)",
        "internal::gemvx::kernel",
    ),
    ("cask_cudnn::computeOffsetsKernel(Params)", "cask_cudnn::computeOffsetsKernel"),
    ("nvjet_sm90_hsh_256x128", "nvjet_sm90_hsh_256x128"),
    ("Cijk_Ailk_Bljk [clone .kd]", "Cijk_Ailk_Bljk"),
    ("name of several words", "name of several words"),
    ("aten::cat.out-dtype_Float", "aten::cat.out-dtype_Float"),
    ("", ""),
    ("<unfinished", "<unfinished"),
    ("(*)", "(*)"),
]


def test_short_names():
    assert [(name, short_kernel_name(name)) for name, _ in SHORT] == SHORT
