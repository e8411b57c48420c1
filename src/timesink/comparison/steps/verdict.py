"""What of a pair differs by more than noise: cycle time, functions, counters."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from math import log
from typing import Any

import polars as pl

from timesink.analyses.behaviour.classes import SIDE_WAIT, UNTRACED
from timesink.analyses.behaviour.functions import WAITING
from timesink.analyses.behaviour.summary import NOTHING_RECORDED, of_cycles_alone
from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.statistics.exact import fewest_steps
from timesink.analyses.statistics.significance import ALPHA, false_discovery
from timesink.comparison.repeated_runs import MIN_RUNS, Decision
from timesink.comparison.results import (
    WITHIN,
    ComparedRuns,
    CycleTimes,
    Pair,
    Process,
    Workload,
    key_findings,
)
from timesink.comparison.steps.recorded_events import Unrecorded, find_unrecorded
from timesink.comparison.steps.sides import (
    comparison_rows,
    known_rows,
    unlike_metrics,
    with_common_units,
    with_matching_devices,
    with_places,
)
from timesink.comparison.steps.times import (
    are_parts_of_one_run,
    cycle_times,
    family_rows,
    plain_times,
    time_rows,
)
from timesink.comparison.steps.workload import check_workload, with_equal_work
from timesink.model import units
from timesink.model.diagnosis import PLAIN, CycleTime, SteadyTimes, StepTimeTest
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import change, interval_pct, quantity, times

_MIN_STEPS_FOR_RANK_TEST = 4
"""Cycles a side needs before a rank test can reach ALPHA at all."""
MIN_SHARE = 0.01
"""Functions matter whose time changed by this part of a cycle."""
_MIN_LOG_RATIO = -log(0.9) - 1e-12
"""Counters matter that changed by a tenth of the larger value or more, whichever side has it."""
NARROW = 0.1
"""Cycles are the same within noise where their change is within this part of their length."""
_MIN_CHANGE = {"%": 2.0, "% of a core": 10.0, "C": 10.0, "B/s": 20e6}
"""And, where their unit has a scale, by this much: a device that is busy 1 % of the time or half of
that is idle, and its temperature tells of the run before."""

_NO_CHANGE = frozenset({"none", "cannot tell", "unknown"})


@dataclass(frozen=True, slots=True, eq=False)
class PairChanges:
    """What differs by more than noise."""

    cycles: str
    """What became of them, as `cycle_change` says."""
    functions: tuple[int, ...]
    """Rows of `Pair.times`: functions whose time per cycle changed, largest change first."""
    counters: tuple[int, ...]
    """Rows of `Pair.rows`: each counter and device that changed once, strongest change first, seen
    in the function that tells most about it."""
    unrecorded: Unrecorded = field(default_factory=Unrecorded)
    """What one side did not record; `functions` has none of these."""

    @property
    def nothing(self) -> bool:
        """Whether both runs are the same as far as one can tell."""
        return self.cycles in _NO_CHANGE and not self.functions and not self.counters


@memoize_per_trace
def judge_pair(pair: Pair) -> PairChanges:
    """What differs by more than noise between the two sides of a pair."""
    missing_sorts = unrecorded_in(pair.times)
    return PairChanges(
        cycle_change(pair.cycle_times),
        tuple(_changed_functions(pair, missing_sorts)),
        tuple(_changed_counters(pair.loads)),
        missing_sorts,
    )


def cycle_change(times: CycleTimes) -> str:
    """Whether cycles became `longer` or `shorter`.

    `doubtful` is a change that shows in ranks and not beyond how far levels wander, `none` one
    within noise, `cannot tell` a scatter in which a change of a tenth would not be seen, and
    `unknown` too few lengths to say anything.
    """
    if times.interval_ns is None:
        return "none" if times.base_ns and times.base_ns == times.new_ns else "unknown"
    low, high = times.interval_ns
    # Lengths that are all alike on both sides have an interval without width.
    if (low > 0 or high < 0) and times.base_mean_ns != times.new_mean_ns:
        return "longer" if times.new_mean_ns > times.base_mean_ns else "shorter"
    # Whether a change that matters would have been seen; a run is always the same as itself.
    same = sorted(times.base_ns) == sorted(times.new_ns)
    if same or max(-low, high) <= NARROW * max(times.means_ns):
        return "none"
    ranks_apart = (
        times.fewest >= _MIN_STEPS_FOR_RANK_TEST
        and times.rank_p is not None
        and times.rank_p < ALPHA
    )
    # Parts of one run may be at other levels: that is drift.
    return "doubtful" if ranks_apart and not times.one_run else "cannot tell"


def _changed_functions(pair: Pair, missing_sorts: Unrecorded) -> list[int]:
    """Functions whose time changed by a part of the cycle that matters.

    As for counters: the p-values of all that could matter are corrected together, and of those that
    changed beyond noise the ones stay that changed by enough.
    """
    # The shorter of both cycles; where no length is known, the time of what runs in them.
    lengths = [pair.cycle_times.base_mean_ns, pair.cycle_times.new_mean_ns]
    lengths = [length for length in lengths if length > 0]
    lengths = lengths or [float(pair.times[side].sum()) for side in ("base_ns", "new_ns")]
    least = MIN_SHARE * max(min(lengths), 1.0)
    could = pl.max_horizontal("base_ns", "new_ns") >= least
    changed = (
        pair.times.with_row_index("place")
        .filter(_may_differ(pair.times, missing_sorts))
        .filter(could)
        .with_columns(p=either_p("welch_p", "rank_p"))
    )
    changed = changed.filter(pl.Series(false_discovery(changed["p"].to_numpy()) < ALPHA))
    changed = changed.filter(pl.col("delta_ns").abs() >= least)
    return changed.sort(pl.col("delta_ns").abs(), "place", descending=[True, False])[
        "place"
    ].to_list()


def _may_differ(times: pl.DataFrame, missing_sorts: Unrecorded) -> pl.Series:
    """Which functions can be told to have changed.

    Not those that one side did not record, nor their callers where the time of these would explain
    the change.  Waiting for other threads is told by what these do, and threads beside the
    cycles that only wait hold nobody up.
    """
    missing = times.filter(
        missing_sorts.of_these(),
        pl.col("device") == HOST_DEVICE,
        pl.col("function_class").ne_missing(UNTRACED),
    )
    hidden = missing.select((pl.col("base_ns") - pl.col("new_ns")).abs().sum()).item()
    moved = missing_sorts.call_these() & (pl.col("delta_ns").abs() <= hidden)
    waits = (pl.col("function") == WAITING) & (pl.col("function_class") == UNTRACED)
    waits |= pl.col("function_class") == SIDE_WAIT
    differs = ~(missing_sorts.of_these() | moved | waits.fill_null(value=False))
    return times.select(differs.alias("differs")).to_series()


def unrecorded_in(times: pl.DataFrame) -> Unrecorded:
    """What one of the sides of `Pair.times` did not record."""
    base, new = (
        times.filter((pl.col(f"calls_{side}") > 0) | (pl.col(f"{side}_ns") > 0))
        for side in ("base", "new")
    )
    return find_unrecorded(base, new)


def _changed_counters(rows: pl.DataFrame) -> list[int]:
    """Each counter of a device once: functions of a cycle share its samples."""
    share = pl.col("beta_base_pct") + pl.col("beta_new_pct")
    # How many times as high a counter is, as a logarithm; from or to nothing is without bounds.
    base, new = pl.col("mu_base"), pl.col("mu_new")
    effect = pl.when(base == new).then(0.0).otherwise((new / base).log())
    counters = (
        rows.with_row_index("place")
        .filter(pl.col("runs_on").cast(pl.String) == "both")
        .with_columns(seen=pl.min_horizontal("cycles_base", "cycles_new"))
        .sort("seen", share, "function", descending=[True, True, False])
        .unique(["metric", "device"], keep="first", maintain_order=True)
        .with_columns(effect=effect.fill_nan(0.0), p=either_p("mu_welch_p", "mu_rank_p"))
        .filter(pl.col("seen") > 1)
    )
    strong = pl.Series(false_discovery(counters["p"].to_numpy()) < ALPHA)
    # Whether counters changed by an amount that matters in their unit.
    changes = (quantity(*row) for row in counters.select("mu_delta", "unit").iter_rows())
    large = [abs(change) >= _MIN_CHANGE.get(unit, 0.0) for change, unit in changes]
    enough = (counters["effect"].abs() >= _MIN_LOG_RATIO) & pl.Series(large, dtype=pl.Boolean)
    counters = counters.filter(strong & enough)
    order = counters.sort(
        pl.col("effect").abs(), "metric", "device", descending=[True, False, False]
    )
    return order["place"].to_list()


def either_p(*columns: str) -> pl.Expr:
    """One p-value of two tests: twice the smaller, as there were two chances to be wrong.

    Means find what ranks cannot in few cycles, ranks what means cannot beside an outlier.
    """
    p_values = [pl.col(column).fill_nan(1).fill_null(1) for column in columns]
    return (pl.min_horizontal(p_values) * len(columns)).clip(upper_bound=1)


def compare_roles(
    base: Process, new: Process, kind: str, *, detect_pct: float | None = None
) -> Pair:
    """The pair of two roles; `kind` is as in `Pair`, `detect_pct` as in `plain_times`.

    Devices and units that only differ in name are brought together first.  Where the cycles of both
    sides do not hold the same work, the pair has a second one in it, of cycles put together until
    they do, if that is possible.
    """
    if base.plain and new.plain and {_is_silent(base), _is_silent(new)} == {True, False}:
        base, new = _without_calls(base), _without_calls(new)
    unlike = unlike_metrics(base.behaviour, new.behaviour)
    base, new, unlike_units = with_common_units(base, new)
    placed = with_places(base, new)
    matched, note = with_matching_devices(*placed)
    workload = check_workload(placed[0], matched)
    remarks = [*unlike_units]
    for role in (base, new):
        rows = role.behaviour.filter(pl.col("metric").is_not_null())
        if rows.height and not rows["mu"].is_finite().any():
            remarks.append(
                f"{role.label} names counters but holds no value of them: none is compared."
            )
    remarks += [note] if note else []
    workload = replace(workload, reasons=(*workload.reasons, *remarks))
    pair = _pair(placed[0], matched, kind, workload, unlike)
    # Of several runs it does not matter whether those with a timeline are parts of one.
    several = max(len(base.plain), len(new.plain)) > 1
    judged = several or not pair.cycle_times.one_run
    if workload.comparable and kind != WITHIN and judged:
        pair = replace(pair, plain=plain_times(base, new, detect_pct=detect_pct))
    regrouped = with_equal_work(pair.base, pair.new, workload)
    if regrouped is not None:
        equal = _pair(*regrouped, kind, check_workload(*regrouped), unlike)
        pair = replace(pair, equal_work=equal)
    # Whether rows are to be as published, where every device is only ever itself.
    published = kind != "peers" and base.method is None and new.method is None
    if published and (note or placed != (base, new)):
        return replace(pair, **_rows(base.behaviour, new.behaviour, unlike))
    return pair


_OF_CYCLES = ("cycle", "cycle_type", "pid", "host", "anchor", "cycle_ts_ns", "cycle_dur_ns")


def _is_silent(role: Process) -> bool:
    """Whether nothing but the length of cycles is known."""
    return not (role.behaviour["calls"] > 0).any()


def _without_calls(role: Process) -> Process:
    """A role of which nothing but the length of cycles is known, as of the other side."""
    table = role.behaviour.unique("cycle", keep="first", maintain_order=True).select(_OF_CYCLES)
    return replace(role, behaviour=of_cycles_alone(table), anatomy=None, program=None)


def _pair(
    base: Process, new: Process, kind: str, workload: Workload, unlike: AbstractSet[str]
) -> Pair:
    sides = base.behaviour, new.behaviour
    return Pair(
        kind=kind,
        base=base,
        new=new,
        cycle_times=cycle_times(*sides, one_run=are_parts_of_one_run(base, new)),
        workload=workload,
        times=time_rows(*sides).filter(pl.col("function") != NOTHING_RECORDED),
        families=family_rows(*sides),
        **_rows(*sides, unlike),
    )


def _rows(base: pl.DataFrame, new: pl.DataFrame, unlike: AbstractSet[str]) -> dict[str, Any]:
    """What a pair says about shares and counters."""
    rows = comparison_rows(base, new)
    return {
        "rows": rows,
        "known_rows": known_rows(rows, base, new, unlike),
        "findings": key_findings(rows),
    }


UNEQUAL_WORK = "The steps of the two runs do not do the same work."
NO_LENGTHS = "Step time is not recorded on both sides."


def judge_lengths(lengths: CycleTimes) -> StepTimeTest:
    """The verdict on lengths of steps, without any notes."""
    same = lengths.base_ns == lengths.new_ns
    scale, interval = lengths.base_mean_ns / 100, None
    if lengths.interval_ns is not None and scale:
        interval = (lengths.interval_ns[0] / scale, lengths.interval_ns[1] / scale)
    # One step has no scatter, and yet a run does not differ from itself.
    p_value = 1.0 if same and lengths.base_ns else lengths.p_value
    cycle_time = CycleTime(*lengths.means_ns, lengths.change_pct, interval, p_value, lengths.steady)
    if not (lengths.base_ns and lengths.new_ns):
        return StepTimeTest("incomparable", NO_LENGTHS, cycle_time)
    if p_value is None:
        means, by = times(*lengths.means_ns), change(*lengths.means_ns)
        reason = f"One step in a run is too few to tell a change: {means} ({by})."
        return StepTimeTest("incomparable", reason, cycle_time)
    verdict = "no_change"
    if p_value < ALPHA:
        is_longer = lengths.new_mean_ns > lengths.base_mean_ns
        verdict = "regression" if is_longer else "improvement"
    return StepTimeTest(verdict, step_time_sentence(lengths, verdict), cycle_time)


def step_time_sentence(lengths: CycleTimes, verdict: str) -> str:
    """What became of step time by a verdict of `VERDICTS`: its change and how sure that is."""
    base_ns, new_ns = lengths.means_ns
    means, by = times(base_ns, new_ns), change(base_ns, new_ns)
    interval = ""
    if lengths.interval_ns is not None:
        low, high = lengths.interval_ns
        bounds = f"{units.brief_ns(low)} to {units.brief_ns(high)}"
        if base_ns:
            bounds = interval_pct(100 * low / base_ns, 100 * high / base_ns)
        interval = f"95 % interval {bounds}"
    if verdict in {"regression", "improvement"}:
        sure = f" ({interval})" if interval else ""
        return f"Steps take {longer_by(base_ns, new_ns)}, {means}{sure}.{exact_words(lengths)}"
    if lengths.base_ns == lengths.new_ns:
        return f"No change in step time: {units.brief_ns(new_ns)} in both runs."
    state = cycle_change(lengths)
    estimate = f"{by}, {interval}" if interval else by
    if state == "none":
        noise = f"{means}, within noise"
        return f"No change in step time ({noise}{f'; {interval}' if interval else ''})."
    if state == "doubtful":
        return f"Step time drifts within the runs, so {means} ({estimate}) may be noise."
    return (
        f"Step time varies too much to tell a change, {means} ({estimate}).{too_few_words(lengths)}"
    )


def longer_by(base_ns: float, new_ns: float) -> str:
    """How much longer or shorter something takes: `37.1 % longer`, `6.4 times as long`."""
    by = change(base_ns, new_ns)
    if by.endswith(" x"):
        return f"{by.removesuffix(' x')} times as long"
    return f"{by.lstrip('+-')} {'longer' if new_ns > base_ns else 'less time'}"


def exact_words(lengths: CycleTimes) -> str:
    """That all steps of one run are longer than all of the other, where that decides; else empty.

    Begins with a space: a sentence to add to another.
    """
    if lengths.exact_p is None:
        return ""
    base, new = lengths.tested_counts
    is_longer = lengths.new_mean_ns > lengths.base_mean_ns
    p = units.chance(lengths.exact_p)
    p = f"p {p}" if p.startswith("<") else f"p = {p}"
    how = "longer" if is_longer else "shorter"
    return f" All {new} new steps are {how} than all {base} base steps (exact {p})."


def too_few_words(lengths: CycleTimes) -> str:
    """That no order of so few steps decides anything, and how many do; else empty."""
    base, new = lengths.tested_counts
    if min(base, new) < 1 or lengths.least_p < ALPHA:
        return ""
    counts = f"{new} steps" if base == new else f"{base} and {new} steps"
    return (
        f" {counts} in each run can at best give p = {lengths.least_p:.2g}: record at least "
        f"{fewest_steps(ALPHA)} after warm-up."
    )


_VERDICTS = {"slower": "regression", "faster": "improvement"}
_STEPS = {"mean": "Steps, rare slow ones included,", "fast": "Fast steps"}
_NOT_IN_TURN = (
    "The runs of base and new did not alternate: a change of the machine in between counts as a "
    "change of the program."
)
_ONE_RUN = (
    "Measured on unprofiled steps, one run each. Equal runs differ too, which one run of each "
    "cannot show."
)


def judge_plain(plain: ComparedRuns) -> StepTimeTest:
    """The verdict on unprofiled steps."""
    result = plain.result
    if isinstance(result, CycleTimes):
        judged = judge_lengths(result)
        time = replace(judged.cycle_time, by=PLAIN)
        reason = f"{judged.reason} Measured on unprofiled steps, one run each."
        notes = (_ONE_RUN,)
        return replace(judged, reason=reason, cycle_time=time, notes=notes)
    leading = result.leading
    scale = leading.base_ns / 100
    bounds = leading.interval_pct
    interval_ns = None if bounds is None else (scale * bounds[0], scale * bounds[1])
    mean = result.mean
    time = CycleTime(
        mean.base_ns,
        mean.new_ns,
        mean.change_pct,
        mean.interval_pct,
        None,
        SteadyTimes(leading.base_ns, leading.new_ns, interval_ns),
        plain.runs[0].by,
        result.runs,
        result.outcome,
        result.more_runs,
    )
    verdict = _VERDICTS.get(result.outcome, "no_change")
    return StepTimeTest(
        verdict, decision_sentence(result), time, () if result.pairs else (_NOT_IN_TURN,)
    )


def decision_sentence(decision: Decision) -> str:
    """What runs of both sides say, in a sentence or two."""
    leading, runs = decision.leading, decision.runs
    many = f"{runs[0]}" if runs[0] == runs[1] else f"{runs[0]} and {runs[1]}"
    of = f"{many} runs a side"
    what = _STEPS.get(leading.statistic, "Steps")
    by = change(leading.base_ns, leading.new_ns)
    means = times(leading.base_ns, leading.new_ns)
    interval = ""
    if leading.interval_pct is not None:
        interval = f"99 % interval {interval_pct(*leading.interval_pct)}; "
    if decision.outcome in _VERDICTS:
        much = longer_by(leading.base_ns, leading.new_ns)
        return f"{what} take {much}, {means} ({interval}{of})."
    estimate = f"{by}, {interval or '; '}{of}".replace(", ; ", "; ")
    if decision.outcome == "same":
        return f"No change in step time beyond {decision.detect_pct:g} %: {means} ({estimate})."
    return f"Too uncertain to tell: {means} ({estimate}).{_what_decides(decision)}"


def _what_decides(decision: Decision) -> str:
    bounds = decision.typical.interval_pct
    if bounds is not None and max(-bounds[0], bounds[1]) <= decision.detect_pct:
        rare = change(decision.mean.base_ns, decision.mean.new_ns)
        return f" Most steps take as long as before; rare slow ones change the mean by {rare}."
    more = decision.more_runs
    if any(figure.certain for figure in decision.figures):
        least = f" At least {MIN_RUNS} runs of each side are needed."
        return (
            least if decision.runs[0] != decision.runs[1] or min(decision.runs) < MIN_RUNS else ""
        )
    return (
        "" if more is None else f" About {units.count_noun(more, 'more runs')} a side would decide."
    )
