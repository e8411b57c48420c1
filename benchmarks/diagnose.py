"""How often a diagnosis is right, and how often it raises an alarm without a reason.

Three tables: what is said about recordings with a known fault; the same with every fault left out
when the constants of the method are chosen; and false alarms on pairs without a fault.  Recordings
are those of the shared folder (`TIMESINK_SHARED`), and of any folder named with `--recordings`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from constants import FACTORS, TITLES, middle, scale_constants
from known_faults import (
    PROCESS,
    FaultCase,
    published_cases,
    published_runs,
    ranked_cases,
    recorded_cases,
    roles_of,
)
from null_pairs import ALTERNATE, AS_PARTS, HALVES, LOOKS, NullPair, null_pairs
from run import markdown_table
from timesink.comparison.results import Pair, Process
from timesink.comparison.steps.verdict import compare_roles
from timesink.model.diagnosis import Diagnosis
from timesink_lab.faults import Expected
from timesink_lab.score import DiagnosisAnswer, answer_of, diagnose_pairs, misses

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "accuracy" / "diagnosis.md"
_DRAWS = 4
_SEED = 7


# -- leave one fault out ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Tried:
    """What came of one constant multiplied by one factor."""

    title: str
    factor: float
    misses: tuple[int, ...]
    """Of every case."""
    alarms: int
    """Of pairs without a fault."""

    def cost(self, without: int) -> int:
        """Wrong answers, but those of the case that is left out."""
        return sum(self.misses) - self.misses[without] + self.alarms


@dataclass(frozen=True)
class LeftOut:
    """One case, judged with constants that were chosen without it."""

    name: str
    chosen: dict[str, float]
    answer: DiagnosisAnswer
    misses: int
    shipped_is_best: bool
    """Whether every constant as shipped is among the best without this case."""


def left_out(cases: Sequence[FaultCase], tried: Sequence[Tried]) -> Iterator[LeftOut]:
    """Every case with the constants that do best on all others and on pairs without a fault."""
    for place, case in enumerate(cases):
        plateaus = {title: _plateau(tried, title, place) for title in TITLES}
        chosen = {title: middle(best) for title, best in plateaus.items()}
        with scale_constants(chosen):
            answer = answer_of(diagnose_pairs(case.pairs))
        is_best = all(1.0 in best for best in plateaus.values())
        yield LeftOut(case.name, chosen, answer, misses(case.expected, answer), is_best)


def _plateau(tried: Sequence[Tried], title: str, without: int) -> list[float]:
    """Factors of a constant that do equally well, and better than all others."""
    cost = {trial.factor: trial.cost(without) for trial in tried if trial.title == title}
    return [factor for factor, wrong in cost.items() if wrong == min(cost.values())]


def try_constants(
    cases: Sequence[FaultCase], quiet: Sequence[Pair], factors: Sequence[float]
) -> Iterator[Tried]:
    """Every constant alone with every factor; as shipped is the same for all of them."""
    shipped = _try_factor(TITLES[0], 1.0, cases, quiet)
    for title in TITLES:
        yield replace(shipped, title=title)
        for factor in factors:
            if factor != 1:
                yield _try_factor(title, factor, cases, quiet)


def _try_factor(
    title: str, factor: float, cases: Sequence[FaultCase], quiet: Sequence[Pair]
) -> Tried:
    with scale_constants({title: factor}):
        wrong = tuple(
            misses(case.expected, answer_of(diagnose_pairs(case.pairs))) for case in cases
        )
        alarms = sum(is_alarm(answer_of(diagnose_pairs([pair]))) for pair in quiet)
    return Tried(title, factor, wrong, alarms)


# -- null pairs ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Alarm:
    """What was said about a pair without a fault."""

    pair: NullPair
    answer: DiagnosisAnswer


def is_alarm(answer: DiagnosisAnswer) -> bool:
    """Whether anything is said to have changed."""
    return answer.verdict not in ("no_change", "incomparable") or answer.names_something


def all_null_pairs(roles: dict[str, Process], draws: int) -> list[tuple[NullPair, Pair]]:
    """Every process beside itself, cut in two, and drawn anew."""
    random = np.random.default_rng(_SEED)
    cuts = (cut for name, role in roles.items() for cut in null_pairs(name, role, random, draws))
    return [(cut, compare_roles(cut.base, cut.new, "strict")) for cut in cuts]


def for_choosing(cuts: Sequence[tuple[NullPair, Pair]]) -> list[Pair]:
    """Halves and every other cycle of one process per run, in one order: enough to choose by."""
    chosen = {
        (cut.name.partition(PROCESS)[0], cut.kind): pair
        for cut, pair in reversed(cuts)
        if cut.kind in (HALVES, ALTERNATE) and cut.look == AS_PARTS
    }
    return list(chosen.values())


# -- tables ----------------------------------------------------------------------------------------


def fault_rows(
    cases: Sequence[FaultCase], answers: Sequence[DiagnosisAnswer]
) -> Iterator[list[str]]:
    for case, answer in zip(cases, answers, strict=True):
        wanted = case.expected
        yield [
            case.name,
            _expected_names(wanted),
            answer.verdict,
            "" if answer.change_pct is None else f"{answer.change_pct:+.1f} %",
            _code_list(answer.anomalies),
            _code_list(answer.causes),
            f"{answer.explained_ns / 1e6:+.2f} of {answer.total_ns / 1e6:+.2f} ms",
            "no" if misses(case.expected, answer) else "yes",
        ]


def _expected_names(wanted: Expected) -> str:
    named = {"anomaly": wanted.anomaly, "cause": wanted.cause, "verdict": wanted.verdict}
    parts = [f"{what} `{name.replace('|', '` or `')}`" for what, name in named.items() if name]
    return ", ".join([*parts, *(["no name"] if wanted.is_nothing else [])])


def _code_list(names: Sequence[str], between: str = ", ") -> str:
    return between.join(f"`{name}`" for name in names) or "-"


def alarm_rows(alarms: Sequence[Alarm]) -> Iterator[list[str]]:
    kinds = list(dict.fromkeys(alarm.pair.kind for alarm in alarms))
    for look, kind in product(LOOKS, [*kinds, "all"]):
        of_look = [alarm for alarm in alarms if alarm.pair.look == look]
        of_kind = [alarm.answer for alarm in of_look if kind in (alarm.pair.kind, "all")]
        if not of_kind:
            continue
        yield [
            look,
            kind,
            f"{len(of_kind)}",
            *(
                f"{sum(map(bool, counted))}"
                for counted in (
                    [answer.verdict not in ("no_change", "incomparable") for answer in of_kind],
                    [answer.anomalies for answer in of_kind],
                    [answer.causes for answer in of_kind],
                )
            ),
            f"**{100 * sum(map(is_alarm, of_kind)) / max(len(of_kind), 1):.1f} %**",
        ]


def left_out_rows(left_out_cases: Sequence[LeftOut]) -> Iterator[list[str]]:
    for case in left_out_cases:
        moved = [f"{title} {by:g} x" for title, by in case.chosen.items() if by != 1]
        yield [
            case.name,
            "; ".join(moved) or "as shipped",
            case.answer.verdict,
            _code_list(case.answer.anomalies),
            _code_list(case.answer.causes),
            "no" if case.misses else "yes",
            "yes" if case.shipped_is_best else "no",
        ]


def tried_rows(tried: Sequence[Tried], factors: Sequence[float]) -> Iterator[list[str]]:
    for title in TITLES:
        of_title = {trial.factor: trial for trial in tried if trial.title == title}
        yield [title, *(f"{sum(of_title[by].misses)} + {of_title[by].alarms}" for by in factors)]


# -- the page --------------------------------------------------------------------------------------


def page(faults: str, without: str, quiet: str) -> str:
    return f"""# How often a diagnosis is right

