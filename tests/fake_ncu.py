#!/usr/bin/env python3
"""A stand-in for Nsight Compute 2025.3.1: same options, and the words that timesink looks for.

It runs a program, "measures" the kernels the program launches through `fake_gpu`, writes a report
and prints reports as tables.  FAKE_NCU chooses how it fails: see `MISHAPS`.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import TextIO

VERSION = "2025.3.1.0"
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


@dataclass
class Launch:
    """A kernel that was measured."""

    process: int
    name: str


@dataclass
class Selection:
    """Which launches are measured."""

    options: argparse.Namespace
    active: bool = True
    seen: Counter[str] = field(default_factory=Counter)
    matched: int = 0

    def __post_init__(self) -> None:
        self.active = self.options.profile_from_start == "on"

    def picks(self, name: str) -> bool:
        self.seen[name] += 1
        if not (self.active and self._matches(name)):
            return False
        self.matched += 1
        taken = self.matched - self.options.launch_skip
        return 1 <= taken <= (self.options.launch_count or taken)

    def _matches(self, name: str) -> bool:
        kernel = self.options.kernel_name.removeprefix("regex:")
        invocation = ""
        if self.options.kernel_id:
            _, _, middle = self.options.kernel_id.split(":", 2)
            kernel, invocation = middle.removeprefix("regex:").split(":")
        # The real one matches the whole number as well: observed on 759 launches, of which an
        # expression for every 7th launch picked 137.
        number = str(self.seen[name])
        return bool(re.search(kernel, name)) and bool(re.fullmatch(invocation or ".*", number))


class Profiler:
    """Runs a program and measures what it launches."""

    def __init__(self, options: argparse.Namespace, mishap: str) -> None:
        self.options = options
        self.mishap = mishap
        self.selection = Selection(options)
        self.launches: list[Launch] = []
        self.connected: list[int] = []
        self.interrupted = False
        self.program: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        signal.signal(signal.SIGINT, self.interrupt)
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/gpu")
            listener.listen()
            threading.Thread(target=self.listen, args=(listener,), daemon=True).start()
            environment = {**os.environ, "FAKE_GPU": f"{folder}/gpu"}
            self.program = subprocess.Popen(self.options.program, env=environment)
            code = self.program.wait()
        if code >= 0:
            for process in self.connected:
                say(f"==PROF== Disconnected from process {process}")
        return self.finish(abs(code))

    def finish(self, code: int) -> int:
        if self.mishap == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if code and not self.interrupted:
            say(f"==ERROR== The application returned an error code ({code}).")
        if not self.launches:
            say("==WARNING== No kernels were profiled.")
        elif self.mishap == "table":
            print_long(self.launches, self.options.metrics.split(","))
        else:
            report = Path(f"{self.options.export}.ncu-rep".replace("%%", "%"))
            report.write_text(json.dumps([asdict(launch) for launch in self.launches]))
            say(f"==PROF== Report: {report}")
        return 0 if self.interrupted else code

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self.mishap == "deaf":
            os._exit(1)
        self.interrupted = True
        say("==PROF== Trying to shutdown target application")
        if self.program is not None:
            self.program.terminate()

    def listen(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rw", encoding="utf-8") as stream:
                self.serve(stream)

    def serve(self, stream: TextIO) -> None:
        process = int(stream.readline())
        if process not in self.connected:
            self.connected.append(process)
            if self.options.clock_control == "none" and len(self.connected) == 1:
                say(_CLOCKS)
            say(f"==PROF== Connected to process {process} (/usr/bin/python3.12)")
        for line in stream:
            self.measure(process, line.strip())
            stream.write("\n")
            stream.flush()

    def measure(self, process: int, name: str) -> None:
        if name in ("cudaProfilerStart", "cudaProfilerStop"):
            self.selection.active = name.endswith("Start")
        elif self.selection.picks(name):
            if self.mishap in MISHAPS and MISHAPS[self.mishap].startswith("=="):
                say(MISHAPS[self.mishap])
                return
            number = len(self.launches)
            of = self.options.launch_count
            total = f" ({number + 1}/{of})" if of else ""
            short = name if len(name) <= 32 else f"{name[:29]}..."
            self.launches.append(Launch(process, name))
            if self.mishap != "table":
                progress(f'==PROF== Profiling "{short}" - {number}{total}: 0%')
                progress("....50%")
                progress("....100% - 9 passes\n")


def say(line: str) -> None:
    progress(f"{line}\n")


def progress(text: str) -> None:
    os.write(1, text.encode())


def identity(number: int, launch: Launch) -> list[str]:
    name = f"void at::native::{launch.name}<float, 4>(int, T1)"
    return [str(number), str(launch.process), "python3.12", "127.0.0.1", name, "1", "7",
            "(256, 1, 1)", "(1056, 1, 1)", "0", "9.0"]  # fmt: skip


def print_long(launches: list[Launch], metrics: list[str]) -> None:
    table = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL, lineterminator="\n")
    table.writerow([*_IDENTITY, "Section Name", "Metric Name", "Metric Unit", "Metric Value"])
    for number, launch in enumerate(launches):
        for metric in metrics:
            unit, value = MEASURED.get(metric, ("", "n/a"))
            more = ["Command line profiler metrics", metric, unit, value]
            table.writerow([*identity(number, launch), *more])
    sys.stdout.flush()


def print_report(options: argparse.Namespace, mishap: str) -> int:
    if mishap == "unreadable":
        say("==ERROR== Failed to load report")
        return 1
    launches = [Launch(**entry) for entry in json.loads(Path(options.import_).read_text())]
    metrics = sorted(options.metrics.split(","))
    table = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL, lineterminator="\n")
    table.writerow([*_IDENTITY, *metrics])
    measured = [MEASURED.get(metric, ("", "n/a")) for metric in metrics]
    table.writerow([*("" for _ in _IDENTITY), *(unit for unit, _ in measured)])
    if mishap == "slow":
        Path("printing").touch()
        time.sleep(_HELD_S)
    is_torn = mishap == "torn" or (mishap == "picky" and options.rename_kernels is not None)
    for number, launch in enumerate(launches[:2] if is_torn else launches):
        table.writerow([*identity(number, launch), *(value for _, value in measured)])
    sys.stdout.flush()
    if is_torn:
        say("==ERROR== Out of words")
    return int(is_torn)


def parse(words: list[str], mishap: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ncu", allow_abbrev=False, add_help=False)
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--import", dest="import_")
    parser.add_argument("-f", action="store_true")
    parser.add_argument("-o", dest="export")
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--metrics", default="gpu__time_duration.sum")
    parser.add_argument("--launch-skip", type=int, default=0)
    parser.add_argument("--launch-count", type=int)
    parser.add_argument("--kernel-name", default="")
    parser.add_argument("--kernel-id", default="")
    parser.add_argument("--profile-from-start", default="on")
    parser.add_argument("--clock-control", default="base")
    for option in ("--target-processes", "--cache-control", "--page"):
        parser.add_argument(option)
    if mishap != "old":
        parser.add_argument("--rename-kernels")
        parser.add_argument("--import-sass")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    parser.error = refuse  # type: ignore[assignment, method-assign]
    return parser.parse_args(words)


def refuse(message: str) -> None:
    say(f"==ERROR== {message}")
    sys.exit(1)


def main() -> int:
    mishap = os.environ.get("FAKE_NCU", "")
    options = parse(sys.argv[1:], mishap)
    if options.version:
        say(f"Nsight Compute stand-in\nVersion {_OLD if mishap == 'old' else VERSION}")
        return 0
    if options.import_:
        return print_report(options, mishap)
    return Profiler(options, mishap).run()


if __name__ == "__main__":
    sys.exit(main())
