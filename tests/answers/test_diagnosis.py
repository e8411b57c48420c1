"""Slow steps of a run as a document."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from compared_runs import process_table, write_table
from timesink.answers.comparison.slow_steps import diagnose, diagnosis_document
from timesink.output.blocks import Document, Verdict
from told_documents import blocks, rows, table


def slow_table(pid: int, *slow: int) -> pl.DataFrame:
    """A process some of whose ten cycles take twice as long."""
    process = process_table(pid, cycles=10, seed=pid)
    numbers = process["cycle"].unique().sort()
    longer = pl.col("cycle").is_in([numbers[place - 1] for place in slow])
    length = pl.col("cycle_dur_ns")
    return process.with_columns(pl.when(longer).then(length * 2).otherwise(length))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def single_process(folder: Path) -> Document:
    return diagnosis_document(diagnose(write_table(folder / "one.csv", slow_table(7, 6))))


def test_typical_cycles_stand_against_slow_ones(single_process: Document):
    (verdict,) = blocks(single_process, Verdict)
    assert (verdict.base.label, verdict.new.label) == ("typical steps", "slow steps")
    assert single_process.headline.startswith("1 of 10 steps is slow")
    assert single_process.title == "Slow steps of one.csv"
    assert single_process.subject.startswith("one.csv, ")


def test_every_cycle_is_on_a_side(single_process: Document):
    sides = [side for _, side in rows(table(single_process, "cycles"), "cycle", "side")]
    assert sides.index("slow") == 5
    assert sides.count("slow") == 1


def test_no_slow_cycle(folder: Path):
    calm = diagnosis_document(diagnose(write_table(folder / "calm.csv", slow_table(7))))
    assert "times" not in {section.id for section in calm.sections}
    assert calm.tone == "plain"


def test_several_processes(folder: Path):
    path = write_table(folder / "two.csv", slow_table(7, 6), slow_table(8))
    document = diagnosis_document(diagnose(path))
    assert rows(table(document, "slow"), "which") == [("6",), ("none",)]
    assert [section.id for section in document.sections[:3]] == ["verdict", "slow", "process-1"]
