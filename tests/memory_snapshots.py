"""Memory snapshots as PyTorch writes them, of an allocator that is played here and keeps count."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from timesink.errors import TimesinkError
from timesink.formats.source_file import read_trace
from timesink.runtime.native import NATIVE_VARIABLE

Frame = dict[str, Any]
Snapshot = dict[str, Any]

START_US = 1_760_000_000_000_000
SEGMENT = 64 << 20
ROUND = 512


def frame(file: str, line: int, name: str) -> Frame:
    return {"filename": file, "line": line, "name": name}


TORCH = "/env/lib/python3.12/site-packages/torch"
MAIN = frame("/code/train.py", 40, "main")
SETUP = [
    frame(f"{TORCH}/nn/modules/module.py", 1320, "convert"),
    frame(f"{TORCH}/nn/modules/module.py", 900, "_apply"),
    frame(f"{TORCH}/nn/modules/module.py", 1350, "to"),
    MAIN,
]
ATTENTION = [
    frame(f"{TORCH}/nn/modules/linear.py", 125, "forward"),
    frame(f"{TORCH}/nn/modules/module.py", 1750, "_call_impl"),
    frame("/code/net.py", 20, "forward"),
    frame(f"{TORCH}/nn/modules/module.py", 1750, "_call_impl"),
    frame("/code/train.py", 52, "step"),
    MAIN,
]
HEAD = [frame("/code/net.py", 31, "forward"), frame("/code/train.py", 52, "step"), MAIN]
BACKWARD = [
    frame(f"{TORCH}/autograd/graph.py", 825, "_engine_run_backward"),
    frame(f"{TORCH}/_tensor.py", 626, "backward"),
    frame("/code/train.py", 55, "step"),
    MAIN,
]
OPTIMIZER = [
    frame(f"{TORCH}/optim/adam.py", 180, "_init_group"),
    frame(f"{TORCH}/optim/adam.py", 230, "step"),
    frame("/code/train.py", 57, "step"),
    MAIN,
]
UPDATE = [
    frame(f"{TORCH}/optim/adam.py", 700, "_multi_tensor_adam"),
    frame("/code/train.py", 57, "step"),
    MAIN,
]
LOGGING = [frame("/code/train.py", 61, "log"), MAIN]


class Allocator:
    """Allocates in segments, writes its history, and keeps count as `torch.cuda` does."""

    def __init__(self, *, rounds: bool = True) -> None:
        self.events: list[dict[str, Any]] = []
        self.allocated = self.peak = self.reserved = 0
        self._now = START_US
        self._rounds = rounds
        self._segments: list[dict[str, Any]] = []
        self._live: dict[int, tuple[int, int, list[Frame]]] = {}
        self._free: list[tuple[int, int]] = []

    def _event(self, action: str, address: int, size: int, frames: list[Frame]) -> None:
        self._now += 10
        self.events.append(
            {
                "action": action,
                "addr": address,
                "size": size,
                "stream": 0,
                "time_us": self._now,
                "compile_context": "N/A",
                "user_metadata": "",
                "frames": frames,
            }
        )

    def alloc(self, requested: int, frames: list[Frame]) -> int:
        size = -(-requested // ROUND) * ROUND if self._rounds else requested
        place = next((k for k, (_, free) in enumerate(self._free) if free >= size), None)
        if place is None:
            address = 0x7F0000000000 + self.reserved
            total = max(SEGMENT, size)
            self._segments.append({"address": address, "total_size": total, "frames": frames})
            self.reserved += total
            self._event("segment_alloc", address, total, frames)
            self._free.append((address, total))
            place = len(self._free) - 1
        address, free = self._free.pop(place)
        if free > size:
            self._free.insert(place, (address + size, free - size))
        self._live[address] = (size, requested, frames)
        self.allocated += size
        self.peak = max(self.peak, self.allocated)
        self._event("alloc", address, requested, frames)
        return address

    def free(self, *addresses: int) -> None:
        for address in addresses:
            size, requested, _ = self._live.pop(address)
            self.allocated -= size
            self._event("free_requested", address, requested, [MAIN])
            self._event("free_completed", address, requested, [MAIN])
            self._free.append((address, size))

    def fail(self, size: int, device_free: int, frames: list[Frame]) -> None:
        self._event("oom", 0, size, frames)
        failed = self.events[-1]
        del failed["addr"]
        failed["device_free"] = device_free

    def snapshot(self, *, keep: int | None = None, old: bool = False) -> Snapshot:
        """What `torch.cuda.memory._snapshot()` gives; with the last events alone, or as in 2022."""
        segments = []
        for number, about in enumerate(self._segments):
            start, end = about["address"], about["address"] + about["total_size"]
            pieces = [
                (a, *self._live[a], "active_allocated") for a in self._live if start <= a < end
            ]
            pieces += [(a, size, 0, [], "inactive") for a, size in self._free if start <= a < end]
            blocks = []
            for address, size, requested, frames, state in sorted(pieces, key=lambda p: p[0]):
                block = {"address": address, "size": size, "state": state}
                if old:
                    del block["address"]
                    past = [{"addr": address, "real_size": requested, "frames": frames}]
                    block["history"] = past if state != "inactive" else []
                    if not block["history"]:
                        del block["history"]
                else:
                    block |= {"requested_size": requested, "frames": frames}
                blocks.append(block)
            live = [b for b in blocks if b["state"] == "active_allocated"]
            used = sum(b["size"] for b in live)
            segments.append(
                {
                    "device": 0,
                    "address": start,
                    "total_size": about["total_size"],
                    "allocated_size": used,
                    "active_size": used,
                    "requested_size": sum(b.get("requested_size", b["size"]) for b in live),
                    "stream": 0,
                    "segment_type": "large",
                    "segment_pool_id": (0, 0),
                    "is_expandable": number > 100,
                    "frames": about["frames"],
                    "blocks": blocks,
                }
            )
        events = self.events if keep is None else self.events[-keep:]
        if old:
            return {"segments": segments, "device_traces": []}
        return {
            "segments": segments,
            "device_traces": [events, []],
            "allocator_settings": {"expandable_segments": False},
            "external_annotations": [],
        }


PARAMETERS = (4_000_000, 2_000_000, 4_100)


def train(steps: int = 4, *, leak: int = 0, batch: int = 1, fails: bool = False) -> Allocator:
    """Training: parameters, then steps of a forward pass, a backward pass and an optimizer."""
    made = Allocator()
    for size in PARAMETERS:
        made.alloc(size, SETUP)
    gradients: list[int] = []
    for step in range(steps):
        made.free(*gradients)
        activations = [made.alloc(batch * 6_000_000, ATTENTION) for _ in range(3)]
        temporary = made.alloc(batch * 1_000_000, HEAD)
        activations.append(made.alloc(batch * 500_000, HEAD))
        made.free(temporary)
        if fails and step == steps - 1:
            made.fail(80 << 30, 1 << 20, ATTENTION)
            return made
        gradients = []
        for size, activation in zip(PARAMETERS, activations, strict=False):
            scratch = made.alloc(batch * 3_000_000, [])
            gradients.append(made.alloc(size, BACKWARD))
            made.free(scratch, activation)
        made.free(*activations[len(PARAMETERS) :])
        if not step:
            for size in PARAMETERS:
                made.alloc(size, OPTIMIZER)
                made.alloc(size, OPTIMIZER)
        update = made.alloc(5_000_000, UPDATE)
        made.free(update)
        if leak:
            made.alloc(leak, LOGGING)
    return made


def write_snapshot(path: Path, snapshot: Snapshot, protocol: int = 4) -> Path:
    path.write_bytes(pickle.dumps(snapshot, protocol))
    return path


_INSTRUCTIONS = b"h}](\x94uesaNKMJ\x8aG\x8c\x85\x86\x87t)jX."


def snapshots() -> list[bytes]:
    """Small snapshots, of all sorts that there are."""
    named = train(3).snapshot()
    for number, event in enumerate(named["device_traces"][0]):
        event["frames"] = [
            *event["frames"],
            {"name": "\u00fcn\u00ef" * 200, "filename": "\u65e5.py", "line": number % 3},
        ]
        if not number % 5:
            event["user_metadata"] = f"note {number % 3}"
    mark = {"name": "ProfilerStep#1", "device": 0, "time_us": 5, "stage": "START"}
    named["external_annotations"] = [mark]
    plain = train(4).snapshot()
    values = [plain, train(4, fails=True).snapshot(), train(3, leak=5000).snapshot(keep=50)]
    values += [train(2).snapshot(old=True), named]
    return [*(pickle.dumps(value, 4) for value in values), pickle.dumps(plain, 5)]


def mutants(count: int, seed: int) -> Iterator[bytes]:
    """Snapshots as they are, then with bytes changed, lost and added."""
    draw, bases = random.Random(seed), snapshots()  # noqa: S311 - the same in every run
    yield from bases
    for number in range(count - len(bases)):
        data = bytearray(bases[number % len(bases)])
        for _ in range(draw.randint(1, 4)):
            place, sort = draw.randrange(len(data)), draw.random()
            if sort < 0.6:
                data[place] = draw.choice([draw.randrange(256), *_INSTRUCTIONS])
            elif sort < 0.75:
                del data[place : place + draw.randint(1, 4)]
            elif sort < 0.95:
                data[place:place] = data[place : place + draw.randint(1, 6)]
            else:
                del data[max(place, 2) :]
        yield bytes(data)


def answer_of(path: Path, *, is_native: bool) -> Any:
    """What one of the readers makes of a file."""
    before = os.environ.get(NATIVE_VARIABLE, "1")
    os.environ[NATIVE_VARIABLE] = "1" if is_native else "0"
    try:
        trace = read_trace(path)
    except TimesinkError as error:
        return str(error)
    finally:
        os.environ[NATIVE_VARIABLE] = before
    texts = pl.col(pl.Categorical).cast(pl.String)
    tables = [
        trace.lazy(name).with_columns(texts).collect().to_dicts()
        for name in ("memory", "memory_blocks", "memory_segments")
    ]
    return tables, trace.metadata, sorted(map(str, trace.health))
