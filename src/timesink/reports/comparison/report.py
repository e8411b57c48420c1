"""The answer of `timesink compare` as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from timesink.analyses.clustering.exploration import Exploration
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.role import Role
from timesink.errors import NotFoundError
from timesink.readers.discover import sayable
from timesink.reports.comparison import plain
from timesink.reports.comparison.headline import headline

SCHEMA = "timesink/comparison/1"


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Two roles beside each other, and what their comparison is called."""

    identifier: str
    """What was compared: `SGLang/gpu_instability`, `normal vs gpu_clock`; titles say it."""
    suffix: str
    """Which cycles: `_prefill`, `_decode`, `_layer`, or empty."""
    pair: Pair
    file_stem: str
    """Name of its files, without an ending."""


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

    @property
    def pair(self) -> Pair:
        """The first pair: the only one of two single processes."""
        if not self.all_pairs:
            raise NotFoundError("all roles behave alike: there is no pair", "see `exploration`")
        return self.all_pairs[0].pair

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

    @property
    def headline(self) -> str:
        """The answer in a sentence or two."""
        return headline(self.pairs, self.exploration)

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/comparison_json.md` describes every key."""
        return {
            "schema": SCHEMA,
            "headline": self.headline,
            "sources": [sayable(source) for source in self.sources],
            "notes": [sayable(note) for note in self.notes],
            "roles": [plain.role(role) for role in self.roles],
            "pairs": [
                {
                    "identifier": one.identifier,
                    "suffix": one.suffix,
                    "file": one.file_stem,
                    **plain.pair(one.pair),
                }
                for one in self.pairs
            ],
            "exploration": None
            if self.exploration is None
            else plain.exploration(self.exploration),
        }

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        return msgspec.json.encode(self.to_dict())

    def __repr__(self) -> str:
        """One line: what was compared, and the answer."""
        return f"<Comparison of {' and '.join(self.sources)}: {self.headline}>"
