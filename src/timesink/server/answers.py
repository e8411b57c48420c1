"""Values as HTTP responses: JSON, packed where the client can unpack it; errors as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from isal import igzip, isal_zlib
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from timesink.errors import (
    AmbiguousError,
    NotFoundError,
    TimesinkError,
    UnreadableError,
    UsageError,
)

_WORTH_PACKING = 1024
_FAST = 1
_GZIP_WINDOW = 31
_STATUS: Mapping[type[TimesinkError], int] = {
    UsageError: 400,
    NotFoundError: 404,
    AmbiguousError: 404,
    UnreadableError: 422,
}
_UNWANTED_GZIP = re.compile(r"(?:gzip|\*)\s*;\s*q=0(?:\.0*)?\s*(?:,|$)")


def json_response(value: Any, request: Request, status: int = 200) -> Response:
    """A value as JSON; what is not a number (NaN) becomes null."""
    body = _encode(value)
    headers = {"Vary": "Accept-Encoding", "Cache-Control": "no-cache"}
    if len(body) > _WORTH_PACKING and _asks_for_gzip(request):
        body = igzip.compress(body, _FAST)
        headers["Content-Encoding"] = "gzip"
    return Response(body, status, headers, media_type="application/json")


def stream_response(blocks: Iterator[bytes], request: Request) -> Response:
    """JSON text that comes in blocks; packed unless the client cannot unpack it."""
    headers = {"Vary": "Accept-Encoding", "Cache-Control": "no-cache"}
    if _can_take_gzip(request):
        blocks = _packed(blocks)
        headers["Content-Encoding"] = "gzip"
    return StreamingResponse(blocks, headers=headers, media_type="application/json")


def error_response(error: TimesinkError, request: Request) -> Response:
    """What went wrong and what to try, with the status that fits."""
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    return sentence_response(error.message, error.hint, request, status)


def sentence_response(message: str, hint: str, request: Request, status: int) -> Response:
    told = {"error": " ".join(message.split()), "hint": " ".join(hint.split())}
    # Names of files in a message need not be proper text.
    told = {key: text.encode("utf-8", "backslashreplace").decode() for key, text in told.items()}
    return json_response(told, request, status)


def _encode(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    """Numbers of NumPy as numbers of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    msg = f"{type(value).__name__} has no form in JSON"
    raise NotImplementedError(msg)


def _asks_for_gzip(request: Request) -> bool:
    accepted = request.headers.get("accept-encoding", "")
    return ("gzip" in accepted or "*" in accepted) and not _UNWANTED_GZIP.search(accepted)


def _can_take_gzip(request: Request) -> bool:
    """A client that says nothing about encodings takes them all."""
    return "accept-encoding" not in request.headers or _asks_for_gzip(request)


def _packed(blocks: Iterator[bytes]) -> Iterator[bytes]:
    packer = isal_zlib.compressobj(_FAST, wbits=_GZIP_WINDOW)
    for block in blocks:
        packed = packer.compress(block)
        if packed:
            yield packed
    yield packer.flush()
