"""Rules about one run, as tables of cases at their limits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from golden_runs import COMMUNICATION
from loaded_cycles import Piece, cycles
from measured_kernels import H200, Launch, trace_of_launches, use
from roofed_runs import Call, good, run, trace_of_calls
from timesink.analyses.kernels.calls import kernel_calls, with_weights
from timesink.analyses.kernels.usage import device_use, with_class
from timesink.model.findings import KernelAdvice
from timesink.model.trace import Trace
from timesink.rules.communication import exposed_communication
from timesink.rules.efficiency import proven_findings, time_at_roof
from timesink.rules.kernel_use import advise

# -- kernels and how they use a device -------------------------------------------------------------

OTHER = use("void at::native::unlike<float>()", 900_000, sm=70.0, dram=70.0)
FOREACH = (
    "void at::native::multi_tensor_apply_kernel<TensorListMetadata<1>, BinaryOpScalarFunctor<float,"
    " 1>, std::multiplies<float>>(T1)"
)
FUSED = "void multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMath<4>>(T1)"


def advice(*launches: Launch) -> list[KernelAdvice]:
    trace = trace_of_launches(OTHER, *launches)
    calls = with_class(with_weights(kernel_calls(trace), None))
    return list(
        advise(calls, device_use(calls, trace), multiprocessors={0: H200.multiprocessors or 0})
    )


@pytest.mark.parametrize(
    ("grid", "has_few"),
    [
        ((64, 1, 1), True),
        ((131, 1, 1), True),
        ((132, 1, 1), False),
        ((1, 131, 1), True),
        ((1, 1, 131), True),
        ((1, 1, 132), False),
        ((8, 8, 4), False),
        ((8, 4, 4), True),
    ],
)
def test_blocks_of_a_launch_against_multiprocessors(grid: tuple[int, int, int], *, has_few: bool):
    sizes = dict(zip(("grid_x", "grid_y", "grid_z"), grid, strict=True))
    (finding,) = advice(use("bn_bw", 100_000, sm=9.0, dram=10.0, **sizes))
    assert finding.id == "low-use"
    assert finding.advice.startswith("Give each launch more work") == has_few


@pytest.mark.parametrize(("name", "is_told"), [(FOREACH, True), (FUSED, False), ("bn_bw", False)])
def test_tiny_kernels_of_optimizers(name: str, *, is_told: bool):
    (finding,) = advice(*[use(name, 2_000, sm=1.0, dram=2.0)] * 60)
    assert finding.id == "tiny-kernels"
    assert ("fused=True" in finding.advice) == is_told


# -- communication ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "left_us"),
    [
        ("exposed", None),
        ("exposed, hardly anything to hide it", 200.0),
        ("nothing to hide it", None),
    ],
)
def test_what_is_left_to_hide_communication(name: str, left_us: float | None):
    (finding,) = exposed_communication(COMMUNICATION[name]())
    left = [proof.numbers for proof in finding.evidence if "overlap" in proof.name]
    assert left == ([] if left_us is None else [{"left_us": left_us}])


# -- roofs -----------------------------------------------------------------------------------------

TILED = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn"


@pytest.mark.parametrize(
    ("rows", "us", "words"),
    [
        (1024, 40, "64 tiles for 132 multiprocessors: 68 have none"),
        (2048, 60, None),
        (2176, 70, "136 tiles for 132 multiprocessors: the last of 2 rounds has 4"),
    ],
)
def test_rounds_of_tiles(rows: int, us: float, words: str | None):
    grid = (rows // 128, 8, 1)
    call = Call("aten::mm", [[rows, 8192], [8192, 1024]], us, TILED, grid=grid)
    sentences = [finding.sentence for finding in run(*[call] * 4) if "tiles" in finding.sentence]
    assert len(sentences) == (words is not None)
    assert words is None or words in sentences[0]


def attention(length: int, us: float) -> list[Call]:
    """Heads of 64 numbers each; short sequences are bound by memory, long ones by products."""
    heads = 1024
    rows, turned = [heads, length, 64], [heads, 64, length]
    scores = [heads, length, length]
    return [
        Call("aten::bmm", [rows, turned], us),
        Call("aten::_softmax", [scores, [], []], us, "softmax_warp_forward"),
        Call("aten::bmm", [scores, rows], us),
    ]


@pytest.mark.parametrize(("length", "fused_us"), [(128, 16.45), (1024, 555.8)])
def test_a_fused_kernel_of_attention_is_bound_by_memory_or_products(length: int, fused_us: float):
    (finding,) = run(*attention(length, 1000))
    assert finding.id == "attention-not-fused"
    assert finding.cost_ns == pytest.approx(3000e3 - 1e3 * fused_us, rel=0.0005)


@pytest.mark.parametrize(
    ("calls", "name", "share"),
    [
        ([good(), Call("aten::gelu", [[8192, 8192]], 500, "gelu_kernel")], "gelu_kernel", 0.13),
        ([Call("aten::gelu", [[8192, 8192]], 66, "gelu_kernel")], "gelu_kernel", 1.0),
        ([Call("aten::gelu", [[8192, 8192]], 10, "gelu_kernel")], "gelu_kernel", 1.0),
    ],
)
def test_shares_of_time_at_the_roof(calls: Sequence[Call], name: str, share: float):
    assert time_at_roof(trace_of_calls(*calls))[name] == pytest.approx(share, abs=0.01)


# -- waits that a replay prices --------------------------------------------------------------------


def waiting(*names: str) -> Trace:
    pieces = []
    for name in names:
        pieces += [*[Piece("kernel", "aten::mm", 50, 300)] * 3, Piece("wait", name)]
        pieces.append(Piece("host", "aten::arange", 150))
    return cycles(pieces, 5)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_operators_that_wait_are_named_up_to_three(count: int):
    names = [f"aten::item{number}" for number in range(count)]
    found = {finding.id: finding for finding in proven_findings(waiting(*names))}
    named = [proof.name for proof in found["synchronisation"].evidence]
    assert len(named) == min(count, 3)
    assert set(named) <= set(names)
