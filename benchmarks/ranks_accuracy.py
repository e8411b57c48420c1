"""How often the straggler of a generated run is found, and one reported where there is none.

Every kind of slowness is put into one run per seed: another rank, another intensity, another layout
of the ranks each time, with clocks of nodes up to 5 ms apart.  The same seeds without any slowness
are the healthy runs.

  python benchmarks/ranks_accuracy.py --seeds 5 --kinds thermal slow_link
  nice python benchmarks/ranks_accuracy.py --jobs 8 --write
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from tables import markdown_table
from timesink.analyses.ranks.analysis import RanksAnalysis, analyse_ranks
from timesink.analyses.ranks.summary import RankSummary, summarise_rank
from timesink_lab.ranks.generated import ranks_and_truth
from timesink_lab.ranks.plan import CAUSE_OF_KIND, KINDS, Plan, Straggler
from timesink_lab.ranks.truth import Answer, Truth
from timesink_lab.score import Rate, rate_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "accuracy" / "ranks.md"
LAYOUTS: Mapping[str, Mapping[str, Any]] = {
    "data": {},
    "tensor 4": {"tensor": 4},
    "tensor 4, pipeline 2": {"tensor": 4, "pipeline": 2},
    "expert 8": {"expert": 8},
    "data, sharded": {"sharded": True},
    "tensor 8": {"tensor": 8},
    "pipeline 4": {"pipeline": 4},
    "data, no sequence numbers": {"sequence_numbers": False},
    "tensor 2, expert 4, sharded": {"tensor": 2, "expert": 4, "sharded": True},
    "tensor 4, pipeline 2, no sequence numbers": {
        "tensor": 4,
        "pipeline": 2,
        "sequence_numbers": False,
    },
}
STAGES = ("first_stage", "last_stage")
WEAKEST, STRONGEST = 0.08, 0.4
HEALTHY = "healthy"
_RANKS, _STEPS, _SKEW_US = 64, 5, 5_000.0


# -- runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One run to be made: what is slow in it, how it is laid out."""

    kind: str
    layout: str
    hosts: bool
    """Whether traces tell which node they are from."""
    plan: Plan


def cases(kinds: Sequence[str], layouts: Sequence[str], seeds: Iterable[int]) -> Iterator[Case]:
    """One run per kind and seed; layouts take turns, those in which the kind can be."""
    for seed in seeds:
        for kind in kinds:
            place = KINDS.index(kind) if kind in KINDS else 0
            random = np.random.default_rng([seed, place, 11])
            possible = [name for name in layouts if kind not in STAGES or _stages(name) > 1]
            if not possible:
                continue
            layout = possible[(seed + place) % len(possible)]
            straggler = Straggler(
                kind,
                rank=int(random.integers(_RANKS)),
                intensity=float(random.uniform(WEAKEST, STRONGEST)),
            )
            plan = Plan(
                ranks=_RANKS,
                steps=_STEPS,
                seed=1000 * place + seed,
                skew_us=_SKEW_US,
                stragglers=() if kind == HEALTHY else (straggler,),
                **LAYOUTS[layout],
            )
            yield Case(kind, layout, bool(random.integers(2)), plan)


def _stages(layout: str) -> int:
    return int(LAYOUTS[layout].get("pipeline", 1))


@dataclass(frozen=True)
class Outcome:
    """What was said about a run, beside what is true."""

    case: Case
    answer: Answer | None
    named: tuple[tuple[int, str, float], ...]
    """Rank, cause and cost of every straggler that was reported, the most costly first."""

    @property
    def culprit_first(self) -> bool:
        return bool(self.named and self.answer and self.named[0][0] in self.answer.ranks)

    @property
    def cause_right(self) -> bool:
        """Of the culprit, who stands first."""
        return self.culprit_first and self.named[0][1] == CAUSE_OF_KIND[self.case.kind]

    @property
    def locatable(self) -> bool:
        """Whether anything recorded tells the culprit from its peers."""
        return self.answer is not None and self.answer.separable

    @property
    def cost_ratio(self) -> float | None:
        """What the culprit is said to cost, as a part of what it does cost."""
        if not self.culprit_first or self.answer is None:
            return None
        return self.named[0][2] / 1e3 / self.answer.cost_us


def outcome_of(case: Case) -> Outcome:
    """Make a run, reduce its ranks, judge them."""
    traces, truth = ranks_and_truth(case.plan)
    ranks = {rank: summarise_rank(trace) for rank, trace in traces.items()}
    if case.hosts:
        ranks = {rank: _on_node(summary, rank, case.plan) for rank, summary in ranks.items()}
    return _judge_outcome(case, truth, analyse_ranks(ranks))


def _on_node(summary: RankSummary, rank: int, plan: Plan) -> RankSummary:
    node = f"node{rank // plan.ranks_per_node}"
    return replace(summary, about=replace(summary.about, host=node))


def _judge_outcome(case: Case, truth: Truth, analysis: RanksAnalysis) -> Outcome:
    answer = truth.answers[0] if truth.answers else None
    named = tuple(
        (straggler.rank, straggler.id, straggler.cost_ns) for straggler in analysis.stragglers
    )
    return Outcome(case, answer, named)


# -- tables ----------------------------------------------------------------------------------------


def kind_rows(outcomes: Sequence[Outcome]) -> Iterator[list[str]]:
    """One row per kind; of slow links those that nothing recorded can locate are apart."""
    put_in = [outcome for outcome in outcomes if outcome.answer is not None]
    located = [outcome for outcome in put_in if outcome.locatable]
    for kind in dict.fromkeys(outcome.case.kind for outcome in located):
        yield _row(kind, [outcome for outcome in located if outcome.case.kind == kind])
    yield _row("**all**", located)
    hidden = [outcome for outcome in put_in if not outcome.locatable]
    if hidden:
        yield _row("slow_link, single group", hidden)
        yield _row("all, with these", put_in)


