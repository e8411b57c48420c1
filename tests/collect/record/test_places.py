"""Folders of recordings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from timesink.collect.record.places import Place
from timesink.errors import OutputError


def test_two_recordings_are_not_mixed(tmp_path: Path):
    place = Place(tmp_path / "run")
    place.prepare()
    with pytest.raises(OutputError, match=f"process {os.getpid()} is recording there"):
        place.check(force=True)
    with pytest.raises(OutputError, match="is recording there"):
        place.prepare()


def test_what_a_killed_recorder_left_is_no_hindrance(tmp_path: Path):
    place = Place(tmp_path / "run")
    place.prepare()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (place.control / "recorder.pid").write_text(str(gone.pid))
    with pytest.raises(OutputError, match="already exists"):
        place.check(force=False)
    place.check(force=True)
    place.prepare()


def test_links_lead_nowhere(tmp_path: Path):
    """Files of others stay as they are, and none appear."""
    place = Place(tmp_path / "run")
    place.folder.mkdir()
    (tmp_path / "mine").write_text("mine")
    place.run_file.symlink_to(tmp_path / "mine")
    place.counters.symlink_to(tmp_path / "nowhere")
    place.prepare()
    assert [path.name for path in place.folder.iterdir()] == [place.control.name]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "run"]
