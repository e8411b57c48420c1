"""Which processes are set beside each other."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from timesink.comparison.pairing import Pairing, pair_processes
from timesink.comparison.results import Process
from timesink.comparison.thresholds import PairingLimits


def member(
    pid: object = 1,
    job: str = "result",
    suffix: str = "",
    *,
    rank: int | None = None,
    host: str | None = None,
    device: str = "GPU 0",
) -> Process:
    rows = pl.DataFrame({"device": [device]})
    return Process("", f"{job}.csv", str(pid), rows, host=host, rank=rank, job=job, suffix=suffix)


def match_names(pairing: Pairing) -> list[tuple[str, str, str]]:
    return [(match.kind, name(match.base), name(match.new)) for match in pairing.pairs]


def name(role_member: Process) -> str:
    return f"{role_member.job}{role_member.suffix}:{role_member.pid}"


def test_common_processes_meet_and_the_others_cross() -> None:
    base = [member(1), member(2), member(3)]
    new = [member(2), member(8), member(9)]
    assert match_names(pair_processes(base, new)) == [
        ("strict", "result:2", "result:2"),
        ("cross", "result:1", "result:8"),
        ("cross", "result:1", "result:9"),
        ("cross", "result:3", "result:8"),
        ("cross", "result:3", "result:9"),
    ]


def test_a_process_without_a_partner_is_left_out_and_named() -> None:
    pairing = pair_processes([member(1), member(2)], [member(1)])
    assert match_names(pairing) == [("strict", "result:1", "result:1")]
    assert [name(role_member) for role_member in pairing.left_out] == ["result:2"]


def test_ranks_meet_wherever_their_processes_ran() -> None:
    pairing = pair_processes(
        [member(1, rank=0), member(2, rank=1)], [member(8, rank=1), member(9, rank=0)]
    )
    assert match_names(pairing) == [
        ("strict", "result:1", "result:9"),
        ("strict", "result:2", "result:8"),
    ]
    assert all(match.by_rank for match in pairing.pairs)
    assert pairing.left_out == []


# -- suffixes --------------------------------------------------------------------------------------


def suffixes(base: list[str], new: list[str]) -> list[tuple[str, str]]:
    pairing = pair_processes(
        [member(1, "job", suffix) for suffix in base], [member(1, "job", suffix) for suffix in new]
    )
    return [(match.base.suffix, match.new.suffix) for match in pairing.pairs]


def test_the_same_cycles_meet() -> None:
    every = ["_prefill", "_decode", "_layer", ""]
    assert suffixes(every, every[::-1]) == [(suffix, suffix) for suffix in every]


def test_decode_cycles_meet_unnamed_ones_where_there_are_no_better() -> None:
    assert suffixes(["_decode", "_prefill"], [""]) == [("_decode", "")]
    assert suffixes([""], ["_prefill", "_decode"]) == [("", "_decode")]
    assert suffixes(["_decode", ""], ["_decode"]) == [("_decode", "_decode")]


def test_prefill_and_layers_meet_only_their_own() -> None:
    assert suffixes(["_prefill", ""], ["_layer", ""]) == [("", "")]


def test_what_is_given_alone_is_compared_whatever_it_is_called() -> None:
    assert suffixes(["_prefill"], ["_decode"]) == [("_prefill", "_decode")]


# -- files -----------------------------------------------------------------------------------------


def test_files_of_one_name_meet_before_others() -> None:
    base = [member(1, "a"), member(1, "b")]
    new = [member(1, "b"), member(1, "a")]
    assert match_names(pair_processes(base, new)) == [
        ("strict", "a:1", "a:1"),
        ("strict", "b:1", "b:1"),
    ]


def test_files_whose_names_do_not_meet_are_taken_together() -> None:
    base = [member(1, "host_1"), member(2, "host_2")]
    new = [member(2, "other_2"), member(1, "other_1")]
    assert match_names(pair_processes(base, new)) == [
        ("strict", "host_1:1", "other_1:1"),
        ("strict", "host_2:2", "other_2:2"),
    ]


# -- ranks and hosts -------------------------------------------------------------------------------


def test_ranks_meet_whatever_their_files_and_processes_are() -> None:
    base = [member(11, "w11", rank=1), member(10, "w10", rank=0)]
    new = [member(20, "w20", rank=0), member(21, "w21", rank=1), member(22, "w22", rank=2)]
    pairing = pair_processes(base, new)
    assert match_names(pairing) == [("strict", "w10:10", "w20:20"), ("strict", "w11:11", "w21:21")]
    assert all(match.by_rank for match in pairing.pairs)
    assert [name(role_member) for role_member in pairing.left_out] == ["w22:22"]


def test_ranks_need_to_be_known_of_all() -> None:
    base, new = [member(1, rank=0), member(2)], [member(2, rank=0), member(1, rank=1)]
    assert match_names(pair_processes(base, new)) == [
        ("strict", "result:1", "result:1"),
        ("strict", "result:2", "result:2"),
    ]


def test_ranks_that_do_not_meet_say_nothing() -> None:
    assert match_names(pair_processes([member(1, rank=0)], [member(2, rank=3)])) == [
        ("cross", "result:1", "result:2")
    ]


def test_ranks_have_prefill_and_decode() -> None:
    base = [member(1, "a", suffix, rank=0) for suffix in ("_prefill", "_decode")]
    new = [member(2, "b", suffix, rank=0) for suffix in ("", "_prefill")]
    assert match_names(pair_processes(base, new)) == [
        ("strict", "a_decode:1", "b:2"),
        ("strict", "a_prefill:1", "b_prefill:2"),
    ]


def test_one_number_on_two_hosts_is_two_processes() -> None:
    base = [member(1, host="left"), member(1, host="right")]
    pairing = pair_processes(base, [member(1, host="right"), member(1, host="left")])
    hosts = [(match.kind, match.base.host, match.new.host) for match in pairing.pairs]
    assert hosts == [("strict", "left", "left"), ("strict", "right", "right")]


def test_hosts_that_do_not_meet_do_not_part_a_process() -> None:
    pairing = pair_processes([member(1, host="left")], [member(1, host="right"), member(2)])
    assert match_names(pairing)[0] == ("strict", "result:1", "result:1")


# -- too many --------------------------------------------------------------------------------------


def test_a_product_that_explodes_is_cut_and_said() -> None:
    count = PairingLimits.max_cross_pairs // 2
    base = [member(100 + n, device=f"GPU {n}") for n in range(count)]
    new = [member(900 - n, device=f"GPU {n}") for n in range(count)]
    pairing = pair_processes(base, new)
    # One partner each: the one on the same device.
    assert [(int(match.base.pid) - 100, 900 - int(match.new.pid)) for match in pairing.pairs] == [
        (n, n) for n in range(count)
    ]
    assert "--pid" in pairing.notes[0]


_MEMBERS = st.lists(
    st.builds(
        member,
        st.integers(1, 4),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["", "_decode", "_prefill"]),
        rank=st.none() | st.integers(0, 2),
        host=st.none() | st.sampled_from(["x", "y"]),
    ),
    min_size=1,
    max_size=5,
)


@given(_MEMBERS, _MEMBERS)
def test_nobody_is_lost_and_swapping_mirrors(base: list[Process], new: list[Process]) -> None:
    pairing = pair_processes(base, new)
    used = {id(role_member) for match in pairing.pairs for role_member in (match.base, match.new)}
    left = [id(role_member) for role_member in pairing.left_out]
    assert used.isdisjoint(left)
    assert used | set(left) == {id(role_member) for role_member in (*base, *new)}
    assert pairing.pairs
    mirrored = {
        (candidate.kind, id(candidate.new), id(candidate.base))
        for candidate in pair_processes(new, base).pairs
    }
    assert {
        (candidate.kind, id(candidate.base), id(candidate.new)) for candidate in pairing.pairs
    } == mirrored
