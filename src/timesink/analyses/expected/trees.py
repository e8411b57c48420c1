"""Decision trees as arrays: made by scikit-learn or, without it, here; asked with NumPy alone.

A forest is several models in one: each is a sum of trees, and what is expected is their mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_BLOCK = 1 << 8
"""Cycles asked at once, so that what all trees say of them stays small."""
MOST_NODES, DEEPEST = 2_000_000, 64


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
        if feature.min() < -1 or feature.max() >= features or not _within(roots, 0, size):
            return "its trees ask for features it does not have"
        own = np.arange(size)
        if ((left <= own) | (right <= own) | (left >= size) | (right >= size))[inner].any():
            return "its trees run in circles"
        return "" if self._depth(roots, left, right, inner) <= DEEPEST else "its trees are too deep"

    def _depth(
        self,
        roots: npt.NDArray[Any],
        left: npt.NDArray[Any],
        right: npt.NDArray[Any],
        inner: npt.NDArray[np.bool_],
    ) -> int:
        level, depth = np.unique(roots), 0
        while len(level) and depth <= DEEPEST:
            level = level[inner[level]]
            level = np.unique(np.concatenate([left[level], right[level]]))
            depth += 1
        return depth


def _within(values: npt.NDArray[Any], low: int, high: int) -> bool:
    return bool(((values >= low) & (values < high)).all())


class AskedForest:
    """A forest as arrays."""

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

    def predict(self, features: Floats) -> Floats:
        """What is expected for each row of features; missing ones are NaN."""
        found = np.empty(len(features))
        for at in range(0, len(features), _BLOCK):
            found[at : at + _BLOCK] = self._block(features[at : at + _BLOCK])
        return found

    def _block(self, features: Floats) -> Floats:
        first = (np.arange(len(features)) * features.shape[1])[:, None]
        flat, missing = features.ravel(), bool(np.isnan(features).any())
        at = np.broadcast_to(self._roots, (len(features), len(self._roots)))
        for _ in range(DEEPEST + 1):
            told = flat.take(first + self._feature.take(at))
            goes_right = told > self._threshold.take(at)
            if missing:
                goes_right |= np.isnan(told) & ~self._missing_left.take(at)
            down = self._children.take(2 * at + goes_right)
            if np.array_equal(down, at):
                break
            at = down
        total: Floats = self._value.take(at).sum(axis=1) / self._models + self._start
        return total


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

    model = HistGradientBoostingRegressor(
        loss="absolute_error",
        max_iter=rounds,
        learning_rate=0.1,
        max_leaf_nodes=15,
        max_depth=12,
        min_samples_leaf=min(10, max(1, len(target) // 10)),
        max_features=0.5,
        early_stopping=False,
        random_state=seed,
    ).fit(features, target)
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
    best, found = _spread(target) * 0.99, None
    if len(target) < 2 * _FEWEST_IN_BUCKET or best <= 0:
        return None
    shares = np.linspace(0, 1, _CUTS + 2)[1:-1]
    for column in range(features.shape[1]):
        values = features[:, column]
        for cut in np.unique(np.quantile(values, shares, method="lower")):
            lower = values <= cut
            if min(lower.sum(), (~lower).sum()) < _FEWEST_IN_BUCKET:
                continue
            left = _spread(target[lower]) + _spread(target[~lower])
            if left < best:
                best, found = left, (column, float(cut))
    return found


def _spread(target: Floats) -> float:
    return float(np.abs(target - np.median(target)).sum())
