"""The files of the app: a fixed list, read from the package; no part of an address is a path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib.resources import files
from typing import TYPE_CHECKING

from isal import igzip

from timesink.errors import NotFoundError
from timesink.server.answers import asks_for_gzip
from timesink.server.asked import Asked, Reply

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_MEDIA: Mapping[str, str] = {
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
}
STATIC_FILES = tuple(_MEDIA)


@dataclass(frozen=True)
class StaticFiles:
    """Serves the built app.

    >>> from timesink.server.asked import Asked
    >>> StaticFiles().reply(Asked(""), "../app.py")
    Traceback (most recent call last):
    ...
    timesink.errors.NotFoundError: no file is named '../app.py'
    """

    folder: Traversable = field(default_factory=lambda: files("timesink.render") / "static")

    def reply(self, asked: Asked, name: str) -> Reply:
        """One of the files; nothing but its mark where the client has it already."""
        if name not in _MEDIA:
            raise NotFoundError(f"no file is named {name!r}", f"there are {', '.join(_MEDIA)}")
        try:
            content = (self.folder / name).read_bytes()
        except OSError:
            raise NotFoundError(
                f"{name}: the app was not built",
                "install timesink from a wheel, or run  make web  in a checkout",
            ) from None
        mark = f'"{blake2b(content, digest_size=12).hexdigest()}"'
        headers = {
            "Content-Type": _MEDIA[name],
            "Cache-Control": "no-cache",
            "ETag": mark,
            "Vary": "Accept-Encoding",
        }
        if mark in asked.headers.get("if-none-match", ""):
            return Reply(304, b"", headers)
        if asks_for_gzip(asked):
            content, headers["Content-Encoding"] = igzip.compress(content), "gzip"
        return Reply(200, content, headers)


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>timesink</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="static/app.css">
</head>
<body>
<div id="timesink-app"><noscript>timesink's pages need JavaScript; \
the same answers come as text from <code>timesink analyze</code>.</noscript></div>
<script type="module" src="static/app.js"></script>
</body>
</html>
"""
"""The page of the app; the app finds its server beside its own module."""
