"""Pairs of small programs that differ in one respect: a case for each row of `edits.toml`."""

from __future__ import annotations

from dataclasses import replace

from call_trees import Call, copy, kernel, op, program_range, runtime

MM = op("aten::mm", kernel("gemm", 20), shapes="[[8, 8]]", types='["float"]')
RELU = op("aten::relu", kernel("clamp", 3), shapes="[[8, 8]]", types='["float"]')
NORM = op("aten::native_layer_norm", kernel("norm", 4))
DROPOUT = op("aten::dropout", kernel("mask", 2))
WAIT = runtime("cudaStreamSynchronize")
FLASH = op("aten::scaled_dot_product_attention", kernel("flash_fwd", 9))
SOFTMAX = op("aten::softmax", op("aten::_softmax", kernel("softmax", 9)))
STEP = program_range("Optimizer.step#AdamW.step", op("aten::_foreach_add_", kernel("multi", 6)))
ZERO = program_range("Optimizer.zero_grad#AdamW.zero_grad", op("aten::zero_", kernel("zero")))
FILLED = op("aten::empty", op("aten::fill_", kernel("FillFunctor")))
REGION = op("Torch-Compiled Region: 0/0", DROPOUT)
READ = op("aten::item", op("aten::_local_scalar_dense", WAIT))
USUAL = [MM, RELU, NORM]
LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
ONE_MORE = "One more layer (3 → 4): aten::mm, aten::softmax and 3 more"


def backward(*calls: Call) -> Call:
    name = "autograd::engine::evaluate_function: AddmmBackward0"
    return op(name, op("AddmmBackward0", *calls))


def every(n: int, *more: Call) -> list[list[Call]]:
    """Twelve cycles of which some do more."""
    return [[*USUAL * 3, *(more if at % n == 0 else ())] for at in range(12)]


def steady(*calls: Call) -> list[list[Call]]:
    return [[*USUAL, *calls]] * 3


def below(name: str, call: Call, other: Call) -> tuple[list[list[Call]], list[list[Call]]]:
    """The same operator that does one or the other."""
    return steady(op(name, call)), steady(op(name, other))


def all_with(**more: str) -> list[list[Call]]:
    return [[replace(MM, **more), replace(RELU, **more)]] * 3  # type: ignore[arg-type]


def of_size(size: int) -> list[Call]:
    """A cycle whose tensors have that many rows."""
    shapes = f"[[{size}, 8]]"
    mm = replace(MM, shapes=shapes, calls=(kernel(f"gemm_{size}", 20),))
    names = ("relu", "gelu", "tanh", "mul")
    sized = [op(f"aten::{name}", kernel(name, size, grid=size), shapes=shapes) for name in names]
    return [mm, *sized, replace(NORM, shapes=shapes)]


def resized_attention() -> tuple[list[list[Call]], list[list[Call]]]:
    """One operator of many that is given more, for which a library chooses another kernel."""
    sides = []
    for size, name in ((16, "flash_fwd_kernel"), (512, "flash_fwd_splitkv_kernel")):
        attention = op("aten::scaled_dot_product_attention", kernel(name, size))
        other_ops = [op(f"aten::op{at}", shapes="[[8, 8]]") for at in range(20)]
        sides.append([[*other_ops, replace(attention, shapes=f"[[1, {size}, 64]]")]] * 3)
    return sides[0], sides[1]


