"""How much operators are given to do, by the shapes of their inputs: for runs without a device."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any

import msgspec
import numpy as np

from timesink.analyses.texts import encode
from timesink.model.arrays import Floats
from timesink.model.trace import Trace

_SHAPES = msgspec.json.Decoder(list[Any])


def operator_work(trace: Trace) -> Floats:
    """Work of each row of `trace.host`; 0 where no shapes are recorded."""
    codes, texts = encode(trace.lazy("host").select("input_dims").collect()["input_dims"])
    known = np.array([work_of_shapes(text or "") for text in texts] or [0.0])
    return np.asarray(known[codes])


def work_of_shapes(text: str) -> float:
    """The product of all sizes, of which those that inputs share count once.

    For a product of matrices, and for what goes element by element, this grows with the work.
    """
    try:
        shapes = _SHAPES.decode(text)
    except msgspec.MsgspecError:
        return 0.0
    sizes: Counter[int] = Counter()
    for shape in shapes:
        if isinstance(shape, list) and all(isinstance(size, int) for size in shape):
            sizes |= Counter(shape)
    return float(prod(sizes.elements())) if sizes else 0.0