Written by `benchmarks/diagnose.py --write`. The method is in [diagnosis.md](../diagnosis.md).

## Recordings with a known fault

Each recording is compared with a run without the fault. "Right" means that the expected name stands
first in its list. For runs without a fault, nothing should be named.

{faults}
## Every fault left out once

These constants decide whether something is named. Each is multiplied by 0.5 to 2, with the others
unchanged. For every case, factors are chosen that give the fewest wrong answers on all *other*
cases and on pairs without a fault; of equal ones, the middle. Then the case that was left out is
judged with these factors. Equal numbers in a row mean that no answer depends on that constant.

{without}
## Pairs without a fault

A run is compared with itself, cut in two, and resampled with replacement. An alarm is any verdict
other than `no_change` or `incomparable`, and any name in either list.

timesink recognises parts of one run and treats a shift between them as drift. So the same cuts are
also disguised as two runs, with another process and hour. These pairs show how often drift within a
run raises an alarm. A half that took longer did take longer.

{quiet}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=_shared_folder(), help="the shared folder")
    parser.add_argument("--recordings", type=Path, nargs="*", default=[], metavar="DIR")
    parser.add_argument("--draws", type=int, default=_DRAWS, help="random cuts of each sort")
    parser.add_argument("--factors", type=float, nargs="*", default=FACTORS, metavar="F")
    parser.add_argument("--no-leaving-out", action="store_true", help="only the shipped constants")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    cases = list(_cases(options.shared, options.recordings))
    if not cases:
        sys.exit("no recordings: name their folder with --shared or --recordings")
    faults = _fault_table(cases, [diagnose_pairs(case.pairs) for case in cases])
    print(faults, flush=True)
    roles = roles_of(cases, [options.shared / "data" / "h200" / "traces", *options.recordings])
    cuts = all_null_pairs(roles, options.draws)
    start = time.perf_counter()
    alarms = [Alarm(cut, answer_of(diagnose_pairs([pair]))) for cut, pair in cuts]
    quiet = _alarm_table(alarms)
    print(quiet, f"{time.perf_counter() - start:.0f} s", flush=True)
    _show(alarms)
    if options.no_leaving_out:
        return 0
    without = _left_out_tables(cases, for_choosing(cuts), options.factors)
    print(without)
    if options.write:
        PAGE.write_text(page(faults, without, quiet), encoding="utf-8")
    return 0


