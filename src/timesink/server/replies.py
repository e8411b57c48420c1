"""Values as replies: JSON, packed where the client can unpack it; errors as sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from isal import igzip, isal_zlib
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from timesink import errors
from timesink.answers.plugin.query import Query
from timesink.formats.small_files import encode_json
from timesink.patterns import regex
from timesink.server.jobs import BusyError

MAX_QUERY = 8 * 1024
MAX_PARAMETERS = 64


def parameters(request: Request) -> Query:
    """The parameters of a request; more than any page of ours sends is refused."""
    text = request.scope["query_string"].decode("latin-1")
    if len(text) > MAX_QUERY:
        raise errors.UsageError(
            f"the query has {len(text)} characters", f"at most {MAX_QUERY} are allowed"
        )
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise errors.UsageError(
            "the query has too many parameters", f"at most {MAX_PARAMETERS} are allowed"
        ) from None
    return Query(dict(pairs))


JSON = "application/json"
_WORTH_PACKING = 1024
_FAST = 1
_GZIP_WINDOW = 31
_BLOCK_BYTES = 256 * 1024
_STATUS: Mapping[type[errors.TimesinkError], int] = {
    errors.UsageError: 400,
    errors.NotFoundError: 404,
    errors.AmbiguousError: 404,
    errors.UnreadableError: 422,
    BusyError: 503,
}
_UNWANTED_GZIP = regex(r"(?:gzip|\*)\s*;\s*q=0(?:\.0*)?\s*(?:,|$)")


class Encoded(msgspec.Struct, frozen=True):
    """JSON that was written already."""

    text: bytes


class Download(msgspec.Struct, frozen=True):
    """A file the browser saves, gzipped."""

    name: str
    """Letters, digits, `.`, `-` and `_`; anything else is replaced."""
    texts: Iterator[bytes]


class WrittenPage(msgspec.Struct, frozen=True):
    """A page of its own, as a report is."""

    content: bytes


_PAGE_POLICY = (
    "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)
"""What a page in a served folder may do: whoever wrote it, it is kept away from the server."""


class BlockResponse(StreamingResponse):
    """Blocks that are made while they are sent; one that is broken off gives back its turn."""

    def __init__(self, blocks: Iterator[bytes], headers: Mapping[str, str]) -> None:
        super().__init__(blocks, headers=headers)
        self._blocks = blocks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            if isinstance(self._blocks, Generator):
                self._blocks.close()


def reply_to(
    request: Request,
    value: Any,
    status: int = 200,
    *,
    in_turn: Callable[[Iterator[bytes]], Iterator[bytes]] = iter,
) -> Response:
    """The reply that carries a value, by its type; one made while it is sent waits for its turn."""
    headers = {"Cache-Control": "no-cache"}
    if isinstance(value, WrittenPage):
        headers |= {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Security-Policy": _PAGE_POLICY,
        }
        return Response(value.content, status, headers)
    if isinstance(value, bytes | bytearray | memoryview):
        # Packing these would take longer than sending them.
        headers["Content-Type"] = "application/octet-stream"
        return Response(bytes(value), status, headers)
    if isinstance(value, Download):
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", value.name).lstrip(".")[:120] or "download"
        headers["Content-Type"] = "application/gzip"
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
        value = _gzip_blocks(value.texts)
    else:
        headers |= {"Content-Type": JSON, "Vary": "Accept-Encoding"}
        # JSON text in blocks; a client that says nothing about encodings takes them all.
        if isinstance(value, Iterator) and (
            "accept-encoding" not in request.headers or accepts_gzip(request)
        ):
            value, headers["Content-Encoding"] = _gzip_blocks(value), "gzip"
    if isinstance(value, Iterator):
        # Nobody reads it where only the headers are asked for.
        is_read = request.method != "HEAD"
        return BlockResponse(in_turn(value), headers) if is_read else Response(b"", 200, headers)
    # What is not a number (NaN) becomes null.
    is_encoded = isinstance(value, Encoded)
    body = value.text if is_encoded else encode_json(value, _plain)
    if len(body) > _WORTH_PACKING and accepts_gzip(request):
        body, headers["Content-Encoding"] = igzip.compress(body, _FAST), "gzip"
    return Response(body, status, headers)


def error_reply(request: Request, error: errors.TimesinkError) -> Response:
    """What went wrong and what to try, with the status that fits."""
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    return sentence_reply(request, error.message, error.hint, status)


def sentence_reply(request: Request, message: str, hint: str, status: int) -> Response:
    """An error as JSON with a sentence and what to try."""
    payload = {"error": " ".join(message.split()), "hint": " ".join(hint.split())}
    # Names of files in a message need not be proper text.
    payload = {
        key: text.encode("utf-8", "backslashreplace").decode() for key, text in payload.items()
    }
    return reply_to(request, payload, status)


def _plain(value: Any) -> Any:
    """Numbers of NumPy as numbers of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")


def accepts_gzip(request: Request) -> bool:
    """Whether the client says that it can unpack what is packed."""
    accepted = request.headers.get("accept-encoding", "")
    return ("gzip" in accepted or "*" in accepted) and not _UNWANTED_GZIP.search(accepted)


def _gzip_blocks(texts: Iterator[bytes]) -> Iterator[bytes]:
    """Texts gzipped, many small ones at once."""
    packer = isal_zlib.compressobj(_FAST, wbits=_GZIP_WINDOW)
    waiting: list[bytes] = []
    size = 0
    for text in texts:
        waiting.append(text)
        size += len(text)
        if size >= _BLOCK_BYTES:
            block = packer.compress(b"".join(waiting))
            waiting, size = [], 0
            if block:
                yield block
    yield packer.compress(b"".join(waiting)) + packer.flush()


MAX_ROWS = 100_000


def row_limit(query: Query) -> int | None:
    """How many rows of a table are wanted; None where the request does not say."""
    value = query.integer("rows")
    if value is not None and not 1 <= value <= MAX_ROWS:
        raise errors.UsageError(f"the parameter 'rows' is {value}", f"give 1 to {MAX_ROWS}")
    return value
