"""Damaged files: which of them get no answer, and what is said instead."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import timesink
from cases import STEP, K, O, R, read
from timesink.analyses.fitness import recording_fitness
from timesink.answers.comparison.gate_result import gate_of
from timesink.answers.cycles import cycles_document
from timesink.comparison.gate.verdict import Limit
from timesink.model.fitness import COMPARISON, QUESTIONS
from timesink.model.trace import Trace
from timesink.output.terminal import to_text

Event = dict[str, Any]


def training_events(steps: int = 6, launches: int = 20) -> list[Event]:
    """Marked steps whose kernels are launched one after the other."""
    events = [STEP(number, 3000 * number, 2900) for number in range(steps)]
    for number in range(steps * launches):
        ts = 3000 * (number // launches) + 10 + 100 * (number % launches)
        events += [
            O("aten::mm", ts, 60),
            R(ts + 5, 5, c=1 + number),
            K("gemm", ts + 20, 70, c=1 + number),
        ]
    return events


def changed_trace(change: Callable[[int, Event], Event]) -> Trace:
    """The steps, with each event changed that has a place in time."""
    return read(*(change(place, dict(event)) for place, event in enumerate(training_events())))


def negate(_: int, event: Event) -> Event:
    return event | {"dur": -event["dur"]}


def sometimes_negated(place: int, event: Event) -> Event:
    return negate(place, event) if place % 5 == 0 else event


def without_number(place: int, event: Event) -> Event:
    return event | {"dur": math.nan if place % 2 else math.inf}


def at_one_time(_: int, event: Event) -> Event:
    return event | {"ts": 1000}


def backwards(_: int, event: Event) -> Event:
    return event | {"ts": 100_000 - event["ts"]}


def named_time(_: int, event: Event) -> Event:
    return event | {"ts": "noon"}


def half_without_time(place: int, event: Event) -> Event:
    return {key: value for key, value in event.items() if key != "ts" or place % 2}


def one_endless(place: int, event: Event) -> Event:
    return event | {"dur": 1e18} if place == 100 else event


WRONG = [
    (negate, "events_without_duration"),
    (sometimes_negated, "events_without_duration"),
    (without_number, "events_without_duration"),
    (at_one_time, "times_do_not_advance"),
    (backwards, "times_do_not_nest"),
    (named_time, "events_without_time"),
    (half_without_time, "events_without_time"),
]


class TestDamage:
    def test_the_undamaged(self):
        assert recording_fitness(read(*training_events())).fit == "yes"

    @pytest.mark.parametrize(("change", "code"), WRONG)
    def test_is_the_first_reason(self, change: Callable[[int, Event], Event], code: str):
        fitness = recording_fitness(changed_trace(change))
        assert (fitness.reasons[0].code, fitness.reasons[0].denies) == (code, QUESTIONS)

    def test_of_a_single_event(self):
        (reason,) = recording_fitness(changed_trace(one_endless)).reasons
        assert (reason.code, reason.denies) == ("events_without_duration", (COMPARISON,))

    @pytest.mark.parametrize("share", [0.5, 0.9])
    def test_a_cut_file(self, tmp_path: Path, share: float):
        reason, *_ = recording_fitness(timesink.open(write_cut(tmp_path, share))).reasons
        assert (reason.code, reason.denies) == ("file_ends_early", QUESTIONS)
        assert f"after {reason.evidence['events']} events" in reason.sentence


class TestAnswers:
    @pytest.mark.parametrize("change", [change for change, _ in WRONG])
    def test_headline(self, tmp_path: Path, change: Callable[[int, Event], Event]):
        answer = timesink.analyze(write_changed(tmp_path, change)).headline
        assert answer.startswith("Cannot tell where the time goes: ")

    @pytest.mark.parametrize("change", [negate, at_one_time, sometimes_negated])
    def test_cycles(self, tmp_path: Path, change: Callable[[int, Event], Event]):
        report = timesink.cycles(write_changed(tmp_path, change))
        document = cycles_document(report)
        assert document.headline == (
            f"{report.table.height} steps, found by profiler steps; step times cannot be measured"
        )
        assert "0 ns" not in to_text(document)

    def test_cycles_of_nothing(self, tmp_path: Path):
        with pytest.raises(timesink.TimesinkError, match="no usable timestamp"):
            timesink.cycles(write_changed(tmp_path, named_time))

    @pytest.mark.parametrize("change", [sometimes_negated, backwards])
    def test_gate(self, tmp_path: Path, change: Callable[[int, Event], Event]):
        base = write_changed(tmp_path, lambda _, event: event)
        gate = gate_of(timesink.compare(base, write_changed(tmp_path, change)), Limit(5.0))
        assert gate.outcome == "unjudged"

    @pytest.mark.parametrize("change", [at_one_time, named_time])
    def test_nothing_to_compare(self, tmp_path: Path, change: Callable[[int, Event], Event]):
        base = write_changed(tmp_path, lambda _, event: event)
        with pytest.raises(timesink.TimesinkError, match="cannot be judged"):
            timesink.compare(base, write_changed(tmp_path, change))


def write_changed(folder: Path, change: Callable[[int, Event], Event]) -> Path:
    events = [change(place, dict(event)) for place, event in enumerate(training_events())]
    path = folder / f"{change.__name__.strip('<>')}.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def write_cut(folder: Path, share: float) -> Path:
    text = write_changed(folder, lambda _, event: event).read_text()
    path = folder / "cut.json"
    path.write_text(text[: int(share * len(text))])
    return path
