"""Recordings behind a URL: what a file system lists, without reading the traces."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from timesink.collect.record.places import CONTROL_FOLDER
from timesink.errors import UnreadableError
from timesink.readers.beside import (
    HEAD_BYTES,
    belongs_beside,
    head_may_be_trace,
    is_named_as_event_table,
    is_named_by_rank_alone,
    is_named_like_trace,
)
from timesink.readers.discover import recording_of
from timesink.readers.names import is_profiler_name, rank_in_name
from timesink.readers.places import is_wild, without_password
from timesink.readers.recording import Recording, RemoteFile
from timesink.readers.remote_places import connected, saying
from timesink.readers.remote_urls import RemoteUrl
from timesink.readers.run_file import RUN_FILE
from timesink.readers.source import head_of_packed

_MOST_HEADS = 200
"""Files whose first bytes are looked at; of more, the names have to do."""
_VERSIONS = re.compile(
    r"^(?:e_?tag|content[-_]?(?:md5|hash)|digest|md5(?:_?hash)?|crc(?:32c?)?|check_?sum|sha(?:256)?"
    r"|version(?:_?id)?|generation|blob_?id|oid|[mc]time|mod(?:ify|ified|ification_?time)?"
    r"|last[-_]?modified|updated|created|date_time)$",
    re.IGNORECASE,
)
"""What file systems call that which changes with the content."""

_Listed = Mapping[str, Mapping[str, Any]]
"""Files by their place in the file system, with what it says of them."""


def remote_recordings(url: str) -> list[Recording]:
    """Every trace at a URL of a file, a folder or a pattern; spans are not numbered."""
    system, place = connected(url)
    parts = RemoteUrl.of(url, place)
    said = without_password(url)
    try:
        with saying(url, "cannot be listed"):
            system.invalidate_cache()
            if parts.may_be_pattern and is_wild(place):
                listed = _files(system.glob(place, detail=True))
                if not listed:
                    raise UnreadableError.no_match(said)
                return _chosen(parts, listed, listed)
            about = system.info(place)
            if about.get("type") != "directory":
                return _chosen(parts, {place: about}, _neighbours(system, place))
            listed = _files(system.find(place, detail=True))
    except FileNotFoundError:
        raise UnreadableError.missing(said) from None
    found = _traces_of_folder(system, place, listed)
    if not found:
        raise UnreadableError.no_trace(said)
    return _chosen(parts, found, listed)


def remote_head(url: str) -> bytes:
    """The first bytes of a remote file, unpacked."""
    system, place = connected(url)
    with saying(url, "cannot be read"):
        return _head(system, place)


def _head(system: Any, place: str) -> bytes:
    packed: bytes = system.cat_file(place, start=0, end=HEAD_BYTES)
    return head_of_packed(packed)


def _files(listed: Mapping[str, Mapping[str, Any]]) -> _Listed:
    return {
        str(place): about
        for place, about in sorted(listed.items())
        if about.get("type") != "directory" and CONTROL_FOLDER not in PurePosixPath(place).parts
    }


def _neighbours(system: Any, place: str) -> _Listed:
    """Files in the folder of a file; none where the file system does not list."""
    folder = place.rpartition("/")[0]
    if "://" in place:
        return {}
    # Who may read a file may not always see what is beside it.
    with suppress(Exception):
        return _files({one["name"]: one for one in system.ls(folder, detail=True)})
    return {}


def _traces_of_folder(system: Any, root: str, listed: _Listed) -> _Listed:
    """Traces of the folder itself, else those of folders below."""
    folders: defaultdict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for place, about in listed.items():
        folders[place.rpartition("/")[0].strip("/")][place] = about
    found = {folder: _traces(system, files) for folder, files in folders.items()}
    own = found.get(root.strip("/"))
    return own or {place: about for files in found.values() for place, about in files.items()}


def _traces(system: Any, files: _Listed) -> _Listed:
    """Traces of one folder: those with the profiler's names if there are any, else by content."""
    named = {place: about for place, about in files.items() if _is_named_like_trace(place)}
    by_profiler = [place for place in named if is_profiler_name(place)]
    if by_profiler:
        return {place: named[place] for place in by_profiler}
    doubtful = [place for place in named if not _is_named_by_rank(PurePosixPath(place).name)]
    if len(doubtful) > _MOST_HEADS:
        return named
    others = {place for place in doubtful if not _may_be_trace(system, place)}
    return {place: about for place, about in named.items() if place not in others}


def _is_named_by_rank(name: str) -> bool:
    """Whether a name says enough: an ending of traces, and a rank."""
    return rank_in_name(name) is not None and not is_named_by_rank_alone(name)


def _is_named_like_trace(place: str) -> bool:
    name = PurePosixPath(place).name
    return is_named_like_trace(name) and name != RUN_FILE


def _may_be_trace(system: Any, place: str) -> bool:
    # What cannot be read is reported by whoever opens it.
    with suppress(Exception):
        head = _head(system, place)
        named = is_named_as_event_table(PurePosixPath(place).name)
        return named or not head or head_may_be_trace(head, is_whole=len(head) < HEAD_BYTES)
    return True


def _chosen(parts: RemoteUrl, files: _Listed, listed: _Listed) -> list[Recording]:
    """Files as recordings, with what lies beside them; what is no trace by its name goes.

    Unless all are so: a pattern that fits nothing else names them.
    """
    folders: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for place in listed:
        folder, _, name = place.rpartition("/")
        folders[folder][name] = place
    traces = Counter(place.rpartition("/")[0] for place in files)
    named = {place: about for place, about in files.items() if _is_named_like_trace(place)}
    recordings = []
    for place, about in (named or files).items():
        folder, _, name = place.rpartition("/")
        near = folders[folder]
        shared = traces[folder] == 1 or (RUN_FILE in near and name != RUN_FILE)
        beside = tuple(
            _remote(parts, one, listed[one])
            for other, one in near.items()
            if one != place and belongs_beside(other, name, shared=shared)
        )
        recordings.append(
            replace(
                recording_of(parts.path_of(place)),
                remote=_remote(parts, place, about),
                beside=beside,
            )
        )
    return recordings


def _remote(parts: RemoteUrl, place: str, about: Mapping[str, Any]) -> RemoteFile:
    url = parts.url_of(place)
    size = about.get("size")
    told = sorted(
        (str(key), str(value))
        for key, value in about.items()
        if _VERSIONS.match(str(key)) and value not in (None, "")
    )
    version = repr((without_password(url), size, told)) if told else ""
    return RemoteFile(url, int(size) if isinstance(size, (int, float)) else 0, version)
