"""Run two versions in turn until decided.

  timesink ab -o runs/pr --base 'python train.py' --new 'python fused.py'
  timesink ab -o runs/pr --base-ref main -- python train.py          a commit against the work tree
  timesink ab -o runs/pr --base-ref v1 --new-ref HEAD --setup 'make ext' -- python train.py
  timesink ab -o runs/pr --base-python old/bin/python --new-python new/bin/python -- train.py
  timesink ab --resume runs/pr                                       continue after an interruption

Runs of one program differ by a percent or more.  So both versions run many times, in turn, without
a profiler, and runs next to each other are compared.  It ends when a change is certain, when it is
certainly below --detect, or when --budget is used up.  A last run of each version is recorded
with a timeline, for  timesink compare DIR.

Commits are checked out into temporary folders; your work tree is not touched.  Ctrl-C keeps all
finished runs.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from msgspec import structs

from timesink.cli import compare
from timesink.cli.command_line import log_line, print_stderr
from timesink.cli.options import (
    add_force,
    add_limit,
    add_option,
    add_place,
    add_program,
    argument_error,
    cycles_or_none,
    percentage,
    program_in,
    seconds,
    whole_number,
    without_dashes,
)
from timesink.comparison.gate.verdict import Limit
from timesink.comparison.repeated_runs import Decision, RepeatedChange
from timesink.comparison.thresholds import RepeatedRunsLimits
from timesink.comparison.turns import LOG_FILE, RecordedTurn, Turns
from timesink.errors import CollectError, TimesinkError, UnreadableError, UsageError
from timesink.formats.small_files import last_lines
from timesink.model.diagnosis import SIDES
from timesink.model.units import count_noun, interval_pct, signed_pct
from timesink.recorder.counter_probes import wanted_counters
from timesink.recorder.folder import DEFAULT_SKIP, RecordingFolder
from timesink.recorder.processes import (
    MASK,
    check_program,
    collect_signals,
    interruption,
    mask_secrets,
)
from timesink.recorder.versions import Repository, Version, as_it_is, set_up, state_of
from timesink.sources.ab_folder import (
    AB_FILE,
    AB_SCHEMA,
    BASE,
    NEW,
    AbPlan,
    AbRun,
    AbRuns,
    AbSide,
    clear_ab,
    read_ab,
)
from timesink.version import __version__

# Options.  Without defaults of argparse: a plan that is gone on with has its own.

_FOLDER = Path("timesink-ab")
_BUDGET_S = 600.0
_MIN_LIMIT_S = 60.0
"""A run that takes longer than this and the budget hangs."""
_NO_RESUME = (
    "output", "force", "base", "new", "base_ref", "new_ref", "base_python", "new_python", "setup",
    "detect", "plain", "seconds", "skip", "marker", "no_timeline", "counters", "seed", "program",
)  # fmt: skip
"""What stays as it was begun."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink ab`."""
    what = f"folder for all runs (default: {_FOLDER})"
    add_place(parser, "DIR", what)
    add_force(parser)
    add_option(parser, "--resume DIR", "continue the runs of this folder", completed="folder")
    sides = parser.add_argument_group("the two versions")
    add_option(sides, "--base CMD", "command of the base, in quotes; it runs without a shell")
    add_option(sides, "--new CMD", "command of the new version")
    add_option(sides, "--base-ref REF", "commit of the base")
    add_option(sides, "--new-ref REF", "commit of the new version (default: the work tree)")
    add_option(sides, "--setup CMD", "command that prepares each commit, before its first run")
    python = "Python of the base, which runs the program after the dashes"
    add_option(sides, "--base-python PY", python, completed="file")
    add_option(sides, "--new-python PY", "Python of the new version", completed="file")
    until = parser.add_argument_group("when to stop")
    smallest = (
        f"smallest change that matters, in percent (default: {RepeatedRunsLimits.detect_pct:g}%%)"
    )
    add_option(until, "--detect PERCENT", smallest, type=_detect)
    add_option(
        until, "--budget TIME", "time for all runs, e.g. 90s or 1h (default: 10min)", type=_seconds
    )
    runs = "most runs of each version (default: as many as the budget allows)"
    add_option(until, "--runs N", runs, type=partial(whole_number, things="runs"))
    group = parser.add_argument_group("each run")
    cycles = partial(whole_number, things="steps")
    default = AbPlan()
    plain = f"steps to time, at least (default: {default.plain})"
    add_option(group, "--unprofiled --plain N", plain, dest="plain", type=cycles)
    least = f"seconds to time, at least (default: {default.plain_s:g})"
    add_option(group, "--seconds S", least, type=seconds)
    skip = f"steps to leave out first (default: {DEFAULT_SKIP})"
    add_option(group, "--skip N", skip, type=cycles_or_none)
    marker = "function or annotation that begins a step (default: the optimizer ends one)"
    add_option(group, "--marker NAME", marker)
    add_option(group, "--no-timeline", "leave out the last run of each version with a timeline")
    add_option(group, "--counters LIST", "counters of runs with a timeline (default: all)")
    add_option(group, "--seed N", "seed of the order of runs (default: random)", type=_seed_number)
    add_option(group, "--show-output", f"show output of the programs instead of writing {LOG_FILE}")
    add_limit(parser)
    add_option(parser, "--quiet", "print only the result")
    add_program(parser, "ab")


