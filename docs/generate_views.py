"""Write docs/views.md: what each table of `--view` answers; `--check` fails when it is stale.

Titles and what to record come from `views.csv` and `views.py`.  A view that no group names, or a
name that is no view, stops the script.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from generated import write_or_check

from timesink.answers.views import VIEWS, find_view

PAGE = Path(__file__).parent / "views.md"
GROUPS = {
    "The step": {
        "steps": "Which step is slow, and in which part",
        "critical-path": "What must become faster for the step to become shorter",
        "critical-path-modules": "Which part of the model that is",
        "slack": "What can become slower without cost; what has none",
    },
    "Operators and modules": {
        "operators": "Which operator takes the time, on host and device; `--group-by` for shapes "
        "and stacks",
        "graphs": "How often each graph was replayed, and where the names of its work come from",
        "compiled": "Which operators, modules and lines a generated kernel does the work of",
        "compiled-code": "What the code of a generated kernel is",
        "compiled-modules": "How the device time of compiled code is spread over modules",
        "launch-sites": "Which call launched the device work; adds up to all of it",
        "modules": "Which layer of the model takes the time",
        "python": "Which Python function takes the time",
        "annotations": "Which range of the program takes the device time",
    },
    "Kernels": {
        "kernels": "Which kernel takes the time; whether it uses tensor cores",
        "kernel-launches": "With which operator and launch shape a kernel is slow",
    },
    "Efficiency": {
        "efficiency": "Which operator and shape is farthest from its roofline",
        "efficiency-families": "Whether products, attention or elementwise work lose the time",
        "efficiency-kernels": "Which kernel is farthest from its roofline",
        "efficiency-modules": "Which layer is farthest from its roofline",
    },
    "Devices and idle time": {
        "devices": "How busy each device was",
        "device-time": "How the time of a device splits into computation, communication, copies "
        "and idle",
        "kernel-kinds": "What runs beside what",
        "overlap": "How much communication is exposed in each step",
        "idle": "Why a stream had no work",
        "idle-causes": "Why a device had no work during the steps",
        "gaps": "Where the longest idle gaps are, and what the host did in them",
    },
    "Launches and queues": {
        "launches": "How long launches take, on the host and until the work starts",
        "operator-delays": "How long an operator prepares before it launches",
        "queue": "Whether the host runs ahead of the device",
        "queue-depth": "When a queue ran empty",
    },
    "Memory": {
        "memory": "Which operator allocates",
        "memory-peaks": "How high memory rose, and when",
        "memory-live": "What was allocated at the peak",
        "memory-curve": "How memory changes over time",
        "memory-categories": "What memory is for at the peak: parameters, activations, ...",
        "memory-modules": "Which module holds the memory at the peak",
        "memory-stacks": "Which line of the program holds the memory at the peak",
        "memory-steps": "How high memory rises in each step, and whether it grows",
        "memory-growth": "What made memory grow most from one step to the next",
        "memory-unfreed": "What is never given back",
        "memory-reserved": "How much memory is reserved and unused, and in what pieces",
        "memory-failures": "Which allocation failed, and what was free then",
        "memory-events": "How long each allocation lives",
    },
    "Communication": {
        "collectives": "How long each collective takes",
        "collective-statistics": "Which collective takes the time, per process",
        "collectives-matched": "What bandwidth a collective reaches, and whom it waits for",
        "mismatches": "Which call has no partner on other processes",
        "collective-log": "Which rank never entered a collective, from logs without a timeline",
        "collective-log-ranks": "How far each rank came, from logs without a timeline",
        "collective-log-sizes": "What bandwidth collectives reach, from logs without a timeline",
    },
    "Ranks": {
        "ranks": "What each rank spends a step on",
        "stragglers": "Which rank the others wait for, and why",
        "rank-path": "Through which ranks the critical path goes",
        "rank-steps": "In which step a rank is slow",
        "rank-groups": "Which ranks behave differently from the rest",
        "process-groups": "Which ranks communicate with each other, and what for",
        "clocks": "How well the clocks of ranks can be compared",
        "workers": "How long each process waits for others",
    },
}
"""The question that each view answers, by what it is about."""


def page() -> str:
    return "\n".join([*_introduction(), *_groups(), ""])


def _introduction() -> Iterator[str]:
    yield "# Views: one complete table each"
    yield ""
    yield "Generated by `make docs` from `src/timesink/answers/views.csv`; do not edit."
    yield ""
    yield "Print a table by its name. Choose it below by the question it answers."
    yield ""
    yield "<!-- output -->"
    yield "```console"
    yield from _present_output()
    yield "```"
    yield ""
    yield "| option | effect |"
    yield "|---|---|"
    yield "| `--top N` | number of rows |"
    yield "| `--sort COLUMN` | order by this column, largest first |"
    yield "| `--filter TEXT` | only rows that contain the text |"
    yield "| `--steps 5-8` | only these steps |"
    yield "| `--clock corrected` | times without profiler overhead (default: as recorded) |"
    yield "| `--group-by` | rows of `operators`: `name`, `shape`, `stack`, `shape-stack` |"
    yield "| `--format csv`, `--format json` | every column; text shows the main ones |"
    yield ""
    yield "`critical-path`, `slack` and the efficiency views use the clock of the answer: see"
    yield "[profiler_overhead.md](profiler_overhead.md)."
    yield "In Python: `timesink.analyze(path).table(NAME)`, with lengths of time in nanoseconds."
    yield 'So in SQL: `timesink query trace.json.gz "select * from kernel_launches"`. Where a table'
    yield "of the recording has the name, the view is `view_steps`, `view_memory` or"
    yield "`view_collectives`. Tables of `timesink kernels --by` are `kernels_by_family` and so on."
    yield ""
    yield "The view links to its columns. *Needs* says what the recording must hold."


def _present_output() -> list[str]:
    """What stands below the first `console` line now: `refresh_outputs.py` keeps it up to date."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    _, _, rest = text.partition("```console\n")
    block, _, _ = rest.partition("```")
    return block.splitlines() or ["$ timesink analyze trace.json.gz --view gaps --top 3"]


def _groups() -> Iterator[str]:
    questions = {name: text for group in GROUPS.values() for name, text in group.items()}
    if unlike := set(VIEWS) ^ questions.keys():
        msg = f"docs/generate_views.py and views.csv differ in {', '.join(sorted(unlike))}"
        raise SystemExit(msg)
    for group, names in GROUPS.items():
        yield f"\n## {group}\n"
        yield "| view | title | answers | needs |"
        yield "|---|---|---|---|"
        for name, question in names.items():
            view = find_view(name)
            link = f"[`{name}`](analysis_columns.md#{name})"
            yield f"| {link} | {view.title} | {question} | {view.absent.hint} |"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page(), __doc__))
