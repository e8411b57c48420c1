"""Measure how often a diagnosis is right.

  timesink lab list                                      workloads and faults
  timesink lab run -o lab/                               two workloads, every fault, two rounds
  timesink lab run -o lab/ --workload denoise --fault cpu_hog python_stall
  timesink lab run -o lab/ --minutes 10                  again: continues where it stopped
  timesink lab score lab/ -o docs/accuracy/lab.md
  timesink lab ranks -o ranks/ --tensor 4 --straggler slow_clock:37    64 ranks, generated

`run` records programs with and without injected faults.  It needs only PyTorch (`pip install
timesink --no-deps`) and loads its machine, but changes no device clocks, power limits or modes.
`score` compares each recording with the last one before it that has no fault.  `ranks` generates
recordings of many ranks with known stragglers.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timesink.cli.command_line import print_stderr
from timesink.cli.options import (
    add_actions,
    add_format,
    add_option,
    add_output,
    add_place,
    add_screen_format,
    file_only,
    value_parser,
    whole_number,
)
from timesink.cli.outputs import answer_form, give, give_document
from timesink.errors import OutputError, UsageError
from timesink.model.units import brief_ns, count_noun, percent
from timesink.recorder.processes import sayable_values

if TYPE_CHECKING:
    from timesink_lab.driver import Outcome
    from timesink_lab.faults import Fault
    from timesink_lab.ranks.plan import Plan, PlannedStraggler
    from timesink_lab.ranks.truth import Truth


# `timesink lab ranks`: write the traces of a run of many ranks, with slowness put into some.

_COUNTS = (
    ("ranks", 64, "ranks"),
    ("tensor", 1, "ranks that share every layer"),
    ("pipeline", 1, "pipeline stages"),
    ("expert", 1, "ranks that share the experts of a layer"),
    ("ranks-per-node", 8, "ranks of a node"),
    ("steps", 5, "steps"),
    ("layers", 2, "layers of a pipeline stage"),
)
_SPELLED = "KIND:RANK or KIND:RANK:INTENSITY, such as slow_clock:37 or data_loading:5:10%"


def add_ranks_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink lab ranks`."""
    add_place(parser, "DIR", "folder to write to, new or empty", required=True)
    _add_counts(parser, _COUNTS)
    add_option(
        parser, "--straggler KIND:RANK[:SHARE]",
        "slow rank, and how much longer its steps take (default: 25%%); "
        "may be given several times; see `timesink lab list`",
        action="append", default=[],
    )  # fmt: skip
    add_option(parser, "--seed N", "seed of the generated run (default: 0)", type=int, default=0)
    skew = "largest clock skew between nodes, in microseconds (default: %(default)g)"
    add_option(parser, "--skew-us US", skew, type=float, default=5000.0)
    add_option(parser, "--sharded", "shard the states of the optimizer")
    naming = "name files by rank, or as PyTorch's handler does: host_pid.time (default: rank)"
    add_option(parser, "--naming", naming, choices=("rank", "handler"), default="rank")
    processes = partial(whole_number, things="processes")
    add_option(
        parser, "--jobs N", "processes that write files (default: one per core)", type=processes
    )


def _add_counts(parser: argparse.ArgumentParser, counts: Iterable[tuple[str, int, str]]) -> None:
    for name, default, what in counts:
        help_text, number = f"{what} (default: %(default)s)", partial(whole_number, things=what)
        add_option(parser, f"--{name} N", help_text, default=default, type=number)


def run_ranks(options: argparse.Namespace) -> int:
    """Write the run, and say what is in it."""
    from timesink_lab.ranks.generated import generate_ranks  # noqa: PLC0415 - --help is quick
    from timesink_lab.ranks.plan import Plan  # noqa: PLC0415
    from timesink_lab.ranks.truth import write_truth  # noqa: PLC0415

    names = (*(name.replace("-", "_") for name, _, _ in _COUNTS), "seed", "skew_us", "sharded")
    stragglers = tuple(_straggler(text) for text in options.straggler)
    plan = Plan(**{name: getattr(options, name) for name in names}, stragglers=stragglers)
    folder = options.output
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        # Ranks of another run in the same folder would be taken for ranks of this one.
        raise OutputError(f"{folder}: is there already", "choose another -o")
    try:
        truth = generate_ranks(
            plan,
            folder,
            naming=options.naming,
            jobs=options.jobs,
            progress=_progress_counter("wrote {} ranks"),
        )
        write_truth(folder, plan, truth)
    except OSError as error:
        raise OutputError.unwritable(folder, error) from None
    print("\n".join(_lines(folder, plan, truth)))
    return 0


