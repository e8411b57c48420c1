"""Run a program and record some of its cycles: a timeline, and counters on the same clock.

  timesink record -- python train.py                    20 cycles, after 5 skipped and 20 plain
  timesink record -o runs/base --cycles 50 --skip 10 -- torchrun --nproc-per-node 8 train.py
  timesink record --marker generate_token -- python serve.py
  timesink record --counters gpu,cpu --interval 20 -- python train.py
  timesink record --plain-only --stop -- python train.py    how fast it is, without a timeline
  timesink record --whole -- python infer.py            a short program without cycles

The program is not edited.  A cycle is a step of its optimizer; with --marker it is a call of a
Python function (train_step, Model.forward, package.module:function, *_step) or a range that the
program marks with torch.profiler.record_function.  torch.profiler runs during the cycles asked for
and not before or after; cycles before it are timed, and say how fast the program is by itself.  The
program runs on to its end, unless --stop is given.

Writes a folder with trace.json.gz (one per rank where there are several), counters.csv and
run.json, for  timesink analyze, compare, cycles and diagnose.  A program that fails or is
interrupted leaves what was recorded until then.  The exit code is that of the program.

Needs nothing but Python: `pip install timesink --no-deps` is enough to record.  Without torch it
records counters only; counters that cannot be read are named.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shlex
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timesink import __version__
from timesink.cli import say
from timesink.cli.options import (
    accepted,
    add_force,
    add_option,
    add_program,
    cycles_or_none,
    file_only,
    not_empty,
    program_in,
    refused,
    whole_number,
)
from timesink.errors import CollectError, UsageError
from timesink.model.units import brief_ns, counted, more
from timesink.recorder.counter_probes import Missing, missing_in_words, wanted
from timesink.recorder.folder import (
    DEFAULT_CYCLES,
    DEFAULT_INTERVAL_MS,
    DEFAULT_PLAIN,
    DEFAULT_SKIP,
    EXTRAS,
    INTERVALS,
    RecordingFolder,
    RecordPlan,
    is_interval,
)
from timesink.recorder.ncu import (
    LARGEST,
    METRIC_SETS,
    REPORT_SUFFIX,
    SMALLEST,
    NcuPlan,
    find_ncu,
    import_commands,
    metrics_named,
    profile_command,
    sampling,
    shown,
)
from timesink.recorder.processes import check_program
from timesink.recorder.recording import Request, record_program

if TYPE_CHECKING:
    from timesink.recorder.ncu.table import PrintedTable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink record`."""
    what, place = "the folder of the recording (default: %(default)s)", Path("timesink-run")
    add_option(parser, "-o --output DIR", what, completed="folder", type=file_only, default=place)
    add_force(parser)
    count = partial(whole_number, things="cycles")
    cycles = "cycles to record (default: %(default)s)"
    add_option(parser, "--cycles N", cycles, type=count, default=DEFAULT_CYCLES)
    skip = "cycles to let pass first (default: %(default)s)"
    add_option(parser, "--skip N", skip, type=cycles_or_none, default=DEFAULT_SKIP)
    plain = "cycles to time next, before the profiler is there (default: %(default)s)"
    add_option(parser, "--plain N", plain, type=cycles_or_none, default=DEFAULT_PLAIN)
    only = "no timeline: time plain cycles to the end, or with --stop until there are N"
    add_option(parser, "--plain-only", only)
    events = "time plain cycles on the device too, by events at their borders"
    add_option(parser, "--device-events", events)
    marker = (
        "what begins a cycle: a Python function or an annotation; * and ? fit any text "
        "(default: a step of an optimizer ends one)"
    )
    add_option(parser, "--marker NAME", marker, default="")
    add_option(parser, "--whole", "record all of the program, from the import of torch")
    add_option(parser, "--stop", "end the program once its cycles are recorded")
    more = f"more in the timeline, at a price: {', '.join(EXTRAS)}, separated by commas"
    add_option(parser, "--with LIST", more, dest="extras", type=_extras, default=())
    where = "show which module of the network, and which line of the program, calls come from"
    add_option(parser, "--where", where)
    groups = "all, none, or groups and names such as gpu,cpu,host_mem* (default: %(default)s)"
    add_option(parser, "--counters LIST", groups, default="all")
    between = "milliseconds between samples of counters (default: %(default)g)"
    interval = accepted(float, f"a time {INTERVALS}", is_interval)
    add_option(parser, "--interval MS", between, type=interval, default=DEFAULT_INTERVAL_MS)
    add_program(parser, "record")


