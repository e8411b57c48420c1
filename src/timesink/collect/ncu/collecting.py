"""From a program to a table of its kernels: run Nsight Compute, read its report, write the file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from timesink.collect.masking import masked
from timesink.collect.ncu.command import (
    CUSTOM,
    NcuPlan,
    import_commands,
    profile_command,
    shown_briefly,
)
from timesink.collect.ncu.diagnosis import (
    profiler_crashed,
    profiler_failed,
    program_failed,
    why_nothing,
)
from timesink.collect.ncu.hearing import Heard
from timesink.collect.ncu.metric_sets import UTILISATION
from timesink.collect.ncu.places import NcuOutputs, put_away, rescued, workplace
from timesink.collect.ncu.printing import printed_table
from timesink.collect.ncu.program import ncu_version
from timesink.collect.ncu.running import ProfilerEnd, run_profiler
from timesink.collect.ncu.screen import Screen
from timesink.collect.ncu.table import PrintedTable, look_at, write_table
from timesink.collect.signals import interruption, noticed
from timesink.errors import CollectError


@dataclass(frozen=True, slots=True)
class Collected:
    """What came of it; ``failure`` says why it is not all that was asked for."""

    output: Path
    kernels: int
    device: str
    without_values: tuple[str, ...]
    failure: CollectError | None


def collect(
    ncu: Path, plan: NcuPlan, places: NcuOutputs, screen: Screen, made_by: str
) -> Collected:
    """Measure the kernels of a program and write their table.

    ``made_by`` is the version of timesink, for the file to say.
    """
    with noticed() as interruptions:
        places.check(plan.program)
        run = _Collection(ncu, plan, places, screen, interruptions)
        return run.to_the_table(made_by)


@dataclass(frozen=True, slots=True)
class _Collection:
    """One program measured once."""

    ncu: Path
    plan: NcuPlan
    places: NcuOutputs
    screen: Screen
    interruptions: list[int]

    def to_the_table(self, made_by: str) -> Collected:
        version = self._version()
        described = _described(self.plan, made_by, version)
        heard = Heard(on_kernel=self.screen.kernel)
        with (
            workplace(self.places.output) as report,
            rescued(report, self.places, self.interruptions),
        ):
            ended = self._measure(report, version, heard)
            self.screen.show("reading the report")
            table = self._table_of(report, heard)
            self.screen.wipe()
            if table is None or not table.kernels:
                raise self._stopped(heard) or why_nothing(self.plan, heard, ended)
            described |= {
                "device": table.device,
                "exit_code": heard.application_code or 0,
                "interrupted": ended.stopped_by is not None,
            }
            write_table(table, self.places.output, described, heard.notes)
            elsewhere = put_away(report, self.places)
        failure = interruption(self.interruptions) or program_failed(heard)
        failure = failure or _incomplete(heard, ended)
        if failure is not None and elsewhere is not None:
            # The one that matters more, with the hints of both.
            failure.hint = "; ".join(filter(None, (failure.hint, elsewhere.hint)))
        return Collected(
            self.places.output,
            table.kernels,
            table.device,
            # Roofline metrics name every precision of every generation; no device has all of them.
            tuple(
                name
                for name in table.without_values
                if self.plan.metric_set == CUSTOM or name in UTILISATION
            ),
            failure or elsewhere,
        )

    def _version(self) -> str:
        try:
            return ncu_version(self.ncu)
        except CollectError:
            # A terminal interrupts the profiler as well, which then does not answer.
            stopped = self._stopped(Heard())
            if stopped is not None:
                raise stopped from None
            raise

    def _stopped(self, heard: Heard) -> CollectError | None:
        """What to say of an interruption that leaves nothing; None without one."""
        stopped = interruption(self.interruptions)
        if stopped is None:
            return None
        left = "what was measured is lost" if heard.kernels else "nothing was measured"
        stopped.message += f"; {left}"
        if self.places.output.exists():
            stopped.hint = f"{self.places.output} is from before, and was not touched"
        return stopped

    def _measure(self, report: Path, version: str, heard: Heard) -> ProfilerEnd:
        stopped = self._stopped(heard)
        if stopped is not None:
            raise stopped
        numbers = tuple(int(part) for part in version.split(".") if part)
        command = profile_command(self.ncu, self.plan, report, numbers)
        self.screen.say(shown_briefly(command))
        self.screen.show("waiting for the first kernel")
        return run_profiler(command, self.screen, heard, self.interruptions)

    def _table_of(self, report: Path, heard: Heard) -> PrintedTable | None:
        printed = report.with_name("printed.csv")
        metrics = self.plan.metrics
        if report.exists():
            commands = import_commands(self.ncu, report, metrics)
            return printed_table(commands, printed, metrics, self.interruptions)
        # Without a report the profiler may have printed its table instead.
        printed.write_bytes(b"".join(heard.table))
        return look_at(printed, metrics)


# -- what came of it -----------------------------------------------------------------------------


def _described(plan: NcuPlan, made_by: str, version: str) -> dict[str, Any]:
    """How the file came about, for those who read it."""
    every = plan.every
    return {
        "version": 1,
        "timesink": made_by,
        "ncu": version,
        "command": masked(plan.program),
        "device": "",
        "metrics": plan.metric_set,
        "every": every.every if every else None,
        "period": every.period if every else None,
        "picked": every.picked if every else None,
        "per": "kernel",
        "range": list(plan.launches) if plan.launches else None,
        "kernel": plan.kernel or None,
        "from_start": plan.from_start,
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "clock_control": plan.clock_control,
        "cache_control": plan.cache_control,
    }


def _incomplete(heard: Heard, ended: ProfilerEnd) -> CollectError | None:
    if heard.errors:
        return profiler_failed(heard)
    crashed = profiler_crashed(heard, ended)
    if crashed is not None:
        crashed.hint = f"the file may lack kernels; {crashed.hint}"
    elif ended.code:
        return CollectError(
            f"Nsight Compute ended with code {ended.code}", "the file may lack kernels"
        )
    return crashed