def layout_rows(outcomes: Sequence[Outcome]) -> Iterator[list[str]]:
    located = [outcome for outcome in outcomes if outcome.locatable]
    for layout in dict.fromkeys(outcome.case.layout for outcome in located):
        yield _row(layout, [outcome for outcome in located if outcome.case.layout == layout])


def _row(title: str, outcomes: Sequence[Outcome]) -> list[str]:
    culprit = rate_of(outcome.culprit_first for outcome in outcomes)
    cause = rate_of(outcome.cause_right for outcome in outcomes)
    costs = [outcome.cost_ratio for outcome in outcomes if outcome.cost_ratio is not None]
    cost = "{:.2f} ({:.2f} to {:.2f})".format(*np.quantile(costs, [0.5, 0.1, 0.9])) if costs else ""
    innocents = float(np.mean([_innocent(outcome) for outcome in outcomes]))
    return [title, f"{culprit.trials}", *_cells(culprit), *_cells(cause), f"{innocents:.2f}", cost]


def _innocent(outcome: Outcome) -> int:
    """How many others were named beside the culprits."""
    guilty = outcome.answer.ranks if outcome.answer else ()
    return sum(rank not in guilty for rank, _, _ in outcome.named)


def _rate_text(rate: Rate) -> str:
    """A rate in a sentence: how many, the share, its interval."""
    many, share, interval = rate.cells
    return f"{many} ({share}, 95 % interval {interval})" if share else many


def _cells(rate: Rate) -> list[str]:
    _, share, interval = rate.cells
    return [share, interval]


def healthy_rows(outcomes: Sequence[Outcome]) -> Iterator[list[str]]:
    quiet = [outcome for outcome in outcomes if outcome.answer is None]
    for layout in dict.fromkeys(outcome.case.layout for outcome in quiet):
        clean = rate_of(not outcome.named for outcome in quiet if outcome.case.layout == layout)
        yield [layout, f"{clean.trials}", *_cells(clean)]
    clean = rate_of(not outcome.named for outcome in quiet)
    yield ["**all**", f"{clean.trials}", *_cells(clean)]


_HEADER = [
    "runs", "culprit first", "95 % interval", "and its cause right", "95 % interval",
    "others named", "cost found / true (10 to 90 %)",
]  # fmt: skip


def page(outcomes: Sequence[Outcome]) -> str:
    seeds = len({outcome.case.plan.seed % 1000 for outcome in outcomes})
    located = [outcome for outcome in outcomes if outcome.locatable]
    culprit = rate_of(outcome.culprit_first for outcome in located)
    cause = rate_of(outcome.cause_right for outcome in located)
    clean = rate_of(not outcome.named for outcome in outcomes if outcome.answer is None)
    by_kind = markdown_table("", ["slowness", *_HEADER], kind_rows(outcomes))
    by_layout = markdown_table("", ["layout", *_HEADER], layout_rows(outcomes))
    healthy = markdown_table("", ["layout", "runs", "no straggler", "95 % interval"],
                             healthy_rows(outcomes))  # fmt: skip
    return f"""# How often stragglers are found

Written by `benchmarks/ranks_accuracy.py --write`: generated runs of {_RANKS} ranks and {_STEPS}
steps, {seeds} seeds. Each run has one straggler, a random rank that costs
{WEAKEST:.0%} to {STRONGEST:.0%} of every step it affects. Clocks of nodes are up to
{_SKEW_US / 1e3:.0f} ms apart. Layouts alternate, and in half of the runs the traces name their
host.

- The culprit stands first: {_rate_text(culprit)}.
- The culprit stands first and its cause is right: {_rate_text(cause)}.
- No straggler is reported in a healthy run: {_rate_text(clean)}.

## By kind of slowness

All ranks of a collective are as slow as its slowest link. A slow link can be located only where
groups of ranks cross. Runs with all ranks in one group are therefore counted in a row of their own.
{by_kind}
## By layout
{by_layout}
## Healthy runs
{healthy}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", choices=[*KINDS, HEALTHY], default=[*KINDS, HEALTHY])
    parser.add_argument("--layouts", nargs="*", choices=LAYOUTS, default=list(LAYOUTS))
    parser.add_argument("--jobs", type=int, default=1, help="processes that make and judge runs")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    outcomes, start = [], time.perf_counter()
    for outcome in _outcomes(cases(options.kinds, options.layouts, seeds), jobs=options.jobs):
        outcomes.append(outcome)
        _show(outcome)
    text = page(outcomes)
    print(text)
    print(f"{len(outcomes)} runs, {time.perf_counter() - start:.0f} s")
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    return 0


def _outcomes(runs: Iterable[Case], *, jobs: int) -> Iterator[Outcome]:
    """In the order of the runs, whoever is done first."""
    if jobs < 2:
        yield from map(outcome_of, runs)
        return
    # Processes share the cores already.
    os.environ["POLARS_MAX_THREADS"] = "1"
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(outcome_of, runs)


def _show(outcome: Outcome) -> None:
    """Say which runs were judged wrongly."""
    case, answer = outcome.case, outcome.answer
    wrong = bool(outcome.named) if answer is None else not outcome.cause_right
    if not wrong:
        return
    true = "none" if answer is None else f"{list(answer.ranks)} {answer.cost_us:.0f} us"
    named = [f"{rank} {cause} {cost / 1e3:.0f} us" for rank, cause, cost in outcome.named[:4]]
    apart = "" if answer is None or answer.separable else " (cannot be located)"
    print(f"{case.kind}{apart}, {case.layout}, seed {case.plan.seed}: {true}; said {named}",
          flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
