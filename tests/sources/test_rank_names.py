"""Ranks and hosts in the names that programs give their traces."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.formats.file_names import host_in_name, rank_in_name, without_rank

_WORDS = st.sampled_from(
    ["", "trace_", "iteration_10_", "pytorch-profile.", "run7_", "tp8_", "dp2-", "17.5-", "frank3_"]
)
_SEPARATORS = st.sampled_from(["", "_", "-", ".", " ", "="])
_ENDS = st.sampled_from(
    ["", "_trace", "_step10", "-of-64", ".Jul_15_10_52_41.1074.pt.trace", ".1794703754.pt.trace"]
)
_PACKINGS = st.sampled_from([".json", ".json.gz", ".zip"])
_NUMBERS = st.integers(0, 10**6 - 1)
"""Longer ones are dates, times or process ids."""
_RANKS = st.builds(
    str.__add__, st.sampled_from(["rank", "Rank", "RANK", "global_rank"]), _SEPARATORS
)


@given(_WORDS, _RANKS, _NUMBERS, _ENDS, _PACKINGS)
def test_a_rank_is_found_whatever_is_around_it(
    before: str, word: str, number: int, end: str, packing: str
):
    assert rank_in_name(f"{before}{word}{number}{end}{packing}") == number


@given(_WORDS, _NUMBERS, _NUMBERS, _ENDS)
def test_names_of_one_run_differ_in_the_rank_alone(before: str, rank: int, other: int, end: str):
    assert without_rank(f"{before}rank{rank}{end}.json") == without_rank(
        f"{before}rank{other}{end}.json.gz"
    )


@given(st.text(max_size=30))
def test_any_name_can_be_asked(name: str):
    rank = rank_in_name(name)
    assert rank is None or re.search(rf"0*{rank}", name)
    assert host_in_name(name) is None or str(host_in_name(name)) in name


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("local_rank_3.json", 3),
        ("node1_local_rank3_rank11.json", 11),
        ("rank11_local_rank3.json", 11),
        ("dp_rank0_tp_rank1.json", None),
        ("tp_rank_1.json", 1),
        ("17-TP-3-DP-1.trace.json.gz", None),
        ("mi300_tp8.json", None),
        ("kineto-trace-64-of-64.json", None),
        ("frank3.json", None),
        ("rank_non_gpu.json.gz", None),
        ("rank1234567.json", None),
    ],
)
def test_names_that_state_more_or_less_than_a_rank(name: str, rank: int | None):
    assert rank_in_name(name) == rank


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("dgx-07_8123.1623143089861.pt.trace.json.gz", "dgx-07"),
        ("ip-10-0-0-7.ec2.internal_12.17.pt.trace.json", "ip-10-0-0-7.ec2.internal"),
        ("dgx_8123.async_llm.17.pt.trace.json.gz", "dgx"),
        ("localhost_8123.17.pt.trace.json", None),
        ("worker_3.17.pt.trace.json", None),
        ("rank_3.17.pt.trace.json", None),
        ("my_run_42.17.pt.trace.json", None),
        ("dgx_8123.json", None),
    ],
)
def test_the_host_is_in_names_of_the_profiler_only(name: str, host: str | None):
    assert host_in_name(name) == host
