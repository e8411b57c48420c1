"""`timesink analyze`: where the time of one run goes, as plain data and in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.util import find_spec
from itertools import pairwise
from operator import index
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import polars as pl

from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.device.activities import has_device_work
from timesink.analyses.names import device_word
from timesink.analyses.ranks.rank_set import RankSet, set_health, set_notes
from timesink.analyses.steps import average_step, find_steps, step_ranges, within_steps
from timesink.answers.analysis import sections
from timesink.answers.analysis.sections import start_side_by_side
from timesink.answers.rank_reading import open_set
from timesink.answers.views import check_group, find_view
from timesink.errors import TimesinkError, UnreadableError, UsageError
from timesink.formats.options import Progress
from timesink.formats.written_files import is_folder
from timesink.model import units
from timesink.model.findings import SEVERITIES, Finding, gravest_first
from timesink.model.health import HealthEntry, recording_notes
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace, why_no_calls
from timesink.rules.communication import stragglers
from timesink.rules.idle import LEAST_BETWEEN, LEAST_IDLE, time_between
from timesink.rules.single_run import complete_steps, find_all
from timesink.runtime.engine import Engine, engine_of
from timesink.sources.cache import Cache
from timesink.sources.discovery import one_run
from timesink.sources.kept_answers import KeptAnswer
from timesink.sources.opening import find_chosen, key_of, open_recording, open_trace
from timesink.sources.places import place_of, shown
from timesink.sources.recordings import Recording

SCHEMA = "timesink/analysis/1"
_FOR_PANDAS = ("pandas", "pyarrow")
"""What Polars needs to make a pandas frame."""


@dataclass(frozen=True, eq=False, repr=False)
class Analysis:
    """Everything known about one trace, or a set of ranks, computed when it is asked for.

    >>> import timesink
    >>> analysis = timesink.analyze(timesink.sample())
    >>> analysis
    <Analysis of unet_train.pt.trace.json.gz, 2 steps: 77.0 % of each 27.18 ms step is GPU work...>
    >>> analysis.table("kernels").height > 0
    True
    """

    trace: Trace
    path: str = ""
    ranks: RankSet | None = None
    """Every rank of the run, this one included; None where there is one trace alone."""
    group_by: str = ""
    """What the rows of the operator table stand for."""
    chosen: tuple[str, ...] = ()
    """What was chosen on the user's behalf, in sentences."""
    kept: KeptAnswer | None = None
    """Where the whole answer is kept, so that it need not be found again."""

    @property
    def is_set(self) -> bool:
        """Whether several ranks are compared."""
        return self.ranks is not None and len(self.ranks.ranks) > 1

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen on the user's behalf, and what is to be known about the set of ranks."""
        return self.chosen if self.ranks is None else (*self.chosen, *set_notes(self.ranks))

    @property
    def health(self) -> tuple[HealthEntry, ...]:
        """What was repaired, lost or looks wrong, in the recordings of all ranks."""
        if self.ranks is None:
            return tuple(self.trace.health)
        return tuple(entry for entry, _ in set_health(self.ranks))

    @property
    def headline(self) -> str:
        """The answer in a sentence."""
        return headline(self.trace, self.findings)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What costs time and what to try, the gravest first."""
        held_up = [] if self.ranks is None else stragglers(self.ranks)
        return gravest_first([*find_all(self.trace), *held_up])

    def table(self, view: str, group_by: str | None = None) -> pl.DataFrame:
        """One of the tables of `timesink.answers.views.VIEWS`, times in nanoseconds.

        >>> import timesink
        >>> timesink.analyze(timesink.sample()).table("operators", "shape").columns[:3]
        ['name', 'input_dims', 'calls']
        """
        check_group(group_by or "", view)
        chosen = self.group_by if group_by is None else group_by
        return find_view(view).table(self.trace, chosen, self.ranks)

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/analysis.md` describes every key."""
        answer: dict[str, Any] = msgspec.json.decode(self.to_json())
        return answer

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        known = self.kept.load() if self.kept is not None else None
        if known is not None:
            return known
        answer = msgspec.json.encode(self._find())
        if self.kept is not None:
            self.kept.save(answer)
        return answer

    def _find(self) -> dict[str, Any]:
        trace = self.trace
        start_side_by_side(trace)
        return {
            "schema": SCHEMA,
            "headline": self.headline,
            "source": sections.source(trace, self.path, self.ranks, self.notes),
            "health": sections.health(trace, self.ranks),
            "device": sections.device(trace),
            "steps": sections.steps(trace),
            "breakdown": sections.breakdown(trace),
            "operators": sections.operators(trace, self.table("operators"), self.group_by),
            "kernels": sections.kernels(trace),
            "memory": sections.memory(trace),
            "modules": sections.modules(trace),
            "distributed": sections.distributed(trace, self.ranks),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_pandas(self, view: str = "operators", group_by: str | None = None) -> Any:
        """One of the tables as a pandas frame; needs pandas and pyarrow."""
        absent = [name for name in _FOR_PANDAS if not _is_installed(name)]
        if absent:
            raise TimesinkError(
                f"a pandas frame needs {' and '.join(absent)}, not installed here",
                f"pip install {' '.join(_FOR_PANDAS)}, or use .table({view!r}), a Polars frame",
            )
        return self.table(view, group_by).to_pandas()

    def __repr__(self) -> str:
        """One line: what was analysed, and the answer."""
        name = Path(self.path or self.trace.metadata.source).name
        steps = units.counted(find_steps(self.trace).height, "steps")
        return f"<Analysis of {name}, {steps}: {self.headline}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        tables = (self.table(view).head(8) for view in ("steps", "operators", "kernels"))
        return f"<p><b>{escape(self.headline)}</b></p>" + "".join(t._repr_html_() for t in tables)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # so the import system says that it is barred
        return False


# Which steps a user wants: `5-8`, `5,7,10-12`, 5, [5, 7].

Steps: TypeAlias = "int | str | Iterable[int]"

_MOST_NAMED = 6


def step_choice(wanted: Steps) -> str:
    """The choice as text, checked."""
    if isinstance(wanted, str):
        return ",".join(_as_text(bounds) for bounds in step_ranges(wanted))
    numbers = list(wanted) if isinstance(wanted, Iterable) else [wanted]
    if not all(hasattr(one, "__index__") and not isinstance(one, bool) for one in numbers):
        # What is no number is no choice, and is refused as such.
        return step_choice(str(wanted))
    return step_choice(",".join(str(index(number)) for number in numbers))


def missing_steps(wanted: str, held: Iterable[str]) -> list[str]:
    """Parts of a choice of which the trace holds nothing, the first of them."""
    numbers = sorted(int(name) for name in held if name.isdecimal())
    gaps = []
    for first, last in step_ranges(wanted):
        # The stretches of a range in which no number lies.
        held_here = [number for number in numbers if first <= number <= last]
        edges = pairwise([first - 1, *held_here, last + 1])
        gaps += [(low + 1, high - 1) for low, high in edges if high - low > 1]
    texts = list(dict.fromkeys(map(_as_text, gaps)))
    return texts if len(texts) <= _MOST_NAMED else [*texts[:_MOST_NAMED], "..."]


def _as_text(bounds: tuple[int, int]) -> str:
    first, last = bounds
    return str(first) if first == last else f"{first}-{last}"


def analyze(
    source: str | Path | Trace,
    *,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
    steps: Steps | None = None,
    group_by: str = "",
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
    engine: str | Engine = "local",
    ray_address: str | None = None,
) -> Analysis:
    """Where the time of a run goes.

    The source is a trace, or a path to one: a file, a folder, a pattern such as `run/rank*.json`
    or a URL.  Several traces, one of each rank, are analysed as one run: one rank in detail, all of
    them where they are compared, by an `engine`: `"local"`, processes of this machine, or `"ray"`,
    a cluster.  `steps` keeps only some steps, e.g. `"5-8"`, `5` or `[5, 7]`.

    >>> import timesink
    >>> analysis = timesink.analyze(timesink.sample())
    >>> analysis.findings[0].rule != ""
    True
    >>> timesink.analyze(timesink.sample(), steps=3).table("steps")["name"].to_list()
    ['3']

    A run of several ranks, here a generated one in which all is well:

    >>> import tempfile
    >>> from timesink.lab.ranks import Plan, generate_ranks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = generate_ranks(Plan(ranks=4, steps=2), folder)
    ...     timesink.analyze(folder, engine="local").table("stragglers").height
    0
    """
    check_group(group_by)
    wanted = None if steps is None else step_choice(steps)
    opened = _opened(source)
    if opened is not None:
        _check_timeline(opened, source)
        # There is nothing to choose from, but what was asked for must be what is there.
        about = opened.metadata
        held = about.worker, about.span, about.distributed.rank
        if any(
            wish not in (None, one) for wish, one in zip((worker, span, rank), held, strict=True)
        ):
            label = Recording(Path(about.source), about.worker or "one trace", about.span).label
            raise UnreadableError.none_fits(_path_of(source), [label])
        return _of_steps(Analysis(opened, _path_of(source), group_by=group_by), wanted)
    place = place_of(_path_of(source))
    recordings, notes = one_run(find_chosen(place, worker=worker, span=span, rank=rank), place)
    if len(recordings) > 1:
        how = engine_of(engine, jobs=jobs, address=ray_address)
        ranks, detailed, trace = open_set(
            recordings, engine=how, steps=wanted, cache=cache, progress=progress
        )
        # One rank in detail, all of them where they are compared.
        _check_timeline(trace, shown(place))
        whole = Analysis(trace, shown(place), ranks, group_by, tuple(notes))
        many = units.counted(len(ranks.ranks), "ranks")
        note = f"{many}: {detailed} in detail; --worker NAME shows another one alone"
        analysis = _of_steps(whole, wanted)
        return replace(analysis, chosen=(*analysis.chosen, note))
    store = Cache.default() if cache else None
    trace = open_recording(recordings[0], store, jobs=jobs, progress=progress, in_background=True)
    _check_timeline(trace, source)
    whole = Analysis(trace, shown(place), group_by=group_by, chosen=tuple(notes))
    analysis = _of_steps(whole, wanted)
    return _keeping(analysis, recordings[0], wanted) if cache else analysis


def analyze_opened(
    trace: Trace, *, path: str, steps: Steps | None = None, ranks: RankSet | None = None
) -> Analysis:
    """The analysis of a trace that is open already, with the `ranks` it is compared to."""
    _check_timeline(trace, path)
    wanted = None if steps is None else step_choice(steps)
    return _of_steps(Analysis(trace, path, ranks=ranks), wanted)


def _opened(source: str | Path | Trace) -> Trace | None:
    """The trace, where none has to be looked for: it is given, or was exported."""
    if isinstance(source, Trace):
        return source
    if not str(source):
        raise UsageError("the path is empty", "give a trace, or a folder that holds one")
    return open_trace(source) if is_folder(Path(source)) else None


def _path_of(source: str | Path | Trace) -> str:
    return source.metadata.source if isinstance(source, Trace) else str(source)


def _check_timeline(trace: Trace, source: str | Path | Trace) -> None:
    if trace.has_only_counters:
        raise UnreadableError.only_counters(_path_of(source), why_no_calls(trace))
    if trace.has_timeline:
        return
    if trace.has_behaviour:
        raise UnreadableError.only_behaviour(_path_of(source))
    raise UnreadableError.no_timeline(_path_of(source))


def _keeping(analysis: Analysis, recording: Recording, wanted: str | None) -> Analysis:
    """The analysis with a place for its answer."""
    store = Cache.default()
    key = key_of(recording, store)
    if not key:
        return analysis
    about = analysis.trace.metadata
    # In another folder, `.` is called otherwise.
    name = Path(analysis.path).resolve().name
    question = (SCHEMA, analysis.path, name, about.source, about.worker, about.span)
    asked = (wanted, analysis.group_by, analysis.notes)
    return replace(analysis, kept=KeptAnswer.about(store, key, [*question, *asked]))


def _of_steps(analysis: Analysis, wanted: str | None) -> Analysis:
    """The analysis of all steps or some, with what its recording says of itself.

    Summaries of a set are about these steps already.
    """
    chosen = (*analysis.chosen, *recording_notes(analysis.trace.health))
    if wanted is None:
        return replace(analysis, chosen=chosen)
    part = within_steps(analysis.trace, wanted)
    missing = missing_steps(wanted, find_steps(analysis.trace)["name"])
    note = f"steps {wanted} only"
    if missing:
        word = "step" if len(missing) == 1 and missing[0].isdigit() else "steps"
        note += f"; no {word} {', '.join(missing)}"
    return replace(analysis, trace=part, chosen=(*chosen, note))


_SAID = {
    "memcpy": ("is copies", "copies cost"),
    "memset": ("is memsets", "memsets cost"),
    "communication": ("is communication", "communication that nothing overlaps costs"),
    "runtime": ("is runtime calls", "runtime calls with an idle device cost"),
    "data_loader": ("is data loading", "data loading costs"),
    "cpu_exec": ("is host code", "host code with an idle device costs"),
    "other": ("has no recorded activity", "time with no recorded activity costs"),
}
"""Parts of a step beside kernels: what a share of it is, and that it costs time."""
_ON_DEVICE = {"kernel": "computation", "communication": "communication"}
_ON_DEVICE |= {"memcpy": "copies", "memset": "memsets"}
_LEAST_BESIDE, _LEAST_TOLD = 0.002, 0.0005
"""Of a step: where the rest of device work takes less, it is not told apart; nor is a part."""
_MOST_PARTS, _MUCH = 3, 0.3
"""Parts that are told; and what of the costliest one a finding, or a call, has to be about."""

_SLOW_HOST = (
    "dominant-operator",
    "many-waits",
    "allocator-calls",
    "low-utilisation-sync-bound",
    "low-utilisation-runtime-bound",
    "tiny-kernels",
    "low-utilisation-launch-bound",
    "low-utilisation-unexplained",
)
_RULES = {
    "memcpy": ("pageable-copies", "low-utilisation-copy-bound"),
    "communication": (
        "stragglers",
        "exposed-communication",
        "gloo-on-devices",
        "data-parallel",
        "low-utilisation-communication-bound",
    ),
    "runtime": ("work-not-recorded", *_SLOW_HOST),
    "data_loader": ("data-loading", "low-utilisation-input-bound"),
    "cpu_exec": (*_SLOW_HOST, "large-gaps"),
    "other": ("dominant-operator", "low-utilisation-host-stalled", "large-gaps", *_SLOW_HOST),
    "between": ("data-loading", "between-steps"),
}
"""Rules that speak about a part of the time; of equally grave ones the first is taken."""
_OF_RANKS = ("stragglers", "odd-rank")


def headline(trace: Trace, found: Sequence[Finding] | None = None) -> str:
    """Where the time of a step goes, and what to do about it.

    The advice is taken from `found`, by default from what the rules find in this trace alone.
    """
    average = average_step(trace)
    if not average or not average["total_ns"]:
        return "Nothing in this trace takes time."
    costs = {part: average[f"{part}_ns"] for part in _SAID}
    said = _on_device(trace, average, costs) if has_device_work(trace) else _on_host(trace, costs)
    between = time_between(trace)
    if between.share(between.idle_ns) > LEAST_BETWEEN:
        costs["between"] = between.each_ns(between.idle_ns)
        said += (
            f"; between two steps pass {units.duration_ns(costs['between'])} without device work "
            f"({units.share(between.share(between.idle_ns), 1)} of the time)"
        )
    costly = max(costs, key=lambda part: costs[part])
    found = find_all(trace) if found is None else found
    for one in found:
        if one.rule == "dominant-operator" and one.rule in _RULES.get(costly, ()):
            took = one.share * complete_steps(trace).length_ns
            said += f"; {one.evidence[0].name} alone takes {units.brief_ns(took)} of it on the host"
            return f"{said}: {one.advice[0].lower()}{one.advice[1:]}"
    # What is about a small part of it only is not what to try about it.
    least = _MUCH * costs[costly] / average["total_ns"] if costly != "between" else 0.0
    telling = [one for one in found if not one.share or one.share >= least]
    if costly == "runtime" and not any(one.rule in _RULES["runtime"] for one in telling):
        said += _longest_call(trace, costs[costly])
    return said + _advice(found, costly, telling)


def _longest_call(trace: Trace, cost_ns: float) -> str:
    """The runtime call that takes much of their time; empty where none does, or all is little."""
    host, steps = host_columns(trace), complete_steps(trace)
    if cost_ns < LEAST_IDLE * steps.length_ns:
        return ""
    made = host.filter(host["kind"].is_in(LAUNCH_KINDS))
    made = made.filter(steps.hold(made["ts_ns"].to_numpy()))
    by_name = made.group_by("name").agg(pl.col("dur_ns").sum()).sort("dur_ns", "name")
    if by_name.is_empty():
        return ""
    name, total = by_name.row(-1)
    took = total / steps.count
    is_much = took >= _MUCH * cost_ns
    return f"; {name} takes {units.brief_ns(took)}{steps.a_step}" if is_much else ""


def _on_device(trace: Trace, average: dict[str, float], costs: dict[str, float]) -> str:
    """How much is device work, of which sort, and what costs most beside kernels."""
    word, steps = device_word(trace), complete_steps(trace)
    main = max(_ON_DEVICE, key=lambda part: average[f"{part}_ns"])
    if average["kernel_ns"]:
        main = "kernel"
    working, is_so = average[f"{main}_ns"], f"is {word} work"
    if main != "kernel":
        is_so = f"{_SAID[main][0]}, and no {word} computes"
    else:
        # Everything that ran on a device; communication of the host is not among it.
        device = device_columns(trace)
        busy = steps.time_of(device.filter(device["kind"].is_in(BUSY_KINDS)))
        parts = {part: average[f"{part}_ns"] for part in _ON_DEVICE}
        parts["communication"] = busy - sum(parts.values()) + parts["communication"]
        if busy - working >= _LEAST_BESIDE * steps.length_ns:
            told = (
                f"{_ON_DEVICE[part]} {units.share(ns, steps.length_ns)}"
                for part, ns in parts.items()
                if ns >= _LEAST_TOLD * steps.length_ns
            )
            is_so = f"{is_so} ({', '.join(told)})"
        working = max(busy, working)
    said = f"{units.share(working, steps.length_ns)} of {steps.each} {is_so}"
    costly = max((part for part in costs if part != main), key=lambda part: costs[part])
    if not costs[costly]:
        return said
    return f"{said}; {_SAID[costly][1]} {units.brief_ns(costs[costly])}"


def _on_host(trace: Trace, costs: dict[str, float]) -> str:
    """What the host does where no device worked: the largest parts."""
    steps = complete_steps(trace)
    largest = sorted((part for part in costs if costs[part]), key=lambda part: -costs[part])
    *first, last = (
        f"{units.share(costs[part], steps.length_ns)} {_SAID[part][0]}"
        for part in largest[:_MOST_PARTS]
    )
    shares = f"{', '.join(first)} and {last}" if first else last
    return f"No device work was recorded; of {steps.each}, {shares}"


def _advice(found: Sequence[Finding], costly: str, telling: Sequence[Finding]) -> str:
    """What to try about the costliest part, or else about the gravest finding.

    Only findings that are about much of that part tell what to try about it.
    """
    rules = _RULES.get(costly, ())
    first = [finding for finding in found if finding.rule == "odd-rank"] or found[:1]
    if first and first[0].rule in _OF_RANKS:
        rules = (first[0].rule,)
    about_it = [
        one for one in found if one.rule in rules and (one in telling or one.rule in _OF_RANKS)
    ]
    if about_it:
        best = min(
            about_it, key=lambda one: (SEVERITIES.index(one.severity), rules.index(one.rule))
        )
        if best.rule in _OF_RANKS:
            # Which rank it is comes first: what to try is of no use without it.
            return f"; {best.title}. {best.advice}"
        return f": {best.advice[0].lower()}{best.advice[1:]}"
    measured = [finding for finding in found if finding.share] or found
    return f". Gravest finding: {measured[0].title}. {measured[0].advice}" if measured else "."
