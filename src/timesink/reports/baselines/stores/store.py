"""What a store of baselines can do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

ENDING = ".baseline"
"""Of the file that holds a baseline."""


def baseline_names(files: Iterable[str]) -> list[str]:
    """The baselines among files of these names, in order; what is being written is none."""
    return sorted(
        file.removesuffix(ENDING)
        for file in files
        if file.endswith(ENDING) and not file.startswith(".")
    )


class Store(Protocol):
    """Baselines by name; names were checked before (`names.checked_name`)."""

    @property
    def place(self) -> str:
        """Where it is, as the user knows it."""

    def read(self, name: str) -> bytes | None:
        """The content of a baseline; None where there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Keep a baseline, in the place of one of its name; nobody ever reads half of it."""

    def add(self, name: str, content: bytes) -> bool:
        """Keep a baseline where there is none of its name; False where there is."""

    def names(self) -> list[str]:
        """All baselines, in order."""

    def remove(self, name: str) -> bool:
        """Take a baseline away; False where there is none."""
