"""Programs and changes for judging: recorded after the rules of the comparison were finished.

Other models than in `edited_shaping.py`, and where a kind of change comes again it is mostly
written in another way.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

import edited_models as models
from edited_changes import (
    Change,
    Program,
    applied_after,
    busy,
    deterministic,
    empty_cache,
    in_forward,
    instead_of,
    recompute_in_backward,
)
from edited_models import Settings


def _synchronize(*_: Any) -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _math_attention() -> None:
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)


def _stop_where_large(_: int, loss: Tensor) -> None:
    if loss > 1e4:
        raise SystemExit("the loss is too large")


def _norms(model: nn.Module) -> None:
    for parameter in list(model.parameters())[:40]:
        if parameter.grad is not None:
            parameter.grad.norm().item()


def _assert_finite(x: Tensor) -> Tensor:
    assert not torch.isnan(x).any()  # noqa: S101 - such lines are what is recorded here
    return x


def _every(steps: int, function: Callable[[Any], Any]) -> Any:
    seen = [0]

    def now_and_then(argument: Any) -> None:
        seen[0] += 1
        if seen[0] % steps == 0:
            function(argument)

    return now_and_then


def _copy_state(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.cpu() for name, value in model.state_dict().items()}


def _average_parameters() -> Any:
    """A moving average of the parameters, one by one."""
    means: list[Tensor] = []

    def update(model: nn.Module) -> None:
        with torch.no_grad():
            if not means:
                means.extend(parameter.clone() for parameter in model.parameters())
            for mean, parameter in zip(means, model.parameters(), strict=True):
                mean.lerp_(parameter, 0.01)

    return update


def _sample_token(outputs: Any) -> Tensor:
    return torch.multinomial(torch.softmax(outputs.logits[:, -1].float(), -1), 1)


def _each_row(forward: Any) -> Any:
    return lambda x: torch.stack([forward(row) for row in x])


def _guard_forward(forward: Any) -> Any:
    return lambda x: x if x.float().mean().item() > 1e9 else forward(x)


def _transpose_twice(x: Tensor) -> Tensor:
    return x.transpose(1, 2).contiguous().transpose(1, 2).contiguous()


def _all_recomputed(model: Any) -> None:
    for block in model.blocks:
        block.forward = recompute_in_backward(block.forward)


def _clip_values(model: nn.Module) -> None:
    nn.utils.clip_grad_value_(model.parameters(), 1.0)


PROGRAMS = {
    "swin": Program(models.swin, "images", settings=Settings(64, 224, 4, 768)),
    "wav2vec2": Program(
        models.wav2vec2,
        "sound",
        settings=Settings(16, 32000, 3, optimizer="adamw foreach"),
        detail="shapes",
    ),
    "distilbert": Program(
        models.distilbert,
        "tokens",
        settings=Settings(24, 384, 4, clip=1.0, dropout=0.1),
        detail="modules",
    ),
    "segformer": Program(
        models.segformer,
        "masks",
        settings=Settings(16, 224, 2, precision="tf32", evaluate_every=6),
    ),
    "phi": Program(models.phi, "tokens", "decode", Settings(48, 768, 6, 2048, precision="half")),
    "olmoe": Program(models.olmoe, "tokens", settings=Settings(8, 512, 3, 512, log_every=4)),
    "dit": Program(
        models.Diffusion,
        "latents",
        settings=Settings(48, 256, 4, activation="silu", optimizer="adamw loop"),
        detail="shapes",
    ),
    "autoencoder": Program(
        models.AutoEncoder,
        "loader",
        settings=Settings(64, 128, 4, 1024, precision="default", optimizer="adamw foreach"),
    ),
    "mamba": Program(models.mamba, "tokens", settings=Settings(16, 24, 2, 768, precision="tf32")),
    "ddp": Program(models.Encoder, "classes", settings=Settings(32, 128, 2, 512), ranks=2),
    "server": Program(
        models.Encoder, "classes", "infer", Settings(24, 192, 5, 1024, run="compile")
    ),
    "replayed": Program(models.Encoder, "classes", "infer", Settings(16, 512, 5, 512, run="graph")),
}

_SYNC = "aten::item|_local_scalar_dense|cudaStreamSynchronize"
CHANGES: dict[str, dict[str, Change]] = {
    "swin": {
        "print_loss": Change(
            "synchronisation", _SYNC + "|aten::copy_", step=lambda _, loss: print(loss), back=True
        ),
        "synchronize": Change(
            "synchronisation", "cudaDeviceSynchronize|synchronize", step=_synchronize
        ),
        "float16": Change(
            "precision_change", "linear|aten::mm|gemm|nvjet", {"precision": "autocast16"}
        ),
        "eager": Change("attention_backend", "attention", {"attention": "eager"}),
        "dropout": Change("added_layer", "dropout", {"dropout": 0.1}),
        "silu": Change("kernel_change", "gelu|silu", {"activation": "silu"}),
        "smaller_batch": Change("workload_change", "batch|shape", {"batch": 48}),
    },
    "wav2vec2": {
        "fused": Change("optimizer", "AdamW", {"optimizer": "adamw fused"}, back=True),
        "condition": Change("synchronisation", _SYNC + "|is_nonzero", step=_stop_where_large),
        "checkpointing": Change(
            "recomputation", "checkpoint|backward|layer|Layer", {"checkpointing": True}
        ),
        "float_gelu": Change(
            "casts",
            "aten::to|_to_copy|aten::copy_|linear|Linear",
            model=applied_after(nn.Linear, lambda x: x.float().to(x.dtype)),
        ),
        "no_autocast": Change(
            "precision_change", "linear|addmm|aten::mm|conv|gemm|nvjet", {"precision": "default"}
        ),
        "longer": Change("workload_change", "shape|length", {"length": 40000}),
        "norms": Change("synchronisation", _SYNC + "|norm", before_step=_norms),
        "deterministic": Change("debug_mode", "deterministic|fill_", start=deterministic),
        "turned": Change(
            "layout_conversion|extra_copies",
            "contiguous|clone|aten::copy_|transpose",
            model=applied_after(nn.LayerNorm, _transpose_twice),
        ),
    },
    "distilbert": {
        "no_dropout": Change("added_layer", "dropout", {"dropout": 0.0}),
        "math_attention": Change("attention_backend", "attention", start=_math_attention),
        "clip_values": Change(
            "gradient_handling", "clip|clamp|norm", {"clip": 0.0}, before_step=_clip_values
        ),
        "two_more_layers": Change("added_layer", "layer|TransformerBlock", {"layers": 6}),
        "zeroed_grads": Change(
            "gradient_handling", "zero_grad|zero_|accumulate|add_", {"set_to_none": False}
        ),
        "clone_logits": Change(
            "extra_copies", "clone|aten::copy_", outputs=lambda outputs: outputs.logits.clone()
        ),
        "collect": Change("host_code", "host|gc", step=lambda *_: gc.collect()),
        "assert_finite": Change(
            "synchronisation|debug_mode",
            _SYNC + "|isnan|any|is_nonzero",
            model=applied_after(nn.LayerNorm, _assert_finite),
        ),
        "anomaly": Change(
            "debug_mode",
            "anomaly|isnan|aten::any|backward|Backward",
            start=lambda: torch.autograd.set_detect_anomaly(True),
        ),
    },
    "segformer": {
        "highest": Change(
            "precision_change", "linear|aten::mm|matmul|gemm|nvjet", {"precision": "default"}
        ),
        "bfloat16": Change(
            "precision_change",
            "linear|aten::mm|conv|gemm|nvjet",
            {"precision": "autocast"},
            back=True,
        ),
        "evaluated_more": Change("cycle_kind", "forward|eval|kind", {"evaluate_every": 3}),
        "never_evaluated": Change("cycle_kind", "forward|eval|kind", {"evaluate_every": 0}),
        "channels_last": Change(
            "layout_conversion", "Nhwc|Nchw|nhwc|conv|aten::copy_", {"channels_last": True}
        ),
        "accumulate": Change(
            "gradient_handling|workload_change",
            "forward|backward|accumulate",
            {"accumulate": 2, "batch": 8},
        ),
        "saved": Change(
            "cycle_kind|extra_copies",
            "Memcpy DtoH|aten::copy_|kind",
            before_step=_every(4, _copy_state),
        ),
        "sgd": Change("optimizer", "SGD|AdamW", {"optimizer": "sgd fused"}),
    },
    "phi": {
        "stop_check": Change(
            "synchronisation",
            _SYNC + "|is_nonzero|aten::all",
            outputs=lambda outputs: bool((outputs.logits[:, -1].argmax(-1) == 0).all()),
        ),
        "eager": Change("attention_backend", "attention", {"attention": "eager"}),
        "sampled": Change(
            "kernel_change|added_layer", "multinomial|softmax|argmax", outputs=_sample_token
        ),
        "float_weights": Change(
            "precision_change",
            "linear|addmm|aten::mm|gemm|nvjet",
            model=lambda model: model.float(),
        ),
        "numpy": Change(
            "extra_copies|synchronisation",
            "Memcpy DtoH|aten::copy_|aten::to|cpu",
            outputs=lambda outputs: outputs.logits.float().cpu().numpy(),
        ),
        "longer_prompt": Change("workload_change", "shape|cat|attention", {"length": 1536}),
        "sleep": Change("host_code", "host|sleep", outputs=lambda _: time.sleep(0.003)),
    },
    "olmoe": {
        "eager": Change("attention_backend", "attention", {"attention": "eager"}),
        "adamw_loop": Change("optimizer", "AdamW", {"optimizer": "adamw loop"}),
        "logged_more": Change(
            "cycle_kind|synchronisation", "aten::item|kind|_local_scalar_dense", {"log_every": 2}
        ),
        "empty_cache": Change(
            "allocator", "cudaMalloc|cudaFree|empty_cache", before_step=empty_cache
        ),
        "clipped": Change("gradient_handling", "clip|norm", {"clip": 1.0}),
    },
    "dit": {
        "fused": Change("optimizer", "AdamW", {"optimizer": "adamw fused"}),
        "written_out": Change("attention_backend", "attention", {"attention": "eager"}, back=True),
        "averaged": Change("kernel_change|optimizer", "lerp", before_step=_average_parameters()),
        "recomputed": Change(
            "recomputation", "checkpoint|backward|Block|block", model=_all_recomputed
        ),
        "relu": Change("kernel_change", "silu|relu", {"activation": "relu"}),
        "turned": Change(
            "layout_conversion|extra_copies",
            "contiguous|clone|aten::copy_|transpose",
            model=applied_after(models.Attention, _transpose_twice),
        ),
        "each_row": Change(
            "kernel_change|host_code",
            "linear|addmm|aten::mm|stack|unbind",
            model=in_forward(lambda model: model.patch, _each_row),
        ),
        "pageable": Change(
            "pageable_copies", "Memcpy HtoD|aten::copy_|aten::to", {"pinned": False}
        ),
    },
    "autoencoder": {
        "no_workers": Change("data_loading", "DataLoader|__next__|loader", {"workers": 0}),
        "slow_files": Change(
            "data_loading",
            "DataLoader|__next__|loader",
            start=lambda: setattr(models.Images, "pause_s", 0.002),
        ),
        "exact": Change("precision_change", "conv|cudnn", {"precision": "exact"}),
        "batch_norm": Change(
            "kernel_change",
            "group_norm|batch_norm",
            model=instead_of(nn.GroupNorm, lambda norm: nn.BatchNorm2d(norm.num_channels)),
        ),
        "benchmark": Change(
            "kernel_choice",
            "conv",
            start=lambda: setattr(torch.backends.cudnn, "benchmark", True),
        ),
        "pageable": Change(
            "pageable_copies", "Memcpy HtoD|aten::copy_|aten::to", {"pinned": False}
        ),
        "cpu_loss": Change(
            "synchronisation|extra_copies",
            "Memcpy DtoH|copy_|to|cpu|" + _SYNC,
            step=lambda _, loss: loss.cpu(),
        ),
    },
    "mamba": {
        "sgd": Change("optimizer", "SGD|AdamW", {"optimizer": "sgd fused"}),
        "one_more_layer": Change("added_layer", "layer|MambaBlock", {"layers": 3}),
        "busy": Change("host_code", "host", before_step=busy(4)),
    },
    "ddp": {
        "small_buckets": Change(
            "collective_change", "all_reduce|allreduce|bucket|gloo", {"bucket_mb": 2}
        ),
        "loss_reduced": Change(
            "collective_change",
            "all_reduce|allreduce|gloo",
            step=lambda _, loss: dist.all_reduce(loss),
        ),
        "loss_item": Change("synchronisation", _SYNC, step=lambda _, loss: loss.item()),
    },
    "server": {
        "compile_lost": Change(
            "compile_fallback", "compile|triton|CompiledFunction|Torch", {"run": "eager"}
        ),
        "guarded": Change(
            "compile_fallback|synchronisation",
            "compile|Torch|graph|break|aten::item",
            model=in_forward(lambda model: model.blocks[2], _guard_forward),
        ),
    },
    "replayed": {
        "graph_lost": Change("graph_capture", "cudaGraphLaunch|graph", {"run": "eager"}),
        "synchronize": Change(
            "synchronisation", "cudaDeviceSynchronize|synchronize", step=_synchronize
        ),
        "float16": Change("precision_change", "gemm|nvjet", model=lambda model: model.half()),
    },
}
