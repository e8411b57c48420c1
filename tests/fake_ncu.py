#!/bin/sh
""":"
if [ "$FAKE_NCU$*" = --version ]; then
    echo Nsight Compute stand-in
    echo Version 2025.3.1.0
    exit
fi
exec python3 -S "$0" "$@"

A stand-in for Nsight Compute 2025.3.1: same options, and the words that timesink looks for.

It runs a program, "measures" the kernels the program launches through `fake_gpu`, writes a report
and prints reports as tables.  FAKE_NCU chooses how it fails: see `MISHAPS`.

A test starts it three times: the shell above answers the first, the rest imports little.
"""

# ruff: noqa: EXE003, PTH123 - pathlib takes as long to import as all the rest

from __future__ import annotations

import os
import sys

VERSION = "2025.3.1.0"
"""Said by the lines for the shell as well."""
_OLD = "2021.2.0.0"
_CLOCKS = "==WARNING== unmodified GPU clocks"
_HELD_S = 60
MISHAPS = {
    "permission": "==ERROR== ERR_NVGPUCTRPERM",
    "busy": "==ERROR== driver resource was unavailable",
    "driver": "==ERROR== cannot initialize the profiler",
    "strange": "==ERROR== Something nobody has seen before",
    "table": "no report, a table on standard output",
    "old": "an old version, which does not know every option",
    "unreadable": "reports that cannot be read",
    "torn": "reports of which two kernels are printed, then an error",
    "picky": "as torn, but only with options an old version does not know",
    "slow": "reports that take forever to print; the file `printing` says that it began",
    "deaf": "no reaction to an interruption but the end",
    "crash": "killed by a fault of its own when the program ended",
}
MEASURED = {
    "gpu__time_duration.sum": ("us", "6.176000"),
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": ("%", "0.801567"),
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": ("%", "40.034512"),
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "47.750233"),
    "dram__bytes.sum": ("Mbyte", "1.048576"),
    "device__attribute_display_name": ("", "NVIDIA H200"),
}
_IDENTITY = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
             "Block Size", "Grid Size", "Device", "CC")  # fmt: skip
_SWITCHES = ("--version", "-f", "--csv")
_OPTIONS = ("--import", "-o", "--metrics", "--launch-skip", "--launch-count", "--kernel-name",
            "--kernel-id", "--profile-from-start", "--clock-control", "--target-processes",
            "--cache-control", "--page")  # fmt: skip
_NEW_OPTIONS = ("--rename-kernels", "--import-sass")


class Selection:
    """Which launches are measured."""

    def __init__(self, options: dict[str, str]) -> None:
        self.kernel = options.get("--kernel-name", "").removeprefix("regex:")
        self.invocation = ".*"
        if options.get("--kernel-id"):
            _, _, middle = options["--kernel-id"].split(":", 2)
            self.kernel, self.invocation = middle.removeprefix("regex:").split(":")
        self.skipped = int(options.get("--launch-skip", 0))
        self.most = int(options.get("--launch-count", 0))
        self.active = options.get("--profile-from-start", "on") == "on"
        self.seen: dict[str, int] = {}
        self.matched = 0

    def picks(self, name: str) -> bool:
        self.seen[name] = self.seen.get(name, 0) + 1
        if not (self.active and self._matches(name)):
            return False
        self.matched += 1
        taken = self.matched - self.skipped
        return 1 <= taken <= (self.most or taken)

    def _matches(self, name: str) -> bool:
        if not self.kernel and self.invocation == ".*":
            return True
        import re

        # The real one matches the whole number as well: observed on 759 launches, of which an
        # expression for every 7th launch picked 137.
        number = str(self.seen[name])
        return bool(re.search(self.kernel, name) and re.fullmatch(self.invocation or ".*", number))


