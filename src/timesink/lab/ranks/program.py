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


def _talk(operator: str, collective: str, annotation: str, kernel: str) -> Talk:
    kernel = f"ncclDevKernel_{kernel}(ncclDevKernelArgsStorage<4096ul>)"
    return Talk(f"c10d::{operator}", collective, f"nccl:{annotation}", kernel)


_SCATTER, _GATHER = "_reduce_scatter_base", "_allgather_base"
TALKS = {
    "all_reduce": _talk("allreduce_", "allreduce", "all_reduce", "AllReduce_Sum_bf16_RING_LL"),
    "all_reduce_small": _talk("allreduce_", "allreduce", "all_reduce", "AllReduce_Sum_f32_TREE_LL"),
    "reduce_scatter": _talk(f"{_SCATTER}_", _SCATTER, _SCATTER, "ReduceScatter_Sum_bf16_RING_LL"),
    "all_gather": _talk(f"{_GATHER}_", _GATHER, "_all_gather_base", "AllGather_RING_LL"),
    "all_to_all": _talk("alltoall_base_", "all_to_all", "all_to_all", "SendRecv"),
    "send": _talk("send", "send", "send @P", "SendRecv"),
    "recv": _talk("recv_", "recv", "recv @P", "SendRecv"),
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
_HEADS = ("[[@T, 32, 128]]", '["c10::BFloat16"]')
_INDICES = '["c10::BFloat16", "long int"]'
_NATIVE = "void at::native::(anonymous namespace)::"
_FLASH = "void pytorch_flash::flash_"


def _norm(
    name: str, us: float, block: tuple[int, int, int], registers: int, shared: int
) -> LaunchedKernel:
    return LaunchedKernel(f"{_NATIVE}{name}", us, (TOKENS, 1, 1), block, registers, shared)


_NORM = _norm(
    "vectorized_layer_norm_kernel<c10::BFloat16, float>"
    "(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*)",
    *(42.0, (32, 4, 1), 40, 24),
)
_NORM_BACK = _norm(
    "layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>"
    "(c10::BFloat16 const*, c10::BFloat16 const*, float const*, int)",
    *(75.0, (128, 1, 1), 48, 16448),
)
_SOFTMAX = _norm(
    "cunn_SoftMaxForward<4, c10::BFloat16, float, float>(float*, c10::BFloat16 const*, int)",
    *(190.0, (1024, 1, 1), 32, 4224),
)
_LOOKUP = LaunchedKernel(
    f"{_NATIVE}indexSelectLargeIndex<c10::BFloat16, long>"
    "(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>)",
    *(52.0, (1056, 1, 1), (128, 1, 1), 32, 0),
)
_ATTENTION = LaunchedKernel(
    f"{_FLASH}fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >"
    "(pytorch_flash::Flash_fwd_params)",
    *(310.0, (16, 4, 32)),
)
_ATTENTION_BACK = LaunchedKernel(
    f"{_FLASH}bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128> >"
    "(pytorch_flash::Flash_bwd_params)",
    *(690.0, (32, 4, 32)),
)


def _operator(
    name: str, host_us: float, kernels: Sequence[LaunchedKernel], *children: str
) -> Operator:
    """One that works on the rows of all tokens."""
    return Operator(name, host_us, tuple(kernels), children, _ROWS, _BF16)


def _gradient(
    name: str, host_us: float, kernels: Sequence[LaunchedKernel], *children: str
) -> Operator:
    """What autograd calls for an operator."""
    called = f"autograd::engine::evaluate_function: {name}"
    return _operator(called, host_us, kernels, name, *children)


def _linear(us: float, columns: int) -> Operator:
    children = ("aten::t", "aten::transpose", "aten::as_strided", "aten::matmul", "aten::mm")
    return _operator("aten::linear", 38.0, [_gemm("TNT", us, columns)], *children)


def _linear_back(us: float, columns: int) -> Operator:
    kernels = [_gemm("NNT", us, columns), _gemm("NTN", us, columns)]
    children = ("aten::t", "aten::transpose", "aten::mm", "aten::mm")
    return _gradient("MmBackward0", 72.0, kernels, *children)


_ADD = _operator("aten::add", 16.0, [_elementwise("CUDAFunctor_add<c10::BFloat16>", 34.0)])
_LAYER_NORM = _operator("aten::layer_norm", 28.0, [_NORM], "aten::empty", "aten::native_layer_norm")
_NORM_GRADIENT = _gradient(
    "NativeLayerNormBackward0", 44.0, [_NORM_BACK], "aten::native_layer_norm_backward"
)
_SDPA = "scaled_dot_product_"
_GELU_BACK = _elementwise("GeluBackwardCUDAKernelImpl", 120.0)

ATTENTION = (
    _LAYER_NORM,
    _linear(330.0, 96),
    Operator(
        f"aten::{_SDPA}attention",
        46.0,
        (_ATTENTION,),
        (f"aten::_{_SDPA}flash_attention", "aten::_flash_attention_forward"),
        *_HEADS,
    ),
    _linear(115.0, 32),
)
FEED_FORWARD_IN = (_ADD, _LAYER_NORM)
FEED_FORWARD = (
    _linear(440.0, 128),
    _operator("aten::gelu", 18.0, [_elementwise("GeluCUDAKernelImpl", 88.0)]),
    _linear(440.0, 128),
)
FEED_FORWARD_OUT = (_ADD,)
FEED_FORWARD_BACK = (
    _linear_back(440.0, 128),
    _gradient("GeluBackward0", 30.0, [_GELU_BACK], "aten::gelu_backward"),
    _linear_back(440.0, 128),
)
ATTENTION_BACK = (
    _NORM_GRADIENT,
    _linear_back(115.0, 32),
    replace(
        _gradient(
            "ScaledDotProductFlashAttentionBackward0",
            58.0,
            [_ATTENTION_BACK],
            f"aten::_{_SDPA}flash_attention_backward",
        ),
        dims=_HEADS[0],
        types=_HEADS[1],
    ),
    _linear_back(330.0, 96),
)
LAST_BACK = (_NORM_GRADIENT,)

EMBEDDING = (
    Operator(
        "aten::embedding",
        34.0,
        (_LOOKUP,),
        ("aten::reshape", "aten::index_select"),
        f"[[32000, {HIDDEN}], [@T]]",
        _INDICES,
    ),
)
LOSS = (
    _linear(620.0, 250),
    Operator(
        "aten::cross_entropy_loss",
        52.0,
        (_SOFTMAX,),
        ("aten::nll_loss_nd", "aten::log_softmax", "aten::_log_softmax"),
        "[[@T, 32000], [@T]]",
        _INDICES,
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
class StageProgram:
    """One step of one stage."""

    calls: tuple[HostCall, ...]
    spans: tuple[tuple[str, int, int], ...]
    """Annotations around several calls: name, and the numbers of the first and the last of them."""
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


def stage_program(plan: Plan, stage: int, *, extra_layers: int = 0) -> StageProgram:
    """What every rank of a stage does in a step."""
    return _Builder(plan, stage, plan.layers + extra_layers).program()


def _operators(given: Sequence[Operator], thread: str = "main") -> Iterator[HostCall]:
    for one in given:
        yield HostCall("operator", one.host_us, thread, one)


class _Builder:
    def __init__(self, plan: Plan, stage: int, layers: int) -> None:
        self.plan, self.stage, self.layers = plan, stage, layers
        self.calls: list[HostCall] = []
        self.spans: list[tuple[str, int, int]] = []

    def program(self) -> StageProgram:
        self.calls += [HostCall("load", 260.0), HostCall("copy", 40.0)]
        for direction, part in _one_forward_one_backward(self.plan, self.stage):
            (self._forward if direction == "forward" else self._backward)(part)
        stall_at = len(self.calls)
        self._finish()
        return StageProgram(tuple(self.calls), tuple(self.spans), stall_at)

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
        self.spans.append(("DistributedDataParallel.forward", first, len(self.calls) - 1))

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
        self.spans.append(("Optimizer.step#AdamW.step", first, len(self.calls) - 1))
        if self.plan.sharded and self.plan.data > 1:
            size = BUCKET * self.layers // self.plan.data
            self._talk("all_gather", "data", size, "main", grows=self.plan.data)
        if self.plan.ranks > 1:
            self._talk("all_reduce_small", "world", 1, "main", meeting=("loss", 0))
        self.calls.append(HostCall("sync", 12.0))

    # -- talking ---------------------------------------------------------------------------------

    def _reduce_activations(self, thread: str) -> None:
        if self.plan.tensor > 1:
            self._talk("all_reduce", "tensor", TOKENS * HIDDEN, thread)

    def _to_experts(self, thread: str) -> None:
        if self.plan.expert > 1:
            self._talk("all_to_all", "expert", TOKENS * HIDDEN, thread, per_token=True)

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
