"""File systems behind URLs, through fsspec: reached lazily, and what they raise said in words."""

from __future__ import annotations

import hashlib
import importlib
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec.structs import replace

from timesink.errors import TimesinkError, UnreadableError, UsageError
from timesink.formats.file_names import is_profiler_name, rank_in_name
from timesink.formats.read_options import Progress
from timesink.formats.source_file import head_of_packed
from timesink.formats.stored_names import SCHEMA_VERSION
from timesink.patterns import regex
from timesink.recorder.places import CONTROL_FOLDER
from timesink.sources import sidecars
from timesink.sources.cache import READER_VERSION
from timesink.sources.places import is_wild, password_in, without_password
from timesink.sources.recordings import Recording, RemoteFile, recording_of

ACCESS = "check the URL, your access to it, and the network"
"""What to try when a file system refuses."""


def connect(url: str, *, otherwise: str = "copy the files to this machine") -> tuple[Any, str]:
    """The file system of a URL, and the place in it; `otherwise` is what to do without fsspec."""
    safe_url = without_password(url)
    try:
        fsspec = importlib.import_module("fsspec")
    except ModuleNotFoundError:
        raise UsageError(
            f"{safe_url}: a URL needs fsspec, which is not installed",
            f"pip install 'timesink[remote]', or {otherwise}",
        ) from None
    if "/" in (password_in(url) or ""):
        # Whoever takes the URL apart would take half of it for a port, and say so.
        raise UsageError(f"{safe_url}: a password holds a /", "write it as %2F")
    try:
        system, place = fsspec.core.url_to_fs(url)
    except ImportError as error:
        # Its message names what to install for this sort of URL.
        hint = "pip install what it names, beside fsspec"
        raise UsageError(f"{safe_url}: {why(error)}", hint) from None
    except ValueError as error:
        hint = "name a path of this machine, or a URL fsspec knows"
        raise UsageError(f"{safe_url}: {why(error)}", hint) from None
    except FileNotFoundError:
        # What holds it, such as an archive, is opened at once.
        raise UnreadableError.missing(safe_url) from None
    except Exception as error:
        raise UnreadableError(f"{safe_url}: cannot be reached ({why(error)})", ACCESS) from error
    return system, str(place).rstrip("/")


@contextmanager
def wrap_errors(url: str, what: str, kind: type[TimesinkError] = UnreadableError) -> Iterator[None]:
    """Whatever a file system raises, in words; each has errors of its own.

    That a file is not there is left to the caller, who may know better what that means.
    """
    try:
        yield
    except (FileNotFoundError, TimesinkError):
        raise
    except Exception as error:
        raise kind(f"{without_password(url)}: {what} ({why(error)})", ACCESS) from error


def why(error: BaseException) -> str:
    """What an error says, on one line and without passwords."""
    return without_password(" ".join(str(error).split())) or type(error).__name__


_PAGES = regex(r"^https?://", re.IGNORECASE)


class RemoteUrl(msgspec.Struct, frozen=True):
    """The parts of a URL around the place in the file system.

    fsspec chains file systems: `zip://rank0.json::s3://bucket/run.zip` is a file in an archive.
    """

    before: str
    """What wraps the file system, such as a cache."""
    root: str
    """What stands in front of a place: scheme, user, password and host."""
    hidden: str
    """How places begin that the URL says otherwise, as where a host names a container."""
    after: str
    """What the file system lies in."""
    may_be_pattern: bool

    @classmethod
    def of(cls, url: str, place: str) -> RemoteUrl:
        """The parts of a URL that leads to a place of its file system."""
        links = url.split("::")
        link_number = next(number for number, link in enumerate(links) if "://" in link)
        link = (
            links[link_number]
            if links[link_number].endswith("://")
            else links[link_number].rstrip("/")
        )
        # How many characters at the end of two texts are the same.
        pairs = zip(reversed(link), reversed(place), strict=False)
        common_length = next(
            (n for n, (a, b) in enumerate(pairs) if a != b), min(len(link), len(place))
        )
        return cls(
            "".join(f"{link}::" for link in links[:link_number]),
            link[: len(link) - common_length],
            place[: len(place) - common_length],
            "".join(f"::{link}" for link in links[link_number + 1 :]),
            # In the URL of a page, a question mark starts what is asked for.
            not _PAGES.match(link) or "*" in link,
        )

    def url_of(self, place: str) -> str:
        """The URL of a place in the file system."""
        return f"{self.before}{self._link(place)}{self.after}"

    def _link(self, place: str) -> str:
        return place if "://" in place else self.root + place.removeprefix(self.hidden)

    def path_of(self, place: str) -> Path:
        """A path that has the name of the file and of its folder, and is of no other file."""
        place_link = self._link(place)
        place_link = place_link.partition("?")[0] if _PAGES.match(place_link) else place_link
        around = [link for link in reversed(self.after.split("::")) if link]
        return Path(without_password("/".join([*around, place_link])))


