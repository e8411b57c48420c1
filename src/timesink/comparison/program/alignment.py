"""How often each site of two programs comes, and two usual cycles aligned call by call."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace
from numpy.typing import NDArray

from timesink.analyses.names import Hashes, mix_hashes
from timesink.comparison.program.calls import KERNEL, Program
from timesink.comparison.thresholds import AlignmentLimits
from timesink.model.alignment import common_subsequence
from timesink.model.intervals import Flags, Floats, Ints


class CountedCycles(msgspec.Struct, frozen=True, eq=False):
    """One side: calls per cycle and site, and sums; columns are the sites of both sides."""

    program: Program
    cycles: Ints
    calls: NDArray[np.int32]
    host_ns: NDArray[np.int64]
    device_ns: NDArray[np.int64]
    bytes: NDArray[np.int64]
    blocks: NDArray[np.int64]
    shape: Hashes
    variant: Hashes
    exact: Hashes

    def only(self, which: Ints) -> CountedCycles:
        chosen = {name: getattr(self, name)[which] for name in ("cycles", *_MATRICES)}
        return replace(self, **chosen)

    def means(self) -> Floats:
        parts = (self.calls, self.host_ns, self.device_ns, self.bytes)
        return np.stack([part.mean(axis=0) for part in parts])


_MATRICES = ("calls", "host_ns", "device_ns", "bytes", "blocks", "shape", "variant", "exact")


def count_calls(program: Program, sites: pl.Series, cycles: Sequence[int]) -> CountedCycles:
    wanted = np.array(sorted(cycles), dtype=np.int64)
    if len(wanted) > AlignmentLimits.max_cycles:
        wanted = wanted[
            np.linspace(0, len(wanted) - 1, AlignmentLimits.max_cycles).astype(np.int64)
        ]
    rows = program.counts.filter(pl.col("cycle").is_in(wanted.tolist()))
    at = np.searchsorted(wanted, rows["cycle"].to_numpy())
    column = np.searchsorted(sites.to_numpy(), rows["site"].to_numpy())
    shape = (len(wanted), len(sites))
    matrices = {}
    for name in _MATRICES:
        values = rows[name].to_numpy()
        dtype = np.int32 if name == "calls" else values.dtype
        matrices[name] = np.zeros(shape, dtype=dtype)
        matrices[name][at, column] = values
    return CountedCycles(program, wanted, **matrices)


def ranges(calls: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Fewest and most calls, or amounts, per cycle of each site, without a few odd cycles."""
    ordered = np.sort(calls, axis=0)
    odd = int(len(calls) * AlignmentLimits.trimmed)
    return ordered[odd], ordered[len(calls) - 1 - odd]


@dataclass(frozen=True, eq=False)
class SiteNames:
    """What sites are called."""

    table: pl.DataFrame

    @cached_property
    def place(self) -> dict[int, int]:
        return {site: place for place, site in enumerate(self.table["site"].to_list())}

    @cached_property
    def names(self) -> list[str]:
        return self.table["name"].to_list()

    @cached_property
    def sorts(self) -> list[int]:
        return self.table["sort"].to_list()

    @cached_property
    def parents(self) -> list[int]:
        return self.table["parent"].to_list()

    def name(self, site: int) -> str:
        return self.names[self.place[site]]

    def path(self, site: int) -> tuple[str, ...]:
        """Names from the outermost call down to this one."""
        path_names: list[str] = []
        place = self.place.get(site)
        while place is not None:
            path_names.append(self.names[place])
            place = self.place.get(self.parents[place])
        return tuple(path_names[::-1])


# -- kinds of cycles -------------------------------------------------------------------------------


class CycleKind(msgspec.Struct, frozen=True):
    """Cycles that do the same."""

    cycles: tuple[int, ...]
    period: int | None
    """Every how many-th cycle is of it; None where they do not come evenly, or all are."""
    calls: float
    """Operators and ranges per cycle."""
    partner: int | None = None
    """The kind of the other run that it is compared with."""


def kinds_of(side: CountedCycles, structural: Flags) -> list[Ints]:
    """Rows of the cycles of each kind, the most frequent kind first."""
    weight = mix_hashes(np.arange(1, structural.sum() + 1, dtype=np.uint64))
    calls = side.calls[:, structural]
    with np.errstate(over="ignore"):
        key = (calls.astype(np.uint64) * weight).sum(axis=1)
    groups: dict[int, list[int]] = defaultdict(list)
    for row, signature in enumerate(key.tolist()):
        groups[signature].append(row)
    ordered = sorted(groups.values(), key=lambda rows: -len(rows))
    repeated = sum(len(rows) for rows in ordered if len(rows) > 1)
    ragged = repeated < len(key) / 2
    kinds: list[list[int]] = []
    for rows in ordered:
        near = [(_distance(calls[rows[0]], calls[kind_rows[0]]), kind_rows) for kind_rows in kinds]
        best = min(near, key=lambda candidate: candidate[0], default=None)
        joins = best is not None and best[0] <= (
            AlignmentLimits.ragged if ragged else AlignmentLimits.max_step_difference
        )
        if best is not None and joins and (ragged or len(rows) == 1):
            best[1].extend(rows)
        else:
            kinds.append(list(rows))
    return [np.array(sorted(rows)) for rows in sorted(kinds, key=lambda rows: -len(rows))]


