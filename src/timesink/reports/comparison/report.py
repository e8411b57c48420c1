"""The answer of `timesink compare` as plain data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from timesink.errors import AmbiguousError, NotFoundError
from timesink.model import units

if TYPE_CHECKING:
    from timesink.analyses.clustering.exploration import Exploration
    from timesink.analyses.comparison.pair import Pair
    from timesink.analyses.comparison.role import Role
    from timesink.analyses.ranks.changes.comparing import RankChanges
    from timesink.model.diagnosis import Diagnosis

SCHEMA = "timesink/comparison/1"


@dataclass(frozen=True, eq=False)
class Compared:
    """Two roles beside each other, and what their comparison is called."""

    identifier: str
    """What was compared: `SGLang/gpu_instability`, `normal vs gpu_clock`."""
    suffix: str
    """Which cycles: `_prefill`, `_decode`, `_layer`, or empty."""
    pair: Pair
    file_stem: str
    """Name of its files, without an ending."""
    whole: Pair | None = None
    """The pair of all devices, where `pair` holds the tables of one."""

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Whether cycles changed, where the time went, and why."""
        # Tables of numbers do not wait for this.
        from timesink.rules.diagnosis import diagnose  # noqa: PLC0415

        return diagnose(self.whole or self.pair)

    @property
    def cycles(self) -> str:
        """Which cycles, in words: `decode cycles`; empty where there are no others."""
        from timesink.reports.comparison.naming import SORTS_OF_CYCLES  # noqa: PLC0415 - as below

        return SORTS_OF_CYCLES.get(self.suffix, "")

    @property
    def title(self) -> str:
        """What was compared, and which cycles of it, in words."""
        return f"{self.identifier}, {self.cycles}" if self.cycles else self.identifier


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What changed between runs.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> same.pair.cycle_times.change_pct
    0.0
    """

    sources: tuple[str, ...]
    """The paths that were given."""
    pairs: tuple[Compared, ...]
    roles: tuple[Role, ...]
    """Every role that was read; a pair holds two of them."""
    exploration: Exploration | None = None
    """Which of many roles behave alike; None where pairs were compared."""
    notes: tuple[str, ...] = ()
    """What to know before believing the numbers: what was left out, and why."""
    cases_left_out: tuple[str, ...] = ()
    """Why whole cases could not be compared, each in a sentence; notes name them as well."""
    files_left_out: tuple[str, ...] = ()
    """Why files of a side could not be read, in the same way."""
    roles_left_out: tuple[str, ...] = ()
    """Processes that have no partner on the other side, each by its name."""
    ranks: RankChanges | None = None
    """What changed over all ranks, where both sides are runs of many; None otherwise."""

    @property
    def pair(self) -> Pair:
        """The only pair, as of two single processes; of several, none is meant more than others."""
        if not self.all_pairs:
            raise NotFoundError("all roles behave alike: there is no pair", "see `exploration`")
        if len(self.all_pairs) > 1:
            names = units.listed(self.pair_names, between="; ")
            raise AmbiguousError(
                f"there are {len(self.all_pairs)} pairs ({names})",
                self._how_to_take_one(),
            )
        return self.all_pairs[0].pair

    def _how_to_take_one(self) -> str:
        if self.exploration is not None:
            return "take one of `exploration.pairs`"
        choices = self.choices
        from timesink.reports.comparison.choosing import as_arguments  # noqa: PLC0415 - as below

        more = f", or compare with {as_arguments(choices)}" if choices else ""
        return f"take one of `pairs`{more}"

    @property
    def choices(self) -> dict[str, str]:
        """Options of `timesink compare` that leave one of several pairs; empty where none do."""
        from timesink.reports.comparison.choosing import one_of  # noqa: PLC0415 - as below

        return {} if self.exploration is not None else one_of(self.pairs)

    @property
    def pair_names(self) -> list[str]:
        """What each comparison of two roles is called among the others."""
        from timesink.reports.comparison.naming import pair_names  # noqa: PLC0415 - as below

        return pair_names(self.all_pairs)

    @property
    def all_pairs(self) -> tuple[Compared, ...]:
        """Every comparison of two roles, those between representatives of clusters as well."""
        return (*self.pairs, *self._peers)

    @property
    def _peers(self) -> tuple[Compared, ...]:
        if self.exploration is None:
            return ()
        from timesink.reports.comparison.naming import peers_stem  # noqa: PLC0415 - it names these

        return tuple(
            Compared(f"{pair.base.label} vs {pair.new.label}", "", pair, peers_stem(pair))
            for pair in self.exploration.pairs
        )

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """Why runs differ, all pairs read together; None where roles were only told apart."""
        if not self.pairs:
            return None
        found = self._of_pairs
        if self.ranks is None:
            return found
        from timesink.reports.comparison.rank_causes import with_stragglers  # noqa: PLC0415

        return with_stragglers(found, self.ranks, of_all=self.has_all_ranks)

    @property
    def _of_pairs(self) -> Diagnosis:
        if len(self.pairs) == 1:
            return self.pairs[0].diagnosis
        from timesink.rules.joint_diagnosis import diagnose_together  # noqa: PLC0415

        pairs = [one.whole or one.pair for one in self.pairs]
        return diagnose_together(pairs, [one.diagnosis for one in self.pairs])

    @property
    def has_all_ranks(self) -> bool:
        """Whether no rank of a run is only compared as a part of the whole."""
        if self.ranks is None:
            return True
        before, now = (each.world for each in self.ranks.layouts)
        compared = {one.pair.new.rank for one in self.pairs}
        return before == now and compared.issuperset(self.ranks.common)

    @cached_property
    def cases(self) -> tuple[Comparison, ...]:
        """Each program and sort of cycle for itself, with the pairs of all its ranks."""
        titles = dict.fromkeys(one.title for one in self.pairs)
        if len(titles) == 1:
            return (self,)
        return tuple(
            replace(self, pairs=tuple(one for one in self.pairs if one.title == title))
            for title in titles
        )

    @property
    def headline(self) -> str:
        """The answer in a few sentences."""
        # A table of numbers alone does not wait for these words, nor for those of JSON below.
        from timesink.reports.comparison.headline import headline  # noqa: PLC0415

        if self.ranks is None:
            return headline(self.pairs, self.exploration)
        from timesink.reports.comparison.rank_headline import rank_headline  # noqa: PLC0415

        return rank_headline(self)

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/comparison_json.md` describes every key."""
        from timesink.readers.discover import sayable  # noqa: PLC0415
        from timesink.reports.comparison import plain  # noqa: PLC0415

        return {
            "schema": SCHEMA,
            "headline": self.headline,
            "sources": [sayable(source) for source in self.sources],
            **plain.why(self.diagnosis),
            "notes": [sayable(note) for note in self.notes],
            "roles": [plain.role(role) for role in self.roles],
            "pairs": [
                {
                    "identifier": one.identifier,
                    "suffix": one.suffix,
                    "file": one.file_stem,
                    **plain.why(one.diagnosis),
                    **plain.pair(one.pair, one.diagnosis),
                }
                for one in self.pairs
            ],
            "exploration": None
            if self.exploration is None
            else plain.exploration(self.exploration),
            **self._ranks_dict(),
        }

    def _ranks_dict(self) -> dict[str, Any]:
        """Only of runs of many ranks: everything else has no such key."""
        if self.ranks is None:
            return {}
        from timesink.reports.comparison.rank_plain import ranks_dict  # noqa: PLC0415

        return {"ranks": ranks_dict(self.ranks)}

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        import msgspec  # noqa: PLC0415

        return msgspec.json.encode(self.to_dict())

    def __repr__(self) -> str:
        """One line: what was compared, and the answer."""
        return f"<Comparison of {' and '.join(self.sources)}: {self.headline}>"
