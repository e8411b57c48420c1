"""How much of the growth of each component is left to explain: nothing is explained twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from timesink.analyses.diagnosis.causes.claims.claim import (
    HOST_PARTS,
    Claim,
    Demand,
    Interval,
    is_certain,
)
from timesink.analyses.diagnosis.diagnosis import Cause, Component

_DEVICE = ("device_compute", "copies", "exposed_communication")
_ANY = float("inf")
_SHOWS = 0.1
"""Part of what is demanded that must be there: what hardly shows in the cycle is hidden."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What of the change of a component is not explained."""

    structural: float
    """In more, fewer or other kernels."""
    other: float

    @property
    def left(self) -> float:
        return self.structural + self.other

    def most(self, wanted: float, *, structural: bool) -> float:
        """What of an amount is there; what the others lost does not hide more kernels."""
        there = [self.left, self.structural] if structural else [self.left]
        if wanted > 0:
            return max(0.0, min(wanted, max(there)))
        return min(0.0, max(wanted, min(there)))

    def without(self, ns: float, *, structural: bool) -> _Change:
        """The rest; an amount comes out of its own sort first, and never more than there is."""
        own, spare = (self.structural, self.other)[:: 1 if structural else -1]
        first = _within(own, ns)
        second = ns - first
        own, spare = own - first, spare - second
        return _Change(own, spare) if structural else _Change(spare, own)


class Ledger:
    """The components of a change, and what was taken from them."""

    def __init__(
        self, components: Sequence[Component], local: tuple[float, float] = (-_ANY, _ANY)
    ) -> None:
        """`local` is what functions of the host lost and gained that shows in their parts."""
        self._changes = {each.name: _change(each) for each in components}
        self._local = local
        self._exposed = (
            _exposed([(each.part, each.base_ns) for each in components]),
            _exposed([(each.part, each.new_ns) for each in components]),
        )

    @property
    def left(self) -> dict[str, float]:
        """What of the change of each component is not explained."""
        return {name: change.left for name, change in self._changes.items()}

    def take(self, demand: Demand) -> dict[str, float]:
        """What there is of a demand, from the components in its order; of its sign."""
        wanted, taken = demand.ns, dict[str, float]()
        for name in self._named(demand.components):
            change = self._changes[name]
            found = change.most(wanted, structural=demand.structural)
            if found:
                taken[name] = found
                self._changes[name] = change.without(found, structural=demand.structural)
                wanted -= found
        if demand.structural:
            self._take_in_full(demand, taken)
        return taken

    def _take_in_full(self, demand: Demand, taken: dict[str, float]) -> None:
        """Add what the rest of the component hides by its own change.

        What the host did in one place or in added calls it did, however fast the rest of it was:
        as much of that counts as the device usually does not run beside, and of all such places
        together no more than the functions of the host gained.
        """
        name = next(iter(self._named(demand.components)), None)
        if name not in HOST_PARTS:
            return
        found = sum(taken.values())
        missing = self._exposed[demand.ns > 0] * demand.ns - found
        local = self._local[demand.ns > 0] - found
        if missing * demand.ns > 0 and local * demand.ns > 0:
            more = min(missing, local, key=abs)
            taken[name] = taken.get(name, 0.0) + more
            self._changes[name] = self._changes[name].without(more, structural=False)
        self._take_local(sum(taken.values()))

    def _take_local(self, ns: float) -> None:
        lost, gained = self._local
        self._local = min(0.0, lost - min(0.0, ns)), max(0.0, gained - max(0.0, ns))

    def saved(self) -> tuple[dict[str, _Change], tuple[float, float]]:
        """All there is now, for `restore`."""
        return dict(self._changes), self._local

    def restore(self, saved: tuple[dict[str, _Change], tuple[float, float]]) -> None:
        """Undo what was taken since."""
        self._changes, self._local = dict(saved[0]), saved[1]

    def _named(self, components: Iterable[str]) -> Iterable[str]:
        for name in components:
            if name in self._changes:
                yield name
            else:
                yield from (each for each in self._changes if each.startswith(f"{name}/"))


def _change(component: Component) -> _Change:
    same = component.same_launches_ns
    structural = 0.0 if same is None else float(component.delta_ns - same)
    return _Change(structural, float(component.delta_ns) - structural)


def _within(there: float, wanted: float) -> float:
    """What of an amount is there, of the same sign."""
    return min(there, wanted, key=abs) if there * wanted > 0 else 0.0


def _exposed(parts: list[tuple[str, float]]) -> float:
    """Part of a cycle in which the device does nothing: the host's time shows in full there."""
    total = sum(ns for _, ns in parts)
    device = sum(ns for part, ns in parts if part in _DEVICE)
    return max(0.0, 1 - device / total) if total > 0 else 1.0


def settle(claim: Claim, ledger: Ledger, least_ns: float) -> Cause | None:
    """The cause that a claim comes to.

    None where it is not certain, where too little is left, or where what is left is the opposite of
    what the claim says.
    """
    if not is_certain(claim.interval_ns):
        return None
    before = ledger.saved()
    taken: dict[str, float] = {}
    for demand in claim.demands:
        for name, ns in ledger.take(demand).items():
            taken[name] = taken.get(name, 0.0) + ns
    explained = sum(taken.values())
    least = max(least_ns, _SHOWS * abs(claim.ns))
    if abs(explained) < least or explained * claim.ns <= 0:
        ledger.restore(before)
        return None
    return Cause(
        cause=claim.cause,
        explained_ns=explained,
        interval_ns=_scaled(claim.interval_ns, explained, claim.ns),
        sentence=claim.sentence,
        advice=claim.advice,
        evidence=claim.evidence,
        claims=tuple(sorted(taken.items(), key=lambda each: -abs(each[1]))),
    )


def _scaled(interval: Interval | None, explained: float, demanded: float) -> Interval | None:
    """The interval of a part of what it was computed for."""
    if interval is None or not demanded:
        return interval
    share = explained / demanded
    low, high = sorted((interval[0] * share, interval[1] * share))
    return min(low, explained), max(high, explained)
