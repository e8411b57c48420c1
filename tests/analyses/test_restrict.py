"""A trace cut down to some of its steps."""

from __future__ import annotations

import pytest

from builders import counter, flow
from cases import ALLOC, STEP, K, O, R, costs, read
from timesink.analyses.steps import average_step, chosen_steps, find_steps, within_steps
from timesink.errors import NotFoundError, UsageError
from timesink.model.trace import Trace


class TestChoice:
    @pytest.mark.parametrize(
        ("wanted", "chosen"),
        [
            ("6", ["6"]),
            ("5-6", ["5", "6"]),
            ("5,7", ["5", "7"]),
            ("10, 6-7", ["6", "7", "10"]),
            ("6-99", ["6", "7", "10"]),
            ("1-4", []),
        ],
    )
    def test_numbers_and_ranges(self, wanted: str, chosen: list[str]):
        assert chosen_steps(["5", "6", "7", "10"], wanted) == chosen

    @pytest.mark.parametrize(
        "wanted", ["", "five", "5-", "-5", "5--6", "5;6", "5,", "5-6-7", "7-5"]
    )
    def test_what_is_not_a_choice(self, wanted: str):
        with pytest.raises(UsageError, match="is not a choice of steps"):
            chosen_steps(["5"], wanted)


def three_steps() -> Trace:
    """Steps 1 to 3 that touch, each with an operator, a launch, its kernel and an allocation."""
    events = []
    for number in (1, 2, 3):
        start = 100 * number
        events += [
            STEP(number, start, 100),
            O(f"op{number}", start + 10, 50),
            R(start + 20, 5, c=number),
            K(f"kernel{number}", start + 40, 30, c=number),
            ALLOC(start + 15, 512, device=0, total=512),
            flow("s", number, start + 20),
            counter("GPU", start + 30, busy=number),
        ]
    return read(*events, K("unlinked", 250, 5, c=99), O("outside", 10, 20))


class TestTrace:
    def names(self, trace: Trace, table: str) -> list[str]:
        return sorted(trace.lazy(table).collect()["name"].to_list())

    def test_what_belongs_to_the_step_is_kept(self):
        cut = within_steps(three_steps(), "2")
        assert self.names(cut, "host") == ["ProfilerStep#2", "cudaLaunchKernel", "op2"]
        assert self.names(cut, "device") == ["kernel2", "unlinked"]
        assert (cut.memory.height, cut.flows.height, cut.counters["value"].to_list()) == (1, 1, [2])

    def test_steps_that_touch_a_chosen_one_are_not_kept(self):
        assert find_steps(within_steps(three_steps(), "1"))["name"].to_list() == ["1"]
        assert find_steps(within_steps(three_steps(), "2"))["name"].to_list() == ["2"]

    def test_steps_need_not_be_neighbours(self):
        cut = within_steps(three_steps(), "1,3")
        assert find_steps(cut)["name"].to_list() == ["1", "3"]
        assert self.names(cut, "device") == ["kernel1", "kernel3"]

    def test_numbers_of_a_step_stay_the_same(self):
        trace = three_steps()
        all_costs = costs(trace)
        assert [costs(within_steps(trace, str(number)))[0] for number in (1, 2, 3)] == all_costs

    def test_device_work_follows_its_launch_beyond_the_step(self):
        late = [R(150, 5, c=1), K("late", 230, 40, c=1)]
        trace = read(STEP(1, 100, 100), *late, STEP(2, 200, 100))
        assert self.names(within_steps(trace, "1"), "device") == ["late"]
        assert self.names(within_steps(trace, "2"), "device") == []

    def test_a_cut_step_that_is_asked_for_alone_counts(self):
        work = [R(10, 5, c=1), K("gemm", 20, 50, c=1)]
        trace = read(STEP(1, 0, 100), *work, STEP(2, 100, 100), O("mm", 110, 50))
        assert average_step(within_steps(trace, "2"))["total_ns"] == 100_000
        assert average_step(within_steps(trace, "1-2"))["kernel_ns"] == 50_000

    def test_a_trace_without_marks_is_step_0(self):
        trace = read(O("mm", 0, 10), K("gemm", 2, 5))
        assert costs(within_steps(trace, "0")) == costs(trace)

    def test_a_step_that_is_not_there(self):
        with pytest.raises(NotFoundError, match="none of the steps 7") as error:
            within_steps(three_steps(), "7")
        assert error.value.hint == "the trace holds 1, 2, 3"
