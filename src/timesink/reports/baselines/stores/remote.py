"""Baselines behind a URL: whatever fsspec reaches, such as s3://, gs:// or sftp://."""

from __future__ import annotations

import importlib
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from timesink.errors import OutputError, TimesinkError, UnreadableError, UsageError
from timesink.reports.baselines.stores.store import ENDING

_RENAMING = frozenset({"file", "local", "sftp", "ssh", "smb", "hdfs", "dir", "memory"})
"""File systems that show a file while it is written; others show whole objects only."""


class RemoteStore:
    """Baselines behind a URL.

    >>> store = RemoteStore("memory://example")
    >>> store.write("main", b"content")
    >>> store.names(), store.read("main"), store.remove("main"), store.remove("main")
    (['main'], b'content', True, False)
    """

    def __init__(self, url: str) -> None:
        self._url = _sayable(url)
        self._system, self._root = _connected(url)

    @property
    def place(self) -> str:
        return self._url

    def read(self, name: str) -> bytes | None:
        try:
            with self._saying("cannot be read", UnreadableError):
                content: bytes = self._system.cat_file(self._file(name))
        except FileNotFoundError:
            return None
        return content

    def write(self, name: str, content: bytes) -> None:
        with self._saying("cannot be written", OutputError):
            self._system.makedirs(self._root, exist_ok=True)
            if _RENAMING.isdisjoint(_protocols(self._system)):
                self._system.pipe_file(self._file(name), content)
                return
            aside = f"{self._root}/.writing-{uuid.uuid4().hex}"
            try:
                self._system.pipe_file(aside, content)
                self._system.mv(aside, self._file(name))
            except BaseException:
                with suppress(Exception):
                    self._system.rm_file(aside)
                raise

    def names(self) -> list[str]:
        try:
            with self._saying("cannot be listed", UnreadableError):
                self._system.invalidate_cache()
                found = self._system.ls(self._root, detail=False)
        except FileNotFoundError:
            return []
        files = [str(path).rstrip("/").rpartition("/")[2] for path in found]
        return sorted(
            file.removesuffix(ENDING)
            for file in files
            if file.endswith(ENDING) and not file.startswith(".")
        )

    def remove(self, name: str) -> bool:
        try:
            with self._saying("cannot be removed", OutputError):
                if not self._system.exists(self._file(name)):
                    return False
                self._system.rm_file(self._file(name))
        except FileNotFoundError:
            return False
        return True

    def _file(self, name: str) -> str:
        return f"{self._root}/{name}{ENDING}"

    @contextmanager
    def _saying(self, what: str, kind: type[TimesinkError]) -> Iterator[None]:
        """Whatever a file system raises, in words; each has errors of its own."""
        try:
            yield
        except FileNotFoundError:
            raise
        except Exception as error:
            why = " ".join(str(error).split()) or type(error).__name__
            hint = "check the URL, your access to it, and the network"
            raise kind(f"{self._url}: {what} ({why})", hint) from error


def _protocols(system: Any) -> set[str]:
    names = system.protocol
    return {names} if isinstance(names, str) else set(names)


def _sayable(url: str) -> str:
    """A URL without the password in it.

    >>> _sayable("sftp://me:secret@host/runs"), _sayable("s3://bucket/runs")
    ('sftp://me@host/runs', 's3://bucket/runs')
    """
    return re.sub(r"(://[^/@:]*):[^/@]*@", r"\1@", url)


def _connected(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the folder in it."""
    try:
        fsspec = importlib.import_module("fsspec")
    except ModuleNotFoundError:
        raise UsageError(
            f"{_sayable(url)}: a URL needs fsspec, which is not installed",
            "pip install 'timesink[remote]', or name a folder with --store",
        ) from None
    try:
        system, root = fsspec.core.url_to_fs(url)
    except ImportError as error:
        # Its message names what to install for this sort of URL.
        raise UsageError(
            f"{_sayable(url)}: {error}", "pip install what it names, beside fsspec"
        ) from None
    except ValueError as error:
        raise UsageError(
            f"{_sayable(url)}: {error}", "name a folder, or a URL fsspec knows"
        ) from None
    return system, str(root).rstrip("/")
