"""Small cases of what the helpers of sources give."""

from __future__ import annotations

from pathlib import Path

from timesink.sources.recordings import Recording
from timesink.sources.remote import on_this_machine


def test_a_local_recording_is_read_where_it_is() -> None:
    with on_this_machine(Recording(Path("a.json"), "a")) as path:
        assert str(path) == "a.json"