def _extras(text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    unknown = [word for word in words if word not in EXTRAS]
    if unknown or not words:
        msg = f"{', '.join(unknown) or 'nothing'!r} is none of {', '.join(EXTRAS)}"
        raise argparse.ArgumentTypeError(msg)
    return words


def run(options: argparse.Namespace) -> int:
    """Run the program, leave a recording, say what is in it."""
    program = program_in(options, "record", "record")
    if options.whole and (options.marker or options.stop):
        other = "--marker" if options.marker else "--stop"
        raise UsageError(f"--whole and {other} cannot go together", f"leave out {other}")
    if options.plain_only:
        others = {"--whole": options.whole, "--with": options.extras, "--where": options.where}
        for other in (name for name, given in others.items() if given):
            raise UsageError(f"--plain-only and {other} cannot go together", f"leave out {other}")
    names = ("cycles", "skip", "plain", "plain_only", "device_events", "marker", "whole", "stop")
    asked = {name: getattr(options, name) for name in (*names, "extras", "where")}
    request = Request(
        command=program,
        plan=RecordPlan(**asked),
        place=RecordingFolder(options.output.absolute()),
        counters=wanted(options.counters),
        interval_ms=options.interval,
        timesink=__version__,
    )
    check_program(request.command)
    request.place.check(force=options.force)
    told, advice, ended = record_program(request, _say)
    _tell(told, advice, options.output)
    return ended.status


def _tell(run: dict[str, Any], advice: str, folder: Path) -> None:
    missing = [Missing(**one) for one in run["counters"]["missing"]]
    for line in (*(f"without {line}" for line in missing_in_words(missing)), *run["notes"]):
        _say(line)
    if not run["complete"]:
        _say(f"the recording is partial: {run['why_partial']}")
    if advice:
        say(f"hint: {advice}")
    slower, cost = run["overhead"]["profiler_pct"], ""
    if slower is not None:
        longer = more(100, 100 + slower, "", time=True) if slower > 0 else "no longer"
        cost = f"; cycles took {longer} with the profiler on"
    say(f"Recorded {_content(run)} in {folder}{cost}")
    if any(process["trace"] for process in run["processes"]):
        say(f"Next: timesink analyze {shlex.quote(str(folder))}")


def _content(run: dict[str, Any]) -> str:
    cycles = run["cycles"]
    processes = [process for process in run["processes"] if process["trace"]]
    parts, lacking = [], ""
    if cycles["by"] == "whole program" and processes:
        parts.append("the whole program")
    elif processes:
        what = f" {cycles['name']}" if cycles["name"] else ""
        parts.append(f"{counted(cycles['recorded'], 'cycles')} (by {cycles['by']}{what})")
    elif cycles["plain"]:
        middle_us, length, lacking = run["overhead"]["cycle_us"], "", ", no timeline"
        if middle_us is not None:
            length = f" of {brief_ns(1000 * middle_us)} (median)"
        parts.append(f"{counted(cycles['plain'], 'plain cycles')}{length}")
    if len(processes) > 1:
        parts[-1] += f" of {len(processes)} processes"
    if run["counters"]["file"]:
        parts.append(counted(len(run["counters"]["recorded"]), "counters"))
    return (" and ".join(parts) or "nothing") + lacking


def _say(text: str) -> None:
    say(f"timesink: {text}")


# -- timesink ncu ----------------------------------------------------------------------------------

NCU = """Measure how well the kernels of a program use the GPU, with Nsight Compute.

  timesink ncu -- python train.py                     every kernel: time and three utilisations
  timesink ncu --every 7 -- python train.py           one launch in seven of each kernel
  timesink ncu --range 1000:500 -- python train.py    500 launches, after the first 1000
  timesink ncu --metrics roofline -- python infer.py  bytes and operations as well

Runs ncu, shows its command, writes a CSV file for `timesink kernels` and prints its summary.  The
program runs to its end, many times slower: every kernel measured is replayed several times.
Ctrl-C stops it and keeps what was measured.  For a page with pictures:

  timesink kernels timesink-ncu.csv -o kernels.html

The clocks of the GPU are left alone, for others may use it too: times vary from run to run as the
clock does, of which ncu warns.  --clock-control base locks them while kernels are measured.

--every picks launches 1, N+1, 2N+1, ... of each kernel function.  When N shares a factor with the
number of launches per layer or iteration, the sample always meets the same layers; a prime such as
7, 11 or 13 rarely does.

Needs nothing but Linux, Python and Nsight Compute on the machine with the GPU: `pip install
timesink --no-deps` is enough there.
"""

_STACK = ("isal", "msgspec", "numpy", "polars", "rich")
"""What `timesink kernels` needs."""


def add_ncu_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink ncu`."""
    table = "where the table goes, as CSV; .csv.gz packs it (default: %(default)s)"
    place = Path("timesink-ncu.csv")
    add_option(parser, "-o --output FILE", table, completed="file", type=file_only, default=place)
    add_force(parser)
    every = f"one launch in N of each kernel, {SMALLEST} to {LARGEST}; prefer a prime"
    add_option(parser, "--every N", every, type=_every)
    launches = (
        "COUNT launches from START on, counted from 0 among those --kernel and --every pick; "
        "either may be left out"
    )
    add_option(parser, "--range START:COUNT", launches, type=_launches)
    metrics = (
        f"{', '.join(METRIC_SETS)}, or names of ncu separated by commas, which "
        "ncu --query-metrics lists (default: %(default)s)"
    )
    add_option(parser, "--metrics SET|NAMES", metrics, default="utilisation")
    named = "only kernels whose function name matches (without namespace and template arguments)"
    add_option(parser, "--kernel REGEX", named, type=_expression)
    start = (
        "no: only between cudaProfilerStart and cudaProfilerStop "
        "(torch.cuda.profiler.start, .stop) (default: %(default)s)"
    )
    add_option(parser, "--from-start", start, choices=("yes", "no"), default="yes")
    clocks = (
        "base: lock the clocks while measuring, for all who share the card "
        "(default: %(default)s, clocks are left alone)"
    )
    add_option(parser, "--clock-control", clocks, choices=("none", "base"), default="none")
    caches = (
        "none: keep the caches as the kernel before left them "
        "(default: %(default)s, each kernel starts with empty caches)"
    )
    add_option(parser, "--cache-control", caches, choices=("none", "all"), default="all")
    report = "keep the report, for the Nsight Compute user interface; with PyTorch about 100 MB"
    add_option(
        parser, f"--keep-report FILE{REPORT_SUFFIX}", report, completed="file", type=_ncu_report
    )
    which = (
        "which ncu to run (default: $TIMESINK_NCU, else that of PATH, else the newest installed)"
    )
    add_option(parser, "--ncu PATH", which, type=not_empty)
    add_option(parser, "--dry-run", "print the commands, run nothing")
    add_program(parser, "ncu")


def _every(text: str) -> int:
    if not (text.isascii() and text.isdigit() and SMALLEST <= int(text[:9]) <= LARGEST):
        raise refused(text, f"a number from {SMALLEST} to {LARGEST}")
    return int(text)


def _launches(text: str) -> tuple[int, int | None]:
    first, colon, count = text.partition(":")
    given = [part for part in (first, count) if part]
    if not (colon and given and all(part.isascii() and part.isdigit() for part in given)):
        such = "such as 1000:500, 1000: or :500; START and COUNT are whole numbers from 0"
        raise refused(text, f"START:COUNT, {such}")
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
        raise refused(text, f"a regular expression: {error}") from None
    return text


def _ncu_report(text: str) -> Path:
    if not text.endswith(REPORT_SUFFIX):
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {REPORT_SUFFIX}")
    return Path(text)


def run_ncu(options: argparse.Namespace) -> int:
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
        every=sampling(options.every) if options.every else None,
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
        print(shown(profile_command(called, plan, report)))
        show, _ = import_commands(called, report, plan.metrics)
        print(f"{shown(show)} > {shown([str(places.output)])}")
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
    kernels = f"{counted(table.kernels, 'kernels')}{device}"
    if table.without_values:
        names = ", ".join(table.without_values)
        say(f"warning: no kernel has a value of {names}: unknown to this ncu or to this GPU\n"
            "hint: ncu --query-metrics lists the names that are known")  # fmt: skip
    if not all(importlib.util.find_spec(name) for name in _STACK):
        say(f"Wrote {kernels} to {options.output}; where timesink is installed in full, "
            f"timesink kernels {shown([str(options.output)])} shows the summary")  # fmt: skip
        return 0
    say(f"Wrote {kernels} to {options.output}")
    from timesink.cli import main  # noqa: PLC0415 - which knows this module

    debug = ["--debug"] if options.debug else []
    return main(["kernels", str(options.output), *debug])
