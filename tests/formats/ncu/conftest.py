"""What the tests of this folder share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from timesink.formats.source_file import read_trace
from timesink.model.trace import Trace

Read = Callable[..., Trace]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a text to a file and read it."""

    def write_and_read(text: str | bytes, name: str = "calls.out") -> Trace:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_trace(path)

    return write_and_read
