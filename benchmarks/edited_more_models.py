"""The models of `edited_final.py`: public architectures with random weights, and plain torch.

They take and give what those of `edited_models.py` do.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import transformers
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import functional

from edited_models import CLASSES, FEATURES, VOCABULARY, Settings, of_config

ACTIONS = 16


def bart(settings: Settings) -> nn.Module:
    config = transformers.BartConfig(
        vocab_size=VOCABULARY,
        d_model=settings.width,
        encoder_layers=settings.layers,
        decoder_layers=settings.layers,
        encoder_attention_heads=settings.width // 64,
        decoder_attention_heads=settings.width // 64,
        encoder_ffn_dim=4 * settings.width,
        decoder_ffn_dim=4 * settings.width,
        activation_function=settings.activation,
        dropout=settings.dropout,
    )
    return of_config(transformers.BartForConditionalGeneration, config, settings)


def electra(settings: Settings) -> nn.Module:
    config = transformers.ElectraConfig(
        vocab_size=VOCABULARY,
        embedding_size=settings.width // 2,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.width // 64,
        intermediate_size=4 * settings.width,
        hidden_act=settings.activation,
        hidden_dropout_prob=settings.dropout,
        attention_probs_dropout_prob=settings.dropout,
    )
    return of_config(transformers.ElectraForMaskedLM, config, settings)


def roformer(settings: Settings) -> nn.Module:
    config = transformers.RoFormerConfig(
        vocab_size=VOCABULARY,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.width // 64,
        intermediate_size=4 * settings.width,
        hidden_act=settings.activation,
        hidden_dropout_prob=settings.dropout,
        attention_probs_dropout_prob=settings.dropout,
    )
    return transformers.RoFormerForMaskedLM(config)


def gemma(settings: Settings) -> nn.Module:
    config = transformers.GemmaConfig(
        vocab_size=VOCABULARY,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.width // 64,
        num_key_value_heads=1,
        intermediate_size=4 * settings.width,
        head_dim=64,
    )
    return of_config(transformers.GemmaForCausalLM, config, settings)


class Inverted(nn.Module):
    """A convolution of each channel for itself, between a wider and a narrower product."""

    def __init__(self, width: int) -> None:
        super().__init__()
        wide = 4 * width
        self.widen = nn.Conv2d(width, wide, 1, bias=False)
        self.each = nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False)
        self.act = nn.SiLU()
        self.narrow = nn.Conv2d(wide, width, 1, bias=False)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.norm(self.narrow(self.act(self.each(self.widen(x)))))


class MobileNet(nn.Module):
    """A classifier of images by inverted residuals."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width = settings.width // 8
        self.stem = nn.Conv2d(3, width, 4, stride=4)
        self.blocks = nn.ModuleList(Inverted(width) for _ in range(settings.layers))
        self.head = nn.Linear(width, CLASSES)

    def forward(self, pixel_values: Tensor, labels: Tensor) -> Tensor:
        x = self.stem(pixel_values)
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.head(x.mean((2, 3))), labels)