def _distance(left: NDArray[np.int32], right: NDArray[np.int32]) -> float:
    most = max(int(left.sum()), int(right.sum()), 1)
    return float(np.abs(left.astype(np.int64) - right).sum()) / most


def even_period(rows: Ints, many: int) -> int | None:
    """Every how many-th of so many cycles these are, from the first to the last; None if uneven."""
    steps = np.unique(np.diff(rows))
    if len(rows) < 2 or len(steps) > 1 or steps[0] == 1:
        return None
    period = int(steps[0])
    return period if rows[0] < period and rows[-1] + period >= many else None


def paired_kinds(
    base: CountedCycles, new: CountedCycles, kinds: tuple[list[Ints], list[Ints]], structural: Flags
) -> tuple[tuple[list[Ints], list[Ints]], list[tuple[int, int]]]:
    """Kinds of both sides with the usual one first, and which belong together.

    The usual ones are those that are nearest of all that are as frequent as any.
    """
    vectors = [
        [np.median(side.calls[rows][:, structural], axis=0) for rows in side_kinds]
        for side, side_kinds in zip((base, new), kinds, strict=True)
    ]
    near = sorted(
        (_distance(ours, theirs), base_kind, other)
        for base_kind, ours in enumerate(vectors[0])
        for other, theirs in enumerate(vectors[1])
    )
    usual = [
        {number for number, rows in enumerate(side_kinds) if 2 * len(rows) >= len(side_kinds[0])}
        for side_kinds in kinds
    ]
    first = next(
        (base_kind, other)
        for _, base_kind, other in near
        if base_kind in usual[0] and other in usual[1]
    )
    orders = [
        sorted(range(len(side_kinds)), key=main.__ne__)
        for side_kinds, main in zip(kinds, first, strict=True)
    ]
    ordered = tuple(
        [side_kinds[at] for at in order] for side_kinds, order in zip(kinds, orders, strict=True)
    )
    pairs = [(0, 0)]
    periods = [
        [even_period(rows, len(side.cycles)) for rows in side_kinds]
        for side, side_kinds in zip((base, new), kinds, strict=True)
    ]
    # What comes as evenly belongs together as well, however much else of the program changed.
    same_period = [
        (base_kind, other)
        for _, base_kind, other in near
        if periods[0][base_kind] is not None and periods[0][base_kind] == periods[1][other]
    ]
    for base_kind, other in [
        *((a, b) for far, a, b in near if far <= AlignmentLimits.ragged),
        *same_period,
    ]:
        ours, theirs = orders[0].index(base_kind), orders[1].index(other)
        if all(ours != our_kind and theirs != its for our_kind, its in pairs):
            pairs.append((ours, theirs))
    return (ordered[0], ordered[1]), pairs


_MIN_BLOCK, _MIN_SORTS = 5, 3
"""Calls, and sorts of them, that may be a layer."""


# -- alignment -------------------------------------------------------------------------------------


class CallChange(msgspec.Struct, frozen=True, eq=False):
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
    """`calls`, or `kernels` below equal operators; of equal calls `shapes`, `types` or `variants`,
    and shapes that are `uneven`, from cycle to cycle, on one side; work that is `repeated`, and
    `cycles` of another kind."""
    repeats: tuple[int, int] = (0, 0)
    """How often both sides repeat a block of calls that came or went as a whole, as layers do."""
    factor: float | None = None
    """How many times as much work, of other shapes."""
    modules: tuple[str, ...] = ()
    """Modules of the network it is in, and lines of the program that call them; as far as known."""
    lines: tuple[str, ...] = ()
    site: int = 0
    """The call around, as a site; 0 for none, or where there are several."""


