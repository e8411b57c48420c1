"""What to measure of which program, as Nsight Compute command lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from timesink.collect.ncu.metric_sets import DURATION, ROOFLINE, UTILISATION
from timesink.collect.ncu.sampling import LaunchPicks
from timesink.errors import UsageError

METRIC_SETS = {"utilisation": UTILISATION, "roofline": ROOFLINE}
CUSTOM = "custom"

DEVICE_NAME = "device__attribute_display_name"
REPORT_SUFFIX = ".ncu-rep"

_LAUNCHES = re.compile(r"^(::.*:(?:\d+\|){3}).+")
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
    return [
        str(ncu),
        *("-f", "-o", name, *sass),
        *("--target-processes", "all"),
        *("--clock-control", plan.clock_control),
        *("--cache-control", plan.cache_control),
        *_selection(plan),
        *("--metrics", ",".join(plan.metrics)),
        *plan.program,
    ]


def _selection(plan: NcuPlan) -> list[str]:
    words: list[str] = []
    if not plan.from_start:
        words += ["--profile-from-start", "off"]
    if plan.every is not None:
        if ":" in plan.kernel:
            raise UsageError(
                f"--kernel {plan.kernel!r} holds a colon, which --every cannot pass on",
                "write a dot for each colon, or leave out --every",
            )
        name = f"regex:{plan.kernel}" if plan.kernel else ""
        # Context:stream:[operator:]name:invocation; what is empty matches all.
        words += ["--kernel-id", f"::{name}:{plan.every.expression}"]
    elif plan.kernel:
        words += ["--kernel-name", f"regex:{plan.kernel}"]
    if plan.launches is not None:
        first, count = plan.launches
        words += ["--launch-skip", str(first)]
        words += ["--launch-count", str(count)] if count is not None else []
    return words


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


def shown(command: Sequence[str]) -> str:
    """A command as a shell takes it."""
    return shlex.join(command)


def shown_briefly(command: Sequence[str]) -> str:
    """A command for the screen, without all the launches that `--every` picks.

    >>> shown_briefly(["ncu", "--kernel-id", ":::1|8|15|22|29|[0-9]*(001|008|015|022|029)"])
    "ncu --kernel-id ':::1|8|15|...' (--dry-run shows it whole)"
    """
    words = [_LAUNCHES.sub(r"\1...", word) for word in command]
    cut = "" if words == list(command) else " (--dry-run shows it whole)"
    return shown(words) + cut
