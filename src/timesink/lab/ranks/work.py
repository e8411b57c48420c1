"""What a step of training a transformer does: operators, kernels, collectives.  Data.

Times are microseconds on one device for the usual number of tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

TOKENS = 8192
HIDDEN = 4096
MULTIPROCESSORS = 132


@dataclass(frozen=True, slots=True)
class LaunchedKernel:
    """A kernel an operator launches."""

    name: str
    us: float
    grid: tuple[int, int, int]
    block: tuple[int, int, int] = (128, 1, 1)
    registers: int = 168
    shared: int = 232448
    per_token: bool = True
    """Whether its time and its grid grow with the tokens."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A call of an operator: its children are made one after the other inside it."""

    name: str
    host_us: float
    kernels: tuple[LaunchedKernel, ...] = ()
    children: tuple[str, ...] = ()
    dims: str = "[]"
    """Input shapes; `@T` stands for the tokens."""
    types: str = "[]"


@dataclass(frozen=True, slots=True)
class Talk:
    """A collective call, as PyTorch and NCCL name it in four places."""

    operator: str
    collective: str
    annotation: str
    kernel: str


_NCCL = "(ncclDevKernelArgsStorage<4096ul>)"
TALKS = {
    "all_reduce": Talk(
        "c10d::allreduce_",
        "allreduce",
        "nccl:all_reduce",
        f"ncclDevKernel_AllReduce_Sum_bf16_RING_LL{_NCCL}",
    ),
    "all_reduce_small": Talk(
        "c10d::allreduce_",
        "allreduce",
        "nccl:all_reduce",
        f"ncclDevKernel_AllReduce_Sum_f32_TREE_LL{_NCCL}",
    ),
    "reduce_scatter": Talk(
        "c10d::_reduce_scatter_base_",
        "_reduce_scatter_base",
        "nccl:_reduce_scatter_base",
        f"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL{_NCCL}",
    ),
    "all_gather": Talk(
        "c10d::_allgather_base_",
        "_allgather_base",
        "nccl:_all_gather_base",
        f"ncclDevKernel_AllGather_RING_LL{_NCCL}",
    ),
    "all_to_all": Talk(
        "c10d::alltoall_base_", "all_to_all", "nccl:all_to_all", f"ncclDevKernel_SendRecv{_NCCL}"
    ),
    "send": Talk("c10d::send", "send", "nccl:send @P", f"ncclDevKernel_SendRecv{_NCCL}"),
    "recv": Talk("c10d::recv_", "recv", "nccl:recv @P", f"ncclDevKernel_SendRecv{_NCCL}"),
}


