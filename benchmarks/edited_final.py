"""Programs and changes for judging again: recorded after what the judging half had shown.

Other models than in `edited_shaping.py` and `edited_judging.py`; changes of the same kinds, where
there was another way to write one written so.
"""

from __future__ import annotations

import os
import time
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import edited_more_models as models
from edited_changes import (
    Change,
    Program,
    deterministic,
    followed_by,
    in_forward,
    instead_of,
    recompute_in_backward,
)
from edited_models import Settings

_SYNC = "aten::item|_local_scalar_dense|cudaStreamSynchronize"
_PRODUCTS = "linear|addmm|aten::mm|gemm|nvjet"


def _sum_losses() -> Any:
    total = [0.0]

    def add(_: int, loss: Tensor) -> None:
        total[0] += float(loss)

    return add


def _math(forward: Any) -> Any:
    def within(*args: Any, **kwargs: Any) -> Any:
        with sdpa_kernel(SDPBackend.MATH):
            return forward(*args, **kwargs)

    return within


def _clip_gradients(model: nn.Module) -> None:
    nn.utils.clip_grad_norm_(model.parameters(), 0.5, foreach=False)


def _hook_gradients(model: nn.Module) -> None:
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: gradient.clamp(-1, 1))


def _copy_scores() -> Any:
    """The scores of some rows, into memory of the host that is always the same."""
    place: list[Tensor] = []

    def keep(outputs: Any) -> None:
        scores = outputs.logits[:4].detach()
        if not place:
            place.append(torch.empty_like(scores, device="cpu", pin_memory=scores.is_cuda))
        place[0].copy_(scores, non_blocking=True)

    return keep


def _through_numpy(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(part.numpy().copy()) for name, part in batch.items()}


def _benchmark_kernels() -> None:
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.benchmark_limit = 0


def _words(*_: Any) -> None:
    " ".join(str(number * number) for number in range(25000))


def _set_on(kind: type[nn.Module], name: str, value: Any) -> Any:
    """An edit of a model: an attribute of each module of a kind."""

    def edit(model: nn.Module) -> None:
        for module in model.modules():
            if isinstance(module, kind):
                setattr(module, name, value)

    return edit


def _count_calls(model: nn.Module) -> None:
    """A number that differs with every call, for which compiled code does not hold."""
    torch._dynamo.config.recompile_limit = 1  # noqa: SLF001 - the public name of it
    model.count = True  # type: ignore[assignment]


def _every_gradient(model: nn.Module) -> None:
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)


def _from_the_first(model: nn.Module) -> None:
    for parameter in model.parameters():
        dist.broadcast(parameter.data, 0)


PROGRAMS = {
    "bart": Program(models.bart, "sentences", settings=Settings(32, 512, 1, 768)),
    "electra": Program(
        models.electra,
        "tokens",
        settings=Settings(
            32, 256, 1, attention="eager", precision="tf32", optimizer="adamw foreach"
        ),
        detail="modules",
    ),
    "roformer": Program(
        models.roformer,
        "tokens",
        settings=Settings(16, 256, 2, 512, precision="default"),
        detail="shapes",
    ),
    "mobilenet": Program(
        models.MobileNet,
        "loader",
        settings=Settings(48, 160, 5, 768, optimizer="sgd foreach", channels_last=True),
    ),
    "gemma": Program(
        models.gemma, "tokens", "decode", Settings(48, 768, 4, 2048, precision="half")
    ),
    "gnn": Program(models.GraphNet, "graph", settings=Settings(16, 1024, 3, 256, precision="tf32")),
    "actor_critic": Program(
        models.ActorCritic,
        "vectors",
        settings=Settings(8192, 1, 6, 1024, precision="tf32", optimizer="adamw foreach"),
    ),
    "denoiser": Program(
        models.Denoiser,
        "vectors",
        settings=Settings(8192, 1, 4, 2048, precision="tf32", optimizer="adamw foreach"),
        detail="shapes",
    ),
    "mixer": Program(models.Mixer, "classes", "infer", Settings(32, 256, 6, run="graph")),
    "mixer_compiled": Program(
        models.Mixer, "classes", "infer", Settings(64, 192, 3, run="compile")
    ),
    "towers": Program(
        models.Towers, "vectors", settings=Settings(4096, 1, 1, 1024, precision="tf32"), ranks=2
    ),
}

