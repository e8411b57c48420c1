"""Which rank a recording is."""

from __future__ import annotations

from timesink.analyses.ranks import Named, numbered


def test_the_trace_counts_more_than_the_name_of_its_file():
    found = numbered([Named("rank0", 5, 0), Named("rank1", None, 1)])
    assert found == ((5, 1), ())


def test_names_count_where_every_trace_says_the_same():
    """As programs do that were started one by one, each the rank 0 of its own world."""
    found = numbered([Named("rank0", 0, 0), Named("rank1", 0, 1)])
    assert found == ((0, 1), ())


def test_without_any_number_the_order_counts_and_that_is_said():
    ranks, notes = numbered([Named("a", None, None), Named("b", None, None)])
    assert ranks == (0, 1)
    assert notes == ("no recording says which rank it is: they are numbered by their names",)


def test_the_second_of_one_rank_gets_a_number_of_its_own():
    ranks, notes = numbered([Named("a", 0, None), Named("b", 1, None), Named("c", 1, None)])
    assert ranks == (0, 1, 2)
    assert notes == ("c says that it is rank 1, as another recording does: it counts as rank 2",)


def test_one_that_is_silent_takes_a_free_number():
    ranks, notes = numbered([Named("a", 0, None), Named("b", None, None), Named("c", 2, None)])
    assert ranks == (0, 1, 2)
    assert notes == ("b does not say which rank it is: it counts as rank 1",)


def test_a_single_recording_needs_no_word():
    assert numbered([Named("a", None, None)])[1] == ()
