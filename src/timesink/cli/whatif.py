r"""Say what a cycle would take if parts of the program took another time, or none.

The recording is played again with each change, in the order given: the new cycle and between
which bounds, what decides it then, and what each change names.  Without a change, or with `--best`,
single changes are tried and ranked.

  timesink whatif trace.json.gz
  timesink whatif trace.json.gz --scale 'kernel:flash*=0.5' --remove sync:aten::item
  timesink whatif trace.json.gz --fuse Optimizer.step --graph cycle --best
  timesink whatif trace.json.gz --device H100:B200 --loader-workers inf -o whatif.html
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from timesink.cli.options import CHOICE, add_input, add_option, add_output, read_options
from timesink.cli.outputs import answer_form, give_document, give_frame, give_json

_FORMATS = ("text", "md", "html", "json", "csv")
_CHANGES = (
    ("--scale WHAT=FACTOR", "what is chosen takes FACTOR times as long"),
    ("--remove WHAT", "what is chosen takes no time, and nobody waits for it"),
    ("--fuse CALL", "what a call launches is launched at once"),
    ("--graph WHAT", "what is chosen (the cycle by default) is launched as one graph"),
    ("--overlap WHAT", "device work beside all other, on a stream of its own"),
    ("--device OLD:NEW", "another device, by its peaks"),
    ("--loader-workers N", "batches are made beside the program by N workers; inf is no end"),
    ("--batch FACTOR", "FACTOR times as many samples per cycle"),
)


class _Asked(argparse.Action):
    """Changes in the order given, whatever their options."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - as argparse calls it
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        asked = (self.option_strings[0].removeprefix("--"), values)
        namespace.changes = (*namespace.changes, asked)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink whatif`."""
    add_input(parser)
    group = parser.add_argument_group(
        "changes, one after the other",
        "WHAT is kernel:PATTERN, copy:PATTERN, op:PATTERN, host:PATTERN, self:PATTERN, "
        "call:PATTERN, sync:PATTERN, communication, loading, outside or cycle (docs/what_if.md)",
    )
    for spelled, what in _CHANGES:
        more = {"nargs": "?", "const": "cycle"} if spelled.startswith("--graph") else {}
        add_option(group, spelled, what, action=_Asked, dest="changes", default=(), **more)
    add_option(parser, "--best", "try single changes as well, and rank them")
    files = "write to a file; .txt, .md, .html, .json, .csv choose the format"
    add_output(parser, files, _FORMATS)


def run(options: argparse.Namespace) -> int:
    """Say what the changes save, as the options ask."""
    form = answer_form(options, _FORMATS, options.path)
    from timesink.analyses.replay.changes import parse_change  # noqa: PLC0415 - --help should not wait
    from timesink.answers.what_if import what_if_document, whatif  # noqa: PLC0415

    changes = [parse_change(action, value) for action, value in options.changes]
    with read_options(options, *CHOICE) as asked:
        found = whatif(options.path, changes, best=True if options.best else None, **asked)
    if form == "json":
        give_json(found.to_json(), options.output)
    elif form == "csv":
        told = found.best if found.ranks_single else found.critical_path
        give_frame(told if found.is_told else told.clear(), form, options.output)
    else:
        give_document(what_if_document(found), form, options.output)
    return 0
