"""Programs and changes for judging: other models and sizes than in `clock_programs.py`.

They are recorded once the rules are finished.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor

import edited_models
import edited_more_models
from clock_programs import (
    AT_MOST,
    DEVICE,
    HAS_GPU,
    PREPARED,
    PREPARED_WITH_ITEM,
    Clocked,
    Pair,
    compile_blocks,
    edit,
    of,
    pick_size,
)
from edited_changes import Program
from edited_models import Settings, random_batch
from edited_programs import optimizer_of


def prefetch_batches() -> Iterator[None]:
    """The next images travel on a stream of their own while those before them are learned."""
    settings = Settings(pick_size(96, 2), pick_size(160, 32), 8, pick_size(768, 64))
    model = edited_models.ConvNet(settings).to(DEVICE)
    optimizer = optimizer_of("adamw fused", model)
    batches = [random_batch("images", settings) for _ in range(3)]
    if HAS_GPU:
        batches = [
            {key: part.pin_memory() for key, part in host_batch.items()} for host_batch in batches
        ]
    side = torch.cuda.Stream() if HAS_GPU else None

    def sent(number: int) -> dict[str, Tensor]:
        with torch.cuda.stream(side) if side else contextlib.nullcontext():
            ready = batches[number % 3]
            return {key: part.to(DEVICE, non_blocking=True) for key, part in ready.items()}

    coming = sent(0)
    for number in range(1, AT_MOST):
        batch = coming
        if side:
            torch.cuda.current_stream().wait_stream(side)
            for part in batch.values():
                part.record_stream(torch.cuda.current_stream())
        coming = sent(number)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            loss = model(**batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield


_NEOX = Program(edited_models.gpt_neox, "tokens", settings=Settings(24, 768, 3, 1024))
_SOUND = Program(
    edited_models.wav2vec2, "sound", settings=Settings(8, 24000, 3, 512, optimizer="adamw foreach")
)
_DIFFUSION = Program(edited_models.Diffusion, "latents", settings=Settings(16, 256, 4, 512))
_MOBILE = Program(
    edited_more_models.MobileNet,
    "images",
    settings=Settings(64, 192, 6, optimizer="adamw foreach"),
)
_MIXER = Program(edited_more_models.Mixer, "tokens", "infer", Settings(8, 64, 10, 512))
_CODES = Program(edited_models.AutoEncoder, "loader", settings=Settings(96, 128, 6, 1024))
_BART = Program(edited_more_models.bart, "sentences", settings=Settings(16, 512, 2, 512))

FINAL = {
    "bart_train": Clocked(of(_BART), 8, ("shapes",)),
    "electra_train": Clocked(
        of(
            Program(
                edited_more_models.electra,
                "tokens",
                settings=Settings(
                    16, 192, 3, attention="eager", precision="tf32", optimizer="adamw foreach"
                ),
            )
        ),
        options=("stack",),
    ),
    "gemma_decode": Clocked(
        of(
            Program(
                edited_more_models.gemma,
                "tokens",
                "decode",
                Settings(4, 128, 8, 768, precision="half"),
            )
        ),
        options=("stack", "shapes"),
    ),
    "mistral_decode": Clocked(
        of(
            Program(
                edited_models.mistral,
                "tokens",
                "decode",
                Settings(64, 1024, 6, 2048, precision="half"),
            )
        )
    ),
    "swin_train": Clocked(
        of(Program(edited_models.swin, "images", settings=Settings(64, 224, 4))), 8
    ),
    "wav2vec2_train": Clocked(of(_SOUND), options=("shapes",)),
    "segformer_train": Clocked(
        of(Program(edited_models.segformer, "masks", settings=Settings(16, 192, 2, clip=1.0))), 6
    ),
    "olmoe_train": Clocked(
        of(Program(edited_models.olmoe, "tokens", settings=Settings(8, 192, 2, 512))), 8
    ),
    "mobilenet_train": Clocked(of(_MOBILE, channels_last=True)),
    "graph_net": Clocked(
        of(
            Program(
                edited_more_models.GraphNet,
                "graph",
                settings=Settings(64, 128, 6, 256, precision="tf32", optimizer="adamw loop"),
            )
        )
    ),
    "neox_train": Clocked(of(_NEOX, log_every=5), options=("stack",)),
    "diffusion_train": Clocked(of(_DIFFUSION, accumulate=2)),
    "denoiser_small": Clocked(
        of(
            Program(
                edited_more_models.Denoiser,
                "vectors",
                settings=Settings(512, 1, 12, 512, precision="default"),
            )
        ),
        options=("memory",),
    ),
    "mixer_infer": Clocked(of(_MIXER), options=("where",)),
    "prefetching": Clocked(prefetch_batches),
    "autoencoder_loader": Clocked(of(_CODES, workers=4)),
    "phi_decode_item": Clocked(
        of(
            Program(
                edited_models.phi, "tokens", "decode", Settings(16, 512, 6, 1024, precision="half")
            ),
            edit(step=lambda _, token: token[0].item()),
        )
    ),
}

FINAL_PAIRS = {
    "wav2vec2_fused": Pair(
        "AdamW one parameter after the other -> fused",
        of(_SOUND, optimizer="adamw loop"),
        of(_SOUND, optimizer="adamw fused"),
        "fuse Optimizer.step",
    ),
    "neox_no_item": Pair(
        "loss.item() of every step removed, where the host prepares batches for 6 ms",
        of(_NEOX, PREPARED_WITH_ITEM),
        of(_NEOX, PREPARED),
        "remove sync:aten::item (at the end of every step)",
    ),
    "mobilenet_pinned": Pair(
        "pageable -> pinned, non-blocking copies of the images",
        of(_MOBILE, pinned=False),
        of(_MOBILE),
        "copies of host to device at the rate of pinned memory, and nobody waits for them",
    ),
    "autoencoder_workers": Pair(
        "DataLoader workers 0 -> 6",
        of(_CODES, workers=0),
        of(_CODES, workers=6),
        "loader workers inf: time in DataLoader.__next__ removed",
    ),
    "bart_sdpa": Pair(
        "attention written out -> sdpa",
        of(_BART, attention="eager", batch=48, length=768),
        of(_BART, batch=48, length=768),
        "kernels of attention (bmm, softmax, masks) at a quarter of their time",
        8,
    ),
    "diffusion_compiled": Pair(
        "torch.compile of each block, in training",
        of(_DIFFUSION, batch=64, length=512, width=768),
        of(_DIFFUSION, edit(model=compile_blocks), batch=64, length=512, width=768),
        "fuse Block.forward and its backward: elementwise kernels and their launches go",
    ),
    "mixer_graph": Pair(
        "inference as a CUDA graph",
        of(_MIXER),
        of(_MIXER, run="graph"),
        "launches of the forward pass become one: fuse everything within answer()",
    ),
    "neox_twice": Pair(
        "batch 24 -> 48, device-bound",
        of(_NEOX),
        of(_NEOX, batch=48),
        "all kernels twice as long",
    ),
    "lstm_library": Pair(
        "LSTM cells in a loop -> nn.LSTM",
        of(
            Program(edited_models.Recurrent, "tokens", settings=Settings(32, 48, 1, 512)),
            unrolled=True,
        ),
        of(Program(edited_models.Recurrent, "tokens", settings=Settings(32, 48, 1, 512))),
        "fuse the loop over lstm_cell, forward and backward: 48 launches of each become a few",
        6,
    ),
    "mobilenet_channels_last": Pair(
        "channels_last",
        of(_MOBILE, batch=192),
        of(_MOBILE, batch=192, channels_last=True),
        "convolutions without their transposing kernels",
    ),
}
