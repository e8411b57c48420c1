"""Rules that give a kernel its family."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines import RECORDINGS, recording
from timesink.analyses.kernels.calls import kernel_calls
from timesink.analyses.kernels.families import OTHER, RULES, load_families
from timesink.analyses.kernels.groups import call_groups
from timesink.errors import UnreadableError, UsageError

PROFILES = ("matmul_relu.csv", "gpt_infer.csv.gz", "unet_train.csv.gz")
QUICK = tuple(name for name in RECORDINGS if "mtia" not in name)
"""The other recordings take little time; MTIA's kernels are among the examples."""

_ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, {}, std::array<char*, 2ul>>(int)"
_FOREACH = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<Meta<3>, {}>(T1, T2)"

EXAMPLES = {
    "gemm": (
        "ampere_fp16_s16816gemm_fp16_64x128_ldg8_relu_f2f_stages_64x5_tn",
        "volta_sgemm_128x64_nn",
        "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x8_stage3_execute_kernel__5x_cublas",
        "nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_NNT",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float, float>(T2 *)",
        "void gemv2T_kernel_val<int, int, float, float, float, float, 128>(T1, T2)",
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float>(float)",
        "void gemmSN_NN_kernel<float, 256, 4, 2, 8, 3, 4, false>(cublasGemmSmallNParams<float>)",
        "void cublasLt::epilogue::impl::globalKernel<8, 32, float, cublasLtEpilogue_t>(Params)",
        "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_tn>(Params)",
        "void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::GemmShape<128>>>(Params)",
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>>>(P)",
        "Kernel",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x32x256_MI16x16x1",
        "void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm_xdl_cshuffle_v3<Row>>(Argument)",
        "triton_tem_fused_addmm_relu_3",
        "triton_mm",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1",
        "fc-dtype_Float",
        "fused_moe_kernel",
        "void marlin::Marlin<half, 4, 16, 4, 4, true, 4>(int4)",
        "void MLUUnion1KernelGepp<float, float>(void*)",
        "void MLUUnion1KernelGepm<float, float>(void*)",
        "void MLUAntsKernelGemmU1Ex<float, float>(void*)",
        "MatMulV2",
        "aclnnMatmul_MatMulV3Common_MatMulV3",
        "gemm_kernel",
        "void mul_mat_q<(ggml_type)8, 64, 8, false>(char const*)",
        "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u>(float*)",
        "void cutlass::device_kernel<flashinfer::gemm::GemmUniversal<Mainloop>>(Params)",
        "triton_gemm_dot_12",
        "wvSplitK_hf_sml_",
    ),
    "attention": (
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128>>(Params)",
        "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Traits>(Flash_bwd_params)",
        "void flash::flash_fwd_splitkv_combine_kernel<Traits, 4, 7, true>(Params)",
        "fmha_cutlassF_f16_aligned_64x64_rf_sm80(AttentionKernel<half>::Params)",
        "fmha_v2_flash_attention_bf16_64_64_S_q_paged_kv_128_sm90_kernel",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_kernel0_0",
        "void cudnn::fusion::compute_dot_do_o_specialized<true, __half>(AttentionDot)",
        "void flashinfer::BatchPrefillWithPagedKVCacheKernel<KTraits>(Params)",
        "void flashinfer::BatchDecodeWithPagedKVCacheKernel<4, 2, 8>(Params)",
        "void flashinfer::SinglePrefillWithKVCacheKernel<KTraits>(Params)",
        "void flashinfer::MergeStatesKernel<8, 16, half>(half*)",
        "void vllm::paged_attention_v2_kernel<unsigned short, 128, 16>(float*)",
        "void vllm::merge_attn_states_kernel<float, 128u>(float*)",
        "_attn_fwd",
        "attn_fwd",
        "_fwd_kernel",
        "_fwd_grouped_kernel_stage1",
        "triton_tem_fused_flex_attention_0",
        "triton_flex_attention_backward_7",
        "void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<Pipeline>>(Args)",
        "_ZN7ck_tile6kentryILi256ELi2ENS_13FmhaFwdKernelIvEEEEvT1_",
        "void cutlass::device_kernel<flash::FlashAttnFwdSm90<Mainloop>>(Params)",
        "FlashAttentionScore",
        "selective_scan_fwd_kernel",
        "void flash_attn_ext_f16<128, 128, 32, 8>(char const*)",
        "_ZN5aiter25fmha_fwd_hd128_bf16_causalEv",
    ),
    "convolution": (
        "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x64x64",
        "sm90_xmma_wgrad_indexed_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64",
        "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
        "cudnn_infer_ampere_fp16_scudnn_fp16_128x32_relu_interior_nn_v1",
        "void implicit_convolve_sgemm<float, float, 128, 5, 5, 3>(int)",
        "void cutlass_cudnn_train::Kernel<cutlass_tensorop_s1688wgrad_optimized_tf32>(Params)",
        "_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolutionIvEEEEvNT_6ParamsE",
        "void cutlass::Kernel<cutlass::conv::kernel::ImplicitGemmConvolution<Mma>>(Params)",
        "cask_cudnn_infer::computeOffsetsKernel(cask_cudnn_infer::ComputeOffsetsParams)",
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(Params)",
        "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8",
        "miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1",
        "gridwise_convolution_implicit_gemm_v4r1_nchw_kcyx_nkhw_lds_double_buffer",
        "void ck::kernel_grouped_conv_fwd_xdl_cshuffle_v3<ck::GridwiseGemm>(Argument)",
        "MIOpenConvUni",
        "naive_conv_ab_nonpacked_fwd_nchw_half_double_half",
        "MLUUnion1ConvForwardGEPB_float_float_float_float_float(void const*)",
        "MLUUnion1gemm4convGdramSetZeroNH(void*)",
        "Conv2D",
    ),
    "normalisation": (
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>(int)",
        "void at::native::GammaBetaBackwardCUDAKernel_32x32<c10::Half, float>(long)",
        "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, 512, true, 1>(Tensor)",
        "void cudnn::batchnorm_fwtr_nhwc_semiPersist<__half, __half2, 64>(Params)",
        "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*)",
        "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bLi256EEEvPT_",
        "void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<Pipeline>>(Args)",
        "MIOpenBatchNormFwdTrainSpatial",
        "void at::native::RowwiseMomentsCUDAKernel<float>(long)",
        "triton_per_fused_native_layer_norm_0",
        "triton_red_fused_add_mean_mul_pow_rsqrt_0",
        "MLUUnionXKernelBatchNormForward(void*)",
        "LayerNormV3",
        "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(p)",
        "_layer_norm_fwd_1pass_kernel",
        "void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<Traits>(Params)",
    ),
    "softmax": (
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8>(float*)",
        "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>(float*)",
        "triton_per_fused__softmax_1",
        "void MLUBlockKernelSoftmaxForwardLowSingleSmallTarget<float>(float*)",
        "SoftmaxV2",
        "triton_softmax_5",
        "triton_red_fused__log_softmax_nll_loss_forward_2",
    ),
    "elementwise": (
        _ELEMENTWISE.format("at::native::CUDAFunctor_add<float>"),
        "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, 1>(Info)",
        "void (anonymous namespace)::elementwise_kernel_with_index<int, arange>(int)",
        "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<1>(p)",
        "triton_poi_fused_add_layer_norm_relu_2",
        "void vllm::act_and_mul_kernel<c10::BFloat16, silu>(c10::BFloat16*)",
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long)",
        "void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16>(p)",
        "void MLUOpTensorElementParam110<float, float>(float const*)",
        "void MLUBlockKernel3StagePipelineClipFast<float>(char*)",
        "customized_fba_mul_const-dtype_Float",
        "aten::sqrt.out-dtype_Float",
        "Mul",
        "aclnnInplaceAdd_AddAiCore_Add",
        "DropOutDoMask",
        "loop_add_fusion",
        "void flashinfer::activation::act_and_mul_kernel<half, silu>(half*)",
        "void thrust::cuda_cub::core::_kernel_agent<cuda_cub::__parallel_for::Agent<F>>(F, long)",
        "void at::native::xpu::VectorizedElementwiseKernel<8, Add>(int)",
        "void k_bin_bcast<&op_add, float>(float const*)",
        "void quantize_q8_1(float const*, void*)",
    ),
    "reduction": (
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, MeanOps>>(R)",
        _FOREACH.format("LpNormFunctor<float, (NormType)1>"),
        "void cub::DeviceReduceSingleTileKernel<Policy>(float*)",
        "triton_red_fused_sum_4",
        "void tensorflow::functor::RowReduceKernel<float>(float*)",
        "void MLUUnion1Reduce2DPipelineSumValue<float, float>(void*)",
        "vector_norm_float_order-dtype_Float",
        "max_dim_max-dtype_Long",
        "ReduceMean",
        "input_reduce_fusion_3",
        "void thrust::cuda_cub::core::_kernel_agent<cuda_cub::__reduce::ReduceAgent<int>>(int)",
    ),
    "copy": (
        _ELEMENTWISE.format("at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)"),
        _ELEMENTWISE.format("at::native::float16_copy_kernel_cuda(at::TensorIteratorBase&)"),
        _ELEMENTWISE.format("at::native::FillFunctor<int>"),
        _FOREACH.format("Copy<float, float>"),
        "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>(Params)",
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 4>(float*)",
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>(p)",
        "batched_transpose_32x32_half.kd",
        "__amd_rocclr_fillBufferAligned.kd",
        "triton_poi_fused__to_copy_clone_3",
        "void MLUTranspose2DDefaultBlock<int>(int const*)",
        "aten::cat.out-dtype_Long-extraKey_1",
        "TransData",
        "Cast",
        "StridedSliceD",
        "wrapped_transpose",
        "void transformer_engine::cast_transpose_general_kernel<4, 8, float>(float const*)",
        "void cpy_f32_f16<&cpy_1_f32_f16>(char const*)",
    ),
    "optimizer": (
        _FOREACH.format("FusedAdamMathFunctor<float, 4>"),
        _FOREACH.format("AdamFunctor<float>"),
        _FOREACH.format("FusedSgdMathFunctor<float>"),
        _FOREACH.format("LAMBStage2Functor<float>"),
        _FOREACH.format("BinaryOpScalarFunctor<float, 1>"),
        "multi_tensor_apply_kernel",
        "ApplyAdamD",
    ),
    "collective": (
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(p)",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>(p)",
        "multimem_all_reduce_kernel",
        "hcom_allReduce__360_0_1",
        "nvshmemi_transfer_rma_p",
    ),
    "sort_index": (
        "void at::native::index_elementwise_kernel<128, 4, index_kernel_impl>(long)",
        "void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, 2>(T)",
        "void cub::DeviceRadixSortOnesweepKernel<Policy, false, long>(p)",
        "void at::native::_scatter_gather_elementwise_kernel<128, 8>(int)",
        "void at::native::vectorized_gather_kernel<16, long>(char*)",
        "void vllm::moe::moe_align_block_size_kernel<int>(int*)",
        "void vllm::moe::topkGatingSoftmax<4, 8, 4, 16>(float*)",
        "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float>(p)",
        "void fbgemm_gpu::permute_2D_lengths_kernel<int>(int)",
        "GatherV2",
        "void thrust::cuda_cub::core::_kernel_agent<cuda_cub::__merge_sort::Agent<int>>(int)",
        "void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u>(float*)",
        "void k_get_rows<32, 2, &dequantize_q4_0>(void const*)",
    ),
    "pooling": (
        "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int)",
        "void at::native::(anonymous namespace)::upsample_bilinear2d_out_frame<float>(int)",
        "MLUUnion1PoolingForwardWithIndex(void*)",
    ),
    "loss": (
        "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float>(p)",
        "liger_cross_entropy_kernel",
        "void MLUUnion1NlllossForwardVaa<float, int>(float*)",
    ),
    OTHER: ("at::cuda::(anonymous namespace)::spin_kernel(long)", "my_kernel", "mine", ""),
}


