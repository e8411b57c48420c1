"""Causes in the code of the host: what stands out of its pace, and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowed import MS, USUAL, Call, anomaly, causes


def test_a_pause_at_the_end_of_each_cycle_is_found_with_the_stretch_to_look_at() -> None:
    (cause,) = causes(USUAL, replace(USUAL, gap_ms=10.0))
    assert cause.id == "host_code"
    assert cause.cost_ns == pytest.approx(10 * MS, rel=0.1)
    assert "after the last operator of the step (aten::cat)" in cause.sentence
    place = cause.evidence[0]
    assert (place.kind, place.side) == ("place", "new")
    assert place.start_ns is not None
    assert place.end_ns is not None
    assert place.end_ns - place.start_ns == pytest.approx(10 * MS, rel=0.1)


def test_a_pause_is_found_on_a_host_that_became_slower_as_well() -> None:
    (cause,) = causes(USUAL, replace(USUAL.slowed(1.4), gap_ms=10.0))
    assert cause.id == "host_code"
    assert cause.cost_ns == pytest.approx(10 * MS, rel=0.15)


def test_a_pause_that_is_gone_explains_what_was_gained() -> None:
    (cause,) = causes(replace(USUAL, gap_ms=10.0), USUAL)
    assert cause.id == "host_code"
    assert cause.cost_ns == pytest.approx(-10 * MS, rel=0.1)
    assert cause.evidence[0].side == "base"


@pytest.mark.parametrize("factor", [0.7, 3.0])
def test_a_host_that_is_slower_everywhere_has_no_place_to_blame(factor: float) -> None:
    assert causes(USUAL, USUAL.slowed(factor)) == ()


def test_one_function_that_became_slower_is_to_blame() -> None:
    (cause,) = causes(USUAL, USUAL.but(aten__add=Call("cpu_operator", 70, 14.0)))
    assert cause.id == "host_code"
    assert cause.sentence.startswith("aten::add takes")
    assert cause.evidence[0].function == "aten::add"


def test_a_function_with_most_of_the_time_may_be_to_blame_too() -> None:
    (cause,) = causes(USUAL, USUAL.but(aten__attention=Call("cpu_operator", 12, 60.0)))
    assert cause.evidence[0].function == "aten::attention"
    assert cause.cost_ns == pytest.approx(30 * MS, rel=0.1)


def test_more_calls_are_to_blame() -> None:
    (cause,) = causes(USUAL, USUAL.but(aten__sort=Call("cpu_operator", 30, 5.0)))
    assert cause.id == "host_code"
    assert "aten::sort runs 0 → 30 times per step" in cause.sentence
    assert cause.evidence[0].unit == "calls per cycle"


def test_more_waits_for_the_device_take_along_what_came_with_them() -> None:
    new = USUAL.but(
        cudaStreamSynchronize=Call("cpu_sync", 101, 1.2),
        cudaMemcpyAsync=Call("cpu_copy", 102, 1.3),
        aten__item=Call("cpu_operator", 100, 0.8),
    )
    (cause,) = causes(USUAL, new)
    assert cause.id == "synchronisation"
    assert cause.cost_ns == pytest.approx(2.8 * MS, rel=0.1)
    assert {part for part, _ in cause.claims} == {"synchronisation", "launch_gap", "host_cpu"}
    first = cause.evidence[0]
    assert (first.function, first.base, first.new) == ("cudaStreamSynchronize", 1.0, 101.0)


def test_twice_the_work_per_cycle_is_not_more_synchronisation() -> None:
    twice = replace(
        USUAL,
        calls={
            name: replace(call, calls=2 * call.calls, ms=2 * call.ms)
            for name, call in USUAL.calls.items()
        },
    )
    assert "synchronisation" not in {cause.id for cause in causes(USUAL, twice)}


def test_waiting_for_data_is_found_with_the_loader() -> None:
    (cause,) = causes(replace(USUAL, loading_ms=1.0), replace(USUAL, loading_ms=20.0))
    assert cause.id == "data_loading"
    assert cause.evidence[0].function is not None
    assert cause.evidence[0].function.startswith("enumerate(DataLoader)")


def test_a_change_below_a_hundredth_of_the_cycle_is_no_cause() -> None:
    assert causes(USUAL, USUAL.but(aten__cat=Call("cpu_operator", 40, 2.7))) == ()


def test_a_pause_is_found_on_a_host_that_became_faster() -> None:
    (cause,) = causes(USUAL, replace(USUAL.slowed(0.7), gap_ms=4.0))
    assert cause.id == "host_code"
    # The device runs beside a fifth of the cycle, and may have done so beside the pause.
    assert 0.6 * 4 * MS < cause.cost_ns <= 4.1 * MS


def test_python_functions_that_one_side_did_not_record_are_no_cause() -> None:
    with_python = USUAL.but(
        **{
            "model.py(7): forward": Call("cpu_python", 20, 9.0),
            "step": Call("cpu_annotation", 1, 0.1),
        }
    )
    assert causes(USUAL, with_python) == ()
    assert causes(with_python, USUAL) == ()


def test_functions_with_the_address_of_an_object_are_the_same_in_both_runs() -> None:
    name = "<built-in method add of Tensor object at 0x7f{}>"
    base, new = (USUAL.but(**{name.format(at): Call("cpu_python", 20, 5.0)}) for at in "1c")
    assert causes(base, new) == ()


def test_a_crowded_host_is_late_everywhere_and_nothing_of_it_is_to_blame() -> None:
    crowded = anomaly("cpu_contention", "Host", metric="host_cpu_usage")
    new = replace(USUAL.slowed(2.0).but(step=Call("cpu_annotation", 1, 30.0)), loading_ms=6.0)
    (cause,) = causes(replace(USUAL, loading_ms=1.0), new, crowded)
    assert cause.id == "cpu_contention"
    assert {"host_cpu", "data_loading"} <= {part for part, _ in cause.claims}


def test_a_loader_that_is_slow_for_itself_is_to_blame_on_a_crowded_host_too() -> None:
    crowded = anomaly("cpu_contention", "Host", metric="host_cpu_usage")
    new = replace(USUAL, loading_ms=60.0)
    cause_list = causes(replace(USUAL, loading_ms=1.0), new, crowded)
    assert cause_list[0].id == "data_loading"


def test_operators_that_come_twice_with_each_wait_belong_to_it() -> None:
    new = USUAL.but(
        cudaStreamSynchronize=Call("cpu_sync", 9, 1.2),
        aten__abs=Call("cpu_operator", 16, 2.0),
        aten__item=Call("cpu_operator", 8, 0.8),
    )
    (cause,) = causes(USUAL, new)
    assert cause.id == "synchronisation"
    assert "aten::abs" in cause.sentence


GAPS = {f"aten::op{number}": 2.0 for number in range(8)}


def test_gaps_that_all_grew_alike_have_none_to_blame() -> None:
    longer = {after: 1.5 * ms for after, ms in GAPS.items()}
    assert causes(replace(USUAL, gaps_ms=GAPS), replace(USUAL, gaps_ms=longer)) == ()


@pytest.mark.parametrize("few", [1, 3])
def test_gaps_that_grew_beyond_the_others_are_told_one_by_one(few: int) -> None:
    longer = {
        after: ms + (10 if turn < few else 0) for turn, (after, ms) in enumerate(GAPS.items())
    }
    cause_list = causes(replace(USUAL, gaps_ms=GAPS), replace(USUAL, gaps_ms=longer))
    assert [cause.id for cause in cause_list] == ["host_code"] * few
    assert sum(cause.cost_ns for cause in cause_list) == pytest.approx(few * 10 * MS, rel=0.1)


def test_many_new_gaps_are_one_cause() -> None:
    new = {f"aten::new{number}": 4.0 for number in range(5)}
    (cause,) = causes(replace(USUAL, gaps_ms=GAPS), replace(USUAL, gaps_ms={**GAPS, **new}))
    assert "in 5 places of the step, most of it between aten::new" in cause.sentence
    assert len(cause.evidence) == 4
    assert cause.cost_ns == pytest.approx(20 * MS, rel=0.1)


def test_a_gap_beside_which_a_call_was_replaced_is_the_same_gap() -> None:
    """Though the other gaps are shorter; a third one that is gone is told."""
    longer = {after: 1.5 * ms for after, ms in GAPS.items()}
    base = replace(USUAL, gaps_ms={**longer, "aten::old": 10.0})
    new = replace(USUAL, gaps_ms={**GAPS, "aten::new": 10.0})
    assert causes(base, new) == ()
    third = replace(base, gaps_ms={**base.gaps_ms, "aten::third": 10.0})
    assert "host_code" in {cause.id for cause in causes(third, new)}


def test_places_inside_of_one_call_are_one_cause() -> None:
    new = {f"aten::new{number}": 5.0 for number in range(2)}
    (cause,) = causes(USUAL, replace(USUAL, gaps_ms=new, gaps_in="aten::add"))
    assert "in 2 places inside aten::add, most of it between aten::new" in cause.sentence
    assert cause.cost_ns == pytest.approx(10 * MS, rel=0.1)


def test_others_that_left_the_processor_explain_what_was_gained() -> None:
    crowded = USUAL.but(waiting=Call("runq", 5, 40.0))
    (cause,) = causes(crowded, USUAL, relieved=(anomaly("cpu_contention", "Host", metric="load"),))
    assert cause.id == "cpu_contention"
    assert cause.cost_ns == pytest.approx(-40 * MS, rel=0.1)
    assert cause.sentence.startswith("Other processes use the CPU less: load 99 → 5 %.")
    assert (cause.evidence[0].base, cause.evidence[0].new) == (99.0, 5.0)
    assert cause.evidence[0].text == "load of Host: 99 → 5 %"


def test_the_mark_of_a_step_is_told_as_the_time_that_it_stands_for() -> None:
    base, new = (
        USUAL.but(step=None, ProfilerStep=Call("cpu_annotation", 1, ms)) for ms in (5.0, 45.0)
    )
    (cause,) = causes(base, new)
    assert cause.id == "host_code"
    sentence = (
        "The host spends 5.06 → 45.4 ms per step between recorded calls, in nearly every step"
    )
    assert cause.sentence.startswith(sentence)
    assert cause.evidence[0].text == "time between recorded calls: 5.06 → 45.4 ms per step"
    assert cause.evidence[0].function == "ProfilerStep"
