"""What was measured, kept under a name: `baseline` and `history`, what changed in a series."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from timesink.cli.options import (
    add_actions,
    add_cycle_options,
    add_force,
    add_option,
    add_output,
    add_rank,
    add_reading,
    add_screen_format,
    argument_error,
    not_empty,
    percentage,
    progress_bar,
)
from timesink.cli.outputs import (
    answer_form,
    check_answer,
    give,
    give_document,
    give_frame,
    give_json,
)
from timesink.recorder.processes import sayable_values

if TYPE_CHECKING:
    from timesink.comparison.gate.baseline_store import Listed
    from timesink.comparison.inputs import SideReadOptions

# -- timesink baseline -----------------------------------------------------------------------------

BASELINE = """Store a run to compare later ones with.

  timesink baseline save main runs/main
  timesink baseline save main runs/main1 runs/main2 runs/main3
  timesink compare @main runs/new --fail-on regression
  timesink baseline add main runs/new
  timesink baseline list --store s3://bucket/baselines
  timesink baseline budgets @main --headroom 10% > budgets.toml

A baseline is a small file with what `compare` needs of a recording.  It is stored in the folder or
URL of --store, else of TIMESINK_BASELINES, else in .timesink/baselines.
"""

_ACTIONS = {
    "save": "store a recording, or a folder of one per rank",
    "add": "add the runs of a commit to a history",
    "list": "list the baselines",
    "show": "show one baseline",
    "remove": "delete one baseline",
    "budgets": "print a first budget file",
}


def add_baseline_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink baseline`."""
    actions = add_actions(parser, _ACTIONS)
    for action in actions.values():
        _add_store(action)
    for name in ("save", "add", "show", "remove"):
        add_option(
            actions[name], "name NAME", "name of letters, digits, . _ and -; may begin with @"
        )
    _add_run(
        actions["save"],
        "recording to store, or a folder of one per rank; or several runs",
        many=True,
    )
    add_force(actions["save"])
    runs = "recordings of one commit, with or without a timeline, or folders of  timesink ab"
    add_option(actions["add"], "runs RUN", runs, completed="file", nargs="+")
    whose = "measured commit (default: that of the git work tree)"
    add_option(actions["add"], "--commit SHA", whose, type=not_empty)
    add_option(actions["add"], "--time ISO", "time of the commit (default: from git)")
    add_cycle_options(actions["add"], counters=False)
    add_reading(actions["add"])
    for name in ("list", "show"):
        add_screen_format(actions[name])
    _add_run(actions["budgets"], "recording, folder of one per rank, or @NAME")
    what = "how far each limit is above the run, in percent (default: 10%%)"
    add_option(actions["budgets"], "--headroom PCT", what, type=_headroom, default=10.0)
    add_output(actions["budgets"], "write to a file")


def _add_store(parser: argparse.ArgumentParser) -> None:
    store = "folder or URL of baselines (default: TIMESINK_BASELINES, else .timesink/baselines)"
    add_option(parser, "--store DIR", store, type=not_empty)


def _add_run(parser: argparse.ArgumentParser, what: str, *, many: bool = False) -> None:
    add_option(parser, "run RUN", what, completed="file", nargs="+" if many else None)
    add_rank(parser)
    add_cycle_options(parser, counters=False)
    add_reading(parser)


def _headroom(text: str) -> float:
    """Percent, for `type=`; 0.1 may be meant as a share, so the sign is part of it."""
    if not text.strip().endswith("%"):
        raise argument_error(text, "a percentage: write it as 10%")
    return percentage(text)


def run_baseline(options: argparse.Namespace) -> int:
    """Do what the action says."""
    # --help waits for none of these.
    from timesink.answers.comparison import baselines  # noqa: PLC0415
    from timesink.comparison.gate import baseline_store  # noqa: PLC0415

    store = options.store
    if options.action == "save":
        with _side_options(options) as reading:
            baseline = baseline_store.save_baseline(
                options.name,
                options.run,
                store,
                rank=options.rank,
                reading=reading,
                force=options.force,
            )
        place = baseline_store.store_at(store).place
        print(baselines.saved_text(baseline, place, place if store else None))
    elif options.action == "add":
        _add(options)
    elif options.action == "list":
        _list(baseline_store.list_baselines(store), options)
    elif options.action == "show":
        baseline = baseline_store.load_baseline(options.name, store)
        is_json = options.format == "json"
        print(
            json.dumps(sayable_values(baselines.baseline_values(baseline)), indent=2)
            if is_json
            else "\n".join(baselines.baseline_lines(baseline))
        )
    elif options.action == "remove":
        baseline_store.remove_baseline(options.name, store)
        print(f"Removed {baseline_store.reference(baseline_store.checked_name(options.name))}")
    else:
        from timesink.comparison.gate.budget_file import starting_budgets  # noqa: PLC0415 - start-up time

        check_answer(options, "text", options.run)
        if baseline_store.is_reference(options.run):
            baseline = baseline_store.load_baseline(options.run, store)
        else:
            with _side_options(options) as reading:
                baseline = baseline_store.unsaved_baseline(
                    options.run, rank=options.rank, reading=reading
                )
        give(starting_budgets(baseline, options.headroom), options.output)
    return 0


