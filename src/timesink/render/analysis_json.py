"""The answer of `timesink analyze` as JSON; apart from text, which needs far more loaded."""

from __future__ import annotations

import msgspec

from timesink.reports.analysis import Analysis


def to_json(analysis: Analysis) -> str:
    """The whole answer, indented."""
    encoded = msgspec.json.encode(analysis.to_dict())
    return msgspec.json.format(encoded, indent=2).decode()
