"""Programs to be watched: training, decoding, serving, with loads that shift and faults on call.

    python benchmarks/watch_programs.py train --seconds 60
    python benchmarks/watch_programs.py decode --seconds 60 --control FILE --times FILE

They run on a GPU where there is one, else small on the CPU; cycles take some 5 to 30 ms.  A file of
control, looked at once per cycle, is JSON such as {"python_stall": 6}: how strong each fault is, as
`Faults` says.  {"stop": 1} ends a program.  Workloads are drawn by the number of the cycle, so that
runs with one seed and as many cycles do the same.
"""

from __future__ import annotations

import argparse
import json
import mmap
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it
from torch.utils.data import DataLoader, Dataset

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")
KIND = torch.bfloat16 if GPU else torch.float32
MIB = 2**20


# Faults, switched on and off from outside.


class Control:
    """What the file of control says; it is read again when it was replaced."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._seen = 0
        self.said: dict[str, float] = {}

    def look(self) -> dict[str, float]:
        """How strong each fault is by now."""
        if self.path is not None:
            with suppress(OSError, ValueError):
                changed = self.path.stat().st_mtime_ns
                if changed != self._seen:
                    self.said, self._seen = json.loads(self.path.read_text()), changed
        return self.said


@dataclass
class Faults:
    """What goes wrong in the program itself, from the beginning of a forward pass on.

    `python_stall`: so many ms in Python per cycle.  `sync_inserted`: so many numbers are read back
    from the device after each layer.  `allocator_churn`: the allocator gives all back, and so many
    tensors of new sizes are made.  `slow_loader`: whoever loads sleeps so many ms per example.
    `longer_requests`: the workload grows by this factor, which is no fault.
    """

    control: Control
    seconds: float
    most_cycles: int
    starts_ns: list[int] = field(default_factory=list)
    is_over: bool = False

    def __post_init__(self) -> None:
        self._until = time.monotonic() + self.seconds
        self._random = random.Random(7)

    def attach(self, root: nn.Module | None, layers: Sequence[nn.Module]) -> None:
        """Have it happen in a model: once in each of its forward passes, and after each layer."""
        if root is not None:
            root.register_forward_pre_hook(lambda *_: self.begin_cycle())
        for layer in layers:
            layer.register_forward_hook(self._after_layer)

    def begin_cycle(self) -> None:
        """Look what is asked for, and do it."""
        self.starts_ns.append(time.perf_counter_ns())
        instructions = self.control.look()
        late = time.monotonic() > self._until or len(self.starts_ns) > self.most_cycles
        self.is_over = self.is_over or late or bool(instructions.get("stop"))
        if "python_stall" in instructions:
            checks_in_python(instructions["python_stall"] / 1000)
        if "allocator_churn" in instructions:
            churn(round(instructions["allocator_churn"]), self._random)

    def _after_layer(self, _layer: nn.Module, _inputs: Any, gave: Any) -> None:
        for _ in range(int(self.control.said.get("sync_inserted", 0))):
            (gave[0] if isinstance(gave, tuple) else gave).flatten()[0].item()

    @property
    def longer(self) -> float:
        """By how much the workload grew."""
        return self.control.said.get("longer_requests", 1.0)


def checks_in_python(wanted_s: float) -> int:
    """Spend time in Python, as checks do that somebody forgot."""
    until, total = time.perf_counter() + wanted_s, 0
    while time.perf_counter() < until:
        total += sum(number % 3 for number in range(50))
    return total


def churn(many: int, drawn: random.Random) -> None:
    """Give all memory back and ask for other sizes."""
    if not GPU:
        # Allocators keep what is freed; what is mapped anew comes page by page.
        for _ in range(many):
            pages = drawn.randint(150, 250)
            with mmap.mmap(-1, pages * mmap.PAGESIZE) as piece:
                piece[:: mmap.PAGESIZE] = bytes(pages)
        return
    torch.cuda.empty_cache()
    pieces = [
        torch.empty(MIB * drawn.randint(16, 128), dtype=torch.uint8, device=DEVICE)
        for _ in range(many)
    ]
    for piece in pieces:
        piece[::4096].fill_(1)


class Levels:
    """A load that shifts: one of some levels for a while, by the number of the cycle."""

    def __init__(self, levels: Sequence[int], seed: int, least: int = 20, most: int = 60) -> None:
        self._levels, self._random = levels, random.Random(seed)
        self._least, self._most = least, most
        self._left, self.now = 0, levels[0]

    def next(self) -> int:
        """The level of the next cycle."""
        if self._left == 0:
            self._left = self._random.randint(self._least, self._most)
            self.now = self._random.choice(self._levels)
        self._left -= 1
        return self.now


# Training: a transformer over batches that a process beside it loads.

if GPU:
    # So wide that the device is what takes the time.
    WIDTH, DEPTH, HEADS, INPUT = 3072, 8, 24, 256
    BATCHES, LENGTHS = (16, 24, 32, 40), (96, 128)
else:
    WIDTH, DEPTH, HEADS, INPUT = 64, 2, 4, 32
    BATCHES, LENGTHS = (8, 12, 16, 24), (16, 32)


class Examples(Dataset):  # type: ignore[type-arg]
    """Rows of numbers; an index tells where an example starts and how long it is."""

    def __init__(self, control: Path | None) -> None:
        self._rows = torch.randn(20_000, INPUT)
        self._control = Control(control)

    def __getitem__(self, index: tuple[int, int]) -> torch.Tensor:
        start, length = index
        wait_ms = self._control.look().get("slow_loader", 0)
        if wait_ms:
            time.sleep(wait_ms / 1000)
        return self._rows[start : start + length]


class Batches:
    """Which examples come together: batch sizes and lengths shift, and never end."""

    def __init__(self, faults: Faults, seed: int) -> None:
        self._faults = faults
        self._sizes, self._lengths = Levels(BATCHES, seed), Levels(LENGTHS, seed + 1, 80, 200)
        self._random = random.Random(seed + 2)

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        while True:
            size = round(self._sizes.next() * self._faults.longer)
            length = self._lengths.next()
            last = 20_000 - length
            yield [(self._random.randrange(last), length) for _ in range(size)]


class Trained(nn.Module):
    """What is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.inward, self.outward = nn.Linear(INPUT, WIDTH), nn.Linear(WIDTH, INPUT)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.0, batch_first=True)
            for _ in range(DEPTH)
        )

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        hidden = self.inward(rows)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.outward(hidden)


