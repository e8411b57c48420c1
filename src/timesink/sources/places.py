"""Where recordings are asked for: a path, a pattern of paths, or a URL."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from timesink.model.vendors import DEVICE_WORDS
from timesink.recorder.folder import CONTROL_FOLDER

Place = Path | str
"""A path of this machine, or the text of a pattern or of a URL."""

_URL = re.compile(r"^[a-z][a-z0-9+.-]+(?:://|::.*://)", re.IGNORECASE)
_OF_THIS_MACHINE = re.compile(r"^(?:file|local)://(?!.*::)", re.IGNORECASE)
_FLAT_URL = re.compile(r"^[a-z][a-z0-9+.-]+:/[^/]", re.IGNORECASE)
_FLAT_SCHEME = re.compile(r"(?:^|(?<=::))([a-z][a-z0-9+.-]+):/(?=[^/])", re.IGNORECASE)
_HERE = ("file", "local")
"""Schemes without a host: the path starts at once."""
_WILD = re.compile(r"[*?\[]")
_PASSWORD = re.compile(r"(://[^/@:\s]*):(?!:|\d+(?:/|$))(\S*)@")
_SIGNATURE = re.compile(
    r"([?&](?:x-(?:amz|goog)-(?:signature|credential|security-token)|sig|signature|token|access_token"
    r"|awsaccesskeyid|key)=)[^&\s:)]+",
    re.IGNORECASE,
)
"""What lets whoever has a URL read what is behind it."""


def place_of(source: str | Path) -> Place:
    """What a user named: a path where it is one, else the text as it is."""
    if isinstance(source, Path):
        # What was meant by a path that is none: paths keep one slash of two.
        text = str(source)
        if (_FLAT_URL.match(text) or is_wild(text)) and not source.exists():
            return _FLAT_SCHEME.sub(
                lambda link: link[0] + ("//" if link[1] in _HERE else "/"), text
            )
        return source
    if _OF_THIS_MACHINE.match(source):
        # The path in a URL of this machine; what stands where a host would is part of the path.
        parts = urlsplit(source.replace("?", "%3F").replace("#", "%23"))
        host = "" if parts.netloc.lower() == "localhost" else parts.netloc
        source = unquote(host + parts.path)
    return source if is_url(source) or is_pattern(source) else Path(source)


def is_url(place: Place) -> bool:
    """Whether a place is behind a URL, which a drive letter is not."""
    return isinstance(place, str) and _URL.match(place) is not None


def is_pattern(place: Place) -> bool:
    """Whether a place is a pattern of paths; a file of just this name is none."""
    return isinstance(place, str) and is_wild(place) and not Path(place).exists()


def is_wild(text: str) -> bool:
    """Whether a text has signs that stand for others."""
    return _WILD.search(text) is not None


def shown(place: Place) -> str:
    """A place as it may be shown: a URL without its password."""
    return without_password(str(place))


def without_password(text: str) -> str:
    """A URL, or text with URLs in it, without the passwords; a port stays."""
    return _SIGNATURE.sub(r"\1***", _PASSWORD.sub(r"\1@", text))


def password_in(url: str) -> str | None:
    """The password a URL holds."""
    found = _PASSWORD.search(url)
    return None if found is None else found[2]


# What the names of folders say: a rank, a host, or that they are runs of their own.

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
    host: str | None
    """The host it is of: by a word that says so, or its name where no word says anything."""
    number: int | None
    """The rank it states: the last number that is not of a host."""


def folder_of(name: str) -> Folder:
    """What the name of a folder says."""
    parts = name.split("/")
    numbered = [part for part in parts if _alike(part) != part]
    told = [part for part in parts if _ROLE.match(part) or _RANK_AT_END.search(part)]
    hosts = [part for part in parts if (found := _ROLE.match(part)) and found["host"]]
    others = [part for part in numbered if part not in told and not part.isdecimal()]
    of_rank = set(told) - set(hosts)
    ranks = [part for part in parts if _NUMBER.fullmatch(part) or part in of_rank]
    return Folder(
        name,
        "/".join(map(_alike, parts)),
        says_so=bool(numbered) and set(numbered) <= set(told),
        is_host=bool(hosts),
        host=next(iter([*hosts, *others]), None),
        number=int(_NUMBER.findall(ranks[-1])[-1]) if ranks else None,
    )


def _alike(part: str) -> str:
    rank = _RANK_AT_END.search(part)
    if rank is not None:
        return f"{part[: rank.start(1)]}*"
    digits = _NUMBER.findall(part)
    if _RUN.search(part) or any(len(number) > _LONGEST_NUMBER for number in digits):
        return part
    return _NUMBER.sub("*", part)


def rank_of_folder(name: str) -> int | None:
    """Rank of which a folder is, where its whole name says nothing else."""
    found = _ROLE.match(name)
    rank = _RANK_AT_END.search(name)
    return int(rank[1]) if found is not None and rank is not None else None


def folders_below(path: Path) -> Iterator[Path]:
    """A folder and every one below it, in the order of names; links are followed, none twice."""
    seen: set[Path] = set()
    for folder, names, _ in os.walk(path, followlinks=True):
        names[:] = sorted(name for name in names if name != CONTROL_FOLDER)
        real = Path(folder).resolve()
        if real in seen:
            names.clear()
            continue
        seen.add(real)
        yield Path(folder)
