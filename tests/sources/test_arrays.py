"""Arrays in one file that is mapped."""

from __future__ import annotations

import numpy as np
import pytest

from timesink.sources.kept_answers import array_blocks, arrays_in

ARRAYS = {
    "starts": np.arange(5, dtype=np.int64),
    "nothing": np.zeros(0, dtype=np.float64),
    "codes": np.array([3, 1, 2], dtype=np.uint8),
}


def content() -> bytes:
    return b"".join(array_blocks({"names": ["a", "ü"]}, ARRAYS))


def test_arrays_come_back_with_types_and_values():
    arrays = arrays_in(content())
    assert arrays is not None
    assert arrays.about == {"names": ["a", "ü"]}
    assert list(arrays.arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays.arrays[name].dtype == array.dtype
        assert arrays.arrays[name].tolist() == array.tolist()


@pytest.mark.parametrize("size", [0, 5, 20, 40, 120, -1])
def test_half_a_file_is_none(size: int):
    assert arrays_in(content()[:size]) is None


def test_more_than_was_written_is_none():
    assert arrays_in(content() + b"\0") is None
