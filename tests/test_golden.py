"""What timesink says is what `golden/` has: wording is checked here, word by word."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

import golden_answers
from timesink.rules.register import catalogue

NOT_PROVOKED = {
    "run": {
        # A rule of its own says so, and this never stands alone.
        "low-utilisation-communication-bound",
        # Its recording is in tests/answers/test_stragglers.py.
        "odd-rank",
    },
    # Of many ranks: tests/comparison/causes/test_together.py.
    "causes": {"straggler"},
}


pytestmark = pytest.mark.usefixtures("reads_here")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which questions find what they are about, read once for all of them."""
    return golden_answers.prepare(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("name", golden_answers.names())
def test_an_answer_is_as_it_was(
    name: str,
    workshop: Path,
    common_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
):
    if golden_answers.needs_shared(name):
        request.getfixturevalue("shared_root")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))
    file = golden_answers.FOLDER / f"{name}.txt"
    before, now = file.read_text(), golden_answers.golden_text(name, workshop)
    if before != now:
        sides = before.splitlines(), now.splitlines()
        diff = difflib.unified_diff(*sides, "golden", "now", lineterm="", n=1)
        hint = f"If that is meant: python tests/golden_answers.py {name}"
        pytest.fail("\n".join([*diff, hint]), pytrace=False)


def test_no_answer_is_left_over():
    files = {file.stem for file in golden_answers.FOLDER.glob("*.txt")}
    assert files == {*golden_answers.names(), "questions"}


@pytest.mark.parametrize("table", ["run", "kernels", "causes", "paces"])
def test_every_kind_of_finding_is_said_somewhere(table: str):
    text = " ".join(
        word for file in golden_answers.FOLDER.glob("*.txt") for word in file.read_text().split()
    )
    missing = {kind for kind, row in catalogue()[table].items() if not _is_said(kind, row, text)}
    assert missing == NOT_PROVOKED.get(table, set())


def _is_said(kind: str, row: dict[str, str], text: str) -> bool:
    words = row.get("late", [""])[0] or row.get("title") or row.get("sentence") or row["advice"]
    return f"[{kind}]" in text or max(re.split(r"\{\w+\}", words), key=len).strip() in text
