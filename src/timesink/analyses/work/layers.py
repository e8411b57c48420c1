"""Normalisations, softmax, losses, pooling and the like."""

from __future__ import annotations

from collections.abc import Mapping

from timesink.analyses.work.work import Formula

FORMULAS: Mapping[str, Formula] = {}