class Profiler:
    """Runs a program and measures what it launches."""

    def __init__(self, options: dict[str, str], program: list[str], mishap: str) -> None:
        self.options = options
        self.command = program
        self.mishap = mishap
        self.selection = Selection(options)
        self.launches: list[str] = []
        self.connected: list[str] = []
        self.interrupted = False
        self.program = 0

    def run(self) -> int:
        import signal
        from threading import Thread

        signal.signal(signal.SIGINT, self.interrupt)
        hears, asks = os.pipe()
        answers, tells = os.pipe()
        os.set_inheritable(asks, True)
        os.set_inheritable(answers, True)
        environment = {**os.environ, "FAKE_GPU": f"{asks} {answers}"}
        plain = [signal.SIGPIPE]  # Python ignores it, which programs must not inherit
        self.program = os.posix_spawnp(self.command[0], self.command, environment, setsigdef=plain)
        Thread(target=self.listen, args=(hears, tells), daemon=True).start()
        code = os.waitstatus_to_exitcode(os.waitpid(self.program, 0)[1])
        self.program = 0
        if code >= 0:
            for process in self.connected:
                say(f"==PROF== Disconnected from process {process}")
        return self.finish(abs(code))

    def finish(self, code: int) -> int:
        if self.mishap == "crash":
            os.kill(os.getpid(), 11)
        if code and not self.interrupted:
            say(f"==ERROR== The application returned an error code ({code}).")
        if not self.launches:
            say("==WARNING== No kernels were profiled.")
        elif self.mishap == "table":
            print_long(self.launches, self.options["--metrics"].split(","))
        else:
            report = f"{self.options['-o']}.ncu-rep".replace("%%", "%")
            with open(report, "w") as file:
                file.writelines(f"{launch}\n" for launch in self.launches)
            say(f"==PROF== Report: {report}")
        return 0 if self.interrupted else code

    def interrupt(self, *_: object) -> None:
        if self.mishap == "deaf":
            os._exit(1)
        self.interrupted = True
        say("==PROF== Trying to shutdown target application")
        if self.program:
            try:
                os.kill(self.program, 15)
            except ProcessLookupError:  # it was interrupted as well
                return

    def listen(self, hears: int, tells: int) -> None:
        with open(hears, encoding="utf-8") as stream:
            for line in stream:
                process, name = line.split()
                self.connect(process)
                self.measure(process, name)
                os.write(tells, b"\n")

    def connect(self, process: str) -> None:
        if process in self.connected:
            return
        self.connected.append(process)
        if self.options.get("--clock-control") == "none" and len(self.connected) == 1:
            say(_CLOCKS)
        say(f"==PROF== Connected to process {process} (/usr/bin/python3.12)")

    def measure(self, process: str, name: str) -> None:
        if name in ("cudaProfilerStart", "cudaProfilerStop"):
            self.selection.active = name.endswith("Start")
        elif self.selection.picks(name):
            if MISHAPS.get(self.mishap, "").startswith("=="):
                say(MISHAPS[self.mishap])
                return
            number, of = len(self.launches), self.selection.most
            total = f" ({number + 1}/{of})" if of else ""
            short = name if len(name) <= 32 else f"{name[:29]}..."
            self.launches.append(f"{process} {name}")
            if self.mishap != "table":
                progress(f'==PROF== Profiling "{short}" - {number}{total}: 0%')
                progress("....50%")
                progress("....100% - 9 passes\n")


def say(line: str) -> None:
    progress(f"{line}\n")


def progress(text: str) -> None:
    os.write(1, text.encode())


def print_row(*cells: str) -> None:
    sys.stdout.write(",".join(f'"{cell}"' for cell in cells) + "\n")


def identity(number: int, launch: str) -> list[str]:
    process, name = launch.split()
    return [str(number), process, "python3.12", "127.0.0.1",
            f"void at::native::{name}<float, 4>(int, T1)", "1", "7",
            "(256, 1, 1)", "(1056, 1, 1)", "0", "9.0"]  # fmt: skip


def print_long(launches: list[str], metrics: list[str]) -> None:
    print_row(*_IDENTITY, "Section Name", "Metric Name", "Metric Unit", "Metric Value")
    for number, launch in enumerate(launches):
        for metric in metrics:
            measured = MEASURED.get(metric, ("", "n/a"))
            print_row(*identity(number, launch), "Command line profiler metrics", metric, *measured)
    sys.stdout.flush()


def print_report(options: dict[str, str], mishap: str) -> int:
    if mishap == "unreadable":
        say("==ERROR== Failed to load report")
        return 1
    with open(options["--import"]) as file:
        launches = file.read().splitlines()
    metrics = sorted(options["--metrics"].split(","))
    units, values = zip(*(MEASURED.get(metric, ("", "n/a")) for metric in metrics), strict=True)
    print_row(*_IDENTITY, *metrics)
    print_row(*("" for _ in _IDENTITY), *units)
    if mishap == "slow":
        import time

        with open("printing", "w"):
            time.sleep(_HELD_S)
    is_torn = mishap == "torn" or (mishap == "picky" and "--rename-kernels" in options)
    for number, launch in enumerate(launches[:2] if is_torn else launches):
        print_row(*identity(number, launch), *values)
    sys.stdout.flush()
    if is_torn:
        say("==ERROR== Out of words")
    return int(is_torn)


def parse(words: list[str], mishap: str) -> tuple[dict[str, str], list[str]]:
    """The options by their names, and the program."""
    option_names = _OPTIONS if mishap == "old" else (*_OPTIONS, *_NEW_OPTIONS)
    options = {}
    while words and words[0].startswith("-"):
        option, *words = words
        if option in _SWITCHES:
            options[option] = ""
        elif option in option_names:
            options[option], *words = words
        else:
            say(f"==ERROR== unrecognized arguments: {option}")
            sys.exit(1)
    return options, words


def main() -> int:
    mishap = os.environ.get("FAKE_NCU", "")
    options, program = parse(sys.argv[1:], mishap)
    if "--version" in options:
        say(f"Nsight Compute stand-in\nVersion {_OLD if mishap == 'old' else VERSION}")
        return 0
    if "--import" in options:
        return print_report(options, mishap)
    return Profiler(options, program, mishap).run()


if __name__ == "__main__":
    sys.exit(main())
