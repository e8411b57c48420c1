"""Fail when a run is slower than another.

  timesink gate runs/main runs/new
  timesink gate @main runs/new --budget budgets.toml --fail-on 5% -o comment.md
  timesink gate runs/good runs/here --undecided 125
  timesink gate base1 base2 base3 --against new1 new2 new3 --fail-on 1%

BASE and NEW are as for `timesink compare`.  Limits come from --fail-on and --budget, else from
./budgets.toml; without limits any regression fails.  The exit code is 0 when NEW passes, 3 when it
fails, and 1 when that is not decided.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from timesink.cli import compare
from timesink.cli.options import add_engine_options, add_option, add_output, add_reading
from timesink.comparison.gate.verdict import Limit

BUDGETS = "budgets.toml"
"""Limits that are taken where none are given."""
_FORMATS = ("text", "md", "json", "junit", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink gate`."""
    what = "BASE and NEW, or a folder of timesink ab"
    add_option(parser, "paths PATH", what, completed="file", nargs="+")
    compare.add_choices(parser)
    parser.set_defaults(explore=False, table=None, view=None, top=None)
    add_reading(parser)
    add_engine_options(parser)
    add_output(parser, "write to a file (.md, .xml, .json, .html), or to a folder", _FORMATS)


def run(options: argparse.Namespace) -> int:
    """Compare two runs and say whether the new one passes."""
    if options.budget is None and Path(BUDGETS).is_file():
        options.budget = BUDGETS
    if options.budget is None and options.fail_on is None:
        options.fail_on = Limit()
    # The reason on standard error is the answer, unless another is asked for.
    options.screen_only = options.output is None and options.format is None
    return compare.run(options)
