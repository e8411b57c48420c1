"""Measure how often a diagnosis is right: record programs with faults put in, and score.

  timesink lab list                                      what there is to record
  timesink lab run -o lab/                               two workloads, every fault, two rounds
  timesink lab run -o lab/ --workload denoise --fault cpu_hog python_stall
  timesink lab run -o lab/ --minutes 10                  again: goes on where it stopped
  timesink lab score lab/ -o docs/lab_accuracy.md
  timesink lab ranks -o ranks/ --tensor 4 --straggler slow_clock:37    64 ranks, generated

A test bench.  `run` needs PyTorch and nothing else (`pip install timesink --no-deps`) and loads the
machine it runs on; it never touches clocks, power limits or modes of a device.  `score` compares
each recording with the last one without a fault before it, on any machine.  `ranks` records
nothing: it computes a run, so that what analyses should say about it is known.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from timesink.cli import lab_ranks, lab_run
from timesink.cli.common import add_output
from timesink.cli.outputs import check_output, format_of, give
from timesink.cli.values import not_empty

_ACTIONS = {
    "list": "say which workloads, faults and kinds of slow ranks there are",
    "run": "record workloads with and without faults",
    "score": "say how often the diagnosis of such recordings is right",
    "ranks": "write the traces of a run of many ranks, with slowness put into some",
}
_FORMATS = ("text", "md", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink lab`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    made = {name: actions.add_parser(name, help=said) for name, said in _ACTIONS.items()}
    for name, one in made.items():
        one.description = _ACTIONS[name][0].upper() + _ACTIONS[name][1:] + "."
        # Given before or after the action; the default is that of the command.
        one.add_argument("--debug", action="store_true", default=argparse.SUPPRESS,
                         help="show the Python traceback of an error")  # fmt: skip
    made["list"].add_argument("--format", choices=("text", "json"), default="text")
    lab_run.add_arguments(made["run"])
    lab_ranks.add_arguments(made["ranks"])
    folder = made["score"].add_argument(
        "folder", metavar="DIR", type=not_empty, help="what `timesink lab run` wrote"
    )
    folder.complete = {"bash": "_shtab_compgen_dirs", "zsh": "_files -/"}  # type: ignore[attr-defined]
    made["score"].add_argument("--format", choices=_FORMATS, help="how to say it")
    made["score"].add_argument("--no-cache", action="store_true", help="read again, keep nothing")
    add_output(made["score"], "write to a file (.txt, .md, .json)")


def run(options: argparse.Namespace) -> int:
    """Do what the action says."""
    actions = {"list": _list, "run": lab_run.run, "score": _score, "ranks": lab_ranks.run}
    return actions[options.action](options)


def _list(options: argparse.Namespace) -> int:
    from timesink.lab import listing  # noqa: PLC0415 - --help is quick

    print(listing.as_json() if options.format == "json" else listing.as_text())
    return 0


def _score(options: argparse.Namespace) -> int:
    form = format_of(options, _FORMATS)
    if options.output is not None:
        check_output(options.output, options.folder, force=options.force)
    from timesink.lab.scoring.rendering import RENDERERS  # noqa: PLC0415 - --help is quick
    from timesink.lab.scoring.scoring import score  # noqa: PLC0415

    found = score(Path(options.folder), cache=not options.no_cache, progress=_count)
    give(RENDERERS[form](found), options.output)
    return 0


def _count(done: int, total: int) -> None:
    """How far it is, on a terminal: many recordings take minutes."""
    if sys.stderr.isatty():
        end = "\n" if done == total else "\r"
        print(f"compared {done} of {total} pairs", end=end, file=sys.stderr, flush=True)
