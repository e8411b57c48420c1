"""Values as replies: JSON, packed where the client can unpack it; errors as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from isal import igzip, isal_zlib

from timesink.errors import (
    AmbiguousError,
    NotFoundError,
    TimesinkError,
    UnreadableError,
    UsageError,
)
from timesink.server.asked import Asked, Reply
from timesink.server.jobs import BusyError

JSON = "application/json"
_WORTH_PACKING = 1024
_FAST = 1
_GZIP_WINDOW = 31
_STATUS: Mapping[type[TimesinkError], int] = {
    UsageError: 400,
    NotFoundError: 404,
    AmbiguousError: 404,
    UnreadableError: 422,
    BusyError: 503,
}
_UNWANTED_GZIP = re.compile(r"(?:gzip|\*)\s*;\s*q=0(?:\.0*)?\s*(?:,|$)")


@dataclass(frozen=True, slots=True)
class Encoded:
    """JSON that was written already."""

    text: bytes


@dataclass(frozen=True, slots=True)
class Download:
    """A file the browser saves."""

    name: str
    """Letters, digits, `.`, `-` and `_`; anything else is replaced."""
    blocks: Iterator[bytes]
    media: str = "application/gzip"


def encoded(value: Any) -> Encoded:
    """A value as JSON; what is not a number (NaN) becomes null."""
    if isinstance(value, Encoded):
        return value
    return Encoded(msgspec.json.encode(value, enc_hook=_plain))


def reply_to(asked: Asked, value: Any, status: int = 200) -> Reply:
    """The reply that carries a value, by its type."""
    if isinstance(value, Reply):
        return value
    headers = {"Cache-Control": "no-cache"}
    if isinstance(value, Download):
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", value.name).lstrip(".")[:120] or "download"
        headers["Content-Type"] = value.media
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return Reply(200, value.blocks, headers)
    if isinstance(value, bytes | bytearray | memoryview):
        # Packing these would take longer than sending them.
        headers["Content-Type"] = "application/octet-stream"
        return Reply(status, bytes(value), headers)
    headers |= {"Content-Type": JSON, "Vary": "Accept-Encoding"}
    if isinstance(value, Iterator):
        # JSON text in blocks; a client that says nothing about encodings takes them all.
        if "accept-encoding" not in asked.headers or asks_for_gzip(asked):
            value, headers["Content-Encoding"] = _packed(value), "gzip"
        return Reply(200, value, headers)
    body = encoded(value).text
    if len(body) > _WORTH_PACKING and asks_for_gzip(asked):
        body, headers["Content-Encoding"] = igzip.compress(body, _FAST), "gzip"
    return Reply(status, body, headers)


def error_reply(asked: Asked, error: TimesinkError) -> Reply:
    """What went wrong and what to try, with the status that fits."""
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    return sentence_reply(asked, error.message, error.hint, status)


def sentence_reply(asked: Asked, message: str, hint: str, status: int) -> Reply:
    """An error as JSON with a sentence and what to try."""
    told = {"error": " ".join(message.split()), "hint": " ".join(hint.split())}
    # Names of files in a message need not be proper text.
    told = {key: text.encode("utf-8", "backslashreplace").decode() for key, text in told.items()}
    return reply_to(asked, told, status)


def _plain(value: Any) -> Any:
    """Numbers of NumPy as numbers of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    msg = f"{type(value).__name__} has no form in JSON"
    raise NotImplementedError(msg)


def asks_for_gzip(asked: Asked) -> bool:
    """Whether the client says that it can unpack what is packed."""
    accepted = asked.headers.get("accept-encoding", "")
    return ("gzip" in accepted or "*" in accepted) and not _UNWANTED_GZIP.search(accepted)


def _packed(blocks: Iterator[bytes]) -> Iterator[bytes]:
    packer = isal_zlib.compressobj(_FAST, wbits=_GZIP_WINDOW)
    for block in blocks:
        packed = packer.compress(block)
        if packed:
            yield packed
    yield packer.flush()
