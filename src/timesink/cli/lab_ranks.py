"""`timesink lab ranks`: write the traces of a run of many ranks, with slowness put into some."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli.values import file_only, whole_number
from timesink.errors import OutputError, UsageError

if TYPE_CHECKING:
    from timesink.lab.ranks.plan import Answer, Plan, PlannedStraggler, Truth

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink lab ranks`."""
    output = parser.add_argument(
        "-o", "--output", metavar="DIR", type=file_only, required=True,
        help="a folder that is not there yet or empty",
    )  # fmt: skip
    output.complete = {"bash": "_shtab_compgen_dirs", "zsh": "_files -/"}  # type: ignore[attr-defined]
    for name, default, what in _COUNTS:
        parser.add_argument(
            f"--{name}", metavar="N", default=default, help=f"{what} (default: %(default)s)",
            type=partial(whole_number, things=what),
        )  # fmt: skip
    parser.add_argument(
        "--straggler", metavar="KIND:RANK[:SHARE]", action="append", default=[],
        help="slowness put in, and how much longer a step takes by it (default: 25%%); "
        "may be given several times; see `timesink lab list`",
    )  # fmt: skip
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another one, another run")
    parser.add_argument(
        "--skew-us", metavar="US", type=float, default=5000.0,
        help="how far clocks of nodes are apart at most (default: %(default)g)",
    )  # fmt: skip
    parser.add_argument("--sharded", action="store_true", help="shard the states of the optimizer")
    parser.add_argument(
        "--naming", choices=("rank", "handler"), default="rank",
        help="files named by rank, or as PyTorch's handler does: host_pid.time",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", metavar="N", type=partial(whole_number, things="processes"),
        help="processes to write with",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Write the run, and say what is in it."""
    from timesink.lab.ranks.generate import generate_ranks  # noqa: PLC0415 - --help is quick
    from timesink.lab.ranks.truth_file import write_truth  # noqa: PLC0415

    plan, folder = _plan(options), options.output
    _check_new(folder)
    try:
        truth = generate_ranks(
            plan, folder, naming=options.naming, jobs=options.jobs, progress=_count
        )
        write_truth(folder, plan, truth)
    except OSError as error:
        raise OutputError.unwritable(folder, error.strerror or str(error)) from None
    print("\n".join(_lines(folder, plan, truth)))
    return 0


def _plan(options: argparse.Namespace) -> Plan:
    from timesink.lab.ranks.plan import Plan  # noqa: PLC0415

    counts = {name.replace("-", "_") for name, _, _ in _COUNTS}
    return Plan(
        **{name: getattr(options, name) for name in counts},
        seed=options.seed,
        skew_us=options.skew_us,
        sharded=options.sharded,
        stragglers=tuple(_straggler(text) for text in options.straggler),
    )


def _straggler(text: str) -> PlannedStraggler:
    from timesink.lab.ranks.plan import PlannedStraggler  # noqa: PLC0415

    kind, _, rest = text.partition(":")
    rank, _, share = rest.partition(":")
    number, percent = share.removesuffix("%"), share.endswith("%")
    try:
        intensity = float(number) / (100 if percent else 1) if share else 0.25
        return PlannedStraggler(kind, int(rank or 0), intensity)
    except ValueError:
        raise UsageError(f"{text!r} is not a straggler", f"write {_SPELLED}") from None


def _check_new(folder: Path) -> None:
    """Ranks of another run in the same folder would be taken for ranks of this one."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise OutputError(f"{folder}: is there already", "choose another -o")


def _count(done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else "\r"
        print(f"wrote {done} of {total} ranks", end=end, file=sys.stderr, flush=True)


def _lines(folder: Path, plan: Plan, truth: Truth) -> Iterator[str]:
    from timesink.model.units import counted  # noqa: PLC0415

    size = sum(Path(file).stat().st_size for file in truth.files)
    yield (
        f"Wrote {counted(plan.ranks, 'ranks')} on {counted(plan.nodes, 'nodes')} to {folder}: "
        f"{counted(plan.steps, 'steps')}, {truth.events / plan.ranks:.0f} events each, "
        f"{size / 1e6:.1f} MB"
    )
    roles = ("data", "tensor", "pipeline", "expert")
    yield f"Groups: {', '.join(f'{role} {getattr(plan, role)}' for role in roles)}"
    for answer in truth.answers:
        yield _put_in(answer, plan, truth)
    if not truth.answers:
        yield "No rank is slow on purpose."
    yield f"What is true about it: {folder / 'truth.json'}"
    yield f"Next: timesink analyze {shlex.quote(str(folder))}"


def _put_in(answer: Answer, plan: Plan, truth: Truth) -> str:
    from timesink.model.units import brief_ns, counted  # noqa: PLC0415

    share = 100 * answer.cost_us / truth.healthy_run_us
    said = (
        f"Put in: {answer.kind} ({answer.cause}), {_ranks(answer.ranks)}, "
        f"in {len(answer.steps)} of {counted(plan.steps, 'steps')}; "
        f"the run takes {brief_ns(1000 * answer.cost_us)} ({share:.1f} %) longer"
    )
    # Its whole group is slow alike, and no other group crosses it there.
    return said if answer.separable else f"{said}; nothing recorded tells which rank it is"


def _ranks(ranks: tuple[int, ...]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {ranks[0]} to {ranks[-1]}"
