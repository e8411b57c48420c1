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
import shlex
from functools import partial
from pathlib import Path
from typing import Any

from timesink import __version__
from timesink.cli import note, say
from timesink.cli.options import (
    accepted,
    add_force,
    add_option,
    add_place,
    add_program,
    cycles_or_none,
    program_in,
    whole_number,
)
from timesink.errors import UsageError
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
from timesink.recorder.processes import check_program
from timesink.recorder.recording import Request, record_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink record`."""
    what, place = "the folder of the recording (default: %(default)s)", Path("timesink-run")
    add_place(parser, "DIR", what, default=place)
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
    told, advice, ended = record_program(request, note)
    _tell(told, advice, options.output)
    return ended.status


def _tell(run: dict[str, Any], advice: str, folder: Path) -> None:
    missing = [Missing(**one) for one in run["counters"]["missing"]]
    for line in (*(f"without {line}" for line in missing_in_words(missing)), *run["notes"]):
        note(line)
    if not run["complete"]:
        note(f"the recording is partial: {run['why_partial']}")
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
