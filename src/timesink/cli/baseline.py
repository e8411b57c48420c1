"""Keep what a run says under a name, to compare others with it.

A baseline is a small file: what `compare` needs of a recording, without the recording.  It is kept
in .timesink/baselines, in the folder or URL of TIMESINK_BASELINES, or where --store says.

  timesink baseline save main runs/main
  timesink compare @main runs/new --fail-on regression
  timesink baseline list --store s3://bucket/baselines
  timesink baseline budgets @main --headroom 10% > budgets.toml
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from timesink.cli.options import (
    add_cycle_options,
    add_force,
    add_output,
    add_reading,
    not_empty,
    percentage,
    progress_bar,
)
from timesink.cli.outputs import check_output, give

if TYPE_CHECKING:
    from timesink.answers.comparison.runs import SideReadOptions

_FORMATS = ("text", "json")
_ACTIONS = {
    "save": "keep a recording, or a folder of one per rank",
    "list": "say which baselines there are",
    "show": "say what is in one",
    "remove": "take one away",
    "budgets": "print a file of budgets to begin with",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink baseline`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    made = {name: actions.add_parser(name, help=said) for name, said in _ACTIONS.items()}
    for one in made.values():
        # Given before or after the action; the default is that of the command.
        one.add_argument("--debug", action="store_true", default=argparse.SUPPRESS,
                         help="show the Python traceback of an error")  # fmt: skip
        one.add_argument(
            "--store", metavar="DIR", type=not_empty, help="folder or URL that holds baselines"
        )
    _add_name(made["save"])
    _add_run(made["save"], "the recording to keep, or a folder of them")
    add_force(made["save"])
    for name in ("show", "remove"):
        _add_name(made[name])
    for name in ("list", "show"):
        made[name].add_argument("--format", choices=_FORMATS, default="text")
    _add_run(made["budgets"], "a recording, a folder of them, or @NAME")
    made["budgets"].add_argument(
        "--headroom", metavar="PCT", type=_headroom, default=10.0,
        help="how much longer than now is allowed (default: 10%%)",
    )  # fmt: skip
    add_output(made["budgets"], "write to a file")


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="letters, digits, . _ and -; @ may lead")


def _add_run(parser: argparse.ArgumentParser, what: str) -> None:
    run_ = parser.add_argument("run", metavar="RUN", type=not_empty, help=what)
    run_.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]
    parser.add_argument("--rank", metavar="N", type=int, help="one rank")
    add_cycle_options(parser, counters=False)
    add_reading(parser)


def _headroom(text: str) -> float:
    """Percent, for `type=`; 0.1 may be meant as a share, so the sign is part of it."""
    if not text.strip().endswith("%"):
        msg = f"{text!r} is not a percentage: write it as 10%"
        raise argparse.ArgumentTypeError(msg)
    return percentage(text)


def run(options: argparse.Namespace) -> int:
    """Do what the action says."""
    _DO[options.action](options)
    return 0


def _save(options: argparse.Namespace) -> None:
    # --help waits for none of these.
    from timesink.answers.comparison.baseline_store import store_at  # noqa: PLC0415
    from timesink.answers.comparison.baselines import save_baseline, saved  # noqa: PLC0415

    with _reading(options) as reading:
        kept = save_baseline(
            options.name,
            options.run,
            options.store,
            rank=options.rank,
            reading=reading,
            force=options.force,
        )
    place = store_at(options.store).place
    print(saved(kept, place, place if options.store else None))


@contextmanager
def _reading(options: argparse.Namespace) -> Iterator[SideReadOptions]:
    """How recordings are read, with a bar meanwhile."""
    from timesink.answers.comparison.runs import CycleSearch, SideReadOptions  # noqa: PLC0415

    finding = CycleSearch(options.marker, options.by)
    with progress_bar() as progress:
        yield SideReadOptions(not options.no_cache, options.jobs, progress, finding)


def _list(options: argparse.Namespace) -> None:
    from timesink.answers.comparison.baseline_store import store_at  # noqa: PLC0415
    from timesink.answers.comparison.baselines import list_baselines, plain, row  # noqa: PLC0415

    found = list_baselines(options.store)
    if options.format == "json":
        known = [plain(one.baseline) for one in found if one.baseline is not None]
        lost = {one.name: one.problem.message for one in found if one.problem is not None}
        print(json.dumps({"baselines": known, "unreadable": lost}, indent=2))
    elif not found:
        print(f"No baseline in {store_at(options.store).place}")
    else:
        rows = [row(one) for one in found]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for cells in rows:
            padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
            print("  ".join(padded).rstrip())


def _show(options: argparse.Namespace) -> None:
    from timesink.answers.comparison.baselines import load_baseline, plain, shown  # noqa: PLC0415

    kept = load_baseline(options.name, options.store)
    said = json.dumps(plain(kept), indent=2) if options.format == "json" else "\n".join(shown(kept))
    print(said)


def _remove(options: argparse.Namespace) -> None:
    from timesink.answers.comparison.baseline_store import checked_name, reference  # noqa: PLC0415
    from timesink.answers.comparison.baselines import remove_baseline  # noqa: PLC0415

    remove_baseline(options.name, options.store)
    print(f"Removed {reference(checked_name(options.name))}")


def _budgets(options: argparse.Namespace) -> None:
    from timesink.answers.comparison.baseline_store import is_reference  # noqa: PLC0415
    from timesink.answers.comparison.baselines import load_baseline, unsaved_baseline  # noqa: PLC0415
    from timesink.answers.comparison.budget_file import starting_budgets  # noqa: PLC0415

    if options.output is not None:
        check_output(options.output, options.run, force=options.force)
    if is_reference(options.run):
        kept = load_baseline(options.run, options.store)
    else:
        with _reading(options) as reading:
            kept = unsaved_baseline(options.run, rank=options.rank, reading=reading)
    give(starting_budgets(kept, options.headroom), options.output)


_DO: dict[str, Callable[[argparse.Namespace], None]] = {
    "save": _save,
    "list": _list,
    "show": _show,
    "remove": _remove,
    "budgets": _budgets,
}
