"""Inputs of some operators: a brief reading keeps those of the calls it was asked to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Raw

from timesink.readers.chrome.argument_sets import INPUTS
from timesink.readers.chrome.arguments import ArgumentDecoder
from timesink.readers.chrome.columns import NULL_CODE, Codes, Group, PieceColumn, Vocabularies
from timesink.readers.options import IsChosen


class ChosenInputs:
    """Decodes inputs of the calls whose names are chosen; of the others there are none."""

    def __init__(self, is_chosen: IsChosen) -> None:
        self._is_chosen = is_chosen
        self._decoder = ArgumentDecoder(INPUTS, "inputs")
        self._known: list[bool] = []

    def of(self, names: Codes, raws: Sequence[Raw], words: Vocabularies) -> Group:
        """Columns of the inputs of calls by their names; their arguments are objects for sure."""
        unseen = words.names.words()[len(self._known) :]
        self._known += map(self._is_chosen, unseen)
        # The last entry answers the code of a missing name, which is -1.
        rows = np.flatnonzero(np.array([*self._known, False])[names]).tolist()
        group: Group = {}
        for key, column in self._decoder.columns([raws[row] for row in rows], words).items():
            codes = np.full(len(raws), NULL_CODE, np.int32)
            codes[rows] = column.values
            group[key] = PieceColumn(codes, column.vocabulary)
        return group
