"""Two runs side by side, section by section."""

from __future__ import annotations

from pathlib import Path

import timesink
from builders import Event
from cases import DATA_LOADER, MODULE, OTHER, STEP, K, O, R, read
from timesink.analyses.call_tree import BLANK, COMPOSITE, TreeSection, compare_trees

US = 1000
ENGINE = "autograd::engine::evaluate_function: "
WORKERS = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
SGD, ADAM = "Optimizer.step#SGD.step", "Optimizer.step#Adam.step"


def module(name: str, ts: int, dur: int) -> Event:
    return MODULE(f"nn.Module: {name}", ts, dur, python_id=ts, parent=None, module=0)


def row(*names: str) -> list[Event]:
    """Modules one after the other, in one step."""
    calls = [module(name, 10 + 20 * place, 10) for place, name in enumerate(names)]
    return [STEP(1, 0, 1000), *calls]


def names(section: TreeSection) -> list[tuple[str, str]]:
    return [
        (child.left.name.removeprefix("nn.Module: "), child.right.name.removeprefix("nn.Module: "))
        for child in section.children
    ]


# -- alignment -------------------------------------------------------------------------------------


def test_matched_calls_and_what_lies_between():
    left = read(
        STEP(1, 0, 500),
        O("aten::to", 10, 10),
        module("Net", 30, 50),
        O("aten::mul", 90, 10),
        O("aten::sum", 110, 10),
        O(SGD, 200, 50),
    )
    right = read(STEP(7, 0, 500), module("Net", 30, 50), O(SGD, 200, 50), O("aten::copy_", 300, 10))
    assert names(compare_trees(left, right)) == [
        ("aten::to", BLANK),
        ("Net", "Net"),
        (COMPOSITE, BLANK),
        (SGD, SGD),
        (BLANK, "aten::copy_"),
    ]


def test_as_many_matches_as_possible():
    """Taking the first one that fits would match the last with the first, and nothing else."""
    both = compare_trees(read(*row("Late", "A", "B")), read(*row("A", "B", "Late")))
    assert names(both) == [("Late", BLANK), ("A", "A"), ("B", "B"), (BLANK, "Late")]


def test_names_come_before_sorts():
    left = read(STEP(1, 0, 500), O(DATA_LOADER, 10, 50), O("aten::mm", 70, 10), O(SGD, 200, 50))
    right = read(STEP(1, 0, 500), O(WORKERS, 10, 5), O("aten::mm", 70, 10), O(SGD, 200, 50))
    both = compare_trees(left, right)
    assert names(both) == [(COMPOSITE, COMPOSITE), (SGD, SGD)]
    assert names(both.children[0]) == [(DATA_LOADER, WORKERS), ("aten::mm", "aten::mm")]


def test_sorts_match_between_any_two_names_that_do():
    """Beside what else lies there: a call more or less does not part them."""

    def step_events(loader: str, optimizer: str, *more: Event) -> list[Event]:
        marks = [module("Net", 10, 20), O(loader, 40, 5), module("Head", 60, 10)]
        return [STEP(1, 0, 500), *marks, O(optimizer, 80, 10), *more]

    left = read(*step_events(DATA_LOADER, SGD))
    right = read(*step_events(WORKERS, ADAM, O("aten::to", 35, 2)))
    both = compare_trees(left, right)
    assert names(both) == [
        ("Net", "Net"),
        (DATA_LOADER, COMPOSITE),
        ("Head", "Head"),
        (SGD, ADAM),
    ]
    assert names(both.children[1]) == [(BLANK, "aten::to"), (DATA_LOADER, WORKERS)]


def test_another_optimizer_is_still_the_optimizer():
    left, right = (
        read(STEP(1, 0, 500), O("aten::mm", 10, 5), O(name, 200, 50)) for name in (SGD, ADAM)
    )
    assert names(compare_trees(left, right)) == [("aten::mm", "aten::mm"), (SGD, ADAM)]


def test_modules_of_one_class_match_where_numbers_differ():
    both = compare_trees(read(*row("Conv_1", "Norm_1")), read(*row("Conv_5", "Norm_9")))
    assert names(both) == [("Conv_1", "Conv_5"), ("Norm_1", "Norm_9")]


