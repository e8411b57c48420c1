"""`timesink lab run`: record workloads with and without faults."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli.values import file_only, whole_number
from timesink.errors import UsageError

if TYPE_CHECKING:
    from timesink.lab.driving.driver import Outcome
    from timesink.lab.faults.fault import Fault

_LONGEST = 10_000
_SIZES = ("auto", "small", "medium", "large")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink lab run`."""
    output = parser.add_argument(
        "-o", "--output", metavar="DIR", type=file_only, required=True,
        help="the folder of all recordings; one that was begun is gone on with",
    )  # fmt: skip
    output.complete = {"bash": "_shtab_compgen_dirs", "zsh": "_files -/"}  # type: ignore[attr-defined]
    parser.add_argument(
        "--workload", metavar="W", action="extend", nargs="+",
        help="which workloads (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--fault", metavar="F", action="extend", nargs="+",
        help="which faults (default: all that can be put in here)",
    )  # fmt: skip
    for name, default, what in (
        ("repeat", 2, "rounds"),
        ("cycles", 40, "cycles of a recording"),
        ("skip", 10, "cycles that pass before it"),
    ):
        parser.add_argument(
            f"--{name}", metavar="N", default=default, help=f"{what} (default: %(default)s)",
            type=partial(whole_number, things=what),
        )  # fmt: skip
    parser.add_argument(
        "--minutes", metavar="M", type=partial(_duration, unit="minutes"),
        help="begin no run that would end later",
    )  # fmt: skip
    parser.add_argument(
        "--deadline", metavar="S", type=partial(_duration, unit="seconds"), default=300.0,
        help="give up a run that takes longer than S seconds (default: %(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--parts", metavar="DIR", type=file_only,
        help="also pack each recording as it comes into .tar.xz files of 15 MB at most in DIR",
    )  # fmt: skip
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument(
        "--size", choices=_SIZES, default="auto",
        help="of the workloads (default: small on a CPU, large from 70 GB of device memory)",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="print the plan, record nothing")


def _duration(text: str, *, unit: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < _LONGEST:
        msg = f"{text!r} is not a number of {unit}"
        raise argparse.ArgumentTypeError(msg)
    return value


def run(options: argparse.Namespace) -> int:
    """Record what was asked for."""
    from timesink.lab.driving.bench import this_bench  # noqa: PLC0415 - quick --help
    from timesink.lab.driving.driver import conduct, plan_in_words  # noqa: PLC0415
    from timesink.lab.driving.lab_folder import LabFolder  # noqa: PLC0415
    from timesink.lab.driving.one_run import How  # noqa: PLC0415
    from timesink.lab.driving.order import left_out, ordered  # noqa: PLC0415
    from timesink.lab.driving.parts import PackedParts  # noqa: PLC0415
    from timesink.lab.driving.time_left import TimeLeft  # noqa: PLC0415
    from timesink.lab.listing import faults_named, workloads_named  # noqa: PLC0415

    time_left = TimeLeft(options.cycles, 60 * options.minutes if options.minutes else None)
    workloads, faults = workloads_named(options.workload), faults_named(options.fault)
    bench = this_bench(options.device)
    has_gpu = bench.gpu is not None
    _say_left_out(left_out(workloads, faults, has_gpu=has_gpu), faults)
    runs = ordered(workloads, faults, options.repeat, has_gpu=has_gpu)
    if options.dry_run:
        print(*(one.folder for one in runs), sep="\n")
        print(plan_in_words(runs, runs, time_left, bench))
        return 0
    how = How(
        options.cycles, options.skip, options.device, options.size, deadline_s=options.deadline
    )
    lab = LabFolder(options.output.absolute())
    parts = PackedParts(options.parts) if options.parts else None
    outcome = conduct(runs, how, lab, time_left=time_left, bench=bench, say=_say, parts=parts)
    return _tell(outcome, options.output, options.minutes)


def _say_left_out(lacking: Sequence[Fault], asked: Sequence[Fault]) -> None:
    """Which faults cannot be put in here; without any other there is nothing to measure."""
    if not lacking:
        return
    needs = {need for one in lacking for need in one.needs}
    said = f"{', '.join(one.name for one in lacking)} (no {' or '.join(sorted(needs))} here)"
    if len(lacking) == len(asked):
        raise UsageError(f"cannot be put in: {said}", "see `timesink lab list` for the others")
    _say(f"left out: {said}")


def _tell(outcome: Outcome, folder: Path, minutes: float | None) -> int:
    if outcome.left and not (outcome.recorded or outcome.failed):
        _say(f"no run was begun: {minutes:g} min are too short for one; give more with --minutes")
        return 1
    if outcome.left:
        _say(f"no time was left for {_runs(outcome.left)}: the same command goes on")
    if outcome.failed:
        names = ", ".join(one.folder for one in outcome.failed)
        _say(f"{_runs(outcome.failed)} failed: {names}")
        _say(f"hint: see {folder / 'logs'}; the same command tries them again")
    if outcome.failed and not outcome.recorded:
        return 1
    _say(f"Next: timesink lab score {shlex.quote(str(folder))}")
    return 0


def _runs(some: Sequence[object]) -> str:
    return "1 run" if len(some) == 1 else f"{len(some)} runs"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
