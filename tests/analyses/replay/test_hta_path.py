"""The critical path of HTA's test recordings stays near HTA's, as the page about it says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import timesink

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
from hta_path import EXPECTED_PCT, FORWARD, RECORDINGS, bounds_us, subtrace

PAGE = Path(__file__).parents[3] / "docs/accuracy/critical_path.md"


@pytest.mark.parametrize("name", RECORDINGS)
def test_bounds_are_those_of_the_page_and_near_those_of_hta(shared_root: Path, name: str) -> None:
    place = shared_root / "data" / "hta" / "critical_path" / RECORDINGS[name]
    ours = bounds_us(subtrace(timesink.open(place), FORWARD, 1))
    total = sum(ours.values())
    for bound, spent in ours.items():
        assert f"| {name} | {bound} | {spent:.1f} |" in PAGE.read_text()
    for bound, share in EXPECTED_PCT[name].items():
        assert 100 * ours[bound] / total == pytest.approx(share, abs=2)
