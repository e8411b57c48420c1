"""Which folders TensorBoard shows."""

from __future__ import annotations

import os
import re
from pathlib import Path

_ADDRESS = re.compile(r"[a-zA-Z][0-9a-zA-Z.]*://")


def log_folders(logdir: str, logdir_spec: str = "") -> dict[str, Path]:
    """The folders TensorBoard was told to show, by what the names of their runs begin with.

    As in TensorBoard, `--logdir` is one folder, and `--logdir_spec` a list of folders, each of
    which may have a name.  Folders on other machines (`gs://...`) hold nothing we could read.
    """
    if logdir:
        return {} if _ADDRESS.match(logdir) else {"": _expanded(logdir)}
    folders = {}
    for given in filter(None, logdir_spec.split(",")):
        if not _ADDRESS.match(given):
            name, colon, rest = given.partition(":")
            has_name = colon and not given.startswith("/") and not os.path.splitdrive(given)[0]
            path = _expanded(rest if has_name else given)
            folders[(has_name and name) or path.as_posix().strip("/")] = path
    return folders


def _expanded(path: str) -> Path:
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - a link keeps its name
