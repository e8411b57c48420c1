"""URLs of the files of a file system, made from the URL it was reached by."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from timesink.readers.places import without_password

_PAGES = re.compile(r"^https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RemoteUrl:
    """The parts of a URL around the place in the file system.

    fsspec chains file systems: `zip://rank0.json::s3://bucket/run.zip` is a file in an archive.
    """

    before: str
    """What wraps the file system, such as a cache."""
    root: str
    """What stands in front of a place: scheme, user, password and host."""
    hidden: str
    """How places begin that the URL says otherwise, as where a host names a container."""
    after: str
    """What the file system lies in."""
    may_be_pattern: bool

    @classmethod
    def of(cls, url: str, place: str) -> RemoteUrl:
        """The parts of a URL that leads to a place of its file system."""
        links = url.split("::")
        own = next(number for number, link in enumerate(links) if "://" in link)
        link = links[own] if links[own].endswith("://") else links[own].rstrip("/")
        alike = _alike_at_end(link, place)
        return cls(
            "".join(f"{link}::" for link in links[:own]),
            link[: len(link) - alike],
            place[: len(place) - alike],
            "".join(f"::{link}" for link in links[own + 1 :]),
            # In the URL of a page, a question mark starts what is asked for.
            not _PAGES.match(link) or "*" in link,
        )

    def url_of(self, place: str) -> str:
        """The URL of a place in the file system."""
        return f"{self.before}{self._link(place)}{self.after}"

    def _link(self, place: str) -> str:
        return place if "://" in place else self.root + place.removeprefix(self.hidden)

    def path_of(self, place: str) -> Path:
        """A path that has the name of the file and of its folder, and is of no other file."""
        own = self._link(place)
        own = own.partition("?")[0] if _PAGES.match(own) else own
        around = [link for link in reversed(self.after.split("::")) if link]
        return Path(without_password("/".join([*around, own])))


def _alike_at_end(one: str, other: str) -> int:
    """How many characters at the end of two texts are the same."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
