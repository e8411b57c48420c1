"""What lies inside the served folder: links are not ways out of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from timesink.errors import NotFoundError


@dataclass(frozen=True)
class Inside:
    """Decides which files may be reached."""

    root: Path
    follow_links: bool = False
    """Whether links may lead out of the folder."""

    def holds(self, path: Path) -> bool:
        """Whether a path may be reached, wherever its links lead."""
        if self.follow_links:
            return True
        try:
            return path.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError):  # links that lead in a circle
            return False

    def check(self, paths: Iterable[Path]) -> None:
        """Refuse files that lie elsewhere."""
        for path in paths:
            if not self.holds(path):
                raise NotFoundError(
                    f"{path.name} of {path.parent.name}: a link that leads out of the served "
                    "folder, which is not followed",
                    "copy the file, serve the folder it lies in, or start with --follow-links",
                )

    def check_below(self, folder: Path) -> None:
        """Refuse a folder with a link that leads elsewhere, at any depth."""
        if self.follow_links:
            return
        for place, folders, files in os.walk(folder):
            here = Path(place)
            self.check(here / name for name in (*folders, *files) if (here / name).is_symlink())
