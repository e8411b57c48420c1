"""Changes from one run to another, and what is said of them: every cause at least once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from call_trees import Call as TreeCall
from call_trees import program
from compared import comparison
from generated_sets import FOURS, TWOS, slow_set
from program_changes import CASES
from resource_changes import BASE, SIDES_BY_CAUSE
from shared_resources import both
from slowed import USUAL, Call, Program, anomaly, causes, pair
from timesink.answers.comparison.program import program_lines
from timesink.comparison.causes.diagnosis import diagnose, program_change
from timesink.model.findings import Finding
from timesink.rules.communication import stragglers
from timesink.rules.register import catalogue

FP32 = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n"
GEMM = "nvjet_sm90_tst_64x8"
CLOCK: dict[str, Any] = {"metric": "gpu_sm_frequency", "unit": "MHz", "base": 2000.0, "new": 1000.0}
GAPS = {f"aten::op{number}": 2.0 for number in range(8)}

Causes = Mapping[str, Iterable[Finding]]

PAIRS: Mapping[str, tuple[Program, Program, int]] = {
    "the same": (USUAL, USUAL, 20),
    "a slower host": (USUAL, USUAL.slowed(1.6), 20),
    "a faster host": (USUAL.slowed(1.6), USUAL, 20),
    "a slower device": (USUAL, USUAL.slowed(3.0, "gpu"), 20),
    "a faster device": (USUAL.slowed(3.0, "gpu"), USUAL, 20),
    "a pause": (USUAL, replace(USUAL, gap_ms=20.0), 20),
    "a pause that is gone": (replace(USUAL, gap_ms=20.0), USUAL, 20),
    "steps of another program": (USUAL, Program({"aten::sort": Call("cpu_operator", 3, 9.0)}), 20),
    "three steps": (USUAL, replace(USUAL, gap_ms=20.0), 3),
    "one step": (USUAL, replace(USUAL, gap_ms=20.0), 1),
}


def of_the_host() -> Causes:
    """Code of the host, as its functions and pauses tell."""
    waiting = USUAL.but(
        cudaStreamSynchronize=Call("cpu_sync", 101, 1.2),
        cudaMemcpyAsync=Call("cpu_copy", 102, 1.3),
        aten__item=Call("cpu_operator", 100, 0.8),
    )
    new_gaps = {f"aten::new{number}": 4.0 for number in range(5)}
    gaps = replace(USUAL, gaps_ms=GAPS)
    marks = [USUAL.but(step=None, ProfilerStep=Call("cpu_annotation", 1, ms)) for ms in (5.0, 45.0)]
    return {
        "a pause": causes(USUAL, replace(USUAL, gap_ms=10.0)),
        "a pause that is gone": causes(replace(USUAL, gap_ms=10.0), USUAL),
        "a slower function": causes(USUAL, USUAL.but(aten__add=Call("cpu_operator", 70, 14.0))),
        "more calls": causes(USUAL, USUAL.but(aten__sort=Call("cpu_operator", 30, 5.0))),
        "fewer calls": causes(USUAL.but(aten__sort=Call("cpu_operator", 30, 5.0)), USUAL),
        "more waits": causes(USUAL, waiting),
        "fewer waits": causes(waiting, USUAL),
        "loading data": causes(replace(USUAL, loading_ms=1.0), replace(USUAL, loading_ms=20.0)),
        "many new gaps": causes(gaps, replace(USUAL, gaps_ms={**GAPS, **new_gaps})),
        "gaps inside a call": causes(
            USUAL, replace(USUAL, gaps_ms={"aten::a": 5.0, "aten::b": 5.0}, gaps_in="aten::add")
        ),
        "between recorded calls": causes(*marks),
        "a crowded processor": causes(
            USUAL,
            USUAL.slowed(1.5).but(runq=Call("runq", 1, 40.0)),
            anomaly("cpu_contention", "Host", metric="host_cpu_usage"),
        ),
        "a processor that is no longer crowded": causes(
            USUAL.but(waiting=Call("runq", 5, 40.0)),
            USUAL,
            relieved=(anomaly("cpu_contention", "Host", metric="load"),),
        ),
    }


def of_the_device() -> Causes:
    """Work of the device, and what acts on it."""
    more = USUAL.but(**{FP32: Call("gpu_compute", 2, 5.0)})
    twice = replace(
        USUAL,
        calls={
            name: replace(call, calls=2 * call.calls, ms=2 * call.ms)
            for name, call in USUAL.calls.items()
        },
    )
    blocks = USUAL.but(**{GEMM: Call("gpu_compute", 72, 30.0, blocks=300.0)})
    clock = anomaly("gpu_clock", **CLOCK)
    copying = USUAL.slowed(2.0, "gpu").but(cudaMemcpyAsync=Call("cpu_copy", 2, 4.0))
    return {
        "more kernels": causes(USUAL, more),
        "fewer kernels": causes(more, USUAL),
        "other kernels": causes(
            USUAL, USUAL.but(**{GEMM: None, FP32: Call("gpu_compute", 72, 40.0)})
        ),
        "kernels with more blocks": causes(USUAL, blocks),
        "twice the work": causes(USUAL, twice),
        "a lower clock": causes(USUAL, USUAL.slowed(1.8, "gpu"), clock),
        "a clock that rose": causes(USUAL.slowed(1.8, "gpu"), USUAL, relieved=(clock,)),
        "a shared device": causes(USUAL, USUAL.slowed(2.0, "gpu"), anomaly("gpu_contention")),
        "a busy link": causes(USUAL, copying, anomaly("pcie_contention")),
    }


def of_resources() -> Causes:
    """What counters tell, with the sides as they are and the other way round."""
    changes = {}
    for name, side in SIDES_BY_CAUSE.items():
        changes[name] = both(BASE, side)[0]
        changes[f"{name}, no longer"] = both(side, BASE)[0]
    return changes


def of_ranks() -> Causes:
    """Ranks that the others wait for."""
    kinds = ("slow_clock", "slow_host", "sync", "data_loading", "uneven_work")
    return {
        **{kind: stragglers(slow_set(kind, **TWOS)) for kind in kinds},
        "slow_link": stragglers(slow_set("slow_link", **FOURS)),
    }


CAUSES: Mapping[str, Callable[[], Causes]] = {
    "host": of_the_host,
    "device": of_the_device,
    "resources": of_resources,
    "ranks": of_ranks,
}


def verdicts_text() -> str:
    """What is said first of two runs, and how their steps are judged."""
    lines = []
    for name, (base, new, cycles) in PAIRS.items():
        both_runs = pair(base, new, cycles=cycles)
        diagnosis = diagnose(both_runs)
        lines += [
            f"## {name}",
            comparison(both_runs).headline,
            f"{diagnosis.verdict}: {diagnosis.reason}",
        ]
        lines += [f"pace: {pace.sentence} > {pace.advice}" for pace in diagnosis.paces]
        lines += [f"note: {note}" for note in diagnosis.notes]
        lines += [f"cause: {cause.sentence}" for cause in diagnosis.causes] + [""]
    return "\n".join(lines)


def programs_text() -> str:
    """What is said of programs that differ, a case for each meaning of a difference."""
    return "\n".join(
        "\n".join([f"## {number}: {cause}", *changed_lines(base, new), ""])
        for number, (cause, base, new) in enumerate(CASES)
    )


def changed_lines(
    base: Sequence[Sequence[TreeCall]], new: Sequence[Sequence[TreeCall]]
) -> list[str]:
    change = program_change(*(program(tuple(map(tuple, side))) for side in (base, new)))
    rows = [catalogue()["causes"][edit.cause] for edit in change.edits]
    lines = [f"[{edit.cause}] {row['name']}" for edit, row in zip(change.edits, rows, strict=True)]
    return [*lines, *program_lines(change), *(f"> {row['advice']}" for row in rows)]
