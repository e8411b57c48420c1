"""What is launched, as numbers: one recording after the other, or a part of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Launches:
    """Launches in order; equal numbers mean the same in both recordings that are compared."""

    kind: Numbers
    """Equal in all that both recordings tell."""
    function: Numbers
    """Equal in name."""
    family: Numbers
    """Equal in what they are for; -1 where that is not known."""

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, rows: slice | NDArray[np.integer]) -> Launches:
        return Launches(self.kind[rows], self.function[rows], self.family[rows])
