"""Decision trees as arrays: made by scikit-learn or, without it, here; asked with NumPy alone.

A forest is several models in one: each is a sum of trees, and what is expected is their mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from timesink.model.intervals import Flags, Floats

LEAF_CYCLES = 10
"""What trees tell is of so many cycles at least."""
_BLOCK = 1 << 8
"""Cycles asked at once, so that what all trees say of them stays small."""
MOST_NODES, DEEPEST = 2_000_000, 64
_MOST_LEAVES, _MOST_MASKS = 16, 128 << 20
_FIRST_BIT = np.zeros(2**_MOST_LEAVES, dtype=np.int64)
for _bit in reversed(range(_MOST_LEAVES)):
    _FIRST_BIT[2**_bit :: 2 ** (_bit + 1)] = _bit


class Forest(msgspec.Struct, frozen=True):
    """Nodes of all trees, one behind the other; children stand behind their parent."""

    roots: list[int]
    feature: list[int]
    """What a node asks; -1 for leaves."""
    threshold: list[float]
    """Values up to it go left."""
    left: list[int]
    right: list[int]
    missing_left: list[bool]
    value: list[float]
    """What a leaf adds."""
    start: float
    """The mean of what the models start with."""
    models: int

    def problem(self, features: int) -> str:
        """Why this cannot be asked; empty where it can."""
        size = len(self.feature)
        columns = (self.threshold, self.left, self.right, self.missing_left, self.value)
        if any(len(column) != size for column in columns):
            return "its trees are cut off"
        if not 0 < size <= MOST_NODES or not self.roots or self.models < 1:
            return "it has no trees, or too many"
        if not (np.isfinite(self.threshold).all() and np.isfinite([*self.value, self.start]).all()):
            return "its trees hold numbers that are not finite"
        feature, left, right = (np.array(each) for each in (self.feature, self.left, self.right))
        roots, inner = np.array(self.roots), feature >= 0
        if feature.min() < -1 or feature.max() >= features or ((roots < 0) | (roots >= size)).any():
            return "its trees ask for features it does not have"
        own = np.arange(size)
        if ((left <= own) | (right <= own) | (left >= size) | (right >= size))[inner].any():
            return "its trees run in circles"
        return "" if self._depth(roots, left, right, inner) <= DEEPEST else "its trees are too deep"

    def _depth(
        self, roots: npt.NDArray[Any], left: npt.NDArray[Any], right: npt.NDArray[Any], inner: Flags
    ) -> int:
        level, depth = np.unique(roots), 0
        while len(level) and depth <= DEEPEST:
            level = level[inner[level]]
            level = np.unique(np.concatenate([left[level], right[level]]))
            depth += 1
        return depth


class AskedForest:
    """A forest as arrays.

    Of trees with few leaves each is a mask of leaves that may still be reached: a feature above a
    threshold rules out all leaves left of it, and the first leaf that is left is the one.
    """

    def __init__(self, forest: Forest) -> None:
        leaf = np.array(forest.feature) < 0
        own = np.arange(len(leaf))
        # Leaves lead to themselves: all rows go down as many levels.
        self._feature = np.where(leaf, 0, forest.feature).astype(np.int32)
        self._threshold = np.array(forest.threshold, dtype=np.float64)
        children = np.stack([np.where(leaf, own, forest.left), np.where(leaf, own, forest.right)])
        self._children = children.T.astype(np.int32).ravel()
        self._missing_left = np.array(forest.missing_left, dtype=bool)
        self._value = np.array(forest.value, dtype=np.float64)
        self._roots = np.array(forest.roots, dtype=np.int32)
        self._start, self._models = forest.start, forest.models
        self._only_leaves = bool(leaf.all())
        self._masks = _LeafMasks.of(forest)

    def predict(self, features: Floats) -> Floats:
        """What is expected for each row of features; missing ones are NaN."""
        found = np.empty(len(features))
        for at in range(0, len(features), _BLOCK):
            block = features[at : at + _BLOCK]
            found[at : at + _BLOCK] = self._leaves(block).sum(axis=1) / self._models + self._start
        return found

    def _leaves(self, features: Floats) -> Floats:
        """What each tree adds for each row."""
        if self._masks:
            return self._masks.leaves(features)
        at = np.broadcast_to(self._roots, (len(features), len(self._roots)))
        if self._only_leaves:
            return self._value.take(at)
        first = (np.arange(len(features)) * features.shape[1])[:, None]
        flat, missing = features.ravel(), bool(np.isnan(features).any())
        for _ in range(DEEPEST + 1):
            told = flat.take(first + self._feature.take(at))
            goes_right = told > self._threshold.take(at)
            if missing:
                goes_right |= np.isnan(told) & ~self._missing_left.take(at)
            down = self._children.take(2 * at + goes_right)
            if np.array_equal(down, at):
                break
            at = down
        return self._value.take(at)


class _LeafMasks:
    """Trees of at most 16 leaves: for each feature and where its value lies, what is left."""

    def __init__(
        self, masks: dict[int, tuple[Floats, npt.NDArray[np.uint16]]], value: Floats
    ) -> None:
        self._masks, self._value = masks, value
        self._first = np.arange(len(value)) * _MOST_LEAVES

    @classmethod
    def of(cls, forest: Forest) -> _LeafMasks | None:
        """Nothing where trees have too many leaves, or the masks would be too large."""
        feature, threshold = np.array(forest.feature), np.array(forest.threshold)
        asked = np.unique(feature[feature >= 0]).tolist()
        edges = {one: np.unique(threshold[feature == one]) for one in asked}
        trees = len(forest.roots)
        if not asked or 2 * trees * sum(len(one) + 2 for one in edges.values()) > _MOST_MASKS:
            return None
        whole = 2**_MOST_LEAVES - 1
        # The last row is for what is missing.
        masks = {
            one: np.full((len(edge) + 2, trees), whole, np.uint16) for one, edge in edges.items()
        }
        value = np.zeros((trees, _MOST_LEAVES))
        for tree, root in enumerate(forest.roots):
            leaves, cuts = _cuts_of(forest, root)
            if len(leaves) > _MOST_LEAVES:
                return None
            value[tree, : len(leaves)] = [forest.value[leaf] for leaf in leaves]
            for node, first, behind in cuts:
                mine, keep = masks[forest.feature[node]], whole & ~(2**behind - 2**first)
                place = np.searchsorted(edges[forest.feature[node]], forest.threshold[node])
                mine[place + 1, tree] &= keep
                if not forest.missing_left[node]:
                    mine[-1, tree] &= keep
        for mask in masks.values():
            np.bitwise_and.accumulate(mask[:-1], axis=0, out=mask[:-1])
        return cls({one: (edges[one], masks[one]) for one in asked}, value)

    def leaves(self, features: Floats) -> Floats:
        """What each tree adds for each row."""
        left = np.full((len(features), len(self._value)), 2**_MOST_LEAVES - 1, np.uint16)
        for one, (edge, mask) in self._masks.items():
            told = features[:, one]
            place = np.where(np.isnan(told), len(mask) - 1, np.searchsorted(edge, told))
            left &= mask.take(place, axis=0)
        return self._value.take(_FIRST_BIT.take(left) + self._first)


def _cuts_of(forest: Forest, root: int) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Leaves of a tree from left to right; and of each inner node, the leaves left of its cut."""
    leaves: list[int] = []
    cuts: list[tuple[int, int, int]] = []
    todo: list[tuple[int, int]] = [(root, -1)]
    while todo and len(leaves) <= _MOST_LEAVES:
        node, first = todo.pop()
        if first >= 0:
            cuts.append((node, first, len(leaves)))
            todo.append((forest.right[node], -1))
        elif forest.feature[node] < 0:
            leaves.append(node)
        else:
            todo += [(node, len(leaves)), (forest.left[node], -1)]
    return leaves, cuts


