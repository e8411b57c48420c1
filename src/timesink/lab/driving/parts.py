"""Recordings packed as they come, for a machine that may be taken away before the last of them.

A part is a `.tar.xz` that grows by one recording at a time and is readable at any moment: what is
added is an archive of its own, so `xz -dc PARTS/*.tar.xz | tar -xi` unpacks them all.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_QUICK = 1
"""A second for a recording; the best presets take twenty for a tenth less."""
_STORED = 0


@dataclass(frozen=True)
class PackedParts:
    """A folder of parts."""

    folder: Path
    most_bytes: int = 15_000_000

    def add(self, root: Path, paths: Iterable[Path]) -> None:
        """Pack files below `root`, those that are there, under their place in it."""
        packed = _packed(root, [path for path in paths if path.is_file()])
        self.folder.mkdir(parents=True, exist_ok=True)
        there = len(list(self.folder.glob("part-*.tar.xz")))
        last = self._part(max(1, there))
        is_full = last.exists() and last.stat().st_size + len(packed) > self.most_bytes
        with (self._part(there + 1) if is_full else last).open("ab") as file:
            file.write(packed)

    def _part(self, number: int) -> Path:
        return self.folder / f"part-{number:02}.tar.xz"


def _packed(root: Path, paths: list[Path]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for path in paths:
            content = _loose(path)
            entry = archive.gettarinfo(path, arcname=str(path.relative_to(root)))
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    import lzma  # noqa: PLC0415 - some builds of Python lack it

    return lzma.compress(made.getvalue(), preset=_QUICK)


def _loose(path: Path) -> bytes:
    """The content; gzip only wraps what it packed before, so that xz makes it a third smaller."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        # One that was cut off is taken as it is.
        with suppress(EOFError, OSError, zlib.error):
            return gzip.compress(gzip.decompress(content), _STORED)
    return content
