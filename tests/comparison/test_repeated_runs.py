"""Runs of two versions: what is decided, and when."""

from itertools import islice

import numpy as np
import pytest

from timesink.comparison.repeated_runs import TimedRun, decide, neighbours, next_sides, runs_needed


def runs(levels, *, drift=0.0, cycles=40, probes=None, seed=3):
    """Runs in turn at these levels of both sides, in ms, with even cycles."""
    order = islice(next_sides(seed), 2 * len(levels["base"]))
    left = {side: iter(side_levels) for side, side_levels in levels.items()}
    timed_runs = []
    for number, side in enumerate(order):
        level = next(left[side]) * (1 + drift * number)
        speed = None if probes is None else probes[number]
        timed_runs.append(TimedRun(side, np.full(cycles, 1e6 * level), number, speed))
    return timed_runs


def noisy(number, level=10.0, part=0.01, seed=1):
    return level * np.exp(part * np.random.default_rng(seed).normal(size=number))


def test_a_change_of_ten_percent_is_found_in_few_runs():
    decision = decide(runs({"base": noisy(5), "new": noisy(5, 11.0, seed=2)}))
    assert decision.outcome == "slower"
    low, high = decision.typical.interval_pct
    assert 0 < low < 10 < high


def test_equal_sides_are_the_same_once_the_interval_is_narrow():
    few = decide(runs({"base": noisy(4), "new": noisy(4, seed=2)}))
    many = decide(runs({"base": noisy(80), "new": noisy(80, seed=2)}))
    assert few.outcome == "undecided"
    assert few.more_runs > 5
    assert many.outcome == "same"
    assert many.more_runs is None


def test_drift_of_the_machine_cancels_between_neighbours():
    levels = {"base": noisy(12, part=0.001), "new": noisy(12, part=0.001, seed=2)}
    assert decide(runs(levels, drift=0.02)).outcome == "same"


def test_runs_that_did_not_take_turns_are_not_paired():
    taken = runs({"base": noisy(6), "new": noisy(6, 10.5, seed=2)})
    apart = sorted(taken, key=lambda run: run.side)
    one_after_the_other = [
        TimedRun(run.side, run.cycles_ns, place) for place, run in enumerate(apart)
    ]
    assert decide(taken).pairs == 6
    assert decide(one_after_the_other).pairs == 0


def test_rare_slow_cycles_are_found_in_the_mean_though_typical_cycles_are_the_same():
    even = np.full(100, 1e6)
    uneven = np.where(np.arange(100) % 20 == 7, 60e6, 1e6)
    taken = [
        TimedRun(side, (even if side == "base" else uneven) * scale, number)
        for number, (side, scale) in enumerate(
            zip(next_sides(1), noisy(24, 1.0, 0.002), strict=False)
        )
    ]
    decision = decide(taken)
    assert decision.outcome == "slower"
    assert decision.leading.statistic == "mean"


def test_one_run_in_ten_that_is_held_up_keeps_sides_from_being_the_same():
    levels = {"base": noisy(20, part=1e-4), "new": noisy(20, part=1e-4, seed=2)}
    levels["new"][[3, 11]] *= 61
    assert decide(runs(levels)).outcome == "undecided"


def test_a_busy_neighbour_does_not_hide_a_change_of_fast_cycles():
    random = np.random.default_rng(5)
    taken = []
    for number, side in enumerate(islice(next_sides(2), 24)):
        cycles = np.full(200, 1e6 if side == "base" else 1.05e6)
        # A part of the cycles, another in each run, waits for a core.
        is_waiting = random.random(200) < random.uniform(0.05, 0.6)
        taken.append(TimedRun(side, np.where(is_waiting, 3 * cycles, cycles), number))
    decision = decide(taken)
    assert decision.outcome == "slower"
    assert decision.leading.statistic == "fast"


@pytest.mark.parametrize("allowed", [None, 1.0, 5.0, 30.0])
def test_rare_slow_cycles_do_not_pass_a_limit(allowed):
    random = np.random.default_rng(6)
    taken = []
    for number, side in enumerate(islice(next_sides(2), 40)):
        cycles = np.full(50, 1e6 if side == "base" else 1.02e6) * random.normal(1, 0.001, 50)
        if side == "new":
            cycles[[3, 20, 41]] *= 9
        taken.append(TimedRun(side, cycles, number))
    assert decide(taken).is_beyond(allowed) is True
    assert decide(taken).is_beyond(70.0) is False


def test_a_limit_below_what_is_known_is_not_decided():
    base = noisy(30, part=0.002)
    apart = 1.001 + 0.004 * np.random.default_rng(2).normal(size=30)
    decision = decide(runs({"base": base, "new": base * apart}))
    assert decision.outcome == "same"
    assert decision.is_beyond(0.3) is None
    assert decision.is_beyond(1.0) is False


def test_changes_too_small_to_matter_are_none():
    levels = {"base": noisy(20, part=1e-4), "new": noisy(20, 10.01, 1e-4, seed=2)}
    assert decide(runs(levels)).outcome == "same"
    assert decide(runs(levels), 0.05).outcome == "slower"


def test_one_new_run_is_held_against_the_scatter_of_several():
    base = [TimedRun("base", np.full(20, 1e6 * level), place) for place, level in
            enumerate(noisy(6))]  # fmt: skip
    slow, same = (TimedRun("new", np.full(20, 1e7 * by), 9) for by in (1.5, 1.01))
    assert decide([*base, slow], looking=False).outcome == "slower"
    assert decide([*base, same], looking=False).outcome == "undecided"


def test_two_runs_a_side_decide_nothing():
    levels = {"base": [1.0, 1.001], "new": [1.1, 1.101]}
    assert decide(runs(levels), looking=False).outcome == "undecided"


def test_runs_with_cycles_of_no_length_are_left_out():
    taken = runs({"base": noisy(6), "new": noisy(6, seed=2)})
    broken = TimedRun("new", np.zeros(20), 99)
    assert decide([*taken, broken]).runs == (6, 6)


def test_one_run_a_side_decides_nothing():
    decision = decide(runs({"base": [1.0], "new": [7.0]}))
    assert decision.outcome == "undecided"
    assert decision.typical.interval_pct is None


def test_runs_are_paired_with_the_neighbour_of_the_other_side():
    names = ["base", "new", "new", "base", "base", "base", "new"]
    ordered = [TimedRun(side, np.ones(3), place) for place, side in enumerate(names)]
    pairs = [(base.started_us, new.started_us) for base, new in neighbours(ordered)]
    assert pairs == [(0, 1), (3, 2), (5, 6)]


def test_the_order_is_drawn_and_neither_side_always_first():
    orders = {tuple(islice(next_sides(seed), 4)) for seed in range(8)}
    assert orders == {("base", "new", "new", "base"), ("new", "base", "base", "new")}


@pytest.mark.parametrize("scatter", [0.3, 1.0])
def test_as_many_runs_are_stated_as_find_the_change(scatter):
    stated = runs_needed(scatter)
    slower_count = 0
    for seed in range(20):
        levels = {
            "base": noisy(stated, part=scatter / 100 / 2**0.5, seed=2 * seed),
            "new": noisy(stated, 10.1, scatter / 100 / 2**0.5, seed=2 * seed + 1),
        }
        slower_count += decide(runs(levels)).outcome == "slower"
    assert slower_count >= 18
