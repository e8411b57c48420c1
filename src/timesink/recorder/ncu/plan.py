"""What Nsight Compute is to measure of which program, as its command lines."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from timesink.errors import UsageError
from timesink.patterns import regex


def rows_beside(name: str) -> list[dict[str, str]]:
    """The rows of a table of this folder."""
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# Which Nsight Compute metrics a question needs: rows of `metrics.csv`.
#
# Standard library only: collecting must work where nothing else is installed.  Names a device does
# not have are answered with ``n/a``, so one list serves every generation.

DURATION = "gpu__time_duration.sum"
_METRICS = rows_beside("metrics.csv")
UTILISATION = tuple(row["metric"] for row in _METRICS if row["set"] == "utilisation")
"""How long each kernel ran and how busy the tensor pipe, memory and multiprocessors were."""
ROOFLINE = tuple(row["metric"] for row in _METRICS)
"""`UTILISATION` plus what arithmetic intensity needs: bytes moved and operations by precision."""


# Every N-th launch of each kernel function, in the words Nsight Compute understands.

SMALLEST, LARGEST = 2, 1000

_ENOUGH_PICKS = 10
"""With fewer picks in a period the period itself, a power of ten, would be the stride."""


@dataclass(frozen=True, slots=True)
class LaunchPicks:
    """Launches 1, N + 1, 2 N + 1, ... of every kernel function; the count restarts each period.

    Nsight Compute selects launches by a regular expression on their number, and an expression can
    tell numbers by their last digits only.  So the pattern repeats after a power of ten, which
    makes one stride in each period a little shorter or longer than N.
    """

    every: int
    period: int
    picked: int

    @property
    def expression(self) -> str:
        """Matches the numbers of the launches picked, counted from 1; holds no colon."""
        numbers = [1 + self.every * pick for pick in range(self.picked)]
        digits = len(str(self.period)) - 1
        # A number too short to end in that many digits is listed as it is.
        short = [str(number) for number in numbers if number < self.period // 10]
        padded = "|".join(f"{number:0{digits}d}" for number in numbers)
        return "|".join([*short, f"[0-9]*({padded})"])


def launch_picks(every: int) -> LaunchPicks:
    """How to pick one launch in `every`, 2 to 1000, to less than a hundredth."""
    period = 10
    while True:
        picked = round(period / every)
        missed = abs(picked * every - period)
        if not missed or (picked >= _ENOUGH_PICKS and missed * 100 < period):
            return LaunchPicks(every, period, picked)
        period *= 10


METRIC_SETS = {"utilisation": UTILISATION, "roofline": ROOFLINE}
CUSTOM = "custom"

DEVICE_NAME = "device__attribute_display_name"
REPORT_SUFFIX = ".ncu-rep"

_LAUNCHES = regex(r"^(::.*:(?:\d+\|){3}).+")
"""The first launches that a `--kernel-id` lists, and the others."""

_KNOWS_IMPORT_SASS = (2025, 3)
"""From this version on the kernels' code can be left out of a report, which is most of it."""


@dataclass(frozen=True, slots=True)
class NcuPlan:
    """Which kernels of a program to measure, and how.

    ``launches`` is (first, how many or None for all), counted from 0 over the launches that
    `kernel` and `every` pick.
    """

    program: tuple[str, ...]
    metrics: tuple[str, ...] = UTILISATION
    metric_set: str = "utilisation"
    every: LaunchPicks | None = None
    launches: tuple[int, int | None] | None = None
    kernel: str = ""
    from_start: bool = True
    clock_control: str = "none"
    cache_control: str = "all"
    keeps_report: bool = False

    @property
    def filters(self) -> tuple[str, ...]:
        """The options of `timesink ncu` that leave kernels out."""
        chosen = {
            "--range": self.launches is not None,
            "--every": self.every is not None,
            "--kernel": bool(self.kernel),
            "--from-start no": not self.from_start,
        }
        return tuple(option for option, used in chosen.items() if used)


def metrics_named(text: str) -> tuple[str, tuple[str, ...]]:
    """The name of a set of metrics and its members; the duration is always among them."""
    if text in METRIC_SETS:
        return text, METRIC_SETS[text]
    named = [name.strip() for name in text.split(",")]
    if not all(re.fullmatch(r"\w[\w.:]*", name, re.ASCII) for name in named):
        raise UsageError(
            f"{text!r} is neither a set of metrics nor a list of names",
            f"use {', '.join(METRIC_SETS)}, or names of Nsight Compute separated by commas",
        )
    return CUSTOM, tuple(dict.fromkeys([DURATION, *named]))


def profile_command(
    ncu: Path | str, plan: NcuPlan, report: Path, version: tuple[int, ...] = ()
) -> list[str]:
    """Runs the program under Nsight Compute; the report gets its suffix from there."""
    # A percent sign starts a macro in the name of a report.
    name = str(report).removesuffix(REPORT_SUFFIX).replace("%", "%%")
    sass = [] if plan.keeps_report or version < _KNOWS_IMPORT_SASS else ["--import-sass", "no"]
    chosen = [] if plan.from_start else ["--profile-from-start", "off"]
    if plan.every is not None:
        if ":" in plan.kernel:
            raise UsageError(
                f"--kernel {plan.kernel!r} holds a colon, which --every cannot pass on",
                "write a dot for each colon, or leave out --every",
            )
        kernel = f"regex:{plan.kernel}" if plan.kernel else ""
        # Context:stream:[operator:]name:invocation; what is empty matches all.
        chosen += ["--kernel-id", f"::{kernel}:{plan.every.expression}"]
    elif plan.kernel:
        chosen += ["--kernel-name", f"regex:{plan.kernel}"]
    if plan.launches is not None:
        first, count = plan.launches
        chosen += ["--launch-skip", str(first)]
        chosen += ["--launch-count", str(count)] if count is not None else []
    return [
        str(ncu),
        *("-f", "-o", name, *sass),
        *("--target-processes", "all"),
        *("--clock-control", plan.clock_control),
        *("--cache-control", plan.cache_control),
        *chosen,
        *("--metrics", ",".join(plan.metrics)),
        *plan.program,
    ]


def import_commands(
    ncu: Path | str, report: Path | str, metrics: Sequence[str] = ()
) -> tuple[list[str], ...]:
    """Print a report as a table, a row per kernel: the best command first, then what else to try.

    Units are left to fit the values: those come with six decimals, in base units with two.
    """
    chosen = ["--metrics", ",".join([*metrics, DEVICE_NAME])] if metrics else []
    plain = [str(ncu), "--import", str(report), "--csv", "--page", "raw", *chosen]
    # Shortened names differ from run to run; versions that cannot leave them alone refuse.
    return [*plain, "--rename-kernels", "off"], plain


def command_line(command: Sequence[str]) -> str:
    """A command as a shell takes it."""
    return shlex.join(command)


def shown_briefly(command: Sequence[str]) -> str:
    """A command for the screen, without all the launches that `--every` picks."""
    words = [_LAUNCHES.sub(r"\1...", word) for word in command]
    cut = "" if words == list(command) else " (--dry-run shows it whole)"
    return command_line(words) + cut