READING = [MM, RELU, DROPOUT, op("aten::item", WAIT), NORM]
"""A layer whose forward pass reads a value."""
FORWARD = [MM, RELU, NORM, DROPOUT]
CASES = [
    ("cycle_kind", every(99), every(4, *[DROPOUT] * 3)),
    ("cycle_kind", every(6, *[DROPOUT] * 3), every(3, *[DROPOUT] * 3)),
    ("compile_fallback", steady(), [[op("CompiledFunction", runtime("cudaGraphLaunch"))]] * 3),
    ("graph_capture", steady(), [[runtime("cudaGraphLaunch", kernel("gemm", 20))]] * 3),
    ("compile_fallback", steady(REGION), steady(REGION, DROPOUT, REGION)),
    ("gradient_handling", steady(SOFTMAX, STEP), [[*[*USUAL, SOFTMAX] * 2, STEP]] * 3),
    ("workload_change", [USUAL] * 3, [USUAL * 2] * 3),
    ("workload_change", all_with(), all_with(shapes="[[64, 8]]")),
    ("workload_change", [of_size(8)] * 3, [of_size(size) for size in (6, 8, 12)]),
    ("workload_change", *resized_attention()),
    ("precision_change", all_with(), all_with(types='["c10::Half"]')),
    ("added_layer", [[NORM, *READING * 3]] * 3, [[NORM, *READING * 4]] * 3),
    ("collective_change", steady(), steady(op("nccl:all_reduce", kernel("ncclDevKernel")))),
    ("data_loading", steady(), steady(op("enumerate(DataLoader)#_SingleProcessDataLoaderIter"))),
    ("data_loading", steady(program_range(LOADER, MM)), steady(program_range(LOADER, MM, DROPOUT))),
    ("debug_mode", steady(op("aten::empty")), steady(FILLED)),
    ("debug_mode", steady(), steady(op("aten::_assert_async", kernel("check")))),
    ("debug_mode", steady(backward(MM)), steady(backward(MM, op("aten::is_nonzero", READ)))),
    ("debug_mode", steady(backward(MM, READ)), steady(backward(MM))),
    ("gradient_handling", steady(ZERO), steady(replace(ZERO, calls=()))),
    ("gradient_handling", steady(), steady(ZERO)),
    ("optimizer", steady(STEP), steady(replace(STEP, calls=(op("aten::_fused_adamw_"),)))),
    ("optimizer", steady(), steady(STEP)),
    ("precision_change", *below("aten::mm", kernel("ampere_sgemm_tn"),
                                kernel("ampere_bf16_s16816gemm_bf16_tn"))),
    ("recomputation", [[*FORWARD, backward(MM)]] * 3,
     [[*FORWARD, backward(MM, RELU, NORM, DROPOUT)]] * 3),
    ("attention_backend", steady(FLASH), steady(op("aten::bmm"), SOFTMAX)),
    ("synchronisation", steady(), steady(READ)),
    ("gradient_handling", steady(), steady(op("aten::_foreach_norm", kernel("norms")))),
    ("allocator", steady(), steady(op("aten::empty", runtime("cudaMalloc")))),
    ("pageable_copies", *below("aten::to", copy("Memcpy HtoD (Pinned -> Device)"),
                               copy("Memcpy HtoD (Pageable -> Device)"))),
    ("synchronisation", steady(), steady(op("aten::item", copy("Memcpy DtoH")))),
    ("host_code", steady(), steady(op("aten::randint"), op("aten::item"))),
    ("extra_copies", steady(), steady(op("aten::to", copy("Memcpy HtoD (Pinned -> Device)")))),
    ("synchronisation", steady(), steady(WAIT)),
    ("layout_conversion", steady(op("aten::conv2d")),
     steady(op("aten::conv2d", kernel("nchwToNhwcKernel"), kernel("nhwcToNchwKernel")))),
    ("layout_conversion", steady(), steady(op("aten::contiguous", op("aten::clone")))),
    ("kernel_choice", *below("aten::mul", kernel("elementwise"), kernel("vectorized", 20))),
    ("kernel_change", steady(program_range("block", kernel("triton_poi_add"))),
     steady(program_range("block", kernel("triton_poi_mul")))),
    ("kernel_choice", steady(program_range("block", kernel("one"))),
     steady(program_range("block", kernel("other")))),
    ("casts", steady(), steady(op("aten::to", op("aten::_to_copy", kernel("cast"))))),
    ("extra_copies", steady(), steady(op("aten::clone", kernel("copy")))),
    ("kernel_change", steady(), steady(op("aten::bmm", kernel("gemm")))),
    ("host_code", steady(op("aten::select")), steady(op("aten::lift_fresh"), op("aten::detach_"))),
    ("kernel_change", steady(DROPOUT), steady(*[DROPOUT] * 10)),
    ("kernel_change", steady(DROPOUT), steady(op("aten::gelu", kernel("gelu")))),
    ("added_layer", steady(), steady(DROPOUT)),
    ("kernel_choice", steady(program_range("block", kernel("ampere_sgemm_32x32_tn", 10))),
     steady(program_range("block", kernel("ampere_sgemm_64x64_tn", 30)))),
    ("kernel_change", steady(), steady(program_range("checkpoint"))),
]  # fmt: skip
"""A case for each row, in the order of the rows."""