_MAX_HEADS = 200
"""Files whose first bytes are looked at; of more, the names have to do."""
_VERSIONS = regex(
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
    system, place = connect(url)
    parts = RemoteUrl.of(url, place)
    safe_url = without_password(url)
    try:
        with wrap_errors(url, "cannot be listed"):
            system.invalidate_cache()
            if parts.may_be_pattern and is_wild(place):
                listed = _files(system.glob(place, detail=True))
                if not listed:
                    raise UnreadableError.no_match(safe_url)
                return _chosen(parts, listed, listed)
            about = system.info(place)
            if about.get("type") != "directory":
                beside: _Listed = {}
                # Who may read a file may not always see what is beside it.
                with suppress(Exception):
                    if "://" not in place:
                        near = system.ls(place.rpartition("/")[0], detail=True)
                        beside = _files({entry["name"]: entry for entry in near})
                return _chosen(parts, {place: about}, beside)
            listed = _files(system.find(place, detail=True))
    except FileNotFoundError:
        raise UnreadableError.missing(safe_url) from None
    # Traces of the folder itself, else those of folders below.
    folders: defaultdict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for file, about in listed.items():
        folders[file.rpartition("/")[0].strip("/")][file] = about
    traces = {folder: _traces(system, files) for folder, files in folders.items()}
    below = {file: about for files in traces.values() for file, about in files.items()}
    trace_files = traces.get(place.strip("/")) or below
    if not trace_files:
        raise UnreadableError.no_trace(safe_url)
    return _chosen(parts, trace_files, listed)


def remote_head(url: str) -> bytes:
    """The first bytes of a remote file, unpacked."""
    system, place = connect(url)
    with wrap_errors(url, "cannot be read"):
        return _head(system, place)


def _head(system: Any, place: str) -> bytes:
    packed: bytes = system.cat_file(place, start=0, end=sidecars.HEAD_BYTES)
    return head_of_packed(packed)


def _files(listed: Mapping[str, Mapping[str, Any]]) -> _Listed:
    return {
        str(place): about
        for place, about in sorted(listed.items())
        if about.get("type") != "directory" and CONTROL_FOLDER not in PurePosixPath(place).parts
    }


def _traces(system: Any, files: _Listed) -> _Listed:
    """Traces of one folder: those with the profiler's names if there are any, else by content."""
    named = {place: about for place, about in files.items() if _is_named_like_trace(place)}
    by_profiler = [place for place in named if is_profiler_name(place)]
    if by_profiler:
        return {place: named[place] for place in by_profiler}
    names = {place: PurePosixPath(place).name for place in named}
    doubtful = [
        place
        for place, name in names.items()
        # An ending of traces, and a rank: that says enough.
        if rank_in_name(name) is None or sidecars.is_named_by_rank_alone(name)
    ]
    if len(doubtful) > _MAX_HEADS:
        return named
    other_places = set()
    for place in doubtful:
        # What cannot be read is reported by whoever opens it.
        with suppress(Exception):
            head = _head(system, place)
            is_accepted = sidecars.is_named_as_event_table(names[place]) or not head
            is_accepted = is_accepted or sidecars.is_sure_by_name(place)
            if not is_accepted and not sidecars.head_may_be_trace(
                head, is_whole=len(head) < sidecars.HEAD_BYTES
            ):
                other_places.add(place)
    return {place: about for place, about in named.items() if place not in other_places}


def _is_named_like_trace(place: str) -> bool:
    name = PurePosixPath(place).name
    return sidecars.is_named_like_trace(name) and name != sidecars.RUN_FILE


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
        shared = traces[folder] == 1 or (sidecars.RUN_FILE in near and name != sidecars.RUN_FILE)
        beside = tuple(
            _remote(parts, near_place, listed[near_place])
            for other, near_place in near.items()
            if near_place != place and sidecars.belongs_beside(other, name, shared=shared)
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
    version_facts = sorted(
        (str(key), str(value))
        for key, value in about.items()
        if _VERSIONS.match(str(key)) and value not in (None, "")
    )
    version = repr((without_password(url), size, version_facts)) if version_facts else ""
    return RemoteFile(url, int(size) if isinstance(size, (int, float)) else 0, version)


def remote_key(recording: Recording) -> str:
    """Key of a remote recording and of what is read with it; empty where nobody knows versions.

    It is found without the network, and is the same on every machine.
    """
    files = [recording.remote, *recording.beside]
    versions = [file.version for file in files if file is not None]
    if not all(versions):
        return ""
    digest = hashlib.blake2b(f"remote {SCHEMA_VERSION}.{READER_VERSION}".encode(), digest_size=16)
    for version in versions:
        digest.update(b"\0" + version.encode())
    return digest.hexdigest()


@contextmanager
def on_this_machine(recording: Recording, progress: Progress | None = None) -> Iterator[Path]:
    """The path of a recording; a remote one is copied, and the copy removed in the end."""
    if recording.remote is None:
        yield recording.path
        return
    with tempfile.TemporaryDirectory(prefix="timesink-") as folder:
        copy = Path(folder) / recording.path.name
        _copy(recording.remote, copy, progress)
        for file in recording.beside:
            _copy(file, Path(folder) / Path(file.url.partition("::")[0]).name)
        try:
            yield copy
        except UnreadableError as error:
            # The copy is gone when anybody reads this.
            message = error.message.replace(str(copy), recording.source)
            raise UnreadableError(message, error.hint) from None


def _copy(file: RemoteFile, target: Path, progress: Progress | None = None) -> None:
    """Copy a remote file, piece by piece."""
    system, place = connect(file.url)
    options: dict[str, Any] = {}
    if progress is not None and file.size_bytes:

        def tell(_size: int | None, done: int, **_: object) -> None:
            progress(min(done, file.size_bytes), file.size_bytes)

        callbacks = importlib.import_module("fsspec.callbacks")
        options["callback"] = callbacks.Callback(hooks={"progress": tell})
    try:
        with wrap_errors(file.url, "cannot be copied"):
            system.get_file(place, str(target), **options)
    except FileNotFoundError:
        raise UnreadableError.missing(without_password(file.url)) from None
