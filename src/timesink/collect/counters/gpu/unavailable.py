"""A management library that is not there, or knows no device."""

from __future__ import annotations


class UnavailableError(Exception):
    """Why there are no counters from a library; never reaches a user as an error."""
