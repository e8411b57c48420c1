"""Values as replies: JSON, packed where the client can unpack it; errors as sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

import msgspec
from isal import igzip, isal_zlib

from timesink import errors
from timesink.answers.plugin import Query
from timesink.answers.views import load
from timesink.formats.small_files import encode_json
from timesink.server.jobs import BusyError

MAX_QUERY = 8 * 1024
MAX_PARAMETERS = 64
METHODS = ("GET", "HEAD")

Body: TypeAlias = "bytes | Iterator[bytes]"


class ClientRequest(msgspec.Struct, frozen=True):
    """What a client asks for."""

    path: str
    """Below the base of the site, without a slash before it, decoded once."""
    query: str = ""
    """As it came, still encoded."""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """By their names in small letters."""
    method: str = "GET"

    def parameters(self) -> Query:
        """The parameters of the request; more than any page of ours sends is refused."""
        if len(self.query) > MAX_QUERY:
            raise errors.UsageError(
                f"the query has {len(self.query)} characters", f"at most {MAX_QUERY} are allowed"
            )
        try:
            pairs = parse_qsl(self.query, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
        except ValueError:
            raise errors.UsageError(
                "the query has too many parameters", f"at most {MAX_PARAMETERS} are allowed"
            ) from None
        return Query(dict(pairs))


class Reply(msgspec.Struct):
    """What a client gets."""

    status: int
    body: Body
    headers: dict[str, str]


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
_UNWANTED_GZIP = re.compile(r"(?:gzip|\*)\s*;\s*q=0(?:\.0*)?\s*(?:,|$)")


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


def reply_to(request: ClientRequest, value: Any, status: int = 200) -> Reply:
    """The reply that carries a value, by its type."""
    headers = {"Cache-Control": "no-cache"}
    if isinstance(value, Download):
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", value.name).lstrip(".")[:120] or "download"
        headers["Content-Type"] = "application/gzip"
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return Reply(200, _gzip_blocks(value.texts), headers)
    if isinstance(value, WrittenPage):
        headers |= {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Security-Policy": _PAGE_POLICY,
        }
        return Reply(status, value.content, headers)
    if isinstance(value, bytes | bytearray | memoryview):
        # Packing these would take longer than sending them.
        headers["Content-Type"] = "application/octet-stream"
        return Reply(status, bytes(value), headers)
    headers |= {"Content-Type": JSON, "Vary": "Accept-Encoding"}
    if isinstance(value, Iterator):
        # JSON text in blocks; a client that says nothing about encodings takes them all.
        if "accept-encoding" not in request.headers or asks_for_gzip(request):
            value, headers["Content-Encoding"] = _gzip_blocks(value), "gzip"
        return Reply(200, value, headers)
    # What is not a number (NaN) becomes null.
    is_encoded = isinstance(value, Encoded)
    body = value.text if is_encoded else encode_json(value, _plain)
    if len(body) > _WORTH_PACKING and asks_for_gzip(request):
        body, headers["Content-Encoding"] = igzip.compress(body, _FAST), "gzip"
    return Reply(status, body, headers)


def error_reply(request: ClientRequest, error: errors.TimesinkError) -> Reply:
    """What went wrong and what to try, with the status that fits."""
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    return sentence_reply(request, error.message, error.hint, status)


def sentence_reply(request: ClientRequest, message: str, hint: str, status: int) -> Reply:
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


def asks_for_gzip(request: ClientRequest) -> bool:
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


# Which function answers which route.
#
# Functions are named as `module:function` of :mod:`timesink.answers.plugin` and imported when they
# are first asked for: the server starts at once, and one that fails to load takes no other down.

PLUGIN_PATH = "/data/plugin/pytorch_profiler"

View: TypeAlias = Callable[..., Any]
Targets: TypeAlias = Mapping[str, str | View]


class Views(msgspec.Struct, frozen=True):
    """The functions behind the routes, by what they are given."""

    of_trace: Targets
    """Of one trace: `function(trace, query)`."""
    of_ranks: Targets
    """Of all workers of one span: `function(ranks, query)`."""
    of_pair: Targets
    """Of two traces: `function(left, right, query)`."""


VIEWS = Views(
    of_trace={
        "overview": "overview:overview",
        "operation": "operators:operation_pie",
        "operation/table": "operators:operation_table",
        "operation/stack": "operators:operation_stack",
        "kernel": "operators:kernel_pie",
        "kernel/table": "operators:kernel_table_view",
        "kernel/tc_pie": "operators:tensor_core_pie",
        "memory": "memory:memory_table",
        "memory_curve": "memory:memory_curve",
        "memory_events": "memory:memory_events",
        "memory_peak": "memory:memory_peak",
        "module": "operators:module_view",
        "tree": "operators:tree_view",
        "trace": "timeline:trace_view",
    },
    of_ranks={
        "distributed/overlap": "distributed:overlap",
        "distributed/waittime": "distributed:wait_time",
        "distributed/commops": "distributed:communication_operations",
        "distributed/gpuinfo": "distributed:device_info",
        "distributed/mluinfo": "distributed:device_info",
    },
    of_pair={"diff": "distributed:diff", "diffnode": "distributed:diff_node"},
)


def load_view(target: str | View) -> View:
    """The function a target names."""
    if callable(target):
        return target
    view: View = load(target, "timesink.answers.plugin")
    return view
