"""Advice speaks of the framework that was used and of what the device's maker has."""

from __future__ import annotations

import pytest

import timesink
from builders import kernel as on_gpu
from builders import kineto, runtime, write
from cases import STEP, K, O, R, read
from timesink.answers.views import NO_MEMORY
from timesink.model.vendors import VENDORS, in_words_of, is_gpu
from timesink.recorder.folder import EXTRAS
from timesink.rules.register import catalogue, is_pytorch
from timesink.rules.run_findings import find_all


def advice_on(name: str, operator: str) -> str:
    """What is said to a step of sixty tiny kernels of this name."""
    events = [STEP(1, 0, 600), O(operator, 0, 600)]
    for place in range(60):
        start = 10 * place + 1
        events += [R(start - 1, 1, c=place + 1), K(name, start, 2, c=place + 1)]
    return " ".join(finding.advice for finding in find_all(read(*events)))


@pytest.mark.parametrize(
    "name",
    [
        "void tensorflow::functor::FillPhiloxRandomKernelLaunch<float>(float*)",
        "void Eigen::internal::EigenMetaKernel<float>(float, long)",
        "loop_add_fusion",
    ],
)
def test_tensorflow_and_jax_are_not_told_to_use_torch(name: str):
    advice = advice_on(name, "MatMul")
    assert advice
    assert not any(word in advice for word in ("torch", ".item()", "DataLoader", "fused=True"))


def test_pytorch_is_told_what_it_has():
    assert "torch.compile" in advice_on("void at::native::f<4>(int)", "aten::add")


@pytest.mark.parametrize("framework", ["PyTorch", "PyTorch Lightning", "TensorFlow", "JAX"])
def test_a_recording_that_names_its_framework_is_believed(framework: str):
    assert is_pytorch(framework, ["gemm"], otherwise=True) == framework.startswith("PyTorch")


def test_every_advice_that_names_torch_has_other_words_as_well():
    for table in ("run", "kernels"):
        for rule, row in catalogue()[table].items():
            only = rule in {"data-parallel", "gloo-on-devices"}  # found where PyTorch ran
            assert only or "torch" not in row["advice"] or "torch" not in row.get("plain", "torch")


def test_no_device_is_told_to_use_what_its_maker_lacks():
    every = (entry for row in catalogue()["run"].values() for entry in row.values())
    rows = [entry for entry in every if isinstance(entry, str)]
    for vendor in VENDORS:
        advice = " ".join(in_words_of(vendor.name, text) for text in rows)
        assert ("CUDA graphs" in advice) == (vendor.name == "nvidia")
        assert ("torch.cuda" in advice) == (vendor.torch_module == "torch.cuda")
    assert "HIP graphs" in in_words_of("amd", catalogue()["run"]["tiny-kernels"]["advice"])


def test_tools_of_one_maker_are_named_for_its_devices_only():
    for cause, row in catalogue()["causes"].items():
        texts = [*row.get("late_advice", ()), row.get("plain", "")]
        assert "nvidia" not in " ".join(texts), cause
    assert [is_gpu(device) for device in ("GPU 0", "MLU 3", "NPU 1")] == [True, False, False]


def test_an_empty_memory_page_says_how_to_record_it():
    assert "timesink record --with memory -- CMD" in NO_MEMORY.hint
    assert "memory" in EXTRAS


def test_kernels_that_share_a_name_do_not_look_alike_at_80_columns(tmp_path):
    from timesink.answers.analysis.document import view_document
    from timesink.output.terminal import to_text

    names = [
        f"void at::native::reduce_kernel<{n}, 1, Op<{kind}> >(int)" for n in (1, 2) for kind in "ab"
    ]
    names += [
        f"sm90_xmma_{kind}_implicit_gemm_{'x' * 40}_{n}_{'y' * 40}"
        for kind in ("fprop", "dgrad")
        for n in (1, 2)
    ]
    names += ["_ZN2at6native13reduce_kernelILi512ELi1ENS0_6MeanOpIfEEEEvT1_"]
    events = [
        e
        for n, name in enumerate(names)
        for e in (runtime("cudaLaunchKernel", 20 * n, 2, n + 1), on_gpu(name, 20 * n + 3, 9, n + 1))
    ]
    analysis = timesink.analyze(write(tmp_path / "a.json", kineto(events)))
    lines = to_text(view_document(analysis, "kernels", start_ns=0), 80).splitlines()[1:]
    short_names = [line.split("  ")[0] for line in lines if line.strip()]
    assert len({*short_names}) == len(names)
    assert all(len(line) <= 80 for line in lines)
    assert not any(line.startswith("_ZN") for line in lines)
