"""Small training and inference programs, each as it is or with one change of its code.

    python edited_programs.py MODEL [--change NAME] [--cycles N]
    python edited_programs.py --list

What a comparison of two programs says is judged on recordings of these (`edited_corpus.py`).
Without a GPU everything is tiny.  Where `EDITED_PROGRAMS_LOCK` names a file, the part that uses
the GPU waits for the lock on it, so that several programs can start at once and run in turn.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # the profiler loads it, which would take its time within the turn
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

import edited_final
import edited_fresh
import edited_judging
import edited_shaping
from edited_changes import Change, Program, Script, wait_for_turn
from edited_models import Images, Settings, random_batch
from edited_more_models import Lion

Batch = dict[str, Tensor]
NO_CHANGE = Change("none", "")
HALVES: dict[str, Any] = {
    "shaping": edited_shaping,
    "judging": edited_judging,
    "final": edited_final,
    "fresh": edited_fresh,
}
PROGRAMS: dict[str, Program | Script] = {
    name: program for half in HALVES.values() for name, program in half.PROGRAMS.items()
}
CHANGES = {name: some for half in HALVES.values() for name, some in half.CHANGES.items()}


def device_and_settings(program: Program, change: Change) -> tuple[torch.device, Settings]:
    """What the program runs on, and its settings, changed; tiny on a CPU."""
    settings = replace(program.settings, **change.settings)
    if Path("/dev/nvidiactl").exists():
        return torch.device("cuda"), settings
    length = {"images": 56, "masks": 64, "loader": 32, "sound": 2000}.get(program.kind, 8)
    width = 128 if settings.width < 1024 else 256
    width = 192 if program.kind == "images" else width
    smaller = replace(settings, batch=2, length=length, width=width, pinned=False, run="eager")
    return torch.device("cpu"), smaller


def optimizer_of(name: str, model: nn.Module) -> torch.optim.Optimizer:
    """The optimizer of a name like `adamw fused`, `sgd foreach` or `rmsprop loop`."""
    kind, way = name.split()
    if kind == "lion":
        return Lion(model.parameters(), lr=1e-4)
    if kind == "rmsprop":
        return torch.optim.RMSprop(model.parameters(), lr=1e-4, foreach=way == "foreach")
    how: dict[str, Any] = {"fused": way == "fused", "foreach": way == "foreach"}
    if kind == "sgd":
        return torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, **how)
    return torch.optim.AdamW(model.parameters(), lr=1e-4, **how)


def precision(settings: Settings, device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Set the precision of products for good, and give the context of a forward pass."""
    if settings.precision in {"tf32", "exact"}:
        torch.backends.cuda.matmul.allow_tf32 = settings.precision == "tf32"
        torch.backends.cudnn.allow_tf32 = settings.precision == "tf32"
    if settings.precision.startswith("autocast"):
        kind = torch.float16 if settings.precision == "autocast16" else torch.bfloat16
        return torch.autocast(device.type, kind)
    return contextlib.nullcontext()


def batches(program: Program, settings: Settings, cycles: int) -> Iterator[Batch]:
    """Batches on the host: from a loader with workers, or four made beforehand, over and over."""
    if program.kind == "loader":
        loader = DataLoader(
            Images(settings, settings.batch * cycles),
            settings.batch,
            num_workers=settings.workers,
            pin_memory=settings.pinned,
        )
        yield from loader
        return
    ready = [random_batch(program.kind, settings) for _ in range(4)]
    if settings.pinned:
        ready = [{name: part.pin_memory() for name, part in batch.items()} for batch in ready]
    yield from itertools.islice(itertools.cycle(ready), cycles)


def loss_of(outputs: Any) -> Tensor:
    return outputs if isinstance(outputs, Tensor) else outputs.loss


def evaluate(model: nn.Module, batch: Batch) -> None:
    model.eval()
    with torch.no_grad():
        model(**batch)
    model.train()


def prepare_model(
    program: Program, settings: Settings, change: Change, device: torch.device
) -> Any:
    """The model, changed and on its device, once it is this program's turn."""
    model = program.build(settings)
    change.model(model)
    if settings.checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})  # type: ignore[operator]
    wait_for_turn()
    if settings.channels_last:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    model = model.to(device)
    return (
        DistributedDataParallel(model, bucket_cap_mb=settings.bucket_mb)
        if (dist.is_initialized())
        else model.train()
    )


