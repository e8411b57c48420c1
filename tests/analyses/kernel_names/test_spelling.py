"""Names that two profilers spell differently."""

from __future__ import annotations

import pytest

from timesink.analyses.names import kernel_name, template_arguments

SAME = """
void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::Half>,
 std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::Half>, std::array<char*, 3ul>)
void at::vectorized_elementwise_kernel<8, at::CUDAFunctor_add<c10::Half>, std::array<char *, 3>>
(int, T2, T3)
void vectorized_elementwise_kernel<8, CUDAFunctor_add<c10::Half>, std::array<char *, 3>>(int, T2)

void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::
OpaqueType<2u>, unsigned int, 4, 64>(at::native::(anonymous namespace)::OpaqueType<2u>*, int)
void at::<unnamed>::CatArrayBatchedCopy<at::<unnamed>::OpaqueType<2>, unsigned int, 4, 64>(T1 *)
void unnamed>::CatArrayBatchedCopy<<unnamed>::OpaqueType<2>, unsigned int, 4, 64>(T1 *)

void cudnn::engines_precompiled::nchwToNhwcKernel<__half, float, false, true,
 (cudnnKernelDataType_t)0>(cudnn::engines_precompiled::nchw2nhwc_params_t<float>)
void engines_precompiled::nchwToNhwcKernel<__half, float, 0, 1, 0>
(engines_precompiled::nchw2nhwc_params_t<T3>)

void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::
neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda(float)#1}>
(at::TensorIteratorBase&, float const&)::{lambda(int)#1}>(int)
void at::elementwise_kernel<128, 4, void at::gpu_kernel_impl_nocast<at::
neg_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 2)]::operator ()() const::
[lambda(float) (instance 1)]>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>
(int)

std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __half, false>(int)
std::enable_if<!T7, void>::type gemvx::kernel<int, int, __half, 0>(T13)
"""
"""Kernels apart by empty lines, each as several profilers spell it; long names go on."""
STARTS = ("void ", "std::enable_if")


def spellings(text: str) -> list[str]:
    names: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith(STARTS):
            names.append(line)
        else:
            names[-1] += line
    return names


@pytest.mark.parametrize(
    "names", [*map(spellings, SAME.split("\n\n"))], ids=lambda n: kernel_name(n[0])
)
def test_names_and_arguments_agree(names: list[str]):
    assert len(names) > 1
    assert len({kernel_name(name) for name in names}) == 1
    # Profilers do not agree on what stands in front of a name.
    bare_names = [name[name.index(kernel_name(name)) :] for name in names]
    assert len({template_arguments(name) for name in bare_names}) == 1
    assert template_arguments(bare_names[0])


def test_a_symbol_has_the_same_name_and_no_arguments():
    symbol = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_"
    assert kernel_name(symbol) == "vectorized_elementwise_kernel"
    assert template_arguments(symbol) is None


def test_arguments_tell_namesakes_apart():
    add, mul = (f"void f<4, at::native::{op}<float> >(int)" for op in ("AddFunctor", "MulFunctor"))
    assert template_arguments(add) != template_arguments(mul)


def test_without_arguments():
    assert template_arguments("nvjet_sm90_hsh_128x128_64x6_2x1_v_bz_bias_TNT") is None
    assert template_arguments("void f(std::array<int, 3>)") is None
