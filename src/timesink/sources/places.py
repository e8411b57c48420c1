"""Places that recordings are asked for: paths, patterns of paths, URLs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from timesink.model.vendors import PARSED_FOLDERS
from timesink.patterns import regex
from timesink.recorder.places import CONTROL_FOLDER
from timesink.sources.captures import FOLDER as CAPTURES_FOLDER

# Places: a path, a pattern of paths, or a URL.

Place = Path | str
"""A path of this machine, or the text of a pattern or of a URL."""

_URL = regex(r"^[a-z][a-z0-9+.-]+(?:://|::.*://)", re.IGNORECASE)
_OF_THIS_MACHINE = regex(r"^(?:file|local)://(?!.*::)", re.IGNORECASE)
_FLAT_URL = regex(r"^[a-z][a-z0-9+.-]+:/[^/]", re.IGNORECASE)
_FLAT_SCHEME = regex(r"(?:^|(?<=::))([a-z][a-z0-9+.-]+):/(?=[^/])", re.IGNORECASE)
_HERE = ("file", "local")
"""Schemes without a host: the path starts at once."""
_WILD = regex(r"[*?\[]")
_PASSWORD = regex(r"(://[^/@:\s]*):(?!:|\d+(?:/|$))(\S*)@")
_SIGNATURE = regex(
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


def display_place(place: Place) -> str:
    """A place as it may be shown: a URL without its password."""
    return without_password(str(place))


def without_password(text: str) -> str:
    """A URL, or text with URLs in it, without the passwords; a port stays."""
    return _SIGNATURE.sub(r"\1***", _PASSWORD.sub(r"\1@", text))


def password_in(url: str) -> str | None:
    """The password a URL holds."""
    match = _PASSWORD.search(url)
    return None if match is None else match[2]


def folders_below(path: Path) -> Iterator[Path]:
    """A folder and every one below it, in the order of names; links are followed, none twice.

    Captures of graphs are no recordings of their own.
    """
    seen: set[Path] = set()
    for folder, names, _ in os.walk(path, followlinks=True):
        # What a profiler made of its data is read, not the data beside it.
        raw = tuple(
            word
            for name in names
            if (row := PARSED_FOLDERS.get(name)) is not None
            for word in row.raw_folders
        )
        names[:] = sorted(
            name
            for name in set(names) - {CONTROL_FOLDER, CAPTURES_FOLDER}
            if not (raw and name.startswith(raw))
        )
        real = Path(folder).resolve()
        if real in seen:
            names.clear()
            continue
        seen.add(real)
        yield Path(folder)
