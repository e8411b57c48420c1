"""From which distance on roles are told apart: no role may differ from itself.

Every role is parted twice, into even and odd cycles and into halves.  What these null pairs still
differ by in a feature after all errors, samples of a slow counter that many cycles share for
instance, is taken off every difference in that feature.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from timesink.analyses.clustering.features import Feature
from timesink.model.arrays import Floats
from timesink.model.units import counted, listed

THRESHOLD = float(np.log2(1.5))
"""Less than a factor of 1.5 is no behaviour of its own, however sure it is."""
MOST = 1.0
"""What may be taken off at most: a role that changed half-way must not hide what others do."""
_SHARE_PCT = 99.0
"""Share of the null pairs that must stay together."""
_SHOWN = 3


def allowances(null: Floats) -> Floats:
    """What to take off in each feature, from differences of null pairs (pairs, roles, features)."""
    pairs = null.reshape(-1, null.shape[-1])
    taken = np.zeros(pairs.shape[1])
    known = ~np.isnan(pairs).all(axis=0)
    taken[known] = np.nanpercentile(pairs[:, known], _SHARE_PCT, axis=0, method="higher")
    return np.minimum(taken, MOST)


def threshold_reason(null: Floats, features: Sequence[Feature], labels: Sequence[str]) -> str:
    """What the threshold comes to and what the null pairs said."""
    known = ~np.isnan(null).all(axis=2)
    if not known.any():
        return "a factor of 1.5; no role has enough cycles to be compared with itself"
    allowed = allowances(null)
    most = int(allowed.argmax())
    found = counted(int(known.sum()), "pairs")
    if allowed[most] > 0:
        found += f"; {features[most].name} up to {2 ** allowed[most]:.3g} x"
    reason = f"a factor of 1.5 more than parts of one role differ by ({found})"
    unsteady = _unsteady(null - allowed, labels)
    return f"{reason}; {unsteady}" if unsteady else reason


def _unsteady(left: Floats, labels: Sequence[str]) -> str:
    """Who differs from himself by more than others may differ from each other."""
    most = np.fmax.reduce(np.fmax.reduce(left, axis=2), axis=0)
    names = [label for label, own in zip(labels, most, strict=True) if own >= THRESHOLD]
    if not names:
        return ""
    return f"{listed(names, _SHOWN)} changed during the recording"
