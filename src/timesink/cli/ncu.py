"""Measure kernels with Nsight Compute.

  timesink ncu -- python train.py                     every kernel: time and three utilisations
  timesink ncu --every 7 -- python train.py           one launch in seven of each kernel
  timesink ncu --range 1000:500 -- python train.py    500 launches, after the first 1000
  timesink ncu --metrics roofline -- python infer.py  bytes and operations as well

Writes a CSV file for `timesink kernels` and prints its summary.  The program runs to its end, many
times slower, as each measured kernel is replayed several times.  Ctrl-C keeps what was measured.
For a page with pictures:

  timesink kernels timesink-ncu.csv -o kernels.html

GPU clocks are not locked, as others may use the GPU: times vary from run to run.  --clock-control
base locks them while kernels are measured.

--every measures launches 1, N+1, 2N+1, ... of each kernel.  Choose a prime such as 7, 11 or 13:
other numbers may meet the same layers each time.

The machine with the GPU needs only Linux, Python and Nsight Compute: `pip install timesink
--no-deps` is enough there.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli.command_line import print_stderr
from timesink.cli.options import (
    add_force,
    add_option,
    add_place,
    add_program,
    argument_error,
    not_empty,
    program_in,
)
from timesink.errors import CollectError
from timesink.model.units import count_noun
from timesink.recorder.ncu.executable import find_ncu
from timesink.recorder.ncu.plan import (
    LARGEST,
    METRIC_SETS,
    REPORT_SUFFIX,
    SMALLEST,
    NcuPlan,
    command_line,
    import_commands,
    launch_picks,
    metrics_named,
    profile_command,
)
from timesink.recorder.processes import check_program
from timesink.version import __version__

if TYPE_CHECKING:
    from timesink.recorder.ncu.table import PrintedTable

_STACK = ("isal", "msgspec", "numpy", "polars", "rich")
"""What `timesink kernels` needs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink ncu`."""
    table = "CSV file to write; .csv.gz compresses it (default: %(default)s)"
    place = Path("timesink-ncu.csv")
    add_place(parser, "FILE", table, default=place)
    add_force(parser)
    every = f"measure one launch in N of each kernel, {SMALLEST} to {LARGEST} (default: all)"
    add_option(parser, "--every N", every, type=_every)
    launches = (
        "measure COUNT launches after the first START that --kernel and --every choose; "
        "either may be left out"
    )
    add_option(parser, "--range START:COUNT", launches, type=_launches)
    metrics = (
        f"{', '.join(METRIC_SETS)}, or names from ncu --query-metrics, "
        "separated by commas (default: %(default)s)"
    )
    add_option(parser, "--metrics SET|NAMES", metrics, default="utilisation")
    named = "only kernels whose name matches, without namespace and template arguments"
    add_option(parser, "--kernel REGEX", named, type=_expression)
    start = (
        "no: measure only between cudaProfilerStart and cudaProfilerStop "
        "(torch.cuda.profiler.start, .stop) (default: %(default)s)"
    )
    add_option(parser, "--from-start", start, choices=("yes", "no"), default="yes")
    clocks = (
        "base: lock the clocks while measuring, for all users of the GPU "
        "(default: %(default)s, clocks stay as they are)"
    )
    add_option(parser, "--clock-control", clocks, choices=("none", "base"), default="none")
    caches = (
        "none: keep caches between kernels "
        "(default: %(default)s, each kernel starts with empty caches)"
    )
    add_option(parser, "--cache-control", caches, choices=("none", "all"), default="all")
    report = "also keep the report for the Nsight Compute interface; with PyTorch about 100 MB"
    add_option(
        parser, f"--keep-report FILE{REPORT_SUFFIX}", report, completed="file", type=_ncu_report
    )
    which = "ncu to run (default: $TIMESINK_NCU, else the one in PATH, else the newest installed)"
    add_option(parser, "--ncu PATH", which, type=not_empty)
    add_option(parser, "--dry-run", "print the commands without running them")
    add_program(parser, "ncu")


def _every(text: str) -> int:
    if not (text.isascii() and text.isdigit() and SMALLEST <= int(text[:9]) <= LARGEST):
        raise argument_error(text, f"a number from {SMALLEST} to {LARGEST}")
    return int(text)


def _launches(text: str) -> tuple[int, int | None]:
    first, colon, count = text.partition(":")
    bounds = [part for part in (first, count) if part]
    if not (colon and bounds and all(part.isascii() and part.isdigit() for part in bounds)):
        such = "such as 1000:500, 1000: or :500; START and COUNT are whole numbers from 0"
        raise argument_error(text, f"START:COUNT, {such}")
    if count and not int(count):
        raise argparse.ArgumentTypeError(f"{text!r} holds no launch")
    return int(first or 0), int(count) if count else None


def _expression(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the expression is empty")
    try:
        with warnings.catch_warnings():
            # Python warns of classes such as [[:alpha:]], which Nsight Compute may know.
            warnings.simplefilter("ignore")
            re.compile(text)
    except re.error as error:
        raise argument_error(text, f"a regular expression: {error}") from None
    return text


def _ncu_report(text: str) -> Path:
    if not text.endswith(REPORT_SUFFIX):
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {REPORT_SUFFIX}")
    return Path(text)


def run(options: argparse.Namespace) -> int:
    """Measure, write the table, show its summary."""
    # Recordings wait for none of these.
    from timesink.recorder.ncu.collection import collect  # noqa: PLC0415
    from timesink.recorder.ncu.process import Screen  # noqa: PLC0415
    from timesink.recorder.ncu.table import NcuOutputs  # noqa: PLC0415

    program = program_in(options, "ncu", "measure")
    metric_set, metrics = metrics_named(options.metrics)
    plan = NcuPlan(
        program=program,
        metrics=metrics,
        metric_set=metric_set,
        every=launch_picks(options.every) if options.every else None,
        launches=options.range,
        kernel=options.kernel or "",
        from_start=options.from_start == "yes",
        clock_control=options.clock_control,
        cache_control=options.cache_control,
        keeps_report=options.keep_report is not None,
    )
    places = NcuOutputs(options.output, options.keep_report, options.force)
    places.check_names()
    if options.dry_run:
        # The commands to run by hand: what they print is a file for `timesink kernels` as well.
        called, report = options.ncu or "ncu", places.report or places.beside
        print(command_line(profile_command(called, plan, report)))
        show, _ = import_commands(called, report, plan.metrics)
        print(f"{command_line(show)} > {command_line([str(places.output)])}")
        return 0
    if os.name != "posix":
        raise CollectError("timesink ncu runs on Linux only", "run what --dry-run prints by hand")
    ncu = find_ncu(options.ncu)
    if ncu is None:
        raise CollectError(
            "Nsight Compute (ncu) is not installed, or not on PATH",
            "it comes with the CUDA toolkit, often as /usr/local/cuda/bin/ncu; "
            "name it with --ncu PATH or TIMESINK_NCU",
        )
    check_program(plan.program)
    table, failure = collect(ncu, plan, places, Screen(sys.stdout, sys.stderr), __version__)
    code = _tell_ncu(table, options)
    if failure is not None:
        raise failure
    return code


def _tell_ncu(table: PrintedTable, options: argparse.Namespace) -> int:
    device = f" of {table.device}" if table.device else ""
    kernels = f"{count_noun(table.kernels, 'kernels')}{device}"
    if table.without_values:
        names = ", ".join(table.without_values)
        print_stderr(
            f"warning: no kernel has a value of {names}: unknown to this ncu or this GPU\n"
            "hint: ncu --query-metrics lists the names that are known"
        )
    if not all(importlib.util.find_spec(name) for name in _STACK):
        print_stderr(
            f"Wrote {kernels} to {options.output}; where timesink is installed in full, "
            f"timesink kernels {command_line([str(options.output)])} shows the summary"
        )
        return 0
    print_stderr(f"Wrote {kernels} to {options.output}")
    from timesink.cli import main  # noqa: PLC0415 - which knows this module

    debug = ["--debug"] if options.debug else []
    return main(["kernels", str(options.output), *debug])
