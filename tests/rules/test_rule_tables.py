"""Rules about one run, as tables of cases at their limits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cases import ALLOC, MAIN, STEP, K, O, R, host_event, read
from cases import OTHER as OTHER_THREAD
from golden_runs import COMMUNICATION, GIB, IDLE
from loaded_cycles import Piece, cycles
from measured_kernels import H200, Launch, trace_of_launches, use
from roofed_runs import Call, good, run, trace_of_calls
from timesink.analyses.kernels.calls import kernel_calls, with_weights
from timesink.analyses.kernels.usage import device_use, with_class
from timesink.model.findings import KernelAdvice
from timesink.model.trace import Trace
from timesink.rules.communication import exposed_communication
from timesink.rules.efficiency import proven_findings, time_at_roof
from timesink.rules.idle import dominant_operator, time_between
from timesink.rules.kernel_use import advise
from timesink.rules.run_findings import find_all

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


@pytest.mark.parametrize(("steps", "is_told"), [(1, False), (2, True), (5, True)])
def test_waits_outside_of_operators_need_to_recur(steps: int, *, is_told: bool):
    """At its end a benchmark waits, and so does a profiler."""
    pieces = [*[Piece("kernel", "aten::mm", 50, 300)] * 3, Piece("wait", "Optimizer.step#SGD.step")]
    found = proven_findings(cycles([*pieces, Piece("host", "aten::arange", 150)], steps))
    assert ("synchronisation" in {finding.id for finding in found}) == is_told


# -- sizes and shapes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "padded"), [(30522, 30528), (30530, 30592), (3137, 3144), (1001, 1008), (4095, 4096)]
)
def test_dimensions_are_padded_to_round_sizes_where_that_is_hardly_more(size: int, padded: int):
    dims = [[8192, size], [size, 768]]
    (finding,) = run(Call("aten::mm", dims, 2500, strides=[[size, 1], [768, 1]]))
    assert finding.advice.startswith(f"Pad {size} to {padded};")


@pytest.mark.parametrize("names", [("gelu", "tanh"), ("tanh", "gelu")])
def test_of_equal_losses_the_first_name_is_told(names: Sequence[str]):
    calls = [Call(f"aten::{name}", [[8192, 8192]], 500, f"{name}_kernel") for name in names]
    (finding,) = run(calls[0], good(), calls[1])
    assert finding.sentence.startswith("aten::gelu on 8192x8192 has the most headroom")


@pytest.mark.parametrize("shapes", [([8192, 8192], [4096, 16384]), ([4096, 16384], [8192, 8192])])
def test_of_equal_losses_of_an_operator_the_first_shape_is_told(shapes: Sequence[list[int]]):
    calls = [Call("aten::gelu", [shape], 500, "gelu_kernel") for shape in shapes]
    (finding,) = run(calls[0], good(), calls[1])
    assert finding.sentence.startswith("aten::gelu on 4096x16384 has the most headroom")


# -- time of the host ------------------------------------------------------------------------------


def test_an_operator_and_its_time_on_the_host():
    (finding,) = dominant_operator(IDLE["one operator"]())
    assert finding.evidence[0].numbers == {"calls": 1, "host_us_per_step": 500.0}


@pytest.mark.parametrize(("steps", "window_us", "pauses"), [(0, 0, 0), (1, 0, 0), (3, 8000, 2)])
def test_time_between_steps(steps: int, window_us: int, pauses: int):
    marks = [STEP(number, 3000 * number, 2000) for number in range(steps)]
    between = time_between(read(*marks, O("aten::mm", 0, 10)))
    assert (between.window_ns, between.pauses) == (1000 * window_us, pauses)
    assert sum(between.parts.values()) == 1_000_000 * pauses


@pytest.mark.parametrize(("hidden", "share"), [(0, 0.5), (100, 0.4), (300, 0.2), (450, None)])
def test_host_communication_beside_which_others_compute(hidden: int, share: float | None):
    beside = [O("aten::mm", 0, hidden, tid=OTHER_THREAD)] if hidden else []
    findings = exposed_communication(
        read(STEP(1, 0, 1000), O("gloo:all_reduce", 0, 500), O("aten::add", 500, 500), *beside)
    )
    assert [finding.share for finding in findings] == ([] if share is None else [share])


def test_findings_that_ask_nothing_of_idle_time_stand_where_that_is_not_known():
    """The host waits with an empty device: work of the device was not recorded."""
    blocked = host_event("cuda_runtime", "hipMemcpyWithStream", 95, 493_000, MAIN)
    first = [R(2, 5, c=1), K("gemm", 10, 90, c=1)]
    full = ALLOC(5, 512, device=0, address=1, total=19 * GIB // 2)
    gpu = {"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 10 * GIB}
    host = [STEP(1, 0, 493_200), O("train", 0, 493_200)]
    trace = read(*host, *first, blocked, full, deviceProperties=[gpu])
    assert [finding.id for finding in find_all(trace)] == ["memory-near-limit"]
