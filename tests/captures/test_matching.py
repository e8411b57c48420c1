"""Which capture a replay is of: what fits, what is left alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from timesink.captures.matching import match_replays
from timesink.captures.replays import Replays
from timesink.model.captures import CALLS, GEOMETRY, NODES, Capture


def work(
    kernels: Sequence[str], streams: Sequence[int] = (), grid: int | None = None
) -> pl.DataFrame:
    rows = len(kernels)
    return pl.DataFrame(
        {
            "kind": ["memset" if name == "Memset" else "kernel" for name in kernels],
            "kernel": list(kernels),
            **dict.fromkeys(GEOMETRY, pl.Series([grid] * rows, dtype=pl.Int64)),
            "stream": [str(stream) for stream in streams or [7] * rows],
            "node_id": pl.Series([None] * rows, dtype=pl.Int64),
        }
    )


def replays(*each: pl.DataFrame) -> Replays:
    lengths = [one.height for one in each]
    first = np.concatenate([[0], np.cumsum(lengths)])
    return Replays(np.arange(len(each)), first, np.arange(sum(lengths)), pl.concat(each))


def frame(columns: dict[str, Any], schema: Any, kind: str) -> pl.DataFrame:
    """A table of what is given; the rest is not known."""
    rows = max(map(len, columns.values()), default=0)
    columns = {"kind": [kind] * rows, **columns}
    return pl.DataFrame({name: columns.get(name, [None] * rows) for name in schema}, schema=schema)


def capture(
    kernels: Sequence[str | None],
    *,
    batch: int = 8,
    prefix: str = "",
    grid: int | None = None,
    size: int | None = None,
    **more: Any,
) -> Capture:
    rows = len(kernels)
    calls = {
        "parent": [-1] * rows,
        "name": [f"{prefix}op{place}" for place in range(rows)],
        "input_dims": [f"[[{batch}]]"] * rows,
    }
    nodes: dict[str, list[Any]] = {"call": list(range(rows)), "kernel": list(kernels), **more}
    if grid is not None:
        nodes |= {name: [grid] * rows for name in GEOMETRY}
    tables = frame(calls, CALLS, "operator"), frame(nodes, NODES, "kernel")
    return Capture("a.json", "", *tables, batch_size=size)


def nodes_of(found: Any, replay: int = 0) -> list[int] | None:
    match = found.of_replay[replay]
    return None if match is None else match.node.tolist()


def test_equal_sequences_match_one_by_one():
    found = match_replays(replays(work("abc")), [capture("abc")])
    assert nodes_of(found) == [0, 1, 2]


def test_what_was_inserted_has_no_node():
    found = match_replays(replays(work(["a", "Memset", "b", "c"])), [capture("abc")])
    assert nodes_of(found) == [0, -1, 1, 2]


def test_other_work_is_left_alone():
    found = match_replays(replays(work("xyz")), [capture("abc")])
    assert nodes_of(found) is None


def test_the_capture_that_fits_better_is_taken():
    found = match_replays(replays(work("abcd")), [capture("abxx"), capture("abcd"), capture("abc")])
    assert found.of_replay[0].capture == 1


def test_streams_may_go_in_another_order():
    found = match_replays(replays(work("abdc", [7, 7, 8, 7])), [capture("abcd")])
    assert nodes_of(found) == [0, 1, 3, 2]


def test_equal_work_of_several_streams_under_other_calls_is_left_alone():
    found = match_replays(replays(work("abbcde", [7, 7, 8, 7, 7, 7])), [capture("abbcde")])
    assert nodes_of(found) == [0, -1, -1, 3, 4, 5]


def test_known_streams_tell_equal_work_apart():
    streams = ["1", "1", "2", "1"]
    found = match_replays(replays(work("abbc", [7, 8, 7, 7])), [capture("abbc", stream=streams)])
    assert nodes_of(found) == [0, 2, 1, 3]


def test_numbers_of_nodes_go_before_all_else():
    numbered = work("bb").with_columns(node_id=pl.Series([12, 11]))
    found = match_replays(replays(numbered), [capture("bb", node_id=[11, 12])])
    assert nodes_of(found) == [1, 0]


class TestWithoutNames:
    """Launches that do not say which kernel they launch."""

    def test_all_kinds_in_order_have_to_be_equal(self):
        found = match_replays(replays(work("abc")), [capture([None] * 3)])
        assert nodes_of(found) == [0, 1, 2]

    def test_one_more_piece_of_work_is_another_graph(self):
        found = match_replays(replays(work("abcd")), [capture([None] * 3)])
        assert nodes_of(found) is None

    def test_several_streams_cannot_be_told_apart(self):
        found = match_replays(replays(work("abc", [7, 8, 7])), [capture([None] * 3)])
        assert nodes_of(found) is None


class TestShapes:
    def test_of_the_only_capture_that_fits(self):
        found = match_replays(replays(work("abc")), [capture("abc")])
        assert found.of_replay[0].has_shapes

    def test_not_where_captures_of_other_batch_sizes_fit_as_well(self):
        found = match_replays(replays(work("abc")), [capture("abc"), capture("abc", batch=16)])
        assert nodes_of(found) == [0, 1, 2]
        assert not found.of_replay[0].has_shapes

    def test_ranges_of_the_program_say_which_batch_size_it_is(self):
        sizes = [capture("abc", size=8), capture("abc", batch=16, size=16)]
        both = replays(work("abc"), work("abc"))
        found = match_replays(both, sizes, [frozenset({16, 3}), frozenset({99})])
        assert [match.has_shapes for match in found.of_replay] == [True, False]
        assert found.of_replay[0].capture == 1

    def test_geometry_says_which_batch_size_it_is(self):
        sizes = [capture("abc", grid=1), capture("abc", batch=16, grid=2)]
        found = match_replays(replays(work("abc", grid=2), work("abc", grid=1)), sizes)
        assert [match.capture for match in found.of_replay] == [1, 0]
        assert all(match.has_shapes for match in found.of_replay)

    def test_not_where_the_geometry_is_another(self):
        found = match_replays(replays(work("abc", grid=2)), [capture("abc", grid=1)])
        assert not found.of_replay[0].has_shapes

    def test_not_where_other_replays_fit_the_capture_as_well(self):
        both = replays(work("abc"), work("xyz"))
        found = match_replays(both, [capture([None] * 3)])
        assert [match.has_shapes for match in found.of_replay] == [False, False]


class TestPieces:
    """Programs that capture layer by layer: pieces that run the same are in order."""

    parts = (
        capture("ab"),
        *(capture("cd", prefix=f"layer{number}.") for number in range(3)),
        capture("ef"),
    )

    def test_equal_pieces_follow_the_one_before(self):
        step = [work(pair) for pair in ("ab", "cd", "cd", "cd", "ef")]
        found = match_replays(replays(*step, *step), self.parts)
        assert [match.capture for match in found.of_replay] == [0, 1, 2, 3, 4] * 2

    def test_a_recording_may_begin_between_them(self):
        found = match_replays(replays(*map(work, ("cd", "ef", "ab", "cd"))), self.parts)
        assert [match.capture for match in found.of_replay] == [3, 4, 0, 1]

    def test_without_any_neighbour_they_are_left_alone(self):
        found = match_replays(replays(work("cd")), self.parts)
        assert (found.of_replay[0], found.ambiguous) == (None, 1)
