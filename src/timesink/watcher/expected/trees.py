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
from timesink.watcher.thresholds import TreesLimits

_BLOCK = 1 << 8
"""Cycles asked at once, so that what all trees say of them stays small."""
MAX_NODES, DEEPEST = 2_000_000, 64
_MAX_LEAVES, _MAX_MASKS = 16, 128 << 20
_FIRST_BIT = np.zeros(2**_MAX_LEAVES, dtype=np.int64)
for _bit in reversed(range(_MAX_LEAVES)):
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
        if not 0 < size <= MAX_NODES or not self.roots or self.models < 1:
            return "it has no trees, or too many"
        if not (np.isfinite(self.threshold).all() and np.isfinite([*self.value, self.start]).all()):
            return "its trees hold numbers that are not finite"
        feature, left, right = (
            np.array(values) for values in (self.feature, self.left, self.right)
        )
        roots, inner = np.array(self.roots), feature >= 0
        if feature.min() < -1 or feature.max() >= features or ((roots < 0) | (roots >= size)).any():
            return "its trees ask for features it does not have"
        node_index = np.arange(size)
        if ((left <= node_index) | (right <= node_index) | (left >= size) | (right >= size))[
            inner
        ].any():
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
        node_index = np.arange(len(leaf))
        # Leaves lead to themselves: all rows go down as many levels.
        self._feature = np.where(leaf, 0, forest.feature).astype(np.int32)
        self._threshold = np.array(forest.threshold, dtype=np.float64)
        children = np.stack(
            [np.where(leaf, node_index, forest.left), np.where(leaf, node_index, forest.right)]
        )
        self._children = children.T.astype(np.int32).ravel()
        self._missing_left = np.array(forest.missing_left, dtype=bool)
        self._value = np.array(forest.value, dtype=np.float64)
        self._roots = np.array(forest.roots, dtype=np.int32)
        self._start, self._models = forest.start, forest.models
        self._only_leaves = bool(leaf.all())
        self._masks = _LeafMasks.of(forest)

    def predict(self, features: Floats) -> Floats:
        """What is expected for each row of features; missing ones are NaN."""
        predictions = np.empty(len(features))
        for at in range(0, len(features), _BLOCK):
            block = features[at : at + _BLOCK]
            predictions[at : at + _BLOCK] = (
                self._leaves(block).sum(axis=1) / self._models + self._start
            )
        return predictions

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
            values = flat.take(first + self._feature.take(at))
            goes_right = values > self._threshold.take(at)
            if missing:
                goes_right |= np.isnan(values) & ~self._missing_left.take(at)
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
        self._first = np.arange(len(value)) * _MAX_LEAVES

    @classmethod
    def of(cls, forest: Forest) -> _LeafMasks | None:
        """Nothing where trees have too many leaves, or the masks would be too large."""
        feature, threshold = np.array(forest.feature), np.array(forest.threshold)
        columns = np.unique(feature[feature >= 0]).tolist()
        edges = {column: np.unique(threshold[feature == column]) for column in columns}
        trees = len(forest.roots)
        if (
            not columns
            or 2 * trees * sum(len(column) + 2 for column in edges.values()) > _MAX_MASKS
        ):
            return None
        all_leaves = 2**_MAX_LEAVES - 1
        # The last row is for what is missing.
        masks = {
            column: np.full((len(edge) + 2, trees), all_leaves, np.uint16)
            for column, edge in edges.items()
        }
        value = np.zeros((trees, _MAX_LEAVES))
        for tree, root in enumerate(forest.roots):
            leaves, cuts = _cuts_of(forest, root)
            if len(leaves) > _MAX_LEAVES:
                return None
            value[tree, : len(leaves)] = [forest.value[leaf] for leaf in leaves]
            for node, first, behind in cuts:
                mine, keep = masks[forest.feature[node]], all_leaves & ~(2**behind - 2**first)
                place = np.searchsorted(edges[forest.feature[node]], forest.threshold[node])
                mine[place + 1, tree] &= keep
                if not forest.missing_left[node]:
                    mine[-1, tree] &= keep
        for mask in masks.values():
            np.bitwise_and.accumulate(mask[:-1], axis=0, out=mask[:-1])
        return cls({column: (edges[column], masks[column]) for column in columns}, value)

    def leaves(self, features: Floats) -> Floats:
        """What each tree adds for each row."""
        left = np.full((len(features), len(self._value)), 2**_MAX_LEAVES - 1, np.uint16)
        for column, (edge, mask) in self._masks.items():
            values = features[:, column]
            place = np.where(np.isnan(values), len(mask) - 1, np.searchsorted(edge, values))
            left &= mask.take(place, axis=0)
        return self._value.take(_FIRST_BIT.take(left) + self._first)


