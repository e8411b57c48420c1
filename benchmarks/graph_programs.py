"""Small programs that run eagerly or replay graphs, as people write them.

    python graph_programs.py NAME eager|graphs [STEPS]

`step` is called once per step.  The judge of their recordings is `graphs_accuracy.py`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH, HEADS = 512, 8
Work = Callable[[], object]


class Block(nn.Module):
    """One layer of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query, key, value = self.qkv(self.before(x)).chunk(3, -1)
        query, key, value = (
            part.view(batch, length, HEADS, -1).transpose(1, 2) for part in (query, key, value)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        x = self.attend(x)
        return x + self.down(functional.gelu(self.up(self.between(x))))


class Model(nn.Module):
    """Some layers of a transformer."""

    def __init__(self, layers: int = 6) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


def random_input(batch: int = 8, length: int = 64, **options: object) -> Tensor:
    return torch.randn(batch, length, WIDTH, device="cuda", dtype=torch.bfloat16, **options)


def model() -> Model:
    return Model().to("cuda", torch.bfloat16)


def replaying(work: Work) -> Work:
    """The same work as a graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        replaying.outputs.append(work())
    return graph.replay


replaying.outputs = []


def decode(*, graphs: bool) -> Work:
    """One token of a Llama with a static cache."""
    from transformers import LlamaConfig, LlamaForCausalLM, StaticCache  # noqa: PLC0415 - heavy

    config = LlamaConfig(
        hidden_size=512, intermediate_size=1536, num_hidden_layers=8, num_attention_heads=8,
        num_key_value_heads=4, vocab_size=8000, attn_implementation="sdpa",
    )  # fmt: skip
    network = LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
    cache = StaticCache(config=config, max_cache_len=2048)
    tokens = torch.randint(0, 8000, (4, 1), device="cuda")
    place = torch.tensor([17], device="cuda")

    @torch.no_grad()
    def one_token() -> Tensor:
        return network(
            tokens,
            past_key_values=cache,
            cache_position=place,
            position_ids=place.unsqueeze(0),
            use_cache=True,
        ).logits

    one_token()
    return replaying(one_token) if graphs else one_token


def vision(*, graphs: bool) -> Work:
    """Images through a ResNet."""
    from torchvision.models import resnet18  # noqa: PLC0415 - as above

    network = resnet18().cuda().eval()
    images = torch.randn(8, 3, 224, 224, device="cuda")

    @torch.no_grad()
    def classify() -> Tensor:
        return network(images)

    return replaying(classify) if graphs else classify


def graphed_training(*, graphs: bool) -> Work:
    """A training step whose network is made a graph for each direction."""
    network, x, target = model(), random_input(requires_grad=True), random_input()
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    called = torch.cuda.make_graphed_callables(network, (x,)) if graphs else network

    def train() -> None:
        optimizer.zero_grad(set_to_none=True)
        functional.mse_loss(called(x), target).backward()
        optimizer.step()

    return train


def compiled_training(*, graphs: bool) -> Work:
    """The same, compiled: the compiler makes graphs, or does not."""
    network, x, target = model(), random_input(), random_input()
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    called = torch.compile(network, mode="reduce-overhead" if graphs else "default")

    def train() -> None:
        optimizer.zero_grad(set_to_none=True)
        functional.mse_loss(called(x), target).backward()
        optimizer.step()

    return train


def compiled_inference(*, graphs: bool) -> Work:
    """A compiled network, without gradients."""
    network, x = model().eval(), random_input()
    called = torch.compile(network, mode="reduce-overhead" if graphs else "default")

    @torch.no_grad()
    def infer() -> Tensor:
        return called(x)

    return infer


def sizes(*, graphs: bool) -> Work:
    """Two batch sizes in turn, a graph for each."""
    network = model().eval()
    inputs = [random_input(4), random_input(16)]

    def on(x: Tensor) -> Work:
        @torch.no_grad()
        def infer() -> Tensor:
            return network(x)

        return replaying(infer) if graphs else infer

    works = [on(x) for x in inputs]

    def both() -> None:
        for work in works:
            work()

    return both


def piecewise(*, graphs: bool) -> Work:
    """Graphs for the parts around attention, which runs eagerly between them."""
    network, x = model().eval(), random_input()
    parts: list[Work] = []
    current = x

    def projection(layer: Block, x: Tensor, result: list[Tensor]) -> Work:
        @torch.no_grad()
        def run() -> None:
            result[:] = [layer.qkv(layer.before(x))]

        return run

    def attention(made: list[Tensor], result: Tensor) -> Work:
        @torch.no_grad()
        def run() -> None:
            batch, length, _ = made[0].shape
            query, key, value = (
                part.view(batch, length, HEADS, -1).transpose(1, 2) for part in made[0].chunk(3, -1)
            )
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            result.copy_(mixed.transpose(1, 2).reshape(batch, length, WIDTH))

        return run

    def rest(layer: Block, x: Tensor, mixed: Tensor, result: Tensor) -> Work:
        @torch.no_grad()
        def run() -> None:
            y = x + layer.out(mixed)
            result.copy_(y + layer.down(functional.gelu(layer.up(layer.between(y)))))

        return run

    for layer in network.layers:
        made: list[Tensor] = []
        mixed, result = torch.empty_like(x), torch.empty_like(x)
        first, last = projection(layer, current, made), rest(layer, current, mixed, result)
        first()
        parts += [replaying(first) if graphs else first, attention(made, mixed)]
        parts.append(replaying(last) if graphs else last)
        current = result

    def run_all() -> None:
        for part in parts:
            part()

    return run_all


class Pair(nn.Module):
    """Two equal networks on two streams."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = Model(), Model()
        self.side = torch.cuda.Stream()

    def forward(self, x: Tensor) -> Tensor:
        here = torch.cuda.current_stream()
        start = torch.relu(x)
        self.side.wait_stream(here)
        with torch.cuda.stream(self.side):
            other = self.right(start)
        mine = self.left(start)
        here.wait_stream(self.side)
        return mine + other


def branches(*, graphs: bool) -> Work:
    """Two streams in one graph."""
    network, x = Pair().to("cuda", torch.bfloat16).eval(), random_input()

    @torch.no_grad()
    def infer() -> Tensor:
        return network(x)

    return replaying(infer) if graphs else infer


def failing(*, graphs: bool) -> Work:
    """A capture that waits for a value fails; the program goes on without."""
    network, x = model().eval(), random_input()

    @torch.no_grad()
    def infer() -> Tensor:
        y = network(x)
        return y / y.abs().max().item()

    if graphs:
        try:
            return replaying(infer)
        except RuntimeError:
            torch.cuda.synchronize()
    return infer


PROGRAMS = (
    decode, vision, graphed_training, compiled_training, compiled_inference, sizes, piecewise,
    branches, failing,
)  # fmt: skip


def step(work: Work) -> None:
    work()


def main() -> None:
    name, way, *steps = sys.argv[1:]
    torch.manual_seed(0)
    begun = time.perf_counter()
    work = next(program for program in PROGRAMS if program.__name__ == name)(graphs=way == "graphs")
    for _ in range(3):
        step(work)
    torch.cuda.synchronize()
    warm_ms = 1e3 * (time.perf_counter() - begun)
    timed = []
    for _ in range(int(steps[0]) if steps else 60):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step(work)
        torch.cuda.synchronize()
        timed.append(time.perf_counter() - start)
    middle = sorted(timed)[len(timed) // 2]
    print(f"{name} {way}: warm-up {warm_ms:.0f} ms, step {1e6 * middle:.1f} us", flush=True)


if __name__ == "__main__":
    main()
