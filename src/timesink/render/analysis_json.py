"""The answer of `timesink analyze` as JSON; apart from text, which needs far more loaded."""

from __future__ import annotations

import msgspec

from timesink.reports.analysis import Analysis


def to_json(analysis: Analysis) -> str:
    """The whole answer, indented."""
    return msgspec.json.format(analysis.to_json(), indent=2).decode()