def joined(forests: Iterable[Forest], start: float, models: int) -> Forest:
    """The trees of several forests as one."""
    names = ("roots", "feature", "threshold", "left", "right", "missing_left", "value")
    whole: dict[str, list[Any]] = {name: [] for name in names}
    for one in forests:
        first = len(whole["feature"])
        for name, values in whole.items():
            move = first if name in ("roots", "left", "right") else 0
            mine = getattr(one, name)
            values.extend([value + move for value in mine] if move else mine)
    return Forest(start=start, models=models, **whole)


_FEW = 1 << 15

# -- made by scikit-learn --------------------------------------------------------------------------


def has_boosting() -> bool:
    """Whether scikit-learn is there."""
    try:
        import sklearn.ensemble  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def boosted(features: Floats, target: Floats, *, seed: int, rounds: int) -> Forest:
    """Trees that each mend what those before got wrong, for the median of the target."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415 - an extra
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - scikit-learn brings it

    model = HistGradientBoostingRegressor(
        loss="absolute_error",
        max_iter=rounds,
        learning_rate=0.1,
        max_leaf_nodes=15,
        max_depth=12,
        min_samples_leaf=min(LEAF_CYCLES, max(1, len(target) // 10)),
        max_features=0.5,
        early_stopping=False,
        random_state=seed,
    )
    # Threads wait for each other in loops: beside a busy program that takes ten times as long.
    with threadpool_limits(1 if len(target) < _FEW else None, user_api="openmp"):
        model.fit(features, target)
    trees = (_plain(one.nodes) for (one,) in model._predictors)  # noqa: SLF001 - nothing else has them
    return joined(trees, float(np.ravel(model._baseline_prediction)[0]), 1)  # noqa: SLF001


def _plain(nodes: npt.NDArray[Any]) -> Forest:
    leaf = nodes["is_leaf"].astype(bool)
    threshold = np.where(leaf, 0.0, nodes["num_threshold"])
    # Splits that only part what is missing are at infinity.
    threshold = np.clip(threshold, -1e300, 1e300)
    return Forest(
        roots=[0],
        feature=np.where(leaf, -1, nodes["feature_idx"]).astype(int).tolist(),
        threshold=threshold.tolist(),
        left=np.where(leaf, 0, nodes["left"]).astype(int).tolist(),
        right=np.where(leaf, 0, nodes["right"]).astype(int).tolist(),
        missing_left=nodes["missing_go_to_left"].astype(bool).tolist(),
        value=np.where(leaf, nodes["value"], 0.0).tolist(),
        start=0.0,
        models=1,
    )


# -- made without it -------------------------------------------------------------------------------

_FEWEST_IN_BUCKET, _DEEPEST_BUCKET, _CUTS = 12, 9, 8


def bucket_table(features: Floats, target: Floats) -> Forest:
    """Medians of buckets of alike workloads, as one tree; needs nothing but NumPy."""
    tree: dict[str, list[Any]] = {
        name: [] for name in ("feature", "threshold", "left", "right", "missing_left", "value")
    }
    filled = np.nan_to_num(features, nan=-1e300)
    _grow(tree, filled, target, np.arange(len(target)), 0)
    return Forest(roots=[0], start=0.0, models=1, **tree)


def _grow(
    tree: dict[str, list[Any]], features: Floats, target: Floats, rows: npt.NDArray[Any], depth: int
) -> int:
    own = len(tree["feature"])
    plain = (-1, 0.0, 0, 0, True, float(np.median(target[rows])))
    for name, value in zip(tree, plain, strict=True):
        tree[name].append(value)
    cut = _best_cut(features[rows], target[rows]) if depth < _DEEPEST_BUCKET else None
    if cut is None:
        return own
    column, threshold = cut
    lower = features[rows, column] <= threshold
    tree["feature"][own], tree["threshold"][own], tree["value"][own] = column, threshold, 0.0
    tree["left"][own] = _grow(tree, features, target, rows[lower], depth + 1)
    tree["right"][own] = _grow(tree, features, target, rows[~lower], depth + 1)
    return own


def _best_cut(features: Floats, target: Floats) -> tuple[int, float] | None:
    """The feature and value that leave the least distance to the medians of both sides."""
    if len(target) < 2 * _FEWEST_IN_BUCKET:
        return None
    best, found = _spread(target) * 0.99, None
    if best <= 0:
        return None
    shares = np.linspace(0, 1, _CUTS + 2)[1:-1]
    for column in range(features.shape[1]):
        values = features[:, column]
        for cut in np.unique(np.quantile(values, shares, method="lower")):
            lower = values <= cut
            many = np.count_nonzero(lower)
            if min(many, len(lower) - many) < _FEWEST_IN_BUCKET:
                continue
            left = _spread(target[lower])
            # Of most cuts one side tells enough.
            if left < best and (left := left + _spread(target[~lower])) < best:
                best, found = left, (column, float(cut))
    return found


def _spread(target: Floats) -> float:
    """Distances to the median, which is found by hand: NumPy looks for what is missing as well."""
    upper = len(target) // 2
    lower = upper - 1 + len(target) % 2
    ordered = np.partition(target, (lower, upper))
    return float(np.abs(target - (ordered[lower] + ordered[upper]) / 2).sum())
