"""What the former plugin answered, and whether a server answers the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

RUNS = ("resnet50_num_workers_0", "resnet50_num_workers_4")
ROUTES = (
    ("overview", {}),
    ("operation", {"group_by": "Operation"}),
    ("operation/table", {"group_by": "Operation"}),
    ("kernel/table", {"group_by": "Kernel"}),
    ("kernel", {"group_by": "Kernel"}),
)


def differences(ask: Callable[[str, dict[str, str]], str], shared: Path, workshop: Path) -> str:
    """What differs from the published answers; nothing where all are equal.

    `ask` is given a route and its parameters.
    """
    answers = [
        ask(route, {"run": run, "worker": "worker0", "span": "1", **more})
        for run in RUNS
        for route, more in ROUTES
    ]
    candidate = workshop / "answers.jsonl"
    candidate.write_text("\n".join(answers))
    golden = shared / "data" / "kineto" / "tb_golden.jsonl"
    check = [sys.executable, shared / "tools" / "check_tb.py", golden, candidate]
    checked = subprocess.run(check, capture_output=True, text=True, check=False)
    return f"{checked.stdout}{checked.stderr}" if checked.returncode else ""
