"""Names of a server that a request may carry: who opens a page of another site asks by its name."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def allowed_hosts(host: str, further: Iterable[str] = ()) -> frozenset[str] | None:
    """Names a browser may know the server by, `further` ones included; None where any will do.

    A page of another site can make its own name lead to this machine and then read what a server
    here answers.  Such requests carry that name, so a server for this machine alone declines it.
    """
    name = host.lower()
    is_local = name in _LOOPBACK or name.startswith("127.") or name.endswith(".localhost")
    return frozenset({*_LOOPBACK, name, *map(str.lower, further)}) if is_local else None


def is_allowed(host: str, allowed: Iterable[str] | None) -> bool:
    """Whether the `Host` a request names is one of those allowed."""
    if allowed is None:
        return True
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name.rstrip(".") in set(allowed)
