"""A request and a reply, whatever server they come and go through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import parse_qsl

from timesink.errors import UsageError
from timesink.reports.plugin.query import Query

MOST_QUERY = 8 * 1024
MOST_PARAMETERS = 64
METHODS = ("GET", "HEAD")

Body: TypeAlias = "bytes | Iterator[bytes]"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client asks for."""

    path: str
    """Below the base of the site, without a slash before it, decoded once."""
    query: str = ""
    """As it came, still encoded."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """By their names in small letters."""
    method: str = "GET"

    def parameters(self) -> Query:
        """The parameters of the request; more than any page of ours sends is refused."""
        if len(self.query) > MOST_QUERY:
            raise UsageError(
                f"the query has {len(self.query)} characters", f"at most {MOST_QUERY} are taken"
            )
        try:
            pairs = parse_qsl(self.query, keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
        except ValueError:
            raise UsageError(
                "the query has too many parameters", f"at most {MOST_PARAMETERS} are taken"
            ) from None
        return Query(dict(pairs))


@dataclass(slots=True)
class Reply:
    """What a client gets."""

    status: int
    body: Body
    headers: dict[str, str]
