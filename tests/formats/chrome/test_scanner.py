"""The native scanner and the Python path give the same tables, health and metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from answers import as_text
from builders import DIALECTS, kineto, to_bytes, write
from mutations import BASES, Mutant, corpus
from thinning import every_nth
from timesink.errors import TimesinkError
from timesink.formats.chrome import decoder_crew
from timesink.formats.chrome.container import PieceText, cut_pieces
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import read_trace
from timesink.runtime import native
from timesink.runtime.native import NATIVE_VARIABLE, is_native

pytestmark = pytest.mark.skipif(
    native.native_module() is None, reason="built without a compiler: there is no scanner"
)
MUTANTS = every_nth(corpus(), 9)


def answer_of(path: Path) -> object:
    """All that reading gives, or why it refuses."""
    try:
        trace = read_trace(path, ReadOptions(jobs=1))
    except TimesinkError as error:
        return error.message, error.hint
    return as_text(trace), trace.health, trace.metadata


def both_answers(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[object, object]:
    monkeypatch.delenv(NATIVE_VARIABLE, raising=False)
    scanned = answer_of(path)
    monkeypatch.setenv(NATIVE_VARIABLE, "0")
    return scanned, answer_of(path)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.label)
def test_mutants(mutant: Mutant, tmp_path, monkeypatch):
    path = tmp_path / f"trace{mutant.ending}"
    path.write_bytes(mutant.content)
    scanned, decoded = both_answers(path, monkeypatch)
    assert scanned == decoded


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects(dialect, tmp_path, monkeypatch):
    path = write(tmp_path / "trace.json", to_bytes(DIALECTS[dialect]()))
    scanned, decoded = both_answers(path, monkeypatch)
    assert scanned == decoded


ODD_TIMES = ("0.0005", "1.0015", "12345.678901", "1e3", "-5.125", "8796093022207.9995", "-0.0",
             "1700000000000000.123", "1700000000000000", "9.3e15", '"17.5"', "null", "1e400",
             "99999999999999999999")  # fmt: skip
ODD_ARGUMENTS = (
    '{"correlation": 1.0}', '{"correlation": null}', '{"correlation": "7"}', '{"stream": "a"}',
    '{"correlation": 18446744073709551615}', '{"stream": null, "stream": 7}', '{"grid": [1,2,3]}',
    '{"correlation": 1, "correlation": 2}', "[]", "null", "7", '"text"', '{"args": "{}"}',
    '{"gr\\u0069d": [1]}', '{"est. achieved occupancy %": 1e-400}', '{"bytes": -0}',
    '{"unknown": {"deep": [[[[{}]]]]}}', '{"grid": "\\ud83d\\ude00"}', '{"grid": "\\ud83d"}',
)  # fmt: skip


@pytest.mark.parametrize("text", ODD_TIMES)
def test_odd_times(text, tmp_path, monkeypatch):
    """Each as the start of one event and as the length of another."""
    head = '"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1'
    events = [f'{{{head}, "dur": 5, "ts": {text}}}', f'{{{head}, "ts": 5, "dur": {text}}}']
    path = write(tmp_path / "trace.json", with_events(events))
    scanned, decoded = both_answers(path, monkeypatch)
    assert scanned == decoded


@pytest.mark.parametrize("text", ODD_ARGUMENTS)
def test_odd_arguments(text, tmp_path, monkeypatch):
    """Whether arguments stand in front of what decides on the kind of event, or behind it."""
    envelope = '"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 2, "ts"'
    before = f'{{"args": {text}, {envelope}: 1}}'
    after = f'{{{envelope}: 4, "args": {text}}}'
    path = write(tmp_path / "trace.json", with_events([before, after, f"{{{envelope}: 9}}"]))
    scanned, decoded = both_answers(path, monkeypatch)
    assert scanned == decoded


def test_nothing_stays_of_a_piece_that_is_refused(tmp_path, monkeypatch):
    """A category that no event has in the end would name a vendor."""
    event = '{"ph": "X", "cat": "xpu_memcpy", "name": "a", "pid": 0, "tid": 3, "ts": 1, "dur": 2'
    path = write(tmp_path / "trace.json", with_events([f'{event}, "args": {{}}, {{}}']))
    scanned, decoded = both_answers(path, monkeypatch)
    assert scanned == decoded


def cut_small_pieces(stream: Iterable[bytes], **how: int) -> Iterator[PieceText]:
    """Pieces of a few events, where others have thousands."""
    blocks = (block[at : at + 500] for block in stream for at in range(0, len(block), 500))
    return cut_pieces(blocks, size=2000, **how)


@pytest.mark.parametrize("base", ["training", "old", "probes"])
def test_pieces_that_are_refused_between_clean_ones(base, tmp_path, monkeypatch):
    """Columns of clean pieces grow over the stream: what is unusual must end them where it is."""
    text = BASES[base]()
    places = [match.start() for match in re.finditer(rb'"ph":', text)]
    for place in places[len(places) // 3 :: max(1, len(places) // 4)]:
        text = text[:place] + b"\x01" + text[place + 1 :]
    monkeypatch.setattr(decoder_crew, "cut_pieces", cut_small_pieces)
    path = write(tmp_path / "trace.json", text)
    scanned, decoded = both_answers(path, monkeypatch)
    assert scanned == decoded


def with_events(events: list[str]) -> bytes:
    """A trace of events that are written here."""
    return to_bytes(kineto([])).replace(b"[]", f"[{', '.join(events)}]".encode(), 1)


def test_it_can_be_turned_off(monkeypatch):
    monkeypatch.delenv(NATIVE_VARIABLE, raising=False)
    assert is_native()
    monkeypatch.setenv(NATIVE_VARIABLE, "0")
    assert not is_native()
