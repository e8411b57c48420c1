"""The program's output and the profiler's, mixed in every way they can be."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from timesink.recorder.ncu.process import Splitter

PROFILING = b'==PROF== Profiling "gemm" - 12: 0%....50%....100% - 9 passes\n'
HEAD = b'"ID","Process ID","Process Name"\n'


def split(*chunks: bytes, ends: bool = True) -> dict[str, bytes]:
    """What belongs to whom after all chunks came."""
    splitter = Splitter()
    parts = {"program": b"", "profiler": b"", "table": b""}
    for chunk in chunks:
        for origin, data in splitter.feed(chunk):
            parts[origin] += data
    if ends:
        for origin, data in splitter.end():
            parts[origin] += data
    return parts


def test_lines_are_told_apart():
    parts = split(b"one\n" + PROFILING + b"two\n==ERROR== no\nthree")
    assert parts["program"] == b"one\ntwo\nthree"
    assert parts["profiler"] == PROFILING + b"==ERROR== no\n"


def test_profiler_breaks_into_an_unfinished_line():
    parts = split(b"epoch 1: \r 50% ", PROFILING, b"done\n")
    assert (parts["program"], parts["profiler"]) == (b"epoch 1: \r 50% done\n", PROFILING)


def test_program_breaks_into_a_line_of_the_profiler():
    parts = split(
        b'==PROF== Profiling "gemm" - 12: 0%', b"hello\n", b"....50%....100% - 9 passes\n"
    )
    assert parts["program"] == b"hello\n"
    parts = split(b'==PROF== Profiling "gemm" - 1 (2/4): 0%....50%hello\n', b"....100% - 1 pass\n")
    assert parts["program"] == b"hello\n"


def test_profiler_breaks_into_its_own_line():
    parts = split(b'==PROF== Profiling "gemm" - 12: 0%==PROF== Trying to shutdown target\n')
    assert parts["program"] == b""
    assert b"\n==PROF== Trying" in parts["profiler"]


def test_dots_of_a_program_are_its_own():
    dots = b"....50%....100% - 9 passes\n"
    assert split(dots)["program"] == dots
    assert split(PROFILING, dots)["program"] == dots


def test_prompts_and_bars_appear_at_once():
    for prompt in (b"password: ", b"\r[=====>    ] 50%", b"...", b'"quoted'):
        assert split(prompt, ends=False)["program"] == prompt


def test_what_may_be_a_mark_is_shown_when_nothing_follows():
    splitter = Splitter()
    assert list(splitter.feed(b"bar ==")) == [("program", b"bar ")]
    assert list(splitter.wait_over()) == [("program", b"==")]
    assert list(splitter.feed(b'==PROF== Profiling "gemm" - 3: 0%')) == []
    assert list(splitter.wait_over()) == []
    assert next(splitter.feed(b"....50%....100% - 9 passes\n"))[0] == "profiler"


def test_marks_of_others_pass():
    for line in (b"==1234== valgrind\n", b"== PROF ==\n", b"==PROF==\n", b"a == b\n"):
        assert split(line)["program"] == line


def test_table_printed_instead_of_a_report():
    row = b'"0","17","python3.12"\n'
    parts = split(b"hello\n" + HEAD + row + PROFILING + row + b"bye\n")
    assert parts["table"] == HEAD + row + row
    assert parts["program"] == b"hello\nbye\n"


def test_rows_of_a_program_are_its_own():
    row = b'"0","17","mine"\n'
    assert split(row + b'"ID","Name"\n' + row)["program"] == row + b'"ID","Name"\n' + row


PIECES = st.sampled_from([
    b"text\n", b"unfinished", b"\r 5%", b"=", b"==", b"\n", b'"ID"', b'"3","4"\n', b"....",
    PROFILING, b"==WARNING== careful\n", b"==PROF== Connected to process 7 (x)\n", HEAD,
])  # fmt: skip


@given(st.lists(PIECES), st.data())
def test_how_bytes_arrive_does_not_matter(pieces: list[bytes], data: st.DataObject):
    text = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    edges = [0, *cuts, len(text)]
    chunks = [text[start:end] for start, end in pairwise(edges)]
    assert split(*chunks) == split(text)


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_output_without_marks_is_unchanged(chunks: list[bytes]):
    text = b"".join(chunks)
    assume(b"== " not in text)
    assume(b'"ID"' not in text)
    assert split(*chunks)["program"] == text
