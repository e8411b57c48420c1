"""A piece of advice, the launches of a device it is about, and what rules ask of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.kernel_calls.classes import Thresholds
from timesink.analyses.kernel_calls.usage import DeviceUse
from timesink.analyses.texts import encode
from timesink.model import units

LEAST_PCT = 5.0
"""Share of a device's time from which a rule speaks."""
_MOST_NAMES = 3
_MOSTLY = 0.5
MATTERS = 0.1
"""Share of a part from which something in it is worth a word."""
_DIGITS = 6
PRODUCTS = {
    "gemm": "matrix products",
    "convolution": "convolutions",
    "attention": "attention kernels",
}
COMPILED = re.compile(r"^triton_")


@dataclass(frozen=True, slots=True)
class Advice:
    """One cause of lost time on one device, and what to try against it."""

    rule: str
    """Stable id of the rule, to filter by."""
    host: str | None
    device: int | None
    share_pct: float
    """Of the kernel time of the device."""
    gain_ns: float | None
    """What it may save of that time; None where there is no honest number."""
    gain_basis: str
    """What `gain_ns` assumes."""
    kernels: tuple[str, ...]
    """Short names, the longest in time first."""
    sentence: str
    """What was measured."""
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data, units in the keys."""
        return {
            "rule": self.rule,
            "host": self.host,
            "device": self.device,
            "share_pct": round(self.share_pct, _DIGITS),
            "gain_ns": None if self.gain_ns is None else round(self.gain_ns),
            "gain_basis": self.gain_basis,
            "kernels": list(self.kernels),
            "sentence": self.sentence,
            "advice": self.advice,
        }


@dataclass(frozen=True, eq=False)
class DeviceCalls:
    """The launches of a device that have a duration, with `time`, `turned` and other marks."""

    use: DeviceUse
    calls: pl.DataFrame
    thresholds: Thresholds
    multiprocessors: int | None

    @property
    def low_pct(self) -> float:
        return 100 * self.thresholds.low

    @property
    def high_pct(self) -> float:
        return 100 * self.thresholds.high

    def share_pct(self, part: pl.DataFrame) -> float:
        whole = total(self.calls)
        return 100 * total(part) / whole if whole else 0.0

    def told(self, part: pl.DataFrame) -> str:
        """How much of the time some launches take."""
        return f"{self.share_pct(part):.1f} % of the time ({units.brief_ns(total(part))})"

    def speaks(self, part: pl.DataFrame, least_pct: float = LEAST_PCT) -> bool:
        return self.share_pct(part) >= least_pct

    def advice(
        self,
        rule: str,
        part: pl.DataFrame,
        sentence: str,
        advice: str,
        *,
        gain_ns: float | None = None,
        gain_basis: str = "",
    ) -> Advice:
        return Advice(
            rule=rule,
            host=self.use.host,
            device=self.use.device,
            share_pct=self.share_pct(part),
            gain_ns=gain_ns,
            gain_basis=gain_basis,
            kernels=_longest(part),
            sentence=sentence,
            advice=advice,
        )


def named(calls: pl.DataFrame, pattern: re.Pattern[str]) -> pl.Series:
    """Which calls have a name like this; asked are the short name and, a line below, the whole."""
    codes, texts = encode(calls["name"])
    row_of = np.zeros(len(texts), dtype=np.int64)
    row_of[codes] = np.arange(len(codes))
    short = calls["short_name"].cast(pl.String()).gather(row_of).to_list() if len(codes) else []
    found = [
        pattern.search(f"{own}\n{text}") is not None if text is not None else False
        for own, text in zip(short, texts, strict=False)
    ]
    return pl.Series(np.array(found, dtype=np.bool_)[codes], dtype=pl.Boolean())


def _longest(part: pl.DataFrame) -> tuple[str, ...]:
    names = (
        part.group_by(pl.col("short_name").cast(pl.String()))
        .agg(pl.col("time").sum())
        .sort("time", "short_name", descending=[True, False])
    )
    return tuple(names["short_name"].drop_nulls().head(_MOST_NAMES))


def total(part: pl.DataFrame, column: str = "time") -> float:
    return float(part[column].sum())


def most_of(part: pl.DataFrame, chosen: pl.Series) -> bool:
    """Whether more than half of the time of some calls is of the chosen ones."""
    return total(part.filter(chosen)) > _MOSTLY * total(part)


def mean(part: pl.DataFrame, column: str) -> float:
    return float((part[column] * part["time"]).sum()) / total(part)


def main_families(part: pl.DataFrame) -> list[str]:
    """Those that matter, the longest first."""
    times = part.group_by("family").agg(pl.col("time").sum()).sort("time", descending=True)
    matters = pl.col("time") >= MATTERS * pl.col("time").sum()
    return times.filter(matters)["family"].to_list()


def listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def fusing(part: pl.DataFrame) -> str:
    """The compiler, unless it made most of these kernels already."""
    return "" if most_of(part, named(part, COMPILED)) else "torch.compile, "
