"""What a program has and does already, by its recording."""

from __future__ import annotations

import re

import pytest

from cases import DATA_LOADER, MAIN, STEP, C, K, O, R, host_event, read
from timesink.analyses.program_traits import program_traits
from timesink.rules.register import advice_for, catalogue
from timesink.rules.run_findings import find_all


@pytest.mark.parametrize(
    ("events", "trait"),
    [
        ([O("Torch-Compiled Region: 0/0", 0, 5)], "compiled"),
        ([K("triton_poi_fused_add_0", 0, 5)], "compiled"),
        ([host_event("cuda_runtime", "hipGraphLaunch", 0, 5, MAIN)], "graphs"),
        ([O("MulBackward0", 0, 5)], "backward"),
        ([O("Optimizer.step#AdamW.step", 0, 5)], "unfused-optimizer"),
        ([O(DATA_LOADER, 0, 5)], "loader"),
        ([K("Memcpy HtoD (Pinned -> Device)", 0, 5)], "pinned"),
        ([host_event("python_function", "train.py(3): step", 0, 5, MAIN)], "stacks"),
    ],
)
def test_each_is_seen(events: list[dict[str, object]], trait: str):
    assert trait in program_traits(read(STEP(1, 0, 100), *events))
    assert trait not in program_traits(read(STEP(1, 0, 100), O("aten::mm", 0, 50)))


def test_copies_on_a_stream_of_their_own_are_seen():
    def copying(stream: int) -> frozenset[str]:
        name = "Memcpy HtoD (Pinned -> Device)"
        copy = C(150, 800, c=2, name=name, stream=stream)
        return program_traits(read(STEP(1, 0, 1000), copy, K("gemm", 0, 50)))

    assert "copy-stream" in copying(21)
    assert "copy-stream" not in copying(7)


def test_who_copies_so_already_is_not_told_to():
    advice = catalogue()["run"]["low-utilisation-copy-bound"]["advice"]
    assert "stream of its own" in advice_for(set(), advice)
    assert "pin" in advice_for(set(), advice)
    assert "stream of its own" in advice_for({"pinned"}, advice)
    without_traits = advice_for({"pinned", "copy-stream"}, advice)
    assert not re.search("stream|pin", without_traits)
    assert "a batch ahead" in without_traits


@pytest.mark.parametrize(
    "fused", [O("aten::_fused_adamw_", 1, 2), K("FusedAdamMathFunctor_kernel", 1, 2)]
)
def test_one_fused_kernel_makes_an_optimizer_fused(fused: dict[str, object]):
    traits = program_traits(read(STEP(1, 0, 9), O("Optimizer.step#AdamW.step", 0, 5), fused))
    assert "optimizer" in traits
    assert "unfused-optimizer" not in traits


def _tiny(*other_events: dict[str, object]) -> str:
    """What is said to a step of sixty tiny kernels, with other events."""
    events = [STEP(1, 0, 600), O("aten::add", 0, 600), *other_events]
    for place in range(60):
        start = 10 * place + 1
        events += [R(start - 1, 1, c=place + 1), K("void at::native::f<4>", start, 2, c=place + 1)]
    return " ".join(finding.advice for finding in find_all(read(*events)))


class TestAdvice:
    def test_it_offers_what_the_program_has_not(self):
        advice = _tiny(O("Optimizer.step#SGD.step", 1, 2))
        assert all(term in advice for term in ("torch.compile", "CUDA graphs", "fused=True"))

    def test_compiled_programs_are_not_told_to_compile(self):
        assert "torch.compile" not in _tiny(O("Torch-Compiled Region: 0/0", 1, 3))

    def test_programs_that_replay_graphs_are_not_told_to(self):
        launch = host_event("cuda_runtime", "cudaGraphLaunch", 1, 2, MAIN)
        advice = _tiny(launch)
        assert "CUDA graphs" not in advice
        assert "graphs that hold more of the step" in advice

    def test_without_an_optimizer_none_is_fused(self):
        assert "optimizer" not in _tiny()

    def test_stacks_are_not_asked_for_where_they_are(self):
        advice = catalogue()["run"]["low-utilisation-host-stalled"]["advice"]
        assert "with_stack" in advice_for((), advice)
        assert "with_stack" not in advice_for({"stacks"}, advice)

    @pytest.mark.parametrize("traits", [(), ("graphs", "compiled"), ("backward", "optimizer")])
    def test_nothing_is_left_of_the_gates_and_sentences_are_whole(self, traits: tuple[str, ...]):
        for rule, row in catalogue()["run"].items():
            for text in (value for value in row.values() if isinstance(value, str)):
                advice = advice_for(traits, text)
                assert not any(mark in advice for mark in ("<if", "<unless", "</>", "  ")), rule
                assert not re.search(r",( or)? \.(?!\w)|\(\)\.|: \.(?!\w)", advice), rule

    def test_inference_hears_nothing_of_gradients(self):
        for row in catalogue()["run"].values():
            advice = advice_for((), row["advice"])
            assert not any(word in advice for word in ("gradient", "FSDP", "optimizer"))
