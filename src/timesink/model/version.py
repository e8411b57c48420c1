"""The version of the tables."""

from __future__ import annotations

SCHEMA_VERSION = 3
"""Raised whenever a table changes; part of every cache key and of every exported folder."""
