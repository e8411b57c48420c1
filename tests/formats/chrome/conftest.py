"""Fixtures of the tests of the Chrome-format reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builders import Document, write
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import read_trace
from timesink.model.trace import Trace

Read = Callable[[Document | bytes], Trace]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a document, or a text that may be damaged, as if from a file."""

    def read_content(content: Document | bytes) -> Trace:
        return read_trace(write(tmp_path / "trace.json", content), ReadOptions(jobs=1))

    return read_content
