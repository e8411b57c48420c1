r"""Predict the step time after a change.

  timesink whatif trace.json.gz
  timesink whatif trace.json.gz --scale 'kernel:flash*=0.5' --remove sync:aten::item
  timesink whatif trace.json.gz --fuse Optimizer.step --graph cycle --best
  timesink whatif trace.json.gz --device H100:B200 --loader-workers inf -o whatif.html

The recording is replayed with each change, in the order given.  The result is the new step time
with its bounds, and the new critical path.  Without a change, or with --best, single changes are
tried and ranked.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from timesink.cli.options import CHOICE, add_input, add_option, add_output, read_options
from timesink.cli.outputs import answer_form, give_document, give_frame, give_json

_FORMATS = ("text", "md", "html", "json", "csv")
_CHANGES = (
    ("--scale WHAT=FACTOR", "WHAT takes FACTOR times as long"),
    ("--remove WHAT", "WHAT takes no time, and nothing waits for it"),
    ("--fuse CALL", "all kernels of CALL are launched as one"),
    ("--graph WHAT", "WHAT is launched as one graph (default: the step, written cycle)"),
    ("--overlap WHAT", "device work of WHAT runs on a stream of its own"),
    ("--device OLD:NEW", "kernels run on the device NEW, by its peaks"),
    ("--loader-workers N", "N workers load batches beside the program; inf: as many as needed"),
    ("--batch FACTOR", "FACTOR times as many samples per step"),
)


class _ChangeAction(argparse.Action):
    """Changes in the order given, whatever their options."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - as argparse calls it
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        change = (self.option_strings[0].removeprefix("--"), values)
        namespace.changes = (*namespace.changes, change)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink whatif`."""
    add_input(parser)
    group = parser.add_argument_group(
        "changes, applied in the order given",
        "WHAT is kernel:PATTERN, copy:PATTERN, op:PATTERN, host:PATTERN, self:PATTERN, "
        "call:PATTERN, sync:PATTERN, communication, loading, outside or cycle (docs/what_if.md)",
    )
    for spelled, what in _CHANGES:
        more = {"nargs": "?", "const": "cycle"} if spelled.startswith("--graph") else {}
        add_option(group, spelled, what, action=_ChangeAction, dest="changes", default=(), **more)
    add_option(parser, "--best", "also try single changes and rank them")
    files = "write to a file; .txt, .md, .html, .json, .csv choose the format"
    add_output(parser, files, _FORMATS)


def run(options: argparse.Namespace) -> int:
    """Say what the changes save, as the options ask."""
    form = answer_form(options, _FORMATS, options.path)
    from timesink.analyses.replay.changes import parse_change  # noqa: PLC0415 - --help should not wait
    from timesink.answers.what_if import what_if_document, whatif  # noqa: PLC0415

    changes = [parse_change(action, value) for action, value in options.changes]
    with read_options(options, *CHOICE) as reading:
        answer = whatif(options.path, changes, best=True if options.best else None, **reading)
    if form == "json":
        give_json(answer.to_json(), options.output)
    elif form == "csv":
        table = answer.best if answer.ranks_single else answer.critical_path
        give_frame(table if answer.is_told else table.clear(), form, options.output)
    else:
        give_document(what_if_document(answer), form, options.output)
    return 0
