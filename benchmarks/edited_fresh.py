"""Programs and changes for judging anew: scripts of other kinds, each with a loop of its own.

The rules were changed much after the other three tables had been judged; these programs were
written then, and what each change is to be called was written down before anything was recorded.
Two changes are none: lines that do not depend on one another in another order, and a class by
another name.
"""

from __future__ import annotations

import edited_scripts as scripts
from edited_changes import Change, Script

_READ = "aten::item|_local_scalar_dense|cudaStreamSynchronize|cudaDeviceSynchronize"
_PRODUCTS = "linear|addmm|aten::mm|aten::bmm|gemm|nvjet|conv"
_PROJECTIONS = ("q_proj", "v_proj")

PROGRAMS = {
    "recommender": Script(
        scripts.recommender,
        {
            "batch": 2048,
            "pinned": True,
            "tables_first": False,
            "optimizer": "sgd",
            "scores_kept": False,
        },
    ),
    "diffusion": Script(
        scripts.diffusion,
        {
            "benchmark": True,
            "contiguous": False,
            "autocast": True,
            "averaged": False,
            "log_every": 6,
        },
    ),
    "tagger": Script(
        scripts.tagger,
        {
            "length": 40,
            "field": True,
            "foreach": True,
            "tokenised": False,
            "checked": False,
            "clip": 0.0,
        },
        detail="shapes",
    ),
    "citations": Script(
        scripts.citations,
        {"layers": 3, "dropout": 0.0, "counted": False, "double_loss": False},
        detail="modules",
    ),
    "experts": Script(
        scripts.experts,
        {
            "experts": 8,
            "looped": False,
            "float_router": False,
            "checkpointed": False,
            "load_printed": False,
        },
        detail="shapes",
    ),
    "state_space": Script(
        scripts.state_space, {"compiled": True, "broken": False, "scaled": False, "clip_value": 0.0}
    ),
    "detector": Script(
        scripts.detector,
        {
            "half": True,
            "blocks": 4,
            "synchronised": False,
            "overlaps_on_host": False,
            "wait_ms": 0,
            "emptied": False,
        },
        marker="detect",
    ),
    "speculative": Script(
        scripts.speculative,
        {
            "attention": "sdpa",
            "ahead": 4,
            "saved_cache": False,
            "float_scores": False,
            "in_turn": False,
        },
        marker="next_tokens",
    ),
    "adapters": Script(
        scripts.adapters,
        {
            "attention": "sdpa",
            "checkpointing": False,
            "unfrozen": False,
            "float_adapters": False,
            "renamed": False,
            "adapted": _PROJECTIONS,
        },
        detail="modules",
    ),
    "classifier": Script(
        scripts.classifier,
        {
            "means": False,
            "non_blocking": True,
            "mixed": False,
            "set_to_none": True,
            "accuracy": False,
        },
    ),
}

