"""What is true about a generated run, in a file beside its traces."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from timesink.lab.ranks.plan import Plan, Truth

TRUTH_FILE = "truth.json"
SCHEMA = "timesink/lab-ranks/1"


def truth_told(plan: Plan, truth: Truth) -> dict[str, Any]:
    """The plan and what came of it, as JSON has it."""
    said = asdict(truth)
    said["files"] = [Path(file).name for file in truth.files]
    return {"schema": SCHEMA, "plan": asdict(plan), **said}


def write_truth(folder: Path, plan: Plan, truth: Truth) -> Path:
    """Write it beside the traces; nothing in it looks like a trace."""
    path = folder / TRUTH_FILE
    path.write_text(json.dumps(truth_told(plan, truth), indent=1) + "\n")
    return path
