"""What a worker of a Ray cluster does for one item; it needs no Ray."""

from __future__ import annotations

import os
import pickle
import platform
from contextlib import suppress
from pathlib import Path

from timesink.engines.calling import Outcome, make, settle_down
from timesink.errors import UnreadableError


def answer(folder: str, call: bytes, item: bytes) -> Outcome:
    """Make a pickled call as if in `folder`, where whoever asks for it is."""
    # Paths that are not absolute start there; where there is no such folder, none is found.
    with suppress(OSError):
        os.chdir(folder)
    settle_down()
    path = local_path(pickle.loads(item))  # noqa: S301 - from whoever asks for the call
    if path is not None and not path.exists():
        return None, out_of_sight(path)
    return make(pickle.loads(call), item)  # noqa: S301 - likewise


def local_path(item: object) -> Path | None:
    """The file an item is about, unless that lies behind a URL."""
    path = getattr(item, "path", None)
    is_remote = getattr(item, "remote", None) is not None
    return path if isinstance(path, Path) and not is_remote else None


def out_of_sight(path: Path) -> UnreadableError:
    """A file that is not there for the worker.

    >>> out_of_sight(Path("rank0.json")).message
    'rank0.json: not to be seen from the Ray worker on ...'
    """
    return UnreadableError(
        f"{path}: not to be seen from the Ray worker on {platform.node()}",
        "paths must be the same on every node (a shared file system), or URLs such as s3://",
    )
