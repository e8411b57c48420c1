"""What PyTorch writes beside collectives and kernels, as the text of their arguments."""

from __future__ import annotations

import numpy as np

from timesink.lab.ranks import work
from timesink.lab.ranks.events import differs
from timesink.lab.ranks.layout import DESCRIPTIONS
from timesink.lab.ranks.program import HostCall

WAITED = (
    '"Collective name": "wait", "In msg nelems": 0, "Out msg nelems": 0, "Group size": 1, '
    '"dtype": "Byte", "In split size": "[]", "Out split size": "[]", "Process Group Ranks": "[]"'
)
"""Of a call that waits for a collective; nothing says which one it is."""


def described(call: HostCall, tokens: float) -> str:
    """Arguments that both a collective call and its kernel carry."""
    elements = round(call.elements * (tokens if call.per_token else 1.0))
    dtype = "Float" if call.talk == "all_reduce_small" else "BFloat16"
    role = call.role
    return (
        f'"Collective name": "{work.TALKS[call.talk].collective}", '
        f'"In msg nelems": {elements}, "Out msg nelems": {elements * call.grows}, '
        f'"Group size": {differs(f"{role} size")}, "dtype": "{dtype}", '
        '"In split size": "[]", "Out split size": "[]", '
        f'"Process Group Name": "{differs(f"{role} name")}", '
        f'"Process Group Description": "{DESCRIPTIONS[role]}", '
        f'"Process Group Ranks": "{differs(f"{role} ranks")}"'
    )


def placed(call: HostCall, sequence: int | None) -> str:
    """Arguments that only the call carries: who makes it, with whom, and which it is."""
    parts = [f'"Rank": {differs("rank")}']
    if call.forward:
        own, other = ("Src", "Dst") if call.talk == "send" else ("Dst", "Src")
        neighbour = differs(f"neighbour {call.forward}")
        parts += [f'"{own} Rank": {differs("rank")}', f'"{other} Rank": {neighbour}']
    if sequence is not None:
        parts.append(f'"Seq": {sequence}')
    return ", ".join(parts)


def kernel_geometry(kernel: work.LaunchedKernel, tokens: float) -> str:
    """The geometry of a kernel that works on so many times the usual tokens."""
    x, y, z = kernel.grid
    if kernel.per_token and tokens != 1.0:
        x, y = (x, round(y * tokens)) if y > 1 else (round(x * tokens), y)
    return geometry((x, y, z), kernel.block, kernel.registers, kernel.shared)


def geometry(
    grid: tuple[int, int, int], block: tuple[int, int, int], registers: int, shared: int
) -> str:
    """Grid, block, and what follows from them."""
    blocks = float(np.prod(grid)) / work.MULTIPROCESSORS
    warps = blocks * -(-int(np.prod(block)) // 32)
    return (
        f',      "registers per thread": {registers},      "shared memory": {shared},      '
        f'"blocks per SM": {blocks:.6f},      "warps per SM": {warps:.6f},      '
        f'"grid": {list(grid)},      "block": {list(block)},      '
        f'"est. achieved occupancy %": {min(round(100 * warps / 64), 100)}'
    )
