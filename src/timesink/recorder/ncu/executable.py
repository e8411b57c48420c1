"""The `ncu` of this machine: where it is, its version, how it ended."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from timesink.errors import CollectError

# The profilers on this machine: where they are and which version they have.

NCU_VARIABLE = "TIMESINK_NCU"
"""The environment variable that names the `ncu` to run."""

_PLACES = (
    ("/usr/local", "cuda*/bin/ncu"),
    ("/opt/nvidia/nsight-compute", "*/ncu"),
    ("/opt/nvidia/hpc_sdk", "*/*/profilers/Nsight_Compute/ncu"),
)
"""Where installers put `ncu` when they leave PATH alone."""

_SECONDS_FOR_VERSION = 60
_CALLS_ITSELF = "Nsight Compute"
_SIGNALS_FROM = 128
"""A shell adds so much to the number of the signal that ended a program."""


def find_ncu(named: str | Path | None = None) -> Path | None:
    """The `ncu` to run: the one named, that of $TIMESINK_NCU, of PATH, or the newest installed.

    One that is named must be there; otherwise None says that there is none.
    """
    name = str(named) if named else os.environ.get(NCU_VARIABLE, "")
    program = shutil.which(name or "ncu")
    if program is None and name:
        raise CollectError(
            f"{name}: not a program that can be run", "name Nsight Compute's ncu with --ncu PATH"
        )
    if program is None:
        installed = (path for folder, pattern in _PLACES for path in Path(folder).glob(pattern))
        usable = [str(path) for path in installed if os.access(path, os.X_OK)]
        # By the version in a path such as /opt/nvidia/nsight-compute/2025.3.1/ncu.
        version = lambda path: [int(digits) for digits in re.findall(r"\d+", path)]  # noqa: E731
        program = max(usable, key=version, default=None)
    # A path without its leading ./ would be looked up in PATH when it is started.
    return Path(program).absolute() if program is not None else None


def ncu_version(ncu: Path) -> str:
    """What `ncu --version` calls itself, e.g. 2025.3.1.0; empty when it does not say in time."""
    try:
        process = subprocess.run(  # noqa: S603 - the program the user chose
            [ncu, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS_FOR_VERSION,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    except OSError as error:
        raise CollectError.cannot_start(ncu, error) from None
    output = process.stdout + process.stderr
    if _CALLS_ITSELF not in output:
        end = crash_of(process.returncode)
        how = f" (ncu --version: {end})" if end else ""
        raise CollectError(
            f"{ncu}: is not Nsight Compute{how}",
            "name Nsight Compute's ncu with --ncu PATH or TIMESINK_NCU",
        )
    version = re.search(r"^Version\s+([\d.]+)", output, re.MULTILINE)
    return version[1] if version else ""


def crash_of(code: int) -> str:
    """The signal that ended a process, or the one below a script; empty where none did."""
    number = -code if code < 0 else code - _SIGNALS_FROM
    if number <= 0:
        return ""
    try:
        return f"signal {number}, {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}" if code < 0 else ""
