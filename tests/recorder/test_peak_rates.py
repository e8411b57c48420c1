"""Measuring peaks: what is timed, what is skipped, and what is left as it was."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from timesink.recorder import peak_rates
from timesink.recorder.peak_rates import _Bench, measure_rates

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks at the rates here; tests of `timesink peaks` measure the real sizes."""
    monkeypatch.setattr(peak_rates, "_SIZES_ON_HOST", (32, 64))
    monkeypatch.setattr(peak_rates, "_COPY_BYTES_ON_HOST", 2**20)
    monkeypatch.setattr(peak_rates, "_ROUND_S", 0.0005)


def test_what_a_device_cannot_do_is_skipped_with_the_reason():
    measurement = measure_rates("cpu", 0.01, ["fp32", "fp8", "tf32"])
    assert set(measurement.rates) == {"copy", "fp32"}
    assert measurement.skipped["fp8"] == "the host has no such arithmetic"
    assert "tf32" in measurement.skipped


def test_the_precision_of_the_program_comes_back():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        measure_rates("cpu", 0.01, ["fp32"])
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision(before)


def test_devices_are_timed_by_their_own_events():
    """A stand-in for the library of an accelerator, whose every stretch takes 6 ms."""
    event = SimpleNamespace(
        record=lambda: None, synchronize=lambda: None, elapsed_time=lambda _: 6.0
    )
    bench = _Bench(torch, torch.device("cpu"), 0.01)
    bench.library = SimpleNamespace(Event=lambda **_: event, device=lambda _: nullcontext())
    assert bench._timed(lambda: None, 3) == pytest.approx(0.002)


def test_sizes_that_do_not_fit_are_left_out():
    bench = _Bench(torch, torch.device("cpu"), 0.01)
    bench.library = SimpleNamespace(mem_get_info=lambda _: (2**10, 2**30))
    with pytest.raises(MemoryError, match="not enough free memory"):
        bench.product("fp64")


@pytest.mark.parametrize(
    ("output", "clock"), [("1755\n", "1755 MHz"), ("", ""), ("[N/A]\n", ""), ("1755\n1980\n", "")]
)
def test_a_clock_is_what_the_driver_tells_of_one_device(output, clock, monkeypatch):
    commands = []
    monkeypatch.setattr(peak_rates, "_tool_output", lambda *words: commands.append(words) or output)
    cuda = SimpleNamespace(get_device_properties=lambda _: SimpleNamespace(uuid="1-2"))
    fake = SimpleNamespace(version=SimpleNamespace(cuda="13.0"), cuda=cuda)
    assert peak_rates._clock(fake, SimpleNamespace(type="cuda", index=0)) == clock
    # Only asked, never set.
    assert commands == [
        ("nvidia-smi", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits", "--id=GPU-1-2")
    ]


def test_a_clock_of_the_other_maker(monkeypatch):
    output = (
        "GPU[0]\t\t: sclk clock level: 1: (2100Mhz)\nGPU[0]\t\t: mclk clock level: 0: (900Mhz)\n"
    )
    monkeypatch.setattr(peak_rates, "_tool_output", lambda *_words: output)
    fake = SimpleNamespace(version=SimpleNamespace(cuda=None))
    assert peak_rates._clock(fake, SimpleNamespace(type="cuda", index=0)) == "2100 MHz"