def train(program: Program, change: Change, cycles: int) -> Iterator[None]:
    """Train; every step is a cycle."""
    device, settings = device_and_settings(program, change)
    if program.ranks > 1:
        dist.init_process_group("gloo")
    model = prepare_model(program, settings, change, device)
    optimizer = optimizer_of(settings.optimizer, model)
    context = precision(settings, device)
    data = batches(program, settings, cycles * settings.accumulate)
    for step in range(cycles):
        for _ in range(settings.accumulate):
            ready = change.batch(next(data))
            batch = {name: part.to(device, non_blocking=True) for name, part in ready.items()}
            if settings.channels_last:
                batch["pixel_values"] = batch["pixel_values"].to(memory_format=torch.channels_last)
            with context:
                outputs = model(**batch)
                loss = loss_of(outputs) / settings.accumulate
            change.outputs(outputs)
            loss.backward()
        change.before_step(model)
        if settings.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=settings.set_to_none)
        change.step(step, loss.detach())
        if settings.log_every and step % settings.log_every == 0:
            print(f"step {step}: loss {loss.item():.3f}")
        if settings.evaluate_every and step % settings.evaluate_every == 0:
            evaluate(model, batch)
        yield


def next_token(model: nn.Module, token: Tensor, cache: Any, change: Change) -> Tensor:
    """One cycle of decoding."""
    outputs = model(input_ids=token, past_key_values=cache, use_cache=True)
    chosen = change.outputs(outputs)
    if isinstance(chosen, Tensor) and chosen.shape == token.shape:
        return chosen
    return outputs.logits[:, -1].argmax(-1, keepdim=True)


@torch.no_grad()
def decode(program: Program, change: Change, cycles: int) -> Iterator[None]:
    device, settings = device_and_settings(program, change)
    model = program.build(settings).to(torch.bfloat16).eval()
    change.model(model)
    wait_for_turn()
    model = model.to(device)
    prompt = random_batch("tokens", settings)["input_ids"].to(device)
    outputs = model(input_ids=prompt, use_cache=True, logits_to_keep=1)
    token = outputs.logits[:, -1].argmax(-1, keepdim=True)
    for step in range(cycles):
        token = next_token(model, token, outputs.past_key_values, change)
        change.step(step, token)
        yield


def capture_graph(model: nn.Module, tokens: Tensor) -> Any:
    """The model as a CUDA graph over its own copy of the input."""
    place = tokens.clone()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            model(place)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scores = model(place)

    def replay(tokens: Tensor) -> Tensor:
        place.copy_(tokens)
        graph.replay()
        return scores

    return replay


def answer(run: Any, batch: Tensor, device: torch.device) -> Tensor:
    """One cycle of inference: the classes of a batch, on the host."""
    scores = run(batch.to(device, non_blocking=True))
    return scores.argmax(-1).cpu()


@torch.no_grad()
def infer(program: Program, change: Change, cycles: int) -> Iterator[None]:
    device, settings = device_and_settings(program, change)
    model = program.build(settings).to(torch.bfloat16).eval()
    change.model(model)
    data = [batch["input_ids"] for batch in batches(program, settings, 4)]
    run: Any = model
    if settings.run == "compile":  # takes long, so not within the turn
        run = torch.compile(model.to(device))
        run(data[0].to(device))
    wait_for_turn()
    model.to(device)
    if settings.run == "graph":
        run = capture_graph(model, data[0].to(device))
    for step in range(cycles):
        classes = answer(run, data[step % 4], device)
        change.step(step, classes)
        yield


DOES = {"train": train, "decode": decode, "infer": infer}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=PROGRAMS, nargs="?")
    parser.add_argument("--change", default="base")
    parser.add_argument("--cycles", type=int, default=60)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list or not args.model:
        for half, tables in HALVES.items():
            for name in tables.PROGRAMS:
                print(half, name, *tables.CHANGES[name])
        return
    change = NO_CHANGE if args.change == "base" else CHANGES[args.model][args.change]
    torch.manual_seed(0)
    change.start()
    program = PROGRAMS[args.model]
    if isinstance(program, Script):
        steps = program.run({**program.flags, **change.settings}, args.cycles)
    else:
        steps = DOES[program.does](program, change, args.cycles)
    for _ in steps:
        pass


if __name__ == "__main__":
    main()
