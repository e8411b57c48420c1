"""Every rule by the question it answers, in the order in which rules are asked, and its words.

A rule is a function that turns what was measured into findings, and rows of ``catalogue.toml``: its
turn among the others, its title and its advice.  A rule without numbers says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from timesink.analyses.columns import device_names, event_ranges, memoize_per_trace
from timesink.analyses.fitness import recording_fitness
from timesink.analyses.program_traits import program_traits
from timesink.analyses.steps import find_steps, step_breakdown
from timesink.model import intervals, toml_tables, units
from timesink.model.findings import (
    Cause,
    Evidence,
    Finding,
    KernelAdvice,
    RunFinding,
    gravest_first,
)
from timesink.model.fitness import IDLE
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace
from timesink.model.vendors import UNKNOWN, in_words_of

FindingT = TypeVar("FindingT", bound=Finding)


@lru_cache(maxsize=8)
def rules_for(question: str) -> tuple[Callable[..., Any], ...]:
    """The rules of a question, in order; only their modules are loaded."""
    named = (entry.split(":") for entry in catalogue()["rules"][question])
    return tuple(getattr(import_module(_module(home)), name) for home, name in named)


def _module(home: str) -> str:
    """Rules are in files of this folder, where the catalogue names no other."""
    return f"timesink.{home if '.' in home else f'rules.{home}'}"


_PYTORCH = re.compile(
    r"\b(?:at|c10)::|aten::|torch|elementwise_kernel|multi_tensor_apply|triton_(?:poi|red|per|tem)_"
)
"""Names of kernels and calls that tell that PyTorch made them."""
_OTHER_FRAMEWORKS = re.compile(
    r"tensorflow|Eigen|\bxla|\bjax|\bjit_|(?:loop|input|reduce|wrapped|gemm)_\w*fusion|^fusion\b"
)
"""Names that tell that TensorFlow or JAX did."""


def is_pytorch(framework: str | None, names: Iterable[str], *, otherwise: bool) -> bool:
    """Whether advice may speak of PyTorch: the recording says so, or its kernels do."""
    framework_name, name_list = (framework or "").lower(), list(names)
    if framework_name or any(map(_PYTORCH.search, name_list)):
        return not framework_name or "torch" in framework_name or "lightning" in framework_name
    return otherwise and not any(map(_OTHER_FRAMEWORKS.search, name_list))


def fit_finding(
    finding: FindingT,
    table: str,
    *,
    pytorch: bool,
    vendor: str = "",
    traits: Collection[str] = (),
) -> FindingT:
    """A finding whose advice fits the framework, the maker of the device, and the program."""
    row = catalogue()[table].get(finding.id, {})
    # What names a place in the program holds for any framework.
    is_general = "named" not in row or finding.advice == row["advice"]
    advice = row.get("plain", finding.advice) if is_general and not pytorch else finding.advice
    advice = advice_for(traits, advice)
    advice = in_words_of(vendor, advice) if vendor else advice
    return replace(finding, advice=advice.replace(" ()", ""))  # what its maker lacks was in there


_GATED = re.compile(r"<(if|unless) ([\w-]+)>((?:(?!<if |<unless |</>).)*)</>", re.DOTALL)
"""A part of advice for some programs, without another such part in it."""


def advice_for(traits: Collection[str], advice: str) -> str:
    """Advice without the parts that are absurd for a program of these traits.

    The traits are those of `rules.program_traits`.

    >>> advice_for({"graphs"}, "Try <unless graphs>CUDA graphs, </>larger batches.")
    'Try larger batches.'
    """

    def gated_text(part: re.Match[str]) -> str:
        wanted, trait, text = part.groups()
        return text if (trait in traits) == (wanted == "if") else ""

    count = 1
    while count:
        advice, count = _GATED.subn(gated_text, advice)
    return advice


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, Mapping[str, Any]]:
    """Titles and advice by table (`run`, `kernels`, `causes`, `parts`) and id; and `rules`."""
    return toml_tables(Path(__file__).with_name("catalogue.toml"))


def make_finding(
    rule: str,
    sentence: str,
    words: Mapping[str, str] | None = None,
    *,
    advice: str = "advice",
    **parts: Any,
) -> RunFinding:
    """A finding with the title and the advice of the catalogue, where `words` fill their gaps.

    `advice` names the row where a rule has several.  What an estimate assumes is said where there
    is one.
    """
    row, fillings = catalogue()["run"][rule], words or {}
    gains = parts.get("cost_ns") or parts.get("between_ns")
    return RunFinding(
        rule,
        sentence,
        row.get(advice, "").format(**fillings),
        title=row.get("title", "").format(**fillings),
        gain_basis=row.get("basis", "") if gains else "",
        is_warning=bool(row.get("warning")),
        unknown_saving="" if gains else row.get("unknown", ""),
        **parts,
    )


def make_advice(
    rule: str,
    sentence: str,
    words: Mapping[str, str] | None = None,
    *,
    advice: str = "advice",
    **parts: Any,
) -> KernelAdvice:
    """Advice on kernels with the texts of the catalogue; `advice` as in `make_finding`."""
    row, fillings = catalogue()["kernels"][rule], words or {}
    return KernelAdvice(
        rule,
        sentence,
        row[advice].format(**fillings),
        title=row["title"].format(**fillings),
        gain_basis=row.get("basis", "") if parts.get("cost_ns") else "",
        **parts,
    )


def make_cause(
    cause: str,
    sentence: str,
    words: Mapping[str, str] | None = None,
    *,
    advice: str = "advice",
    **parts: Any,
) -> Cause:
    """A cause with the advice of the catalogue; `advice` names the row where it has several."""
    text = catalogue()["causes"][cause].get(advice, "").format(**(words or {}))
    return Cause(cause, sentence, text, **parts)


# -- rules about a single run ----------------------------------------------------------------------


MIN_GAP_NS = 1_000_000
MIN_GAP_SHARE = 0.05
"""A gap is large when it takes this much of an average step, and at least a millisecond."""


@memoize_per_trace
def find_all(trace: Trace) -> tuple[RunFinding, ...]:
    """Everything the rules find, the most severe first."""
    steps = complete_steps(trace)
    findings = _answerable_findings(
        trace, (finding for rule in rules_for("run") for finding in rule(trace))
    )
    graded = (steps.graded(fit_to_run(finding, trace)) for finding in findings)
    return tuple(replace(finding, marked=steps.marked) for finding in gravest_first(graded))


def fit_to_run(finding: RunFinding, trace: Trace, *, pytorch: bool | None = None) -> RunFinding:
    """A finding of a run with advice for its framework, its device and what its program does."""
    about, traits = trace.metadata, program_traits(trace)
    if pytorch is None:
        names, is_own = device_names(trace).texts, about.format == "kineto"
        pytorch = is_pytorch(about.framework, names, otherwise=is_own)
    vendor = about.vendor or UNKNOWN
    return fit_finding(finding, "run", pytorch=pytorch, vendor=vendor, traits=traits)


def _answerable_findings(trace: Trace, findings: Iterable[RunFinding]) -> Iterator[RunFinding]:
    """Findings about what the recording can answer: the rest may be missing data."""
    fitness, rows = recording_fitness(trace), catalogue()["run"]
    for finding in findings:
        row = rows.get(finding.id, {})
        question = row.get("asks", IDLE if "idle_for" in row else row.get("time", ""))
        if fitness.answers(question):
            yield finding


class Steps(msgspec.Struct, frozen=True, eq=False):
    """The complete steps of a trace as one whole."""

    windows: IntervalSet
    """When they ran; disjoint, in time order."""
    count: int
    length_ns: float
    """Of the average step."""
    marked: bool
    """Whether the recording marks steps; else all of it counts as one."""

    @property
    def large_gap_ns(self) -> float:
        """What a gap lasts at least that is large by itself."""
        return max(MIN_GAP_NS, MIN_GAP_SHARE * self.length_ns)

    def per_step_ns(self, ranges: ArrayLike) -> float:
        """How much of an average step the ranges cover; what overlaps counts once."""
        return int(intervals.coverage_within(ranges, self.windows).sum()) / max(1, self.count)

    def time_of(self, events: pl.DataFrame) -> float:
        """How much of an average step events cover."""
        return self.per_step_ns(event_ranges(events))

    def hold(self, times: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these moments are inside a step."""
        inside: NDArray[np.bool_] = intervals.enclosing_interval(times, *self.windows.T.copy()) >= 0
        return inside

    def part(self, ns: float) -> str:
        """A time and what it is a part of: `2.00 ms of each 20.0 ms step (10.0 %)`."""
        share = units.share(ns, self.length_ns)
        return f"{units.brief_ns(ns)} of {self.step_phrase} ({share})"

    def graded(self, finding: RunFinding) -> RunFinding:
        """A finding whose severity follows what it saves, of a step and the time up to the next."""
        period = self.length_ns
        if finding.between_ns and self.count:
            period = float(self.windows[-1, 1] - self.windows[0, 0]) / self.count
        saving = finding.cost_ns + finding.between_ns
        return replace(finding, saving_share=min(saving / period, 1.0) if period else 0.0)

    @property
    def step_phrase(self) -> str:
        """What a part is taken of, in words: a step, or what was recorded."""
        length = units.brief_ns(self.length_ns)
        if not self.marked:
            return f"the recorded {length}"
        return f"the {length} step" if self.count == 1 else f"each {length} step"

    @property
    def a_step(self) -> str:
        """Said after a number that is one of an average step; nothing where no step is marked."""
        return " a step" if self.marked else ""

    def loss_findings(
        self,
        rule: str,
        sentence: str,
        lost_ns: float,
        evidence: Iterable[Evidence],
        words: Mapping[str, str] | None = None,
        **more: Any,
    ) -> list[RunFinding]:
        """What a rule says that found time lost in a step, by default all to be gained."""
        share = lost_ns / self.length_ns if self.length_ns else 0.0
        parts = {"share": share, "cost_ns": lost_ns, **more}
        return [make_finding(rule, sentence, words, evidence=tuple(evidence), **parts)]


