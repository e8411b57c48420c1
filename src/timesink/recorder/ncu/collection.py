"""From a program to a table of its kernels: run Nsight Compute, read its report, write the file."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from timesink.errors import CollectError
from timesink.recorder.ncu.executable import crash_of, ncu_version
from timesink.recorder.ncu.plan import (
    CUSTOM,
    UTILISATION,
    NcuPlan,
    import_commands,
    profile_command,
    rows_beside,
    shown_briefly,
)
from timesink.recorder.ncu.process import NcuLog, Screen, run_profiler
from timesink.recorder.ncu.table import (
    NcuOutputs,
    PrintedTable,
    look_at,
    printed_table,
    put_away,
    rescue_report,
    workplace,
    write_table,
)
from timesink.recorder.processes import collect_signals, interruption, mask_secrets

# Why a program could not be measured, in a sentence with its remedy.

_REMEDIES = {row["pattern"]: row["remedy"] for row in rows_beside("remedies.csv")}
"""What to do about the errors of Nsight Compute; the first that fits counts."""

_OTHERWISE = "run the command that --dry-run prints by hand to see all that ncu says"

_KILLS = {
    number.value: number.name
    for number in signal.Signals
    if number.name in ("SIGILL", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGTERM")
}


def why_nothing(plan: NcuPlan, state: NcuLog, code: int) -> CollectError:
    """Nothing was measured: the likeliest reason."""
    if state.errors:
        return profiler_failed(state)
    crashed = profiler_crashed(state, code)
    if crashed is not None:
        return crashed
    failed = program_failed(state)
    if failed is not None:
        return CollectError(
            f"{failed.message}; no kernel was measured before", "run the program without timesink"
        )
    if code and not state.connected:
        return CollectError(f"Nsight Compute failed with exit code {code}", _OTHERWISE)
    hint = "the program uses CUDA but launched no kernel; does another process do the work?"
    if plan.filters:
        hint = f"try without {' and '.join(plan.filters)}"
    elif not state.connected:
        hint = "the program started no work on an NVIDIA GPU"
    return CollectError(f"{plan.program[0]}: no kernel was measured", hint)


def profiler_failed(state: NcuLog) -> CollectError:
    """The first thing Nsight Compute complained about that has a known remedy, else the first."""
    for pattern, remedy in _REMEDIES.items():
        for error in state.errors:
            if re.search(pattern, error):
                return CollectError(f"Nsight Compute: {error}", remedy)
    return CollectError(f"Nsight Compute: {state.errors[0]}", _OTHERWISE)


def profiler_crashed(state: NcuLog, code: int) -> CollectError | None:
    """A signal ended Nsight Compute itself; it would have told of the program's end."""
    crash = crash_of(code)
    if not crash or state.application_code is not None:
        return None
    if "SIGKILL" in crash:
        return CollectError(f"Nsight Compute was killed ({crash})", "is there enough memory?")
    return CollectError(
        f"Nsight Compute itself crashed ({crash})", "try a newer version, named with --ncu PATH"
    )


def program_failed(state: NcuLog) -> CollectError | None:
    """The program ended with an error of its own."""
    code = state.application_code
    if not code:
        return None
    hint = "the kernels measured before are in the file"
    # A program that ends by itself takes leave of the profiler.
    if code in _KILLS and state.disconnected < state.connected:
        return CollectError(f"the program was killed by signal {code} ({_KILLS[code]})", hint)
    return CollectError(f"the program ended with exit code {code}", hint)


def collect(
    ncu: Path, plan: NcuPlan, places: NcuOutputs, screen: Screen, made_by: str
) -> tuple[PrintedTable, CollectError | None]:
    """Measure the kernels of a program and write their table; why it is not all asked for.

    ``made_by`` is the version of timesink, for the file to say.
    """
    with collect_signals() as interruptions:
        places.check(plan.program)

        def stopped(state: NcuLog) -> CollectError | None:
            """What to say of an interruption that leaves nothing; None without one."""
            stop_error = interruption(interruptions)
            if stop_error is None:
                return None
            left = "what was measured is lost" if state.kernels else "nothing was measured"
            stop_error.message += f"; {left}"
            if places.output.exists():
                stop_error.hint = f"{places.output} is from before, and was not touched"
            return stop_error

        state = NcuLog(on_kernel=screen.kernel)
        try:
            version = ncu_version(ncu)
        except CollectError as error:
            # A terminal interrupts the profiler as well, which then does not answer.
            raise stopped(state) or error from None
        described = _collection_facts(plan, made_by, version)
        with workplace(places.output) as report, rescue_report(report, places, interruptions):
            too_early = stopped(state)
            if too_early is not None:
                raise too_early
            numbers = tuple(int(part) for part in version.split(".") if part)
            command = profile_command(ncu, plan, report, numbers)
            screen.say(shown_briefly(command))
            screen.show("waiting for the first kernel")
            code = run_profiler(command, screen, state, interruptions)
            is_cut = bool(interruptions)
            screen.show("reading the report")
            printed = report.with_name("printed.csv")
            table: PrintedTable | None
            if report.exists():
                commands = import_commands(ncu, report, plan.metrics)
                table = printed_table(commands, printed, plan.metrics, interruptions)
            else:
                # Without a report the profiler may have printed its table instead.
                printed.write_bytes(b"".join(state.table))
                table = look_at(printed, plan.metrics)
            screen.wipe()
            if table is None or not table.kernels:
                raise stopped(state) or why_nothing(plan, state, code)
            described |= {
                "device": table.device,
                "exit_code": state.application_code or 0,
                "interrupted": is_cut,
            }
            write_table(table, places.output, described, state.notes)
            elsewhere = put_away(report, places)
        failure = interruption(interruptions) or program_failed(state) or _incomplete(state, code)
    if failure is not None and elsewhere is not None:
        # The one that matters more, with the hints of both.
        failure.hint = "; ".join(filter(None, (failure.hint, elsewhere.hint)))
    # Roofline metrics name every precision of every generation; no device has all of them.
    absent = (
        name for name in table.without_values if plan.metric_set == CUSTOM or name in UTILISATION
    )
    return replace(table, without_values=tuple(absent)), failure or elsewhere


# -- what came of it -----------------------------------------------------------------------------


def _collection_facts(plan: NcuPlan, made_by: str, version: str) -> dict[str, Any]:
    """How the file came about, for those who read it."""
    every = plan.every
    return {
        "version": 1,
        "timesink": made_by,
        "ncu": version,
        "command": mask_secrets(plan.program),
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


def _incomplete(state: NcuLog, code: int) -> CollectError | None:
    if state.errors:
        return profiler_failed(state)
    crashed = profiler_crashed(state, code)
    if crashed is not None:
        crashed.hint = f"the file may lack kernels; {crashed.hint}"
    elif code:
        return CollectError(f"Nsight Compute ended with code {code}", "the file may lack kernels")
    return crashed
