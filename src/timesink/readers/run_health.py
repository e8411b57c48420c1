"""What a recorder's own words mean for the numbers of its trace, as health."""

from __future__ import annotations

from collections.abc import Iterator

from timesink.model import units
from timesink.model.health import HealthEntry
from timesink.model.recorded_run import WHOLE_PROGRAM, RecordedRun, RunProcess
from timesink.recorder.counter_catalogue import Missing, missing_in_words

OVERHEAD_TOLD = 1.1
"""Profiled cycles longer than plain ones by this factor are told."""
OVERHEAD_HEAVY = 1.5
"""And by this one, they say too much about the profiler."""
_US, _MS = 1_000, 1_000_000


def run_health(run: RecordedRun, own: RunProcess | None) -> list[HealthEntry]:
    """What weakens a recording, of one of its processes where that is known."""
    return [*_partial(run, own), *_overhead(run), *_clock(run), *_missing_counters(run)]


def _partial(run: RecordedRun, own: RunProcess | None) -> Iterator[HealthEntry]:
    ended_early = run.complete is False or (own is not None and own.complete is False)
    if not ended_early:
        return
    recorded = run.cycles.recorded if own is None or own.cycles is None else own.cycles
    nothing = recorded == 0 and run.cycles.by != WHOLE_PROGRAM
    said = run.why_partial or (own and own.why_partial) or _ending(run)
    said = said or "the recorder does not say why"
    if recorded and recorded < (run.cycles.asked or 0) and "cycle" not in said:
        asked = units.counted(run.cycles.asked or 0, "cycles")
        said += f" ({units.count(recorded)} of {asked})"
    yield HealthEntry("lost_recording" if nothing else "partial_recording", 1, said)


def _ending(run: RecordedRun) -> str:
    """How the program ended, where that says why."""
    if run.exit.signal:
        return f"the program was ended by {run.exit.signal}"
    return f"the program ended with exit code {run.exit.code}" if run.exit.code else ""


def _overhead(run: RecordedRun) -> Iterator[HealthEntry]:
    ratio = run.overhead.ratio
    if ratio is None or ratio < OVERHEAD_TOLD:
        return
    plain, profiled = run.overhead.cycle_us, run.overhead.cycle_profiled_us
    heavy = ratio >= OVERHEAD_HEAVY
    said = f"{ratio:.1f} times as long" if heavy else f"{100 * (ratio - 1):.0f} % longer"
    if plain and profiled:
        said += f", {units.brief_ns(profiled * _US)} instead of {units.brief_ns(plain * _US)}"
    yield HealthEntry("heavy_profiling" if heavy else "profiler_overhead", 1, said)


def _clock(run: RecordedRun) -> Iterator[HealthEntry]:
    interval = run.counters.interval_ms
    offset, spread = abs(run.clock.offset_us or 0.0), abs(run.clock.spread_us or 0.0)
    if interval is None or max(offset, spread) * _US <= interval * _MS:
        return
    apart, unsure = units.brief_ns(offset * _US), units.brief_ns(spread * _US)
    said = f"{apart} apart, give or take {unsure}; sampled every {units.brief_ns(interval * _MS)}"
    yield HealthEntry("counter_clock_offset", 1, said)


def _missing_counters(run: RecordedRun) -> Iterator[HealthEntry]:
    missing = run.counters.missing
    if not missing:
        return
    lines = missing_in_words(Missing(one.counter, one.why) for one in missing)
    yield HealthEntry("missing_counters", len(missing), "\n".join(lines))