def _detect(text: str) -> float:
    value = percentage(text)
    if not value:
        raise argument_error(text, "a percentage above 0")
    return value


_UNITS = {"s": 1, "min": 60, "h": 3600}


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?) *(s|min|h)", text.strip())
    if not match or not float(match[1]):
        raise argument_error(text, "a time such as 90s, 10min or 1h")
    return float(match[1]) * _UNITS[match[2]]


def _seed_number(text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        raise argument_error(text, "a whole number")
    return int(text)


# What to run.


def _plan_runs(options: argparse.Namespace) -> AbRuns:
    """The plan that the options ask for."""
    commands = _commands(options)
    default = AbPlan()
    plan = AbPlan(
        plain=options.plain or default.plain,
        plain_s=default.plain_s if options.seconds is None else options.seconds,
        skip=options.skip,
        marker=options.marker or "",
        most_runs=options.runs,
        has_timeline=not options.no_timeline,
        counters=options.counters or default.counters,
        setup=options.setup or "",
        directory=str(Path.cwd()),
    )
    wanted_counters(plan.counters)
    refs = _commits(options)
    pythons = {BASE: options.base_python, NEW: options.new_python}
    head = state_of(Path.cwd())
    base, new = (
        AbSide(commands[side], ref, pythons[side], *((None, False) if ref else head))
        for side, ref in refs.items()
    )
    return AbRuns(
        schema=AB_SCHEMA,
        timesink=__version__,
        base=base,
        new=new,
        detect_pct=options.detect or RepeatedRunsLimits.detect_pct,
        budget_s=options.budget or _BUDGET_S,
        seed=time.time_ns() % 10_000 if options.seed is None else options.seed,
        plan=plan,
    )


def _commands(options: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    commands = {BASE: options.base, NEW: options.new}
    pythons = {BASE: options.base_python, NEW: options.new_python}
    for by_side, name in ((commands, ""), (pythons, "-python")):
        if None in by_side.values() and any(by_side.values()):
            missing = next(side for side in SIDES if by_side[side] is None)
            other = next(side for side in SIDES if by_side[side] is not None)
            raise UsageError(f"--{other}{name} without --{missing}{name}", f"add --{missing}{name}")
    if any(commands.values()):
        if options.program or any(pythons.values()):
            raise UsageError(
                "--base and --new are complete commands",
                "leave out what follows the dashes, --base-python and --new-python",
            )
        return {side: _words(commands[side], f"--{side}") for side in SIDES}
    program = program_in(options, "ab --base-ref main", "run")
    if not (options.base_ref or any(pythons.values())):
        raise UsageError(
            "nothing differs between base and new",
            "add --base-ref REF, --base-python and --new-python, or --base CMD and --new CMD",
        )
    return {side: (*filter(None, [pythons[side]]), *program) for side in SIDES}


def _words(text: str, option: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{option} {text!r}: {error}", "close the quotes") from None
    if not words:
        raise UsageError(f"{option}: no program to run", f"try {option} 'python train.py'")
    return words


def _commits(options: argparse.Namespace) -> dict[str, str | None]:
    refs = {BASE: options.base_ref, NEW: options.new_ref}
    if not any(refs.values()):
        if options.setup:
            hint = "leave it out, or add --base-ref REF"
            raise UsageError("--setup is for work trees of commits", hint)
        return dict.fromkeys(SIDES)
    if not refs[BASE]:
        raise UsageError("--new-ref without --base-ref", "add --base-ref REF")
    if options.setup:
        _words(options.setup, "--setup")
    repository = Repository.around(Path.cwd())
    return {
        side: repository.commit(ref, f"--{side}-ref") if ref else None for side, ref in refs.items()
    }


@contextmanager
def _versions(
    ab: AbRuns, folder: Path, tell: _Progress, interruptions: list[int]
) -> Iterator[Mapping[str, Version]]:
    """Both sides, ready to run; work trees of commits go in the end."""
    directory = Path(ab.plan.directory)
    sides = {BASE: ab.base, NEW: ab.new}
    with ExitStack() as trees:
        if not ab.base.ref:
            versions = {
                side: as_it_is(ab_side.command, directory) for side, ab_side in sides.items()
            }
        else:
            repository = Repository.around(directory)
            versions = {}
            for side, ab_side in sides.items():
                tree = repository.top
                if ab_side.ref:
                    tree = trees.enter_context(repository.tree(ab_side.ref, side))
                versions[side] = repository.version(ab_side.command, tree)
        for side, version in versions.items():
            check_program(version.command, version.directory)
            if ab.plan.setup and sides[side].ref and not interruptions:
                tell.note(f"{side}: {ab.plan.setup}")
                log = folder / side / "setup.txt"
                set_up(ab.plan.setup, version, log, tell.note, interruptions)
        yield versions


# How it goes.


class _Progress:
    """One line on a terminal, rewritten; lines elsewhere."""

    def __init__(self, folder: Path, *, is_quiet: bool) -> None:
        self._folder = folder
        self._is_quiet = is_quiet
        self._is_line = sys.stderr.isatty() and not is_quiet
        self._said = ""

    def begins(self, folder: str, what: str) -> None:
        """A run begins."""
        if what and not self._is_line:
            self.note(f"{folder} ({what})")
        self._show(f"{f'{self._said}; ' if self._said else ''}{folder} {f'({what}) ' * bool(what)}")

    def failed(self, run: AbRun) -> None:
        """A run failed: the last it said."""
        self._say(f"timesink: {run.folder} failed: {run.failed}")
        log = self._folder / run.folder / LOG_FILE
        if log.exists():
            lines = last_lines(log, 5)
            message_lines = [f"  ... of {log}:", *(f"  {line}" for line in lines)]
            self._say("\n".join(message_lines) if lines else f"  {log} is empty")

    def looked(self, ab: AbRuns, decision: Decision) -> None:
        """Another pair of runs."""
        from msgspec import structs  # noqa: PLC0415 - not loaded when the command starts

        runs = f"{count_noun(len(ab.counted), 'runs')}, {count_noun(ab.pairs, 'pairs')}"
        more = ""
        if decision.more_runs is not None:
            more = f", about {count_noun(2 * decision.more_runs, 'more runs')}"
        change = structs.replace(decision.typical, interval_pct=ab.history[-1].interval_pct)
        self._said = f"{runs}: {change_in_words(change)}{more}"
        if not self._is_line:
            self.note(self._said)
        self._show(self._said)

    def note(self, text: str) -> None:
        """Something to know, for those who want to."""
        if not self._is_quiet:
            self._say(f"timesink: {text}")

    def end(self) -> None:
        """Leave the line."""
        self._show("")

    def _say(self, text: str) -> None:
        self._show("")
        print_stderr(text)

    def _show(self, text: str) -> None:
        if self._is_line:
            # A line that is too long would be left behind.
            sys.stderr.write(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}")
            sys.stderr.flush()


def change_in_words(change: RepeatedChange) -> str:
    """A change in percent with its interval.

    >>> change_in_words(RepeatedChange("typical", 1e6, 1.004e6, 0.4, (-0.9, 1.7)))
    '+0.4 % (-0.9 to +1.7 %)'
    """
    bounds = f" ({interval_pct(*change.interval_pct)})" if change.interval_pct else ""
    return f"{signed_pct(change.change_pct)}{bounds}"


# The command.


def run(options: argparse.Namespace) -> int:
    """Run both versions in turn, say what came of it."""
    options.program = without_dashes(options.program)
    ab, root = _runs_and_folder(options)
    folder = root.absolute()
    place = RecordingFolder(folder)
    place.check(force=options.force or options.resume is not None)
    place.prepare()
    tell = _Progress(folder, is_quiet=options.quiet)
    try:
        with collect_signals() as interruptions:
            tell.note(f"base: {_said_of(ab.base, ab)}")
            tell.note(f"new: {_said_of(ab.new, ab)}")
            with _versions(ab, folder, tell, interruptions) as versions:
                make = RecordedTurn(
                    folder,
                    versions,
                    ab.plan,
                    tell.note,
                    interruptions,
                    options.show_output,
                    limit_s=max(ab.budget_s, _MIN_LIMIT_S),
                )
                if options.force:
                    clear_ab(folder)  # not before it is known that both versions can run
                sides = (ab.base, ab.new)
                base, new = (
                    structs.replace(side, command=tuple(mask_secrets(side.command)))
                    for side in sides
                )
                masked_ab = structs.replace(ab, base=base, new=new)
                allowed = None if options.fail_on is None else options.fail_on.allowed_pct
                turns = Turns(masked_ab, folder, make, tell, lambda: bool(interruptions), allowed)
                turns.to_the_end()
    except TimesinkError as error:
        tell.end()
        _tell_how_to_go_on(root)
        raise error from None
    finally:
        tell.end()
        place.discard()
    if not turns.ab.complete:
        _tell_how_to_go_on(root)
        raise interruption(interruptions) or CollectError("interrupted", "")
    return _report_result(turns.ab, root, options)


def _runs_and_folder(options: argparse.Namespace) -> tuple[AbRuns, Path]:
    """What to run, and the folder: of a new plan, or of one that was begun."""
    if options.resume is None:
        return _plan_runs(options), options.output or _FOLDER
    for name in _NO_RESUME:
        value = getattr(options, name)
        # A number that is 0 was given.
        if value or (value == 0 and value is not False):
            option = "a program" if name == "program" else f"--{name.replace('_', '-')}"
            raise UsageError(
                f"--resume continues with the options of {options.resume}", f"leave out {option}"
            )
    root, hint = Path(options.resume), "start again with another -o"
    ab = read_ab(root)
    if not (ab.base.command and ab.new.command):
        raise UnreadableError(f"{root / AB_FILE}: no command to run", hint)
    if ab.plan.directory and not Path(ab.plan.directory).is_dir():
        raise UsageError(f"{ab.plan.directory}: the folder the runs started in is gone", hint)
    if any(MASK in word for side in (ab.base, ab.new) for word in side.command):
        raise UsageError(f"{root}: the command contained a secret, which is not stored", hint)
    plan = ab.plan
    return structs.replace(
        ab,
        budget_s=options.budget or ab.budget_s,
        plan=structs.replace(plan, most_runs=options.runs or plan.most_runs),
    ), root


def _said_of(side: AbSide, ab: AbRuns) -> str:
    command = shlex.join(mask_secrets(side.command))
    if not ab.base.ref:
        return command
    return f"{command}, {f'commit {side.ref[:10]}' if side.ref else 'the work tree'}"


def _tell_how_to_go_on(root: Path) -> None:
    if (root / AB_FILE).exists():
        quoted_root = shlex.quote(str(root))
        log_line(
            f"all finished runs are in {quoted_root}; continue with  timesink ab --resume "
            f"{quoted_root}"
        )


def _report_result(ab: AbRuns, root: Path, options: argparse.Namespace) -> int:
    """What `timesink compare` says of the runs, shortened; the exit code is that of its gate."""
    quoted_root = shlex.quote(str(root))
    try:
        if not ab.pairs:
            hint = f"continue with  timesink ab --resume {quoted_root} --budget 20min"
            raise CollectError("no pair of runs finished within the budget: not decided", hint)
        return _report_comparison(root, options)
    except TimesinkError as error:
        log_line(f"all finished runs are in {quoted_root}")
        error.exit_code = compare.code_of_undecided(options)
        raise


def _report_comparison(root: Path, options: argparse.Namespace) -> int:
    # Nobody waits for this before runs begin.
    from msgspec import structs  # noqa: PLC0415

    from timesink.answers.comparison.document import TOP, comparison_document  # noqa: PLC0415
    from timesink.answers.comparison.gate_result import gate_of  # noqa: PLC0415
    from timesink.answers.comparison.report import compare as compared  # noqa: PLC0415
    from timesink.output.terminal import print_text  # noqa: PLC0415

    comparison = compared(root)
    document = comparison_document(comparison, top=TOP)
    runs = tuple(section for section in document.sections if section.id == "runs")
    print_text(structs.replace(document, subject="", sections=runs))
    quoted_root = shlex.quote(str(root))
    print(f"\nAll runs are in {quoted_root}.  Next: timesink compare {quoted_root}")
    limit: Limit | None = options.fail_on
    if limit is None:
        return 0
    gate_options = ("--fail-on", limit.text)
    command = ("timesink", "gate", str(root), *gate_options)
    gate = gate_of(comparison, limit, options=" ".join(gate_options), command=command)
    return compare.say_gate(gate, options)
