"""What was run and where, as a page says it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from timesink.lab.scoring.score import LabScore


def facts_of(score: LabScore) -> Iterator[tuple[str, str]]:
    """What was run and where, in words; empty where nobody said so."""
    made, about = score.made, score.about
    yield (
        "device",
        "; ".join(made.devices) or str(about.get("gpu") or "none: the programs ran on the CPU"),
    )
    yield "host", "; ".join(made.host)
    yield "versions", "; ".join(made.versions)
    yield "workloads", ", ".join(dict.fromkeys(one.workload for one in score.cases))
    faults = dict.fromkeys(one.fault for one in score.faults)
    yield "faults", f"{len(faults)}: {', '.join(faults)}" if faults else ""
    each = f", {_span(repeats(score))} of each fault in each workload" if faults else ""
    partial = f", {made.partial} of them partial" if made.partial else ""
    yield "recordings", f"{made.recordings}{each}{partial}" if made.recordings else ""
    yield "cycles", f"{_span(made.cycles)} in each recording" if made.cycles else ""
    every = " and ".join(f"{one:g}" for one in made.interval_ms)
    yield "counters", f"every {every} ms" if every else ""
    pct = made.profiler_pct
    yield "cost of the profiler", "" if pct is None else f"cycles {pct:+.1f} % (median)"
    yield "when", " to ".join(dict.fromkeys((*made.days[:1], *made.days[-1:])))


def _span(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def repeats(score: LabScore) -> list[int]:
    """How often each fault was recorded in each workload that had it."""
    made = [(one.workload, one.fault) for one in score.faults]
    return [made.count(one) for one in dict.fromkeys(made)]