def _straggler(text: str) -> PlannedStraggler:
    from timesink_lab.ranks.plan import PlannedStraggler  # noqa: PLC0415 - start-up time

    kind, _, rest = text.partition(":")
    rank, _, share = rest.partition(":")
    number, percent = share.removesuffix("%"), share.endswith("%")
    try:
        intensity = float(number) / (100 if percent else 1) if share else 0.25
        return PlannedStraggler(kind, int(rank or 0), intensity)
    except ValueError:
        raise UsageError(f"{text!r} is not a straggler", f"write {_SPELLED}") from None


def _progress_counter(template: str) -> Callable[[int, int], None]:
    """Says how far it is, on a terminal: many recordings take minutes."""

    def count(done: int, total: int) -> None:
        if sys.stderr.isatty():
            end = "\n" if done == total else "\r"
            print(template.format(f"{done} of {total}"), end=end, file=sys.stderr, flush=True)

    return count


def _lines(folder: Path, plan: Plan, truth: Truth) -> Iterator[str]:
    size = sum(Path(file).stat().st_size for file in truth.files)
    yield (
        f"Wrote {count_noun(plan.ranks, 'ranks')} on {count_noun(plan.nodes, 'nodes')} to "
        f"{folder}: "
        f"{count_noun(plan.steps, 'steps')}, {truth.events / plan.ranks:.0f} events each, "
        f"{size / 1e6:.1f} MB"
    )
    roles = ("data", "tensor", "pipeline", "expert")
    yield f"Groups: {', '.join(f'{role} {getattr(plan, role)}' for role in roles)}"
    for answer in truth.answers:
        share = 100 * answer.cost_us / truth.healthy_run_us
        first, last = answer.ranks[0], answer.ranks[-1]
        who = f"rank {first}" if first == last else f"ranks {first} to {last}"
        sentence = (
            f"Injected: {answer.kind} ({answer.cause}), {who}, "
            f"in {len(answer.steps)} of {count_noun(plan.steps, 'steps')}; "
            f"the run takes {brief_ns(1000 * answer.cost_us)} ({percent(share)}) longer"
        )
        # Its whole group is slow alike, and no other group crosses it there.
        yield (
            sentence
            if answer.separable
            else f"{sentence}; the recording cannot show which rank it is"
        )
    if not truth.answers:
        yield "No rank is slow."
    yield f"Ground truth: {folder / 'truth.json'}"
    yield f"Next: timesink analyze {shlex.quote(str(folder))}"


# `timesink lab run`: record workloads with and without faults.