def train(faults: Faults, seed: int) -> None:
    """A cycle is a step of the optimizer."""
    with DEVICE:  # a host would take long
        model = Trained()
    faults.attach(model, list(model.layers))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    loader = DataLoader(
        Examples(faults.control.path), batch_sampler=Batches(faults, seed),  # type: ignore[arg-type]
        num_workers=1, pin_memory=GPU, prefetch_factor=2,
    )  # fmt: skip
    for batch in loader:
        rows = batch.to(DEVICE, non_blocking=True)
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=GPU):
            loss = (model(rows) - rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        if faults.is_over:
            break


# Decoding and serving: a transformer that writes token by token, with a cache of keys and values.

if GPU:
    # So wide that the device is what takes the time, as where large models are served.
    WRITER_WIDTH, WRITER_DEPTH, WRITER_HEADS, VOCABULARY = 12_288, 16, 96, 32_000
    SEATS, LONGEST = 32, 1536
    AT_ONCE, PROMPTS, ANSWERS = (4, 8, 16, 32), (64, 512), (32, 128)
else:
    WRITER_WIDTH, WRITER_DEPTH, WRITER_HEADS, VOCABULARY = 256, 4, 4, 1000
    SEATS, LONGEST = 16, 512
    AT_ONCE, PROMPTS, ANSWERS = (2, 4, 6, 8), (32, 128), (16, 48)
PLACES = 64
"""Keys are read in steps of so many places."""


class Layer(nn.Module):
    """Attention over what was written before, and two products."""

    def __init__(self) -> None:
        super().__init__()
        width = WRITER_WIDTH
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.three, self.one = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        size = (2, SEATS, LONGEST, WRITER_HEADS, width // WRITER_HEADS)
        self.register_buffer("kept", torch.zeros(size, dtype=KIND), persistent=False)

    def forward(
        self, hidden: torch.Tensor, seats: slice, places: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        many, length, width = hidden.shape
        split = self.three(self.first(hidden)).view(many, length, 3, WRITER_HEADS, -1)
        queries, keys, values = split.unbind(2)
        row = torch.arange(many, device=hidden.device)[:, None]
        for place, new in enumerate((keys, values)):
            self.kept[place, seats][row, places] = new
        reach = mask.shape[-1]
        keys, values = (self.kept[place, seats, :reach].transpose(1, 2) for place in (0, 1))
        seen = F.scaled_dot_product_attention(queries.transpose(1, 2), keys, values, attn_mask=mask)
        hidden = hidden + self.one(seen.transpose(1, 2).reshape(many, length, width))
        return hidden + self.down(F.gelu(self.up(self.second(hidden))))


class Writer(nn.Module):
    """The model that writes."""

    def __init__(self, faults: Faults) -> None:
        super().__init__()
        self.faults = faults
        self.words = nn.Embedding(VOCABULARY, WRITER_WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(WRITER_DEPTH))
        self.head = nn.Linear(WRITER_WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor, seats: slice, places: torch.Tensor, reach: int) -> Any:
        hidden = self.words(tokens)
        positions = torch.arange(reach, device=tokens.device)
        mask = (positions <= places[..., None])[:, None]
        for layer in self.layers:
            hidden = layer(hidden, seats, places, mask)
        return self.head(hidden[:, -1]).argmax(-1)


def writer(faults: Faults) -> Writer:
    """Such a model; what it writes is of no matter."""
    torch.set_default_dtype(KIND)
    with DEVICE:  # a host would take long
        model = Writer(faults).eval()
    faults.attach(None, list(model.layers))  # a cycle of a server may have two passes
    return model


@dataclass
class Request:
    """A text that is being written."""

    prompt: int
    wanted: int
    written: int = 0

    @property
    def length(self) -> int:
        return self.prompt + self.written


def new_request(drawn: random.Random, longer: float) -> Request:
    """Of a length that is drawn; longer ones may be longer than any before."""
    prompt, wanted = (round(longer * drawn.randint(*limits)) for limits in (PROMPTS, ANSWERS))
    return Request(min(prompt, LONGEST - PLACES - wanted), wanted)


def sizes_of(requests: Sequence[Request]) -> dict[str, float]:
    """What a cycle has to do, by the names that tables of cycles have."""
    many = max(len(requests), 1)
    prompts, written = (
        [request.prompt for request in requests],
        [request.written for request in requests],
    )
    return {
        "batch_size": len(requests),
        "avg_input_length": sum(prompts) / many,
        "max_input_length": max(prompts, default=0),
        "avg_output_length": sum(written) / many,
        "max_output_length": max(written, default=0),
    }


def workload(*_arguments: Any, **named: Any) -> dict[str, float]:
    """For `--workload`: the numbers among the arguments that are named."""
    return {name: float(value) for name, value in named.items() if isinstance(value, (int, float))}


def _write(model: Writer, requests: Sequence[Request]) -> None:
    """One token for each of them."""
    lengths = [request.length for request in requests]
    places = torch.tensor(lengths, device=DEVICE)[:, None]
    reach = min(-(-(max(lengths) + 1) // PLACES) * PLACES, LONGEST)
    tokens = torch.ones(len(requests), 1, dtype=torch.long, device=DEVICE)
    model(tokens, slice(0, len(requests)), places, reach).tolist()
    for request in requests:
        request.written += 1


def decode_step(model: Writer, requests: Sequence[Request], **_sizes: float) -> None:
    """One cycle: `--marker decode_step`."""
    model.faults.begin_cycle()
    _write(model, requests)


@torch.inference_mode()
def decode(faults: Faults, seed: int) -> None:
    """Batches of texts, each written to the end of its shortest answer."""
    model, drawn, sizes = writer(faults), random.Random(seed), Levels(AT_ONCE, seed, 1, 1)
    while not faults.is_over:
        many = sizes.next()
        requests = [new_request(drawn, faults.longer) for _ in range(many)]
        for _ in range(min(request.wanted for request in requests)):
            decode_step(model, requests, forward_mode=2, **sizes_of(requests))
            if faults.is_over:
                break


def serve_step(
    model: Writer, active: list[Request], arrived: Request | None, **_sizes: float
) -> None:
    """One cycle: `--marker serve_step`; reads the prompt that arrived, and writes on with all."""
    model.faults.begin_cycle()
    if active:
        _write(model, active)
    if arrived is not None:
        places = torch.arange(arrived.prompt, device=DEVICE)[None]
        reach = -(-arrived.prompt // PLACES) * PLACES
        seat = len(active)
        model(torch.ones_like(places), slice(seat, seat + 1), places, reach).tolist()
        arrived.written = 1
        active.append(arrived)


@torch.inference_mode()
def serve_own(faults: Faults, seed: int) -> None:
    """Requests come and go; as many are served at once as the level says."""
    model, drawn, level = writer(faults), random.Random(seed), Levels(AT_ONCE, seed, 100, 300)
    active: list[Request] = []
    while not faults.is_over:
        wanted = level.next()
        arrived = new_request(drawn, faults.longer) if len(active) < wanted else None
        mode = 2 if arrived is None else 3 if active else 1
        tokens = len(active) + (0 if arrived is None else arrived.prompt)
        sizes = sizes_of(active) | {"forward_mode": mode, "tokens": tokens}
        serve_step(model, active, arrived, **sizes)
        active[:] = [request for request in active if request.written < request.wanted]


def serve(faults: Faults, seed: int) -> None:
    """Continuous batching of transformers, as it comes; without that the own scheduler."""
    if find_spec("transformers") is None:
        serve_own(faults, seed)
        return
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415
    from transformers.generation import (  # noqa: PLC0415
        ContinuousBatchingConfig,
        GenerationConfig,
    )

    width, depth = (1024, 16) if GPU else (128, 2)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=width, intermediate_size=4 * width,
        num_hidden_layers=depth, num_attention_heads=8, num_key_value_heads=8,
        max_position_embeddings=4096,
    )  # fmt: skip
    config._attn_implementation = "sdpa"  # noqa: SLF001 - the only way without a checkpoint
    with DEVICE:
        model = LlamaForCausalLM(config).to(KIND).eval()
    faults.attach(model, list(model.model.layers))
    manager = model.init_continuous_batching(
        generation_config=GenerationConfig(max_new_tokens=ANSWERS[1], do_sample=False,
                                           eos_token_id=-1, pad_token_id=0),
        continuous_batching_config=ContinuousBatchingConfig(
            max_batch_tokens=1024, num_blocks=1024, block_size=32, use_cuda_graph=False
        ),
    )  # fmt: skip
    manager.start()
    drawn, level, waiting = random.Random(seed), Levels(AT_ONCE[:3], seed, 20, 60), 0
    while not faults.is_over:
        wanted = level.next()
        while waiting < wanted:
            request = new_request(drawn, faults.longer)
            prompt = [drawn.randrange(1, VOCABULARY) for _ in range(request.prompt)]
            manager.add_request(prompt, max_new_tokens=request.wanted)
            waiting += 1
        if manager.get_result(timeout=1.0) is not None:
            waiting -= 1
        elif not manager.is_running():
            sys.exit("continuous batching ended by itself")
    while waiting and manager.get_result(timeout=10.0) is not None:
        # It must not stop in the middle: its attention is another one then.
        waiting -= 1
    manager.stop(block=True, timeout=5)


PROGRAMS: dict[str, Callable[[Faults, int], None]] = {
    program.__name__: program for program in (train, decode, serve, serve_own)
}


def main() -> None:
    """Run one of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=PROGRAMS)
    parser.add_argument("--seconds", type=float, default=3600.0, help="it ends after so long")
    parser.add_argument("--cycles", type=int, default=10**9, help="it ends after so many")
    parser.add_argument("--control", type=Path, help="JSON: faults, and how strong each is")
    parser.add_argument("--times", type=Path, help="ns of its own cycles go here as JSON")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    faults = Faults(Control(options.control), options.seconds, options.cycles)
    signal.signal(signal.SIGTERM, lambda *_: setattr(faults, "is_over", True))
    PROGRAMS[options.name](faults, options.seed)
    starts = faults.starts_ns
    between = [after - before for before, after in pairwise(starts)]
    if options.times is not None:
        options.times.write_text(json.dumps(between))
    middle = sorted(between)[len(between) // 2] / 1e6 if between else 0.0
    print(f"{options.name}: {len(starts)} cycles, the middle one {middle:.2f} ms, on {DEVICE}")


if __name__ == "__main__":
    main()
