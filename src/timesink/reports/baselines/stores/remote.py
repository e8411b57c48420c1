"""Baselines behind a URL: whatever fsspec reaches, such as s3://, gs:// or sftp://."""

from __future__ import annotations

import importlib
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from timesink.errors import OutputError, TimesinkError, UnreadableError, UsageError
from timesink.reports.baselines.stores.store import ENDING, baseline_names

_ACCESS = "check the URL, your access to it, and the network"
_PASSWORD = re.compile(r"(://[^/@:\s]*):(?!\d+(?:/|$))(\S*)@")
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
        self._url = without_password(url)
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

    def add(self, name: str, content: bytes) -> bool:
        # Few file systems can do both at once.
        if name in self.names():
            return False
        self.write(name, content)
        return True

    def names(self) -> list[str]:
        try:
            with self._saying("cannot be listed", UnreadableError):
                self._system.invalidate_cache()
                found = self._system.ls(self._root, detail=False)
        except FileNotFoundError:
            return []
        files = [str(path).rstrip("/").rpartition("/")[2] for path in found]
        return baseline_names(files)

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
            raise kind(f"{self._url}: {what} ({_why(error)})", _ACCESS) from error


def _protocols(system: Any) -> set[str]:
    names = system.protocol
    return {names} if isinstance(names, str) else set(names)


def without_password(text: str) -> str:
    """A URL, or text with URLs in it, without the passwords; a port stays.

    >>> without_password("sftp://me:secret@host:22/runs")
    'sftp://me@host:22/runs'
    >>> without_password("sftp://host:22/runs@home")
    'sftp://host:22/runs@home'
    >>> without_password("no answer from ftp://me:a/b@c@host, ftp://host")
    'no answer from ftp://me@host, ftp://host'
    """
    return _PASSWORD.sub(r"\1@", text)


def _why(error: Exception) -> str:
    return without_password(" ".join(str(error).split())) or type(error).__name__


def _connected(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the folder in it."""
    try:
        fsspec = importlib.import_module("fsspec")
    except ModuleNotFoundError:
        raise UsageError(
            f"{without_password(url)}: a URL needs fsspec, which is not installed",
            "pip install 'timesink[remote]', or name a folder with --store",
        ) from None
    secret = _PASSWORD.search(url)
    if secret is not None and "/" in secret[2]:
        # Whoever takes the URL apart would take half of it for a port, and say so.
        raise UsageError(f"{without_password(url)}: a password holds a /", "write it as %2F")
    try:
        system, root = fsspec.core.url_to_fs(url)
    except ImportError as error:
        # Its message names what to install for this sort of URL.
        hint = "pip install what it names, beside fsspec"
        raise UsageError(f"{without_password(url)}: {_why(error)}", hint) from None
    except ValueError as error:
        hint = "name a folder, or a URL fsspec knows"
        raise UsageError(f"{without_password(url)}: {_why(error)}", hint) from None
    except Exception as error:
        raise UnreadableError(
            f"{without_password(url)}: cannot be reached ({_why(error)})", _ACCESS
        ) from error
    return system, str(root).rstrip("/")
