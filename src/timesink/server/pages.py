"""The page of the app, and the files it was built into."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING

from isal import igzip
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from timesink.errors import NotFoundError
from timesink.server.replies import accepts_gzip

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""Of the page: nothing is loaded from elsewhere, whatever a trace holds."""

_MEDIA: Mapping[str, str] = {
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
}
STATIC_FILES = tuple(_MEDIA)


def static_reply(request: Request, folder: Traversable) -> Response:
    """A file of the built app; nothing but its mark where the client has it already."""
    name = request.path_params["name"]
    if name not in _MEDIA:
        raise NotFoundError(f"no file is named {name!r}", f"there are {', '.join(_MEDIA)}")
    try:
        content = (folder / name).read_bytes()
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
    if mark in request.headers.get("if-none-match", ""):
        return Response(None, 304, headers)
    if accepts_gzip(request):
        content, headers["Content-Encoding"] = igzip.compress(content), "gzip"
    return Response(content, 200, headers)


async def page_reply(_request: Request) -> Response:
    """The page of the app."""
    headers = {"Cache-Control": "no-cache", "Content-Security-Policy": CONTENT_POLICY}
    return HTMLResponse(PAGE, headers=headers)


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
