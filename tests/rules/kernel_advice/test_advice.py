"""What to try, from how kernels use their device."""

from __future__ import annotations

from typing import Any

import pytest

from measured_kernels import H200, Launch, trace_of_launches, use
from timesink.analyses.kernels.calls import Sampling, kernel_calls, with_weights
from timesink.analyses.kernels.usage import device_use, with_class
from timesink.answers.kernels.kernels_json import AdviceJson
from timesink.model.findings import KernelAdvice
from timesink.rules.kernel_use import advise

SGEMM = "ampere_sgemm_128x64_tn"
ADD = "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>(int)"
FOREACH = (
    "void at::native::multi_tensor_apply_kernel<TensorListMetadata<1>, BinaryOpScalarFunctor<float,"
    " 1>, std::multiplies<float>>(T1)"
)
FUSED = "void multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMath<4>>(T1)"
STRIDED = (
    "void at::elementwise_kernel<128, 4, gpu_kernel_impl_nocast<direct_copy_kernel_cuda>>(int)"
)
SOFTMAX = "void softmax_warp_forward<c10::Half, float, float, 9, 0, 0>(T2 *, int)"
LOG_SOFTMAX = "void softmax_warp_forward<c10::Half, float, float, 9, 1, 0>(T2 *, int)"
OTHER = use("void at::native::unlike<float>()", 900_000, sm=70.0, dram=70.0)
"""Most of the time, and nothing to say of it."""


def advice(
    *launches: Launch, sampling: Sampling | None = None, **options: Any
) -> list[KernelAdvice]:
    trace = trace_of_launches(*launches)
    calls = with_class(with_weights(kernel_calls(trace), sampling))
    return list(advise(calls, device_use(calls, trace), **options))


def rules(*launches: Launch) -> list[str]:
    return [finding.id for finding in advice(*launches)]


def only(*launches: Launch, **options: Any) -> KernelAdvice:
    (finding,) = advice(*launches, **options)
    return finding


def test_nothing_to_say():
    assert rules(OTHER) == []
    assert rules() == []


@pytest.mark.parametrize(("ns", "spoken"), [(40_000, False), (110_000, True)])
def test_a_rule_speaks_from_a_twentieth_of_the_time_on(ns: int, *, spoken: bool):
    product = use(SGEMM, ns, tensor=0.0, sm=90.0, dram=5.0)
    assert bool(rules(OTHER, product)) is spoken


class TestTensorCores:
    def test_products_on_ordinary_pipes(self):
        finding = only(OTHER, use(SGEMM, 100_000, tensor=0.0, sm=87.0, dram=5.0))
        assert (finding.id, finding.kernels, finding.share_pct) == (
            "tensor-cores-unused",
            (SGEMM,),
            10.0,
        )
        assert finding.sentence == (
            "10.0 % of the time (100 us) is in matrix products that leave the tensor cores idle, "
            "with SM at 87 % of peak."
        )
        assert "set_float32_matmul_precision" in finding.advice
        assert (finding.cost_ns, finding.gain_basis) == (
            50_000,
            "tensor-core kernels take half the time",
        )

    def test_convolutions_have_a_switch_of_their_own(self):
        name = "implicit_convolve_sgemm"
        assert "cudnn.allow_tf32" in only(OTHER, use(name, 100_000, sm=87.0)).advice

    @pytest.mark.parametrize(
        "product",
        [
            use(SGEMM, 100_000, tensor=60.0, sm=60.0),
            use(SGEMM, 100_000, tensor=None, sm=87.0),
            use(SGEMM, 100_000, sm=None, dram=50.0),
            use(SGEMM, 100_000, sm=40.0, dram=90.0),
            use("gemv2T_kernel_val", 100_000, sm=60.0, dram=50.0),
            use("sm90_xmma_gemm_f64f64_f64f64_f64_nn_n", 100_000, sm=87.0),
            use("conv_depthwise2d_forward_kernel", 100_000, sm=87.0),
        ],
    )
    def test_silent_where_they_are_used_useless_or_not_measured(self, product: Launch):
        assert rules(OTHER, product) == []

    def test_devices_without_tensor_cores(self):
        assert rules(use(SGEMM, 100_000, sm=87.0, compute_capability="6.1")) == []

    def test_devices_before_tf32(self):
        product = use(SGEMM, 100_000, sm=87.0, compute_capability="7.0")
        assert only(product).advice == "Run them in fp16 (torch.autocast)."

    def test_devices_that_do_not_say(self):
        trace = trace_of_launches(use(SGEMM, 10, sm=87.0, compute_capability=None), devices=())
        calls = with_class(kernel_calls(trace))
        assert [finding.id for finding in advise(calls, device_use(calls, trace))] == [
            "tensor-cores-unused"
        ]


