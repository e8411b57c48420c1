"""Which family of work a kernel does, by rules on its name that users can extend."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from timesink.analyses.kernels.names import short_name
from timesink.errors import UsageError
from timesink.model.rule_files import own_text

OTHER = "other"
FAMILY_NAMES = (
    "gemm",
    "attention",
    "convolution",
    "normalisation",
    "softmax",
    "elementwise",
    "reduction",
    "copy",
    "optimizer",
    "collective",
    "sort_index",
    "pooling",
    "loss",
    OTHER,
)
"""The families of the rules that come with timesink; a user's file may add others."""

RULES = Path(__file__).with_name("families.txt")
"""The rules that come with timesink, with the form of a rule in their first lines."""
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL
_RULE = re.compile(r"\s*(\S+)\s+(\S.*?)\s*$")


@dataclass(frozen=True, slots=True)
class Families:
    """Rules in the order in which they are asked."""

    rules: tuple[tuple[str, re.Pattern[str]], ...]

    def of(self, name: str, short: str | None = None) -> str:
        """The family of the first rule that is found in the name; `other` without one."""
        return _first(self, name, short)


@lru_cache(maxsize=4096)
def _first(families: Families, name: str, short: str | None) -> str:
    """Several analyses ask for the same kernels, whose names may be long."""
    text = f"{short_name(name) if short is None else short}\n{name}"
    return next((family for family, rule in families.rules if rule.search(text)), OTHER)


def load_families(path: str | Path | None = None) -> Families:
    """The rules that come with timesink; those of a file of one's own are asked first."""
    return _own() if path is None else Families((*_read(Path(path)), *_own().rules))


@lru_cache(maxsize=1)
def _own() -> Families:
    return Families(tuple(_read(RULES)))


def _read(path: Path) -> Iterator[tuple[str, re.Pattern[str]]]:
    lines = own_text(path, "--families", _HINT).splitlines()
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield _rule(line, f"{path}:{number}")


def _rule(line: str, place: str) -> tuple[str, re.Pattern[str]]:
    found = _RULE.match(line)
    if found is None:
        raise UsageError(f"{place}: {line.strip()!r} is no rule", _HINT)
    try:
        return found[1], re.compile(found[2], _FLAGS)
    except re.error as error:
        raise UsageError(f"{place}: no regular expression ({error})", _HINT) from error


_HINT = "--families: a rule is a family, blanks and a regular expression, one to a line"
