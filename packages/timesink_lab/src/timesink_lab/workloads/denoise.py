"""A diffusion transformer that draws pictures: from noise, a step at a time.

`denoise_step` is one cycle.  Its largest change is read in every cycle, as samplers do that adapt
their steps: so the host does not run ahead of the device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from timesink_lab.workloads import switches as words
from timesink_lab.workloads.setting import Attention, WorkloadSetting, setting_of

_CHANNELS = 16
"""Numbers that describe a patch."""
_FREQUENCIES = 128
_STEP = 0.01


@dataclass(frozen=True)
class DenoiserSize:
    """How large the model is, and how much it draws at once."""

    width: int
    heads: int
    layers: int
    batch: int
    patches: int


SIZES = {
    "small": DenoiserSize(width=128, heads=4, layers=6, batch=4, patches=64),
    "medium": DenoiserSize(width=768, heads=12, layers=12, batch=16, patches=256),
    "large": DenoiserSize(width=1024, heads=16, layers=24, batch=64, patches=256),
}


class Layer(nn.Module):
    """Attention among patches, then two linear layers; the time shifts, scales and gates both."""

    def __init__(self, size: DenoiserSize, setting: WorkloadSetting, number: int) -> None:
        super().__init__()
        self._setting = setting
        # A quarter of them is enough: without tensor cores they take many times as long.
        self._in_32_bits = bool(setting.switches.full_precision) and number % 4 == 0
        self._norm = nn.LayerNorm(size.width, elementwise_affine=False)
        self._from_time = nn.Linear(size.width, 6 * size.width)
        self._attention = Attention(size.width, size.heads)
        self._wider = nn.Linear(size.width, 4 * size.width)
        self._narrower = nn.Linear(4 * size.width, size.width)

    def forward(self, hidden: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        shift, scale, gate, next_shift, next_scale, next_gate = self._from_time(
            functional.silu(time)
        )[:, None].chunk(6, -1)
        hidden = hidden + gate * self._attention(self._norm(hidden) * (1 + scale) + shift)
        wide = self._linear(self._wider, self._norm(hidden) * (1 + next_scale) + next_shift)
        hidden = hidden + next_gate * self._linear(self._narrower, functional.gelu(wide))
        for _ in self._setting.switches.reads:
            hidden[0, 0, 0].item()
        return hidden

    def _linear(self, layer: nn.Linear, hidden: torch.Tensor) -> torch.Tensor:
        if self._in_32_bits:
            wide = functional.linear(hidden.float(), layer.weight.float(), layer.bias.float())
            return wide.to(hidden.dtype)
        narrow: torch.Tensor = layer(hidden)
        return narrow


class Denoiser(nn.Module):
    """Says which part of a noisy picture is noise."""

    def __init__(self, size: DenoiserSize, setting: WorkloadSetting) -> None:
        super().__init__()
        depth = setting.switches.depth(size.layers)
        self._into = nn.Linear(_CHANNELS, size.width)
        self._places = nn.Parameter(torch.randn(1, size.patches, size.width) / 50)
        self._time = nn.Linear(2 * _FREQUENCIES, size.width)
        self._layers = nn.ModuleList(Layer(size, setting, number) for number in range(depth))
        self._norm = nn.LayerNorm(size.width)
        self._out = nn.Linear(size.width, _CHANNELS)

    def forward(self, noisy: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        hidden = self._into(noisy) + self._places
        time_features = self._time(waves(time).to(noisy.dtype))
        for layer in self._layers:
            hidden = layer(hidden, time_features)
        noise: torch.Tensor = self._out(self._norm(hidden))
        return noise


def waves(time: torch.Tensor) -> torch.Tensor:
    """A moment as sines and cosines of many frequencies."""
    steps = torch.arange(_FREQUENCIES, device=time.device) / _FREQUENCIES
    angles = 1000 * time[:, None] * torch.exp(-math.log(10_000) * steps)
    return torch.cat([angles.sin(), angles.cos()], -1)


def denoise_step(
    model: nn.Module, noisy: torch.Tensor, moment: float, setting: WorkloadSetting
) -> torch.Tensor:
    """The pictures with a little less noise."""
    setting.switches.stall()
    time = torch.full((len(noisy),), moment, device=noisy.device)
    change = _STEP * model(noisy, time)
    largest = change.abs().amax().item()
    return noisy - change / max(1.0, largest)


def main() -> None:
    """Make as many steps as there are cycles."""
    setting = setting_of(__doc__)
    size = SIZES[setting.size]
    with torch.device(setting.device), torch.inference_mode():
        model = Denoiser(size, setting).to(setting.narrow)
        noisy = torch.randn(size.batch, size.patches, _CHANNELS, dtype=setting.narrow)
        words.print_word("workload.ready")
        words.wait_for("workload.go")
        for cycle in range(setting.cycles):
            noisy = denoise_step(model, noisy, 1 - cycle / setting.cycles, setting)
        words.print_word("workload.done")


if __name__ == "__main__":
    main()