class TestLowUse:
    def test_tiny_kernels(self):
        finding = only(OTHER, *[use(ADD, 2_000, sm=1.0, dram=2.0)] * 50)
        assert finding.id == "tiny-kernels"
        assert finding.cost_ns == pytest.approx(98_000)

    def test_few_blocks(self):
        few = use("bn_bw", 100_000, sm=9.0, dram=10.0, grid_x=64, grid_y=1, grid_z=1)
        finding = only(OTHER, few, multiprocessors={0: 132})
        assert finding.id == "low-use"
        assert "100 % of that has fewer than 132 blocks, the number of" in finding.sentence
        assert "fewer than 100 blocks." in only(OTHER, few).sentence

    def test_enough_blocks(self):
        many = use("reduce_kernel", 100_000, sm=9.0, dram=10.0, grid_x=64, grid_y=64, grid_z=1)
        finding = only(OTHER, many)
        assert "blocks" not in finding.sentence
        assert "fusion (torch.compile)" in finding.advice

    def test_the_compiler_is_not_named_where_it_was_at_work(self):
        for ns in (100_000, 4_000):
            compiled = [use("triton_red_fused_sum_3", ns, sm=9.0, dram=10.0)] * (100_000 // ns)
            assert "torch.compile" not in only(OTHER, *compiled).advice

    def test_without_a_counter_of_sm_nothing_is_low(self):
        launches = [use(ADD, ns, sm=None, dram=2.0) for ns in (2_000, 80_000)]
        assert rules(*launches) == []


class TestMemoryBound:
    def test_near_the_roof(self):
        finding = only(OTHER, use(ADD, 100_000, sm=10.0, dram=90.0))
        assert (finding.id, AdviceJson.of(finding).gain_ns) == ("memory-bound-elementwise", None)

    def test_optimizers_of_many_passes(self):
        assert "fused=True" in only(OTHER, use(FOREACH, 100_000, sm=10.0, dram=90.0)).advice

    @pytest.mark.parametrize("name", [FUSED, "multi_tensor_apply_kernel"])
    def test_optimizers_that_are_fused_or_may_be(self, name: str):
        finding = only(OTHER, use(name, 100_000, sm=10.0, dram=90.0))
        assert finding.advice == "Move fewer bytes: smaller data types."

    @pytest.mark.parametrize(("sm", "dram"), [(50.0, 90.0), (None, 90.0), (10.0, 60.0)])
    def test_silent_elsewhere(self, sm: float | None, dram: float):
        assert rules(OTHER, use(ADD, 100_000, sm=sm, dram=dram)) == []


class TestLayouts:
    def test_images(self):
        images = use("cudnn::ops::nchwToNhwcKernel", 100_000, sm=10.0, dram=90.0)
        finding = only(OTHER, images)
        assert (finding.id, finding.cost_ns) == ("layout-conversions", 100_000)
        assert finding.sentence.endswith("convert images between NCHW and NHWC.")
        assert "channels_last" in finding.advice

    def test_copies_that_change_the_layout(self):
        finding = only(OTHER, use(STRIDED, 100_000, sm=10.0, dram=10.0))
        assert finding.id == "layout-conversions"
        assert "contiguous" in finding.advice
        assert "channels_last" not in finding.advice

    def test_names_are_enough(self):
        bare = use("nhwcToNchwKernel", 10, tensor=None, dram=None, sm=None)
        assert rules(bare) == ["layout-conversions"]


class TestAttention:
    PRODUCT = use("nvjet_sm90_hsh", 20_000, tensor=70.0, sm=70.0)

    def layers(self, softmax: str = SOFTMAX, count: int = 4) -> list[Launch]:
        layer = [self.PRODUCT, use(softmax, 10_000, sm=70.0, dram=50.0), self.PRODUCT]
        return layer * count

    def test_softmax_among_products(self):
        finding = only(*self.layers())
        assert (finding.id, finding.cost_ns) == ("attention-not-fused", 40_000)
        assert "4 softmax kernels" in finding.sentence

    def test_losses_and_single_ones_are_none(self):
        assert rules(*self.layers(LOG_SOFTMAX)) == []
        assert rules(*self.layers(count=3)) == []

    def test_silent_where_attention_is_fused(self):
        fused = use("flash_fwd_kernel", 10_000, tensor=50.0, sm=50.0)
        assert rules(*self.layers(), fused) == []


def test_what_may_bring_most_comes_first():
    rule_order = rules(
        use(ADD, 60_000, sm=10.0, dram=90.0),
        use("reduce_kernel", 50_000, sm=10.0, dram=10.0),
        use(SGEMM, 100_000, sm=87.0),
    )
    # 60 us at most; 50 us of the product; 45 us of headroom.
    assert rule_order == ["memory-bound-elementwise", "tensor-cores-unused", "low-use"]


def test_each_device_by_itself():
    first = use(SGEMM, 10, sm=87.0)
    second = use("nhwcToNchwKernel", 1_000, device=1)
    findings = advice(first, second)
    assert [(finding.device, finding.id, finding.share_pct) for finding in findings] == [
        (0, "tensor-cores-unused", 100.0),
        (1, "layout-conversions", 100.0),
    ]


def test_samples_count_for_what_they_stand_for():
    launches = [OTHER, use(SGEMM, 100_000, sm=87.0)]
    finding = only(*launches, sampling=Sampling(10))
    assert (finding.share_pct, finding.cost_ns) == (10.0, 500_000)


def test_launches_without_a_duration_or_a_name():
    untimed, nameless = use(SGEMM, None, sm=87.0), use(SGEMM, 10, sm=87.0)
    nameless = ({**nameless[0], "name": None}, {})
    assert rules(untimed) == []
    assert rules(nameless, untimed) == []


def test_plain_data():
    answer = AdviceJson.of(only(OTHER, use(SGEMM, 100_000, sm=87.0)))
    assert answer.gain_ns == 50_000
    assert answer.kernels == [SGEMM]
    assert answer.device == H200.id