def test_sections_inside_sections():
    trace = read(
        STEP(1, 0, 500),
        module("Net", 10, 200),
        O("aten::to", 20, 10),
        module("Conv", 50, 60),
        O(SGD, 300, 50),
    )
    net, _ = compare_trees(trace, trace).children
    assert names(net) == [("aten::to", "aten::to"), ("Conv", "Conv")]


def test_a_single_call_is_the_whole():
    trace = read(STEP(1, 0, 500), module("Net", 10, 200), module("Conv", 50, 60))
    both = compare_trees(trace, trace)
    assert (both.left.name, names(both)) == ("nn.Module: Net", [("Conv", "Conv")])


def test_without_steps_everything_is_compared():
    both = compare_trees(read(module("Net", 10, 50)), read(module("Net", 10, 70)))
    assert (both.left.name, both.left.cost.host_ns, both.right.cost.host_ns) == (
        "nn.Module: Net",
        50 * US,
        70 * US,
    )


def test_a_run_without_calls():
    both = compare_trees(read(), read(module("Net", 10, 70)))
    assert (both.left.name, both.left.cost.host_ns, both.children) == (BLANK, 0, ())


# -- costs -----------------------------------------------------------------------------------------


def test_costs_of_calls_with_all_below():
    trace = read(
        STEP(1, 0, 500),
        O("aten::linear", 10, 50, x=1),
        O("aten::addmm", 20, 30, x=2),
        R(25, 5, c=1, x=2),
        K("gemm", 30, 80, c=1, x=2),
        O("aten::to", 100, 7, x=3),
    )
    cost = compare_trees(trace, trace).left.cost
    assert (cost.host_ns, cost.device_ns, cost.total_ns) == (57 * US, 80 * US, 87 * US)
    assert [
        (operator.name, operator.host_ns, operator.host_self_ns, operator.device_ns)
        for operator in cost.operators
    ] == [
        ("aten::addmm", 30 * US, 25 * US, 80 * US),
        ("aten::linear", 50 * US, 20 * US, 80 * US),
        ("aten::to", 7 * US, 7 * US, 0),
    ]


def test_work_of_other_threads_belongs_to_the_section_during_which_it_started():
    trace = read(
        STEP(1, 0, 500),
        module("Net", 10, 50),
        O(SGD, 200, 50),
        O("MmBackward0", 100, 30, tid=OTHER),
        O("aten::add_", 210, 20, tid=OTHER),
        O("aten::late", 600, 20, tid=OTHER),
    )
    both = compare_trees(trace, trace)
    assert both.left.cost.host_ns == 100 * US
    thread_costs = [section.left.cost_of_other_threads for section in (both, *both.children)]
    assert [cost.host_ns for cost in thread_costs] == [50 * US, 30 * US, 20 * US]
    assert [operator.name for operator in thread_costs[0].operators] == [
        "MmBackward0",
        "aten::add_",
    ]


def test_sections_add_up(shared_root: Path):
    trace = timesink.open(shared_root / "data/h200/traces/resnet50_train")
    tree = compare_trees(trace, trace)
    for kind in ("cost", "cost_of_other_threads"):
        costs = [getattr(child.left, kind) for child in tree.children]
        total = getattr(tree.left, kind)
        assert sum(cost.host_ns for cost in costs) == total.host_ns
        assert sum(cost.device_ns for cost in costs) == total.device_ns


def test_backward_passes_are_sections(shared_root: Path):
    trace = timesink.open(shared_root / "data/h200/traces/resnet50_train")
    sections = compare_trees(trace, trace).children
    assert [section.left.name for section in sections[1:5]] == [
        "nn.Module: ResNet_0",
        COMPOSITE,
        "nn.Module: ResNet_0.backward",
        "Optimizer.step#SGD.step",
    ]
    inside = [section.left.name.removeprefix("nn.Module: ") for section in sections[3].children]
    assert inside[:2] == ["Linear_0.backward", f"{ENGINE}ViewBackward0"]
    assert inside[-1] == "Conv2d_0.backward"
