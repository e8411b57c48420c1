"""Two cycles aligned call by call: which calls came, went or were replaced, and between which."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import polars as pl

from timesink.analyses.diff.counts import CountedCycles, SiteNames
from timesink.analyses.diff.plain_names import Hashes, mixed
from timesink.analyses.diff.program import KERNEL
from timesink.analyses.kernels.join_alignment import common_subsequence
from timesink.model.arrays import Flags, Ints

_LEAST_BLOCK, _LEAST_SORTS = 5, 3
"""Calls, and sorts of them, that may be a layer."""
_BRIDGED = 2
"""Equal calls between two changes that are one."""


@dataclass(frozen=True, slots=True, eq=False)
class CallChange:
    """Calls that came or went at one sort of place."""

    inside: tuple[str, ...]
    """Names of the calls around, outermost first."""
    removed: tuple[str, ...]
    added: tuple[str, ...]
    before: str
    after: str
    """Names of the calls that stand before and after it; empty at an end."""
    places: int
    """At how many places of a cycle."""
    of_places: int
    """How many places of that sort there are."""
    gone: Counter[int]
    """Sites of the calls that went, and of all below, with how many calls of a cycle."""
    came: Counter[int]
    order: int = 0
    """Where in the cycle it is first."""
    frequency: float = 1.0
    """In which part of the cycles."""
    kind: str = "calls"
    """`calls`, or `kernels` below equal operators; of equal calls `shapes`, `types` or `variants`;
    work that is `repeated`, and `cycles` of another kind."""
    repeats: tuple[int, int] = (0, 0)
    """How often both sides repeat a block of calls that came or went as a whole, as layers do."""
    factor: float | None = None
    """How many times as much work, of other shapes."""
    modules: tuple[str, ...] = ()
    """Modules of the network it is in, and lines of the program that call them; as far as known."""
    lines: tuple[str, ...] = ()


def steady_tree(side: CountedCycles, known: Hashes, varies: Flags) -> SiteTree:
    """A usual cycle without the calls that vary, and what is below them."""
    with np.errstate(over="ignore"):
        key = side.exact.sum(axis=1)
    values, often = np.unique(key, return_counts=True)
    usual = np.flatnonzero(key == values[np.argmax(often)])
    cycle = int(side.cycles[usual[len(usual) // 2]])
    nodes = side.program.tree(cycle)
    site, parent = nodes["site"].to_numpy(), nodes["parent"].to_numpy()
    drop = varies[np.searchsorted(known, site)]
    for node, above in enumerate(parent.tolist()):
        if above >= 0 and drop[above]:
            drop[node] = True
    kept = np.flatnonzero(~drop)
    place = np.full(len(site) + 1, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    tree = SiteTree.of(site[kept], place[parent[kept]], nodes["thread"].to_numpy()[kept])
    # Runs that were kept earlier do not say where calls come from.
    told = [nodes[name][kept] for name in ("module", "line") if name in nodes.columns]
    return replace(tree, told=told)


@dataclass(frozen=True, eq=False)
class SiteTree:
    """Nodes of a cycle with a hash of each subtree."""

    site: Hashes
    parent: Ints
    size: Ints
    whole: Hashes
    """Equal for subtrees that are equal in all names, and their order."""
    thread: Ints
    children: list[list[int]]
    told: Sequence[pl.Series] = ()
    """Module and line of each node."""

    @classmethod
    def of(cls, site: Hashes, parent: Ints, thread: Ints) -> SiteTree:
        size = np.ones(len(site), dtype=np.int64)
        children: list[list[int]] = [[] for _ in range(len(site))]
        whole = mixed(site)
        value = whole.tolist()
        mask = (1 << 64) - 1
        parents = parent.tolist()
        for node in range(len(parents) - 1, -1, -1):
            above = parents[node]
            if above >= 0:
                size[above] += size[node]
                children[above].append(node)
                # The order of calls counts: what came so far is multiplied before each.
                value[above] = (value[above] * 1099511628211 + value[node] * 31 + 7) & mask
        for own in children:
            own.reverse()
        return cls(site, parent, size, np.array(value, dtype=np.uint64), thread, children)

    def roots(self) -> dict[int, list[int]]:
        """Outermost calls of each thread."""
        found: dict[int, list[int]] = defaultdict(list)
        for node in np.flatnonzero(self.parent < 0).tolist():
            found[int(self.thread[node])].append(node)
        return found

    def siblings(self, inside: int) -> list[int]:
        """Sites of all calls made in one sort of call, in order; of the threads for 0."""
        if not inside:
            found: list[int] = self.site[self.parent < 0].tolist()
            return found
        around = np.flatnonzero(self.site == np.uint64(inside)).tolist()
        return [int(self.site[child]) for node in around for child in self.children[node]]

    def below(self, node: int) -> list[int]:
        sites: list[int] = self.site[node : node + int(self.size[node])].tolist()
        return sites


def _occurrences(block: list[int], calls: list[int]) -> int:
    """How often a block of calls comes in a row; calls at its ends may belong to the next one."""
    often = 0
    # A layer begins wherever the difference puts its border: any turn of the block will do.
    for turn in (block[at:] + block[:at] for at in range(len(block))):
        count = at = 0
        while at + len(turn) <= len(calls):
            if calls[at : at + len(turn)] == turn:
                count, at = count + 1, at + len(turn)
            else:
                at += 1
        often = max(often, count)
        if often > 1:
            break
    return often


@dataclass(eq=False)
class _Hunk:
    """A change at one place."""

    inside: int
    """Site of the call around; 0 for none."""
    removed: list[int]
    added: list[int]
    before: int
    after: int
    order: int


@dataclass(eq=False)
class CallAlignment:
    base: SiteTree
    new: SiteTree
    names: SiteNames
    apart: frozenset[int]
    hunks: list[_Hunk] = field(default_factory=list)

    def changes(self) -> list[CallChange]:
        for ours, theirs in self._threads():
            self._align(ours, theirs, 0)
        return self._grouped()

    def _threads(self) -> Iterator[tuple[list[int], list[int]]]:
        """Outermost calls of threads that do the most alike; numbers of threads mean nothing."""
        left, right = self.base.roots(), self.new.roots()
        counts = [
            {
                thread: Counter(self.names.name(site) for site in tree.site[roots].tolist())
                for thread, roots in own.items()
            }
            for tree, own in ((self.base, left), (self.new, right))
        ]
        scored = sorted(
            (
                (-sum((one & other).values()), -len(left[a]) - len(right[b]), a, b)
                for a, one in counts[0].items()
                for b, other in counts[1].items()
            )
        )
        for common, _, ours, theirs in scored:
            if ours in left and theirs in right and common:
                yield left.pop(ours), right.pop(theirs)
        for rest in left.values():
            yield rest, []
        for rest in right.values():
            yield [], rest

    def _align(self, ours: list[int], theirs: list[int], inside: int) -> None:
        work = [(ours, theirs, inside)]
        while work:
            left, right, around = work.pop()
            a, b = self.base.site[left], self.new.site[right]
            mine, its = common_subsequence(a.view(np.int64), b.view(np.int64))
            self._hunks(left, right, mine, its, around)
            for x, y in zip(mine.tolist(), its.tolist(), strict=True):
                one, other = left[x], right[y]
                if self.base.whole[one] != self.new.whole[other]:
                    work.append((self.base.children[one], self.new.children[other], int(a[x])))

    def _hunks(self, left: list[int], right: list[int], mine: Ints, its: Ints, inside: int) -> None:
        ends = [(-1, -1), *zip(mine.tolist(), its.tolist(), strict=True), (len(left), len(right))]
        open_: _Hunk | None = None
        bridge = 0
        for (x0, y0), (x1, y1) in pairwise(ends):
            removed, added = left[x0 + 1 : x1], right[y0 + 1 : y1]
            if not removed and not added:
                bridge += 1
                continue
            after = int(self.base.site[left[x1]]) if x1 < len(left) else 0
            if (
                open_ is not None
                and bridge < _BRIDGED
                and len(open_.removed) + len(open_.added) > bridge
            ):
                open_.removed += removed
                open_.added += added
                open_.after = after
            else:
                before = int(self.base.site[left[x0]]) if x0 >= 0 else 0
                order = right[y0] if y0 >= 0 else (right[0] if right else 0)
                open_ = _Hunk(inside, removed, added, before, after, order)
                self.hunks.append(open_)
            bridge = 0

    def _grouped(self) -> list[CallChange]:
        """Changes that are the same at several places as one."""
        groups: dict[tuple[object, ...], list[_Hunk]] = defaultdict(list)
        for hunk in self.hunks:
            hunk.removed = [one for one in hunk.removed if self._counts(self.base, one)]
            hunk.added = [one for one in hunk.added if self._counts(self.new, one)]
            gone, came = self.base.site[hunk.removed].tolist(), self.new.site[hunk.added].tolist()
            if gone or came:
                groups[(hunk.inside, tuple(gone), tuple(came))].append(hunk)
        return [self._change(hunks) for hunks in groups.values()]

    def _counts(self, tree: SiteTree, node: int) -> bool:
        """Whether a call, or anything below it, comes more or less often: else it only moved."""
        return any(site in self.apart for site in tree.below(node))

    def _repeats(self, hunks: list[_Hunk]) -> tuple[int, int]:
        """How often a block of calls comes on both sides that one of them has once more or less."""
        first = hunks[0]
        if len(hunks) > 1 or bool(first.removed) == bool(first.added):
            return 0, 0
        own = self.new if first.added else self.base
        block = own.site[first.added or first.removed].tolist()
        if len(block) < _LEAST_BLOCK or len(set(block)) < _LEAST_SORTS:
            return 0, 0
        base, new = (
            _occurrences(block, tree.siblings(first.inside)) for tree in (self.base, self.new)
        )
        return (base, new) if min(base, new) > 0 and base != new else (0, 0)

    def _change(self, hunks: list[_Hunk]) -> CallChange:
        first = hunks[0]
        gone = Counter(
            site for one in hunks for node in one.removed for site in self.base.below(node)
        )
        came = Counter(site for one in hunks for node in one.added for site in self.new.below(node))
        led = first.removed[0] if first.removed else first.added[0]
        tree = self.base if first.removed else self.new
        same = int((tree.site == tree.site[led]).sum())
        name = self.names.name
        modules, lines = self._told(hunks)
        kinds = {self.names.sorts[self.names.place[site]] for site in (*gone, *came)}
        return CallChange(
            self.names.path(first.inside) if first.inside else (),
            tuple(name(site) for site in self.base.site[first.removed].tolist()),
            tuple(name(site) for site in self.new.site[first.added].tolist()),
            name(first.before) if first.before else "",
            name(first.after) if first.after else "",
            len(hunks),
            max(len(hunks), same),
            gone,
            came,
            first.order,
            kind="kernels" if first.inside and kinds == {KERNEL} else "calls",
            repeats=self._repeats(hunks),
            modules=modules,
            lines=lines,
        )

    def _told(self, hunks: list[_Hunk]) -> Sequence[tuple[str, ...]]:
        """Modules and lines that what came is called from; else those of what went."""
        sides = [
            (self.new, [node for one in hunks for node in one.added]),
            (self.base, [node for one in hunks for node in one.removed]),
        ]
        found: list[tuple[str, ...]] = [(), ()]
        for tree, nodes in sides:
            for at, texts in enumerate(tree.told):
                found[at] = found[at] or tuple(
                    texts[nodes].drop_nulls().unique(maintain_order=True)
                )
        return found