def test_kernels_of_the_libraries_have_their_family() -> None:
    wanted = {name: family for family, names in EXAMPLES.items() for name in names}
    assert {name: load_families().of(name) for name in wanted} == wanted


def test_every_family_has_an_example_and_a_rule():
    ruled = {family for family, _ in load_families().rules}
    assert ruled == set(EXAMPLES) - {OTHER}


FAMILIES = load_families()


@given(st.text(max_size=80))
def test_any_text_has_one_of_the_families(name: str) -> None:
    assert FAMILIES.of(name) in EXAMPLES


def test_rules_of_a_file_are_asked_first_and_may_name_new_families(tmp_path):
    rules_file = tmp_path / "own.txt"
    rules_file.write_text("# ours\n\nfft    ^my_fft\nattention   sgemm_128x64\n")
    families = load_families(rules_file)
    assert families.of("my_fft_r2c") == "fft"
    assert families.of("volta_sgemm_128x64_nn") == "attention"
    assert families.of("volta_sgemm_64x64_nn") == "gemm"


def test_own_rules_print_and_read_back():
    assert load_families(RULES).rules == load_families().rules * 2
    assert re.search(r"^gemm\s", RULES.read_text(), re.MULTILINE)


@pytest.mark.parametrize("line", ["gemm", "gemm   (unclosed"])
def test_a_rule_that_cannot_be_read_is_named_with_its_line(tmp_path, line: str) -> None:
    rules_file = tmp_path / "own.txt"
    rules_file.write_text(f"# ours\n{line}\n")
    with pytest.raises(UsageError, match=r"own\.txt:2: "):
        load_families(rules_file)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UnreadableError, match=r"gone\.txt: no such file"):
        load_families(tmp_path / "gone.txt")


@pytest.mark.parametrize("name", [*QUICK, *(f"h200/ncu/{profile}" for profile in PROFILES)])
def test_little_of_real_recordings_is_other(shared_root: Path, name: str) -> None:
    calls = kernel_calls(recording(shared_root, name))
    if calls.is_empty():
        return
    shares = dict(call_groups(calls, "family").select("group", "share_pct").iter_rows())
    assert shares.get(OTHER, 0.0) < 3


def test_what_is_no_text(tmp_path):
    binary = tmp_path / "own.txt"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"own\.txt is not text"):
        load_families(binary)
    with pytest.raises(UsageError, match="is a folder"):
        load_families(tmp_path)
