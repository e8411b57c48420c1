"""Which cycles of a run are slow, in words."""

from __future__ import annotations

from timesink.answers.comparison.slow_steps import notes_of, spans, why_not, why_slow
from timesink.comparison.causes.slow_steps import CycleLevel, CycleSplit
from timesink.model.diagnosis import CycleTime

SPLIT = CycleSplit(
    typical=(2, 3, 4, 5, 6),
    slow=(7, 8, 9, 12),
    fast=(10,),
    warm_up=(1,),
    levels=(CycleLevel(2, 6, 5, 50e6), CycleLevel(7, 12, 6, 80e6)),
    typical_ns=50e6,
)
TIMES = CycleTime(51e6, 82e6, 60.8, None, None)
NOTHING = CycleSplit((), (), (), (), (), 0.0)


def test_many_spans_are_counted():
    assert spans(range(1, 40, 2)) == "1, 3, 5, 7, 9 and 15 more"


def test_slow_cycles_are_named():
    assert why_slow(SPLIT, TIMES) == (
        "4 of 11 steps are slow: steps 7 to 9 and 12. A typical step takes 50.0 ms."
    )


def test_a_period_is_said_as_one_with_its_share():
    split = CycleSplit((1, 2, 4, 5), (3, 6, 9), (), (), (), 50e6, period=3, slow_share=0.4)
    assert why_slow(split, TIMES) == (
        "One step in 3 takes 82.0 ms instead of 50.0 ms (steps 3, 6 and 9): 40.0 % of the run time."
    )


def test_where_half_of_the_cycles_are_slow_there_are_levels():
    levels = CycleSplit((1, 2, 3), (4, 5, 6), (), (), (), 50e6)
    assert why_slow(levels, TIMES) == (
        "Step time has levels: 3 of 6 steps take 82.0 ms instead of 51.0 ms "
        "(steps 4 to 6; the others: steps 1 to 3)."
    )


def test_calm_and_unknown_runs_say_so():
    calm = CycleSplit((1, 2, 3, 4), (), (), (), (), 50e6)
    assert why_not(calm) == "No slow steps: a typical step takes 50.0 ms."
    assert why_not(NOTHING) == "Step times are not recorded."
    assert "too few" in why_not(CycleSplit((1, 2), (3,), (), (), (), 50e6))
    single = CycleSplit((1,), (), (), (), (), 50e6)
    assert why_not(single) == "One step: nothing to compare it with."
    warm = CycleSplit((2, 3, 4), (), (), (1,), (), 50e6)
    assert why_not(warm).startswith("No slow steps after warm-up: ")


def test_warm_up_drift_and_short_cycles_are_noted():
    assert tuple(notes_of(SPLIT)) == (
        "Step 1 is warm-up and not counted as slow.",
        "Step time drifts: steps 2 to 6 at 50.0 ms, steps 7 to 12 at 80.0 ms.",
        "Unusually short, and left out of the comparison: step 10.",
    )
    assert tuple(notes_of(NOTHING)) == ()
