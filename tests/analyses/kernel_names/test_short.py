"""Short names of kernels, and what tells namesakes apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.kernels.families import distinguish_names
from timesink.analyses.names import cut_name, short_name

_CLAMP = (
    "at::{}launch_clamp_scalar(at::TensorIteratorBase &, c10::Scalar)::[lambda() (instance 1)]"
    "::operator ()() const::[lambda(c10::Half) (instance 1)], std::array<char *, 2>>(int, T2, T3)"
)

SHORT = {
    "void at::native::vectorized_elementwise_kernel<4, at::native::Add<float> >(int)": (
        "vectorized_elementwise_kernel"
    ),
    f"void at::vectorized_elementwise_kernel<8, {_CLAMP.format('<unnamed>::')}": (
        "vectorized_elementwise_kernel"
    ),
    f"void vectorized_elementwise_kernel<8, {_CLAMP.format('native::')}": (
        "vectorized_elementwise_kernel"
    ),
    "void <unnamed>::elementwise_kernel_with_index<int, T2>(T1, T2, T3)": (
        "elementwise_kernel_with_index"
    ),
    "void unnamed>::elementwise_kernel_with_index<int, T2>(T1, T2, T3)": (
        "elementwise_kernel_with_index"
    ),
    "void (anonymous namespace)::softmax_warp_forward<float, 8>(float*)": "softmax_warp_forward",
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>(T)": "CatArrayBatchedCopy",
    "void at::<unnamed>::layer_norm_grad_input_kernel<float>(T)": "layer_norm_grad_input_kernel",
    "void native::reduce_kernel<512, 1>(T)": "reduce_kernel",
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64>(T1::Params)": "Kernel",
    "void cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688fprop>(T)": (
        "cutlass_cudnn_infer::Kernel"
    ),
    "void cudnn::bn_bw_1C11_kernel_new<float, float, 512>(float, T)": (
        "cudnn::bn_bw_1C11_kernel_new"
    ),
    "cask_cudnn_infer::computeOffsetsKernel(cask_cudnn_infer::ComputeOffsetsParams)": (
        "cask_cudnn_infer::computeOffsetsKernel"
    ),
    "void at_cuda_detail::cub::DeviceScan<Policy>(T)": "at_cuda_detail::cub::DeviceScan",
    "at::cuda::(anonymous namespace)::spin_kernel(long)": "cuda::spin_kernel",
    "nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_NNT": (
        "nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_NNT"
    ),
    "triton_poi_fused_add_0": "triton_poi_fused_add_0",
    "batched_transpose_32x32_half.kd": "batched_transpose_32x32_half",
    "void at::native::f<int>(int) [clone .kd]": "f",
    "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float>(float)": (
        "internal::gemvx::kernel"
    ),
    "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
    "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)": (
        "vllm::fused_add_rms_norm_kernel"
    ),
    "unsigned int count<float>(float)": "count",
    "Memcpy HtoD (Pageable -> Device)": "Memcpy HtoD",
    # mangled
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_": (
        "vectorized_elementwise_kernel"
    ),
    "_ZN7cutlass6KernelINS_4gemm6kernel4GemmIvEEEEvNT_6ParamsE": "Kernel",
    "_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel4ConvEEEvv": "cutlass__5x_cudnn::Kernel",
    "_ZN2at6native50_GLOBAL__N__1e0f724c_14_ActivationGelu_cu_020c7bc04geluEv": "gelu",
    "_ZN12_GLOBAL__N_120softmax_warp_forwardIffEEvPT_": "softmax_warp_forward",
    "_Z9my_kernelPfi": "my_kernel",
    "_ZL12local_kernelv": "local_kernel",
    "_ZSt4swapv": "std::swap",
    "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bEEvPT_.kd": "aiter::add_rmsnorm_quant_kernel",
    # no symbol after all
    "_Zebra": "_Zebra",
    "_Z99short": "_Z99short",
}


def test_short_names() -> None:
    assert {name: short_name(name) for name in SHORT} == SHORT


@pytest.mark.parametrize("name", ["void <unnamed>::", "<lambda>", "(anonymous namespace)::"])
def test_a_name_that_is_all_noise_stays(name: str) -> None:
    assert short_name(name) == name


@given(st.text(max_size=60))
def test_never_empty(name: str) -> None:
    assert short_name(name)


@given(st.text(alphabet="_ZN0123456789abEIvLS", max_size=30).map("_Z{}".format))
def test_damaged_symbols_have_a_name(name: str) -> None:
    assert short_name(name)


@given(st.from_regex(r"[a-z_]\w{0,30}(::[a-z_]\w{0,30})?", fullmatch=True))
def test_short_names_stay_as_they_are(name: str) -> None:
    """A short name of a table is not shortened any further, so names of both kinds meet."""
    assert short_name(short_name(name)) == short_name(name)


def test_names_of_the_tables_are_short(shared_root):
    for seed in sorted((shared_root / "seeds").glob("00[012]_*.txt")):
        for line in seed.read_text().splitlines()[1:]:
            name = line[:50].rstrip()
            assert cut_name(short_name(name)) == name


@pytest.mark.parametrize(
    ("length", "cut"), [(50, "n" * 50), (51, "n" * 47 + "..."), (1, "n"), (400, "n" * 47 + "...")]
)
def test_only_names_wider_than_the_column_are_cut(length: int, cut: str) -> None:
    assert cut_name("n" * length) == cut


# -- namesakes -------------------------------------------------------------------------------------

_WRAPPER = "void at::native::vectorized_elementwise_kernel<4, {}, std::array<char*, 2ul>>(int)"


def short_names(*names: str) -> list[str]:
    return list(distinguish_names(names).values())


def test_a_lone_name_needs_no_mark():
    assert short_names("void f<4>(int)", "void g<4>(int)") == ["", ""]


def test_functors_tell_apart():
    fill, add = "at::native::FillFunctor<float>", "at::native::CUDAFunctor_add<float>"
    assert short_names(_WRAPPER.format(fill), _WRAPPER.format(add)) == [
        "FillFunctor",
        "CUDAFunctor_add",
    ]


def test_types_tell_equal_functors_apart():
    names = [_WRAPPER.format(f"at::native::Add<{of}>") for of in ("float", "c10::Half")]
    assert short_names(*names, _WRAPPER.format("Mul<float>")) == ["Add, f32", "Add, f16", "Mul"]


def test_tile_sizes_tell_apart():
    kernel = "void cutlass::Kernel<cutlass::gemm::Gemm<GemmShape<(int)128, (int){}, (int)32>>>(P)"
    assert short_names(kernel.format(64), kernel.format(256)) == ["128x64x32", "128x256x32"]


def test_tile_sizes_of_symbols():
    kernel = "_ZN7cutlass6KernelINS_4gemm4GemmINS1_9GemmShapeILi64ELi{}ELi32EEEEEEEvv"
    assert short_names(kernel.format(64), kernel.format(128)) == ["64x64x32", "64x128x32"]


def test_tile_sizes_of_tuples():
    kernel = "void cutlass::device_kernel<Gemm<cute::tuple<cute::C<{}>, cute::C<64>>>>(P)"
    assert short_names(kernel.format(128), kernel.format(256)) == ["128x64", "256x64"]


def test_any_other_argument_tells_apart():
    assert short_names("void f<float, 4, true>(T)", "void f<float, 2, true>(T)") == ["4", "2"]


def test_names_that_differ_in_no_word_are_numbered():
    assert short_names("void f<int>(T*)", "void f<int>(T&)") == ["#1", "#2"]


@given(st.lists(st.text(alphabet="ab<>(), 12", max_size=12).map("void f<{}".format), max_size=6))
def test_namesakes_always_differ(names: list[str]) -> None:
    marks = distinguish_names(names)
    assert len({(short_name(name), mark) for name, mark in marks.items()}) == len(set(names))
