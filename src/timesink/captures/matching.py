"""Which capture each replay is of, and which captured launch each piece of its work.

Replays whose work is equal are aligned once.  Names and geometry decide where both sides have
them; where a capture has neither, only its length and the kinds of its work can say that it fits,
so then all of it has to.  What does not fit is left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations, zip_longest
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl

from timesink.captures.replays import Replays
from timesink.captures.thresholds import MatchingLimits
from timesink.model.alignment import common_subsequence
from timesink.model.captures import GEOMETRY, SHAPE_TEXTS, Capture
from timesink.model.intervals import Flags, Ints

_NOBODY = -1


class Match(NamedTuple):
    """A replay and the capture it is of."""

    capture: int
    """Place among the captures."""
    node: Ints
    """For each piece of work of the replay: the node of the capture; -1 for none."""
    has_shapes: bool
    """Whether all captures that fit as well have the same shapes."""


class Matches(msgspec.Struct, frozen=True, eq=False):
    """What was found for each replay."""

    of_replay: Sequence[Match | None]
    ambiguous: int
    """Replays that several captures with other calls fit equally well."""


def match_replays(
    replays: Replays, captures: Sequence[Capture], numbers: Sequence[frozenset[int]] = ()
) -> Matches:
    """For each replay the capture it is of; captures are in the order in which they were made.

    `numbers` are those that ranges around each replay say: of captures that fit equally those of
    such a batch size are taken.

    Parts of a program that are captured one by one may be equal; which of them is replayed then
    follows from the replays before and after it: captures are replayed in their order.
    """
    variants, variant_of = _variants(replays)
    fits = [_fits(replays.work[replays.places(first)], captures) for first in variants]
    fit_of_replay = [fits[variant] for variant in variant_of.tolist()]
    sized = [
        _of_size(fit, captures, sizes) for fit, sizes in zip(fit_of_replay, numbers, strict=False)
    ]
    candidates = [
        of_size or fit for fit, of_size in zip_longest(fit_of_replay, sized, fillvalue=None)
    ]
    chosen, is_sure = _choose([fit or {} for fit in candidates], captures)
    has_shapes = _shapes_hold(fits, captures)
    matches: list[Match | None] = []
    for replay, (variant, capture) in enumerate(zip(variant_of.tolist(), chosen, strict=True)):
        if capture < 0:
            matches.append(None)
            continue
        fit = fits[variant][capture]
        is_told = replay < len(sized) and bool(sized[replay]) and fit.alike in {None, 1.0}
        is_told = is_told and _agree_on_shapes(list(sized[replay]), captures)
        matches.append(Match(capture, fit.node, is_told or has_shapes[variant]))
    return Matches(matches, int((~is_sure).sum()))


def _of_size(
    fit: dict[int, Fit], captures: Sequence[Capture], sizes: frozenset[int]
) -> dict[int, Fit]:
    """The captures of a batch size that is among some numbers, or none of them."""
    return {
        place: capture_fit
        for place, capture_fit in fit.items()
        if captures[place].batch_size in sizes
    }


class Fit(NamedTuple):
    """How a capture fits a replay."""

    node: Ints
    """For each piece of work of the replay: the node of the capture; -1 for none."""
    share: float
    """The part of both that matches; 0 where it is too small to be of this graph."""
    alike: float | None
    """The part of the matched kernels with the geometry of their nodes; None where unknown."""


def _variants(replays: Replays) -> tuple[list[int], Ints]:
    """The first replay of each distinct sequence of work, and for each replay which it is."""
    if not len(replays):
        return [], np.zeros(0, dtype=np.int64)
    described = replays.work.select(pl.struct(pl.all()).hash(7)).to_series().to_numpy()
    place: dict[bytes, int] = {}
    firsts: list[int] = []
    numbers = []
    for replay in range(len(replays)):
        key = described[replays.places(replay)].tobytes()
        if key not in place:
            place[key] = len(place)
            firsts.append(replay)
        numbers.append(place[key])
    return firsts, np.array(numbers, dtype=np.int64)


# -- one replay and one capture --------------------------------------------------------------------


def _fits(work: pl.DataFrame, captures: Sequence[Capture]) -> dict[int, Fit]:
    """The captures that fit a replay best, by their places."""
    best: dict[int, Fit] = {}
    score = (0.0, 0.0)
    for place, capture in enumerate(captures):
        fit = fit_of(work, capture)
        if fit is None:
            continue
        capture_score = (fit.share, fit.alike or 0.0)
        if capture_score > score:
            best, score = {}, capture_score
        if capture_score == score:
            best[place] = fit
    return best


def fit_of(work: pl.DataFrame, capture: Capture) -> Fit | None:
    """How a capture fits the work of a replay; None where it is of another graph.

    >>> from timesink.model.captures import capture_of
    >>> calls = {"parent": [-1, -1], "name": ["aten::mm", "aten::add"]}
    >>> nodes = {"call": [0, 1], "kernel": ["gemm", "add"]}
    >>> capture = capture_of("a.json", "", calls, nodes)
    >>> replayed = capture.nodes[::-1]
    >>> fit_of(capture.nodes, capture).node.tolist(), fit_of(replayed, capture).node.tolist()
    ([0, 1], [1, 0])
    """
    first = 0
    nodes = capture.nodes
    if not work.height or not nodes.height:
        return None
    if capture.is_eager:
        window = _window(work, nodes)
        first, nodes = window.start, nodes[window]
    left, right, is_bare = _symbols(work, nodes)
    node = _by_number(work, nodes)
    if node is None and is_bare:
        if not np.array_equal(left, right):
            return None
        node = np.arange(work.height)
        node[_is_unsure(work, capture, node, left)] = _NOBODY
    if node is None:
        node = _by_stream(work, nodes, left, right)
    if node is None:
        node = _by_order(left, right)
        node[_is_unsure(work, capture, np.where(node >= 0, node + first, _NOBODY), left)] = _NOBODY
    rows = np.flatnonzero(node >= 0)
    both = 2 * work.height if capture.is_eager else work.height + nodes.height
    share = 2 * len(rows) / both
    least = MatchingLimits.min_eager_share if capture.is_eager else MatchingLimits.min_fit
    if share < least:
        return None
    alike = _same_geometry(work[rows], nodes[node[rows]])
    return Fit(np.where(node >= 0, node + first, _NOBODY), share, alike)


def _by_order(left: Ints, right: Ints) -> Ints:
    """The node of each piece of work by a longest common subsequence; -1 for none."""
    node = np.full(len(left), _NOBODY, dtype=np.int64)
    ours, theirs = common_subsequence(left, right)
    node[ours] = theirs
    _fill_leftovers(node, left, right)
    return node


def _by_number(work: pl.DataFrame, nodes: pl.DataFrame) -> Ints | None:
    """The same by the numbers of nodes; None where they are not known, or not of this graph."""
    if work["node_id"].null_count() or nodes["node_id"].null_count():
        return None
    numbers = nodes["node_id"].to_list()
    place = {number: row for row, number in enumerate(numbers)}
    if len(place) < len(numbers) or not place.keys() >= set(work["node_id"].to_list()):
        return None
    return np.array([place[number] for number in work["node_id"].to_list()], dtype=np.int64)


_MAX_STREAMS = 6
"""Ways to assign so many streams are tried, 720."""


def _by_stream(work: pl.DataFrame, nodes: pl.DataFrame, left: Ints, right: Ints) -> Ints | None:
    """The same stream by stream, where one assignment of streams fits better than all others.

    None where streams are not known, or are not those of the capture.
    """
    if work["stream"].null_count() or nodes["stream"].null_count():
        return None
    mine, its = (frame["stream"].rank("dense").to_numpy() for frame in (work, nodes))
    many = int(mine.max())
    if not 1 < many <= _MAX_STREAMS or int(its.max()) != many:
        return None
    rows = [np.flatnonzero(mine == stream) for stream in range(1, many + 1)]
    places = [np.flatnonzero(its == stream) for stream in range(1, many + 1)]
    pairs = [[common_subsequence(left[row], right[place]) for place in places] for row in rows]
    totals = sorted(
        (sum(len(pairs[a][b][0]) for a, b in enumerate(order)), order)
        for order in permutations(range(many))
    )
    if totals[-1][0] == totals[-2][0]:
        return None
    node = np.full(len(left), _NOBODY, dtype=np.int64)
    for stream, other in enumerate(totals[-1][1]):
        ours, theirs = pairs[stream][other]
        node[rows[stream][ours]] = places[other][theirs]
    return node


def _symbols(work: pl.DataFrame, nodes: pl.DataFrame) -> tuple[Ints, Ints, bool]:
    """A number for each piece of work and each node, equal where they may be the same.

    The third says that nothing but kinds is known of the capture.
    """
    kernels = nodes.filter(pl.col("kind") == "kernel")
    mine = work.filter(pl.col("kind") == "kernel")
    is_named = not kernels["kernel"].null_count() and not mine["kernel"].null_count()
    has_grid = not kernels["grid_x"].null_count() and not mine["grid_x"].null_count()
    columns = ["kind"]
    if is_named:
        columns.append("kernel")
    elif has_grid:
        columns += GEOMETRY
    of_kernel = pl.col("kind") == "kernel"
    described = [
        frame.select(
            pl.col(name) if name == "kind" else pl.when(of_kernel).then(pl.col(name)).alias(name)
            for name in columns
        )
        for frame in (work, nodes)
    ]
    codes = pl.concat(described).select(pl.struct(columns).rank("dense")).to_series().to_numpy()
    codes = codes.astype(np.int64)
    return codes[: work.height], codes[work.height :], len(columns) == 1


def _fill_leftovers(node: Ints, left: Ints, right: Ints) -> None:
    """Match what is left by what it is, where both sides have as many of it.

    Streams that run side by side go in another order than they were captured in.
    """
    free = np.ones(len(right), dtype=np.bool_)
    free[node[node >= 0]] = False
    mine, its = np.flatnonzero(node < 0), np.flatnonzero(free)
    mine, its = (
        mine[np.argsort(left[mine], kind="stable")],
        its[np.argsort(right[its], kind="stable")],
    )
    for symbol in np.intersect1d(left[mine], right[its]).tolist():
        ours, theirs = mine[left[mine] == symbol], its[right[its] == symbol]
        if len(ours) == len(theirs):
            node[ours] = theirs


def _is_unsure(work: pl.DataFrame, capture: Capture, node: Ints, symbol: Ints) -> Flags:
    """Work of several streams that is the same as work of another stream, under other calls.

    Which came first there in the capture is not known, so it may be the one or the other.
    """
    unsure = np.zeros(len(node), dtype=np.bool_)
    streams = work["stream"].rank("dense").fill_null(0).to_numpy().astype(np.int64)
    if len(np.unique(streams)) < 2:
        return unsure
    call = capture.nodes["call"].to_numpy()
    chain = call_chains(capture)
    matched = np.flatnonzero(node >= 0)
    order = matched[np.argsort(symbol[matched], kind="stable")]
    borders = np.flatnonzero(np.diff(symbol[order])) + 1
    for group in np.split(order, borders):
        if len(np.unique(streams[group])) < 2:
            continue
        of_node = chain[call[node[group]]]
        unsure[group] = len(np.unique(of_node)) > 1
    return unsure


def call_chains(capture: Capture) -> Ints:
    """For each call a number that is equal where names of it and its callers are; -1 at the end."""
    names = capture.calls.select(pl.struct("kind", "name").rank("dense")).to_series().to_list()
    place: dict[tuple[int, int], int] = {}
    chain: list[int] = []
    for name, parent in zip(names, capture.calls["parent"].to_list(), strict=True):
        key = (chain[parent] if parent >= 0 else _NOBODY, name)
        chain.append(place.setdefault(key, len(place)))
    return np.array([*chain, _NOBODY], dtype=np.int64)


def _same_geometry(work: pl.DataFrame, nodes: pl.DataFrame) -> float | None:
    """The part of kernels that have the geometry of their nodes, of those whose both is known."""
    has_both = work["grid_x"].is_not_null() & nodes["grid_x"].is_not_null()
    if not has_both.any():
        return None
    equal = pl.Series([True] * work.height)
    for name in GEOMETRY:
        equal &= work[name].eq_missing(nodes[name])
    return int((equal & has_both).sum()) / int(has_both.sum())


def _window(work: pl.DataFrame, nodes: pl.DataFrame) -> slice:
    """The stretch of an eager recording in which a replay is: where most of its work lines up."""
    left, right, _ = _symbols(work, nodes)
    length, height = work.height, nodes.height
    if height <= length:
        return slice(0, height)
    words, its_words = _words(left), _words(right)
    order = np.argsort(its_words, kind="stable")
    first = np.searchsorted(its_words[order], words, "left")
    beyond = np.searchsorted(its_words[order], words, "right")
    votes = np.zeros(height + length, dtype=np.int64)
    for place in np.flatnonzero(beyond > first).tolist():
        met = order[first[place] : beyond[place]]
        votes[met - place + length] += 1
    slack = int(MatchingLimits.window_slack * length)
    # Work that the other run adds moves what follows, so neighbouring offsets count together.
    near = np.convolve(votes, np.ones(max(1, slack // 2), dtype=np.int64), "same")
    offset = int(np.argmax(near)) - length
    return slice(max(0, offset - slack), min(height, offset + length + slack))


_WORD = 3


def _words(symbols: Ints) -> Ints:
    """A number for each three in a row."""
    padded = np.append(symbols, np.zeros(_WORD - 1, dtype=np.int64))
    count, words = len(symbols), np.zeros(len(symbols), dtype=np.int64)
    for place in range(_WORD):
        words = words * np.int64(1_000_003) + padded[place : place + count]
    return words


# -- which of several captures ---------------------------------------------------------------------


def _choose(fits: Sequence[dict[int, Fit]], captures: Sequence[Capture]) -> tuple[list[int], Flags]:
    """The capture of each replay, -1 for none, and whether none with other calls fits as well.

    The fewest jumps in the order of the captures decide between equals (Viterbi).
    """
    chains = [_chain_key(capture) for capture in captures]
    count = len(fits)
    forward = _costs(fits, step=1)
    backward = _costs(fits[::-1], step=-1)[::-1]
    chosen, is_sure = [_NOBODY] * count, np.ones(count, dtype=np.bool_)
    for place, fit in enumerate(fits):
        if not fit:
            continue
        totals = {capture: forward[place][capture] + backward[place][capture] for capture in fit}
        least = min(totals.values())
        optimal = [capture for capture, total in totals.items() if total == least]
        if len({chains[capture] for capture in optimal}) > 1:
            is_sure[place] = False
        else:
            chosen[place] = optimal[0]
    return chosen, is_sure


def _costs(fits: Sequence[dict[int, Fit]], step: int) -> list[dict[int, int]]:
    """For each replay and capture the fewest jumps up to there; replays without any are skipped."""
    costs: list[dict[int, int]] = []
    before: dict[int, int] = {}
    for fit in fits:
        if not fit:
            costs.append({})
            continue
        jump = min(before.values()) + 1 if before else 0
        before = {capture: min(jump, before.get(capture - step, jump)) for capture in fit}
        costs.append(before)
    return costs


def _chain_key(capture: Capture) -> int:
    """Equal for captures whose work was launched by calls of the same names."""
    calls = capture.calls.select("parent", "kind", "name")
    hashes = [frame.hash_rows(3).to_numpy().tobytes() for frame in (calls,)]
    return hash((*hashes, capture.nodes["call"].to_numpy().tobytes()))


def _shapes_hold(fits: Sequence[dict[int, Fit]], captures: Sequence[Capture]) -> list[bool]:
    """Whether shapes of the captures are those of the replays, for each distinct replay.

    The same calls may have been captured for several sizes of a batch.  Then geometry has to be
    that of the capture; where it is not known, no other replay may fit the capture as well, and no
    other capture with other shapes the replay.
    """
    often = Counter(place for fit in fits for place in fit)
    return [
        all(
            fit.alike == 1.0 if fit.alike is not None else often[place] == 1
            for place, fit in variant.items()
        )
        and _agree_on_shapes(list(variant), captures)
        for variant in fits
    ]


def _agree_on_shapes(places: Sequence[int], captures: Sequence[Capture]) -> bool:
    """Whether some captures have the same shapes."""
    shapes = [captures[place].calls.select(SHAPE_TEXTS).hash_rows(5).to_numpy() for place in places]
    return all(np.array_equal(shapes[0], other) for other in shapes[1:])