def _shared_folder() -> Path:
    return Path(os.environ.get("TIMESINK_SHARED", REPOSITORY.parent / "shared"))


def _cases(shared: Path, more: Sequence[Path]) -> Iterator[FaultCase]:
    yield from recorded_cases(shared / "data" / "h200" / "faults")
    for read in (published_cases, published_runs):
        yield from read(shared / "data" / "latencyprism" / "SGLang")
    yield from ranked_cases(shared / "data" / "h200" / "traces")
    for folder in more:
        yield from recorded_cases(folder)


def _text_table(above: str, header: Sequence[str], rows: Iterator[list[str]]) -> str:
    return markdown_table(above, header, rows).replace("---:", "---")


def _sum_error(diagnosis: Diagnosis) -> float:
    """How far the components are from adding up to the change, as a part of the change."""
    total = diagnosis.cycle_time.new_ns - diagnosis.cycle_time.base_ns
    parts = sum(component.delta_ns for component in diagnosis.attribution)
    return abs(parts - total) / max(abs(total), 1.0) if diagnosis.attribution else 0.0


def _fault_table(cases: Sequence[FaultCase], diagnoses: Sequence[Diagnosis]) -> str:
    answers = [answer_of(diagnosis) for diagnosis in diagnoses]
    right = sum(
        not misses(case.expected, answer) for case, answer in zip(cases, answers, strict=True)
    )
    worst = max(map(_sum_error, diagnoses))
    above = (
        f"{right} of {len(cases)} are right. Components add up to the change of the mean cycle "
        f"within {100 * worst:.3f} % of it in every case."
    )
    header = [
        "case",
        "expected",
        "verdict",
        "cycle time",
        "anomalies",
        "causes",
        "explained",
        "right",
    ]
    return _text_table(above, header, fault_rows(cases, answers))


def _alarm_table(alarms: Sequence[Alarm]) -> str:
    runs = len({alarm.pair.name for alarm in alarms})
    shares = [f"{look} {_alarm_share(alarms, look):.1f} %" for look in LOOKS]
    above = f"{len(alarms)} pairs of {runs} processes raise an alarm: {', '.join(shares)}."
    header = ["sides look", "cut", "pairs", "verdicts", "anomalies", "causes", "alarms"]
    return markdown_table(above, header, alarm_rows(alarms))


def _alarm_share(alarms: Sequence[Alarm], look: str) -> float:
    """Percent of the pairs that look so."""
    raised = [is_alarm(alarm.answer) for alarm in alarms if alarm.pair.look == look]
    return 100 * sum(raised) / max(len(raised), 1)


def _show(alarms: Sequence[Alarm]) -> None:
    for alarm in alarms:
        if is_alarm(alarm.answer):
            print(f"  {alarm.pair.look}, {alarm.pair.kind}, {alarm.pair.name}: {alarm.answer}")


def _left_out_tables(
    cases: Sequence[FaultCase], quiet: Sequence[Pair], factors: Sequence[float]
) -> str:
    factors = sorted({1.0, *factors})
    tried = []
    for trial in try_constants(cases, quiet, factors):
        print(f"{trial.title} {trial.factor:g} x: {sum(trial.misses)} + {trial.alarms}", flush=True)
        tried.append(trial)
    above = f"Wrong answers of {len(cases)} cases + alarms of {len(quiet)} pairs without a fault."
    header = ["constant", *(f"{factor:g} x" for factor in factors)]
    constants = markdown_table(above, header, tried_rows(tried, factors))
    left_out_cases = list(left_out(cases, tried))
    right = sum(not case.misses for case in left_out_cases)
    above = f"{right} of {len(left_out_cases)} are right with constants chosen without them."
    header = ["left out", "constants", "verdict", "anomalies", "causes", "right", "shipped is best"]
    return constants + "\n" + _text_table(above, header, left_out_rows(left_out_cases))


if __name__ == "__main__":
    sys.exit(main())
