"""What is launched, as numbers: one recording after the other, or a part of one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from timesink.model.arrays import Ints


@dataclass(frozen=True, eq=False)
class Launches:
    """Launches in order; equal numbers mean the same in both recordings that are compared."""

    kind: Ints
    """Equal in all that both recordings tell."""
    function: Ints
    """Equal in name."""
    family: Ints
    """Equal in what they are for; -1 where that is not known."""

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, rows: slice | NDArray[np.integer]) -> Launches:
        return Launches(self.kind[rows], self.function[rows], self.family[rows])
