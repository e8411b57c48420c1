"""`timesink compare` and `timesink gate` of two memory snapshots."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli import outputs
from timesink.errors import TimesinkError, UsageError
from timesink.formats.memory_snapshot.signature import sniff
from timesink.formats.small_files import encode_json
from timesink.formats.source_file import open_source

if TYPE_CHECKING:
    from timesink.answers.comparison.gate_result import GateAnswer
    from timesink.comparison.gate.budget_file import Budget
    from timesink.comparison.snapshots import SnapshotPair

_FORMATS = ("", "text", "md", "json", "html", "csv", "junit")
_OTHER_OPTIONS = ("pid", "rank", "device", "marker", "by", "map", "table", "view", "ignore")


def snapshot_paths(options: argparse.Namespace) -> tuple[str, str] | None:
    """The two snapshots that are to be compared; None where the paths are something else."""
    paths = [*options.paths, *options.against]
    are_snapshots = [is_snapshot(path) for path in paths]
    if not any(are_snapshots):
        return None
    if len(paths) != 2 or not all(are_snapshots):
        raise UsageError(
            "a memory snapshot is compared with one other snapshot",
            "give two snapshots:  timesink compare BASE.pickle NEW.pickle",
        )
    given = [name for name in _OTHER_OPTIONS if getattr(options, name, None)]
    if given or options.explore:
        option = f"--{given[0]}" if given else "--explore"
        raise UsageError(f"{option} is not for memory snapshots", f"leave out {option}")
    return paths[0], paths[1]


def is_snapshot(path: str) -> bool:
    """Whether a path is a file that holds a memory snapshot, or a folder with one and no trace.

    >>> is_snapshot("/no/such/file")
    False
    """
    file = Path(path)
    with suppress(OSError, TimesinkError, ValueError):
        if file.is_dir():
            from timesink.sources.discovery import find_recordings  # noqa: PLC0415 - most are files

            recordings = find_recordings(file)
            return len(recordings) == 1 and is_snapshot(str(recordings[0].path))
        return file.is_file() and sniff(open_source(file).head(1024), file.name)
    return False


def run_snapshots(
    options: argparse.Namespace,
    paths: tuple[str, str],
    form: str,
    *,
    is_gate: bool,
    command: Callable[[], tuple[str, ...]],
) -> GateAnswer | None:
    """Compare two snapshots and say it; the gate, where one is asked for."""
    from timesink.comparison.snapshots import SnapshotPair  # noqa: PLC0415 - --help is quick
    from timesink.sources.opening import open_trace  # noqa: PLC0415

    if form not in _FORMATS:
        raise UsageError(f"{form} is not for memory snapshots", "try --format md or json")
    base, new = (open_trace(path, cache=not options.no_cache) for path in paths)
    pair = SnapshotPair(base, new, paths)
    gate = None
    if is_gate:
        from timesink.answers.comparison.snapshots import snapshots_gate  # noqa: PLC0415 - as above

        gate = snapshots_gate(
            pair, options.fail_on, _budgets(options), options=_asked(options), command=command()
        )
    _give(pair, gate, form, options)
    return gate


def _asked(options: argparse.Namespace) -> str:
    """What is allowed, in words; empty where nothing is asked."""
    asked = []
    if options.fail_on is not None:
        allowed = options.fail_on.allowed_pct
        asked.append("no more memory allowed" if allowed is None else f"limit {allowed:g} %")
    if options.budget:
        asked.append(f"budgets in {options.budget}")
    return ", ".join(asked)


def _budgets(options: argparse.Namespace) -> tuple[Budget, ...]:
    if options.budget is None:
        return ()
    from timesink.comparison.gate.budget_file import load_budgets  # noqa: PLC0415 - start-up time

    return load_budgets(options.budget)


def _give(
    pair: SnapshotPair, gate: GateAnswer | None, form: str, options: argparse.Namespace
) -> None:
    if options.screen_only:
        return
    if form == "json":
        from timesink.answers.comparison.snapshots import SnapshotComparisonJson  # noqa: PLC0415 - few

        answer = SnapshotComparisonJson.of(pair, gate)
        outputs.give_json(encode_json(answer), options.output)
    elif form == "csv":
        outputs.give_frame(pair.changes("place"), "csv", options.output)
    elif form == "junit" and gate is not None:
        from datetime import datetime  # noqa: PLC0415 - as above
        from socket import gethostname  # noqa: PLC0415

        from timesink.answers.comparison.gate import gate_xml  # noqa: PLC0415

        outputs.give(gate_xml(gate, datetime.now(), gethostname()), options.output)  # noqa: DTZ005
    else:
        from timesink.answers.comparison.snapshots import snapshots_document  # noqa: PLC0415 - few

        document = snapshots_document(pair, gate, options.top)
        if form == "html":
            from timesink.output.html import report_html  # noqa: PLC0415 - as above

            outputs.give(report_html(document), options.output)
        else:
            outputs.give_document(document, form or "text", options.output)
