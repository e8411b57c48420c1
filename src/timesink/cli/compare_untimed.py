"""`timesink compare` and `timesink gate` of what has no timeline: memory snapshots, logs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from timesink.cli import outputs
from timesink.errors import TimesinkError, UsageError
from timesink.formats.small_files import encode_json
from timesink.sources.untimed import LOG, SNAPSHOT, WORDS, untimed_kind

if TYPE_CHECKING:
    import polars as pl

    from timesink.answers.comparison.gate_result import GateAnswer
    from timesink.comparison.collective_logs import LogPair
    from timesink.comparison.gate.budget_file import Budget
    from timesink.comparison.snapshots import SnapshotPair
    from timesink.comparison.untimed import UntimedSide
    from timesink.output.blocks import Document

_FORMATS = ("", "text", "md", "json", "html", "csv", "junit")
_OTHER_OPTIONS = ("pid", "rank", "device", "marker", "by", "map", "table", "view", "ignore")


_ADVICE = {
    SNAPSHOT: "give two snapshots:  timesink compare BASE.pickle NEW.pickle",
    LOG: "give the folders of two runs:  timesink compare LOGS1 LOGS2",
}


class UntimedPaths:
    """Two paths without a timeline: what they hold, and what was read of them already."""

    def __init__(self, paths: tuple[str, str], kind: str) -> None:
        self.paths, self.kind = paths, kind


def untimed_paths(options: argparse.Namespace) -> UntimedPaths | None:
    """The two snapshots, or folders of logs; None where paths are something else."""
    paths = [*options.paths, *options.against]
    kinds = [_kind_of(path, options.store) for path in paths]
    kind = next(filter(None, kinds), None)
    if kind is None:
        return None
    if len(paths) != 2 or set(kinds) != {kind}:
        words = WORDS[kind]
        raise UsageError(f"a {words} is compared with one other {words}", _ADVICE[kind])
    given = [name for name in _OTHER_OPTIONS if getattr(options, name, None)]
    if given or options.explore:
        option = f"--{given[0]}" if given else "--explore"
        raise UsageError(f"{option} is not for a {WORDS[kind]}", f"leave out {option}")
    if kind == LOG and options.budget:
        raise UsageError("--budget is not for logs of collectives", "give a limit with --fail-on")
    return UntimedPaths((paths[0], paths[1]), kind)


def _kind_of(path: str, store: str | None) -> str | None:
    """What a path or a baseline holds that has no timeline."""
    if not path.startswith("@"):
        return untimed_kind(path)
    from timesink.comparison.gate.baseline_store import load_baseline  # noqa: PLC0415 - most are files

    with suppress(TimesinkError):  # said by what reads it next
        side = load_baseline(path, store).untimed
        return None if side is None else side.kind
    return None


def _side(path: str, kind: str, options: argparse.Namespace) -> UntimedSide:
    if path.startswith("@"):
        from timesink.comparison.gate.baseline_store import load_baseline  # noqa: PLC0415 - as above

        side = load_baseline(path, options.store).untimed
        if side is not None:
            return side
    from timesink.comparison.untimed import untimed_side  # noqa: PLC0415 - --help is quick

    return untimed_side(path, kind, cache=not options.no_cache)


def run_untimed(
    options: argparse.Namespace,
    chosen: UntimedPaths,
    form: str,
    *,
    is_gate: bool,
    command: Callable[[], tuple[str, ...]],
) -> GateAnswer | None:
    """Compare both and say it; the gate, where one is asked for."""
    if form not in _FORMATS:
        raise UsageError(f"{form} is not for a {WORDS[chosen.kind]}", "try --format md or json")
    base, new = (_side(path, chosen.kind, options) for path in chosen.paths)
    gate = None
    from timesink.comparison.collective_logs import LogPair, LogSide  # noqa: PLC0415 - as above
    from timesink.comparison.snapshots import SnapshotPair, SnapshotSide  # noqa: PLC0415 - as above

    if isinstance(base, SnapshotSide) and isinstance(new, SnapshotSide):
        pair = SnapshotPair(base, new, chosen.paths)
        if is_gate:
            from timesink.answers.comparison.snapshots import snapshots_gate  # noqa: PLC0415 - as above

            gate = snapshots_gate(
                pair, options.fail_on, _budgets(options), options=_asked(options), command=command()
            )
        _give_snapshots(pair, gate, form, options)
    elif isinstance(base, LogSide) and isinstance(new, LogSide):
        logs = LogPair(base, new, chosen.paths)
        if is_gate:
            from timesink.answers.comparison.collective_logs import logs_gate  # noqa: PLC0415 - as above

            gate = logs_gate(logs, options.fail_on, options=_asked(options, ""), command=command())
        _give_logs(logs, gate, form, options)
    return gate


def _asked(options: argparse.Namespace, what: str = "memory ") -> str:
    """What is allowed, in words; empty where nothing is asked."""
    asked = []
    if options.fail_on is not None:
        allowed = options.fail_on.allowed_pct
        asked.append(
            f"no more {what or 'time '}allowed" if allowed is None else f"limit {allowed:g} %"
        )
    if options.budget:
        asked.append(f"budgets in {options.budget}")
    return ", ".join(asked)


def _budgets(options: argparse.Namespace) -> tuple[Budget, ...]:
    if options.budget is None:
        return ()
    from timesink.comparison.gate.budget_file import load_budgets  # noqa: PLC0415 - start-up time

    return load_budgets(options.budget)


def _give_snapshots(
    pair: SnapshotPair, gate: GateAnswer | None, form: str, options: argparse.Namespace
) -> None:
    from timesink.answers.comparison import snapshots  # noqa: PLC0415 - as above

    forms = _Forms(
        lambda: encode_json(snapshots.SnapshotComparisonJson.of(pair, gate)),
        lambda: pair.changes("place"),
        lambda: snapshots.snapshots_document(pair, gate, options.top),
    )
    _give(forms, gate, form, options)


def _give_logs(
    pair: LogPair, gate: GateAnswer | None, form: str, options: argparse.Namespace
) -> None:
    from timesink.answers.comparison import collective_logs as logs  # noqa: PLC0415 - as above

    forms = _Forms(
        lambda: encode_json(logs.LogComparisonJson.of(pair, gate)),
        pair.operations,
        lambda: logs.logs_document(pair, gate, options.top),
    )
    _give(forms, gate, form, options)


class _Forms(NamedTuple):
    """What an answer is in each form, made when it is asked for."""

    json: Callable[[], bytes]
    table: Callable[[], pl.DataFrame]
    document: Callable[[], Document]


def _give(forms: _Forms, gate: GateAnswer | None, form: str, options: argparse.Namespace) -> None:
    if options.screen_only:
        return
    if form == "json":
        outputs.give_json(forms.json(), options.output)
    elif form == "csv":
        outputs.give_frame(forms.table(), "csv", options.output)
    elif form == "junit" and gate is not None:
        from datetime import datetime  # noqa: PLC0415 - as above
        from socket import gethostname  # noqa: PLC0415

        from timesink.answers.comparison.gate import gate_xml  # noqa: PLC0415

        outputs.give(gate_xml(gate, datetime.now(), gethostname()), options.output)  # noqa: DTZ005
    elif form == "html":
        from timesink.output.html import report_html  # noqa: PLC0415 - as above

        outputs.give(report_html(forms.document()), options.output)
    else:
        outputs.give_document(forms.document(), form or "text", options.output)
