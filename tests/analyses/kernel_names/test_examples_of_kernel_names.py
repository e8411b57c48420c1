"""Small examples of what analyses.kernel_names computes."""

from __future__ import annotations

from timesink.analyses.kernels.families import distinguish_names, normalised_name
from timesink.analyses.names import (
    is_mangled,
    kernel_name,
    mangled_words,
    qualified_name,
    short_kernel_name,
    short_name,
    telling_word,
    template_arguments,
)


def test_short_kernel_name() -> None:
    assert (
        short_kernel_name("void at::native::vectorized_elementwise_kernel<4, Add<float> >(int)")
        == "vectorized_elementwise_kernel<Add>"
    )
    assert (
        short_kernel_name("void cudnn::bn_bw_1C11_kernel_new<float, 512>(float, float)")
        == "cudnn::bn_bw_1C11_kernel_new"
    )
    assert short_kernel_name("volta_sgemm_64x64_nt") == "volta_sgemm_64x64_nt"


def test_telling_word() -> None:
    assert (
        telling_word("<4, at::native::CUDAFunctor_add<c10::Half>, std::array<char*, 3>>(int)")
        == "CUDAFunctor_add"
    )


def test_is_mangled() -> None:
    assert (is_mangled("_ZN5aiter6kernelEv"), is_mangled("_attn_fwd")) == (True, False)


def test_qualified_name() -> None:
    assert (
        qualified_name("_ZN2at6native13reduce_kernelILi512EfEEvT0_") == "at::native::reduce_kernel"
    )


def test_mangled_words() -> None:
    assert list(mangled_words("_ZN7cutlass6KernelINS_4gemm9GemmShapeILi64ELi128EEEEEvv")) == [
        "cutlass",
        "Kernel",
        "gemm",
        "GemmShape",
        "64",
        "128",
    ]


def test_distinguishing() -> None:
    add = "void f<4, at::native::CUDAFunctor_add<float>>(int)"
    mul = "void f<4, at::native::MulFunctor<float>>(int)"
    assert list(distinguish_names([add, mul, "void g<4>(int)"]).values()) == [
        "CUDAFunctor_add",
        "MulFunctor",
        "",
    ]


def test_normalised_name() -> None:
    assert (
        normalised_name("ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn")
        == "bf16_gemm_bf16_f2f_tn"
    )
    assert (
        normalised_name("void at::native::vectorized_elementwise_kernel<4, Add<float> >(int)")
        == "elementwise_kernel<Add>"
    )
    assert (normalised_name("triton_poi_fused_add_7"), normalised_name("ProfilerStep#3")) == (
        "triton_poi_fused_add",
        "ProfilerStep",
    )
    assert (normalised_name("train.py(120): step"), normalised_name("Optimizer.step#SGD.step")) == (
        "train.py: step",
        "Optimizer.step",
    )


def test_short_name() -> None:
    assert (
        short_name("void at::native::vectorized_elementwise_kernel<4, Add<float> >(int)")
        == "vectorized_elementwise_kernel"
    )
    assert (
        short_name("void <unnamed>::elementwise_kernel_with_index<int, Arange>(int)")
        == "elementwise_kernel_with_index"
    )
    assert short_name("void cutlass::Kernel<cutlass_80_tensorop_s16816gemm>(Params)") == "Kernel"
    assert (
        short_name("_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi")
        == "vectorized_elementwise_kernel"
    )


def test_kernel_name() -> None:
    assert (
        kernel_name("void cudnn::engines_precompiled::nchwToNhwcKernel<__half, float>(int)")
        == "nchwToNhwcKernel"
    )
    assert (
        kernel_name("void unnamed>::softmax_warp_forward<float, 9>(T1)") == "softmax_warp_forward"
    )


def test_template_arguments() -> None:
    ours = template_arguments("void at::native::f<at::native::Add<float>, true, 3ul>(int)")
    assert ours == template_arguments("void f<at::Add<float>, 1, 3>(T2)")


def test_a_symbol_of_the_compiler_is_named_like_the_function() -> None:
    add = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEEEEviT0_"
    assert short_kernel_name(add) == "vectorized_elementwise_kernel<CUDAFunctor_add>"
    assert short_kernel_name("_Z9my_kernelPf") == "my_kernel"
    assert short_kernel_name("_ZN12_GLOBAL__N_17softmaxEPf") == "softmax"
    assert short_kernel_name("_Zoo") == "_Zoo"
