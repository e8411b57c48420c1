"""Headroom of operators below the roofline of their device, and its causes.

A rule speaks of kernels and how long each would take; a replay then says what that saves.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace

from timesink.analyses.columns import (
    device_columns,
    device_names,
    memoize_per_trace,
    recording_of,
)
from timesink.analyses.device_activities import has_device_work
from timesink.analyses.device_idle import idle_causes
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.kernels.peaks import choose_peaks
from timesink.analyses.names import short_kernel_name
from timesink.analyses.replay.changes import parse_change
from timesink.analyses.replay.own_clock import own_timeline
from timesink.analyses.replay.play import recorded_play
from timesink.analyses.replay.prediction import program_of
from timesink.analyses.replay.what_if import Scenario, apply_change, step_ns
from timesink.analyses.steps import find_steps
from timesink.analyses.work.arguments import CallArguments, parse_inputs
from timesink.analyses.work.calls import modelled_calls
from timesink.analyses.work.efficiency import Efficiency, shape_text
from timesink.analyses.work.formulas import formula_of
from timesink.analyses.work.steps import COLLECTIVE, LINK, MATRIX, MEMORY, VECTOR
from timesink.errors import UsageError
from timesink.model import units
from timesink.model.findings import Evidence, RunFinding, gravest_first
from timesink.model.fitness import CRITICAL_PATH
from timesink.model.intervals import Floats, Ints
from timesink.model.trace import Trace
from timesink.patterns import regex
from timesink.rules import device_work
from timesink.rules.register import catalogue, rules_for
from timesink.rules.replayed import held_up_by, without_queue_gaps
from timesink.rules.run_findings import find_all, fit_to_run
from timesink.rules.steps import Steps, complete_steps, longest_by_name
from timesink.rules.thresholds import EfficiencyLimits, FusionLimits

_MAX_SHOWN = 3
_REARRANGED = regex(r"(?<!conv)(?<!conv_)transpose", re.IGNORECASE)
_NARROWER = {"fp64": ("fp32",), "fp32": ("tf32_tensor", "bf16_tensor", "fp16_tensor")}
"""Peaks of narrower numbers for products in wide ones: the first that is higher."""
_TERA = 1e12


class ShorterWork(msgspec.Struct, frozen=True, eq=False):
    """A finding, and how long the kernels it speaks of take when it is mended."""

    finding: RunFinding
    row: Ints
    """Of the kernels in the table of device work."""
    left_ns: Floats


@dataclass(frozen=True, eq=False)
class RoofedSteps:
    """The kernels of complete steps with their roofs, as rules ask for them."""

    efficiency: Efficiency
    kernels: pl.DataFrame
    """Those of `Efficiency.kernels` with `operator`, `shape`, `at` (their start), `stream`, their
    `turn` on it, the `left_ns` that good kernels take for the work, and what is `lost_ns`."""
    spoken: bool = False
    """Whether a rule spoke of others before."""

    @classmethod
    def of(cls, efficiency: Efficiency) -> RoofedSteps:
        in_steps = efficiency.kernels.filter((pl.col("step") >= 0) & (pl.col("dur_ns") > 0))
        in_steps = in_steps.with_columns(pl.col("call", "set").fill_null(-1))
        rows = in_steps["row"].to_numpy()
        where = device_columns(efficiency.trace).select(pl.col("ts_ns").alias("at"), "stream")[rows]
        about = efficiency.sets.with_row_index("set").select(
            pl.col("set").cast(pl.Int64), "operator", pl.col("input_dims").alias("shape")
        )
        reached = efficiency.reached()
        time = pl.col("dur_ns").cast(pl.Float64())
        left = pl.max_horizontal(pl.col("roof_ns") / reached, efficiency.shortest_ns)
        kernels = (
            in_steps.hstack(where)
            .join(about, on="set", how="left", maintain_order="left")
            .with_columns(
                left_ns=pl.when(pl.col("roof_ns").is_not_null()).then(left.clip(upper_bound=time)),
                turn=pl.struct("device", "stream", "step", "at", "row").rank("ordinal"),
            )
            .with_columns(lost_ns=time - pl.col("left_ns"))
        )
        return cls(efficiency, kernels)

    @cached_property
    def steps(self) -> Steps:
        return complete_steps(self.efficiency.trace)

    @cached_property
    def divisor(self) -> int:
        """What sums are divided by: steps, and devices that do the same in each."""
        return self.efficiency.device_steps

    @property
    def shortest_ns(self) -> float:
        """No kernel is promised to be shorter."""
        return self.efficiency.shortest_ns

    def reached(self, bound: str, peak: str = "") -> float:
        """The share of a roof that good kernels reach."""
        roof = pl.select(bound=pl.lit(bound), peak=pl.lit(peak), family=pl.lit(""))
        return float(roof.select(self.efficiency.reached()).item())

    def worth_telling(self, saved_ns: float) -> bool:
        """Whether a sum over all steps is enough of one to speak of it."""
        return saved_ns >= EfficiencyLimits.min_saved * self.steps.length_ns * self.divisor

    def many(self, number: float, things: str) -> str:
        """How many of all steps there are in an average one, in words."""
        return (
            f"{units.count_noun(max(1, round(number / self.divisor)), things)}{self.steps.a_step}"
        )

    def shorter_work(
        self,
        rule: str,
        sentence: str,
        chosen: pl.DataFrame,
        evidence: Iterable[Evidence],
        words: Mapping[str, str] | None = None,
        **more: Any,
    ) -> ShorterWork:
        """What a rule says of kernels that would take their `left_ns`."""
        saved = float((chosen["dur_ns"] - chosen["left_ns"]).sum()) / self.divisor
        (finding,) = self.steps.loss_findings(rule, sentence, saved, evidence, words, **more)
        return ShorterWork(finding, chosen["row"].to_numpy(), chosen["left_ns"].to_numpy())

    def evidence(self, kernels: pl.DataFrame, most: int = _MAX_SHOWN) -> tuple[Evidence, ...]:
        """The operators and shapes that lose most, with rates and roofs."""
        rows = (
            kernels.group_by("operator", "shape")
            .agg(
                calls=pl.col("call").filter(pl.col("call") >= 0).n_unique(),
                time=pl.col("dur_ns").sum(),
                lost=(pl.col("dur_ns") - pl.col("left_ns")).sum(),
                flop=(pl.col("matrix_flop") + pl.col("vector_flop")).sum(),
                bytes=pl.col("bytes").sum(),
                roof=pl.col("roof_ns").sum(),
            )
            .sort("lost", "time", descending=True)
            .head(most)
        )
        return tuple(
            Evidence(
                "operator",
                f"{row['operator']} {shape_text(row['shape'] or '')}".strip(),
                numbers={
                    "calls_per_step": row["calls"] / self.divisor,
                    "time_us_per_step": row["time"] / self.divisor / 1e3,
                    "computes_tflops": 1e9 * row["flop"] / row["time"] / _TERA,
                    "moves_tb_per_s": 1e9 * row["bytes"] / row["time"] / _TERA,
                    "roof_reached_pct": 100 * row["roof"] / row["time"],
                },
            )
            for row in rows.to_dicts()
        )


def efficiency_findings(efficiency: Efficiency) -> tuple[ShorterWork, ...]:
    """What rules say of the kernels of a run; nothing without peaks, or with little modelled.

    A kernel that one rule speaks of is not there for the next.
    """
    if efficiency.peaks is None or efficiency.step is None:
        return ()
    run, works = RoofedSteps.of(efficiency), []
    for rule in rules_for("efficiency"):
        for work in rule(run):
            finding = fit_to_run(work.finding, efficiency.trace, pytorch=True)
            works.append(ShorterWork(finding, work.row, work.left_ns))
            spoken = pl.Series(work.row).implode()
            run = RoofedSteps(
                efficiency, run.kernels.filter(~pl.col("row").is_in(spoken)), spoken=True
            )
    return tuple(works)


@memoize_per_trace
def time_at_roof(trace: Trace) -> Mapping[str, float]:
    """What kernels take as good ones at their roofs, as a share of what they take, by short name.

    Those with a roof for most of their time; empty where no peaks are known. Nothing is left of
    those that only turn images between layouts.
    """
    efficiency = Efficiency(trace, choose_peaks(trace), modelled_calls(trace))
    if efficiency.peaks is None or efficiency.step is None:
        return {}
    kernels = RoofedSteps.of(efficiency).kernels
    named = device_names(trace).renamed(short_kernel_name)
    is_known = pl.col("left_ns").is_not_null()
    rows = (
        kernels.with_columns(code=pl.Series(named.codes[kernels["row"].to_numpy()]))
        .group_by("code")
        .agg(
            time=pl.col("dur_ns").sum(),
            known=pl.col("dur_ns").filter(is_known).sum(),
            left=pl.col("left_ns").sum(),
        )
        .filter(pl.col("known") > EfficiencyLimits.max_share * pl.col("time"))
    )
    shares = {
        named.texts[code]: min((left + time - modelled_ns) / time, 1.0)
        for code, time, modelled_ns, left in rows.iter_rows()
    }
    turned = (text for text in named.texts if text and device_work.IMAGE_LAYOUT.search(text))
    return shares | dict.fromkeys(turned, 0.0)


def arguments_of(run: RoofedSteps, number: int) -> CallArguments:
    """What calls of a set were given, by the names of their formula."""
    sets = run.efficiency.sets
    operator, *texts = (
        sets[name][number] for name in ("operator", "input_dims", "input_types", "input_strides")
    )
    row = formula_of(operator)
    inputs = parse_inputs(*(text or "" for text in texts))
    return CallArguments(operator, inputs, places=row.places if row else {})


# -- rules -----------------------------------------------------------------------------------------


def layouts_in_convolutions(run: RoofedSteps) -> list[ShorterWork]:
    """Kernels that convolutions launch to turn tensors into the layout they want."""
    if device_work.layout_conversions(run.efficiency.trace):
        return []  # by their names alone
    named = device_names(run.efficiency.trace)
    turned = named.matching(
        lambda name: bool(device_work.IMAGE_LAYOUT.search(name) or _REARRANGED.search(name))
    )
    mine = run.kernels.filter(pl.col("family") == "convolution")
    mine = mine.filter(pl.Series(turned[mine["row"].to_numpy()], dtype=pl.Boolean))
    lost = float(mine["dur_ns"].sum())
    if not run.worth_telling(lost):
        return []
    events = device_columns(run.efficiency.trace)[mine["row"].to_numpy()]
    return [
        run.shorter_work(
            "layout-conversions",
            f"{run.many(mine.height, 'kernels')} inside convolutions that only convert between "
            f"memory layouts take {run.steps.part(lost / run.divisor)}.",
            mine.with_columns(left_ns=pl.lit(0.0)),
            longest_by_name("kernel", events),
        )
    ]


def wide_products(run: RoofedSteps) -> list[ShorterWork]:
    """Products of matrices in numbers that matrix units are slow at, or cannot take."""
    peaks = run.efficiency.peaks
    if peaks is None or device_work.tensor_cores_unused(run.efficiency.trace):
        return []
    products = run.kernels.filter(pl.col("matrix_flop") > 0)
    # Where most of a family is narrow already, what is not has no choice.
    narrow = ~pl.col("peak").str.strip_suffix("_tensor").is_in(list(_NARROWER))
    part = (pl.col("matrix_flop") * narrow).sum() / pl.col("matrix_flop").sum()
    matrix_products = products.filter(pl.col("family").is_in(["gemm", "convolution"]))
    families = (
        matrix_products.group_by("family")
        .agg(part.alias("narrow"))
        .filter(pl.col("narrow") < EfficiencyLimits.max_share)
    )
    works = []
    for wide, narrower in _NARROWER.items():
        slow = peaks.peak(wide) or 0.0
        known_peaks = ((precision, peaks.peak(precision) or 0.0) for precision in narrower)
        name, peak = next(
            ((precision, rate) for precision, rate in known_peaks if rate > slow), ("", 0.0)
        )
        # Which peak they are held against tells the unit that did them.
        chosen = products.filter(
            pl.col("family").is_in(families["family"].implode()),
            pl.col("peak").is_in([wide, f"{wide}_tensor"]),
        )
        if not peak or chosen.is_empty():
            continue
        at_peak = 1e9 * pl.col("matrix_flop") / peak / run.reached(MATRIX, name)
        in_memory = pl.col("memory_ns") / run.reached(MEMORY)
        left = pl.max_horizontal(at_peak, in_memory, run.shortest_ns)
        chosen = chosen.with_columns(left_ns=left.clip(upper_bound=pl.col("dur_ns")))
        if not run.worth_telling(float((chosen["dur_ns"] - chosen["left_ns"]).sum())):
            continue
        rate = 1e9 * float(chosen["matrix_flop"].sum()) / float(chosen["dur_ns"].sum()) / _TERA
        works.append(
            run.shorter_work(
                "wide-products",
                f"Matrix products in {wide} take "
                f"{run.steps.part(float(chosen['dur_ns'].sum()) / run.divisor)} and reach "
                f"{units.three_digits(rate, 1)} TFLOP/s. The peak of {peaks.device} in "
                f"{name.removesuffix('_tensor')} is {peak / _TERA:,.0f} TFLOP/s.",
                chosen,
                run.evidence(chosen),
                {"wide": wide},
                advice={"fp32": "double", "tf32_tensor": "advice"}.get(name, "half"),
            )
        )
    return works


def largest_headroom(run: RoofedSteps) -> list[ShorterWork]:
    """The operator and shape with the most headroom below what good kernels reach."""
    open_work = run.kernels.filter(
        pl.col("lost_ns").is_not_null(), pl.col("family").fill_null("") != COLLECTIVE
    )
    by_shape = (
        open_work.group_by("operator", "shape")
        .agg(pl.col("lost_ns").sum())
        .sort("lost_ns", "operator", "shape", descending=[True, False, False])
    )
    if by_shape.is_empty() or not run.worth_telling(by_shape["lost_ns"][0]):
        return []
    operator, shape, lost = by_shape.row(0)
    mine = open_work.filter(pl.col("operator") == operator, pl.col("shape").eq_missing(shape))
    time, roof = float(mine["dur_ns"].sum()), float(mine["roof_ns"].sum())
    bound = mine.group_by("bound").agg(pl.col("dur_ns").sum()).sort("dur_ns")["bound"][-1]
    amount = {MATRIX: "matrix_flop", VECTOR: "vector_flop"}.get(bound, "bytes")
    # What is far slower than its bytes does not wait for them: moving fewer is of no use.
    is_moving = amount != "bytes" or roof >= FusionLimits.bound_by_memory * time
    rate = 1e9 * float(mine[amount].sum()) / time / _TERA
    rate_text = f"{units.three_digits(rate)} {'TB/s' if amount == 'bytes' else 'TFLOP/s'}"
    calls = mine["call"].filter(mine["call"] >= 0).n_unique()
    among = "of the other operators" if run.spoken else "of all operators"
    return [
        run.shorter_work(
            "largest-headroom",
            f"{operator} on {shape_text(shape or '') or 'single numbers'} has the most headroom "
            f"{among}: {run.steps.part(time / run.divisor)} in {run.many(calls, 'calls')}. "
            f"It reaches {units.share(roof, time)} of {_roof(mine, bound)} ({rate_text}); "
            f"good kernels would take {units.brief_ns((time - lost) / run.divisor)}.",
            mine,
            run.evidence(mine),
            {"operator": operator},
            advice=_ADVICE.get(mine["family"][0] or "", "advice") if is_moving else "advice",
        )
    ]


def _roof(kernels: pl.DataFrame, bound: str) -> str:
    """The roof that most of the time of kernels is held against, in words."""
    if bound not in (MATRIX, VECTOR):
        return "its link bandwidth" if bound == LINK else "its memory roofline"
    times = kernels.group_by("precision").agg(pl.col("dur_ns").sum()).sort("dur_ns", "precision")
    precision = times["precision"][-1]
    return f"the peak in {precision}" if bound == MATRIX and precision else "the vector units' peak"


_ADVICE = {
    "gemm": "product",
    "convolution": "convolution",
    "attention": "attention",
    **dict.fromkeys(
        ("elementwise", "normalisation", "reduction", "softmax", "copy", "loss"), "moved"
    ),
}


# -- what a replay says that findings save ---------------------------------------------------------


_ABOUT_WAITS = ("many-waits", "low-utilisation-sync-bound")
"""Findings that speak of all waits for the device."""
DOMINANT, LAUNCH_BOUND = "dominant-operator", "low-utilisation-launch-bound"
_SET_UP_DECIDES = "the operator that dominates the host is the bottleneck"
_REST_AS_GRAPH = "all the rest is launched at once, as a graph"
_Change: TypeAlias = Callable[[Scenario], Scenario | None]
_IDLE_ANYWAY = {
    "work": "the host is the bottleneck, and the device is idle here anyway",
    "idle": "the device is the bottleneck, and the host waits for it anyway",
    "host": "something else is the bottleneck meanwhile",
    "busy": "other work of the device is the bottleneck",
}
_UNKNOWN_DECIDES = "this recording does not show what the bottleneck is"


@memoize_per_trace
def proven_findings(trace: Trace, efficiency: Efficiency | None = None) -> tuple[RunFinding, ...]:
    """Everything the rules find in a timeline, with what a replay says that it saves.

    With the roofs of its device, what operators lose against these is among it.
    """
    below_roofs = () if efficiency is None else efficiency_findings(efficiency)
    findings = find_all(trace)
    if not complete_steps(trace).count:
        return findings
    if not recording_fitness(trace).answers(CRITICAL_PATH):
        unproven = (*findings, *(work.finding for work in below_roofs))
        return _without_promises(unproven, complete_steps(trace))
    return _with_replays(trace, findings, below_roofs)


def proven_savings(recording: Trace) -> list[RunFinding]:
    """What findings of a recording save in a step, on the clock without profiler overhead."""
    timeline = own_timeline(recording)
    efficiency = Efficiency(timeline, choose_peaks(recording), modelled_calls(timeline))
    return [finding for finding in proven_findings(timeline, efficiency) if finding.cost_ns]


def _with_replays(
    trace: Trace, findings: tuple[RunFinding, ...], below_roofs: Sequence[ShorterWork]
) -> tuple[RunFinding, ...]:
    """Findings with what each saves in a replay, the gravest first; with single waits."""
    steps = find_steps(trace).filter("complete")
    base = _replayed_program(trace)
    today = step_ns(base)

    def saving_ns(scenario: Scenario) -> float:
        """What a step takes less in the mean, as `whatif` says it."""
        return today - step_ns(scenario)

    mean_step_ns = float(np.mean((steps["end_ns"] - steps["start_ns"]).to_numpy()))
    if not any(finding.cost_ns and finding.id in _ABOUT_WAITS for finding in findings):
        single = (fit_to_run(finding, trace) for finding in held_up_by(trace, base, saving_ns))
        findings = (*findings, *single)
    if not (below_roofs or any(finding.cost_ns for finding in findings)):
        return findings
    whole_steps, otherwise = complete_steps(trace), _who_decides(trace)
    changes: list[tuple[RunFinding, _Change]] = [
        (finding, partial(_fix_finding, finding)) for finding in findings
    ]
    changes += [(work.finding, partial(_shorten_kernels, work)) for work in below_roofs]
    set_up_ns = _dominant_saving_ns(findings, base, saving_ns)
    so_far, joint, is_capped = base, 0.0, False
    proven: dict[int, tuple[RunFinding, _Change, bool]] = {}
    for number, (finding, change) in enumerate(changes):
        changed_scenario = change(base)
        saved = None if changed_scenario is None else saving_ns(changed_scenario)
        proven_finding = _with_saving(
            finding, saved, mean_step_ns, at_most=number >= len(findings), otherwise=otherwise
        )
        if finding.id == LAUNCH_BOUND and set_up_ns and proven_finding.cost_ns:
            rest_ns = proven_finding.cost_ns - set_up_ns
            proven_finding = _without_set_up(proven_finding, rest_ns, mean_step_ns)
        if number >= len(findings):
            if proven_finding.cost_ns < EfficiencyLimits.min_saved * mean_step_ns:
                continue
            proven_finding = replace(proven_finding, share=proven_finding.cost_ns / mean_step_ns)
        proven_finding = replace(whole_steps.graded(proven_finding), marked=whole_steps.marked)
        proven[id(proven_finding)] = proven_finding, change, changed_scenario is not None
    results = []
    for finding in gravest_first(candidate for candidate, *_ in proven.values()):
        _, change, is_played = proven[id(finding)]
        so_far = change(so_far) or so_far
        is_capped = is_capped or _is_capped(catalogue()["run"][finding.id])
        if finding.cost_ns:
            # Changes that go further than their finding leave no more than its cost on top.
            most = mean_step_ns if is_played and not is_capped else joint + finding.cost_ns
            replayed = max(saving_ns(so_far), joint, finding.cost_ns)
            joint = min(replayed, most, mean_step_ns)
        results.append(replace(finding, together_ns=joint) if finding.cost_ns else finding)
    return tuple(results)


def _dominant_saving_ns(
    findings: Iterable[RunFinding], base: Scenario, saving_ns: Callable[[Scenario], float]
) -> float:
    """What a step takes less without the operator that dominates the host; 0 where none does."""
    for finding in findings:
        if finding.id == DOMINANT and finding.cost_ns:
            changed = _fix_finding(finding, base)
            return 0.0 if changed is None else min(saving_ns(changed), finding.cost_ns)
    return 0.0


def _without_set_up(finding: RunFinding, rest_ns: float, mean_step_ns: float) -> RunFinding:
    """Launches that decide, beside an operator that dominates the host.

    A graph would be without that operator too, but is not what takes it out.
    """
    if rest_ns < EfficiencyLimits.noticed * mean_step_ns:
        return replace(finding, cost_ns=0.0, gain_basis="", no_saving=_SET_UP_DECIDES)
    return replace(finding, cost_ns=rest_ns, gain_basis=_REST_AS_GRAPH)


def _without_promises(findings: Iterable[RunFinding], steps: Steps) -> tuple[RunFinding, ...]:
    """Findings of a recording that does not show what decides a step: the most each can save.

    Less work makes no step shorter by more than the work took, nor does a device that waits less.
    """

    def unproven(finding: RunFinding) -> RunFinding:
        most_ns = finding.cost_ns + finding.between_ns
        if not most_ns:
            return finding
        without = replace(finding, cost_ns=0.0, between_ns=0.0, most_ns=most_ns)
        without = replace(without, unknown_saving=_UNKNOWN_DECIDES, marked=steps.marked)
        return steps.graded(without)

    return gravest_first(map(unproven, findings))


def _replayed_program(trace: Trace) -> Scenario:
    """The program that `whatif` changes: that of the recording, on the clock of a timeline."""
    recording = recording_of(trace)()
    if recording is None or recording is trace:
        return Scenario.of(trace, recorded_play(trace))
    return program_of(recording).now


def _shorten_kernels(work: ShorterWork, scenario: Scenario) -> Scenario:
    """The program with kernels that take no longer than a finding says."""
    left = np.full(device_columns(scenario.trace).height, np.inf)
    left[work.row] = work.left_ns
    length = np.minimum(scenario.length, left[scenario.graph.work.row])
    return replace(scenario, length=length)


def _fix_finding(finding: RunFinding, scenario: Scenario) -> Scenario | None:
    """The program without what a finding speaks of; None where no change says that."""
    entry = catalogue()["run"][finding.id]
    if not finding.cost_ns or "change" not in entry:
        return None
    if "queued" in entry["change"]:
        return without_queue_gaps(scenario)
    if "kernels" in entry["change"]:
        names = [item.name for item in finding.evidence if item.kind == "kernel"]
        mine = device_names(scenario.trace).among(*(finding.kernels or names))
        factor = float(entry["change"]["kernels"])
        chosen = mine[scenario.graph.work.row]
        return replace(scenario, length=np.where(chosen, scenario.length * factor, scenario.length))
    result = None
    for action, texts in entry["change"].items():
        for text in _fill_patterns(texts, finding):
            try:
                scenario = apply_change(scenario, parse_change(action, text))
            except UsageError:
                continue
            result = scenario
    return result


def _fill_patterns(texts: Iterable[str], finding: RunFinding) -> Iterable[str]:
    """Changes with the names of what the finding shows."""
    for text in texts:
        kind = text[text.find("{") + 1 : text.find("}")] if "{" in text else ""
        if not kind:
            yield text
        else:
            names = [item.name for item in finding.evidence if item.kind == kind]
            patterns = (glob.escape(name) for name in dict.fromkeys(names))
            yield from (text.replace(f"{{{kind}}}", pattern) for pattern in patterns)


def _who_decides(trace: Trace) -> str:
    """Why something saves nothing: a device works nearly all the time or not, or there is none."""
    if not has_device_work(trace):
        return "host"
    idle, steps = idle_causes(trace), complete_steps(trace)
    if idle.is_empty():
        return "work"
    least = int(idle["idle_ns"].to_numpy().min())
    return (
        "busy"
        if least < (1 - EfficiencyLimits.busy_share) * steps.length_ns * steps.count
        else "work"
    )


def _is_capped(entry: Mapping[str, Any]) -> bool:
    """Whether a change goes further than mending a finding: to all kernels of its names, say."""
    return bool(entry.get("at_most")) or "kernels" in entry.get("change", ())


def _with_saving(
    finding: RunFinding,
    saved: float | None,
    mean_step_ns: float,
    *,
    at_most: bool,
    otherwise: str,
) -> RunFinding:
    """A finding with what it saves: what was replayed, and at most what there is."""
    if not finding.cost_ns:
        return finding
    entry, cost = catalogue()["run"][finding.id], min(finding.cost_ns, mean_step_ns)
    if saved is not None:
        # Some changes go further than mending the finding would: then they are the most.
        cost = min(cost, saved) if at_most or _is_capped(entry) else min(saved, mean_step_ns)
    if saved is not None and cost < EfficiencyLimits.noticed * mean_step_ns:
        basis = finding.gain_basis if finding.between_ns else ""
        sort = "idle" if entry.get("time") == "idle" else otherwise
        return replace(finding, cost_ns=0.0, gain_basis=basis, no_saving=_IDLE_ANYWAY[sort])
    return replace(finding, cost_ns=cost)
