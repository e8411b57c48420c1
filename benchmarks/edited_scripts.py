"""Training and inference scripts for `edited_fresh.py`, each with a loop of its own.

A script is given its flags, which stand where a user's lines would: an edit of the script is
another value of one.  It yields after every step.  Without a GPU everything is tiny.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

import edited_script_models as models
from edited_changes import wait_for_turn

Flags = dict[str, Any]
SMALL = not Path("/dev/nvidiactl").exists()
DEVICE = torch.device("cpu" if SMALL else "cuda")


def _size(large: int, small: int) -> int:
    return small if SMALL else large


def recommender(flags: Flags, cycles: int) -> Iterator[None]:
    """Clicks on advertisements: tables of embeddings and dense layers, with a loader."""
    torch.set_float32_matmul_precision("high")
    batch = _size(flags["batch"], 64)
    loader = DataLoader(
        models.Clicks(batch),
        batch_size=None,
        num_workers=_size(4, 0),
        pin_memory=flags["pinned"] and not SMALL,
    )
    model = models.Recommender(tables_first=flags["tables_first"])
    wait_for_turn()
    model.to(DEVICE)
    optimizer: torch.optim.Optimizer
    if flags["optimizer"] == "adagrad":
        optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01, foreach=True)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=True)
    scores_so_far = []
    for _, clicks in zip(range(cycles), loader, strict=False):
        numbers, categories, clicked = (part.to(DEVICE, non_blocking=True) for part in clicks)
        scores = model(numbers, categories)
        loss = functional.binary_cross_entropy_with_logits(scores, clicked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if flags["scores_kept"]:
            scores_so_far.append(torch.sigmoid(scores).detach().cpu())
        yield


def diffusion(flags: Flags, cycles: int) -> Iterator[None]:
    """A U-Net that learns to take noise from images."""
    torch.backends.cudnn.benchmark = flags["benchmark"]
    model: nn.Module = models.UNet(_size(64, 16), contiguous=flags["contiguous"])
    side, rows = _size(64, 16), _size(32, 2)
    images = [torch.randn(rows, 3, side, side) for _ in range(4)]
    wait_for_turn()
    if not SMALL:
        images = [image.pin_memory() for image in images]
    model = model.to(DEVICE, memory_format=torch.channels_last)
    averages = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=not SMALL)
    kept = torch.linspace(0.999, 0.01, 1000, device=DEVICE)
    context: Any = contextlib.nullcontext
    if flags["autocast"]:
        context = lambda: torch.autocast(DEVICE.type, torch.bfloat16)  # noqa: E731
    for step in range(cycles):
        image = images[step % 4].to(DEVICE, non_blocking=True)
        image = image.to(memory_format=torch.channels_last)
        times = torch.randint(0, 1000, (rows,), device=DEVICE)
        noise = torch.randn_like(image)
        share = kept[times][:, None, None, None]
        noisy = share.sqrt() * image + (1 - share).sqrt() * noise
        with context():
            predicted = model(noisy, times)
            loss = functional.mse_loss(predicted.float(), noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if flags["averaged"]:
            for average, parameter in zip(averages, model.parameters(), strict=True):
                average.mul_(0.999).add_(parameter.detach(), alpha=0.001)
        if step % flags["log_every"] == 0:
            print(f"step {step}: loss {loss.item():.4f}")
        yield


def _tokenise(sentences: list[str], words: dict[str, int]) -> Tensor:
    rows = []
    for sentence in sentences:
        pieces = re.findall(r"\w+", sentence.lower())
        rows.append([words.get(piece, len(piece)) for piece in pieces])
    return torch.tensor(rows)


def tagger(flags: Flags, cycles: int) -> Iterator[None]:
    """Tags of words: a recurrent network under a conditional random field."""
    torch.set_float32_matmul_precision("high")
    rows, length = _size(64, 2), _size(flags["length"], 8)
    words = {f"Word{number}".lower(): number for number in range(20000)}
    chosen = torch.randint(0, 20000, (4, rows, length))
    sentences = [
        [", ".join(f"Word{number}" for number in row) for row in batch] for batch in chosen.tolist()
    ]
    tags = torch.randint(0, 12, (4, rows, length))
    model = models.Tagger(_size(256, 32), field=flags["field"])
    wait_for_turn()
    model.to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=flags["foreach"])
    for step in range(cycles):
        if flags["tokenised"]:
            tokens = _tokenise(sentences[step % 4], words).to(DEVICE)
        else:
            tokens = chosen[step % 4].to(DEVICE)
        wanted = tags[step % 4].to(DEVICE)
        if flags["checked"] and (tokens < 0).any():
            raise ValueError("padding is not known to the model")
        loss = model(tokens, wanted)
        optimizer.zero_grad()
        loss.backward()
        if flags["clip"]:
            nn.utils.clip_grad_norm_(model.parameters(), flags["clip"])
        optimizer.step()
        yield


def citations(flags: Flags, cycles: int) -> Iterator[None]:
    """Classes of the nodes of a graph by attention over neighbours."""
    count = _size(20000, 50)
    nodes = torch.randn(count, 128)
    sources, targets = torch.randint(0, count, (2, 8 * count))
    labels = torch.randint(0, 40, (count,))
    model = models.GraphAttention(
        flags["layers"], _size(64, 8), dropout=flags["dropout"], counted=flags["counted"]
    )
    wait_for_turn()
    model.to(DEVICE)
    nodes, labels = nodes.to(DEVICE), labels.to(DEVICE)
    sources, targets = sources.to(DEVICE), targets.to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, fused=not SMALL)
    for _ in range(cycles):
        optimizer.zero_grad()
        scores = model(nodes, sources, targets)
        if flags["double_loss"]:
            scores = scores.double()
        loss = functional.cross_entropy(scores, labels)
        loss.backward()
        optimizer.step()
        yield


def experts(flags: Flags, cycles: int) -> Iterator[None]:
    """A language model whose layers send every token to one of several experts."""
    rows, length = _size(16, 2), _size(512, 8)
    tokens = [torch.randint(0, 16384, (rows, length + 1)) for _ in range(4)]
    model = models.SwitchModel(_size(512, 32), 3, flags)
    wait_for_turn()
    model.to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=not SMALL)
    for step in range(cycles):
        batch = tokens[step % 4].to(DEVICE)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            loss = model(batch[:, :-1], batch[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if flags["load_printed"]:
            print("tokens of each expert", [layer.load.tolist() for layer in model.layers])
        yield


def state_space(flags: Flags, cycles: int) -> Iterator[None]:
    """A model of sequences by scans, compiled."""
    torch.set_float32_matmul_precision("high")
    rows, length, width = _size(32, 2), _size(512, 8), _size(512, 32)
    batches = [torch.randn(rows, length, width) for _ in range(4)]
    model = models.Scans(width, 3, broken=flags["broken"], scaled=flags["scaled"])
    model.to(DEVICE)
    run: Any = model
    if flags["compiled"] and not SMALL:
        run = torch.compile(model)
        run(batches[0].to(DEVICE)).backward()  # takes long, so not within the turn
        model.zero_grad()
    wait_for_turn()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
    for step in range(cycles):
        loss = run(batches[step % 4].to(DEVICE))
        loss.backward()
        if flags["clip_value"]:
            nn.utils.clip_grad_value_(model.parameters(), flags["clip_value"])
        optimizer.step()
        optimizer.zero_grad()
        yield


def _suppressed(overlaps: np.ndarray, limit: float = 0.5) -> list[int]:
    """The boxes that no better one overlaps."""
    left = np.ones(len(overlaps), bool)
    chosen = []
    for place in range(len(overlaps)):
        if left[place]:
            chosen.append(place)
            left &= overlaps[place] < limit
    return chosen


def detect(model: models.Detector, images: Tensor, flags: Flags) -> list[list[int]]:
    """One cycle: the boxes of a batch of images of bytes."""
    pixels = images.to(DEVICE, non_blocking=True)
    pixels = pixels.to(model.kind).div(255).to(memory_format=torch.channels_last)
    boxes, scores = model(pixels)
    if flags["synchronised"]:
        torch.cuda.synchronize()
    best = scores.topk(_size(100, 4), 1).indices
    boxes = boxes.gather(1, best[:, :, None].expand(-1, -1, 4)).float()
    if flags["overlaps_on_host"]:
        boxes = boxes.cpu()
    overlaps = models.overlaps(boxes).cpu().numpy()
    found = [_suppressed(image) for image in overlaps]
    if flags["wait_ms"]:
        time.sleep(flags["wait_ms"] / 1e3)
    if flags["emptied"]:
        torch.cuda.empty_cache()
    return found


@torch.no_grad()
def detector(flags: Flags, cycles: int) -> Iterator[None]:
    """Boxes of images, overlapping ones suppressed by the host."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    side = _size(320, 32)
    images = [torch.randint(0, 256, (8, 3, side, side), dtype=torch.uint8) for _ in range(4)]
    kind = torch.bfloat16 if flags["half"] else torch.float32
    model = models.Detector(_size(64, 8), flags["blocks"], kind).eval()
    wait_for_turn()
    if not SMALL:
        images = [image.pin_memory() for image in images]
    model.to(DEVICE, kind).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    for step in range(cycles):
        detect(model, images[step % 4], flags)
        yield