CHANGES: dict[str, dict[str, Change]] = {
    "recommender": {
        "scores_kept": Change(
            "synchronisation|extra_copies",
            "Memcpy DtoH|aten::copy_|aten::to|cudaStreamSynchronize",
            {"scores_kept": True},
        ),
        "not_pinned": Change(
            "pageable_copies", "Memcpy HtoD|aten::copy_|aten::to", {"pinned": False}
        ),
        "adagrad": Change("optimizer", "Adagrad|SGD", {"optimizer": "adagrad"}),
        "larger_batch": Change("workload_change", "batch|shape", {"batch": 3072}),
        "tables_first": Change("none", "", {"tables_first": True}),
    },
    "diffusion": {
        "contiguous": Change(
            "layout_conversion|extra_copies",
            "contiguous|nchw|nhwc|clone|copy_",
            {"contiguous": True},
        ),
        "autocast_lost": Change("precision_change", _PRODUCTS, {"autocast": False}),
        "averaged": Change("kernel_change|optimizer|added_layer", "mul_|add_", {"averaged": True}),
        "benchmark_lost": Change("kernel_choice", "conv|cudnn", {"benchmark": False}),
        "logged_more": Change("cycle_kind|synchronisation", _READ + "|kind", {"log_every": 1}),
    },
    "tagger": {
        "tokenised": Change("host_code|data_loading", "host|token", {"tokenised": True}),
        "foreach_lost": Change("optimizer", "Adam", {"foreach": False}),
        "clipped": Change("gradient_handling", "clip|norm", {"clip": 1.0}),
        "checked": Change("synchronisation", _READ + "|is_nonzero|aten::any", {"checked": True}),
        "field_lost": Change(
            "added_layer|kernel_change",
            "logsumexp|cross_entropy|log_softmax|nll_loss",
            {"field": False},
        ),
    },
    "citations": {
        "dropout": Change("added_layer", "dropout", {"dropout": 0.1}),
        "counted": Change("synchronisation", _READ + "|aten::max", {"counted": True}),
        "double_loss": Change(
            "casts|precision_change",
            "double|aten::to|_to_copy|log_softmax|cross_entropy",
            {"double_loss": True},
        ),
        "one_more_layer": Change("added_layer", "layer|NeighbourAttention", {"layers": 4}),
    },
    "experts": {
        "looped": Change(
            "synchronisation|kernel_change",
            "nonzero|cudaStreamSynchronize|bmm|aten::mm|matmul|index",
            {"looped": True},
        ),
        "float_router": Change(
            "casts|precision_change",
            "aten::to|_to_copy|linear|aten::mm|gemm|float",
            {"float_router": True},
        ),
        "checkpointed": Change(
            "recomputation", "checkpoint|backward|recomput", {"checkpointed": True}
        ),
        "more_experts": Change("workload_change", "shape|bmm|size", {"experts": 16}),
        "load_printed": Change(
            "synchronisation|extra_copies",
            _READ + "|Memcpy DtoH|aten::copy_|aten::to",
            {"load_printed": True},
        ),
    },
    "state_space": {
        "compile_lost": Change(
            "compile_fallback", "compile|triton|CompiledFunction|Torch", {"compiled": False}
        ),
        "broken": Change(
            "compile_fallback", "compile|triton|CompiledFunction|Torch", {"broken": True}
        ),
        "scaled": Change(
            "compile_fallback|synchronisation",
            "compile|triton|CompiledFunction|Torch|" + _READ,
            {"scaled": True},
        ),
        "clipped_values": Change("gradient_handling", "clip|clamp|grad", {"clip_value": 1.0}),
    },
    "detector": {
        "half_lost": Change("precision_change", _PRODUCTS, {"half": False}),
        "synchronised": Change(
            "synchronisation", "cudaDeviceSynchronize|cudaStreamSynchronize", {"synchronised": True}
        ),
        "overlaps_on_host": Change(
            "host_code|kernel_change|extra_copies",
            "host|maximum|minimum|clamp|aten::copy_|Memcpy DtoH",
            {"overlaps_on_host": True},
        ),
        "waiting": Change("host_code", "host|sleep", {"wait_ms": 2}),
        "emptied": Change("allocator", "cudaMalloc|cudaFree|empty_cache", {"emptied": True}),
        "deeper": Change("added_layer", "layer|Bottleneck|conv", {"blocks": 5}),
    },
    "speculative": {
        "math": Change("attention_backend", "attention", {"attention": "math"}),
        "further_ahead": Change("workload_change", "", {"ahead": 6}),
        "saved_cache": Change("extra_copies", "clone|copy_", {"saved_cache": True}),
        "float_scores": Change("casts", "aten::to|_to_copy|copy_", {"float_scores": True}),
        "in_turn": Change("synchronisation", _READ, {"in_turn": True}),
    },
    "adapters": {
        "unfrozen": Change(
            "gradient_handling|optimizer",
            "backward|aten::mm|gradient|AdamW|AccumulateGrad",
            {"unfrozen": True},
        ),
        "checkpointing": Change(
            "recomputation", "checkpoint|backward|recomput", {"checkpointing": True}
        ),
        "float_adapters": Change(
            "casts|precision_change",
            "aten::to|_to_copy|float|linear|aten::mm|gemm|copy_",
            {"float_adapters": True},
        ),
        "more_adapted": Change(
            "added_layer",
            "linear|aten::mm|Lora|layer",
            {"adapted": (*_PROJECTIONS, "k_proj", "o_proj", "gate_proj", "up_proj", "down_proj")},
        ),
        "eager": Change("attention_backend", "attention", {"attention": "eager"}),
        "renamed": Change("none", "", {"renamed": True}),
    },
    "classifier": {
        "means": Change("added_layer|kernel_change", "mean", {"means": True}),
        "blocking": Change(
            "synchronisation", _READ + "|aten::copy_|aten::to", {"non_blocking": False}
        ),
        "mixed": Change(
            "added_layer|kernel_change", "mul|index|randperm|aten::add", {"mixed": True}
        ),
        "zeroed_grads": Change(
            "gradient_handling", "zero_grad|zero_|accumulate", {"set_to_none": False}
        ),
        "accuracy": Change("synchronisation", _READ, {"accuracy": True}),
    },
}
