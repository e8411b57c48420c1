"""Write docs/analysis_columns.md from the tables; `--check` fails when it is out of date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from generated import write_or_check

from timesink.answers.tables import user_name
from timesink.answers.views import VIEWS, columns_of, find_view

PAGE = Path(__file__).parent / "analysis_columns.md"
PLACES = {
    "steps": "steps.rows",
    "critical-path": "critical_path.rows",
    "critical-path-modules": "critical_path.modules",
    "operators": "operators.rows",
    "launch-sites": "operators.launched_from",
    "kernels": "kernels.rows",
    "kernel-launches": "kernels.launches",
    "device-time": "device[].time",
    "overlap": "steps.overlap",
    "idle": "device[].streams",
    "idle-causes": "device[].idle_in_steps",
    "gaps": "kernels.largest_gaps",
    "launches": "kernels.launch_delays",
    "queue": "kernels.queues",
    "memory": "memory.operators",
    "memory-peaks": "memory.peaks",
    "memory-live": "memory.live_at_peak",
    "memory-curve": "memory.curve",
    "memory-categories": "memory.snapshot.categories",
    "memory-modules": "memory.snapshot.modules",
    "memory-stacks": "memory.snapshot.stacks",
    "memory-steps": "memory.snapshot.steps",
    "memory-growth": "memory.snapshot.growth",
    "memory-unfreed": "memory.snapshot.unfreed",
    "memory-reserved": "memory.snapshot.reserved",
    "memory-failures": "memory.snapshot.failures",
    "collective-log": "distributed.log.calls",
    "collective-log-ranks": "distributed.log.ranks",
    "collective-log-sizes": "distributed.log.sizes",
    "modules": "modules.rows",
    "workers": "distributed.steps",
    "collective-statistics": "distributed.collectives",
    "mismatches": "distributed.mismatched_calls",
    "ranks": "distributed.ranks",
    "stragglers": "distributed.stragglers",
    "collectives-matched": "distributed.matched_collectives",
    "clocks": "distributed.clocks",
    "process-groups": "distributed.groups",
    "rank-groups": "distributed.rank_groups",
}
"""Where the JSON has these tables; the others are views alone."""


def page() -> str:
    return "\n".join([*_introduction(), *_tables(), ""])


def _introduction() -> Iterator[str]:
    yield "# Columns of the analysis"
    yield ""
    yield "Generated from `timesink.answers.views` by `make docs`; do not edit."
    yield ""
    yield (
        "`timesink analyze --view NAME` prints one of these tables. CSV and JSON have every "
        "column, text and Markdown those with a heading, with units, and without columns that are "
        "all zero. `analysis.table(NAME)` has lengths of time in nanoseconds: `total_ns` for "
        "`total_us`."
    )


def _tables() -> Iterator[str]:
    for name in VIEWS:
        place = f" In the JSON: `{PLACES[name]}`." if name in PLACES else ""
        yield from _table(name, f"{find_view(name).title}.{place}")
    yield from _table(
        "distributed.overlap",
        "Communication and computation of each step, by worker; in the JSON alone.",
    )


def _table(name: str, about: str) -> Iterator[str]:
    yield f"\n## `{name}`\n\n{about}\n"
    yield "| column | heading | meaning |"
    yield "|---|---|---|"
    for column, description in columns_of(name).items():
        yield f"| `{user_name(column)}` | {description.title} | {description.meaning} |"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page(), __doc__))
