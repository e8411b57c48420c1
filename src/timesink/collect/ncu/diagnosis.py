"""Why a program could not be measured, in a sentence with its remedy."""

from __future__ import annotations

import re
import signal

from timesink.collect.ncu.command import NcuPlan
from timesink.collect.ncu.hearing import Heard
from timesink.collect.ncu.program import crash_of
from timesink.collect.ncu.running import ProfilerEnd
from timesink.errors import CollectError

_REMEDIES = {
    r"ERR_NVGPUCTRPERM|permission to access NVIDIA GPU Performance Counters": (
        "run as root (in a container with --cap-add=SYS_ADMIN), or have the driver loaded with "
        "NVreg_RestrictProfilingToAdminUsers=0"
    ),
    r"driver resource was unavailable|another profiler|already (?:in use|attached|being)|DCGM": (
        "one profiler at a time: stop the other one (DCGM: dcgmi profiling --pause), and take "
        "torch.profiler out of the program"
    ),
    r"lock file|InterprocessLockFailed": (
        "another user's Nsight Compute owns the lock file: set TMPDIR to a folder of your own"
    ),
    r"driver|initialize the profiler|LibraryNotLoaded": (
        "ncu must fit the driver: try that of another CUDA toolkit with --ncu PATH, "
        "and check that nvidia-smi works here"
    ),
    r"[Oo]ption|argument": (
        "this ncu may be too old for the command above: name another with --ncu PATH"
    ),
    r"Failed to profile|error occurred while trying to profile": (
        "kernels that wait for other processes (collectives) cannot be replayed: profile one "
        "process, or leave them out with --kernel"
    ),
    r"space left|[Ff]ailed to (?:save|write)": "choose a larger disk with -o",
}
"""What to do about the errors of Nsight Compute; the first that fits counts."""

_OTHERWISE = "run the command that --dry-run prints by hand to see all that ncu says"

_KILLS = {
    number.value: number.name
    for number in signal.Signals
    if number.name in ("SIGILL", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGTERM")
}


def why_nothing(plan: NcuPlan, heard: Heard, ended: ProfilerEnd) -> CollectError:
    """Nothing was measured: the likeliest reason."""
    if heard.errors:
        return profiler_failed(heard)
    crashed = profiler_crashed(heard, ended)
    if crashed is not None:
        return crashed
    failed = program_failed(heard)
    if failed is not None:
        return CollectError(
            f"{failed.message}; no kernel was measured before", "run the program without timesink"
        )
    if ended.code and not heard.connected:
        return CollectError(f"Nsight Compute failed with exit code {ended.code}", _OTHERWISE)
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


def profiler_crashed(heard: Heard, ended: ProfilerEnd) -> CollectError | None:
    """A signal ended Nsight Compute itself; it would have told of the program's end."""
    crash = crash_of(ended.code)
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