class SqueezeExcite(nn.Module):
    """Channels weighed by what the whole image holds."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(self.gate(x.mean((2, 3), keepdim=True)))


def index_sum(into: Tensor, targets: Tensor, messages: Tensor) -> Tensor:
    return into.index_add(0, targets, messages)


def scatter_sum(into: Tensor, targets: Tensor, messages: Tensor) -> Tensor:
    return into.scatter_add(0, targets[:, None].expand_as(messages), messages)


class GraphLayer(nn.Module):
    """What a node is told by its neighbours, added up."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.message, self.own = nn.Linear(width, width), nn.Linear(width, width)
        self.act = nn.ReLU()
        self.sum_up: Callable[[Tensor, Tensor, Tensor], Tensor] = index_sum

    def forward(self, x: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
        message_sum = self.sum_up(torch.zeros_like(x), targets, self.message(x)[sources])
        return x + self.act(self.own(x) + message_sum)


class GraphNet(nn.Module):
    """Classes of the nodes of a graph."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.embed = nn.Linear(FEATURES, settings.width)
        self.layers = nn.ModuleList(GraphLayer(settings.width) for _ in range(settings.layers))
        self.head = nn.Linear(settings.width, CLASSES)

    def forward(self, nodes: Tensor, sources: Tensor, targets: Tensor, labels: Tensor) -> Tensor:
        x = self.embed(nodes)
        for layer in self.layers:
            x = layer(x, sources, targets)
        return functional.cross_entropy(self.head(x), labels)


def discounted_returns(rewards: Tensor) -> Tensor:
    """Returns of each row of rewards, as one product."""
    steps = torch.arange(rewards.shape[1], device=rewards.device)
    later = steps[:, None] - steps
    return rewards @ torch.where(later >= 0, 0.99**later, 0.0)


def discounted_in_turn(rewards: Tensor) -> Tensor:
    """The same, from the last step to the first."""
    running, returns = torch.zeros_like(rewards[:, 0]), []
    for reward in reversed(rewards.unbind(1)):
        running = reward + 0.99 * running
        returns.append(running)
    return torch.stack(returns[::-1], 1)


class ActorCritic(nn.Module):
    """Some steps in a world of vectors, and the loss of policy and value over them."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width = settings.width
        self.trunk = nn.Sequential(
            nn.Linear(FEATURES, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.policy, self.value = nn.Linear(width, ACTIONS), nn.Linear(width, 1)
        self.register_buffer("moves", torch.randn(ACTIONS, FEATURES))
        self.steps, self.checked = settings.layers, False
        self.returns: Callable[[Tensor], Tensor] = discounted_returns
        self.seen: Callable[[Tensor], object] = lambda _: None

    def forward(self, nodes: Tensor) -> Tensor:
        rewards, values, chances = [], [], []
        for _ in range(self.steps):
            features = self.trunk(nodes)
            policy = Categorical(logits=self.policy(features), validate_args=self.checked)
            actions = policy.sample()
            self.seen(actions)
            chances.append(policy.log_prob(actions))
            values.append(self.value(features).squeeze(-1))
            nodes = torch.tanh(nodes + self.moves[actions])
            rewards.append(-nodes.square().mean(-1))
        advantages = self.returns(torch.stack(rewards, 1)) - torch.stack(values, 1)
        gained = torch.stack(chances, 1) * advantages.detach()
        return advantages.square().mean() - gained.mean()


class Denoiser(nn.Module):
    """Fully connected layers that tell the noise in a vector."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width = settings.width
        self.into, self.out = nn.Linear(FEATURES + 1, width), nn.Linear(width, FEATURES)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(settings.layers))
        self.noise_from: str | None = None  # the device it is drawn on

    def forward(self, nodes: Tensor) -> Tensor:
        drawn = torch.randn(nodes.shape, device=self.noise_from or nodes.device)
        noise = drawn.to(nodes.device)
        times = torch.rand(len(nodes), 1, device=nodes.device)
        x = self.into(torch.cat([nodes + times * noise, times], 1))
        for layer in self.layers:
            x = x + functional.silu(layer(x))
        return functional.mse_loss(self.out(x), noise)


class Towers(nn.Module):
    """Two towers whose vectors find each other among those of the batch."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width = settings.width
        self.left, self.right = (
            nn.Sequential(nn.Linear(FEATURES, width), nn.ReLU(), nn.Linear(width, width))
            for _ in range(2)
        )

    def forward(self, nodes: Tensor) -> Tensor:
        scores = self.left(nodes) @ self.right(nodes).T
        return functional.cross_entropy(scores, torch.arange(len(nodes), device=nodes.device))


class MixerLayer(nn.Module):
    """A product over the positions, then one over the features."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width, length = settings.width, settings.length
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.positions = nn.Sequential(nn.Linear(length, length), nn.GELU())
        self.features = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.positions(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.features(self.norm2(x))


class Mixer(nn.Module):
    """Classes of sentences without attention."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, settings.width)
        self.layers = nn.ModuleList(MixerLayer(settings) for _ in range(settings.layers))
        self.head = nn.Linear(settings.width, CLASSES)
        self.count, self.calls = False, 0

    def forward(self, input_ids: Tensor) -> Tensor:
        x = self.embed(input_ids)
        if self.count:
            self.calls += 1
            x = x * (1 + 1e-6 * self.calls)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


class Lion(torch.optim.Optimizer):
    """Steps by the sign of the momentum, one parameter after the other."""

    def __init__(self, parameters: object, lr: float) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, _: object = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                if not state:
                    state["momentum"] = torch.zeros_like(parameter)
                momentum, gradient = state["momentum"], parameter.grad
                update = momentum.mul(0.9).add(gradient, alpha=0.1).sign_()
                parameter.add_(update, alpha=-group["lr"])
                momentum.lerp_(gradient, 0.01)
