"""The browser words numbers as Python does: both are tested with the same list."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import get_args

import pytest

from timesink.output.blocks import Kind

DOCS = Path(__file__).parents[2] / "docs"


def test_the_list_is_up_to_date(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    place = DOCS / "generate_number_words.py"
    spec = importlib.util.spec_from_file_location("generate_number_words", place)
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert generator.FILE.read_text(encoding="utf-8") == generator.content()
    assert {*generator.WORDS, "text"} == set(get_args(Kind))