CHANGES: dict[str, dict[str, Change]] = {
    "bart": {
        "summed_loss": Change("synchronisation", _SYNC, step=_sum_losses(), back=True),
        "eager": Change("attention_backend", "attention", {"attention": "eager"}, back=True),
        "math": Change("attention_backend", "attention", model=in_forward(lambda m: m, _math)),
        "checkpointed": Change(
            "recomputation",
            "checkpoint|backward|EncoderLayer",
            model=in_forward(lambda model: model.model.encoder.layers[0], recompute_in_backward),
        ),
        "clipped": Change("gradient_handling", "clip|norm", before_step=_clip_gradients),
    },
    "electra": {
        "sdpa": Change("attention_backend", "attention", {"attention": "sdpa"}),
        "loop": Change("optimizer", "AdamW", {"optimizer": "adamw loop"}, back=True),
        "dense": Change(
            "added_layer",
            "linear|Linear|addmm",
            model=followed_by(
                nn.LayerNorm,
                lambda norm: nn.Linear(norm.normalized_shape[0], norm.normalized_shape[0]),
            ),
        ),
        "hooked": Change("gradient_handling", "clamp|hook", model=_hook_gradients),
        "bfloat16": Change("precision_change", _PRODUCTS, model=lambda model: model.bfloat16()),
    },
    "roformer": {
        "high": Change(
            "precision_change",
            _PRODUCTS,
            start=lambda: torch.set_float32_matmul_precision("high"),
            back=True,
        ),
        "gelu_new": Change("kernel_change", "gelu|tanh|pow", {"activation": "gelu_new"}),
        "shorter": Change("workload_change", "shape|length", {"length": 192}),
        "evaluated": Change("cycle_kind", "forward|eval|kind", {"evaluate_every": 4}),
        "kept_scores": Change("extra_copies", "Memcpy DtoH|aten::copy_", outputs=_copy_scores()),
    },
    "mobilenet": {
        "channels_first": Change(
            "layout_conversion", "Nhwc|Nchw|nhwc|nchw|conv", {"channels_last": False}
        ),
        "no_workers": Change("data_loading", "DataLoader|__next__|loader", {"workers": 0}),
        "through_numpy": Change(
            "pageable_copies", "Memcpy HtoD|aten::copy_|aten::to", batch=_through_numpy
        ),
        "hardswish": Change(
            "kernel_change", "silu|hardswish", model=instead_of(nn.SiLU, lambda _: nn.Hardswish())
        ),
        "squeezed": Change(
            "added_layer",
            "SqueezeExcite|sigmoid|conv",
            model=followed_by(nn.BatchNorm2d, lambda norm: models.SqueezeExcite(norm.num_features)),
        ),
        "lion": Change("optimizer", "Lion|SGD", {"optimizer": "lion loop"}),
        "measured": Change("kernel_choice", "conv", start=_benchmark_kernels),
    },
    "gemma": {
        "where": Change(
            "synchronisation",
            "nonzero|aten::where|cudaStreamSynchronize",
            step=lambda _, token: torch.where(token == 1),
        ),
        "eager": Change("attention_backend", "attention", {"attention": "eager"}),
        "float_scores": Change(
            "casts",
            "aten::to|_to_copy|aten::copy_",
            outputs=lambda outputs: outputs.logits.float(),
        ),
        "words": Change("host_code", "host", step=_words),
        "larger_batch": Change("workload_change", "batch|shape", {"batch": 64}),
        "small_workspace": Change(
            "kernel_choice",
            _PRODUCTS,
            start=lambda: os.environ.update({"CUBLAS_WORKSPACE_CONFIG": ":16:8"}),
        ),
    },
    "gnn": {
        "deterministic": Change("debug_mode", "deterministic|fill_|index", start=deterministic),
        "anomaly": Change(
            "debug_mode",
            "anomaly|isnan|aten::any",
            start=lambda: torch.autograd.set_detect_anomaly(True),
        ),
        "scattered": Change(
            "kernel_change",
            "index_add|scatter_add",
            model=_set_on(models.GraphLayer, "sum_up", models.scatter_sum),
        ),
        "dropout": Change(
            "added_layer", "dropout", model=followed_by(nn.ReLU, lambda _: nn.Dropout(0.1))
        ),
    },
    "actor_critic": {
        "checked": Change(
            "synchronisation",
            _SYNC + "|is_nonzero|aten::all",
            model=_set_on(models.ActorCritic, "checked", value=True),
        ),
        "actions_seen": Change(
            "synchronisation|extra_copies",
            "Memcpy DtoH|aten::copy_|aten::to|cudaStreamSynchronize",
            model=_set_on(models.ActorCritic, "seen", lambda actions: actions.cpu().numpy()),
        ),
        "in_turn": Change(
            "kernel_change|host_code",
            "unbind|stack|aten::mul|aten::add|matmul|aten::mm",
            model=_set_on(models.ActorCritic, "returns", models.discounted_in_turn),
        ),
        "rmsprop": Change("optimizer", "RMSprop|AdamW", {"optimizer": "rmsprop foreach"}),
    },
    "denoiser": {
        "uncached": Change(
            "allocator",
            "cudaMalloc|cudaFree",
            start=lambda: os.environ.update({"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}),
        ),
        "noise_from_host": Change(
            "pageable_copies|extra_copies",
            "Memcpy HtoD|aten::copy_|aten::to|randn",
            model=_set_on(models.Denoiser, "noise_from", "cpu"),
        ),
        "zeroed_grads": Change(
            "gradient_handling", "zero_grad|zero_|accumulate", {"set_to_none": False}
        ),
        "logged": Change("cycle_kind|synchronisation", _SYNC + "|kind", {"log_every": 4}),
        "accumulate": Change(
            "gradient_handling|workload_change", "forward|backward|accumulate", {"accumulate": 2}
        ),
    },
    "mixer": {
        "graph_lost": Change("graph_capture", "cudaGraphLaunch|graph", {"run": "eager"}, back=True),
        "sleep": Change("host_code", "host|sleep", step=lambda *_: time.sleep(0.004)),
    },
    "mixer_compiled": {
        "compile_lost": Change(
            "compile_fallback",
            "compile|triton|CompiledFunction|Torch",
            {"run": "eager"},
            back=True,
        ),
        "counted": Change("compile_fallback", "compile|triton|Torch", model=_count_calls),
    },
    "towers": {
        "every_gradient": Change(
            "collective_change", "all_reduce|allreduce|gloo", before_step=_every_gradient
        ),
        "from_the_first": Change(
            "collective_change", "broadcast|gloo", before_step=_from_the_first
        ),
    },
}
