"""Say at which commits of a series cycle time, device time and counts changed.

Rows are added by  timesink baseline add NAME RUN, one per commit.  Counts are compared exactly;
of times, changes are found that chance does not explain.

  timesink baseline add main runs/nightly
  timesink history @main
  timesink history @main --signal cycle_ns -o history.html
"""

from __future__ import annotations

import argparse

from timesink.cli.options import add_option, add_output, not_empty
from timesink.cli.outputs import check_answer, format_of, give_document, give_frame, give_json

_FORMATS = ("text", "json", "md", "html", "csv")
SIGNALS = (
    "cycle_ns",
    "device_ns",
    "program",
    "launches",
    "syncs",
    "copied_bytes",
    "peak_memory_bytes",
    "mean_ns",
)
"""As `answers.history` has them, which --help should not wait for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink history`."""
    add_option(parser, "name NAME", "the series, as @main", type=not_empty)
    add_option(parser, "--signal", "one signal alone", choices=SIGNALS)
    add_option(parser, "--store DIR", "folder or URL that holds baselines", type=not_empty)
    files = "write to a file; .txt, .md, .html, .json, .csv choose the format"
    add_output(parser, files, _FORMATS)


def run(options: argparse.Namespace) -> int:
    """Say what changed when, as the options ask."""
    form = format_of(options, _FORMATS)
    check_answer(options, form, options.store)
    from timesink.answers.history import history, history_document  # noqa: PLC0415 - --help waits not

    found = history(options.name, store=options.store, signal=options.signal)
    if form == "json":
        give_json(found.to_json(), options.output)
    elif form == "csv":
        give_frame(found.table, form, options.output)
    else:
        give_document(history_document(found), form, options)
    return 0
