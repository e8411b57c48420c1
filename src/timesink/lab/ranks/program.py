"""The calls a rank makes in one step, in order: the same on all ranks of a pipeline stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from timesink.lab.ranks.plan import Plan

# What a step of training a transformer does: operators, kernels, collectives.  Data.
#
# Times are microseconds on one device for the usual number of tokens.

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


LOADING = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
BUCKET = 25_000_000
"""Gradients that are reduced in one call."""
_COPY = LaunchedKernel("Memcpy HtoD (Pinned -> Device)", 55.0, (0, 0, 0), per_token=False)


@dataclass(frozen=True, slots=True)
class HostCall:
    """One call on the host; what it launches is in `operator` or `talk`."""

    kind: str
    """`operator`, `load`, `copy`, `talk`, `join`, `sync` or `extra_sync`."""
    host_us: float
    thread: str = "main"
    operator: Operator | None = None
    talk: str = ""
    role: str = ""
    """Role of the process group that talks."""
    elements: int = 0
    grows: int = 1
    """Elements that come out for each one that goes in."""
    per_token: bool = False
    blocking: bool = True
    """Whether later kernels wait for it."""
    stream: str = ""
    meeting: tuple[str, int] = ("", 0)
    """For calls between stages: which of them it is within the step."""
    forward: int = 0
    """For sending and receiving: whether the other is the next stage (1) or the previous (-1)."""

    @property
    def kernels(self) -> tuple[LaunchedKernel, ...]:
        if self.kind == "copy":
            return (_COPY,)
        return self.operator.kernels if self.operator else ()

    @property
    def talks(self) -> bool:
        return self.kind == "talk"


@dataclass(frozen=True, slots=True)
class CallSpan:
    """An annotation around several calls, by their numbers in the step."""

    name: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Program:
    """One step of one stage."""

    calls: tuple[HostCall, ...]
    spans: tuple[CallSpan, ...]
    stall_at: int
    """The call before which Python stalls, where it does."""

    @property
    def launches(self) -> list[tuple[int, int]]:
        """Device work in the order of its launches: the call, and which of its kernels it is."""
        return [
            (number, place)
            for number, call in enumerate(self.calls)
            for place in range(1 if call.talks else len(call.kernels))
        ]


def stage_program(plan: Plan, stage: int, *, extra_layers: int = 0) -> Program:
    """What every rank of a stage does in a step."""
    builder = _Builder(plan, stage, plan.layers + extra_layers)
    return builder.program()


def _operators(given: Sequence[Operator], thread: str = "main") -> Iterator[HostCall]:
    for one in given:
        yield HostCall("operator", one.host_us, thread, one)


class _Builder:
    def __init__(self, plan: Plan, stage: int, layers: int) -> None:
        self.plan, self.stage, self.layers = plan, stage, layers
        self.calls: list[HostCall] = []
        self.spans: list[CallSpan] = []

    def program(self) -> Program:
        self.calls += [HostCall("load", 260.0), HostCall("copy", 40.0)]
        for direction, part in _one_forward_one_backward(self.plan, self.stage):
            (self._forward if direction == "forward" else self._backward)(part)
        stall_at = len(self.calls)
        self._finish()
        return Program(tuple(self.calls), tuple(self.spans), stall_at)

    # -- what passes through the stages ----------------------------------------------------------

    def _forward(self, part: int) -> None:
        first = len(self.calls)
        if self.stage > 0:
            self._pass_on("recv", "forward", part, -1, "main")
        else:
            self.calls += _operators(EMBEDDING)
        for _ in range(self.layers):
            self.calls += _operators(ATTENTION)
            self._reduce_activations("main")
            self.calls += _operators(FEED_FORWARD_IN)
            self._to_experts("main")
            self.calls += _operators(FEED_FORWARD)
            self._to_experts("main")
            self._reduce_activations("main")
            self.calls += _operators(FEED_FORWARD_OUT)
        if self.stage < self.plan.pipeline - 1:
            self._pass_on("send", "forward", part, 1, "main")
        else:
            self.calls += _operators(LOSS if self.plan.pipeline == 1 else LOSS[1:])
        self.spans.append(CallSpan("DistributedDataParallel.forward", first, len(self.calls) - 1))

    def _backward(self, part: int) -> None:
        if self.stage < self.plan.pipeline - 1:
            self._pass_on("recv", "backward", part, 1, "autograd")
        elif self.plan.pipeline == 1:
            self.calls += _operators(LOSS_BACK, "autograd")
        is_last = part == self.plan.parts - 1
        for _ in range(self.layers):
            self._to_experts("autograd")
            self.calls += _operators(FEED_FORWARD_BACK, "autograd")
            self._to_experts("autograd")
            self._reduce_activations("autograd")
            self.calls += _operators(ATTENTION_BACK, "autograd")
            self._reduce_activations("autograd")
            self.calls += _operators(LAST_BACK, "autograd")
            # Only on ranks that have this fault: somebody looks at a value after every layer.
            self.calls.append(HostCall("extra_sync", 12.0, "autograd"))
            if is_last and self.plan.data > 1:
                kind = "reduce_scatter" if self.plan.sharded else "all_reduce"
                self._talk(kind, "data", BUCKET, "autograd", blocking=False)
        if self.stage > 0:
            self._pass_on("send", "backward", part, -1, "autograd")

    # -- what ends a step ------------------------------------------------------------------------

    def _finish(self) -> None:
        self.calls.append(HostCall("join", 14.0))
        if self.plan.tensor > 1 < self.plan.pipeline:
            self._talk("all_reduce_small", "model", 1, "main", meeting=("norm", 0))
        elif self.plan.tensor > 1:
            self._talk("all_reduce_small", "tensor", 1, "main")
        first = len(self.calls)
        self.calls += _operators(OPTIMIZER)
        self.spans.append(CallSpan("Optimizer.step#AdamW.step", first, len(self.calls) - 1))
        if self.plan.sharded and self.plan.data > 1:
            size = BUCKET * self.layers // self.plan.data
            self._talk("all_gather", "data", size, "main", grows=self.plan.data)
        if self.plan.ranks > 1:
            self._talk("all_reduce_small", "world", 1, "main", meeting=("loss", 0))
        self.calls.append(HostCall("sync", 12.0))

    # -- talking ---------------------------------------------------------------------------------

    def _reduce_activations(self, thread: str) -> None:
        if self.plan.tensor > 1:
            size = TOKENS * HIDDEN
            self._talk("all_reduce", "tensor", size, thread)

    def _to_experts(self, thread: str) -> None:
        if self.plan.expert > 1:
            size = TOKENS * HIDDEN
            self._talk("all_to_all", "expert", size, thread, per_token=True)

    def _pass_on(self, talk: str, direction: str, part: int, forward: int, thread: str) -> None:
        # Every boundary between stages and every direction has a stream of its own.
        boundary = self.stage if forward == 1 else self.stage - 1
        self._talk(
            talk, "pipeline", TOKENS * HIDDEN, thread,
            blocking=talk == "recv", meeting=(f"{direction} {boundary}", part), forward=forward,
            stream=f"{direction} {talk}",
        )  # fmt: skip

    def _talk(self, talk: str, role: str, elements: int, thread: str, **more: object) -> None:
        call = HostCall("talk", 92.0, thread, talk=talk, role=role, elements=elements, stream=role)
        self.calls.append(replace(call, **more))  # type: ignore[arg-type]


def _one_forward_one_backward(plan: Plan, stage: int) -> list[tuple[str, int]]:
    """The order in which a stage handles the parts of a batch."""
    parts, ahead = plan.parts, min(plan.pipeline - stage - 1, plan.parts)
    order = [("forward", part) for part in range(ahead)]
    for part in range(parts - ahead):
        order += [("forward", part + ahead), ("backward", part)]
    return order + [("backward", part) for part in range(parts - ahead, parts)]
