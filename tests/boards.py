"""A real TensorBoard with the plugin of this checkout, installed or not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path

import timesink
from shared_folder import REPOSITORY

GROUP = "tensorboard_plugins"


@contextmanager
def tensorboard(logdir: Path, workshop: Path) -> Iterator[str]:
    """The address of a TensorBoard as users start it; `workshop` is an empty folder."""
    sources = Path(timesink.__file__).parents[1]
    path = [*entry_point_folder(workshop), str(sources), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir), "--port", "0"]
    with subprocess.Popen(
        [*command, "--load_fast", "false"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
    ) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            matches = (re.search(r"TensorBoard \S+ at (\S+)", line) for line in lines)
            yield next(match[1] for match in matches if match)
        finally:
            process.kill()


def entry_point_folder(workshop: Path) -> list[str]:
    """What an installation tells TensorBoard, for a checkout that is not installed."""
    if any(point.value.startswith("timesink.") for point in entry_points(group=GROUP)):
        return []
    declared = (REPOSITORY / "pyproject.toml").read_text().split(f"[project.entry-points.{GROUP}]")
    points = declared[1].split("\n[")[0].replace('"', "")
    about = workshop / "timesink-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: timesink\nVersion: 0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]{points}")
    return [str(workshop)]
