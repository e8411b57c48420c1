"""Which rank a recording is."""

from __future__ import annotations

from timesink.analyses.ranks.rank_set import NamedRecording, rank_numbers


def test_the_trace_counts_more_than_the_name_of_its_file():
    numbering = rank_numbers([NamedRecording("rank0", 5, 0), NamedRecording("rank1", None, 1)])
    assert numbering == ((5, 1), ())


def test_names_count_where_every_trace_says_the_same():
    """As programs do that were started one by one, each the rank 0 of its own world."""
    numbering = rank_numbers([NamedRecording("rank0", 0, 0), NamedRecording("rank1", 0, 1)])
    assert numbering == ((0, 1), ())


def test_without_any_number_the_order_counts_and_that_is_said():
    ranks, notes = rank_numbers([NamedRecording("a", None, None), NamedRecording("b", None, None)])
    assert ranks == (0, 1)
    assert notes == ("no recording says which rank it is: they are numbered by their names",)


def test_the_second_of_one_rank_gets_a_number_of_its_own():
    ranks, notes = rank_numbers(
        [NamedRecording("a", 0, None), NamedRecording("b", 1, None), NamedRecording("c", 1, None)]
    )
    assert ranks == (0, 1, 2)
    assert notes == ("c says that it is rank 1, as another recording does: it counts as rank 2",)


def test_one_that_is_silent_takes_a_free_number():
    ranks, notes = rank_numbers(
        [
            NamedRecording("a", 0, None),
            NamedRecording("b", None, None),
            NamedRecording("c", 2, None),
        ]
    )
    assert ranks == (0, 1, 2)
    assert notes == ("b does not say which rank it is: it counts as rank 1",)


def test_a_single_recording_needs_no_word():
    assert rank_numbers([NamedRecording("a", None, None)])[1] == ()
