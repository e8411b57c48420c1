"""Runs on different accelerators are compared place by place."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from programs import GEMM, role
from timesink.comparison.steps.sides import with_matching_devices


def on(label, *devices: str):
    parts = [role([{GEMM: 1}], label, device).behaviour for device in devices]
    return replace(role([{GEMM: 1}], label), behaviour=pl.concat(parts))


@pytest.mark.parametrize(
    ("base", "new", "renamed"),
    [
        (["GPU 0"], ["GPU 0"], ()),
        (["GPU 0"], ["GPU 7"], (("GPU 0", "GPU 7"),)),
        (["GPU 0"], ["MLU 3"], (("GPU 0", "MLU 3"),)),
        (["GPU 2", "GPU 10"], ["GPU 4", "GPU 12"], (("GPU 2", "GPU 4"), ("GPU 10", "GPU 12"))),
        (["GPU 0", "GPU 1"], ["GPU 1", "GPU 2"], (("GPU 0", "GPU 2"),)),
        (["GPU 0"], ["GPU 0", "GPU 1"], ()),
        (["GPU 0"], ["GPU 0 (virtual)"], (("GPU 0", "GPU 0 (virtual)"),)),
    ],
)
def test_devices_meet_in_order(base, new, renamed):
    matched, note = with_matching_devices(on("base", *base), on("new", *new))
    sentences = [f"{theirs} of new is compared with {ours}" for ours, theirs in renamed]
    assert (note is None) if not renamed else note.startswith(f"{', '.join(sentences)} of base: ")
    names = set(matched.behaviour["device"].cast(pl.String)) - {"Host"}
    theirs = {name: ours for ours, name in renamed}
    assert names == {theirs.get(name, name) for name in new}


def test_the_types_stay_as_they_were():
    new = on("new", "GPU 7")
    matched, note = with_matching_devices(on("base", "GPU 0"), new)
    assert matched.behaviour.schema == new.behaviour.schema
    assert "GPU 7 of new is compared with GPU 0 of base" in note
