"""Run a program and record some steps.

  timesink record -- python train.py                    skip 5 steps, time 20, record 20
  timesink record -o runs/base --steps 50 --skip 10 -- torchrun --nproc-per-node 8 train.py
  timesink record --marker generate_token -- python serve.py
  timesink record --counters gpu,cpu --interval 20 -- python train.py
  timesink record --unprofiled-only --stop -- python train.py    step time, without a timeline
  timesink record --whole -- python infer.py            a short program without steps

The program is not edited.  A step ends with each step of its optimizer.  With --marker it begins
with each call of a Python function (train_step, Model.forward, package.module:function, *_step), or
with a range of torch.profiler.record_function.  torch.profiler runs only during the recorded steps.
The unprofiled steps before them show the profiler overhead.

The folder gets trace.json.gz (one per rank), counters.csv on the same clock, and run.json.  The
program runs to its end, unless --stop is given; the exit code is that of the program.  Recording
needs only Python (`pip install timesink --no-deps`); without torch it has counters only.
"""

from __future__ import annotations

import argparse
import shlex
from functools import partial
from pathlib import Path
from typing import Any

from timesink.cli.command_line import log_line, print_stderr
from timesink.cli.options import (
    add_force,
    add_option,
    add_place,
    add_program,
    cycles_or_none,
    program_in,
    value_parser,
    whole_number,
)
from timesink.errors import UsageError
from timesink.model.units import brief_ns, count_noun, more
from timesink.recorder.counter_probes import Missing, missing_in_words, wanted_counters
from timesink.recorder.folder import (
    DEFAULT_CYCLES,
    DEFAULT_INTERVAL_MS,
    DEFAULT_ON,
    DEFAULT_PLAIN,
    DEFAULT_SKIP,
    EXTRAS,
    INTERVALS,
    RecordingFolder,
    RecordPlan,
    is_interval,
)
from timesink.recorder.processes import check_program
from timesink.recorder.recording import Request, record_program
from timesink.version import __version__


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink record`."""
    what, place = "folder of the recording (default: %(default)s)", Path("timesink-run")
    add_place(parser, "DIR", what, default=place)
    add_force(parser)
    count = partial(whole_number, things="steps")
    steps = "steps to record (default: %(default)s)"
    add_option(
        parser, "--steps --cycles N", steps, dest="cycles", type=count, default=DEFAULT_CYCLES
    )
    skip = "steps to leave out first (default: %(default)s)"
    add_option(parser, "--skip N", skip, type=cycles_or_none, default=DEFAULT_SKIP)
    plain = "unprofiled steps to time after them (default: %(default)s)"
    add_option(
        parser, "--unprofiled --plain N", plain,
        dest="plain", type=cycles_or_none, default=DEFAULT_PLAIN,
    )  # fmt: skip
    only = "only time unprofiled steps, without a timeline; with --stop until there are N"
    add_option(parser, "--unprofiled-only --plain-only", only, dest="plain_only")
    events = "time unprofiled steps on the device too, by device events"
    add_option(parser, "--device-events", events)
    marker = (
        "Python function or annotation that begins each step; * and ? match any text "
        "(default: the optimizer ends one)"
    )
    add_option(parser, "--marker NAME", marker, default="")
    add_option(parser, "--whole", "record the complete program, from the import of torch")
    add_option(parser, "--stop", "end the program once its steps are recorded")
    more = f"add to the timeline, with more overhead: {', '.join(EXTRAS)}, separated by commas"
    add_option(parser, "--with LIST", more, dest="extras", type=_extras, default=())
    less = f"leave out what is noted beside the timeline: {', '.join(DEFAULT_ON)}"
    add_option(parser, "--without LIST", less, type=_left_out, default=())
    where = "record which module and which line of the program calls come from"
    add_option(parser, "--where", where)
    groups = "counters: all, none, or groups and names as gpu,cpu,host_mem* (default: %(default)s)"
    add_option(parser, "--counters LIST", groups, default="all")
    between = "milliseconds between counter samples (default: %(default)g)"
    interval = value_parser(float, f"a time {INTERVALS}", is_interval)
    add_option(parser, "--interval MS", between, type=interval, default=DEFAULT_INTERVAL_MS)
    add_program(parser, "record")


def _extras(text: str) -> tuple[str, ...]:
    return _words(text, EXTRAS)


def _left_out(text: str) -> tuple[str, ...]:
    return _words(text, DEFAULT_ON)


def _words(text: str, valid: tuple[str, ...]) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    unknown = [word for word in words if word not in valid]
    if unknown or not words:
        msg = f"{', '.join(unknown) or 'nothing'!r} is none of {', '.join(valid)}"
        raise argparse.ArgumentTypeError(msg)
    return words


def run(options: argparse.Namespace) -> int:
    """Run the program, leave a recording, say what is in it."""
    program = program_in(options, "record", "record")
    if options.whole and (options.marker or options.stop):
        other = "--marker" if options.marker else "--stop"
        raise UsageError(f"--whole and {other} cannot go together", f"leave out {other}")
    if options.plain_only:
        timeline_options = {
            "--whole": options.whole,
            "--with": options.extras,
            "--where": options.where,
        }
        for other in (name for name, value in timeline_options.items() if value):
            raise UsageError(f"--plain-only and {other} cannot go together", f"leave out {other}")
    names = ("cycles", "skip", "plain", "plain_only", "device_events", "marker", "whole", "stop")
    plan_options = {name: getattr(options, name) for name in (*names, "extras", "without", "where")}
    request = Request(
        command=program,
        plan=RecordPlan(**plan_options),
        place=RecordingFolder(options.output.absolute()),
        counters=wanted_counters(options.counters),
        interval_ms=options.interval,
        timesink=__version__,
    )
    check_program(request.command)
    request.place.check(force=options.force)
    run_fields, advice, ended = record_program(request, log_line)
    _tell(run_fields, advice, options.output)
    return ended.status


def _tell(run: dict[str, Any], advice: str, folder: Path) -> None:
    missing = [Missing(**fields) for fields in run["counters"]["missing"]]
    for line in (*(f"without {line}" for line in missing_in_words(missing)), *run["notes"]):
        log_line(line)
    if not run["complete"]:
        log_line(f"the recording is partial: {run['why_partial']}")
    if advice:
        print_stderr(f"hint: {advice}")
    slower, cost = run["overhead"]["profiler_pct"], ""
    if slower is not None:
        longer = more(100, 100 + slower, "", time=True) if slower > 0 else "no longer"
        cost = f"; steps took {longer} with the profiler"
    print_stderr(f"Recorded {_content(run)} in {folder}{cost}")
    if any(process["trace"] for process in run["processes"]):
        print_stderr(f"Next: timesink analyze {shlex.quote(str(folder))}")


def _content(run: dict[str, Any]) -> str:
    cycles = run["cycles"]
    processes = [process for process in run["processes"] if process["trace"]]
    parts, suffix = [], ""
    if cycles["by"] == "whole program" and processes:
        parts.append("the whole program")
    elif processes:
        what = f" {cycles['name']}" if cycles["name"] else ""
        parts.append(f"{count_noun(cycles['recorded'], 'steps')} (by {cycles['by']}{what})")
    elif cycles["plain"]:
        middle_us, length, suffix = run["overhead"]["cycle_us"], "", ", no timeline"
        if middle_us is not None:
            length = f" of {brief_ns(1000 * middle_us)} (median)"
        parts.append(f"{count_noun(cycles['plain'], 'unprofiled steps')}{length}")
    if len(processes) > 1:
        parts[-1] += f" of {len(processes)} processes"
    if run["counters"]["file"]:
        parts.append(count_noun(len(run["counters"]["recorded"]), "counters"))
    return (" and ".join(parts) or "nothing") + suffix
