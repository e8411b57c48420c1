"""What should be said about a recording whose fault is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_ASKED = ("anomaly", "cause", "verdict")


@dataclass(frozen=True)
class Expected:
    """What should head the lists, and the verdict; None where nothing is asked.

    `a|b` is either of two names; the first is the one that is meant.
    """

    anomaly: str | None = None
    cause: str | None = None
    verdict: str | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether no name should be given at all."""
        return self.anomaly is None and self.cause is None


def expected_of(about: Mapping[str, Any], known: Mapping[str, Expected]) -> Expected:
    """What a `fault.json` expects, else what is known of its fault."""
    told = {what: str(about[what]) for what in _ASKED if about.get(what)}
    return Expected(**told) if told else known.get(str(about.get("fault")), Expected())


def heads(wanted: str | None, names: Sequence[str]) -> bool:
    """Whether the wanted name stands first."""
    return wanted is None or (bool(names) and names[0] in wanted.split("|"))
