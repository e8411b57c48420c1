"""What the app asks for: a route is a line that names a function."""

from __future__ import annotations

from collections.abc import Mapping

from timesink.server.api.comparing import comparison
from timesink.server.api.counting import utilisation
from timesink.server.api.documents import document, stacks, table
from timesink.server.api.listing import runs
from timesink.server.api.timelines import timeline_routes
from timesink.server.desk import Answer

API: Mapping[str, Answer] = {
    "runs": runs,
    "document": document,
    "table": table,
    "stacks": stacks,
    "compare": comparison,
    "utilisation": utilisation,
    **timeline_routes(),
}
"""What answers `api/NAME`."""
