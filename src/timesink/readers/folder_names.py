"""What the names of folders say: a rank, a host, or that they are runs of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass

from timesink.model.vendors import DEVICE_WORDS

_HOSTS = "host|hostname|node|machine|server|pod|instance"
_RANKS = f"rank|worker|device|{DEVICE_WORDS}|process|proc|task|replica|trainer|actor"
_ROLE = re.compile(
    rf"^(?:(?P<host>{_HOSTS})|(?:global|world|local)?[-_. ]?(?:{_RANKS}))[-_. ]?[0-9]{{1,6}}$",
    re.IGNORECASE,
)
_RANK_AT_END = re.compile(r"(?:^|[^a-z])rank[-_. ]?([0-9]{1,6})$", re.IGNORECASE)
_RUN = re.compile(
    r"(?:^|[^a-z])(?:step|iter|iteration|epoch|run|exp|experiment|trial|version|ver|v|job|attempt"
    r"|case|test|seed|ckpt|checkpoint|span|window|bs|batch|profile|trace|config|cfg|sweep)s?"
    r"[-_. ]?[0-9]",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[0-9]+")
_LONGEST_NUMBER = 6
"""Digits of a number that may be a rank; longer ones are dates and times."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder below what all recordings lie in."""

    name: str
    alike: str
    """Its name with * for what may be the number of a rank or a host."""
    says_so: bool
    """Whether words say that these are such numbers."""
    is_host: bool


def folder_of(name: str) -> Folder:
    """What the name of a folder says."""
    parts = name.split("/")
    numbered = [part for part in parts if _alike(part) != part]
    return Folder(
        name,
        "/".join(map(_alike, parts)),
        bool(numbered) and all(_says_so(part) for part in numbered),
        any(_is_host(part) for part in parts),
    )


def _alike(part: str) -> str:
    rank = _RANK_AT_END.search(part)
    if rank is not None:
        return f"{part[: rank.start(1)]}*"
    digits = _NUMBER.findall(part)
    if _RUN.search(part) or any(len(number) > _LONGEST_NUMBER for number in digits):
        return part
    return _NUMBER.sub("*", part)


def _says_so(part: str) -> bool:
    return _ROLE.match(part) is not None or _RANK_AT_END.search(part) is not None


def _is_host(part: str) -> bool:
    found = _ROLE.match(part)
    return found is not None and found["host"] is not None


def host_of(folder: Folder) -> str | None:
    """The host a folder is of: by a word that says so, or its name where no word says anything."""
    parts = folder.name.split("/")
    said = next((part for part in parts if _is_host(part)), None)
    if said is not None:
        return said
    others = [part for part in parts if _alike(part) != part and not _says_so(part)]
    return next((part for part in others if not part.isdecimal()), None)


def number_of(folder: Folder) -> int | None:
    """The rank a folder states: the last number that is not of a host."""
    for part in reversed(folder.name.split("/")):
        if part.isdecimal() or (_says_so(part) and not _is_host(part)):
            return int(_NUMBER.findall(part)[-1])
    return None


def rank_of_folder(name: str) -> int | None:
    """Rank of which a folder is, where its whole name says nothing else."""
    found = _ROLE.match(name)
    rank = _RANK_AT_END.search(name)
    return int(rank[1]) if found is not None and rank is not None else None
