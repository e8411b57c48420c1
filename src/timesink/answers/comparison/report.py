"""The answer of `timesink compare` as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from timesink.analyses.comparison.pair import Pair, Role
from timesink.answers.comparison.naming import VERSION, pair_names, peers_stem, role_labels
from timesink.answers.comparison.pairing import Compared, RoleMember, as_arguments, one_of
from timesink.answers.comparison.sides import LEFT_OUT
from timesink.errors import AmbiguousError, NotFoundError
from timesink.model import units
from timesink.output.names import told_apart

if TYPE_CHECKING:
    from timesink.analyses.comparison.role_groups import Exploration
    from timesink.analyses.ranks.changes import RankChanges
    from timesink.model.diagnosis import Diagnosis, Expectation


SCHEMA = "timesink/comparison/1"


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
            place = "pairs" if self.exploration is None else "exploration.pairs"
            more = f", or compare with {as_arguments(self.choices)}" if self.choices else ""
            raise AmbiguousError(
                f"there are {len(self.all_pairs)} pairs ({names})", f"take one of `{place}`{more}"
            )
        return self.all_pairs[0].pair

    @property
    def choices(self) -> dict[str, str]:
        """Options of `timesink compare` that leave one of several pairs; empty where none do."""
        return {} if self.exploration is not None else one_of(self.pairs)

    @property
    def pair_names(self) -> list[str]:
        """What each comparison of two roles is called among the others."""
        return pair_names(self.all_pairs)

    @property
    def all_pairs(self) -> tuple[Compared, ...]:
        """Every comparison of two roles, those between representatives of clusters as well."""
        peers = () if self.exploration is None else self.exploration.pairs
        return (
            *self.pairs,
            *(
                Compared(f"{pair.base.label} vs {pair.new.label}", "", pair, peers_stem(pair))
                for pair in peers
            ),
        )

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """Why runs differ, all pairs read together; None where roles were only told apart."""
        if not self.pairs:
            return None
        found = self.pairs[0].diagnosis
        if len(self.pairs) > 1:
            from timesink.rules.diagnosis import beyond_expected  # noqa: PLC0415
            from timesink.rules.joint_diagnosis import diagnose_together  # noqa: PLC0415

            pairs = [one.whole or one.pair for one in self.pairs]
            found = diagnose_together(pairs, [one.diagnosis for one in self.pairs])
            if self.pairs[0].expected is not None:
                expected = self.pairs[0].expected
                causes = beyond_expected(found.causes, found.anomalies, expected)
                found = replace(found, causes=causes, expected=expected)
        if self.ranks is None:
            return found
        from timesink.answers.comparison.rank_sets import with_stragglers  # noqa: PLC0415

        return with_stragglers(found, self.ranks, of_all=self.has_all_ranks)

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
        from timesink.answers.comparison.sentences import headline  # noqa: PLC0415

        if self.ranks is None:
            return headline(self.pairs, self.exploration)
        from timesink.answers.comparison.rank_sets import rank_headline  # noqa: PLC0415

        return rank_headline(self.pairs, self.ranks, has_all_ranks=self.has_all_ranks)

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/comparison_json.md` describes every key."""
        from timesink.answers.comparison import values as plain  # noqa: PLC0415
        from timesink.answers.comparison.efficiency import efficiency_values  # noqa: PLC0415
        from timesink.sources.recordings import sayable  # noqa: PLC0415

        return {
            "schema": SCHEMA,
            "headline": self.headline,
            "sources": [sayable(source) for source in self.sources],
            **plain.diagnosis(self.diagnosis),
            # Of several pairs each has its own.
            **efficiency_values(self.pairs[0].efficiency if len(self.pairs) == 1 else None),
            "notes": [sayable(note) for note in self.notes],
            "roles": [plain.role(role) for role in self.roles],
            "pairs": [
                {
                    "identifier": one.identifier,
                    "suffix": one.suffix,
                    "file": one.file_stem,
                    **plain.diagnosis(one.diagnosis),
                    **plain.pair(one.pair, one.diagnosis),
                    **efficiency_values(one.efficiency),
                }
                for one in self.pairs
            ],
            "exploration": None
            if self.exploration is None
            else plain.exploration(self.exploration),
            # Only of runs of many ranks: everything else has no such key.
            **({} if self.ranks is None else {"ranks": plain.ranks(self.ranks)}),
        }

    def beyond(self, expected: Expectation) -> Comparison:
        """The same, with causes of what is slower than expected first."""
        return replace(self, pairs=tuple(replace(one, expected=expected) for one in self.pairs))

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        import msgspec  # noqa: PLC0415

        return msgspec.json.encode(self.to_dict())

    def __repr__(self) -> str:
        """One line: what was compared, and the answer."""
        return f"<Comparison of {' and '.join(self.sources)}: {self.headline}>"


def labelled(members: Sequence[RoleMember]) -> tuple[Role, ...]:
    """The roles under names of their own, in the order of these; a role of both sides once."""
    distinct = {(one.origin, one.role.host, one.role.pid, one.suffix): one for one in members}
    every = list(distinct.values())
    named = zip(every, role_labels(every), strict=True)
    roles = [replace(one.role, label=label) for one, label in named]
    return tuple(sorted(roles, key=lambda role: role.label))


def joined(done: Sequence[Comparison], failures: Sequence[str]) -> Comparison:
    """Several cases as one answer; `failures` say why others could not be compared."""
    several = len(done) > 1
    pairs = [pair for one in done for pair in one.pairs]
    stems = told_apart([pair.file_stem for pair in pairs], VERSION)
    notes, alone = (
        [
            f"{one.pairs[0].identifier}: {said}" if several else said
            for one in done
            for said in getattr(one, name)
        ]
        for name in ("notes", "roles_left_out")
    )
    return Comparison(
        (),
        tuple(replace(pair, file_stem=stem) for pair, stem in zip(pairs, stems, strict=True)),
        (),
        notes=(*notes, *(f"{LEFT_OUT}{failure}" for failure in failures)),
        cases_left_out=tuple(failures),
        files_left_out=tuple(file for one in done for file in one.files_left_out),
        roles_left_out=tuple(alone),
        # Of several cases each is a run of its own.
        ranks=done[0].ranks if len(done) == 1 else None,
    )
