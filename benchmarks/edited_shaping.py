"""Programs and changes that were looked at while the rules of the comparison were written."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor, nn

import edited_models as models
from edited_changes import (
    Change,
    Program,
    applied_after,
    busy,
    deterministic,
    empty_cache,
    followed_by,
    in_forward,
    recompute_in_backward,
)
from edited_models import Settings


def _permute_input(forward: Any) -> Any:
    def with_permutes(x: Tensor) -> Tensor:
        x = x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
        return forward(x.contiguous())

    return with_permutes


def _row_by_row(outputs: Any) -> Tensor:
    return torch.stack([row.argmax(-1, keepdim=True) for row in outputs.logits[:, -1]])


def _break_graph(x: Tensor) -> Tensor:
    print(end="")
    torch._dynamo.graph_break()  # noqa: SLF001 - the public name of it
    return x


PROGRAMS = {
    "vit": Program(models.vit, "images", settings=Settings(96, 224, 5), detail="shapes"),
    "t5": Program(
        models.t5,
        "sentences",
        settings=Settings(48, 256, 2, 512, precision="tf32", optimizer="adamw foreach", clip=1.0),
        detail="modules",
    ),
    "gpt_neox": Program(models.gpt_neox, "tokens", settings=Settings(16, 512, 4, log_every=5)),
    "cnn": Program(
        models.ConvNet,
        "loader",
        settings=Settings(64, 160, 8, 1024, optimizer="sgd foreach", channels_last=True),
        detail="shapes",
    ),
    "mistral": Program(
        models.mistral,
        "tokens",
        "decode",
        Settings(64, 1024, 6, 2048, precision="half"),
    ),
    "encoder": Program(models.Encoder, "classes", "infer", Settings(32, 256, 6, run="graph")),
    "compiled": Program(models.Encoder, "classes", "infer", Settings(64, 256, 4, run="compile")),
    "lstm": Program(
        models.Recurrent,
        "tokens",
        settings=Settings(64, 96, 1, 1024, precision="tf32", optimizer="sgd fused"),
        detail="stack",
    ),
}

CHANGES: dict[str, dict[str, Change]] = {
    "vit": {
        "loss_item": Change(
            "synchronisation",
            "aten::item|_local_scalar_dense|cudaStreamSynchronize",
            step=lambda _, loss: loss.item(),
            back=True,
        ),
        "eager": Change("attention_backend", "attention", {"attention": "eager"}, back=True),
        "foreach": Change("optimizer", "AdamW", {"optimizer": "adamw foreach"}),
        "loop": Change("optimizer", "AdamW", {"optimizer": "adamw loop"}, base="foreach"),
        "checkpointing": Change(
            "recomputation", "checkpoint|backward|ViTLayer|layer", {"checkpointing": True}
        ),
        "no_autocast": Change(
            "precision_change",
            "linear|addmm|aten::mm|gemm|nvjet",
            {"precision": "default"},
            back=True,
        ),
        "pageable": Change(
            "pageable_copies", "Memcpy HtoD|aten::copy_|aten::to", {"pinned": False}
        ),
        "cpu_logits": Change(
            "extra_copies|synchronisation",
            "Memcpy DtoH|aten::copy_|aten::to|cpu",
            outputs=lambda outputs: outputs.logits.detach().cpu(),
        ),
        "float_norm": Change(
            "casts",
            "layer_norm|LayerNorm|aten::to|_to_copy|aten::copy_",
            model=applied_after(nn.LayerNorm, lambda x: x.bfloat16().float()),
        ),
        "zeroed_grads": Change(
            "gradient_handling", "zero_grad|zero_|accumulate|add_", {"set_to_none": False}
        ),
        "anomaly": Change(
            "debug_mode",
            "anomaly|isnan|aten::any|backward|Backward",
            start=lambda: torch.autograd.set_detect_anomaly(True),
        ),
        "larger_batch": Change("workload_change", "batch|shape", {"batch": 112}),
        "sleep": Change("host_code", "host|sleep", step=lambda *_: time.sleep(0.003)),
        "one_more_layer": Change("added_layer", "layer|ViTLayer", {"layers": 6}, back=True),
    },
    "t5": {
        "tf32_off": Change(
            "precision_change", "linear|aten::mm|matmul|bmm|gemm|nvjet", {"precision": "exact"}
        ),
        "sgd": Change("optimizer", "SGD|AdamW", {"optimizer": "sgd foreach"}, back=True),
        "no_clipping": Change("gradient_handling", "clip|norm", {"clip": 0.0}, back=True),
        "deterministic": Change("debug_mode", "deterministic|fill_", start=deterministic),
        "empty_cache": Change("allocator", "cudaMalloc|cudaFree|empty_cache", step=empty_cache),
        "dropout": Change("added_layer", "dropout", {"dropout": 0.1}, back=True),
        "accumulate": Change(
            "gradient_handling|workload_change",
            "forward|backward|accumulate",
            {"accumulate": 2},
        ),
        "longer": Change("workload_change", "shape|length", {"length": 320}),
    },
    "gpt_neox": {
        "eager": Change("attention_backend", "attention", {"attention": "eager"}),
        "evaluation": Change("cycle_kind", "forward|eval|kind", {"evaluate_every": 4}),
        "print_always": Change(
            "synchronisation|cycle_kind", "aten::item|_local_scalar_dense", {"log_every": 1}
        ),
        "busy": Change("host_code", "host", step=busy(3)),
        "clone": Change(
            "extra_copies",
            "clone|aten::copy_",
            model=applied_after(nn.LayerNorm, lambda x: x.clone()),
        ),
        "relu": Change("kernel_change", "gelu|relu", {"activation": "relu"}),
        "adamw_loop": Change("optimizer", "AdamW", {"optimizer": "adamw loop"}),
        "one_recomputed": Change(
            "recomputation",
            "mlp|MLP|backward|checkpoint",
            model=in_forward(lambda model: model.gpt_neox.layers[1].mlp, recompute_in_backward),
        ),
        "extra_norm": Change(
            "added_layer",
            "layer_norm|LayerNorm",
            model=followed_by(nn.LayerNorm, lambda norm: nn.LayerNorm(norm.normalized_shape)),
        ),
    },
    "cnn": {
        "channels_first": Change(
            "layout_conversion",
            "nchwToNhwc|nhwcToNchw|conv|cudnn",
            {"channels_last": False},
            back=True,
        ),
        "no_workers": Change(
            "data_loading", "DataLoader|__next__|loader", {"workers": 0}, back=True
        ),
        "benchmark": Change(
            "kernel_choice",
            "conv",
            start=lambda: setattr(torch.backends.cudnn, "benchmark", True),
        ),
        "permutes": Change(
            "layout_conversion|extra_copies",
            "contiguous|clone|aten::copy_",
            model=in_forward(lambda model: model.blocks[2], _permute_input),
        ),
        "adamw": Change("optimizer", "AdamW|SGD", {"optimizer": "adamw foreach"}),
        "pageable": Change(
            "pageable_copies", "Memcpy HtoD|aten::copy_|aten::to", {"pinned": False}
        ),
        "finite": Change(
            "synchronisation",
            "aten::item|_local_scalar_dense|is_nonzero|isfinite",
            step=lambda _, loss: bool(torch.isfinite(loss)),
        ),
    },
    "mistral": {
        "tolist": Change(
            "synchronisation|extra_copies",
            "Memcpy DtoH|aten::copy_|tolist|aten::item|aten::to|cudaStreamSynchronize",
            outputs=lambda outputs: outputs.logits[:, -1].argmax(-1).tolist(),
        ),
        "eager": Change("attention_backend", "attention", {"attention": "eager"}, back=True),
        "float_linear": Change(
            "casts",
            "aten::to|_to_copy|aten::copy_|down_proj|linear|Linear",
            model=applied_after(nn.Linear, lambda x: x.float().bfloat16()),
        ),
        "cpu_logits": Change(
            "extra_copies|synchronisation",
            "Memcpy DtoH|aten::copy_|aten::to|cpu",
            outputs=lambda outputs: outputs.logits.float().cpu(),
        ),
        "empty_cache": Change("allocator", "cudaMalloc|cudaFree|empty_cache", outputs=empty_cache),
        "row_by_row": Change(
            "kernel_change|host_code", "argmax|select|unbind|stack", outputs=_row_by_row
        ),
    },
    "encoder": {
        "graph_lost": Change("graph_capture", "cudaGraphLaunch|graph", {"run": "eager"}, back=True),
        "smaller_blocks": Change("workload_change", "batch|nvjet", {"batch": 24}),
    },
    "compiled": {
        "compile_lost": Change(
            "compile_fallback", "compile|triton|CompiledFunction|Torch", {"run": "eager"}
        ),
        "graph_break": Change(
            "compile_fallback",
            "compile|Torch|graph|break",
            model=in_forward(
                lambda model: model.blocks[1],
                lambda forward: lambda x: forward(_break_graph(x)),
            ),
        ),
    },
    "lstm": {
        "unrolled": Change(
            "kernel_change|host_code", "lstm|LSTM|cell", {"unrolled": True}, back=True
        ),
        "sgd_loop": Change("optimizer", "SGD", {"optimizer": "sgd loop"}),
        "sleep": Change("host_code", "host|sleep", before_step=lambda _: time.sleep(0.003)),
        "clipped": Change("gradient_handling", "clip|norm", {"clip": 1.0}),
        "dropout": Change(
            "added_layer", "dropout", model=followed_by(nn.LayerNorm, lambda _: nn.Dropout(0.1))
        ),
    },
}
