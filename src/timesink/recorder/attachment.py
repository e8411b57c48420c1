"""Letting the agent into a program that runs already."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from timesink.errors import CollectError, UsageError
from timesink.recorder.folder import CONTROL_VARIABLE
from timesink.recorder.recording import SITE

_OLDEST = (3, 14)
_SCRIPT = """\
import importlib.util, os
before = os.environ.get({variable!r})
os.environ[{variable!r}] = {control!r}
try:
    spec = importlib.util.spec_from_file_location("timesink_attached", {site!r})
    site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(site)
    site._begin()
finally:
    if before is None:
        del os.environ[{variable!r}]
    else:
        os.environ[{variable!r}] = before
"""
"""Run by the program between two of its own lines; children it starts are left alone."""


def attach(pid: int, control: Path) -> None:
    """Have a process take part, by the plan in a control folder: it needs Python 3.14, as we do.

    The process comes to it by itself, when it next runs Python in its main thread; the script it
    runs lies in the control folder.

    >>> import sys
    >>> if sys.version_info < (3, 14):
    ...     try:
    ...         attach(1, Path("."))
    ...     except UsageError as error:
    ...         print(error.message[:42])
    ... else:
    ...     print("a running program cannot be watched with P")
    a running program cannot be watched with P
    """
    remote_exec: Any = getattr(sys, "remote_exec", None)
    if sys.version_info < _OLDEST or remote_exec is None:
        mine = ".".join(map(str, sys.version_info[:2]))
        raise UsageError(
            f"a running program cannot be watched with Python {mine}: "
            "timesink and the program need 3.14",
            "start the program with `timesink watch -- COMMAND`",
        )
    try:
        remote_exec(pid, str(script_for(control)))
    except ProcessLookupError:
        raise UsageError(f"there is no process {pid}", "check the number after --pid") from None
    except (OSError, RuntimeError, ValueError) as error:
        raise CollectError(
            f"process {pid} cannot be entered ({error})",
            "it must run the same version of Python and be yours; as root others can be entered",
        ) from None


def script_for(control: Path) -> Path:
    """What the process is to run; left in the control folder, which it can read."""
    site = str(SITE / "sitecustomize.py")
    text = _SCRIPT.format(variable=CONTROL_VARIABLE, control=str(control.absolute()), site=site)
    end, path = tempfile.mkstemp(prefix="attach-", suffix=".py", dir=control)
    with os.fdopen(end, "w") as file:
        file.write(text)
    return Path(path)