def next_tokens(
    large: models.Decoder, small: models.Decoder, token: Tensor, at: int, flags: Flags
) -> Tensor:
    """One cycle: a small model proposes tokens, the large one says how many are right."""
    proposed = [token]
    for ahead in range(flags["ahead"]):
        proposed.append(small(proposed[-1], at + ahead).argmax(-1))
    tokens = torch.cat(proposed, 1)
    if flags["saved_cache"]:
        large.saved = [(keys.clone(), values.clone()) for keys, values in large.cache]
    scores = large(tokens, at)
    if flags["float_scores"]:
        scores = scores.float()
    answer = torch.softmax(scores, -1).argmax(-1)
    right = answer[:, :-1] == tokens[:, 1:]
    if flags["in_turn"]:
        many = 0
        while many < flags["ahead"] and right[:, many].all().item():
            many += 1
        # random weights: read them all, as a model that is often right would
        [right[:, place].all().item() for place in range(many, flags["ahead"])]
    else:
        many = int(right.all(0).int().cumprod(0).sum())
    return answer[:, many : many + 1]


@torch.no_grad()
def speculative(flags: Flags, cycles: int) -> Iterator[None]:
    """Decoding by a large and a small model together."""
    width = _size(1024, 64)
    large = models.Decoder(width, _size(8, 2), flags["attention"]).to(torch.bfloat16)
    small = models.Decoder(width // 2, 2, flags["attention"]).to(torch.bfloat16)
    rows = _size(8, 2)
    prompt = torch.randint(0, 16384, (rows, _size(512, 8)))
    wait_for_turn()
    large.to(DEVICE).prepare(rows)
    small.to(DEVICE).prepare(rows)
    tokens = prompt.to(DEVICE)
    small(tokens, 0)
    token = large(tokens, 0)[:, -1:].argmax(-1)
    for step in range(cycles):
        token = next_tokens(large, small, token, tokens.shape[1] + step, flags)
        yield


def adapters(flags: Flags, cycles: int) -> Iterator[None]:
    """Fine-tuning of a large model by small adapters."""
    model = models.llama(_size(1024, 64), _size(6, 1), flags["attention"])
    models.adapt(model, flags)
    if flags["checkpointing"]:
        model.gradient_checkpointing_enable({"use_reentrant": False})
        model.enable_input_require_grads()
    rows, length = _size(8, 1), _size(512, 8)
    tokens = [torch.randint(0, 16384, (rows, length)) for _ in range(4)]
    wait_for_turn()
    model.to(DEVICE).train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4, foreach=True)
    for step in range(cycles):
        batch = tokens[step % 4].to(DEVICE)
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield


def classifier(flags: Flags, cycles: int) -> Iterator[None]:
    """A residual network in half precision, with a scaler of the loss."""
    side, rows = _size(160, 32), _size(64, 2)
    images = [torch.randn(rows, 3, side, side) for _ in range(4)]
    labels = [torch.randint(0, 100, (rows,)) for _ in range(4)]
    model: nn.Module = models.ResidualNet(_size(64, 8))
    means: list[Tensor] = []
    if flags["means"]:
        for block in model.modules():
            if isinstance(block, models.Bottleneck):
                block.register_forward_hook(lambda *args: means.append(args[2].detach().mean()))
    wait_for_turn()
    if not SMALL:
        images = [image.pin_memory() for image in images]
        labels = [label.pin_memory() for label in labels]
    model = model.to(DEVICE, memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    scaler = torch.amp.GradScaler(DEVICE.type)
    for step in range(cycles):
        image = images[step % 4].to(DEVICE, non_blocking=flags["non_blocking"])
        image = image.to(memory_format=torch.channels_last)
        label = labels[step % 4].to(DEVICE, non_blocking=flags["non_blocking"])
        if flags["mixed"]:
            order = torch.randperm(rows, device=DEVICE)
            image = 0.7 * image + 0.3 * image[order]
        with torch.autocast(DEVICE.type, torch.float16):
            scores = model(image)
            loss = functional.cross_entropy(scores, label)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=flags["set_to_none"])
        means.clear()
        if flags["accuracy"]:
            print(f"accuracy {(scores.argmax(-1) == label).float().mean().item():.3f}")
        yield
