"""Operators under the roofs of their device, on the page of efficiency and in the report."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Event, kernel, operator, runtime, step
from cases import read
from timesink.answers.analysis.document import analysis_document
from timesink.answers.analysis.report import Analysis
from timesink.output.blocks import Document, Scatter, Table, Tile, Tiles, Words

H200 = {"deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}]}
SIZE = 4096
FLOP = 2.0 * SIZE**3


def operator_call(name: str, at: float, number: int, length: float, **fields: Any) -> list[Event]:
    return [
        operator(name, at, 50, **{"External id": number, **fields}),
        runtime("cudaLaunchKernel", at + 5, 5, number),
        kernel(f"k_{name}", at + 100, length, number, grid=[9, 1, 1], block=[9, 1, 1]),
    ]


def work(kind: str = "c10::BFloat16") -> list[Event]:
    """A step with a product of matrices, a sum, and a copy, which computes nothing."""
    fields = {"Input Dims": [[SIZE, SIZE]] * 2, "Input type": [kind] * 2}
    return [
        step(0, 0, 10_000),
        *operator_call("aten::mm", 100, 1, 400, **fields),
        *operator_call("aten::add", 1000, 2, 1200, **fields),
        *operator_call("aten::copy_", 3000, 3, 400, **fields),
    ]


def document(events: list[Event], page: str | None = "efficiency", **more: Any) -> Document:
    return analysis_document(Analysis(read(*events, **(more or H200))), page=page)


def rooflines(page: Document) -> list[Scatter]:
    blocks = (block for section in page.sections for block in section.blocks)
    return [block for block in blocks if isinstance(block, Scatter)]


def test_operators_stand_by_what_they_compute_per_byte_and_how_fast():
    (roofline,) = rooflines(document(work()))
    add, mm = roofline.points
    assert (add.name, mm.name) == ("aten::add", "aten::mm")
    assert mm.about == f"{SIZE}x{SIZE}, {SIZE}x{SIZE}"
    assert mm.y == pytest.approx(FLOP / 400e-6, rel=1e-3)
    assert mm.x == pytest.approx(FLOP / (3 * 2 * SIZE**2), rel=1e-3)
    assert mm.size == 400_000
    names = {group.id: group.name for group in roofline.groups}
    assert [names[point.group] for point in (add, mm)] == [
        "bound by memory",
        "bound by matrix units",
    ]
    assert roofline.note.startswith(
        "Not shown: 20.0 % of their time, in operators without arithmetic"
    )


def test_figures_are_told_beside_points():
    (roofline,) = rooflines(document(work()))
    details = {detail.title: detail.values for detail in roofline.details}
    assert list(details) == ["TFLOP/s", "TB/s", "roofline"]
    assert all(len(values) == len(roofline.points) for values in details.values())


def test_roofs_are_those_of_what_occurs():
    (roofline,) = rooflines(document(work()))
    assert [(roof.name, roof.slopes) for roof in roofline.roofs] == [
        ("memory 4.80 TB/s", True),
        ("bf16 tensor 989 TFLOP/s", False),
        ("fp32 66.9 TFLOP/s", False),
    ]


def test_without_peaks_there_is_no_roof_to_stand_under():
    unknown = {"deviceProperties": [{"id": 0, "name": "Odd Device", "numSms": 1}]}
    assert rooflines(document(work(), **unknown)) == []


def figures(events: list[Event]) -> dict[str, Tile]:
    """Key figures of the overview that lead to the page of efficiency."""
    (page,) = (
        section for section in document(events, "overview").sections[1:2] if section.id == "figures"
    )
    (tiles,) = (block for block in page.blocks if isinstance(block, Tiles))
    return {tile.label: tile for tile in tiles.tiles if tile.section == "efficiency"}


def test_the_overview_leads_to_the_page():
    linked = figures(work())
    assert list(linked) == ["Speed of light", "MFU"]
    assert linked["MFU"].value == pytest.approx(FLOP / 989.4e12 / 10e-3, rel=0.01)


def test_operators_of_scalars_alone_have_no_shape():
    scalars = {"Input Dims": [[], []], "Input type": ["float", "float"]}
    events = [*work(), *operator_call("aten::mul", 5000, 4, 50, **scalars)]
    (section,) = document(events).sections
    (table,) = (
        block for block in section.blocks if isinstance(block, Table) and block.id == "efficiency"
    )
    (shapes,) = (column.data for column in table.columns if column.key == "shape")
    assert isinstance(shapes, Words)
    assert shapes.texts == (f"{SIZE}x{SIZE}, {SIZE}x{SIZE}",)
    assert -1 in shapes.codes
