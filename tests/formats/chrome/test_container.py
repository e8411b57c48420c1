"""The event list is cut between events only, however much else looks like a place to cut."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import training_trace
from timesink.formats.chrome.container import (
    PieceText,
    cut_pieces,
    find_events,
    looks_like_events,
    split_end,
    split_head,
    value_end,
)

# What looks like the end of one event and the start of the next, in strings and in arguments.
TRICKY_TEXTS = [
    '},{"ph":"X"',
    '}, {"',
    '"}, {"ph": "M"}',
    "},{",
    '\\"},{\\"',
    "]}",
    "[{",
    "a\\",
    "",
]
TRICKY_OBJECTS = [{"b": 1}, {"ph": "X"}, {"ph": "X", "ts": 1, "args": {"ph": []}}, {}]

texts = st.sampled_from(TRICKY_TEXTS) | st.text(max_size=6)
arguments = st.recursive(
    st.none() | st.integers(-9, 9) | texts | st.sampled_from(TRICKY_OBJECTS),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)
events = st.fixed_dictionaries(
    {"ph": st.sampled_from(["X", "s", "M"]), "name": texts},
    optional={"ts": st.integers(0, 9), "args": st.dictionaries(texts, arguments, max_size=3)},
)


def cut_text(
    text: bytes, *, size: int, block: int, share: int = 0, shares: int = 1
) -> list[PieceText]:
    opened = split_head(text[at : at + block] for at in range(0, len(text), block))
    assert opened is not None
    return list(cut_pieces(opened[2], share=share, shares=shares, size=size))


def events_of(cuts: list[PieceText], *, bare: bool = False) -> list[object]:
    """Events of all pieces, each decoded by itself."""
    all_events = []
    for cut in cuts:
        text = cut.text
        if cut.last:
            ended = split_end(text, bare=bare)
            assert ended is not None
            text = ended[0]
        all_events += json.loads(text)
    return all_events


@given(
    st.lists(events, min_size=1, max_size=12),
    st.integers(1, 400),
    st.integers(1, 200),
    st.sampled_from([None, 1]),
    st.booleans(),
)
def test_pieces_of_any_size_hold_the_events_of_the_whole(listed, size, block, indent, bare):
    document = (
        listed if bare else {"a": [{"b": 1}], "traceEvents": listed, "z": [{"c": 1}, {"d": 2}]}
    )
    cuts = cut_text(json.dumps(document, indent=indent).encode(), size=size, block=block)
    assert events_of(cuts, bare=bare) == listed
    assert [cut.last for cut in cuts] == [False] * (len(cuts) - 1) + [True]


def test_small_pieces_are_small():
    """Cutting correctly by never cutting would not do."""
    cuts = cut_text(json.dumps(training_trace(steps=20)).encode(), size=2_000, block=500)
    assert len(cuts) > 20
    assert max(len(cut.text) for cut in cuts) < 4_000


@pytest.mark.parametrize("shares", [2, 3])
def test_shares_cut_at_the_same_places(shares):
    text = json.dumps(training_trace(steps=10)).encode()
    every = cut_text(text, size=1_000, block=300)
    shared = [
        cut
        for share in range(shares)
        for cut in cut_text(text, size=1_000, block=300, share=share, shares=shares)
    ]
    assert sorted(shared, key=lambda cut: cut.number) == every


def test_one_event_longer_than_many_pieces():
    long_event = {"ph": "X", "args": {"list": [{"ph": "X", "at": place} for place in range(500)]}}
    listed = [{"ph": "M"}, long_event, {"ph": "M"}]
    assert events_of(cut_text(json.dumps(listed).encode(), size=100, block=64), bare=True) == listed


def test_text_in_which_no_event_ends_is_not_read_forever():
    first = [b'{"ph": "X", "ts": 1}, ']
    endless = itertools.chain(first, itertools.repeat(b" " * 100))
    pieces = list(cut_pieces(endless, size=10, limit=1000))
    assert len(pieces[-1].text) < 1200


def test_damaged_events_do_not_keep_the_others_in_one_piece():
    """Where no event is valid JSON the text is still cut, or memory would grow with the file."""
    event = b'{"ph": "X", "name": "k", "args": {"occupancy": N/A, "dims": [{"a": 1}, {"b": 2}]}}'
    cuts = cut_text(b'{"traceEvents": [' + b", ".join([event] * 200) + b"]}", size=1_000, block=500)
    assert len(cuts) > 10
    assert sum(cut.text.count(b"N/A") for cut in cuts) == 200
    assert all(cut.text.startswith(b'[{"ph"') or cut.text.startswith(b'[ {"ph"') for cut in cuts)


def test_metadata_behind_the_events_stays_in_the_last_piece():
    tail = {"processes": [{"pid": number} for number in range(2_000)]}
    document = {"traceEvents": [{"ph": "M"}] * 50, **tail}
    cuts = cut_text(json.dumps(document).encode(), size=500, block=200)
    assert b"processes" in cuts[-1].text
    assert not any(b"pid" in cut.text for cut in cuts[:-1])


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'{"traceEvents": [', (17, False)),
        (b'\xef\xbb\xbf{ "a": 1, "traceEvents"\n:\n[{', (30, False)),
        (b"\xef\xbb\xbf [{", (5, True)),
        (b'{"schemaVersion": 1', None),
    ],
)
def test_the_start_of_the_list(head, expected):
    assert find_events(head) == expected


def test_the_start_of_the_list_may_lie_across_blocks():
    text = b'{"schemaVersion": 1, "traceEvents" : [{"ph": "X"}]}'
    for block in range(1, len(text)):
        opened = split_head(text[at : at + block] for at in range(0, len(text), block))
        assert opened is not None
        head, bare, stream = opened
        assert (head, bare, b"".join(stream)) == (text[:38], False, b'{"ph": "X"}]}')


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'{"schemaVersion": 1, "deviceProperties": [', True),
        (b'[{"name": "a", "ph": "X"}', True),
        (b"[[1, 2, 3]]", False),
        (b'[{"name": "a"}]', False),
        (b'{"a": 1}', False),
        (b"\x00\x01", False),
    ],
)
def test_what_looks_like_a_trace(head, expected):
    assert looks_like_events(head) is expected


@pytest.mark.parametrize(
    ("text", "end"),
    [(b'{"a": "}"} rest', 10), (b'[[1], "]\\"]"], 2', 13), (b"{}", 2), (b'{"a": [', None)],
)
def test_the_end_of_a_value(text, end):
    assert value_end(text, 0) == end


def test_empty_list():
    assert split_end(b'[ ], "a": 1}', bare=False) == (b"[ ]", b', "a": 1}')
    assert split_end(b"[]\n", bare=True) == (b"[]", b"\n")


def test_a_field_of_the_same_name_deeper_down_is_not_the_list(read):
    trace = read(
        b'{"notes": {"traceEvents": [1, 2]}, "traceEvents": [{"ph": "X", "ts": 1, "dur": 2}]}'
    )
    assert trace.metadata.events == 1


def test_very_many_blanks_between_events_are_no_end():
    event = b'{"ph":"X","name":"a","ts":1,"dur":2},'
    blanks = [b" " * 300] * 20
    blocks = [event * 20, *blanks, event * 20, *blanks, event[:-1] + b"]}"]
    text = b"".join(piece.text for piece in cut_pieces(blocks, size=400, limit=2000))
    assert text.count(b'"ph"') == 41
