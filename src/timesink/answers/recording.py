"""What a recorder says about a run, and what it sampled, in words."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from timesink.model import units
from timesink.model.amounts import amount, from_to
from timesink.model.recorded_run import WHOLE_PROGRAM, RecordedRun, RunHost, RunOverhead
from timesink.reports.info import TraceInfo

Fact = tuple[str, str]
_LONGEST_COMMAND = 200


def recording_facts(run: RecordedRun | None) -> list[Fact]:
    """Label and value of what the recorder says; empty where there was none."""
    if run is None:
        return []
    listed = [
        ("command", _shortened(shlex.join(run.command))),
        ("recorded", _recorded(run)),
        ("machine", _host(run.host)),
        ("profiler", _overhead(run.overhead)),
        ("sampler", _sampler(run)),
        ("program", _ending(run)),
        *(("note", note) for note in run.notes),
    ]
    return [(label, value) for label, value in listed if value]


def shared_facts(traces: Sequence[TraceInfo]) -> list[Fact]:
    """What the recorder says where several traces are of one run."""
    runs = [trace.metadata.run for trace in traces]
    return recording_facts(runs[0]) if all(run == runs[0] for run in runs) else []


def _shortened(command: str) -> str:
    return command if len(command) <= _LONGEST_COMMAND else f"{command[:_LONGEST_COMMAND]} ..."


def _recorded(run: RecordedRun) -> str:
    cycles = run.cycles
    by = f"{cycles.by} {cycles.name}" if cycles.by and cycles.name else cycles.by or ""
    counted = " ".join(filter(None, (_cycle_count(run), f"by {by}" if by else "")))
    if cycles.by == WHOLE_PROGRAM:
        counted = f"the {WHOLE_PROGRAM}"
    if run.complete and cycles.by is None and cycles.recorded == 0:
        # A program without PyTorch has no cycles to lose.
        counted = "counters alone"
    skipped = f"{units.count(cycles.skipped)} before them skipped" if cycles.skipped else ""
    state = {True: "complete", False: "partial", None: ""}[run.complete]
    return ", ".join(filter(None, (counted, skipped, state)))


def _cycle_count(run: RecordedRun) -> str:
    recorded, asked = run.cycles.recorded, run.cycles.asked
    if recorded is None:
        return ""
    if asked is None or asked == recorded:
        return units.counted(recorded, "cycles")
    return f"{units.count(recorded)} of {units.counted(asked, 'cycles')}"


def _host(host: RunHost) -> str:
    cores = "" if host.cores is None else f"{host.cores:g} cores"
    if cores and host.machine_cores and host.machine_cores != host.cores:
        cores += f" of {units.count(host.machine_cores)}"
    memory = "" if host.memory_bytes is None else units.size_bytes(host.memory_bytes)
    return ", ".join(filter(None, (host.cpu, cores, memory, host.system)))


def _overhead(overhead: RunOverhead) -> str:
    ratio = overhead.ratio
    if ratio is None:
        return ""
    said = f"cycles {100 * (ratio - 1):+.1f} % with it"
    plain, profiled = overhead.cycle_us, overhead.cycle_profiled_us
    if plain and profiled:
        said += f" ({from_to(units.brief_ns(1000 * plain), units.brief_ns(1000 * profiled))})"
    return said


def _sampler(run: RecordedRun) -> str:
    counters, load = run.counters, run.overhead.sampler_cpu_pct
    if not counters.samples and not counters.recorded:
        return ""
    said = []
    if counters.interval_ms is not None:
        said.append(f"every {units.brief_ns(counters.interval_ms * 1_000_000)}")
    if load is not None:
        said.append(f"{load:.1f} % of a core")
    if run.clock.offset_us is not None:
        apart = units.brief_ns(abs(run.clock.offset_us) * 1000)
        said.append(f"its clock {apart} from the trace's")
    return ", ".join(said)


def _ending(run: RecordedRun) -> str:
    if run.exit.signal:
        return f"ended by {run.exit.signal}"
    return f"exit code {run.exit.code}" if run.exit.code else ""


# -- counters alone --------------------------------------------------------------------------------


def counters_headline(traces: Sequence[TraceInfo]) -> str:
    """How much was sampled, in a sentence."""
    samples = units.counted(sum(trace.summary.counters for trace in traces), "samples")
    if len(traces) > 1:
        return f"{samples} of counters in {units.counted(len(traces), 'recordings')}"
    counters = units.counted(len({row["counter"] for row in traces[0].sampled}), "counters")
    return f"{samples} of {counters} over {units.duration_ns(traces[0].sampled_span_ns)}"


def counter_facts(trace: TraceInfo) -> list[Fact]:
    """What there is to say where only counters were sampled, counter by counter."""
    run = trace.metadata.run
    devices = [] if run is None else [one.name for one in run.devices if one.name]
    listed = [
        ("device", ", ".join(dict.fromkeys(devices))),
        *recording_facts(run),
        ("timeline", "none: no calls were recorded"),
        ("format", f"{trace.metadata.format}, {trace.metadata.clock} clock"),
        *((row["counter"], _sampled_text(row)) for row in trace.sampled),
    ]
    return [(label, value) for label, value in listed if value]


def _sampled_text(row: dict[str, Any]) -> str:
    where = f"{row['device']}: " if row["device"] else ""
    lowest, mean, highest = (
        amount(row[name], row["unit"]) for name in ("lowest", "mean", "highest")
    )
    if row["lowest"] == row["highest"]:
        return f"{where}{mean}"
    return f"{where}{mean} on average, {lowest} to {highest}"
