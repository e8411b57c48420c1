"""Several runs of either side on a page: the verdict, and every run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ab_runs import Bench, planned_runs
from timesink.answers.comparison.cycle_pictures import run_picture
from timesink.answers.comparison.document import comparison_document
from timesink.answers.comparison.report import compare
from timesink.comparison.repeated_runs import TimedRun
from timesink.output import drawing as draw
from timesink.output.blocks import Table, Verdict
from told_documents import cells


def test_the_card_says_what_decides_and_of_how_many_runs(tmp_path: Path):
    Bench(tmp_path).turns(planned_runs(most_runs=4, has_timeline=False)).to_the_end()
    document = comparison_document(compare(tmp_path))
    (card,) = (
        block for part in document.sections for block in part.blocks if isinstance(block, Verdict)
    )
    assert (card.verdict, card.word) == ("undecided", "Not decided")
    assert (card.base.label, card.new.label) == ("base, 4 runs", "new, 4 runs")
    (runs,) = (part for part in document.sections if part.id == "runs")
    figures, _, listed = runs.blocks
    assert isinstance(figures, Table)
    assert isinstance(listed, Table)
    typical = [cells(column)[0] for column in figures.columns]
    assert [card.base.value, card.new.value] == pytest.approx(typical[1:3], rel=1e-3)
    assert {name.split("/")[0] for name in cells(listed.columns[0])} == {"base", "new"}


def test_a_run_that_was_held_up_leaves_room_for_the_others():
    runs = [
        TimedRun(side, np.full(9, time_ns), place, None, f"{side}/{place}")
        for place, (side, time_ns) in enumerate(
            [("base", 5.00e6), ("new", 5.05e6), ("new", 5.06e6), ("base", 5.01e6), ("new", 40e6)]
        )
    ]
    drawing = run_picture(runs)
    dots = [shape.y for shape in drawing.shapes if isinstance(shape, draw.Circle)][-4:]
    assert max(dots) - min(dots) > 20
    assert sum(isinstance(shape, draw.Polygon) for shape in drawing.shapes) == 1
    assert any(
        isinstance(shape, draw.Label) and shape.text == "40.0 ms" for shape in drawing.shapes
    )
    assert drawing.description.endswith("Arrows are runs that do not fit, with their time.")
