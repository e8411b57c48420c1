"""The program a user gives to run."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from timesink.errors import CollectError


def check_program(words: Sequence[str]) -> None:
    """Refuse a program that cannot be started, before a tool says so in its own way."""
    program = words[0]
    if shutil.which(program) is not None:
        return
    if not Path(program).is_file():
        raise CollectError(f"{program}: no such program", "check the name and PATH")
    remedy = f"put python before it, or chmod +x {program}"
    if Path(program).suffix != ".py":
        remedy = f"chmod +x {program}, or ./{program} for one in this folder"
    raise CollectError(f"{program}: not a program that can be run", remedy)
