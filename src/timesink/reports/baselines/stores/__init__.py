"""Where baselines are kept: a folder, or whatever a URL names."""

from __future__ import annotations

import os
from pathlib import Path

from timesink.errors import UsageError
from timesink.reports.baselines.stores.folder import FolderStore
from timesink.reports.baselines.stores.store import Store

DEFAULT = Path(".timesink") / "baselines"
"""Below the working directory."""
VARIABLE = "TIMESINK_BASELINES"
"""Names another store for all commands."""
_URL = "://"


def store_at(place: str | Path | None = None) -> Store:
    """The store of a folder or URL; without one that of the environment, or of this folder."""
    chosen = os.environ.get(VARIABLE) or DEFAULT if place is None else place
    if isinstance(chosen, str) and _URL in chosen:
        # A folder needs nothing that has to be installed.
        from timesink.reports.baselines.stores.remote import RemoteStore  # noqa: PLC0415

        return RemoteStore(chosen)
    if not str(chosen):
        raise UsageError("the store of baselines is empty", "name a folder or a URL with --store")
    return FolderStore(Path(chosen))