@memoize_per_trace
def complete_steps(trace: Trace) -> Steps:
    """The steps that averages are taken of; a length of 0 where nothing can be measured."""
    steps = find_steps(trace).filter("complete")
    bounds = steps.select("start_ns", "end_ns").to_numpy().reshape(-1, 2)
    total = int((bounds[:, 1] - bounds[:, 0]).sum())
    return Steps(
        windows=intervals.merge(bounds),
        count=len(bounds),
        length_ns=total / max(1, len(bounds)),
        marked=bool(steps["marked"].any()),
    )


def most_by_name(
    kind: str, events: pl.DataFrame, by: str, name: str = "name", **numbers: pl.Expr
) -> tuple[Evidence, ...]:
    """The names that have most of one of the numbers, with all of these."""
    rows = (
        events.group_by(name)
        .agg(**numbers)
        .with_columns(pl.col(name).cast(pl.String).fill_null(""))
        .sort(by, name, descending=[True, False])
        .head(3)
    )
    return tuple(Evidence(kind, row.pop(name), numbers=row) for row in rows.to_dicts())


def longest_by_name(kind: str, events: pl.DataFrame) -> tuple[Evidence, ...]:
    """The names that took most time, with calls and time."""
    total = pl.col("dur_ns").sum() / 1000
    return most_by_name(kind, events, "total_us", calls=pl.len(), total_us=total)


def worst_step(trace: Trace, part: str) -> Evidence:
    """The complete step with most of a part of the breakdown."""
    step = step_breakdown(trace).filter("complete").sort(f"{part}_ns").row(-1, named=True)
    numbers = {f"{part}_us": step[f"{part}_ns"] / 1000, "step_us": step["total_ns"] / 1000}
    return Evidence("step", step["name"], numbers=numbers)