def _gemm(layout: str, us: float, columns: int) -> LaunchedKernel:
    name = f"nvjet_tst_256x128_64x4_2x1_v_bz_coopA_{layout}"
    return LaunchedKernel(name, us, (columns, TOKENS // 128, 1), (384, 1, 1))


def _elementwise(functor: str, us: float) -> LaunchedKernel:
    name = (
        "void at::native::vectorized_elementwise_kernel<4, "
        f"at::native::{functor}, std::array<char*, 3ul> >"
        f"(int, at::native::{functor}, std::array<char*, 3ul>)"
    )
    return LaunchedKernel(name, us, (TOKENS * HIDDEN // 2048, 1, 1), registers=32, shared=0)


def _multi_tensor(functor: str, us: float) -> LaunchedKernel:
    name = (
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
        f"namespace)::TensorListMetadata<4>, at::native::(anonymous namespace)::{functor}>"
    )
    return LaunchedKernel(name, us, (320, 1, 1), (512, 1, 1), 40, 0, per_token=False)


_ROWS = f"[[@T, {HIDDEN}], [{HIDDEN}, {HIDDEN}]]"
_BF16 = '["c10::BFloat16", "c10::BFloat16"]'
_NORM = LaunchedKernel(
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>"
    "(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*)",
    42.0,
    (TOKENS, 1, 1),
    (32, 4, 1),
    40,
    24,
)
_NORM_BACK = LaunchedKernel(
    "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized"
    "<c10::BFloat16, float>(c10::BFloat16 const*, c10::BFloat16 const*, float const*, int)",
    75.0,
    (TOKENS, 1, 1),
    (128, 1, 1),
    48,
    16448,
)
_FLASH = "flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >"
_FLASH_BACK = "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128> >"
_ATTENTION = LaunchedKernel(
    f"void pytorch_flash::{_FLASH}(pytorch_flash::Flash_fwd_params)", 310.0, (16, 4, 32)
)
_ATTENTION_BACK = LaunchedKernel(
    f"void pytorch_flash::{_FLASH_BACK}(pytorch_flash::Flash_bwd_params)", 690.0, (32, 4, 32)
)
_LINEAR = ("aten::t", "aten::transpose", "aten::as_strided", "aten::matmul", "aten::mm")


def _linear(us: float, columns: int) -> Operator:
    return Operator("aten::linear", 38.0, (_gemm("TNT", us, columns),), _LINEAR, _ROWS, _BF16)


def _linear_back(us: float, columns: int) -> Operator:
    kernels = (_gemm("NNT", us, columns), _gemm("NTN", us, columns))
    children = ("MmBackward0", "aten::t", "aten::transpose", "aten::mm", "aten::mm")
    name = "autograd::engine::evaluate_function: MmBackward0"
    return Operator(name, 72.0, kernels, children, _ROWS, _BF16)


_ADD = Operator(
    "aten::add", 16.0, (_elementwise("CUDAFunctor_add<c10::BFloat16>", 34.0),), (), _ROWS, _BF16
)
_LAYER_NORM = Operator(
    "aten::layer_norm", 28.0, (_NORM,), ("aten::empty", "aten::native_layer_norm"), _ROWS, _BF16
)
_SDPA = "aten::scaled_dot_product_attention"
_FLASH_CHILDREN = ("aten::_scaled_dot_product_flash_attention", "aten::_flash_attention_forward")

ATTENTION = (
    _LAYER_NORM,
    _linear(330.0, 96),
    Operator(_SDPA, 46.0, (_ATTENTION,), _FLASH_CHILDREN, "[[@T, 32, 128]]", '["c10::BFloat16"]'),
    _linear(115.0, 32),
)
FEED_FORWARD_IN = (_ADD, _LAYER_NORM)
FEED_FORWARD = (
    _linear(440.0, 128),
    Operator("aten::gelu", 18.0, (_elementwise("GeluCUDAKernelImpl", 88.0),), (), _ROWS, _BF16),
    _linear(440.0, 128),
)
FEED_FORWARD_OUT = (_ADD,)

_EVALUATE = "autograd::engine::evaluate_function: "
_NORM_GRADIENT = Operator(
    f"{_EVALUATE}NativeLayerNormBackward0",
    44.0,
    (_NORM_BACK,),
    ("NativeLayerNormBackward0", "aten::native_layer_norm_backward"),
    _ROWS,
    _BF16,
)
FEED_FORWARD_BACK = (
    _linear_back(440.0, 128),
    Operator(
        f"{_EVALUATE}GeluBackward0",
        30.0,
        (_elementwise("GeluBackwardCUDAKernelImpl", 120.0),),
        ("GeluBackward0", "aten::gelu_backward"),
        _ROWS,
        _BF16,
    ),
    _linear_back(440.0, 128),
)
ATTENTION_BACK = (
    _NORM_GRADIENT,
    _linear_back(115.0, 32),
    Operator(
        f"{_EVALUATE}ScaledDotProductFlashAttentionBackward0",
        58.0,
        (_ATTENTION_BACK,),
        (
            "ScaledDotProductFlashAttentionBackward0",
            "aten::_scaled_dot_product_flash_attention_backward",
        ),
        "[[@T, 32, 128]]",
        '["c10::BFloat16"]',
    ),
    _linear_back(330.0, 96),
)
LAST_BACK = (_NORM_GRADIENT,)

EMBEDDING = (
    Operator(
        "aten::embedding",
        34.0,
        (
            LaunchedKernel(
                "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long>"
                "(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>)",
                52.0,
                (1056, 1, 1),
                (128, 1, 1),
                32,
                0,
            ),
        ),
        ("aten::reshape", "aten::index_select"),
        f"[[32000, {HIDDEN}], [@T]]",
        '["c10::BFloat16", "long int"]',
    ),
)
LOSS = (
    _linear(620.0, 250),
    Operator(
        "aten::cross_entropy_loss",
        52.0,
        (
            LaunchedKernel(
                "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, c10::BFloat16, "
                "float, float>(float*, c10::BFloat16 const*, int)",
                190.0,
                (TOKENS, 1, 1),
                (1024, 1, 1),
                32,
                4224,
            ),
        ),
        ("aten::nll_loss_nd", "aten::log_softmax", "aten::_log_softmax"),
        "[[@T, 32000], [@T]]",
        '["c10::BFloat16", "long int"]',
    ),
)
LOSS_BACK = (_linear_back(620.0, 250),)
OPTIMIZER = (
    Operator("aten::_foreach_norm", 60.0, (_multi_tensor("LpNormFunctor<c10::BFloat16>", 95.0),)),
    Operator("aten::_foreach_mul_", 40.0, (_multi_tensor("BinaryOpScalarFunctor<float>", 80.0),)),
    Operator(
        "aten::_fused_adamw_",
        120.0,
        (_multi_tensor("FusedAdamMathFunctor<float, 4, 1>", 260.0),) * 3,
    ),
)
