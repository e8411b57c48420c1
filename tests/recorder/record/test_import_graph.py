"""The recorder runs where nothing but Python is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bare import COMMAND, bare_environment

LISTING = """
import importlib, pkgutil, sys
before = set(sys.modules)
import timesink.recorder.counter_sampler, timesink.recorder, timesink.cli.record
for package in (timesink.recorder, timesink.recorder):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
assert timesink.record
imported = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(imported - sys.stdlib_module_names))
"""


def test_only_the_standard_library_is_imported():
    """Also where the rest is installed: nothing is imported just because it is there."""
    process = subprocess.run([sys.executable, "-c", LISTING], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert (process.stderr, process.stdout) == ("", "['timesink']\n")


def test_record_without_the_analysis_stack(tmp_path: Path):
    command = ["record", "-o", "run", "--", sys.executable, "-c", "print('ran')"]
    process = subprocess.run([*COMMAND, *command], cwd=tmp_path, capture_output=True, text=True,
                          env=bare_environment(tmp_path / "bare"), check=True)  # fmt: skip
    assert process.stdout == "ran\n"
    assert (tmp_path / "run" / "run.json").exists()


def test_block_without_the_analysis_stack(tmp_path: Path):
    program = "import timesink\nwith timesink.record('run') as recording:\n    recording.step()"
    subprocess.run([sys.executable, "-S", "-c", program], cwd=tmp_path, check=True,
                   env=bare_environment(tmp_path / "bare"))  # fmt: skip
    assert (tmp_path / "run" / "run.json").exists()
