"""Whatever is done to a trace: a trace or a clear error, and no count changes in silence."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from answers import damage, sizes
from builders import write
from mutations import BASES, Mutant, corpus
from thinning import every_nth
from timesink.errors import TimesinkError
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import read_trace
from timesink.model.health import RULES, Severity
from timesink.model.trace import Trace

SECONDS_TO_READ = 5


def some_mutants() -> Iterator[Mutant]:
    """Every way to damage at one place; each way to say the same of one base and of some others."""
    neutral = count()
    for mutant in corpus():
        is_alike = mutant.neutral and mutant.base != "training" and next(neutral) % 3
        if mutant.label.endswith(" 0") and not is_alike:
            yield mutant


MUTANTS = every_nth(some_mutants(), 2)

# Health codes about single events and bytes; those about the run as a whole explain no count.
TELLING = {
    code
    for code in list(RULES)[: list(RULES).index("overlapping_slices")]
    if RULES[code].severity is not Severity.INFO
}


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Fail instead of hanging, where the system has alarms."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        pytest.fail(f"still reading after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def read_mutant(mutant: Mutant, folder: Path) -> Trace | None:
    """The trace, or None when it was declined in clear words."""
    path = folder / f"trace{mutant.ending}"
    path.write_bytes(mutant.content)
    with time_limit(SECONDS_TO_READ):
        try:
            return read_trace(path, ReadOptions(jobs=1))
        except TimesinkError as error:
            if error.message and error.hint:
                return None
            raise


@cache
def clean_counts(base: str) -> dict[str, int]:
    """Counts of a base; made once for all its mutants."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        trace = read_trace(write(Path(folder) / "trace.json", BASES[base]()), ReadOptions(jobs=1))
        assert damage(trace).keys().isdisjoint(TELLING)
        return counts(trace)


def counts(trace: Trace) -> dict[str, int]:
    host, device = trace.host["kind"].to_list(), trace.device["kind"].to_list()
    return {
        "events": trace.metadata.events,
        "operators": host.count("operator"),
        "kernels": device.count("kernel"),
        **sizes(trace),
    }


def reported_damage(trace: Trace) -> dict[str, int]:
    return {code: count for code, count in damage(trace).items() if code in TELLING}


def listed_events(text: bytes) -> list[Any] | None:
    """The event list as the decoder of the standard library sees it; None when it sees none."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        document = json.loads(text.decode("utf-8-sig"), parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    if text.count(b'"traceEvents"') > 1:
        return None  # decoders differ in which of two lists they see
    listed = document.get("traceEvents") if isinstance(document, dict) else document
    return listed if isinstance(listed, list) else None


@pytest.mark.parametrize("base", BASES)
def test_no_mutant_changes_a_count_in_silence(base, tmp_path):
    wrong = {}
    for mutant in MUTANTS:
        if mutant.base == base:
            try:
                assert_no_count_changes_in_silence(mutant, tmp_path)
            except AssertionError as error:
                wrong[mutant.label] = error
    assert wrong == {}


def assert_no_count_changes_in_silence(mutant: Mutant, folder: Path) -> None:
    trace = read_mutant(mutant, folder)
    if trace is None:
        assert not mutant.neutral
        return
    left_out, event_counts = reported_damage(trace), counts(trace)
    assert_events_are_accounted_for(trace, left_out, event_counts)
    listed = listed_events(mutant.content) if mutant.ending == ".json" else None
    if listed is not None:
        assert trace.metadata.events + left_out.get("not_an_event", 0) == len(listed)
        assert trace.device["category"].cast(str).str.to_lowercase().eq("kernel").sum() == sum(
            map(is_kernel, listed)
        )
    if mutant.neutral:
        assert left_out == {}
        assert event_counts == clean_counts(mutant.base)
    elif listed is None and event_counts != clean_counts(mutant.base):
        assert left_out


def assert_events_are_accounted_for(
    trace: Trace, left_out: dict[str, int], rows: dict[str, int]
) -> None:
    """Every event that was read is in a table, or was counted when it was left out."""
    timeless = left_out.get("missing_ts", 0)
    tabled = sum(rows[name] for name in ("host", "device", "memory", "flows"))
    without_rows = sum(trace.metadata.phases.get(phase, 0) for phase in "MCE")
    accounted = tabled + without_rows + left_out.get("unknown_phase", 0) + timeless
    # An event of a counter without a time is counted under both.
    assert accounted - timeless <= trace.metadata.events <= accounted


def test_the_corpus_is_large_and_repeatable():
    mutants = list(some_mutants())
    assert len(mutants) >= 100
    assert {mutant.base for mutant in MUTANTS} == set(BASES)
    assert every_nth(mutants, 2) == MUTANTS


def is_kernel(event: Any) -> bool:
    """A slice of this category that has a time, by the rules a reader of the format would state."""
    if not isinstance(event, dict) or not isinstance(event.get("cat"), str):
        return False
    phase = event.get("ph")
    is_slice = phase == "X" or (not isinstance(phase, str) and has_number(event, "dur"))
    return is_slice and event["cat"].lower() == "kernel" and has_number(event, "ts")


def has_number(event: dict[str, Any], key: str) -> bool:
    value = event.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return False
    try:
        return abs(float(value)) < 2**63 / 1000
    except ValueError:
        return False
