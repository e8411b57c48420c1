"""What a page asks: the parameters of its URL, checked."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from timesink.errors import UsageError


class Query(msgspec.Struct, frozen=True):
    """The parameters of one request."""

    params: Mapping[str, str] = msgspec.field(default_factory=dict)
    workers: int = 1
    """How many workers the run has."""

    def text(self, name: str, default: str = "") -> str:
        return self.params.get(name, default)

    def required(self, name: str) -> str:
        value = self.params.get(name)
        if not value:
            raise UsageError(f"the parameter {name!r} is missing", f"add {name}=... to the request")
        return value

    def choice(self, name: str, *options: str) -> str:
        """One of the options; nothing where the request does not say."""
        value = self.text(name)
        if value and value not in options:
            raise UsageError(
                f"the parameter {name!r} is {value!r}", f"give one of {', '.join(options)}"
            )
        return value

    def integer(self, name: str) -> int | None:
        value = self.params.get(name)
        if value is None or value == "":
            return None
        try:
            return int(value)
        except ValueError:
            raise UsageError(
                f"the parameter {name!r} is {value!r}, not a whole number", f"give {name}=123"
            ) from None


def microseconds(ns: int) -> int | float:
    """Nanoseconds as microseconds; whole ones stay whole numbers."""
    quotient, rest = divmod(int(ns), 1000)
    return ns / 1000 if rest else quotient
