"""Changes that `timesink whatif --best` offers: what a person can make, and can paste."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import timesink
from cases import MAIN, STEP, C, K, O, R, host_event, read
from loaded_cycles import Piece, cycles
from timelines import trace_of
from timesink.analyses.replay.changes import name_filter
from timesink.analyses.replay.graph import replay_graph
from timesink.analyses.replay.what_if import device_waits
from timesink.answers.what_if import WhatIf, what_if_document
from timesink.model.trace import Trace
from timesink.output.terminal import to_text

PROGRAMS = ("cuda_graph", "unet_train")
ROWS = 12


@pytest.fixture(scope="module")
def best(shared_root: Path) -> dict[str, WhatIf]:
    return {name: timesink.whatif(shared_root / "data/h200/traces" / name) for name in PROGRAMS}


@pytest.mark.parametrize("name", PROGRAMS[:1])
def test_each_printed_change_is_found_again_with_its_saving(best: dict[str, WhatIf], name: str):
    for narrow in (60, 80):
        lines = to_text(what_if_document(best[name]), narrow).splitlines()
        for change in best[name].best["change"][:ROWS]:
            assert change in lines
    for change, saving in best[name].best.select("change", "saving_ns").iter_rows():
        option, what = shlex.split(change)
        again = timesink.whatif(best[name].trace, [f"{option} {what}"])
        assert again.saving_ns == pytest.approx(saving)


def test_a_program_that_replays_graphs_is_not_offered_one(best: dict[str, WhatIf]):
    offered = [*best["cuda_graph"].best["change"], *(c.text for c in best["cuda_graph"].in_vain)]
    assert offered[0] == "--remove sync:aten::item"
    assert "--graph cycle" not in offered


def test_kernels_are_tried_at_their_roofs(best: dict[str, WhatIf]):
    # Layouts that are turned can be kept; what a kernel computes can only be done well.
    assert any("nchwToNhwcKernel" in option for option in best["unet_train"].best["change"])
    tried = [
        candidate.change
        for candidate in best["unet_train"].ranked
        if candidate.change.sort == "kernel"
    ]
    assert all("nchw" in change.pattern.lower() for change in tried if change.action == "remove")
    assert all(0 < change.factor < 1 for change in tried if change.action == "scale")
    assert {change.factor for change in tried if change.action == "scale"} - {0.5}


def test_an_optimizer_is_found_by_its_name_up_to_the_hash():
    named = "Optimizer.step#AdamW.step"
    assert name_filter("Optimizer.step", [named, "Optimizer.zero_grad#AdamW.zero_grad"])(named)
    pieces = [Piece("kernel", "aten::mm", 5, 5), Piece("kernel", named, 50, 5)]
    assert timesink.whatif(cycles(pieces), ["fuse op:Optimizer.step"]).changes


# -- programs of the host alone --------------------------------------------------------------------


def _on_host(step: str = "Optimizer.step#AdamW.step", inner: str = "aten::mul_") -> Trace:
    """Steps of 10 ms of products and 8 ms of an optimizer, one parameter after the other."""
    host, steps, at = [], [], 0
    for number in range(3):
        begin = at
        host.append(_row("operator", "aten::mm", at, 10_000_000))
        at += 10_000_000
        optimizer = at
        for parameter in range(20):
            for name in (inner, "aten::addcdiv_", "aten::lerp_", "aten::sqrt"):
                host.append(_row("operator", name, at, 100_000))
                at += 100_000
            assert parameter < 20
        host.append(_row("annotation", step, optimizer, at - optimizer))
        name = f"ProfilerStep#{number}"
        host.append(_row("annotation", name, begin, at - begin))
        where = {"pid": "1", "tid": "1", "ts_ns": begin, "dur_ns": at - begin}
        steps.append({"step": number, "name": name, **where})
    return trace_of(host=host, device=[], steps=steps)


def _row(kind: str, name: str, start: int, length: int) -> dict[str, object]:
    return {"kind": kind, "name": name, "pid": "1", "tid": "1", "ts_ns": start, "dur_ns": length}


def test_on_a_host_alone_a_fused_optimizer_is_offered_and_no_product_removed():
    whatif = timesink.whatif(_on_host())
    assert whatif.best["change"][0] == "--fuse op:Optimizer.step"
    # Eight milliseconds of four operators each in turn; one pass takes two of them at most.
    assert whatif.best["saving_ns"][0] == pytest.approx(4_000_000, rel=0.05)
    assert not any("aten::mm" in change for change in whatif.best["change"])


def test_a_fused_optimizer_is_not_fused_again():
    whatif = timesink.whatif(_on_host(inner="aten::_fused_adamw_"))
    offered = [*whatif.best["change"], *(change.text for change in whatif.in_vain)]
    assert "--fuse op:Optimizer.step" not in offered


# -- what a scale does not touch -------------------------------------------------------------------


def test_a_step_without_fixed_waits_has_none():
    trace = cycles([Piece("host", "aten::mm", 500)])
    assert not any(
        "waits that" in note for note in timesink.whatif(trace, ["scale cycle=0.5"]).notes
    )


def test_what_limits_next_agrees_with_the_path(best: dict[str, WhatIf]):
    whatif = timesink.whatif(best["unet_train"].trace, ["remove sync:*"])
    path = whatif.critical_path.sort("new_ns", descending=True)
    assert (whatif.limit.kind, whatif.limit.kind_ns) == path.select("kind", "new_ns").row(0)


PINNED = "Memcpy HtoD (Pinned -> Device)"


def copying_beside(stream: int) -> Trace:
    """Steps whose copies are made on this stream, their kernels on stream 7."""
    events = []
    for step in range(4):
        at, first = 220 * step, 10 * step + 1
        events += [STEP(step, at, 220), O("aten::to", at + 2, 15), R(at + 5, 5, c=first)]
        copy = at + 22 if stream == 7 else at + 30
        events += [C(copy, 60, c=first, name=PINNED, stream=stream), R(at + 16, 2, c=first + 1)]
        begins = copy + 61 if stream == 7 else at + 22
        events += [K("gemm", begins, at + 210 - begins, c=first + 1)]
        events += [host_event("Runtime", "cudaStreamSynchronize", at + 20, 195, MAIN)]
    end = host_event("Runtime", "cudaDeviceSynchronize", 4 * 220, 50, MAIN)
    return read(*events, K("late", 4 * 220, 40, c=99), end)


def offered_changes(trace: Trace) -> list[str]:
    return [change.change.text for change in timesink.whatif(trace).ranked]


def test_copies_are_offered_beside_kernels_where_they_are_not():
    change = f"--overlap 'copy:{PINNED}'"
    assert change in offered_changes(copying_beside(7))
    assert not any("--overlap 'copy" in change for change in offered_changes(copying_beside(21)))


def test_what_waits_outside_of_steps_is_not_offered():
    waits = [change for change in offered_changes(copying_beside(7)) if "sync:" in change]
    assert waits == ["--remove sync:cudaStreamSynchronize"]


def test_a_launch_that_waits_for_a_place_in_the_queue_is_not_offered():
    events = []
    for step in range(2):
        at, first = 14_000 * step, 1000 * step
        events += [STEP(step, at, 13_000), O("aten::relu", at, 3_000)]
        for place in range(600):
            number = first + place
            events += [
                R(at + 2 * place, 1, c=number),
                K("relu", at + 10 + 20 * place, 20, c=number),
            ]
        events += [O("aten::mm", at + 4_000, 4_000), R(at + 4_001, 2_010, c=first + 999)]
        events += [K("gemm", at + 12_010, 500, c=first + 999)]
    trace = read(*events)
    graph = replay_graph(trace)
    assert device_waits(graph).any()
    assert not any("sync:" in change for change in offered_changes(trace))
