"""Baselines behind a URL: whatever fsspec reaches, such as s3://, gs:// or sftp://."""

from __future__ import annotations

import uuid
from contextlib import AbstractContextManager, suppress
from typing import Any

from timesink.errors import OutputError, TimesinkError, UnreadableError
from timesink.readers.places import without_password
from timesink.readers.remote_places import connected, saying
from timesink.reports.baselines.stores.store import ENDING, baseline_names

_RENAMING = frozenset({"file", "local", "sftp", "ssh", "smb", "hdfs", "dir", "memory"})
"""File systems that show a file while it is written; others show whole objects only."""


class RemoteStore:
    """Baselines behind a URL."""

    def __init__(self, url: str) -> None:
        self._url = without_password(url)
        self._system, self._root = connected(url, otherwise="name a folder with --store")

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

    def _saying(self, what: str, kind: type[TimesinkError]) -> AbstractContextManager[None]:
        return saying(self._url, what, kind)


def _protocols(system: Any) -> set[str]:
    names = system.protocol
    return {names} if isinstance(names, str) else set(names)
