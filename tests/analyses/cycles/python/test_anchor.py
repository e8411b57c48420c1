"""Cycles by the call on top of a loop, against loops whose cycles are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loops import LAYER, US, Served, serve
from timelines import trace_of
from timesink.analyses.cycles.search import find_cycles
from timesink.analyses.cycles.spans import Cycles
from timesink.errors import NotFoundError


def bounds(cycles: Cycles) -> list[tuple[str, str, int, int]]:
    return cycles.table.select("pid", "type", "start_ns", "end_ns").rows()


def expected_cycles(served: Served) -> list[tuple[str, str, int, int]]:
    return sorted(served.cycles, key=lambda cycle: (cycle[0], cycle[2]))


@given(
    kinds=st.lists(st.sampled_from(["decode", "prefill"]), min_size=4, max_size=12),
    pids=st.sampled_from([("1",), ("7", "8"), ("21", "3", "4")]),
    framed=st.booleans(),
)
def test_every_batch_of_a_server_is_a_cycle(kinds, pids, framed):
    served = serve(kinds, pids=pids, framed=framed)
    cycles = find_cycles(served.trace())
    assert (cycles.method, cycles.anchor) == ("python", "Scheduler.run_batch")
    assert bounds(cycles) == expected_cycles(served)
    assert cycles.table["cycle"].to_list() == list(range(1, len(kinds) + 1)) * len(pids)


def test_the_loop_wins_over_its_layers():
    cycles = find_cycles(serve(["decode"] * 10, layers=64, framed=True).trace())
    assert cycles.table.height == 10
    assert cycles.table["type"].unique().to_list() == ["decode"]


def test_a_thread_that_only_waits_marks_nothing():
    served = serve(["decode"] * 5)
    waits = [row for row in served.host if row["name"] == "Event.wait"]
    assert sum(row["dur_ns"] for row in waits) > sum(e - s for _, _, s, e in served.cycles) / 2
    assert find_cycles(served.trace()).anchor == "Scheduler.run_batch"


def test_a_pause_belongs_to_no_cycle():
    served = serve(["decode"] * 8, idle_before=(4,))
    assert bounds(find_cycles(served.trace())) == expected_cycles(served)


def test_polling_without_work_is_not_part_of_the_first_cycle():
    served = serve(["decode"] * 4, idle_before=(0,))
    assert bounds(find_cycles(served.trace())) == expected_cycles(served)


# -- prefill and decode ----------------------------------------------------------------------------


def test_a_prefill_function_of_its_own():
    served = Served()
    now = 0
    for number in range(40):
        prefill = number % 12 == 0
        name, length = ("prefill_batch", 9_000) if prefill else ("decode_batch", 1_000)
        served.call("1", "1", name, now, length)
        served.call("1", "1", "inner", now + 1, length // 2)
        now += length + 10
    cycles = find_cycles(served.trace())
    counts = dict(cycles.table.group_by("type").len().iter_rows())
    assert counts == {"prefill": 4, "decode": 36}


@pytest.mark.parametrize(
    ("inside", "types"), [("step", {"generic"}), ("warm", {"prefill", "decode"})]
)
def test_a_slow_cycle_is_a_prefill_only_when_it_does_something_else(inside, types):
    served = Served()
    now = 0
    for number in range(12):
        length = 50_000 if number == 7 else 5_000
        served.call("1", "1", "Loop.turn", now, length)
        served.call("1", "1", inside if number == 7 else "step", now + 10, length - 20)
        now += length + 10
    cycles = find_cycles(served.trace())
    assert set(cycles.table["type"]) == types
    assert cycles.table.height == 12


def test_text_codecs_say_nothing_about_decoding():
    served = Served()
    for number in range(6):
        served.call("1", "1", "Server.step", number * 1_000, 900)
        served.call("1", "1", "Tokenizer.encode", number * 1_000 + 10, 100)
        served.call("1", "1", "Tokenizer.decode", number * 1_000 + 200, 100)
    cycles = find_cycles(served.trace())
    assert cycles.table["type"].unique().to_list() == ["generic"]


# -- choosing --------------------------------------------------------------------------------------


def test_of_nearly_equal_totals_the_outer_call_is_taken():
    served = Served()
    for number in range(5):
        served.call("1", "1", "epoch_part", number * 1_000, 990)
        for piece in range(3):
            served.call("1", "2", "worker", number * 1_000 + 300 * piece, 299)
    assert find_cycles(served.trace()).anchor == "epoch_part"


def test_one_pass_alone_is_not_read_as_its_layers():
    with pytest.raises(NotFoundError) as refused:
        find_cycles(serve(["decode"], layers=32).trace())
    assert "--marker" in refused.value.hint


@pytest.mark.parametrize("framed", [False, True])
def test_a_call_can_be_asked_for(framed):
    served = serve(["decode"] * 5, layers=2, framed=framed)
    layers = find_cycles(served.trace(), marker=LAYER).table
    assert (layers["end_ns"] - layers["start_ns"]).to_list() == [900 * US] * 10
    batches = find_cycles(served.trace(), marker="run_batch")
    assert bounds(batches) == expected_cycles(served)


def test_passes_inside_of_one_long_call_are_found():
    served = Served()
    served.call("1", "1", "generation/utils.py(2215): generate", 0, 60_000)
    for number in range(12):
        served.call("1", "1", "nn.Module: LlamaForCausalLM_0", 100 + 4_900 * number, 4_800)
        for layer in range(4):
            start = 200 + 4_900 * number + 1_000 * layer
            served.call("1", "1", f"nn.Module: LlamaDecoderLayer_{layer}", start, 900)
    cycles = find_cycles(served.trace())
    assert (cycles.anchor, cycles.table.height) == ("nn.Module: LlamaForCausalLM_0", 12)


def test_calls_that_never_repeat_are_refused():
    rows = [
        {"kind": "python_function", "name": f"f{number}", "pid": "1", "tid": "1"}
        | {"ts_ns": 1_000 * number, "dur_ns": 900}
        for number in range(50)
    ]
    with pytest.raises(NotFoundError, match="no steps found"):
        find_cycles(trace_of(host=rows))


# -- loops in the loop -----------------------------------------------------------------------------


def requests(inner: str) -> Served:
    """Three requests of a prefill and six decodes each, and what one pass calls."""
    served = Served()
    for number in range(3):
        start = 10_000 * number
        served.call("1", "1", "serve.py(56): one_request", start, 9_000)
        for turn in range(7):
            served.call("1", "1", inner, start + 10 + 1_200 * turn, 1_100)
            for layer in range(4):
                name = "nn.Module: Layer_0"
                served.call("1", "1", name, start + 20 + 1_200 * turn + 200 * layer, 190)
    return served


def test_what_repeats_inside_of_the_cycles_is_listed():
    trace = requests("nn.Module: LM_0").trace()
    cycles = find_cycles(trace)
    assert (cycles.anchor, cycles.table.height) == ("serve.py(56): one_request", 3)
    (inner,) = cycles.alternatives
    assert (inner.anchor, inner.count, inner.period_ns) == ("nn.Module: LM_0", 21, 1_200 * US)
    assert find_cycles(trace, marker=inner.marker).table.height == 21


def test_layers_of_a_pass_are_not_listed():
    assert find_cycles(serve(["decode"] * 5, layers=8).trace()).alternatives == ()
