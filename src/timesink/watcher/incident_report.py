"""What a recording of slow cycles says beside one of healthy ones, in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from timesink.answers.comparison.document import comparison_document, indented_json
from timesink.answers.comparison.gate import comment_md
from timesink.answers.comparison.report import Comparison
from timesink.answers.comparison.work import compare
from timesink.model.diagnosis import Expectation
from timesink.output.html import report_html
from timesink.watcher.journal import write_whole

_KEPT = ("verdict", "reason", "headline", "cycle_time", "causes", "anomalies")
_MOST = 10
_SLOW_STATES = ("new", "worse", "same")


def compare_recordings(
    base: str, new: str, to: str, slower_us: float, explains: Sequence[str]
) -> dict[str, Any]:
    """Compare two recordings; pages and comments go to a folder, the facts are given back.

    Cycles of the second one take so much longer than was expected, which explains some causes.
    """
    folder = Path(to)
    found = compare(base, new).beyond(Expectation(1000 * slower_us, tuple(explains)))
    command = ("timesink", "compare", base, new)
    files = {
        "report.html": report_html(comparison_document(found)),
        "comment.md": comment_md(found, None, command),
        "comparison.json": indented_json(found),
    }
    for name, text in files.items():
        write_whole(folder / name, f"{text.rstrip()}\n".encode(errors="backslashreplace"))
    return {"files": list(files), **comparison_facts(found)}


def comparison_facts(found: Comparison) -> dict[str, Any]:
    """What an incident keeps of a comparison; comparison.json has all of it."""
    values = found.to_dict()
    facts = {name: values.get(name) for name in _KEPT}
    facts["causes"] = values["causes"][:_MOST]
    facts["anomalies"] = values["anomalies"][:_MOST]
    facts["edits"] = (values["program"] or {}).get("edits", [])[:_MOST]
    facts["notes"] = [*values["notes"], *values["diagnosis_notes"]]
    facts["remarks"] = [
        f"Cycles do not hold the same work. {' '.join(one.pair.workload.reasons)}"
        for one in found.all_pairs[:1]
        if not one.pair.workload.comparable
    ]
    stragglers = (values.get("ranks") or {}).get("stragglers") or ()
    slow = next((one for one in stragglers if one["state"] in _SLOW_STATES), None)
    facts["slow_rank"] = None if slow is None else slow["rank"]
    first = (*values["causes"], *values["anomalies"])[:1]
    facts["cause"] = first[0]["sentence"] if first else ""
    return facts