def _add(options: argparse.Namespace) -> None:
    from timesink.answers.comparison.history import added_words  # noqa: PLC0415 - as above
    from timesink.comparison.gate import history_rows  # noqa: PLC0415
    from timesink.comparison.gate.baseline_store import checked_name, store_at  # noqa: PLC0415

    moment = None if options.time is None else history_rows.moment_us(options.time)
    with _side_options(options) as reading:
        added, new = history_rows.add_runs(
            options.name,
            options.runs,
            options.store,
            commit=options.commit,
            time_us=moment,
            reading=reading,
        )
    place = store_at(options.store).place
    print(added_words(added, checked_name(options.name), place, new=new))


@contextmanager
def _side_options(options: argparse.Namespace) -> Iterator[SideReadOptions]:
    """How recordings are read, with a bar meanwhile."""
    from timesink.comparison.inputs import SideReadOptions  # noqa: PLC0415 - start-up time
    from timesink.comparison.prefetch import CycleSearch  # noqa: PLC0415

    finding = CycleSearch(options.marker, options.by)
    with progress_bar() as progress:
        yield SideReadOptions(not options.no_cache, options.jobs, progress, finding)


def _list(entries: Sequence[Listed], options: argparse.Namespace) -> None:
    from timesink.answers.comparison.baselines import listed_values, row  # noqa: PLC0415 - start-up time
    from timesink.comparison.gate.baseline_store import reference, store_at  # noqa: PLC0415

    series = store_at(options.store).series()
    if options.format == "json":
        document = listed_values(entries, series)
        print(json.dumps(sayable_values(document), indent=2))
    elif not entries and not series:
        print(f"No baseline in {store_at(options.store).place}")
    elif entries:
        rows = [row(entry) for entry in entries]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for cells in rows:
            padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
            print("  ".join(padded).rstrip())
    if series and options.format != "json":
        print(f"Histories: {', '.join(map(reference, series))}")


# -- timesink history ------------------------------------------------------------------------------

HISTORY = """Find the commits where times changed.

  timesink baseline add main runs/nightly
  timesink history @main
  timesink history @main --signal cycle_ns -o history.html

Each  timesink baseline add NAME RUN  adds a commit to the history.  Counts are compared exactly;
step time and device time where noise does not explain a change.
"""

_HISTORY_FORMATS = ("text", "json", "md", "html", "csv")
SIGNALS = (
    *("cycle_ns", "device_ns", "program", "launches", "syncs", "copied_bytes"),
    *("peak_memory_bytes", "mean_ns"),
)
"""As `answers.comparison.history` has them, which --help should not wait for."""


def add_history_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink history`."""
    add_option(parser, "name NAME", "name of the history, e.g. @main", type=not_empty)
    add_option(parser, "--signal", "only this signal (default: all)", choices=SIGNALS)
    _add_store(parser)
    files = "write to a file; .txt, .md, .html, .json, .csv choose the format"
    add_output(parser, files, _HISTORY_FORMATS)


def run_history(options: argparse.Namespace) -> int:
    """Say what changed when, as the options ask."""
    form = answer_form(options, _HISTORY_FORMATS, options.store)
    from timesink.answers.comparison.history import history, history_document  # noqa: PLC0415 - --help waits not

    report = history(options.name, store=options.store, signal=options.signal)
    if form == "json":
        give_json(report.to_json(), options.output)
    elif form == "csv":
        give_frame(report.table, form, options.output)
    else:
        give_document(history_document(report), form, options.output)
    return 0


PARTS = {
    "baseline": (BASELINE, add_baseline_arguments, run_baseline),
    "history": (HISTORY, add_history_arguments, run_history),
}
