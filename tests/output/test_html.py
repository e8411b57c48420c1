"""Documents as one HTML file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import timesink
from builders import training_trace, write
from timesink.answers.analysis.document import analysis_report
from timesink.errors import TimesinkError
from timesink.output import html
from timesink.output.blocks import (
    Causes,
    Document,
    FindingCard,
    Findings,
    Measured,
    Section,
    Verdict,
)
from timesink.output.html import MAX_BYTES, report_html

HOSTILE = "</script><script>alert(1)</script><!--\u202e\x00"
CARD = FindingCard("rule", "high", "Title", "Sentence.", "Advice.")
VERDICT = Verdict(
    "regression",
    "slower",
    "It is slower.",
    Measured("base", 1),
    Measured("new", 2),
    "time_ns",
    1,
    None,
    None,
)


@pytest.fixture(autouse=True)
def web_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small program and style in place of those built from `web/`."""
    (tmp_path / "report.js").write_text('show("<\\/p>", "</SCRIPT>", "<!--");')
    (tmp_path / "report.css").write_text("body { margin: 0 }")
    monkeypatch.setattr(html, "STATIC", tmp_path)
    return tmp_path


def document(*blocks: Findings | Causes | Verdict, headline: str = "All is well.") -> Document:
    sections = (Section("findings", "Findings", blocks),)
    return Document("analysis", "run.json", "run.json, H200", headline, "1.0", sections)


def embedded_answer(page: str) -> dict[str, object]:
    match = re.search(r'id="timesink-document">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    answer: dict[str, object] = json.loads(match[1])
    return answer


def test_the_file_has_the_document_and_what_shows_it():
    page = report_html(document())
    assert page.startswith("<!doctype html>")
    assert "<title>run.json - timesink</title>" in page
    assert "body { margin: 0 }" in page
    assert embedded_answer(page)["headline"] == "All is well."
    assert "default-src 'none'" in page


def test_quotes_in_the_program_do_not_end_it():
    page = report_html(document())
    assert 'show("<\\/p>", "\\x3c/SCRIPT>", "\\x3c!--");' in page


def test_readers_without_scripts_see_the_answer():
    plain = report_html(document(VERDICT, Findings((CARD,), "None."), Causes((), "No cause.")))
    body = plain[plain.index("<body>") : plain.index("<script")]
    assert "<h1>All is well.</h1>" in body
    assert "<p>It is slower.</p>" in body
    assert "<li><strong>Title</strong>: Sentence. Advice.</li>" in body
    assert "<p>No cause.</p>" in body


def test_hostile_text_is_text():
    page = report_html(document(headline=HOSTILE))
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert "<!--" not in page
    assert not set(page) & {"\u202e", "\x00"}
    assert embedded_answer(page)["headline"] == HOSTILE.replace("\u202e", "\\u202e").replace(
        "\x00", "\\x00"
    )


def test_names_of_any_length_fit():
    names = [f"{'x' * 100_000}{number}" for number in range(30)]
    cards = tuple(FindingCard("rule", "high", "Title", name, "Advice.") for name in names)
    page = report_html(document(Findings(cards, "None."), headline=names[0]))
    assert len(page.encode()) <= MAX_BYTES
    assert all(f"x{number}" in page for number in range(30))


def test_what_is_not_built_is_told(web_build: Path):
    (web_build / "report.css").unlink()
    with pytest.raises(
        TimesinkError, match=r"report\.css, which shows reports, is not built"
    ) as it:
        report_html(document())
    assert "make web" in it.value.hint


def test_a_kept_report_is_of_the_folder_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        write(folder / "worker0.pt.trace.json.gz", training_trace())
        monkeypatch.chdir(folder)
        page = analysis_report(timesink.analyze("."), rows=5)
        assert f"<title>{name} - timesink</title>" in page