def _cuts_of(forest: Forest, root: int) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Leaves of a tree from left to right; and of each inner node, the leaves left of its cut."""
    leaves: list[int] = []
    cuts: list[tuple[int, int, int]] = []
    todo: list[tuple[int, int]] = [(root, -1)]
    while todo and len(leaves) <= _MAX_LEAVES:
        node, first = todo.pop()
        if first >= 0:
            cuts.append((node, first, len(leaves)))
            todo.append((forest.right[node], -1))
        elif forest.feature[node] < 0:
            leaves.append(node)
        else:
            todo += [(node, len(leaves)), (forest.left[node], -1)]
    return leaves, cuts


def join_forests(forests: Iterable[Forest], start: float, models: int) -> Forest:
    """The trees of several forests as one."""
    names = ("roots", "feature", "threshold", "left", "right", "missing_left", "value")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for forest in forests:
        first = len(columns["feature"])
        for name, values in columns.items():
            move = first if name in ("roots", "left", "right") else 0
            mine = getattr(forest, name)
            values.extend([value + move for value in mine] if move else mine)
    return Forest(start=start, models=models, **columns)


_MAX_ROWS_IN_PYTHON = 1 << 15

# -- made by scikit-learn --------------------------------------------------------------------------


def has_boosting() -> bool:
    """Whether scikit-learn is there."""
    try:
        import sklearn.ensemble  # noqa: F401, PLC0415 - optional
    except ImportError:
        return False
    return True


def boosted_forest(features: Floats, target: Floats, *, seed: int, rounds: int) -> Forest:
    """Trees that each mend what those before got wrong, for the median of the target."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415 - an extra
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - scikit-learn brings it

    model = HistGradientBoostingRegressor(
        loss="absolute_error",
        max_iter=rounds,
        learning_rate=0.1,
        max_leaf_nodes=15,
        max_depth=12,
        min_samples_leaf=min(TreesLimits.leaf_cycles, max(1, len(target) // 10)),
        max_features=0.5,
        early_stopping=False,
        random_state=seed,
    )
    # Threads wait for each other in loops: beside a busy program that takes ten times as long.
    with threadpool_limits(1 if len(target) < _MAX_ROWS_IN_PYTHON else None, user_api="openmp"):
        model.fit(features, target)
    trees = (_plain(predictor.nodes) for (predictor,) in model._predictors)  # noqa: SLF001 - nothing else has them
    return join_forests(trees, float(np.ravel(model._baseline_prediction)[0]), 1)  # noqa: SLF001


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

_MIN_IN_BUCKET, _DEEPEST_BUCKET, _CUTS = 12, 9, 8


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
    node = len(tree["feature"])
    plain = (-1, 0.0, 0, 0, True, float(np.median(target[rows])))
    for name, value in zip(tree, plain, strict=True):
        tree[name].append(value)
    cut = _best_cut(features[rows], target[rows]) if depth < _DEEPEST_BUCKET else None
    if cut is None:
        return node
    column, threshold = cut
    lower = features[rows, column] <= threshold
    tree["feature"][node], tree["threshold"][node], tree["value"][node] = column, threshold, 0.0
    tree["left"][node] = _grow(tree, features, target, rows[lower], depth + 1)
    tree["right"][node] = _grow(tree, features, target, rows[~lower], depth + 1)
    return node


def _best_cut(features: Floats, target: Floats) -> tuple[int, float] | None:
    """The feature and value that leave the least distance to the medians of both sides."""
    if len(target) < 2 * _MIN_IN_BUCKET:
        return None
    best, best_cut = _spread(target) * 0.99, None
    if best <= 0:
        return None
    shares = np.linspace(0, 1, _CUTS + 2)[1:-1]
    for column in range(features.shape[1]):
        values = features[:, column]
        for cut in np.unique(np.quantile(values, shares, method="lower")):
            lower = values <= cut
            many = np.count_nonzero(lower)
            if min(many, len(lower) - many) < _MIN_IN_BUCKET:
                continue
            left = _spread(target[lower])
            # Of most cuts one side tells enough.
            if left < best and (left := left + _spread(target[~lower])) < best:
                best, best_cut = left, (column, float(cut))
    return best_cut


def _spread(target: Floats) -> float:
    """Distances to the median, which is found by hand: NumPy looks for what is missing as well."""
    upper = len(target) // 2
    lower = upper - 1 + len(target) % 2
    ordered = np.partition(target, (lower, upper))
    return float(np.abs(target - (ordered[lower] + ordered[upper]) / 2).sum())