def steady_tree(side: CountedCycles, sites: Hashes, varies: Flags) -> SiteTree:
    """A usual cycle without the calls that vary, and what is below them."""
    with np.errstate(over="ignore"):
        key = side.exact.sum(axis=1)
    values, often = np.unique(key, return_counts=True)
    usual = np.flatnonzero(key == values[np.argmax(often)])
    cycle = int(side.cycles[usual[len(usual) // 2]])
    nodes = side.program.tree(cycle)
    site, parent = nodes["site"].to_numpy(), nodes["parent"].to_numpy()
    drop = varies[np.searchsorted(sites, site)]
    for node, above in enumerate(parent.tolist()):
        if above >= 0 and drop[above]:
            drop[node] = True
    steady = np.flatnonzero(~drop)
    place = np.full(len(site) + 1, -1, dtype=np.int64)
    place[steady] = np.arange(len(steady))
    tree = SiteTree.of(site[steady], place[parent[steady]], nodes["thread"].to_numpy()[steady])
    # Runs that were kept earlier do not say where calls come from.
    origins = [nodes[name][steady] for name in ("module", "line") if name in nodes.columns]
    return replace(tree, origins=origins)


class SiteTree(msgspec.Struct, frozen=True, eq=False):
    """Nodes of a cycle with a hash of each subtree."""

    site: Hashes
    parent: Ints
    size: Ints
    subtree_hash: Hashes
    """Equal for subtrees that are equal in all names, and their order."""
    thread: Ints
    children: list[list[int]]
    origins: Sequence[pl.Series] = ()
    """Module and line of each node."""

    @classmethod
    def of(cls, site: Hashes, parent: Ints, thread: Ints) -> SiteTree:
        size = np.ones(len(site), dtype=np.int64)
        children: list[list[int]] = [[] for _ in range(len(site))]
        subtree_hash = mix_hashes(site)
        value = subtree_hash.tolist()
        mask = (1 << 64) - 1
        parents = parent.tolist()
        for node in range(len(parents) - 1, -1, -1):
            above = parents[node]
            if above >= 0:
                size[above] += size[node]
                children[above].append(node)
                # The order of calls counts: what came so far is multiplied before each.
                value[above] = (value[above] * 1099511628211 + value[node] * 31 + 7) & mask
        for child_nodes in children:
            child_nodes.reverse()
        return cls(site, parent, size, np.array(value, dtype=np.uint64), thread, children)

    def roots(self) -> dict[int, list[int]]:
        """Outermost calls of each thread."""
        by_thread: dict[int, list[int]] = defaultdict(list)
        for node in np.flatnonzero(self.parent < 0).tolist():
            by_thread[int(self.thread[node])].append(node)
        return by_thread

    def siblings(self, inside: int) -> list[int]:
        """Sites of all calls made in one sort of call, in order; of the threads for 0."""
        if not inside:
            return list(self.site[self.parent < 0].tolist())
        around = np.flatnonzero(self.site == np.uint64(inside)).tolist()
        return [int(self.site[child]) for node in around for child in self.children[node]]

    def below(self, node: int) -> list[int]:
        return list(self.site[node : node + int(self.size[node])].tolist())


def _period(block: list[int]) -> list[int]:
    """The shortest block of calls that may be a layer, of which this one is several in a row."""
    for length in range(_MIN_BLOCK, len(block) // 2 + 1):
        part = block[:length]
        if part * (len(block) // length) == block and len(set(part)) >= _MIN_SORTS:
            return part
    return block


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
        if count > 1:
            return count
        often = max(often, count)
    return often


class _Hunk(msgspec.Struct, eq=False):
    """A change at one place."""

    inside: int
    """Site of the call around; 0 for none."""
    removed: list[int]
    added: list[int]
    before: int
    after: int
    order: int


class CallAlignment(msgspec.Struct, eq=False):
    base: SiteTree
    new: SiteTree
    names: SiteNames
    apart: frozenset[int]
    hunks: list[_Hunk] = msgspec.field(default_factory=list)

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
                for thread, roots in thread_roots.items()
            }
            for tree, thread_roots in ((self.base, left), (self.new, right))
        ]
        scored = sorted(
            (
                (-sum((our_counts & other).values()), -len(left[a]) - len(right[b]), a, b)
                for a, our_counts in counts[0].items()
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
                our_node, other = left[x], right[y]
                if self.base.subtree_hash[our_node] != self.new.subtree_hash[other]:
                    work.append((self.base.children[our_node], self.new.children[other], int(a[x])))

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
            if open_ and bridge < min(
                AlignmentLimits.bridged, len(open_.removed) + len(open_.added)
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
            hunk.removed = [node for node in hunk.removed if self._counts(self.base, node)]
            hunk.added = [node for node in hunk.added if self._counts(self.new, node)]
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
        side = self.new if first.added else self.base
        block = side.site[first.added or first.removed].tolist()
        if len(block) < _MIN_BLOCK or len(set(block)) < _MIN_SORTS:
            return 0, 0
        block = _period(block)
        base, new = (
            _occurrences(block, tree.siblings(first.inside)) for tree in (self.base, self.new)
        )
        return (base, new) if min(base, new) > 0 and base != new else (0, 0)

    def _change(self, hunks: list[_Hunk]) -> CallChange:
        first = hunks[0]
        gone = Counter(
            site for hunk in hunks for node in hunk.removed for site in self.base.below(node)
        )
        came = Counter(
            site for hunk in hunks for node in hunk.added for site in self.new.below(node)
        )
        led = first.removed[0] if first.removed else first.added[0]
        tree = self.base if first.removed else self.new
        same = int((tree.site == tree.site[led]).sum())
        name = self.names.name
        modules, lines = self._origins(hunks)
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
            site=first.inside,
        )

    def _origins(self, hunks: list[_Hunk]) -> Sequence[tuple[str, ...]]:
        """Modules and lines that what came is called from; else those of what went."""
        sides = [
            (self.new, [node for hunk in hunks for node in hunk.added]),
            (self.base, [node for hunk in hunks for node in hunk.removed]),
        ]
        origins: list[tuple[str, ...]] = [(), ()]
        for tree, nodes in sides:
            for at, texts in enumerate(tree.origins):
                origins[at] = origins[at] or tuple(
                    texts[nodes].drop_nulls().unique(maintain_order=True)
                )
        return origins
