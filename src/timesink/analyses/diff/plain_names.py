"""Names of calls without what varies between equal programs, and numbers that stand for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from timesink.model.data_files import csv_rows

Hashes = NDArray[np.uint64]


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, list[tuple[re.Pattern[str], str]]]:
    found: dict[str, list[tuple[re.Pattern[str], str]]] = {}
    for row in csv_rows(Path(__file__).with_name("name_rules.csv")):
        for kind in row["kinds"].split():
            rule = (re.compile(row["pattern"]), row["replacement"])
            found.setdefault(kind, []).append(rule)
    return found


@lru_cache(maxsize=1 << 16)
def plain_name(kind: str, name: str) -> str:
    """A name without what varies between equal programs.

    >>> plain_name("annotation", "step 17")
    'step #'
    """
    for rule, instead in (*_rules().get(kind, ()), *_rules()["all"]):
        name = rule.sub(instead, name)
    return name


def mixed(values: Hashes) -> Hashes:
    """Numbers whose bits have nothing to do with each other, equal for equal ones."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return values ^ (values >> np.uint64(31))


def hashed(texts: list[str]) -> Hashes:
    """A number for each text, the same in every process."""
    digests = b"".join(blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype=np.uint64).copy()
