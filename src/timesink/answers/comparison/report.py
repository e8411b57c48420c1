"""The answer of `timesink compare`: what changed, with its words and its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timesink.answers.comparison.naming import (
    as_arguments,
    choices_of,
    pair_names,
    pair_title,
    step_type,
)
from timesink.comparison.compare_runs import ComparisonOptions, Source, compare_runs
from timesink.comparison.inputs import SideReadOptions
from timesink.comparison.prefetch import CycleSearch
from timesink.comparison.results import Comparison, Pair
from timesink.errors import AmbiguousError, NotFoundError
from timesink.formats.read_options import Progress
from timesink.formats.small_files import encode_json, plain_values
from timesink.model.units import join_names
from timesink.runtime.engine import Engine

if TYPE_CHECKING:
    import polars as pl

    from timesink.answers.comparison.comparison_json import ComparisonJson
    from timesink.answers.comparison.gate_result import GateAnswer
    from timesink.comparison.steps.efficiency import EfficiencyChange
    from timesink.model.diagnosis import Diagnosis, Expectation

# A table of numbers alone waits neither for causes nor for words: what answers import inside
# functions takes as long to load as a small comparison.


@dataclass(frozen=True, slots=True, eq=False)
class PairAnswer(Pair):
    """Two processes beside each other, with what is worked out when it is asked for."""

    @property
    def pair(self) -> Pair:
        """Tables and tests of the two processes."""
        return self

    @property
    def diagnosis(self) -> Diagnosis:
        """Whether cycles changed, where the time went, and why."""
        from timesink.comparison.causes.diagnosis import diagnose  # noqa: PLC0415 - start-up time

        return diagnose(self)

    @property
    def efficiency(self) -> EfficiencyChange | None:
        """What both sides compute and move; None where neither recorded shapes."""
        from timesink.comparison.steps.efficiency import efficiency_change  # noqa: PLC0415 - start-up time

        return efficiency_change(self)

    @property
    def cycles(self) -> str:
        """Which cycles, in words: `decode cycles`; empty where there are no others."""
        return step_type(self)

    @property
    def title(self) -> str:
        """What was compared, and which cycles of it, in words."""
        return pair_title(self)


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonAnswer(Comparison):
    """What changed between runs.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> same.pair.cycle_times.change_pct
    0.0
    """

    pairs: tuple[PairAnswer, ...]

    @classmethod
    def of(cls, comparison: Comparison) -> ComparisonAnswer:
        """The answer about a comparison."""
        pairs = tuple(PairAnswer(**_fields_of(pair)) for pair in comparison.pairs)
        return cls(**{**_fields_of(comparison), "pairs": pairs})

    @property
    def pair(self) -> Pair:
        """The only pair, as of two single processes; of several, none is meant more than others."""
        pairs = self.all_pairs
        if not pairs:
            raise NotFoundError("all roles behave alike: there is no pair", "see `exploration`")
        if len(pairs) > 1:
            names = join_names(self.pair_names, between="; ")
            place = "pairs" if self.exploration is None else "exploration.pairs"
            more = f", or compare with {as_arguments(self.choices)}" if self.choices else ""
            raise AmbiguousError(
                f"there are {len(pairs)} pairs ({names})", f"take one of `{place}`{more}"
            )
        return pairs[0]

    @property
    def choices(self) -> dict[str, str]:
        """Options of `timesink compare` that leave one of several pairs; empty where none do."""
        return choices_of(self)

    @property
    def pair_names(self) -> list[str]:
        """What each comparison of two roles is called among the others."""
        return pair_names(self.all_pairs)

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Why runs differ, all pairs read together; None where roles were only distinguished."""
        from timesink.comparison.causes.joint_diagnosis import diagnose_comparison  # noqa: PLC0415 - start-up time

        return diagnose_comparison(self)

    @property
    def cases(self) -> tuple[Comparison, ...]:
        """Each program and sort of cycle for itself, with the pairs of all its ranks."""
        from timesink.comparison.causes.joint_diagnosis import cases_of  # noqa: PLC0415 - start-up time

        return cases_of(self)

    @property
    def headline(self) -> str:
        """The answer in a few sentences."""
        from timesink.answers.comparison.rank_sets import comparison_headline  # noqa: PLC0415 - start-up time

        return comparison_headline(self)

    def beyond(self, expected: Expectation) -> ComparisonAnswer:
        """The same, with causes of what is slower than expected first."""
        return replace(self, pairs=tuple(replace(pair, expected=expected) for pair in self.pairs))

    def table(self, name: str = "times") -> pl.DataFrame:
        """One of the tables of `timesink compare --view`; of several pairs `pair` says which.

        >>> import timesink
        >>> same = timesink.compare(timesink.sample(), timesink.sample())
        >>> same.table("kinds")["base_cycles"].to_list()
        [2]
        """
        from timesink.answers.comparison.pair_tables import comparison_table  # noqa: PLC0415 - start-up time

        return comparison_table(self, name)

    def to_pandas(self, name: str = "times") -> Any:
        """The same as a pandas frame; needs pandas and pyarrow."""
        from timesink.answers.tables import check_pandas  # noqa: PLC0415 - start-up time

        check_pandas(name)
        return self.table(name).to_pandas()

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/comparison_json.md` describes every key."""
        return plain_values(comparison_json(self))

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        return encode_json(comparison_json(self))

    def __repr__(self) -> str:
        """One line: what was compared, and the answer."""
        return f"<Comparison of {' and '.join(self.sources)}: {self.headline}>"


def _fields_of(record: Comparison | Pair) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def comparison_json(comparison: Comparison, gate: GateAnswer | None = None) -> ComparisonJson:
    """All of a comparison as JSON has it, with what a gate says of it."""
    from timesink.answers.comparison.comparison_json import ComparisonJson  # noqa: PLC0415 - start-up time
    from timesink.answers.comparison.rank_sets import comparison_headline  # noqa: PLC0415
    from timesink.comparison.causes.joint_diagnosis import diagnose_comparison  # noqa: PLC0415

    headline, diagnosis = comparison_headline(comparison), diagnose_comparison(comparison)
    return ComparisonJson.of(comparison, headline, diagnosis, gate)


def compare(
    *sources: Source,
    against: Sequence[Source] = (),
    pid: str | int | None = None,
    rank: int | None = None,
    device: str | int | None = None,
    cycle_type: str | None = None,
    marker: str | None = None,
    by: str | None = None,
    metric_map: str | Path | None = None,
    explore: bool = False,
    ignore_hosts: bool = False,
    ignore: str | None = None,
    store: str | Path | None = None,
    peaks: str | None = None,
    cache: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
    engine: str | Engine = "local",
    ray_address: str | None = None,
) -> ComparisonAnswer:
    """What changed between two runs, or how many roles differ.

    Two sources are the base and the new run: recordings, folders of them, or behaviour tables.
    `against` are runs of the new side, where all others are runs of the base; patterns stand for
    several.  A folder of `timesink ab` holds runs of both.
    One is a folder with both sides (`normal_perf_data` and `abnormal_perf_data`), or with several
    such cases.  More, or `explore`, are roles to be distinguished.  `pid` is one process, or two as
    `"1,2"` for base and new; `device` keeps the tables of one device, `cycle_type` the pairs of one
    sort of cycle: `prefill`, `decode`, `layer`, or `generic` for those without such a name.
    `marker`, `by` and `metric_map` are those of `timesink.behaviour`, for recordings.  `"@NAME"` is
    a baseline of `store`, as `timesink baseline save` keeps them.  Folders with the ranks of a run
    are compared as a whole too (`ranks`); calls whose names `ignore`, a regular expression, finds
    are no part of the program; `peaks` are those of the devices, as of `timesink.analyze`.
    `engine` and `ray_address` say where ranks are read.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> same.headline.startswith("No change in step time")
    True
    """
    reading = SideReadOptions(cache, jobs, progress, CycleSearch(marker, by, metric_map))
    options = ComparisonOptions(
        reading, pid, rank, device, cycle_type, explore, ignore_hosts, ignore, store, peaks, engine,
        ray_address,
    )  # fmt: skip
    return ComparisonAnswer.of(compare_runs(sources, against, options))
