"""`timesink export --flame`: time and memory by call stack or module, for the tools of others."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli.options import add_option, input_from, open_input
from timesink.cli.outputs import check_output, remember_folder
from timesink.errors import UsageError
from timesink.formats.flame_files import COLLAPSED, FORMATS, FlameProfile, write_flame
from timesink.model.units import brief_bytes, brief_ns, count_noun

if TYPE_CHECKING:
    from timesink.analyses.flame import FlameGraph
    from timesink.model.trace import Trace

_MEASURES = ("device", "host", "memory")
_GROUPS = ("stack", "module")
_OPENED_WITH = {
    "collapsed": "flamegraph.pl {output} > flame.svg, or https://www.speedscope.app",
    "speedscope": "https://www.speedscope.app, or  speedscope {output}",
    "pprof": "pprof -http=: {output}",
}


def add_flame_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink export --flame`."""
    flame = parser.add_argument_group("flame graphs")
    help_text = "write time or memory by call stack in this format instead"
    add_option(flame, "--flame", help_text, choices=FORMATS)
    measure = "device time, host time, or live memory at the peak (default: all there is)"
    add_option(flame, "--measure", measure, choices=_MEASURES)
    add_option(flame, "--by", "what frames are (default: stack)", choices=_GROUPS)
    add_option(flame, "--base RUN", "another run: write what this one has more", completed="file")


def refuse_flame_options(options: argparse.Namespace) -> None:
    """Refuse options of flame graphs where none is asked for."""
    for name in ("measure", "by", "base"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name} goes with --flame", f"add --flame {COLLAPSED}")


def run_flame(options: argparse.Namespace) -> int:
    """Write the graphs that the options ask for, and say how to open them."""
    for name in ("own_clock", "critical_path"):
        if getattr(options, name):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is not for flame graphs", f"leave out {option}")
    output: Path = options.output
    if output.is_dir():
        raise UsageError(f"{output}: it is a folder", "name a file with -o FILE")
    from timesink.analyses.flame import TITLES, flame_graph  # noqa: PLC0415 - start-up time

    source = input_from(options)
    check_output(output, source, force=options.force)
    trace = open_input(source, options)
    base = None if options.base is None else open_input(input_from(options, options.base), options)
    measures = _measures(trace, base, options)
    by = options.by or "stack"
    profiles = []
    graphs = []
    for measure in measures:
        graph = flame_graph(trace, measure, by)
        weights = None if base is None else flame_graph(base, measure, by).weights
        graphs.append(graph)
        profiles.append(FlameProfile(TITLES[measure], graph.unit, graph.weights, weights))
    count = write_flame(profiles, source.label, options.flame, output)
    remember_folder(output)
    sizes = ", ".join(f"{_amount(graph)} of {TITLES[graph.measure]}" for graph in graphs)
    print(f"Wrote {output} ({count_noun(count, 'stacks')}; {sizes})")
    how = _OPENED_WITH[options.flame]
    print(f"Next: open it with {how.format(output=shlex.quote(str(output)))}")
    return 0


def _measures(trace: Trace, base: Trace | None, options: argparse.Namespace) -> tuple[str, ...]:
    """What is written: the one that is asked for, else what both runs have."""
    from timesink.analyses.flame import MEASURES, measures_of  # noqa: PLC0415 - start-up time

    if options.measure is not None:
        return (options.measure,)
    held = set(measures_of(trace))
    if base is not None:
        held &= set(measures_of(base))
    measures = tuple(measure for measure in MEASURES if measure in held)
    if not measures and base is not None and measures_of(trace):
        raise UsageError(
            f"{options.path} and {options.base}: nothing to draw of both",
            "give two recordings, or two snapshots",
        )
    if not measures:
        raise UsageError(
            f"{options.path}: no time and no memory to draw", "give a recording, or a snapshot"
        )
    times = tuple(measure for measure in measures if measure != "memory") or measures
    # Files of one graph have the first; the units of time and memory do not mix in one of pprof.
    if options.flame == COLLAPSED:
        return times[:1]
    return measures if options.flame == "speedscope" else times


def _amount(graph: FlameGraph) -> str:
    return brief_bytes(graph.total) if graph.unit == "bytes" else brief_ns(graph.total)