_LONGEST = 10_000
_SIZES = ("auto", "small", "medium", "large")
_SEVERAL: dict[str, Any] = {"action": "extend", "nargs": "+"}
_ROUNDS = (
    ("repeat", 2, "rounds"),
    ("cycles", 40, "steps of each recording"),
    ("skip", 10, "steps to leave out first"),
)


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink lab run`."""
    what = "folder for all recordings; an unfinished one is continued"
    add_place(parser, "DIR", what, required=True)
    add_option(parser, "--workload W", "workloads to run (default: all)", **_SEVERAL)
    faults = "faults to inject (default: all that this machine allows)"
    add_option(parser, "--fault F", faults, **_SEVERAL)
    _add_counts(parser, _ROUNDS)
    minutes, seconds = (
        value_parser(float, f"a number of {unit}", lambda value: 0 < value < _LONGEST)
        for unit in ("minutes", "seconds")
    )
    add_option(parser, "--minutes M", "minutes for all runs (default: no limit)", type=minutes)
    longer = "seconds after which a run is given up (default: %(default)g)"
    add_option(parser, "--deadline S", longer, type=seconds, default=300.0)
    pack = "also pack recordings into .tar.xz files of at most 15 MB in this folder"
    add_option(parser, "--parts DIR", pack, type=file_only)
    add_option(
        parser, "--device", "PyTorch device (default: %(default)s)",
        choices=("auto", "cpu", "cuda"), default="auto",
    )  # fmt: skip
    size = "size of the workloads (default: small on a CPU, large from 70 GB of device memory)"
    add_option(parser, "--size", size, choices=_SIZES, default="auto")
    add_option(parser, "--dry-run", "print the plan, record nothing")


def run_lab(options: argparse.Namespace) -> int:
    """Record what was asked for."""
    from timesink_lab.driver import RunSpec, conduct, plan_in_words, this_bench  # noqa: PLC0415 - start-up time
    from timesink_lab.faults import faults_named, workloads_named  # noqa: PLC0415
    from timesink_lab.order import LabFolder, PackedParts, TimeLeft, left_out, order_runs  # noqa: PLC0415

    time_left = TimeLeft(options.cycles, 60 * options.minutes if options.minutes else None)
    workloads, faults = workloads_named(options.workload), faults_named(options.fault)
    bench = this_bench(options.device)
    has_gpu = bench.gpu is not None
    _say_left_out(left_out(workloads, faults, has_gpu=has_gpu), faults)
    runs = order_runs(workloads, faults, options.repeat, has_gpu=has_gpu)
    if options.dry_run:
        print(*(run.folder for run in runs), sep="\n")
        print(plan_in_words(runs, runs, time_left, bench))
        return 0
    how = RunSpec(
        options.cycles, options.skip, options.device, options.size, deadline_s=options.deadline
    )
    lab = LabFolder(options.output.absolute())
    parts = PackedParts(options.parts) if options.parts else None
    outcome = conduct(
        runs, how, lab, time_left=time_left, bench=bench, say=print_stderr, parts=parts
    )
    return _tell(outcome, options.output, options.minutes)


def _say_left_out(missing: Sequence[Fault], wanted: Sequence[Fault]) -> None:
    """Which faults cannot be put in here; without any other there is nothing to measure."""
    if not missing:
        return
    needs = {need for fault in missing for need in fault.needs}
    summary = f"{', '.join(fault.name for fault in missing)} (no {' or '.join(sorted(needs))} here)"
    if len(missing) == len(wanted):
        raise UsageError(f"cannot be injected: {summary}", "see `timesink lab list` for the others")
    print_stderr(f"left out: {summary}")


def _tell(outcome: Outcome, folder: Path, minutes: float | None) -> int:
    if outcome.left and not (outcome.recorded or outcome.failed):
        print_stderr(
            f"no run was started: {minutes:g} min are too short for one; allow more with --minutes"
        )
        return 1
    if outcome.left:
        print_stderr(
            f"no time for {count_noun(len(outcome.left), 'runs')}: the same command continues"
        )
    if outcome.failed:
        names = ", ".join(run.folder for run in outcome.failed)
        print_stderr(f"{count_noun(len(outcome.failed), 'runs')} failed: {names}")
        print_stderr(f"hint: see {folder / 'logs'}; the same command tries them again")
    if outcome.failed and not outcome.recorded:
        return 1
    print_stderr(f"Next: timesink lab score {shlex.quote(str(folder))}")
    return 0


_ACTIONS = {
    "list": "list workloads, faults and kinds of slow ranks",
    "run": "record workloads with and without faults",
    "score": "measure how often the diagnosis of recorded faults is right",
    "ranks": "generate a run of many ranks, some of them slow",
}
_FORMATS = ("text", "md", "json")
_WIDTH = 160
"""Names of faults and causes stand side by side."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink lab`."""
    actions = add_actions(parser, _ACTIONS)
    for name, action in actions.items():
        action.description = _ACTIONS[name][0].upper() + _ACTIONS[name][1:] + "."
    add_screen_format(actions["list"])
    add_run_arguments(actions["run"])
    add_ranks_arguments(actions["ranks"])
    add_option(actions["score"], "folder DIR", "folder of  timesink lab run", completed="folder")
    add_format(actions["score"], _FORMATS)
    add_option(actions["score"], "--no-cache", "read the files and store nothing in the cache")
    add_output(actions["score"], "write to a file (.txt, .md, .json)")


def run(options: argparse.Namespace) -> int:
    """Do what the action says."""
    actions = {"list": _list, "run": run_lab, "score": _score, "ranks": run_ranks}
    return actions[options.action](options)


def _list(options: argparse.Namespace) -> int:
    from timesink_lab import faults as listing  # noqa: PLC0415 - --help is quick

    print(listing.as_json() if options.format == "json" else listing.as_text())
    return 0


def _score(options: argparse.Namespace) -> int:
    form = answer_form(options, _FORMATS, options.folder)
    from timesink_lab.score import score  # noqa: PLC0415
    from timesink_lab.score_document import score_document  # noqa: PLC0415 - --help is quick

    lab_score = score(
        Path(options.folder),
        cache=not options.no_cache,
        progress=_progress_counter("compared {} pairs"),
    )
    if form == "json":
        give(json.dumps(sayable_values(lab_score.to_dict()), indent=1), options.output)
    else:
        give_document(score_document(lab_score), form, options.output, _WIDTH)
    return 0
