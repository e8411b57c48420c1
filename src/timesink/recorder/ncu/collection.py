"""From a program to a table of its kernels: run Nsight Compute, read its report, write the file."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from timesink.errors import CollectError
from timesink.recorder.ncu import (
    CUSTOM,
    UTILISATION,
    NcuPlan,
    crash_of,
    import_commands,
    ncu_version,
    profile_command,
    rows_beside,
    shown_briefly,
)
from timesink.recorder.ncu.process import Heard, Screen, run_profiler
from timesink.recorder.ncu.table import (
    NcuOutputs,
    PrintedTable,
    look_at,
    printed_table,
    put_away,
    rescued,
    workplace,
    write_table,
)
from timesink.recorder.processes import interruption, masked, noticed

# Why a program could not be measured, in a sentence with its remedy.

_REMEDIES = {row["pattern"]: row["remedy"] for row in rows_beside("remedies.csv")}
"""What to do about the errors of Nsight Compute; the first that fits counts."""

_OTHERWISE = "run the command that --dry-run prints by hand to see all that ncu says"

_KILLS = {
    number.value: number.name
    for number in signal.Signals
    if number.name in ("SIGILL", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGTERM")
}


def why_nothing(plan: NcuPlan, heard: Heard, code: int) -> CollectError:
    """Nothing was measured: the likeliest reason."""
    if heard.errors:
        return profiler_failed(heard)
    crashed = profiler_crashed(heard, code)
    if crashed is not None:
        return crashed
    failed = program_failed(heard)
    if failed is not None:
        return CollectError(
            f"{failed.message}; no kernel was measured before", "run the program without timesink"
        )
    if code and not heard.connected:
        return CollectError(f"Nsight Compute failed with exit code {code}", _OTHERWISE)
    hint = "the program uses CUDA but launched no kernel; does another process do the work?"
    if plan.filters:
        hint = f"try without {' and '.join(plan.filters)}"
    elif not heard.connected:
        hint = "the program started no work on an NVIDIA GPU"
    return CollectError(f"{plan.program[0]}: no kernel was measured", hint)


def profiler_failed(heard: Heard) -> CollectError:
    """The first thing Nsight Compute complained about that has a known remedy, else the first."""
    for pattern, remedy in _REMEDIES.items():
        for error in heard.errors:
            if re.search(pattern, error):
                return CollectError(f"Nsight Compute: {error}", remedy)
    return CollectError(f"Nsight Compute: {heard.errors[0]}", _OTHERWISE)


def profiler_crashed(heard: Heard, code: int) -> CollectError | None:
    """A signal ended Nsight Compute itself; it would have told of the program's end."""
    crash = crash_of(code)
    if not crash or heard.application_code is not None:
        return None
    if "SIGKILL" in crash:
        return CollectError(f"Nsight Compute was killed ({crash})", "is there enough memory?")
    return CollectError(
        f"Nsight Compute itself crashed ({crash})", "try a newer version, named with --ncu PATH"
    )


def program_failed(heard: Heard) -> CollectError | None:
    """The program ended with an error of its own."""
    code = heard.application_code
    if not code:
        return None
    hint = "the kernels measured before are in the file"
    # A program that ends by itself takes leave of the profiler.
    if code in _KILLS and heard.disconnected < heard.connected:
        return CollectError(f"the program was killed by signal {code} ({_KILLS[code]})", hint)
    return CollectError(f"the program ended with exit code {code}", hint)


def collect(
    ncu: Path, plan: NcuPlan, places: NcuOutputs, screen: Screen, made_by: str
) -> tuple[PrintedTable, CollectError | None]:
    """Measure the kernels of a program and write their table; why it is not all asked for.

    ``made_by`` is the version of timesink, for the file to say.
    """
    with noticed() as interruptions:
        places.check(plan.program)

        def stopped(heard: Heard) -> CollectError | None:
            """What to say of an interruption that leaves nothing; None without one."""
            said = interruption(interruptions)
            if said is None:
                return None
            left = "what was measured is lost" if heard.kernels else "nothing was measured"
            said.message += f"; {left}"
            if places.output.exists():
                said.hint = f"{places.output} is from before, and was not touched"
            return said

        heard = Heard(on_kernel=screen.kernel)
        try:
            version = ncu_version(ncu)
        except CollectError as error:
            # A terminal interrupts the profiler as well, which then does not answer.
            raise stopped(heard) or error from None
        described = _described(plan, made_by, version)
        with workplace(places.output) as report, rescued(report, places, interruptions):
            too_early = stopped(heard)
            if too_early is not None:
                raise too_early
            numbers = tuple(int(part) for part in version.split(".") if part)
            command = profile_command(ncu, plan, report, numbers)
            screen.say(shown_briefly(command))
            screen.show("waiting for the first kernel")
            code = run_profiler(command, screen, heard, interruptions)
            is_cut = bool(interruptions)
            screen.show("reading the report")
            printed = report.with_name("printed.csv")
            table: PrintedTable | None
            if report.exists():
                commands = import_commands(ncu, report, plan.metrics)
                table = printed_table(commands, printed, plan.metrics, interruptions)
            else:
                # Without a report the profiler may have printed its table instead.
                printed.write_bytes(b"".join(heard.table))
                table = look_at(printed, plan.metrics)
            screen.wipe()
            if table is None or not table.kernels:
                raise stopped(heard) or why_nothing(plan, heard, code)
            described |= {
                "device": table.device,
                "exit_code": heard.application_code or 0,
                "interrupted": is_cut,
            }
            write_table(table, places.output, described, heard.notes)
            elsewhere = put_away(report, places)
        failure = interruption(interruptions) or program_failed(heard) or _incomplete(heard, code)
    if failure is not None and elsewhere is not None:
        # The one that matters more, with the hints of both.
        failure.hint = "; ".join(filter(None, (failure.hint, elsewhere.hint)))
    # Roofline metrics name every precision of every generation; no device has all of them.
    absent = (
        name for name in table.without_values if plan.metric_set == CUSTOM or name in UTILISATION
    )
    return replace(table, without_values=tuple(absent)), failure or elsewhere


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


def _incomplete(heard: Heard, code: int) -> CollectError | None:
    if heard.errors:
        return profiler_failed(heard)
    crashed = profiler_crashed(heard, code)
    if crashed is not None:
        crashed.hint = f"the file may lack kernels; {crashed.hint}"
    elif code:
        return CollectError(f"Nsight Compute ended with code {code}", "the file may lack kernels")
    return crashed
