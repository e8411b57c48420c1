"""Folders of recordings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recorded import environment
from timesink.errors import OutputError
from timesink.recorder.folder import RecordingFolder
from timesink.recorder.processes import birth

PREPARES = """
import sys
from pathlib import Path
from timesink.recorder.folder import RecordingFolder
RecordingFolder(Path(sys.argv[1])).prepare()
print(flush=True)
sys.stdin.read()
"""


def test_two_recordings_are_not_mixed(tmp_path: Path):
    place, pipe = RecordingFolder(tmp_path / "run"), subprocess.PIPE
    command = [sys.executable, "-c", PREPARES, str(place.folder)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment()) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(OutputError, match=f"process {other.pid} is recording there"):
            place.check(force=True)
        with pytest.raises(OutputError, match="is recording there"):
            place.prepare()
        other.communicate()
    place.check(force=True)


@pytest.mark.skipif(not birth(os.getpid()), reason="needs /proc")
def test_number_of_a_killed_recorder_that_is_used_again(tmp_path: Path):
    """As in a container, where it is 1 every time."""
    place = RecordingFolder(tmp_path / "run")
    place.prepare()
    (place.control / "recorder.pid").write_text(f"{os.getpid()} long ago")
    place.check(force=True)
    place.prepare()
    assert place.recorder() == os.getpid()


def test_what_a_killed_recorder_left_is_no_hindrance(tmp_path: Path):
    place = RecordingFolder(tmp_path / "run")
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
    place = RecordingFolder(tmp_path / "run")
    place.folder.mkdir()
    (tmp_path / "mine").write_text("mine")
    place.run_file.symlink_to(tmp_path / "mine")
    place.counters.symlink_to(tmp_path / "nowhere")
    place.prepare()
    assert [path.name for path in place.folder.iterdir()] == [place.control.name]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "run"]
